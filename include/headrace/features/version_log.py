"""The log rows behind one version of a snapshot, read in the way its partitions allow.

Partitioned by event time: the partitions of the longest window, which hold all that is ever said about its events. Partitioned by
arrival: the newest state that is still good, and the partitions that arrived since; all of them when there is none.

A log of very many small partitions is compacted by rolling its days up into months (`headrace rollup`). A month that holds exactly the days
wanted is read in their place: the same rows in the same order, in few large shards instead of many small ones. A version is recorded to
be computed from the days either way, so compaction changes no byte of a snapshot.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import groupby
from typing import Final

import pyarrow as pa

from headrace.features.functions import rows_function
from headrace.features.increment import advanced, arrived
from headrace.features.inputs import inputs_from, read_inputs
from headrace.features.needs import version_log_days
from headrace.features.states import Found, find_state
from headrace.features.versions import SnapshotKey
from headrace.lake.store import Store
from headrace.manifests.read import latest, manifest_of, published
from headrace.manifests.release import Release
from headrace.shards.rollup import monthly
from headrace.shards.table import read_partition
from headrace.spec.canonical import digest_of
from headrace.spec.feature_view import FeatureView

_MONTH: Final = len("2013-01")


@dataclass(frozen=True, kw_only=True)
class VersionLog:
    """What one version is computed from.

    Attributes:
        rows: log rows; of a log partitioned by arrival, the state.
        facts: the partitions they are a function of, each with its manifest, oldest first; whether they were read or stood in a state.
        how: what was read, in words, for the run's log.
    """

    rows: pa.Table
    facts: list[dict[str, str]]
    how: str

    @property
    def digest(self) -> str:
        return digest_of(self.facts)


def read_version_log(lake: Store, view: FeatureView, key: SnapshotKey) -> VersionLog:
    """The log rows that `compute_snapshot` needs for this version.

    Raises:
        NotPublished: a partition is not there; a run waits for them before it reads.
        RowsError, SchemaError: what `arrived` refuses.
    """
    days = version_log_days(view, key)
    if not view.log.by_arrival:
        read = read_inputs(lake, view.log.dataset, days)
        return VersionLog(rows=rows_function(view.log.rows)(read.rows), facts=read.facts, how=f"{len(days)} days of the log read")
    facts = _facts(lake, published(lake, view.log.dataset), days)
    found = find_state(lake, view, key, facts)
    new = facts if found.through is None else [one for one in facts if one["partition"] > found.through.isoformat()]
    rows = advanced(found.rows, list(_arrivals(lake, view, new)), view, key.day)
    return VersionLog(rows=rows, facts=facts, how=_how(found, len(new)))


def whole_log(lake: Store, view: FeatureView, facts: Iterable[dict[str, str]]) -> pa.Table:
    """The log rows of the partitions that a snapshot's manifest recorded, read again by their digests, without any state."""
    ordered = sorted(facts, key=lambda one: one["partition"])
    if not view.log.by_arrival:
        return rows_function(view.log.rows)(inputs_from(lake, ordered).rows)
    return pa.concat_tables(list(_arrivals(lake, view, ordered)))


def _facts(lake: Store, release: Release, days: Sequence[date]) -> list[dict[str, str]]:
    """As `Inputs.facts`, from the release alone: the manifests of what stands in a state are not read."""
    for day in days:
        if day.isoformat() not in release.partitions:
            manifest_of(lake, release, day.isoformat())  # raises, and says what is there
    return [
        {"dataset": release.dataset, "partition": day.isoformat(), "manifest": release.partitions[day.isoformat()]}
        for day in days
    ]


def _arrivals(lake: Store, view: FeatureView, facts: Sequence[dict[str, str]]) -> Iterator[pa.Table]:
    """The rows of arrival partitions in their order, a month at a time where it is rolled up from exactly these days."""
    rolled = latest(lake, monthly(view.log.dataset))
    for month, group in groupby(facts, key=lambda one: one["partition"][:_MONTH]):
        days = list(group)
        whole = None if rolled is None or month not in rolled.release.partitions else manifest_of(lake, rolled.release, month)
        if whole is not None and whole.facts["inputs"] == days:
            yield _rows(view, read_partition(lake, whole), days)
        else:
            for one in days:
                yield _rows(view, inputs_from(lake, [one]).rows, [one])


def _rows(view: FeatureView, shards: pa.Table, days: Sequence[dict[str, str]]) -> pa.Table:
    first, last = (date.fromisoformat(days[place]["partition"]) for place in (0, -1))
    return arrived(rows_function(view.log.rows)(shards), view, first, last)


def _how(found: Found, read: int) -> str:
    if found.rows is None:
        return f"recomputed in full from {read} days of arrivals, because of earlier states {found.words}"
    return f"{read} days of arrivals on top of {found.words} ({found.rows.num_rows} rows)"
