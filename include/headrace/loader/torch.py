"""The loader under PyTorch: worker processes, rank discovery, tensors.

`TorchLoader` runs `torch.utils.data.DataLoader` workers around the same core. Worker `j` of `N` makes the rank's batches `j`, `j + N`,
... and they are put back in order here, so the number of workers moves no sample. The cursor counts what was handed over here, not what
workers have read ahead. Batches travel several together (`blocks.py`). A worker's error is raised here as
itself, a killed worker as `WorkerLost` (or as the RuntimeError that torch's signal handler raises wherever the main thread is).

With several ranks and `end="exact"` the last step may be missing on some ranks; code that synchronises every step wants `pad` or `drop`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

import numpy as np
import pyarrow as pa
import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from headrace.errors import HeadraceError
from headrace.loader.batch import Batch, as_numpy
from headrace.loader.blocks import Receiver, Sender
from headrace.loader.cache import CacheCounts
from headrace.loader.cursor import Cursor
from headrace.loader.errors import WorkerLost
from headrace.loader.loader import Loader
from headrace.loader.place import Place
from headrace.loader.read import Reading, check_complete, read
from headrace.loader.stats import LoaderStats
from headrace.settings import launched_rank
from headrace.spec.errors import check

BLOCK_BYTES: Final = 4_000_000
MOST_BATCHES: Final = 64


def torch_place() -> Place:
    """This process's rank: from `torch.distributed` when it is initialised, else from the launcher (`RANK`, `WORLD_SIZE`), else the only
    one. Ask in the training process: worker processes know neither.
    """
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return Place(rank=torch.distributed.get_rank(), world_size=torch.distributed.get_world_size())
    rank, world_size = launched_rank()
    return Place(rank=rank, world_size=world_size)


@dataclass(frozen=True, kw_only=True)
class TorchBatch:
    """A batch as tensors.

    Attributes:
        columns: numbers and booleans as tensors of shape (samples,) (or (samples, length) for lists of one length), null numbers as NaN
            in float64; instants and days as NumPy arrays; texts and bytes as lists.
        mask: False for stand-ins. Shape (samples,).
        batch: the same as Arrow, with sample IDs and positions.
    """

    columns: dict[str, Any]
    mask: torch.Tensor
    batch: Batch

    def __getitem__(self, column: str) -> Any:
        return self.columns[column]

    def __len__(self) -> int:
        return len(self.batch)


class TorchLoader:
    """Iterates a loader's epochs as `TorchBatch`; same cursor, same law."""

    def __init__(self, loader: Loader, *, workers: int = 0, start_method: str | None = None, prefetch_blocks: int = 2) -> None:
        """Args: `workers`: processes that read for this rank, 0 for none; `start_method`: fork, spawn or forkserver, None for torch's
        choice; `prefetch_blocks`: finished blocks (about 4 MB, at least one batch) a worker may have waiting.
        """
        check(workers >= 0, "TorchLoader", "workers", workers, "at least 0")
        check(prefetch_blocks >= 1, "TorchLoader", "prefetch_blocks", prefetch_blocks, "at least 1")
        self._loader = loader
        self._dataset = ReleaseDataset(loader)
        self._choices = {
            "num_workers": workers,
            "prefetch_factor": prefetch_blocks,
            "multiprocessing_context": start_method,
            "persistent_workers": True,
        }
        self._workers: Any = None

    @property
    def loader(self) -> Loader:
        return self._loader

    def __len__(self) -> int:
        return len(self._loader)

    def __iter__(self) -> Iterator[TorchBatch]:
        batches = iter(self._loader) if self._choices["num_workers"] == 0 else self._loader.hand_over(self._from_workers())
        return map(as_tensors, batches)

    def state_dict(self) -> dict[str, int]:
        return self._loader.state_dict()

    def load_state_dict(self, state: object) -> None:
        self._loader.load_state_dict(state)

    def stats(self) -> LoaderStats:
        return self._loader.stats()

    def _from_workers(self) -> Iterator[Batch]:
        reading, cursor = self._loader.reading, self._loader.cursor
        self._dataset.start_from(cursor)
        given, expected = 0, cursor.position
        arrived: dict[int, Batch] = {}
        receiver = Receiver()
        for message in self._messages():
            if isinstance(message, HeadraceError):
                raise message
            self._loader.counts.add(**message.counts)
            arrived.update((batch.start, batch) for batch in receiver.batches(message))
            while expected in arrived:
                batch = arrived.pop(expected)
                expected = batch.stop
                given += int(batch.mask.sum())
                yield batch
        check_complete(reading, given, reading.steps(cursor, self._loader.place).expected_samples, cursor)

    def _messages(self) -> Iterator[Any]:
        """What the workers send. When one is lost, the others are let go of, and the next iteration starts new ones."""
        if self._workers is None:
            self._workers = DataLoader(self._dataset, batch_size=None, **self._choices)
        try:
            yield from self._workers
        except (RuntimeError, ConnectionError, EOFError, FileNotFoundError) as error:
            self._workers = None
            raise WorkerLost(
                f"workers reading {self._loader.reading.source.about}",
                found=f"{type(error).__name__}: {error}",
                expected="living worker processes",
                remedy="If the kernel killed one for its memory, lower workers, window_bytes or prefetch_bytes; iterate again to go on.",
            ) from error


