"""From steps to batches.

Samples are gathered for several steps at a time, about 8 MB, because taking rows costs per call; then cut into batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from headrace.loader.batch import Batch
from headrace.loader.options import Transform
from headrace.loader.source import Reader
from headrace.loader.steps import Step, Steps
from headrace.loader.transform import sample_seeds, transformed

BLOCK_BYTES: Final = 8_000_000
BLOCK_SAMPLES: Final = 16_384


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What turns samples into batches: `columns` of the batch, and the transform with its seed."""

    columns: tuple[str, ...]
    transform: Transform | None
    seed: int


def batches(reader: Reader, steps: Steps, recipe: Recipe, epoch: int) -> Iterator[Batch]:
    """This worker's batches of the rest of an epoch, in order. A step that leaves this rank nothing gives no batch."""
    own = steps.own
    at = 0
    while at < len(own):
        first = steps.step(own[at])
        place = epoch * steps.length + min(first.start, steps.length - 1)
        wanted = max(int(min(BLOCK_BYTES / max(reader.row_bytes(place), 1.0), BLOCK_SAMPLES) // steps.batch_size), 1)
        block = [first, *(steps.step(number) for number in own[at + 1 : at + wanted])]
        yield from _cut(reader, block, recipe, epoch, steps.length)
        at += len(block)


def _cut(reader: Reader, block: Sequence[Step], recipe: Recipe, epoch: int, length: int) -> Iterator[Batch]:
    positions = np.concatenate([step.positions for step in block])
    if positions.shape[0] == 0:
        return
    rows = reader.take(epoch * length + positions)
    start = 0
    for step in block:
        count = step.positions.shape[0]
        if count > 0:
            yield _batch(rows.slice(start, count), step, recipe, epoch)
        start += count


def _batch(rows: pa.RecordBatch, step: Step, recipe: Recipe, epoch: int) -> Batch:
    ids = rows.column("sample_id")
    chosen = rows.select(list(recipe.columns))
    if recipe.transform is not None:
        chosen = transformed(recipe.transform, chosen, sample_seeds(recipe.seed, epoch, ids), ids)
    return Batch(
        rows=chosen,
        sample_ids=ids,
        sample_digests=rows.column("sample_digest"),
        epoch=epoch,
        start=step.start,
        stop=step.stop,
        positions=step.positions,
        mask=step.mask,
    )
