"""The visible frontier as a table: computed once, stored, and joined again and again.

One row per step: the entity, `visible_time` (from when on it holds, until the entity's next step), and the log row that
holds: its clocks, seq, tombstone and values. Where everything had been retracted the row says `withdrawn` and is otherwise
null. Sorted by entity and `visible_time`, which together are unique; for logs without retractions it only ever grows.

A join on it is a plain as-of search and gives what `as_of` gives on the log, except for `carry_forward`, which needs a
frontier per column.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from headrace.features.as_of import AsOf, joined
from headrace.features.columns import Array, Rows, flags, integers, picked, sort_order, table_of
from headrace.features.errors import SchemaError
from headrace.features.frontier import WITHDRAWN, Steps, rows_at, visible_steps
from headrace.features.keys import Codes, key_column, shared_codes
from headrace.features.labels import open_labels
from headrace.features.log import Log, open_log
from headrace.features.times import Micros, instants, micros_of

OWN_COLUMNS = ("visible_time", "withdrawn")


def frontier_table(log: pa.Table, entity: Sequence[str]) -> pa.Table:
    """The frontier of a log. Raises what `open_log` raises, and SchemaError for a value column named like one of its own."""
    opened = open_log(log, entity)
    taken = sorted(set(OWN_COLUMNS) & set(opened.values))
    if taken:
        raise SchemaError("log", found=f"value columns {taken}", expected="other names", remedy="Rename them.")
    steps = visible_steps(opened, shared_codes([opened.table], entity, ["log"])[0])
    held = np.where(steps.row == WITHDRAWN, -1, steps.row)
    columns: dict[str, Array] = {name: _entity_of(opened, steps, name) for name in entity}
    columns["visible_time"] = instants(steps.visible)
    columns["withdrawn"] = pa.array(steps.row == WITHDRAWN)
    columns |= {name: picked(opened.table.column(name), held) for name in ("event_time", "available_time")}
    columns["seq"] = picked(pa.array(opened.seq, pa.int64()), held)
    columns["tombstone"] = picked(pa.array(opened.tombstone), held)
    columns |= {name: picked(opened.table.column(name), held) for name in opened.values}
    table = table_of(columns)
    return table.take(pa.array(sort_order(table, [*entity, "visible_time"]), pa.int64()))


def as_of_frontier(labels: pa.Table, frontier: pa.Table, how: AsOf) -> pa.Table:
    """`as_of`, on a stored frontier instead of its log.

    Raises:
        SchemaError: columns are carried forward, or the frontier is not one, or what `as_of` raises.
    """
    if how.carry_forward:
        raise SchemaError(
            "carry_forward", found=str(how.carry_forward), expected="nothing", remedy="Join the log: each column has a frontier."
        )
    visible = micros_of(frontier, "visible_time", rounding="up")
    withdrawn = flags(frontier.column("withdrawn"))

    def search(_: Log, group: Codes, asked: Codes, at: Micros) -> Rows:
        steps = Steps(group=group, visible=visible, row=np.where(withdrawn, WITHDRAWN, np.arange(withdrawn.size)))
        return rows_at(steps if (group[1:] >= group[:-1]).all() else _by_group(steps), asked, at)

    return joined(open_labels(labels, how.entity), _as_log(frontier, how), how, search)


def _by_group(steps: Steps) -> Steps:
    """The same steps with ascending groups; inside a group they are in order already."""
    order = np.argsort(steps.group, kind="stable")
    return Steps(group=steps.group[order], visible=steps.visible[order], row=steps.row[order])


def _entity_of(log: Log, steps: Steps, name: str) -> Array:
    """The entity column of each step, from the first row of its group: a withdrawn step has no row of its own."""
    group = shared_codes([log.table], log.entity, ["log"])[0]
    codes, first = np.unique(group, return_index=True)
    return picked(key_column(log.table, name, "log"), first[np.searchsorted(codes, steps.group)].astype(np.int64))


def _as_log(frontier: pa.Table, how: AsOf) -> Log:
    """The frontier's rows in the shape the join works on."""
    none = np.zeros(frontier.num_rows, dtype=bool)
    return Log(
        table=frontier.drop_columns(list(OWN_COLUMNS)),
        entity=how.entity,
        event=integers(frontier.column("event_time")),
        available=integers(frontier.column("available_time")),
        seq=integers(frontier.column("seq")),
        tombstone=flags(frontier.column("tombstone")),
        retraction=none,
        retracts=np.zeros(frontier.num_rows, dtype=np.int64),
        retracts_all=none,
    )
