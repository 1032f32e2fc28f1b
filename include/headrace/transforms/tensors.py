"""Arrays in a column of bytes: little-endian, in C order, one array a row.

A column of bytes and not of lists: Parquet spends a level per element on a list, and reading it back costs more than the array is worth.
Element type and shape stand in the manifest's facts and in the field's metadata, under `headrace.tensor`. For functions over batches:
`tensor_column` makes such a column, `arrays_of` opens one without a copy.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

METADATA_KEY: Final = "headrace.tensor"


def tensor_column(arrays: npt.NDArray[Any]) -> pa.Array[Any]:
    """A column with one array a row. `arrays`: rows along the first axis."""
    whole = np.ascontiguousarray(arrays.astype(arrays.dtype.newbyteorder("<"), copy=False))
    count = len(whole)
    step = whole.nbytes // max(count, 1)
    offsets = np.arange(count + 1, dtype=np.int64) * step
    buffers = [None, pa.py_buffer(offsets.tobytes()), pa.py_buffer(whole.data)]
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), count, buffers)


def arrays_of(column: pa.Array[Any] | pa.ChunkedArray[Any], kind: str, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """The arrays of a column as one, rows along the first axis, without a copy where the column is in one piece.

    Args:
        kind: element type, as declared.
        shape: of each row's array.
    """
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(whole, pa.ChunkedArray):  # combining an empty or an overlong column leaves chunks
        whole = pa.concat_arrays(whole.chunks) if whole.num_chunks else pa.array([], column.type)
    wide = whole.cast(pa.large_binary())
    if len(wide) == 0:
        return np.empty((0, *shape), dtype=np.dtype(kind))
    marks = offsets_of(wide)
    buffers: list[Any] = wide.buffers()
    values = np.frombuffer(buffers[2], np.uint8)[marks[0] : marks[-1]]
    arrays: npt.NDArray[Any] = values.view(np.dtype(kind).newbyteorder("<")).reshape(len(wide), *shape)
    return arrays


def offsets_of(wide: pa.Array[Any]) -> npt.NDArray[np.int64]:
    """Where each value of a large binary array begins in its data, and where the last ends."""
    buffers: list[Any] = wide.buffers()
    return np.frombuffer(buffers[1], np.int64, len(wide) + 1, wide.offset * 8)
