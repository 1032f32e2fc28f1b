"""Small releases for the loader's tests, and the checker of its law."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
from headrace.lake.store import Store
from headrace.loader import Batch, Loader, LoaderOptions, Place, open_loader
from headrace.loader.cache import CacheCounts
from headrace.loader.read import read
from headrace.manifests.manifest import Counts, Manifest
from headrace.manifests.promote import promote, write_candidate
from headrace.shards.table import write_table

RUN = {"run_id": "test"}


def release(
    lake: Store, sizes: Sequence[int], *, name: str = "numbers", first: int = 0, columns: dict[str, Any] | None = None
) -> str:
    """Publish a dataset with one shard a day, of the given row counts; column `n` counts on from `first`. Returns its digest."""
    candidates: dict[str, str] = {}
    for day, rows in enumerate(sizes):
        start = first + sum(sizes[:day])
        table = pa.table(
            {"n": pa.array(range(start, start + rows), pa.int64()), "text": [f"text {n}" for n in range(start, start + rows)]}
        )
        for column, make in ({} if columns is None else columns).items():
            table = table.append_column(column, pa.array([make(n) for n in range(start, start + rows)]))
        candidates.update(partition(lake, name, f"2024-{1 + day // 28:02d}-{1 + day % 28:02d}", table))
    return promote(lake, name, candidates, RUN).digest


def partition(lake: Store, name: str, key: str, table: pa.Table, facts: dict[str, Any] | None = None) -> dict[str, str]:
    """Store one partition; returns what `promote` wants."""
    written = write_table(lake, name, table, key=("n",), computed_from=f"{name}/{key}")
    manifest = Manifest(
        dataset=name,
        partition=key,
        shards=written.uploaded.shards,
        index=written.uploaded.index,
        schema=written.schema,
        counts=Counts(listed=1, read=1, skipped={}, quarantined={}, samples=written.rows),
        inventory_digest="0" * 64,
        declaration_digest="0" * 64,
        facts={} if facts is None else facts,
    )
    return {key: write_candidate(lake, manifest, RUN)}


def numbers(batches: Iterable[Batch]) -> list[int]:
    """Column `n` of every real sample, in order."""
    return [
        n for batch in batches for n, real in zip(batch.rows.column("n").to_pylist(), batch.mask.tolist(), strict=True) if real
    ]


def global_order(shares: Sequence[Sequence[Batch]]) -> list[int]:
    """What the ranks saw, put back in the order of the epoch."""
    seen = {
        (batch.epoch, int(position)): n
        for batches in shares
        for batch in batches
        for position, n, real in zip(batch.positions, batch.rows.column("n").to_pylist(), batch.mask, strict=True)
        if real
    }
    return [seen[key] for key in sorted(seen)]


def loaders(lake: Store, world_size: int, options: LoaderOptions, **kwargs: Any) -> list[Loader]:
    """One loader per rank."""
    return [
        open_loader(lake.uri, "numbers", options=options, place=Place(rank=rank, world_size=world_size), **kwargs)
        for rank in range(world_size)
    ]


def run_steps(ranks: Sequence[Any], steps: int) -> list[list[Batch]]:
    """Let every rank take at most so many steps; returns each rank's batches."""
    shares: list[list[Batch]] = []
    for loader in ranks:
        batches: list[Batch] = []
        if steps > 0:
            for batch in loader:
                batches.append(batch)
                if len(batches) == steps:
                    break
        shares.append(batches)
    return shares


class WithWorkers:
    """A loader whose batches are made by so many workers in turn, as processes would make them, each by its own reading."""

    def __init__(self, loader: Loader, workers: int) -> None:
        self.loader = loader
        self.workers = max(workers, 1)
        self.state_dict = loader.state_dict
        self.load_state_dict = loader.load_state_dict
        self.set_epoch = loader.set_epoch

    def __iter__(self) -> Iterator[Batch]:
        return self.loader.hand_over(self._in_turn())

    def _in_turn(self) -> Iterator[Batch]:
        places = [replace(self.loader.place, worker=n, workers=self.workers) for n in range(self.workers)]
        readers = [read(self.loader.reading, self.loader.cursor, place, CacheCounts()) for place in places]
        while readers:
            for reader in list(readers):
                batch = next(reader, None)
                if batch is None:
                    readers.remove(reader)
                else:
                    yield batch


def check_resume(
    open_ranks: Callable[[Any], Sequence[Any]], expected: list[int], *, before: Any, after: Any, steps: int, epoch: int = 0
) -> None:
    """The loader's law: stopped after `steps` at world size `before`, resumed at `after` in fresh loaders, every sample of the epoch came
    out exactly once and in the order `expected`, and the next epoch starts clean.
    """
    stopped = open_ranks(before)
    for loader in stopped if epoch > 0 else []:
        loader.set_epoch(epoch)
    first = run_steps(stopped, steps)
    states = {tuple(sorted(loader.state_dict().items())) for loader in stopped}
    assert len(states) == 1, "one state for all ranks"
    state = dict(states.pop())
    resumed = open_ranks(after)
    for loader in resumed:
        loader.load_state_dict(state)
    second = [list(loader) for loader in resumed] if state["epoch"] == epoch else []
    assert sorted(numbers(batch for share in [*first, *second] for batch in share)) == sorted(expected)
    assert global_order([*first, *second]) == expected
    assert {(loader.state_dict()["epoch"], loader.state_dict()["position"]) for loader in resumed} == {(epoch + 1, 0)}
