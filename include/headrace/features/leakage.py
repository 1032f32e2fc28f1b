"""The leakage audit of one day of training rows, by other means than the builder's.

- *rows*: what each row says of itself does not contradict its label: same labels in the same order, nothing published or arrived after the
  label's time, nothing older than the ttl, a reason exactly where there is nothing.
- *scan*: for a seeded sample of labels, the answer straight from the definitions (`headrace.features.scan`) equals the row. A form that
  finds something older than what was there passes *rows* and fails here.
- *no better version*: for every label and every version that could be read at its time, none is better than the one used.
- *cut*: without everything that came after the last label, the builder gives the same rows.
- *poison*: with extreme values that arrive a microsecond after each entity's last label, the builder gives the same rows.
- *shuffle*: with versions and log rows in another order, the builder gives the same rows.
- *split*: no training label was known after the holdout begins.

It audits the join. Whether the snapshots themselves are right is asked by `scan_snapshots`, which needs the logs behind them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa

from headrace.features.cutoff import to_micros
from headrace.features.labels import open_labels
from headrace.features.leakage_checks import (
    Finding,
    check_split,
    finding,
    log_rows,
    no_better_version,
    same_column,
    same_labels,
    scanned_log,
    scanned_versions,
    view_rows,
)
from headrace.features.log import open_log
from headrace.features.naive import NaiveLeak, naive_days, naive_events
from headrace.features.poison import poisoned_log, poisoned_snapshots
from headrace.features.training_rows import PublishedSnapshot, training_rows
from headrace.spec.feature_view import FeatureView
from headrace.spec.log_join import LogJoin
from headrace.spec.training_set import TrainingSet

SAMPLE: Final = 50


@dataclass(frozen=True, kw_only=True)
class Material:
    """What one day of training rows was made of.

    Attributes:
        labels: what the label set's rows function returned.
        snapshots: by view, the versions the builder was given.
        logs: by log join, the rows the builder was given.
        published: by view, every version known by now of the days around the labels, also the ones too late for them.
    """

    labels: pa.Table
    snapshots: Mapping[str, Sequence[PublishedSnapshot]]
    logs: Mapping[str, pa.Table]
    published: Mapping[str, Sequence[PublishedSnapshot]]


@dataclass(frozen=True, kw_only=True)
class LeakageAudit:
    """All findings of one day, and what the shortcuts would have leaked."""

    rows: int
    seed: str
    findings: tuple[Finding, ...]
    naive: tuple[NaiveLeak, ...]

    @property
    def failed(self) -> tuple[Finding, ...]:
        """The findings that are wrong."""
        return tuple(finding for finding in self.findings if finding.wrong > 0)

    @property
    def naive_line(self) -> str:
        """What the shortcuts would have leaked, in one line."""
        told = [f"{one.shortcut} of {one.source} would have leaked into {one.leaked} of {one.labels}" for one in self.naive]
        return "; ".join(told)


def audit_leakage(
    training_set: TrainingSet, rows: pa.Table, made_of: Material, *, seed: str, sample: int = SAMPLE
) -> LeakageAudit:
    """Audit one day of training rows.

    Args:
        rows: the training rows, as stored or as about to be.
        made_of: what they were made of.
        seed: of the sample and the shuffle; the same seed audits the same labels.
        sample: how many labels are answered by scan.
    """
    whole = same_labels(rows, made_of.labels)
    if rows.num_rows != made_of.labels.num_rows:  # nothing can be held against the label that is not there
        return LeakageAudit(rows=rows.num_rows, seed=seed, findings=(whole,), naive=())
    dice = random.Random(seed)  # noqa: S311 - a sample, not a secret
    chosen = sorted(dice.sample(range(rows.num_rows), min(sample, rows.num_rows)))
    findings = [whole, check_split(training_set, rows)]
    for view in training_set.views:
        published = [*made_of.snapshots[view.name], *made_of.published.get(view.name, ())]
        findings += [view_rows(training_set, view, rows), scanned_versions(training_set, view, rows, published, chosen)]
        findings += [no_better_version(view, rows, published)]
    for join in training_set.logs:
        findings += [log_rows(join, rows), scanned_log(join, rows, made_of.logs[join.name], chosen)]
    findings += [_rebuilt(training_set, rows, made_of, name, change) for name, change in _changes(dice).items()]
    return LeakageAudit(rows=rows.num_rows, seed=seed, findings=tuple(findings), naive=_naive(training_set, rows, made_of))


def _naive(training_set: TrainingSet, rows: pa.Table, made_of: Material) -> tuple[NaiveLeak, ...]:
    days = [naive_days(view, made_of.labels, rows, _all_versions(view, made_of)) for view in training_set.views]
    events = [naive_events(join.name, join.entity, made_of.labels, made_of.logs[join.name]) for join in training_set.logs]
    return (*days, *events)


def _all_versions(view: FeatureView, made_of: Material) -> list[PublishedSnapshot]:
    found = {one.version.key: one for one in (*made_of.published.get(view.name, ()), *made_of.snapshots[view.name])}
    return list(found.values())


_Change = Callable[[TrainingSet, Material], Material]


def _changes(dice: random.Random) -> dict[str, _Change]:
    def shuffle(_: TrainingSet, made_of: Material) -> Material:
        logs = {name: log.take(pa.array(_mixed(range(log.num_rows), dice), pa.int64())) for name, log in made_of.logs.items()}
        return replace(made_of, snapshots={name: _mixed(given, dice) for name, given in made_of.snapshots.items()}, logs=logs)

    return {"cut": _cut, "poison": _poison, "shuffle": shuffle}


def _cut(training_set: TrainingSet, made_of: Material) -> Material:
    """Without what came after the last label."""
    last = int(open_labels(made_of.labels, ()).time.max())
    snapshots = {
        name: [one for one in given if to_micros(one.version.published_at) <= last] for name, given in made_of.snapshots.items()
    }
    logs = {join.name: _known_by(made_of.logs[join.name], join, last) for join in training_set.logs}
    return replace(made_of, snapshots=snapshots, logs=logs)


def _known_by(log: pa.Table, join: LogJoin, last: int) -> pa.Table:
    """The rows that had happened and arrived by `last`, in the microseconds that labels are answered in."""
    opened = open_log(log, join.entity)
    return log.filter(pa.array(np.maximum(opened.event, opened.available) <= last))


def _poison(training_set: TrainingSet, made_of: Material) -> Material:
    snapshots = {view.name: poisoned_snapshots(view, made_of.labels, made_of.snapshots[view.name]) for view in training_set.views}
    logs = {join.name: poisoned_log(join, made_of.labels, made_of.logs[join.name]) for join in training_set.logs}
    return replace(made_of, snapshots=snapshots, logs=logs)


def _rebuilt(training_set: TrainingSet, rows: pa.Table, made_of: Material, name: str, change: _Change) -> Finding:
    """Build again from changed material that must make no difference."""
    if rows.num_rows == 0:
        return finding(name, "all", 0, [])
    changed = change(training_set, made_of)
    again = training_rows(training_set, changed.labels, changed.snapshots, changed.logs)
    names = list(dict.fromkeys([*rows.schema.names, *again.schema.names]))
    differ = [name for name in names if not same_column(rows, again, name)]
    return finding(name, "all", rows.num_rows, [f"another answer in {', '.join(differ)}"] if differ else [])


def _mixed(items: Iterable[Any], dice: random.Random) -> list[Any]:
    given = list(items)
    return dice.sample(given, len(given))
