"""The door of the feature log: rows as a dataset gives them in, rows as the algorithms want them out.

A log is append-only and has two clocks: `event_time` (x, when it happened) and `available_time` (a, when it landed). `seq`
orders rows that agree on both. A *tombstone* is an ordinary row that says "no value from x on". A *retraction* says "what
was said about x was wrong": it withdraws the versions of the same event that came before it, all of them, or only the
one whose seq stands in `retracts`, and what was true before resurfaces.

Without a `seq` column, rows that agree on entity and both times are ordered by their content, so that the order of files
and rows decides nothing. That order is total but arbitrary: a log that means one of them to win must say so in `seq`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from headrace.features.columns import Flags, Rows, flags, integers, nulls, sort_order, table_of
from headrace.features.errors import RowsError, SchemaError, row_numbers
from headrace.features.keys import Codes, key_column, shared_codes
from headrace.features.times import Micros, instants, micros_of

CLOCKS = ("event_time", "available_time")
_MIX = np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio: an odd number with well spread bits
MARKS = ("seq", "tombstone", "retraction", "retracts")


@dataclass(frozen=True)
class Log:
    """Checked log rows. Arrays have shape (rows,) and the row order of `table`.

    Attributes:
        table: entity, event key and value columns as given; `event_time` and `available_time` as timestamp[us, UTC].
        entity: the entity columns.
        event: event times, microseconds UTC, rounded down.
        available: arrival times, microseconds UTC, rounded up.
        seq: the order among rows that agree on entity and both times.
        tombstone: rows that say "no value from here on".
        retraction: rows that withdraw earlier versions of their event.
        retracts: the one seq a retraction withdraws; meaningless where `retracts_all`.
        retracts_all: retractions that withdraw every earlier version.
    """

    table: pa.Table
    entity: tuple[str, ...]
    event: Micros
    available: Micros
    seq: Rows
    tombstone: Flags
    retraction: Flags
    retracts: Rows
    retracts_all: Flags

    @classmethod
    def of_clocks(cls, *, event: Micros, available: Micros, seq: Rows) -> Log:
        """A log of plain rows without entity and values, for questions about times alone."""
        none = np.zeros(event.shape, dtype=bool)
        return cls(
            table=table_of({name: instants(micros) for name, micros in zip(CLOCKS, (event, available), strict=True)}),
            entity=(),
            event=event,
            available=available,
            seq=seq,
            tombstone=none,
            retraction=none,
            retracts=np.zeros(event.shape, dtype=np.int64),
            retracts_all=none,
        )

    @property
    def values(self) -> tuple[str, ...]:
        """The columns that are neither entity nor clock nor mark."""
        return tuple(name for name in self.table.schema.names if name not in {*self.entity, *CLOCKS, *MARKS})

    def only(self, rows: Flags) -> Log:
        """The rows where the flag is set, in the same order."""
        return Log(
            table=self.table.filter(pa.array(rows)),
            entity=self.entity,
            event=self.event[rows],
            available=self.available[rows],
            seq=self.seq[rows],
            tombstone=self.tombstone[rows],
            retraction=self.retraction[rows],
            retracts=self.retracts[rows],
            retracts_all=self.retracts_all[rows],
        )


def open_log(rows: pa.Table, entity: Sequence[str]) -> Log:
    """Check and normalise log rows.

    Args:
        rows: entity columns, `event_time`, `available_time`, optionally `seq`, `tombstone`, `retraction`, `retracts`, and
            value columns.
        entity: the entity columns.

    Raises:
        SchemaError: a column is missing or of a type that cannot be exact (naive times, float keys).
        RowsError: rows without an event or arrival time, or rows that agree on entity, both times and seq.
    """
    for column in entity:
        key_column(rows, column, "log")
    event = micros_of(rows, "event_time", rounding="down")
    available = micros_of(rows, "available_time", rounding="up")
    codes = shared_codes([rows], entity, ["log"])[0]
    if "seq" in rows.schema.names:
        seq = _integers(rows, "seq")[0]
        _refuse_ties(codes, event, available, seq)
    else:
        seq = _content_order(rows, codes, event, available)
    retracts, retracts_all = _integers(rows, "retracts", nullable=True) if "retracts" in rows.schema.names else _none(rows)
    table = rows
    for name, micros in zip(CLOCKS, (event, available), strict=True):
        table = table.set_column(table.schema.get_field_index(name), name, instants(micros))
    return Log(
        table=table,
        entity=tuple(entity),
        event=event,
        available=available,
        seq=seq,
        tombstone=_flags(rows, "tombstone"),
        retraction=_flags(rows, "retraction"),
        retracts=retracts,
        retracts_all=retracts_all,
    )


def _flags(rows: pa.Table, column: str) -> Flags:
    """A boolean column, null as false; all false when the log has none."""
    if column not in rows.schema.names:
        return np.zeros(rows.num_rows, dtype=bool)
    values = rows.column(column)
    if not pa.types.is_boolean(values.type):
        raise SchemaError(f"log.{column}", found=str(values.type), expected="bool", remedy="Make it true or false.")
    return flags(values)


def _integers(rows: pa.Table, column: str, *, nullable: bool = False) -> tuple[Rows, Flags]:
    """An integer column as int64 and where it is null."""
    values = rows.column(column)
    if not pa.types.is_integer(values.type):
        raise SchemaError(f"log.{column}", found=str(values.type), expected="an integer", remedy="Cast it in the rows function.")
    null = nulls(values)
    if null.any() and not nullable:
        found = f"null in {row_numbers(np.flatnonzero(null))}"
        raise RowsError(f"log.{column}", found=found, expected="a number in every row", remedy="Number them or leave it out.")
    try:
        return integers(values), null
    except pa.ArrowInvalid as error:
        raise RowsError(
            f"log.{column}", found=str(error), expected="numbers below 2**63", remedy="Number them from 0."
        ) from error


def _none(rows: pa.Table) -> tuple[Rows, Flags]:
    return np.zeros(rows.num_rows, dtype=np.int64), np.ones(rows.num_rows, dtype=bool)


def _refuse_ties(codes: Codes, event: Micros, available: Micros, seq: Rows) -> None:
    rows = _suspects(codes, event, available, seq)
    order = rows[np.lexsort((seq[rows], available[rows], event[rows], codes[rows]))]
    same = _equal_to_previous(order, codes, event, available, seq) & (codes[order] >= 0)
    if same.any():
        rows = np.sort(order[np.flatnonzero(same)])
        raise RowsError(
            "log.seq",
            found=f"the entity, both times and seq of an earlier row again in {row_numbers(rows)}",
            expected="different seq for rows that agree on entity, event_time and available_time",
            remedy="Number them, or leave seq out to have ties ordered by content.",
        )


def _content_order(rows: pa.Table, codes: Codes, event: Micros, available: Micros) -> Rows:
    """0, 1, ... among rows that agree on entity and both times, by content; 0 where nothing else agrees.

    Counted inside each tie, so that rows which arrive later never renumber rows that are already there.
    """
    seq = np.zeros(rows.num_rows, dtype=np.int64)
    suspects = _suspects(codes, event, available)
    order = suspects[np.lexsort((available[suspects], event[suspects], codes[suspects]))]
    same = _equal_to_previous(order, codes, event, available)
    tied = np.sort(order[same | np.append(same[1:], False)])
    if tied.size == 0:
        return seq
    content = [name for name in rows.schema.names if name not in CLOCKS]
    by_content = tied[_sorted_by(rows.take(tied), content)]
    again = by_content[np.lexsort((available[by_content], event[by_content], codes[by_content]))]  # stable: content decides
    same = _equal_to_previous(again, codes, event, available)
    starts = np.maximum.accumulate(np.where(same, 0, np.arange(again.size)))
    seq[again] = np.arange(again.size) - starts
    return seq


def _sorted_by(rows: pa.Table, columns: Sequence[str]) -> Rows:
    try:
        return sort_order(rows, columns)
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise SchemaError(
            "log.seq",
            found=f"no seq column, and ties whose content has no order ({error})",
            expected="a seq column",
            remedy="Add seq in the rows function: nested values cannot be ordered.",
        ) from error


def _suspects(*columns: Rows) -> Rows:
    """Rows that may agree with another one on all columns: those whose 64-bit mix is not unique, in row order.

    One sort of one column instead of a sort by all; who really agrees is decided on the few rows returned.
    """
    mixed = np.zeros(columns[0].shape, dtype=np.uint64)
    for column in columns:
        mixed = (mixed ^ column.view(np.uint64)) * _MIX
        mixed ^= mixed >> np.uint64(29)
    ordered = np.sort(mixed)
    return np.flatnonzero(np.isin(mixed, ordered[1:][ordered[1:] == ordered[:-1]]))


def _equal_to_previous(order: Rows, *columns: Rows) -> Flags:
    """Whether each row, in `order`, agrees with the one before it on all columns; shape (rows,), false first."""
    same = np.ones(order.size, dtype=bool)
    same[:1] = False
    for column in columns:
        ordered = column[order]
        same[1:] &= ordered[1:] == ordered[:-1]
    return same
