"""What a training set is joined from: which DAGs run before its own, and which partitions a day needs."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from headrace.settings import lake_uri
from headrace.spec.training_set import TrainingSet

if TYPE_CHECKING:
    from headrace.manifests.needs import Needed


def inputs_of(training_set: TrainingSet) -> list[str]:
    """The datasets whose day must be there: the labels', every view, and the logs joined directly."""
    views, logs = [view.name for view in training_set.views], [join.log.dataset for join in training_set.logs]
    return list(dict.fromkeys([training_set.labels.dataset, *views, *logs]))


def source_needs(training_set: TrainingSet, rows_of: str, day: date) -> list[Needed]:
    """The partitions to wait for: the day of the dataset `rows_of`, and what its rows are joined to."""
    from headrace.features.build import snapshots_needed
    from headrace.features.needs import joined_log_days
    from headrace.manifests.needs import Needed
    from headrace_stores import open_store

    lake = open_store(lake_uri())
    missing = [
        Needed(dataset=view.name, partition=str(key))
        for view in training_set.views
        for key in snapshots_needed(training_set, view, day, lake=lake).missing
    ]
    logs = [
        Needed(dataset=join.log.dataset, partition=one.isoformat())
        for join in training_set.logs
        for one in joined_log_days(training_set, join, day)
    ]
    return list(dict.fromkeys([Needed(dataset=rows_of, partition=day.isoformat()), *missing, *logs]))
