"""A recorded run, read back (`record.py` describes the files).

A rank's parts are put together with those of the other ranks that started with it: *starts* of the run, one for each time it was started
or resumed. A later start counts from its cursor on: what an earlier one did beyond that was redone. Torn last lines are dropped, and
samples beyond the last whole line with them.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from headrace.loader.errors import RecordRefused
from headrace.loader.record import FORMAT, HEADER, METRICS, SAMPLES, STEPS, TIMES

Place = tuple[int, int]
"""(epoch, position of the global batch's first sample): what names a step in any run."""
_PAIR_BYTES: Final = 16


@dataclass(frozen=True, kw_only=True)
class Part:
    """What one rank recorded between a start and its end.

    Attributes:
        rank, world_size, batch_size, length, host, releases, started_at: as in the header.
        start: the cursor's epoch and position.
        steps: (epoch, start, stop, samples) of each batch. Shape (steps, 4).
        pairs: (ID number, digest number) of each sample, in order. Shape (samples, 2).
        times: lines of `times.jsonl`.
        metrics: lines of `metrics.jsonl`.
    """

    rank: int
    world_size: int
    batch_size: int
    length: int
    host: str
    releases: dict[str, str]
    started_at: str
    start: Place
    steps: NDArray[np.int64]
    pairs: NDArray[np.uint64]
    times: list[dict[str, Any]]
    metrics: list[dict[str, Any]]

    @property
    def global_batch(self) -> int:
        return self.world_size * self.batch_size


@dataclass(frozen=True, kw_only=True)
class Start:
    """The ranks that started together; `until` is where the next start took over, None for the last."""

    parts: tuple[Part, ...]
    until: Place | None

    def counts(self, place: Place) -> bool:
        """Whether a step of this start was not redone by a later one."""
        return self.until is None or place < self.until


@dataclass(frozen=True, kw_only=True)
class Run:
    """A recorded run: its starts in the order they happened."""

    name: str
    starts: tuple[Start, ...]

    @property
    def hosts(self) -> int:
        return max(len({part.host for part in start.parts}) for start in self.starts)

    @property
    def global_batches(self) -> list[int]:
        return sorted({part.global_batch for start in self.starts for part in start.parts})


def recorded_run(folder: Path) -> Run:
    """Read a run's record. Raises `RecordRefused` when there is none or it is of another format."""
    parts = [_part(header.parent) for header in sorted(folder.glob(f"rank-*/part-*/{HEADER}"))]
    if not parts:
        raise RecordRefused(
            str(folder),
            found="no recorded rank",
            expected="folders rank-*/part-* as a loader with record=... writes them",
            remedy="Give the folder that was passed as record.",
        )
    groups = _groups(parts)
    untils = [min(group[0].start for group in groups[n + 1 :]) if n + 1 < len(groups) else None for n in range(len(groups))]
    starts = tuple(Start(parts=tuple(group), until=until) for group, until in zip(groups, untils, strict=True))
    return Run(name=str(folder), starts=starts)


def _groups(parts: list[Part]) -> list[list[Part]]:
    """Parts that started together: the same cursor and size, and for each rank the same how-many-eth of that kind."""
    seen: Counter[tuple[Any, ...]] = Counter()
    groups: dict[tuple[Any, ...], list[Part]] = {}
    for part in sorted(parts, key=lambda part: (part.rank, part.started_at)):
        kind = (part.start, part.world_size, part.batch_size)
        groups.setdefault((*kind, seen[(part.rank, *kind)]), []).append(part)
        seen[(part.rank, *kind)] += 1
    return sorted(groups.values(), key=lambda group: min(part.started_at for part in group))


def _part(folder: Path) -> Part:
    header = _header(folder / HEADER)
    lines = [line for line in _lines(folder / STEPS) if "samples" in line]
    steps = np.array([[line["epoch"], line["start"], line["stop"], line["samples"]] for line in lines], dtype=np.int64).reshape(
        -1, 4
    )
    pairs = np.frombuffer((folder / SAMPLES).read_bytes()[: int(steps[:, 3].sum()) * _PAIR_BYTES], dtype="<u8").reshape(-1, 2)
    if pairs.shape[0] != int(steps[:, 3].sum()):
        raise RecordRefused(
            str(folder / SAMPLES),
            found=f"{pairs.shape[0]} samples",
            expected=f"{steps[:, 3].sum()}, as {STEPS} says",
            remedy="Restore it.",
        )
    cursor = header["cursor"]
    return Part(
        **{name: header[name] for name in ("rank", "world_size", "batch_size", "length", "host", "releases", "started_at")},
        start=(cursor["epoch"], cursor["position"]),
        steps=steps,
        pairs=pairs.astype(np.uint64),
        times=_lines(folder / TIMES),
        metrics=_lines(folder / METRICS),
    )


def _header(path: Path) -> dict[str, Any]:
    try:
        fields: dict[str, Any] = json.loads(path.read_bytes())
        found = fields["format"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RecordRefused(str(path), found=str(error), expected="a record's header", remedy="Remove the part.") from error
    if found != FORMAT:
        raise RecordRefused(
            str(path), found=f"format {found}", expected=f"format {FORMAT}", remedy="Use the headrace that wrote it."
        )
    return fields


def _lines(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    return [json.loads(line) for line in whole.splitlines()]
