"""One run of one partition: what its tasks did, merged. A value; nothing here touches a lake.

The report is a measurement: it is not digested, changes no shard, and losing it loses nothing but itself. It can be merged again from more
records at any time, so a run that was cleared and went on keeps its earlier tries.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from headrace.runs.errors import RunReportRefused
from headrace.runs.task_record import TaskRecord
from headrace.spec.canonical import instant_from, instant_text
from headrace.stages import Spent, Stage

FORMAT: Final = 1


@dataclass(frozen=True, kw_only=True)
class RunFacts:
    """Which run it was.

    Attributes:
        dataset, partition: what it worked on.
        dag, run_id, kind: as the orchestrator names it.
        queued: when its tasks could first have started; None when nobody said.
        due: when the partition should be published; None when nothing is expected.
    """

    dataset: str
    partition: str
    dag: str
    run_id: str
    kind: str
    queued: datetime | None = None
    due: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class RunReport:
    """A run and the records of its tasks, in the order of their keys.

    Attributes:
        samples, shards, size_bytes: of the partition as the run left it in use; None when it published nothing.
    """

    facts: RunFacts
    records: tuple[TaskRecord, ...]
    samples: int | None = None
    shards: int | None = None
    size_bytes: int | None = None

    @property
    def last_tries(self) -> list[TaskRecord]:
        """The newest try of each task instance."""
        newest = {(one.task, one.map_index): one for one in self.records}
        return list(newest.values())

    @property
    def state(self) -> str:
        """Failed or retry when some task's newest try is; success otherwise."""
        states = {one.state for one in self.last_tries}
        return next((state for state in ("failed", "retry") if state in states), "success")

    @property
    def began(self) -> datetime:
        return min(one.began for one in self.records)

    @property
    def ended(self) -> datetime:
        return max(one.ended for one in self.records)

    @property
    def seconds(self) -> float:
        """From the first task's start to the last one's end."""
        return (self.ended - self.began).total_seconds()

    @property
    def waited_seconds(self) -> float:
        """Off the worker, for an instant or for partitions."""
        return sum(one.waited_seconds for one in self.last_tries)

    @property
    def between_seconds(self) -> float:
        """Wall time in which no task was on a worker or waiting: the orchestrator's share."""
        spans = sorted((one.began.timestamp() - one.waited_seconds, one.ended.timestamp()) for one in self.records)
        idle, reached = 0.0, spans[0][0]
        for start, end in spans:
            idle += max(start - reached, 0.0)
            reached = max(reached, end)
        return idle

    @property
    def stages(self) -> dict[Stage, Spent]:
        """Time per stage over all tries."""
        return total_stages(self.records)

    @property
    def peak_memory_bytes(self) -> int:
        return max(one.peak_memory_bytes for one in self.records)

    @property
    def retries(self) -> int:
        """Tries beyond each instance's first, those that left no record included."""
        return sum(one.try_number - 1 for one in self.last_tries)

    @property
    def lost_tries(self) -> list[str]:
        """Tries that left no record: killed from outside, or out of memory."""
        known = {one.key for one in self.records}
        return [
            f"{one.name} try {number}"
            for one in self.last_tries
            for number in range(1, one.try_number)
            if (one.task, one.map_index, number) not in known
        ]

    def plain(self) -> dict[str, Any]:
        """As JSON values."""
        facts = {**vars(self.facts), "queued": _text(self.facts.queued), "due": _text(self.facts.due)}
        counts = {"samples": self.samples, "shards": self.shards, "size_bytes": self.size_bytes}
        return {"format": FORMAT, "facts": facts, "counts": counts, "records": [one.plain() for one in self.records]}

    @classmethod
    def from_plain(cls, where: str, fields: Mapping[str, Any]) -> RunReport:
        """The inverse of `plain`. Raises `RunReportRefused`, naming `where`."""
        if fields.get("format") != FORMAT:
            raise _refused(where, f"format {fields.get('format')!r}")
        try:
            facts = fields["facts"]
            known = RunFacts(**{**facts, "queued": _instant(facts["queued"]), "due": _instant(facts["due"])})
            return cls(
                facts=known, records=tuple(TaskRecord.from_plain(where, one) for one in fields["records"]), **fields["counts"]
            )
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, RunReportRefused):
                raise
            raise _refused(where, f"{type(error).__name__}: {error}") from error


def merge(facts: RunFacts, records: Iterable[TaskRecord], earlier: RunReport | None = None) -> RunReport | None:
    """The report of these records and of an earlier report's; None without any record. A key that stands twice counts once."""
    known = {one.key: one for one in (() if earlier is None else earlier.records)}
    known.update((one.key, one) for one in records)
    if not known:
        return None
    ordered = tuple(known[key] for key in sorted(known))
    if earlier is None:
        return RunReport(facts=facts, records=ordered)
    return replace(earlier, facts=facts, records=ordered)


def total_stages(records: Sequence[TaskRecord]) -> dict[Stage, Spent]:
    """Sum over records, in the order of stages."""
    sums: defaultdict[Stage, list[Spent]] = defaultdict(list)
    for record in records:
        for stage, spent in record.stages.items():
            sums[stage].append(spent)
    return {
        stage: Spent(
            seconds=sum(one.seconds for one in sums[stage]),
            cpu_seconds=sum(one.cpu_seconds for one in sums[stage]),
            times=sum(one.times for one in sums[stage]),
            bytes_in=sum(one.bytes_in for one in sums[stage]),
            bytes_out=sum(one.bytes_out for one in sums[stage]),
            first_at=min((one.first_at for one in sums[stage] if one.first_at > 0), default=0.0),
            last_at=max(one.last_at for one in sums[stage]),
        )
        for stage in Stage
        if stage in sums
    }


def _text(instant: datetime | None) -> str | None:
    return None if instant is None else instant_text(instant)


def _instant(text: str | None) -> datetime | None:
    return None if text is None else instant_from(text)


def _refused(where: str, found: str) -> RunReportRefused:
    return RunReportRefused(
        where,
        found=found,
        expected=f"a run report of format {FORMAT}",
        remedy="Upgrade headrace if it is newer; delete it if it is damaged: nothing depends on it.",
    )
