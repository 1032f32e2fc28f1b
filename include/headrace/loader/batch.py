"""What the training step gets: rows, who they are, and where they stand in the epoch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headrace.loader.order import Positions


@dataclass(frozen=True, kw_only=True)
class Batch:
    """One rank's part of one global batch.

    Attributes:
        rows: the chosen columns, shape (samples,).
        sample_ids, sample_digests: of each row, before any transform.
        epoch: counted from 0.
        start, stop: the global batch's positions in the epoch, half open.
        positions: of each row; stand-ins repeat the position of the sample they repeat.
        mask: False for stand-ins (`end="pad"`).
    """

    rows: pa.RecordBatch
    sample_ids: pa.Array[Any]
    sample_digests: pa.Array[Any]
    epoch: int
    start: int
    stop: int
    positions: Positions
    mask: NDArray[np.bool_]

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    @property
    def nbytes(self) -> int:
        return int(self.rows.nbytes)

    def numpy(self) -> dict[str, NDArray[Any]]:
        """Column name -> array of shape (samples,) or, for lists of one fixed length, (samples, length).

        Numbers, booleans and instants keep their types where no value is null; null numbers become NaN in float64. Texts and bytes
        are object arrays.
        """
        return {name: as_numpy(column) for name, column in zip(self.rows.schema.names, self.rows.columns, strict=True)}

    def samples(self) -> Iterator[dict[str, Any]]:
        """Each row as a dictionary of Python values, without stand-ins."""
        names = ["sample_id", *self.rows.schema.names]
        values = [_python(column) for column in (self.sample_ids, *self.rows.columns)]
        for real, *row in zip(self.mask.tolist(), *values, strict=True):
            if real:
                yield dict(zip(names, row, strict=True))


def as_numpy(column: Any) -> NDArray[Any]:
    """An Arrow column as a NumPy array; see `Batch.numpy`."""
    kind = column.type
    if pa.types.is_fixed_size_list(kind) and column.null_count == 0:
        return as_numpy(column.flatten()).reshape(len(column), kind.list_size)
    if (pa.types.is_integer(kind) or pa.types.is_floating(kind)) and column.null_count > 0:
        return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
    if pa.types.is_boolean(kind) and column.null_count > 0:
        return np.asarray(column.cast(pa.uint8()).cast(pa.float64()).to_numpy(zero_copy_only=False))
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _python(column: Any) -> list[Any]:
    kind = column.type
    if column.null_count == 0 and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return list(column.to_numpy().tolist())
    return list(column.to_pylist())
