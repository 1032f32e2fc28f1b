"""Which rows of each shard are read: all of them, or those of one part of the split.

The counts must be known before the first sample, because positions count the chosen rows. Training sets state in each manifest how many
rows each part has; a partition that lies wholly in or out needs no look inside. Others have their `split` column read.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.loader.errors import ColumnsRefused
from headrace.loader.order import Positions
from headrace.loader.release import HIDDEN, IDENTITY, Pinned, Shard

SPLIT = "split"
Chosen = tuple[Positions | None, ...]
"""For each shard of a release: None for every row, else the row numbers that are read."""


def batch_columns(pinned: Pinned, wanted: tuple[str, ...] | None) -> tuple[str, ...]:
    """The columns of a batch, in the order asked for. Raises `ColumnsRefused` for one the release lacks."""
    if wanted is None:
        return tuple(name for name in pinned.columns if name not in HIDDEN)
    for name in wanted:
        require_column(pinned, name)
    return wanted


def read_columns(pinned: Pinned, columns: tuple[str, ...], split: str | None) -> tuple[str, ...]:
    """What is read from a shard: the batch's columns, the identity of each sample, and the split when one is chosen."""
    if split is not None:
        require_column(pinned, SPLIT)
    asked = {*columns, *IDENTITY, *([SPLIT] if split is not None else [])}
    return tuple(name for name in pinned.columns if name in asked)


def require_column(pinned: Pinned, name: str) -> None:
    if name not in pinned.columns:
        raise ColumnsRefused(
            f"{pinned.dataset} release {pinned.number} column {name!r}",
            found="no such column",
            expected=f"one of {list(pinned.columns)}",
            remedy="Correct the name, or open the release that has it.",
        )


def chosen_rows(pinned: Pinned, split: str | None, open_shard: Callable[[Shard], pa.Table], pool: Executor) -> Chosen:
    """The rows of each shard that belong to `split`.

    Args:
        open_shard: reads a shard with its `split` column; called for partitions of mixed or unknown parts only.
        pool: where it is called.
    """
    if split is None:
        return (None,) * len(pinned.shards)

    def chosen(shard: Shard) -> Positions | None:
        counts = pinned.split_counts.get(shard.partition)
        if counts is not None and counts.get(split, 0) == sum(counts.values()):
            return None
        if counts is not None and counts.get(split, 0) == 0:
            return np.empty(0, dtype=np.int64)
        return matching(open_shard(shard).column(SPLIT), split)

    return tuple(pool.map(chosen, pinned.shards))


def matching(column: Any, split: str) -> Positions | None:
    """Row numbers whose value is `split`; None when all are."""
    same = np.asarray(pc.is_in(column, value_set=pa.array([split], column.type)))
    return None if bool(same.all()) else np.flatnonzero(same).astype(np.int64)
