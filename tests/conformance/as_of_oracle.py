"""The oracle of the point-in-time join: every label against every log row, in plain Python, straight from the definition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
from headrace.features.as_of import AsOf


@dataclass(frozen=True)
class Row:
    """One log row; `order` is (x, a, seq)."""

    key: tuple[Any, ...]
    x: datetime
    a: datetime
    seq: int
    tombstone: bool
    retraction: bool
    retracts: int | None
    values: dict[str, Any]

    @property
    def order(self) -> tuple[datetime, datetime, int]:
        return (self.x, self.a, self.seq)


def brute_force(labels: pa.Table, log: pa.Table, how: AsOf) -> list[dict[str, Any]]:
    """What the join must add to each label, by name. The log needs a `seq` column."""
    rows = [_row(raw, how) for raw in log.to_pylist()]
    return [_answer(label, rows, how) for label in labels.to_pylist()]


def _row(raw: dict[str, Any], how: AsOf) -> Row:
    return Row(
        key=tuple(raw[name] for name in how.entity),
        x=raw["event_time"],
        a=raw["available_time"],
        seq=raw["seq"],
        tombstone=bool(raw.get("tombstone")),
        retraction=bool(raw.get("retraction")),
        retracts=raw.get("retracts"),
        values={name: raw[name] for name in how.values},
    )


def _answer(label: dict[str, Any], rows: Sequence[Row], how: AsOf) -> dict[str, Any]:
    found = _lookup(label, rows, how, how.values)
    answer = {name: value for name, value in found.items() if name not in how.carry_forward}
    for column in how.carry_forward:
        said = [row for row in rows if row.values[column] is not None or row.tombstone or row.retraction]
        one = _lookup(label, said, how, (column,))
        answer[column] = one[column]
        answer[f"{column}__event_time"] = one[f"{how.name}__event_time"]
        answer[f"{column}__reason"] = one[f"{how.name}__reason"]
    return answer


def _lookup(label: dict[str, Any], rows: Sequence[Row], how: AsOf, columns: Sequence[str]) -> dict[str, Any]:
    key = tuple(label[name] for name in how.entity)
    time = label["label_time"]
    until = time - timedelta(microseconds=1) if how.strict else time
    if any(part is None for part in key):
        return _built(None, None, "null_key", how, columns)
    mine = [row for row in rows if row.key == key]
    visible = [row for row in mine if row.x <= until and row.a <= until]
    versions = [row for row in visible if not row.retraction]
    live = [row for row in versions if not any(_withdraws(other, row) for other in visible)]
    if not live:
        if versions:
            return _built(None, None, "retracted", how, columns)
        return _built(
            None,
            None,
            "not_yet_arrived" if how.hindsight and not all(row.retraction for row in mine) else "never_seen",
            how,
            columns,
        )
    best = max(live, key=lambda row: row.order)
    if best.tombstone:
        return _built(None, best, "tombstoned", how, columns)
    if how.ttl is not None and time - best.x > how.ttl:
        return _built(None, best, "expired", how, columns)
    null = any(best.values[name] is None for name in columns)
    return _built(best, best, "null_value" if null else None, how, columns)


def _withdraws(one: Row, other: Row) -> bool:
    """Whether the retraction `one` takes the version `other` away."""
    return (
        one.retraction
        and one.x == other.x
        and (one.a, one.seq) > (other.a, other.seq)
        and (one.retracts is None or one.retracts == other.seq)
    )


def _built(values: Row | None, row: Row | None, reason: str | None, how: AsOf, columns: Sequence[str]) -> dict[str, Any]:
    return {
        **{name: None if values is None else values.values[name] for name in columns},
        f"{how.name}__event_time": None if row is None else row.x,
        f"{how.name}__available_time": None if row is None else row.a,
        f"{how.name}__seq": None if row is None else row.seq,
        f"{how.name}__reason": reason,
    }