class ReleaseDataset(IterableDataset):  # type: ignore[misc] # torch is not installed where types are checked
    """One rank's batches for a DataLoader with `batch_size=None`. Each worker makes its own part, from a cursor set in shared memory:
    persistent workers keep their copy of the dataset, not of the cursor.
    """

    def __init__(self, loader: Loader) -> None:
        self._reading: Reading = loader.reading
        self._place = loader.place
        self._order = loader.cursor.order
        self._block = batches_in_a_block(loader.reading)
        self._cursor = torch.zeros(3, dtype=torch.int64).share_memory_()
        self.start_from(loader.cursor)

    def start_from(self, cursor: Cursor) -> None:
        """Where the next iteration of every worker starts."""
        self._cursor.copy_(torch.tensor([cursor.seed, cursor.epoch, cursor.position]))

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        place = self._place if info is None else replace(self._place, worker=info.id, workers=info.num_workers)
        seed, epoch, position = self._cursor.tolist()
        counts, told, sender = CacheCounts(), CacheCounts(), Sender(place.worker)
        try:
            batches = read(self._reading, Cursor(order=self._order, seed=seed, epoch=epoch, position=position), place, counts)
            while block := list(islice(batches, self._block)):
                yield sender.parcel(block, _news(counts, told))
        except HeadraceError as error:
            # Raised here, torch would rebuild it from its text alone and lose its facts.
            yield error


def batches_in_a_block(reading: Reading) -> int:
    """How many batches travel together: about `BLOCK_BYTES`, because a block costs about a millisecond whatever its size."""
    shapes = [part.shape for part in reading.source.parts]
    row_bytes = max(sum(sum(shape.sizes) for shape in shapes) / max(sum(shape.length for shape in shapes), 1), 1.0)
    return min(max(int(BLOCK_BYTES / row_bytes / reading.options.batch_size), 1), MOST_BATCHES)


def _news(counts: CacheCounts, told: CacheCounts) -> dict[str, int]:
    """What the cache did since it was last told of."""
    news = {name: getattr(counts, name) - getattr(told, name) for name in ("hits", "misses", "refetched", "bytes_fetched")}
    told.add(**news)
    return news


def as_tensors(batch: Batch) -> TorchBatch:
    """The batch with its numbers as tensors."""
    columns = {name: _tensor(column) for name, column in zip(batch.rows.schema.names, batch.rows.columns, strict=True)}
    return TorchBatch(columns=columns, mask=torch.from_numpy(batch.mask.copy()), batch=batch)


def _tensor(column: Any) -> Any:
    if _is_text(column.type):
        return column.to_pylist()
    values = as_numpy(column)
    if values.dtype.kind in "biuf":
        return torch.from_numpy(np.array(values))  # a copy: Arrow's memory must not be written to
    return values if values.dtype.kind == "M" else column.to_pylist()


def _is_text(kind: Any) -> bool:
    return any(
        test(kind) for test in (pa.types.is_string, pa.types.is_binary, pa.types.is_large_string, pa.types.is_large_binary)
    )
