"""The samples of a run in the order of its epochs, and whether each came once.

A sample's position follows from its rank: rank `r` of `W` took `p mod W = r` from the global batch. Steps at the end that not every rank
recorded (the run was stopped there) are left out; a step in the middle that lacks samples is a fault.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headrace.loader.audit.recorded import Part, Run, Start

_EPOCH_BITS = 40


@dataclass(frozen=True, kw_only=True)
class Seen:
    """One row per sample, sorted by epoch and position. All of shape (samples,).

    Attributes:
        key: `epoch * 2^40 + position`.
        step: the key of the global batch's first position.
        rank: who took it.
        sample, content: the numbers of its ID and of its digest.
    """

    key: NDArray[np.int64]
    step: NDArray[np.int64]
    rank: NDArray[np.int64]
    sample: NDArray[np.uint64]
    content: NDArray[np.uint64]

    def __len__(self) -> int:
        return int(self.key.shape[0])


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A sample lost or repeated: what, and the first place. `rank` is -1 where no single rank is meant."""

    text: str
    epoch: int
    position: int
    rank: int


def place_of(key: int) -> tuple[int, int]:
    """(epoch, position) of a key."""
    return key >> _EPOCH_BITS, key & ((1 << _EPOCH_BITS) - 1)


def key_of_place(epoch: int, position: int) -> int:
    return (epoch << _EPOCH_BITS) + position


def seen_by(run: Run) -> Seen:
    """The run's samples, redone ones as they were last done."""
    tables = [_of_part(start, part) for start in run.starts for part in start.parts]
    columns = [np.concatenate([table[n] for table in tables]) for n in range(5)]
    order = np.argsort(columns[0], kind="stable")
    key, step, rank, sample, content = (column[order] for column in columns)
    return Seen(key=key, step=step, rank=rank, sample=sample, content=content)


def faults_of(run: Run, seen: Seen) -> list[Fault]:
    """What is wrong with the run by itself, gravest first; empty when every sample came once."""
    return [*_absent_ranks(run), *_repeats(run, seen), *_gaps(run, seen)]


def _of_part(start: Start, part: Part) -> tuple[NDArray[Any], ...]:
    """The columns of `Seen`, unsorted."""
    ends = np.cumsum(part.steps[:, 3])
    keys, steps, kept = [], [], np.zeros(part.pairs.shape[0], dtype=bool)
    for (epoch, first, _, count), end in zip(part.steps.tolist(), ends.tolist(), strict=True):
        if not start.counts((epoch, first)):
            continue
        positions = first + (part.rank - first) % part.world_size + np.arange(count) * part.world_size
        keys.append(key_of_place(epoch, 0) + positions)
        steps.append(np.full(count, key_of_place(epoch, first)))
        kept[end - count : end] = True
    pairs = part.pairs[kept]
    none = [np.empty(0, dtype=np.int64)]
    key, step = np.concatenate(keys or none).astype(np.int64), np.concatenate(steps or none).astype(np.int64)
    return key, step, np.full(key.shape, part.rank), pairs[:, 0], pairs[:, 1]


def _absent_ranks(run: Run) -> list[Fault]:
    faults = []
    for start in run.starts:
        present = {part.rank for part in start.parts}
        absent = sorted(set(range(start.parts[0].world_size)) - present)
        if absent:
            epoch, position = start.parts[0].start
            ranks = ", ".join(map(str, absent))
            faults.append(Fault(text=f"no record of rank {ranks}", epoch=epoch, position=position, rank=absent[0]))
    return faults


def _repeats(run: Run, seen: Seen) -> list[Fault]:
    """An ID twice in an epoch. A mixture repeats its small datasets on purpose and is judged by positions only."""
    if len(run.starts[0].parts[0].releases) > 1:
        return []
    epochs = seen.key >> _EPOCH_BITS
    order = np.lexsort((seen.key, seen.sample, epochs))
    same = (seen.sample[order][1:] == seen.sample[order][:-1]) & (epochs[order][1:] == epochs[order][:-1])
    again = order[1:][same]
    if again.shape[0] == 0:
        return []
    first = int(again[np.argmin(seen.key[again])])
    epoch, position = place_of(int(seen.key[first]))
    return [Fault(text=f"{again.shape[0]} samples came twice", epoch=epoch, position=position, rank=int(seen.rank[first]))]


def _gaps(run: Run, seen: Seen) -> list[Fault]:
    """Positions between the first and the last whole step of an epoch that nobody took."""
    faults = []
    length = run.starts[0].parts[0].length
    for epoch in np.unique(seen.key >> _EPOCH_BITS).tolist():
        here = seen.key >> _EPOCH_BITS == epoch
        positions = np.unique(seen.key[here] - key_of_place(epoch, 0))
        later = bool((seen.key >> _EPOCH_BITS > epoch).any())
        stop = length if later else _last_whole(seen, here, length) - key_of_place(epoch, 0)
        missing = np.setdiff1d(np.arange(positions[0], stop), positions)
        if missing.shape[0] > 0 and not _dropped(run, missing, length):
            faults.append(Fault(text=f"{missing.shape[0]} positions nobody took", epoch=epoch, position=int(missing[0]), rank=-1))
    return faults


def _dropped(run: Run, missing: NDArray[np.int64], length: int) -> bool:
    """Less than one global batch at the epoch's end: left out by choice (`end="drop"`)."""
    return bool(missing[0] + missing.shape[0] == length and missing.shape[0] < max(run.global_batches))


def _last_whole(seen: Seen, here: NDArray[np.bool_], length: int) -> int:
    """The key after the last step whose samples are all there."""
    steps, counts = np.unique(seen.step[here], return_counts=True)
    stops = np.append(steps[1:], key_of_place(int(steps[-1]) >> _EPOCH_BITS, length))
    whole = np.flatnonzero(counts == stops - steps)
    return int(stops[whole[-1]]) if whole.shape[0] > 0 else int(steps[0])
