"""The split into training and holdout, strictly by time.

With `S` the first instant of the holdout's start day:

    holdout     label time >= S
    train       label time <  S, and the label was known by S - embargo
    purged      label time <  S, but known only after S: its outcome lies in the holdout's time
    embargoed   label time <  S, known in (S - embargo, S]

So the last training label was known no later than the first held-out label is asked. A random split is not offered: it
draws both parts from one state of the data and cannot show leakage.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum

import numpy as np
import pyarrow as pa

from headrace.features.columns import Array, Column, words
from headrace.features.cutoff import cutoff_instant, to_micros
from headrace.features.times import micros_of
from headrace.spec.cutoff import Cutoff
from headrace.spec.training_set import TrainingSet


class Part(StrEnum):
    """Where a label goes."""

    TRAIN = "train"
    HOLDOUT = "holdout"
    PURGED = "purged"
    EMBARGOED = "embargoed"


def split_instant(training_set: TrainingSet) -> datetime:
    """`S`: the first instant, in UTC, of the holdout's start day."""
    midnight = Cutoff(timezone=training_set.holdout_timezone)
    return cutoff_instant(midnight, training_set.holdout.start - timedelta(days=1))


def split_column(training_set: TrainingSet, labels: pa.Table) -> Array:
    """The part of each label, shape (rows,), in the labels' order.

    Known times are rounded up to a microsecond, label times down. Raises SchemaError or RowsError for labels whose
    `label_known_time` is missing or null: what is not known to be known cannot be purged.
    """
    asked = micros_of(labels, "label_time", rounding="down")
    known = micros_of(labels, "label_known_time", rounding="up")
    start = to_micros(split_instant(training_set))
    embargo = training_set.holdout.embargo // timedelta(microseconds=1)
    parts = [Part.HOLDOUT, Part.PURGED, Part.EMBARGOED, Part.TRAIN]
    conditions = [asked >= start, known > start, known > start - embargo]
    return words(parts, np.select(conditions, [np.int64(n) for n in range(3)], default=np.int64(3)))


def split_counts(column: Array | Column) -> Mapping[Part, int]:
    """How many labels went where; every part is named, also with zero."""
    found = Counter(column.to_pylist())
    return {part: found[str(part)] for part in Part}
