"""Batches on their way from a worker process to its rank, in shared memory that is used again.

A fresh page costs many times what the bytes on it cost, so a block goes back and forth: the worker marks it as in use and fills it, the
rank reads in place and clears the mark when the last batch that lies in it is gone. The mark stands in the block itself, so nothing else
has to travel back. A rank that keeps its batches keeps their blocks, and the worker takes new ones meanwhile.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray

from headrace.loader.batch import Batch

_HEADER_BYTES: Final = 64
_ROOM: Final = 1.125
"""A block is made somewhat larger than what it is made for: the next batches are rarely of the same size."""
_BESIDE: Final = ("id", "digest", "position", "real")


@dataclass(frozen=True, kw_only=True)
class Parcel:
    """Several batches in a block.

    Attributes:
        worker, block: which block it is.
        memory: the block itself, the first time it is used; handing it over costs about a millisecond.
        size_bytes: how much of it is used, without its header.
        names: of the batches' columns.
        spans: (epoch, start, stop) of each batch.
        counts: what the worker's shard cache did since the last parcel.
    """

    worker: int
    block: int
    memory: torch.Tensor | None
    size_bytes: int
    names: tuple[str, ...]
    spans: tuple[tuple[int, int, int], ...]
    counts: dict[str, int]


class Sender:
    """One worker's blocks, for one iteration."""

    def __init__(self, worker: int) -> None:
        self._worker = worker
        self._blocks: list[torch.Tensor] = []

    def parcel(self, batches: Sequence[Batch], counts: dict[str, int]) -> Parcel:
        """The batches, laid down in a block."""
        parts = [_with_identity(batch) for batch in batches]
        counted = pa.MockOutputStream()
        _write(counted, parts)
        size = counted.size()
        number, fresh = self._free(size)
        with pa.FixedSizeBufferWriter(pa.py_buffer(_content(self._blocks[number], size))) as sink:
            _write(sink, parts)
        return Parcel(
            worker=self._worker,
            block=number,
            memory=self._blocks[number] if fresh else None,
            size_bytes=size,
            names=tuple(batches[0].rows.schema.names),
            spans=tuple((batch.epoch, batch.start, batch.stop) for batch in batches),
            counts=counts,
        )

    def _free(self, size: int) -> tuple[int, bool]:
        """A block for so many bytes, marked as in use, and whether it is a new one. One that is too small is replaced."""
        free = [number for number, block in enumerate(self._blocks) if _mark(block)[0] == 0]
        number = next((number for number in free if _room(self._blocks[number]) >= size), None)
        fresh = number is None
        if number is None:
            block = torch.empty(0, dtype=torch.uint8)
            block = block.set_(torch.UntypedStorage._new_shared(_HEADER_BYTES + int(size * _ROOM)))
            number = free[0] if free else len(self._blocks)
            self._blocks[number : number + 1] = [block]
        _mark(self._blocks[number])[0] = 1
        return number, fresh


class Receiver:
    """A rank's view of its workers' blocks, for one iteration."""

    def __init__(self) -> None:
        self._blocks: dict[tuple[int, int], torch.Tensor] = {}

    def batches(self, parcel: Parcel) -> Iterator[Batch]:
        """The parcel's batches, read in place; the block is free when the last of them is gone."""
        if parcel.memory is not None:
            self._blocks[parcel.worker, parcel.block] = parcel.memory
        block = self._blocks[parcel.worker, parcel.block]
        content = _content(block, parcel.size_bytes)
        weakref.finalize(content, _mark(block).fill, 0).atexit = False
        for (epoch, start, stop), whole in zip(parcel.spans, pa.ipc.open_stream(pa.py_buffer(content)), strict=True):
            yield Batch(
                rows=pa.RecordBatch.from_arrays(whole.columns[: len(parcel.names)], names=list(parcel.names)),
                sample_ids=whole.column("id"),
                sample_digests=whole.column("digest"),
                epoch=epoch,
                start=start,
                stop=stop,
                positions=whole.column("position").to_numpy(),
                mask=whole.column("real").to_numpy(zero_copy_only=False),
            )


def _mark(block: torch.Tensor) -> NDArray[np.uint8]:
    return np.asarray(block[:1].numpy())


def _room(block: torch.Tensor) -> int:
    return int(block.numel()) - _HEADER_BYTES


def _content(block: torch.Tensor, size: int) -> Any:
    return np.asarray(block.numpy()[_HEADER_BYTES : _HEADER_BYTES + size])


def _with_identity(batch: Batch) -> pa.RecordBatch:
    rows = batch.rows
    beside: list[Any] = [batch.sample_ids, batch.sample_digests, pa.array(batch.positions), pa.array(batch.mask)]
    names = [*(str(n) for n in range(rows.num_columns)), *_BESIDE]
    return pa.RecordBatch.from_arrays([*rows.columns, *beside], names=names)


def _write(sink: Any, parts: Sequence[pa.RecordBatch]) -> None:
    with pa.ipc.new_stream(sink, parts[0].schema) as writer:
        for part in parts:
            writer.write_batch(part)
