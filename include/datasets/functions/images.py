"""What the images declaration names by path: from a picture's bytes to a tensor a model can read."""

from __future__ import annotations

import io
from typing import Any, Final

import numpy as np
import pyarrow as pa
from headrace.transforms.tensors import arrays_of, tensor_column
from PIL import Image

LARGEST_PIXELS: Final = 40_000_000


class TooManyPixelsError(ValueError):
    """A small file that would unpack to an image too large to hold: a mistake, or an attack."""


def decode(payload: bytes, *, size: int) -> dict[str, Any]:
    """A picture as `size` x `size` pixels of red, green and blue, transparent parts on white; and what it was.

    The first frame of a moving picture. The sides are scaled apart, as most classifiers expect; `width` and `height` tell how it was.
    """
    with Image.open(io.BytesIO(payload)) as picture:
        if picture.width * picture.height > LARGEST_PIXELS:
            raise TooManyPixelsError(f"{picture.width} x {picture.height} pixels, more than {LARGEST_PIXELS}")
        resized = _on_white(picture).resize((size, size), Image.Resampling.BILINEAR)
        return {
            "pixels": np.asarray(resized, dtype=np.uint8),
            "width": picture.width,
            "height": picture.height,
            "format": picture.format,
        }


def normalise(pictures: pa.Table, *, size: int, mean: tuple[float, ...], deviation: tuple[float, ...]) -> pa.Table:
    """Pixels of 0 to 255 as floats around 0, channel first; the other columns as they are."""
    pixels = arrays_of(pictures.column("pixels"), "uint8", (size, size, 3))
    scaled = (pixels / np.float32(255) - np.array(mean, np.float32)) / np.array(deviation, np.float32)
    tensors = np.ascontiguousarray(scaled.transpose(0, 3, 1, 2), dtype=np.float32)
    kept: dict[str, Any] = {name: pictures.column(name) for name in ("width", "height", "format")}
    return pa.table({"tensor": tensor_column(tensors), **kept})


def _on_white(picture: Image.Image) -> Image.Image:
    if picture.mode == "RGB":
        return picture
    layered = picture.convert("RGBA")
    white = Image.new("RGBA", layered.size, (255, 255, 255, 255))
    return Image.alpha_composite(white, layered).convert("RGB")
