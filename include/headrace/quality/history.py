"""What earlier days' verdicts said: the bar that days like this one stay below, and the rows of the page's history.

Only released days count, so a held day does not become usual unless a person approved it; and only days before the one in question,
within half a year, so the cost does not grow with the lake. Which days these were depends on what is released at the time: a
verdict says what it compared with, and nothing of it goes into shards or manifests.

Live days are not released; of them those count whose verdict passed, so that a day that alarmed does not become usual.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Final

from headrace.lake import layout
from headrace.lake.store import Store
from headrace.manifests.read import latest
from headrace.quality.empirical_null import MINIMUM_DAYS, usual_bars
from headrace.quality.stored import stored_verdict
from headrace.quality.verdict import Verdict
from headrace.spec.quality import Drift, QualityPolicy

LOOK_BACK: Final = timedelta(weeks=26)
SHOWN_DAYS: Final = 14


@dataclass(frozen=True, kw_only=True)
class History:
    """Earlier verdicts, newest first; the bars by check id; the days that set them."""

    shown: tuple[Verdict, ...] = ()
    usual: dict[str, float] = field(default_factory=dict)
    compared_with: tuple[dict[str, str], ...] = ()


def history(lake: Store, dataset: str, partition: str, policy: QualityPolicy) -> History:
    """What the released days before `partition` say. Empty where the partition is no date or nothing is released."""
    found = latest(lake, dataset)
    day = _date(partition)
    if found is None or day is None:
        return History()
    manifests = found.release.partitions
    alike = alike_days(manifests, day) if any(isinstance(item, Drift) for item in policy.checks) else []
    shown = [key for key in sorted(manifests, reverse=True) if (other := _date(key)) is not None and other < day][:SHOWN_DAYS]
    verdicts = {key: _read(lake, dataset, key, manifests[key]) for key in {*alike, *shown}}
    usual_from = {key: verdict for key in alike if (verdict := verdicts[key]) is not None}
    bars = usual_bars(usual_from.values(), like=day)
    compared = sorted(usual_from) if bars else []
    return History(
        shown=tuple(verdict for key in shown if (verdict := verdicts[key]) is not None),
        usual=bars,
        compared_with=tuple({"dataset": dataset, "partition": key, "manifest": manifests[key]} for key in compared),
    )


def monitor_history(lake: Store, dataset: str, day: date, policy: QualityPolicy) -> History:
    """What the monitor said of the days before: the bar from passed days of the weekday, and the rows of the page's history."""
    drifts = any(isinstance(item, Drift) for item in policy.checks)
    weeks = range(1, LOOK_BACK // timedelta(weeks=1) + 1) if drifts else range(0)
    alike = [day - timedelta(weeks=week) for week in weeks]
    shown = [day - timedelta(days=before) for before in range(1, SHOWN_DAYS + 1)]
    found = {other: _watched(lake, dataset, other) for other in {*alike, *shown}}
    passed = {other: item for other in sorted(alike) if (item := found[other]) is not None and item[1].passes}
    bars = usual_bars((verdict for _, verdict in passed.values()), like=day)
    compared = [{"dataset": f"{dataset} live", "partition": str(other), "subject": item[0]} for other, item in passed.items()]
    return History(
        shown=tuple(item[1] for other in shown if (item := found[other]) is not None),
        usual=bars,
        compared_with=tuple(compared) if bars else (),
    )


def _watched(lake: Store, dataset: str, day: date) -> tuple[str, Verdict] | None:
    """The subject and verdict the monitor judged last for a day; None when it judged none."""
    infos = [info for info in lake.list(f"{dataset}/monitor/{day.isoformat()}/") if info.key.endswith(".json")]
    if not infos:
        return None
    last = max(infos, key=lambda info: (info.modified, info.key))
    stored = stored_verdict(lake, last.key)
    return None if stored is None else (last.key.rpartition("/")[2].removesuffix(".json"), stored.verdict)


def alike_days(partitions: Sequence[str] | dict[str, str], day: date) -> list[str]:
    """The partitions of the same weekday before `day` within the look-back; none when they are too few to set a bar."""
    alike = [
        key
        for key in sorted(partitions)
        if (other := _date(key)) is not None and other.weekday() == day.weekday() and day - LOOK_BACK <= other < day
    ]
    return alike if len(alike) >= MINIMUM_DAYS else []


def _read(lake: Store, dataset: str, partition: str, manifest: str) -> Verdict | None:
    stored = stored_verdict(lake, layout.verdict(dataset, partition, manifest))
    return None if stored is None else stored.verdict


def _date(partition: str) -> date | None:
    try:
        return date.fromisoformat(partition)
    except ValueError:
        return None
