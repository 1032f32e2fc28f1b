"""What a profile cannot hold: counts of label lag and of selection by label, of served values by feature, answers of listed
expectations, and why some are missing. They have a plain form, so they travel and are stored like a profile.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from typing import Any

from headrace.quality.label_lag import LagCounts
from headrace.quality.listed import Answered
from headrace.quality.parity import ParityCounts
from headrace.quality.selection import CellCounts, SelectionCounts


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Counts by the label or feature they are about, `listed` by check id; `problems` by check id: why there is no count."""

    lag: Mapping[str, LagCounts] = field(default_factory=dict)
    selection: Mapping[str, SelectionCounts] = field(default_factory=dict)
    parity: Mapping[str, ParityCounts] = field(default_factory=dict)
    listed: Mapping[str, Answered] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)


def evidence_plain(evidence: Evidence) -> dict[str, Any]:
    """JSON's own types; the inverse of `evidence_from`. Parity counts stay with the verdict they are for."""
    listed = {check: asdict(answer) for check, answer in evidence.listed.items()}
    return {
        "lag": {label: _lag_plain(counts) for label, counts in evidence.lag.items()},
        "selection": {label: _selection_plain(counts) for label, counts in evidence.selection.items()},
        "problems": dict(evidence.problems),
        **({"listed": listed} if listed else {}),
    }


def evidence_from(plain: dict[str, Any]) -> Evidence:
    return Evidence(
        lag={label: _lag_from(counts) for label, counts in plain["lag"].items()},
        selection={label: _selection_from(counts) for label, counts in plain["selection"].items()},
        listed={check: Answered(**answer) for check, answer in plain.get("listed", {}).items()},
        problems=plain.get("problems", {}),
    )


def _lag_plain(counts: LagCounts) -> dict[str, Any]:
    return {
        "unit_seconds": counts.unit // timedelta(seconds=1),
        "horizon": counts.horizon,
        "positives": [[age, delay, rows] for (age, delay), rows in counts.positives.items()],
        "others": [[age, rows] for age, rows in counts.others.items()],
        "immature_negative": counts.immature_negative,
        "before_event": counts.before_event,
        "after_as_of": counts.after_as_of,
    }


def _lag_from(plain: dict[str, Any]) -> LagCounts:
    return LagCounts(
        unit=timedelta(seconds=plain["unit_seconds"]),
        horizon=plain["horizon"],
        positives={(age, delay): rows for age, delay, rows in plain["positives"]},
        others=dict(plain["others"]),
        immature_negative=plain["immature_negative"],
        before_event=plain["before_event"],
        after_as_of=plain["after_as_of"],
    )


def _selection_plain(counts: SelectionCounts) -> list[list[Any]]:
    return [[decision, band, c.rows, c.labelled, c.positives] for (decision, band), c in counts.cells.items()]


def _selection_from(plain: list[list[Any]]) -> SelectionCounts:
    return SelectionCounts(
        cells={
            (d, band): CellCounts(rows=rows, labelled=labelled, positives=positives)
            for d, band, rows, labelled, positives in plain
        }
    )
