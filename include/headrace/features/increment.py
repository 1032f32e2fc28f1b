"""Snapshots by increment: the last state and what arrived since, instead of the whole log.

For a log whose partitions are days of *arrival*. The state after day D holds the rows that a snapshot of D or of a later day may need:
of every event, the first version that lies in D's longest window or after it, and all that was said about the event after that. Then

    state of D = advanced(state of D-1 + arrivals)        features of D = compute_snapshot(state of D)

and both are the same, byte for byte, whichever way they were reached: from the first arrival on, or by any increments.

Why nothing needed is lost: what was said about an event before that first version lies before the window, and so before every later one.
It is superseded as long as anything after it holds; and should all of that be withdrawn, what resurfaces counts nowhere. Why the state does
not depend on the way: partitions hold disjoint, ascending stretches of arrival (`arrived` refuses others), so a later partition never
changes which version was first, except by an event that had none.

What the counts of a snapshot say is about the rows of the state. Cost: the arrivals and one pass over the state, which is as long as the
window and not as the history.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa

from headrace.features.columns import Flags, Rows, sort_order
from headrace.features.cutoff import day_interval, to_micros, window_interval
from headrace.features.errors import RowsError, row_numbers
from headrace.features.events import event_codes, version_order
from headrace.features.keys import NULL_KEY, Codes
from headrace.features.log import CLOCKS, MARKS, Log, open_log
from headrace.features.needs import dates_of
from headrace.spec.canonical import instant_text
from headrace.spec.feature_view import FeatureView


def arrived(rows: pa.Table, view: FeatureView, first: date, last: date) -> pa.Table:
    """The log rows of whole partitions as states keep them: numbered by `seq`, without the columns the view does not read.

    Rows without a `seq` column are numbered here. Rows that need it agree on their arrival, so they stand in one partition, and get the
    numbers they would get in the whole log.

    Args:
        rows: what the view's rows function returned over the partitions.
        view: the declaration.
        first, last: the partitions, both inclusive.

    Raises:
        RowsError: rows that did not arrive in `[C(first - 1), C(last))`, the local dates by the view's zone.
        SchemaError, RowsError: as `open_log`.
    """
    opened = open_log(rows, view.entity)
    begins, ends = day_interval(dates_of(view), first).start, day_interval(dates_of(view), last).end
    strange = np.flatnonzero((opened.available < to_micros(begins)) | (opened.available >= to_micros(ends)))
    if strange.size > 0:
        at: Any = opened.table.column("available_time")[int(strange[0])].as_py()
        raise RowsError(
            f"{view.log.dataset} {first if first == last else f'{first} to {last}'}, available_time",
            found=f"{instant_text(at)} in {row_numbers(strange)}",
            expected=f"arrivals from {instant_text(begins)} to before {instant_text(ends)}",
            remedy="Partition the log by the local date of arrival, or declare it partitioned by event_time.",
        )
    table = opened.table if "seq" in rows.schema.names else opened.table.append_column("seq", pa.array(opened.seq, pa.int64()))
    values = [spec.column for spec in view.aggregates if spec.reads is not None]
    wanted = {*view.entity, *view.log.event_key, *CLOCKS, *MARKS, *values}
    return table.select([name for name in table.schema.names if name in wanted])


def advanced(state: pa.Table | None, arrivals: Sequence[pa.Table], view: FeatureView, day: date) -> pa.Table:
    """The state after `day`, sorted by entity, event time, arrival and seq.

    Args:
        state: a state of an earlier day, or of this day with fewer arrivals; None: there is none, and `arrivals` are all there ever were.
        arrivals: the log partitions since then, oldest first, as `arrived` gives them, up to the one that holds the knowledge time. Rows
            that arrived later still may be among them: the snapshot looks at none of them, and a later state has them.
        view: the declaration.
        day: the local day.
    """
    rows = pa.concat_tables([*([] if state is None else [state]), *arrivals])
    opened = open_log(rows, view.entity)
    begins = to_micros(window_interval(view.cutoff, day, view.longest_window).start)
    kept = rows.filter(pa.array(_needed(opened, event_codes(opened, view.log.event_key), begins)))
    return kept.take(pa.array(sort_order(kept, [*view.entity, *CLOCKS, "seq"]), pa.int64())).combine_chunks()


def _needed(log: Log, codes: Codes, begins: int) -> Flags:
    """Rows of an event from its first version with `x >= begins` on; of nobody's rows those with `x >= begins`."""
    recent = log.event >= begins
    order = version_order(log, codes, np.arange(codes.size))
    first = np.append(np.ones(min(codes.size, 1), dtype=bool), codes[order][1:] != codes[order][:-1])
    so_far = np.cumsum(recent[order])
    earlier_events: Rows = (so_far - recent[order])[first][np.cumsum(first) - 1]
    needed = np.zeros(codes.shape, dtype=bool)
    needed[order] = so_far > earlier_events
    return np.where(codes == NULL_KEY, recent, needed)
