"""A tensor as a picture a person can look at: PNG, written with the standard library alone (PNG, third edition, section 11)."""

from __future__ import annotations

import struct
import zlib
from typing import Any, Final

import numpy as np
import numpy.typing as npt

_COLOUR_TYPE: Final = {1: 0, 3: 2, 4: 6}
"""PNG's number for gray, red-green-blue, and with transparency, by channels."""


def picture_of(array: npt.NDArray[Any]) -> bytes | None:
    """PNG bytes of an array that can be seen: (height, width), with 1, 3 or 4 channels last or first; None for any other.

    Bytes are taken as they are; other numbers are stretched, the smallest to black and the largest to white.
    """
    pixels = _channels_last(array)
    if pixels is None or pixels.size == 0:
        return None
    return _png(pixels if pixels.dtype == np.uint8 else _stretched(pixels))


def _channels_last(array: npt.NDArray[Any]) -> npt.NDArray[Any] | None:
    if array.ndim == 2:
        return array[:, :, None]
    if array.ndim != 3:
        return None
    if array.shape[2] in _COLOUR_TYPE:
        return array
    return array.transpose(1, 2, 0) if array.shape[0] in _COLOUR_TYPE else None


def _stretched(values: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    finite = np.nan_to_num(values.astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0)
    low, high = finite.min(), finite.max()
    stretched: npt.NDArray[np.uint8] = np.rint((finite - low) / (high - low if high > low else 1.0) * 255).astype(np.uint8)
    return stretched


def _png(pixels: npt.NDArray[Any]) -> bytes:
    height, width, channels = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOUR_TYPE[channels], 0, 0, 0)
    lines = np.zeros((height, 1 + width * channels), np.uint8)  # each line begins with its filter: none
    lines[:, 1:] = pixels.reshape(height, width * channels)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes())), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in parts)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
