"""Making the frozen reference of a training set from days that are known to be good."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

import pyarrow as pa

from headrace.features.build import join_day
from headrace.lake.store import Store
from headrace.quality.fingerprint import code_fingerprint
from headrace.quality.reference import Reference, build_reference
from headrace.spec.training_set import TrainingSet


def reference_from_days(training_set: TrainingSet, days: Iterable[date], *, lake: Store) -> Reference:
    """The reference over these days' training rows, joined anew from what is released.

    Raises:
        NotPublished: a day's inputs are not in the lake.
    """
    ordered = sorted(set(days))
    rows = pa.concat_tables([join_day(training_set, day, lake=lake).rows for day in ordered])
    about = f"{training_set.name} {ordered[0].isoformat()} to {ordered[-1].isoformat()}, {rows.num_rows} rows"
    return build_reference(rows, training_set.quality.plan, code_fingerprint=code_fingerprint(training_set), about=about)
