"""How a release is read: everything a user may choose, checked once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headrace.spec.errors import check

MB: Final = 1_000_000
ENDS: Final = ("exact", "pad", "drop")
Transform = Callable[[pa.RecordBatch, NDArray[np.uint64]], pa.RecordBatch]


@dataclass(frozen=True, kw_only=True)
class LoaderOptions:
    """Choices of one loader.

    Attributes:
        seed: of the order, and of the transforms' randomness.
        batch_size: samples per rank and step.
        columns: which columns a batch holds; None: all but the identity columns. Sample IDs are always at hand.
        split: only rows whose `split` column says so, such as `train`; None: all rows.
        shuffle: False reads in the release's order.
        window_bytes: shards are shuffled, then samples within windows of about this many written bytes; at least one shard.
            It is part of the order: another size is another order.
        end: what happens where the samples do not fill the last global batch. `exact`: nothing repeated, nothing dropped, some
            ranks get a shorter batch or none. `pad`: every batch is full, repeats are marked in `Batch.mask`. `drop`: the
            unfilled batch is left out.
        transform: called on each batch with one 64-bit seed per sample, in the process that reads; see `transform.py`.
        cache_folder: where shards are kept as Arrow files, shared by the processes of a machine; None: the user's cache folder.
        cache_bytes: what the folder may hold before the least recently used shards leave it.
        prefetch_bytes: how far ahead to read: of shards on their way (written bytes, at least one shard) and, separately and up to
            16 MB, of finished batches (bytes in memory, at least one batch). 0 reads in the consumer's thread, nothing ahead.
        fetch_threads: shards fetched at once; memory holds as many shards as they were written, and one part of each decoded.
        reverify_seconds: an unchanged cached file that this machine verified at most so long ago is not hashed again.
        progress: whether to show a bar.
    """

    seed: int = 0
    batch_size: int = 1
    columns: tuple[str, ...] | None = None
    split: str | None = None
    shuffle: bool = True
    window_bytes: int = 256 * MB
    end: str = "exact"
    transform: Transform | None = None
    cache_folder: Path | None = None
    cache_bytes: int = 20_000 * MB
    prefetch_bytes: int = 128 * MB
    fetch_threads: int = 4
    reverify_seconds: float = 600.0
    progress: bool = False

    def __post_init__(self) -> None:
        who = "LoaderOptions"
        check(_whole(self.seed) and 0 <= self.seed < 2**63, who, "seed", self.seed, "a whole number from 0 to 2^63 - 1")
        check(_whole(self.batch_size) and self.batch_size >= 1, who, "batch_size", self.batch_size, "at least 1")
        check(self.columns is None or _names(self.columns), who, "columns", self.columns, "a tuple of different names, or None")
        check(self.split is None or self.split != "", who, "split", self.split, "a part's name such as 'train', or None")
        check(_whole(self.window_bytes) and self.window_bytes >= 1, who, "window_bytes", self.window_bytes, "at least 1")
        check(self.end in ENDS, who, "end", self.end, f"one of {list(ENDS)}")
        check(self.cache_bytes >= 1, who, "cache_bytes", self.cache_bytes, "at least 1")
        check(self.prefetch_bytes >= 0, who, "prefetch_bytes", self.prefetch_bytes, "at least 0")
        check(1 <= self.fetch_threads <= 64, who, "fetch_threads", self.fetch_threads, "1 to 64")
        check(self.reverify_seconds >= 0, who, "reverify_seconds", self.reverify_seconds, "at least 0")


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _names(columns: object) -> bool:
    return isinstance(columns, tuple) and all(isinstance(name, str) for name in columns) and len(set(columns)) == len(columns)
