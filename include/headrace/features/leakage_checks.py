"""What the leakage audit looks at, source by source. Each check is a function from rows to a finding; none of them builds anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from headrace.features.columns import nulls
from headrace.features.cutoff import cutoff_instant
from headrace.features.log_join import log_columns
from headrace.features.scan import rows_of, said, scan_log, scan_version
from headrace.features.split import Part, split_instant
from headrace.features.training_rows import PublishedSnapshot, provenance_columns
from headrace.spec.feature_view import FeatureView
from headrace.spec.log_join import LogJoin
from headrace.spec.training_set import TrainingSet

SHOWN: Final = 5


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One check of one source: how many labels it looked at, how many are wrong, and the first of them in words."""

    check: str
    source: str
    labels: int
    wrong: int
    examples: tuple[str, ...] = ()


def same_labels(rows: pa.Table, labels: pa.Table) -> Finding:
    kept = rows.select(labels.schema.names)
    same = kept.schema.equals(labels.schema) and all(same_column(kept, labels, name) for name in labels.schema.names)
    return finding("labels", "labels", rows.num_rows, [] if same else ["the labels' columns differ from the labels"])


def check_split(training_set: TrainingSet, rows: pa.Table) -> Finding:
    starts = split_instant(training_set)
    limit = starts - training_set.holdout.embargo
    wrong = [
        f"label {row['label_id']}: {row['split']}, asked {row['label_time']}, known {row['label_known_time']}"
        for row in rows.select(["label_id", "split", "label_time", "label_known_time"]).to_pylist()
        if (row["split"] == Part.TRAIN and (row["label_time"] >= starts or row["label_known_time"] > limit))
        or (row["split"] == Part.HOLDOUT and row["label_time"] < starts)
    ]
    return finding("split", "labels", rows.num_rows, wrong)


def view_rows(training_set: TrainingSet, view: FeatureView, rows: pa.Table) -> Finding:
    """What each row says of a view, against its label time."""
    day, _, published, reason = (listed(rows, name) for name in provenance_columns(view))
    times, empty = listed(rows, "label_time"), _empty(rows, view.features)
    wrong: list[str] = []
    for number, at in enumerate(times):
        if day[number] is not None:
            ended = cutoff_instant(view.cutoff, day[number])
            if published[number] > at or ended > at:
                wrong.append(_about(rows, number, f"{view.name} of {day[number]} was published {published[number]}, after {at}"))
            elif training_set.ttl is not None and at - ended > training_set.ttl and not empty[number].all():
                wrong.append(_about(rows, number, f"{view.name} of {day[number]} was older than the ttl at {at}"))
        if (reason[number] is not None) != bool(empty[number].any()):
            wrong.append(_about(rows, number, f"{view.name} has reason {reason[number]}"))
    return finding("rows", view.name, len(times), wrong)


def log_rows(join: LogJoin, rows: pa.Table) -> Finding:
    """What each row says of a log, against its label time."""
    happened, arrived, _, reason, *_ = (listed(rows, name) for name in log_columns(join))
    plain = [name for name in join.features if name not in join.carry_forward]
    times, empty = listed(rows, "label_time"), _empty(rows, plain)
    wrong: list[str] = []
    for number, at in enumerate(times):
        if happened[number] is not None:
            late = max(happened[number], arrived[number])
            if late > at or (join.strict and late == at):
                wrong.append(_about(rows, number, f"{join.name} was known {late}, not before {at}"))
            elif at - happened[number] > join.ttl and not empty[number].all():
                wrong.append(_about(rows, number, f"{join.name} happened {happened[number]}, beyond the ttl at {at}"))
        if reason[number] is None and bool(empty[number].any()):
            wrong.append(_about(rows, number, f"{join.name} is null without a reason"))
    return finding("rows", join.name, len(times), wrong)


