"""Snapshots by increment: yesterday's state and what arrived since, instead of the whole log.

For a log whose partitions are days of *arrival*. The state after day D holds the rows that a snapshot of D or of a later day may
need: every row of every event that was ever said to lie in D's longest window or after it. Then

    state of D = trimmed(state of D-1 + arrivals)        features of D = compute_snapshot(state of D)

and the features have the bytes of a full recompute. Why nothing needed is lost: an event is dropped only when all that was said about it
lies before the window. What is said about it later counts by itself if it moves the event into a window; and should that be withdrawn
again, what resurfaces lies before every later window.

What the counts say is about the rows that were read, so a full recompute counts more rows `before` the window. Cost: the arrivals and one
pass over the state, which is as long as the window and not as the history.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

import numpy as np
import pyarrow as pa

from headrace.features.columns import sort_order
from headrace.features.cutoff import to_micros, window_interval
from headrace.features.events import event_codes
from headrace.features.log import open_log
from headrace.spec.feature_view import FeatureView


def advanced(state: pa.Table | None, arrivals: Sequence[pa.Table], view: FeatureView, day: date) -> pa.Table:
    """The state after `day`: rows in the log's columns, in an order that does not depend on how they came.

    Args:
        state: the state after the day before; None before the first day.
        arrivals: the log partitions since then, up to the one that holds the knowledge time. Rows that arrived later still may be
            among them: the snapshot looks at none of them, and a later state has them.
        view: the declaration.
        day: the local day.
    """
    rows = pa.concat_tables([*([] if state is None else [state]), *arrivals])
    opened = open_log(rows, view.entity)
    codes = event_codes(opened, view.log.event_key)
    begins = to_micros(window_interval(view.cutoff, day, view.longest_window).start)
    needed = np.unique(codes[(opened.event >= begins) & (codes >= 0)])
    kept = rows.filter(pa.array(np.isin(codes, needed)))
    return kept.take(pa.array(sort_order(kept, list(kept.schema.names)), pa.int64())).combine_chunks()
