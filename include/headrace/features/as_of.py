"""The point-in-time join of labels to a log: for each label the newest value that had arrived by its time.

Among an entity's rows with `x <= L` and `a <= L` the one with the greatest `(x, a, seq)`, as `headrace.features.frontier`
proves and an engine finds it. Around that answer this module keeps the promises every engine shares: one output row per
label, in the labels' order, duplicates included; label columns untouched; integers still integers; every value with its
provenance, every null with its reason.

The ttl is applied to the answer, never inside the search: a bound on the search would act on arrival, and would find an
older value where the right answer is "expired". Zero is a ttl; None is no ttl.

Nothing here looks past a label's time, with one exception that must be asked for: `hindsight` tells an entity that was
never seen from one whose rows arrived later. That is for reports; stored rows would change when late rows come in.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import numpy as np
import pyarrow as pa

from headrace.features.columns import Array, Flags, Rows, nulls, picked, words
from headrace.features.engines.engine import Search, engine_named
from headrace.features.errors import SchemaError
from headrace.features.frontier import NO_ROW, WITHDRAWN
from headrace.features.keys import NULL_KEY, shared_codes
from headrace.features.labels import Labels, open_labels, refuse_collisions
from headrace.features.log import Log, open_log
from headrace.features.reasons import Reason

_MICRO = timedelta(microseconds=1)


@dataclass(frozen=True, kw_only=True)
class AsOf:
    """How labels are joined to a log.

    Attributes:
        entity: the entity columns, of the same types on both sides.
        values: the value columns wanted.
        ttl: a value with `L - x` above this has expired; exactly this is kept. None: values do not expire.
        strict: whether a value must have arrived before the label's time; otherwise at it is early enough.
        carry_forward: of `values`, those whose nulls mean "not said": each is looked up among the rows that say it.
        hindsight: whether reasons may look at rows that arrived after the label's time. For reports only.
        name: prefix of the provenance columns.
    """

    entity: tuple[str, ...]
    values: tuple[str, ...]
    ttl: timedelta | None = None
    strict: bool = False
    carry_forward: tuple[str, ...] = ()
    hindsight: bool = False
    name: str = "log"


@dataclass(frozen=True)
class Answers:
    """What was known at each label's time. Arrays have shape (labels,).

    Attributes:
        row: the log row, `NO_ROW` or `WITHDRAWN`.
        null_key: labels whose entity key has a null part.
        present: labels whose entity has a version in the log at all, in hindsight.
    """

    row: Rows
    null_key: Flags
    present: Flags


def as_of(labels: pa.Table, log: pa.Table, how: AsOf, *, engine: str = "numpy") -> pa.Table:
    """The labels, one for one and in their order, with values, provenance and reason.

    Adds `how.values`, then `<name>__event_time`, `<name>__available_time`, `<name>__seq` and `<name>__reason`; for each
    column carried forward also `<column>__event_time` and `<column>__reason`. Provenance is given wherever a row was
    found, also when its value is null, a tombstone or expired.

    Args:
        labels: entity columns and `label_time`, a timestamp with a zone; any other columns.
        log: rows as `open_log` takes them.
        how: the join.
        engine: which engine searches; the answers are equal.

    Raises:
        SchemaError: types differ, columns are missing or would collide.
        RowsError: rows the door of the labels or of the log refuses.
    """
    return joined(open_labels(labels, how.entity), open_log(log, how.entity), how, engine_named(engine).rows_at)


def joined(labels: Labels, log: Log, how: AsOf, search: Search) -> pa.Table:
    """`as_of` behind the doors, with any search."""
    _check_values(log, how)
    refuse_collisions(labels.table, _added(how))
    columns = _main_columns(labels, log, how, _answers(labels, log, how, search))
    for column in how.carry_forward:
        said = log.only(~nulls(log.table.column(column)) | log.tombstone | log.retraction)
        columns |= _carried(labels, said, how, column, _answers(labels, said, how, search))
    table = labels.table
    for name in _added(how):
        table = table.append_column(name, columns[name])
    return table


def _added(how: AsOf) -> list[str]:
    provenance = [f"{how.name}__{part}" for part in ("event_time", "available_time", "seq", "reason")]
    carried = [f"{column}__{part}" for column in how.carry_forward for part in ("event_time", "reason")]
    return [*how.values, *provenance, *carried]


def _check_values(log: Log, how: AsOf) -> None:
    missing = sorted(set(how.values) - set(log.values))
    if missing:
        raise SchemaError("log", found=f"no value column {missing}", expected=f"some of {list(log.values)}", remedy="Correct it.")
    foreign = sorted(set(how.carry_forward) - set(how.values))
    if foreign:
        raise SchemaError("carry_forward", found=str(foreign), expected=f"some of {how.values}", remedy="Join them as values.")


def _answers(labels: Labels, log: Log, how: AsOf, search: Search) -> Answers:
    # The log first: the codes of a sorted log are then sorted too, and a stored frontier needs no sort.
    group, asked = shared_codes([log.table, labels.table], how.entity, ["log", "labels"])
    at = labels.time - 1 if how.strict else labels.time
    return Answers(
        row=search(log, group, asked, at),
        null_key=asked == NULL_KEY,
        present=np.isin(asked, group[(group != NULL_KEY) & ~log.retraction]),
    )


def _main_columns(labels: Labels, log: Log, how: AsOf, answers: Answers) -> dict[str, Array]:
    """Every added column of the main join, by name."""
    usable, expired, tombstoned = _usable(labels, log, how, answers)
    values = {name: picked(log.table.column(name), np.where(usable, answers.row, -1)) for name in how.values}
    null_value = np.zeros(usable.shape, dtype=bool)
    for name in how.values:
        null_value |= nulls(values[name])
    columns = values | {
        f"{how.name}__event_time": picked(log.table.column("event_time"), answers.row),
        f"{how.name}__available_time": picked(log.table.column("available_time"), answers.row),
        f"{how.name}__seq": picked(pa.array(log.seq, pa.int64()), answers.row),
        f"{how.name}__reason": _reasons(answers, expired, tombstoned, null_value, hindsight=how.hindsight),
    }
    return {name: column for name, column in columns.items() if name not in how.carry_forward}


def _carried(labels: Labels, log: Log, how: AsOf, column: str, answers: Answers) -> dict[str, Array]:
    """One column looked up among the rows that say it."""
    usable, expired, tombstoned = _usable(labels, log, how, answers)
    value = picked(log.table.column(column), np.where(usable, answers.row, -1))
    return {
        column: value,
        f"{column}__event_time": picked(log.table.column("event_time"), answers.row),
        f"{column}__reason": _reasons(answers, expired, tombstoned, nulls(value), hindsight=how.hindsight),
    }


def _usable(labels: Labels, log: Log, how: AsOf, answers: Answers) -> tuple[Flags, Flags, Flags]:
    """Which answers give values, which have expired, and which are tombstones; a tombstone does not expire."""
    found = answers.row >= 0
    if log.event.size == 0:
        return found, np.zeros_like(found), np.zeros_like(found)
    row = np.maximum(answers.row, 0)
    tombstoned = found & log.tombstone[row]
    expired = np.zeros_like(found)
    if how.ttl is not None:
        expired = found & (labels.time - log.event[row] > how.ttl // _MICRO)
    return found & ~tombstoned & ~expired, expired, tombstoned


def _reasons(answers: Answers, expired: Flags, tombstoned: Flags, null_value: Flags, *, hindsight: bool) -> Array:
    nothing = answers.row == NO_ROW
    conditions = {
        Reason.NULL_KEY: answers.null_key,
        Reason.NOT_YET_ARRIVED: nothing & answers.present & hindsight,
        Reason.NEVER_SEEN: nothing,
        Reason.RETRACTED: answers.row == WITHDRAWN,
        Reason.TOMBSTONED: tombstoned,
        Reason.EXPIRED: expired,
        Reason.NULL_VALUE: null_value,
    }
    positions = [np.int64(n) for n in range(len(conditions))]
    return words(list(conditions), np.select(list(conditions.values()), positions, default=np.int64(-1)))
