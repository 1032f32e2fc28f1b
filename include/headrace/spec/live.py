"""The live side of a training set: where production's requests are recorded, and what of the policy can be asked of them.

Live rows get their features from the same views by the same code as training rows, so a difference is one of the data. Where the
log also holds the values that were served, they are compared one by one: no test of distributions finds a permutation of rows
or a flipped sign of a symmetric feature. Standard library only.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Final

from headrace.spec.checks import Severity, check_column, check_count, check_severity, check_share, is_number
from headrace.spec.errors import check
from headrace.spec.names import check_dotted, check_name
from headrace.spec.quality import LABEL_CHECKS, Check, Expect, QualityPolicy, RowCount

_LABEL: Final = "label"
"""The column every label set has, whether a check asks about it or not."""


@dataclass(frozen=True, kw_only=True)
class Parity:
    """A feature as it was served equals the same feature computed again from the snapshots, row by row.

    Equal means: both null, or the same integer, text or boolean, or numbers within `tolerance` relative to the larger.

    Attributes:
        column: the feature.
        served: the live rows' column with the served value; None: `served__<column>`.
        maximum: share of rows that may differ.
    """

    column: str
    served: str | None = None
    maximum: float = 0.0
    tolerance: float = 1e-6
    severity: Severity = "critical"

    @property
    def id(self) -> str:
        return f"parity.{self.column}"

    @property
    def served_column(self) -> str:
        """Where the served value stands."""
        return f"served__{self.column}" if self.served is None else self.served

    def __post_init__(self) -> None:
        check_column("Parity", "column", self.column)
        who = f"Parity {self.column}"
        check_column(who, "served", self.served_column)
        check_share(who, "maximum", self.maximum)
        check(
            is_number(self.tolerance) and self.tolerance >= 0,
            who,
            "tolerance",
            self.tolerance,
            "a relative difference, at least 0",
        )
        check_severity(who, self.severity)


@dataclass(frozen=True, kw_only=True)
class LiveSource:
    """What production was asked.

    Attributes:
        dataset: the dataset whose partitions hold the requests of a day.
        rows: a function by path, `(pa.Table of shard columns) -> pa.Table`, that returns the entity columns, `label_time` (when
            the prediction was asked for), the columns carried along in training, and the served values where they were logged.
        parity: features whose served values are logged.
        segments: categorical columns with declared levels; each level with enough rows is compared by itself too.
        segment_rows: rows below which a segment is left out.
    """

    dataset: str
    rows: str
    parity: tuple[Parity, ...] = ()
    segments: tuple[str, ...] = ()
    segment_rows: int = 1_000

    def __post_init__(self) -> None:
        check_name("LiveSource", "dataset", self.dataset)
        who = f"LiveSource {self.dataset}"
        check_dotted(who, "rows", self.rows)
        check(all(isinstance(item, Parity) for item in self.parity), who, "parity", self.parity, "a tuple of Parity")
        ids = [item.id for item in self.parity]
        check(len(set(ids)) == len(ids), who, "parity", ids, "each feature once")
        check_count(who, "segment_rows", self.segment_rows, minimum=1)


def live_policy(policy: QualityPolicy) -> QualityPolicy:
    """What of the policy can be asked of live rows: everything but the label, which nobody knows yet.

    The rows of live data were not sampled on purpose. How many there are says nothing about a training set, so the row count is
    not asked either. A listed expectation is asked when none of its columns is a label.
    """
    labels = {_LABEL} | {item.label for item in policy.checks if isinstance(item, LABEL_CHECKS)}
    if policy.sampling is not None:
        labels.add(policy.sampling.label)
    columns = tuple(column for column in policy.columns if column.name not in labels)
    return dataclasses.replace(policy, columns=columns, checks=tuple(_asked(policy, labels)), sampling=None)


def _asked(policy: QualityPolicy, labels: set[str]) -> list[Check]:
    asked: list[Check] = []
    for item in policy.checks:
        if isinstance(item, (RowCount, *LABEL_CHECKS)):
            continue
        if labels.isdisjoint(item.columns if isinstance(item, Expect) else (item.column,)):
            asked.append(item)
    return asked


def check_live(who: str, live: object, policy: object) -> None:
    """Refuse a live source that nothing could be asked of."""
    if live is None:
        return
    check(isinstance(live, LiveSource), who, "live", live, "a LiveSource or None")
    if not isinstance(live, LiveSource):
        return
    ok = isinstance(policy, QualityPolicy) and policy.reference is not None
    check(ok, who, "live", live.dataset, "a live source only beside a quality policy with a reference: its bins are compared on")
    if isinstance(policy, QualityPolicy):
        live_policy(policy)  # refuses one without any check
        closed = {column.name for column in policy.columns if column.levels is not None}
        check(
            set(live.segments) <= closed,
            who,
            "live",
            live.segments,
            f"segments among the columns with declared levels: {sorted(closed)}",
        )
