"""What is recorded of a day's training rows while they are in hand: their profile, and the counts a profile cannot hold.

Everything here is a function of the rows and the declaration, and stands in the digested part of the candidate's manifest; so the
gate judges a candidate without reading a row, and a run that is judged again judges the same figures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from headrace.features.needs import labels_known_at
from headrace.quality.errors import ProfileError, ReferenceProfileError
from headrace.quality.evidence import Evidence, evidence_plain
from headrace.quality.fingerprint import code_fingerprint
from headrace.quality.label_lag import LagCounts, count_lag
from headrace.quality.listed import ask_rows
from headrace.quality.profile_json import profile_plain
from headrace.quality.profiler import profile_table
from headrace.quality.reference import Reference, load_reference
from headrace.quality.segments import profile_segments
from headrace.quality.selection import SelectionCounts, count_selection
from headrace.spec.quality import Expect, Maturity, QualityPolicy, Selection
from headrace.spec.training_set import TrainingSet

EVENT_TIME = "label_time"
KNOWN_TIME = "label_known_time"
_PROJECT: Final = Path(__file__).resolve().parents[3]


def observer(training_set: TrainingSet, partition: str) -> Callable[[pa.Table], dict[str, Any]]:
    """What is recorded of one day's rows; nothing without a quality policy."""
    policy: QualityPolicy | None = training_set.quality
    if policy is None:
        return lambda _: {}
    reference = reference_of(policy)
    fingerprint = code_fingerprint(training_set)
    as_of = labels_known_at(training_set, date.fromisoformat(partition))
    segments = () if training_set.live is None else training_set.live.segments

    def observe(rows: pa.Table) -> dict[str, Any]:
        bins = None if reference is None else reference.bins
        facts: dict[str, Any] = {
            "profile": profile_plain(profile_table(rows, policy.plan, code_fingerprint=fingerprint, bins=bins)),
        }
        if any(isinstance(item, (Maturity, Selection, Expect)) for item in policy.checks) and as_of is not None:
            facts["evidence"] = evidence_plain(gather_evidence(rows, training_set, as_of))
        if segments:
            found = profile_segments(rows, policy, segments, code_fingerprint=fingerprint, bins=bins)
            facts["segments"] = {name: profile_plain(profile) for name, profile in found.items()}
        return facts

    return observe


def gather_evidence(rows: pa.Table, training_set: TrainingSet, as_of: datetime) -> Evidence:
    """Label lag, selection counts and listed expectations for the checks that ask for them; where they cannot be taken, the reason."""
    lag: dict[str, LagCounts] = {}
    selection: dict[str, SelectionCounts] = {}
    problems: dict[str, str] = {}
    for item in training_set.quality.checks:
        if isinstance(item, (Maturity, Selection)):
            absent = _absent(rows, item)
            if absent:
                problems[item.id] = f"the rows have no column {', '.join(absent)}"
                continue
            try:
                if isinstance(item, Maturity):
                    lag[item.label] = _lag(rows, item, training_set, as_of)
                else:
                    selection[item.label] = _selection(rows, item)
            except (ProfileError, pa.ArrowException, TypeError, ValueError) as error:
                problems[item.id] = f"could not be counted: {error}"
    listed = ask_rows(rows, [item for item in training_set.quality.checks if isinstance(item, Expect)])
    return Evidence(lag=lag, selection=selection, listed=listed, problems=problems)


def reference_of(policy: QualityPolicy) -> Reference | None:
    """The policy's frozen reference profile, looked up from the project's root (the folder above `include`)."""
    return None if policy.reference is None else load_reference(_PROJECT / policy.reference)


def reference_path(training_set: TrainingSet) -> Path:
    """Where the policy's reference lies. Raises ReferenceProfileError when it names none."""
    policy: QualityPolicy | None = training_set.quality
    if policy is None or policy.reference is None:
        raise ReferenceProfileError(
            f"training set {training_set.name}",
            found="no reference in its quality policy",
            expected="a file, by path from the project's root",
            remedy="Declare one, or say where to write with --out.",
        )
    return _PROJECT / policy.reference


def _lag(rows: pa.Table, item: Maturity, training_set: TrainingSet, as_of: datetime) -> LagCounts:
    horizon = training_set.labels.maturity if item.horizon is None else item.horizon
    return count_lag(
        rows, event_time=EVENT_TIME, label=item.label, label_time=KNOWN_TIME, as_of=as_of, horizon=horizon, unit=item.unit
    )


def _selection(rows: pa.Table, item: Selection) -> SelectionCounts:
    return count_selection(rows, decision=item.decision, label=item.label, score=item.score, edges=item.edges)


def _absent(rows: pa.Table, item: Maturity | Selection) -> Sequence[str]:
    if isinstance(item, Maturity):
        wanted = [item.label, EVENT_TIME, KNOWN_TIME]
    else:
        wanted = [item.label, item.decision, *([] if item.score is None else [item.score])]
    return [name for name in wanted if name not in rows.schema.names]