def scanned_versions(
    training_set: TrainingSet, view: FeatureView, rows: pa.Table, published: Sequence[PublishedSnapshot], chosen: Sequence[int]
) -> Finding:
    wrong: list[str] = []
    held = {one.version.key: one for one in published}
    for number in chosen:
        row = rows.slice(number, 1).to_pylist()[0]
        expected = scan_version((one.version for one in held.values()), row["label_time"])
        values: dict[str, Any] | None = None
        old = False
        if expected is not None:
            ended = cutoff_instant(view.cutoff, expected.key.day)
            old = training_set.ttl is not None and row["label_time"] - ended > training_set.ttl
            values = None if old else _entity_row(held[expected.key].rows, view.entity, row)
        got = {name: row[name] for name in view.features}
        named = None if expected is None else str(expected.key)
        if row[f"{view.name}__version"] != named or got != (values or dict.fromkeys(view.features)):
            wrong.append(_about(rows, number, f"expected {named}: {values}, found {row[f'{view.name}__version']}: {got}"))
    return finding("scan", view.name, len(chosen), wrong)


def _entity_row(snapshot: pa.Table, entity: Sequence[str], row: Mapping[str, Any]) -> dict[str, Any] | None:
    if any(row[name] is None for name in entity):
        return None
    for there in snapshot.to_pylist():
        if all(there[name] == row[name] for name in entity):
            return {name: value for name, value in there.items() if name not in entity}
    return None


def no_better_version(view: FeatureView, rows: pa.Table, published: Sequence[PublishedSnapshot]) -> Finding:
    used = np.array([name or "" for name in listed(rows, f"{view.name}__version")], dtype=object)
    versions = {str(one.version.key): one.version for one in published}
    better = np.zeros(rows.num_rows, dtype=bool)
    times = np.array(listed(rows, "label_time"), dtype=object)
    for version in versions.values():
        beaten = [name for name, other in versions.items() if other.rank < version.rank]
        readable = np.array([at >= version.published_at for at in times], dtype=bool)
        better |= readable & np.isin(used.astype(str), ["", *beaten])
    wrong = [_about(rows, int(number), f"{view.name}: a better version could be read") for number in np.flatnonzero(better)]
    return finding("no better version", view.name, rows.num_rows, wrong)


def scanned_log(join: LogJoin, rows: pa.Table, log: pa.Table, chosen: Sequence[int]) -> Finding:
    sample = [rows.slice(number, 1).to_pylist()[0] for number in chosen]
    keys = [tuple(row[name] for name in join.entity) for row in sample]
    there = rows_of(log, join.entity, (key for key in keys if None not in key))
    wrong: list[str] = []
    for number, row, key in zip(chosen, sample, keys, strict=True):
        mine, at = there.get(key, []), row["label_time"]
        expected: dict[str, Any] = {}
        expected |= scan_log(mine, join, at, [name for name in join.features if name not in join.carry_forward]).values
        for name in join.carry_forward:
            expected |= scan_log(said(mine, name), join, at, [name]).values
        got = {name: row[name] for name in expected}
        if not _same_values(got, expected):
            wrong.append(_about(rows, number, f"expected {expected}, found {got}"))
    return finding("scan", join.name, len(chosen), wrong)


def same_column(one: pa.Table, other: pa.Table, name: str) -> bool:
    """Whether two tables hold the same column; NaN is the same as NaN, which Arrow's own comparison denies."""
    if name not in one.schema.names or name not in other.schema.names or one.column(name).type != other.column(name).type:
        return False
    return one.column(name).equals(other.column(name)) or _same_values(listed(one, name), listed(other, name))


def _same_values(one: Any, other: Any) -> bool:
    """Equal, or equal as written out in full: NaN then is itself, also inside lists and structs."""
    return bool(one == other) or repr(one) == repr(other)


def _empty(rows: pa.Table, features: Sequence[str]) -> Any:
    """Which features are null, shape (rows, features)."""
    return np.stack([nulls(rows.column(name)) for name in features], axis=1) if features else np.zeros((rows.num_rows, 0), bool)


def _about(rows: pa.Table, number: int, text: str) -> str:
    return f"label {rows.column('label_id')[number].as_py()}: {text}"


def finding(check: str, source: str, labels: int, wrong: Sequence[str]) -> Finding:
    return Finding(check=check, source=source, labels=labels, wrong=len(wrong), examples=tuple(wrong[:SHOWN]))


def listed(rows: pa.Table, name: str) -> list[Any]:
    """A column as Python values."""
    return rows.column(name).to_pylist()
