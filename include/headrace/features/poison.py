"""Data that must make no difference: extreme values that arrive a microsecond too late.

A snapshot version of the newest day, known and published just after the last label; log rows of every entity, about the very moment of
its last label, that land just after it. Whoever lets any of it into a training row looks into the future.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import numpy as np
import pyarrow as pa

from headrace.features.cutoff import day_of
from headrace.features.keys import shared_codes
from headrace.features.labels import open_labels
from headrace.features.times import instants
from headrace.features.training_rows import PublishedSnapshot
from headrace.features.versions import Kind, SnapshotKey, SnapshotVersion
from headrace.spec.feature_view import FeatureView
from headrace.spec.log_join import LogJoin

_SECOND: Final = timedelta(seconds=1)
_LAST_SEQ: Final = 2**62


def poisoned_snapshots(view: FeatureView, labels: pa.Table, given: Sequence[PublishedSnapshot]) -> list[PublishedSnapshot]:
    """The versions, and one more of the newest day whose features are all extreme."""
    if not given:
        return list(given)
    newest = max(given, key=lambda one: one.version.rank)
    last = _latest(labels)
    knows = last.replace(microsecond=0) + _SECOND  # keys print whole seconds
    day = max(newest.version.key.day, day_of(view.cutoff, last) - timedelta(days=1))
    key = SnapshotKey(day=day, kind=Kind.REBUILD, knowledge=knows)
    if any(one.version.key == key for one in given):
        return list(given)
    rows = newest.rows
    for name in view.features:
        rows = rows.set_column(rows.schema.get_field_index(name), name, _extreme(rows.schema.field(name).type, rows.num_rows))
    return [*given, PublishedSnapshot(version=SnapshotVersion(key=key, published_at=knows, synthetic=True), rows=rows)]


def poisoned_log(join: LogJoin, labels: pa.Table, log: pa.Table) -> pa.Table:
    """The log, and for each entity of the labels a row about its last label's moment that lands a microsecond after it."""
    times = open_labels(labels, join.entity).time
    codes = shared_codes([labels], list(join.entity), ["labels"])[0]
    order = np.lexsort((times, codes))
    last = order[np.append(codes[order][1:] != codes[order][:-1], np.ones(min(order.size, 1), dtype=bool))]
    last = last[codes[last] >= 0]
    who = labels.take(pa.array(last, pa.int64()))
    log = _roomy(log)
    columns: dict[str, Any] = {field.name: pa.array([None] * last.size, field.type) for field in log.schema}
    columns |= {name: who.column(name).cast(log.schema.field(name).type) for name in join.entity}
    columns |= {name: _extreme(log.schema.field(name).type, last.size) for name in join.features}
    columns["event_time"] = instants(times[last]).cast(log.schema.field("event_time").type)
    columns["available_time"] = instants(times[last] + 1).cast(log.schema.field("available_time").type)
    if "seq" in columns:
        columns["seq"] = pa.array(np.full(last.size, _LAST_SEQ))
    return pa.concat_tables([log, pa.table(columns).cast(log.schema)])


def _roomy(log: pa.Table) -> pa.Table:
    """The log with room for rows of the audit's own: columns may be null, and `seq` may be greater than any."""
    fields = [field.with_nullable(nullable=True) for field in log.schema]
    return log.cast(pa.schema([field.with_type(pa.int64()) if field.name == "seq" else field for field in fields]))


def _latest(labels: pa.Table) -> datetime:
    times: list[Any] = labels.column("label_time").to_pylist()
    found: datetime = max(times)
    return found


def _extreme(kind: pa.DataType, size: int) -> pa.Array[Any]:
    """A value no honest row holds, or at least one that stands out, in the column's type."""
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        wide = kind.bit_width == 64
        number = (2**62 if wide else 99) if pa.types.is_integer(kind) else (1e300 if wide else 1e30)
        return pa.array([number] * size, kind)
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return pa.array(["from the future"] * size).cast(kind)
    if pa.types.is_boolean(kind):
        return pa.array(np.ones(size, dtype=bool))
    return pa.array([None] * size, kind)
