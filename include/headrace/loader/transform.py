"""Light, random transforms that do not depend on who runs them.

A transform gets a batch and one 64-bit seed per sample, mixed from (seed, epoch, sample ID). Two workers, two world sizes or a resumed run
give a sample the same seed, another epoch another one. What depends on the other rows of the batch is the transform's own doing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headrace.loader.errors import TransformFailed
from headrace.loader.options import Transform
from headrace.loader.randomness import key_of, mixed

_NIBBLES: Final = np.array([int(chr(c), 16) if chr(c) in "0123456789abcdef" else 255 for c in range(256)], dtype=np.uint8)
_ID_DIGITS: Final = 32
_HEX: Final = re.compile(r"[0-9a-f]{32}")


def each_sample(function: Callable[[dict[str, Any], np.random.Generator], dict[str, Any]]) -> Transform:
    """A transform from a function of one sample, as a dictionary, and a random generator of its own.

    Convenient, not fast: it makes Python values of every row.
    """

    def transform(rows: pa.RecordBatch, seeds: NDArray[np.uint64]) -> pa.RecordBatch:
        generators = (np.random.Generator(np.random.Philox(key=int(seed))) for seed in seeds)
        done = [function(sample, generator) for sample, generator in zip(rows.to_pylist(), generators, strict=True)]
        return pa.RecordBatch.from_pylist(done)

    return transform


def sample_seeds(seed: int, epoch: int, sample_ids: pa.Array[Any]) -> NDArray[np.uint64]:
    """One seed per sample. Shape (samples,)."""
    return mixed(id_numbers(sample_ids) ^ np.uint64(key_of("transform", seed, epoch)))


def id_numbers(hex_texts: pa.Array[Any]) -> NDArray[np.uint64]:
    """The first 64 bits of each hex ID or digest; other texts are hashed first. Shape (texts,)."""
    texts = hex_texts.cast(pa.string()) if hex_texts.type != pa.string() else hex_texts
    buffers: list[Any] = texts.buffers()
    data = buffers[2]
    if data is not None and len(texts) > 0:
        offsets = np.frombuffer(buffers[1], dtype=np.int32)[texts.offset : texts.offset + len(texts) + 1]
        numbers = _of_hex(data, offsets)
        if numbers is not None:
            return numbers
    return np.array([_number(str(text)) for text in texts.to_pylist()], dtype=np.uint64)


def _number(text: str) -> int:
    return int(text[:16], 16) if _HEX.fullmatch(text) else key_of(text)


def _of_hex(data: Any, offsets: NDArray[np.int32]) -> NDArray[np.uint64] | None:
    """The numbers, if every text is 32 lower-case hex digits."""
    if not bool(np.all(np.diff(offsets) == _ID_DIGITS)):
        return None
    digits = np.frombuffer(data, dtype=np.uint8)[offsets[0] : offsets[-1]].reshape(-1, _ID_DIGITS)
    nibbles = _NIBBLES[digits]
    if not bool((nibbles < 16).all()):
        return None
    pairs = (nibbles[:, 0:16:2] << np.uint8(4)) | nibbles[:, 1:16:2]
    return np.ascontiguousarray(pairs).view(">u8").ravel().astype(np.uint64)


def transformed(
    transform: Transform, rows: pa.RecordBatch, seeds: NDArray[np.uint64], sample_ids: pa.Array[Any]
) -> pa.RecordBatch:
    """The transform's result, checked to be one row per sample. Raises `TransformFailed` naming the first and last ID."""
    if rows.num_rows == 0:
        return rows
    where = f"transform of samples {sample_ids[0]} to {sample_ids[-1]}"
    try:
        done = transform(rows, seeds)
    except Exception as error:
        raise TransformFailed(
            where,
            found=f"{type(error).__name__}: {error}",
            expected="a batch",
            remedy="Correct the transform, or quarantine the sample where the release is made.",
        ) from error
    if not isinstance(done, pa.RecordBatch) or done.num_rows != rows.num_rows:
        found = f"{done.num_rows} rows" if isinstance(done, pa.RecordBatch) else f"a {type(done).__name__}"
        raise TransformFailed(
            where, found=found, expected=f"a RecordBatch of {rows.num_rows} rows", remedy="Keep one row per sample."
        )
    return done
