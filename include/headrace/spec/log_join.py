"""Values joined straight from a feature log: for each label the newest row of its entity that had arrived by its time.

    LAST_ARRIVAL = LogJoin(
        name="last_arrival",
        entity=("carrier",),
        log=FeatureLog(dataset="flights", rows="include.datasets.functions.flights:landings"),
        values=columns(arr_delay="int64"),
        timezone="America/New_York",
        ttl=timedelta(hours=24),
        start=date(2013, 1, 1),
    )

gives `arr_delay` and its provenance, `last_arrival__event_time, last_arrival__available_time, last_arrival__seq, last_arrival__reason`.
A view summarises days and is as old as its newest published snapshot; a log join is as fresh as the log. The method is in
`headrace.features.as_of`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

from headrace.spec.columns import Column
from headrace.spec.cutoff import check_wait
from headrace.spec.errors import check
from headrace.spec.feature_view import RESERVED_COLUMNS, FeatureLog, check_columns, duplicates, is_day
from headrace.spec.names import check_name
from headrace.spec.quality import WEIGHT_COLUMNS
from headrace.spec.zones import check_zone


@dataclass(frozen=True, kw_only=True)
class LogJoin:
    """One log joined to the labels of a training set.

    Attributes:
        name: prefix of the provenance columns.
        entity: the columns that identify whose values they are.
        log: the events. `event_key` takes no part: the newest row by (event time, available time, seq) is the answer.
        values: the columns wanted, with their types, so that a day without any row has the schema of every other day.
        timezone: the zone in which the log's partitions are local dates.
        ttl: a value whose event time is longer ago than this at label time has expired. Never None: it bounds which partitions are
            read. Rows of earlier partitions are not looked at, so an entity silent for longer counts as never seen. In a log
            partitioned by arrival the same holds for what was announced longer ago than that.
        start: first day of the log; nobody waits for days before it.
        strict: whether a value must have arrived before the label's time; otherwise at it is early enough.
        carry_forward: of `values`, those whose nulls mean "not said": each is looked up among the rows that say it.
    """

    name: str
    entity: tuple[str, ...]
    log: FeatureLog
    values: tuple[Column, ...]
    timezone: str
    ttl: timedelta
    start: date
    strict: bool = False
    carry_forward: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_name("LogJoin", "name", self.name)
        who = f"LogJoin {self.name}"
        check_columns(who, "entity", self.entity, at_least=1)
        check(isinstance(self.log, FeatureLog), who, "log", self.log, "a FeatureLog")
        given = isinstance(self.values, tuple) and len(self.values) > 0 and all(isinstance(one, Column) for one in self.values)
        check(given, who, "values", self.values, "at least one column with its type, such as columns(arr_delay='int64')")
        taken = sorted({*self.features} & {*RESERVED_COLUMNS, *WEIGHT_COLUMNS, *self.entity})
        check(not taken, who, "values", taken, "no entity column and none of the names with a meaning of their own")
        check(not duplicates(self.features), who, "values", duplicates(self.features), "each column once")
        check_zone(who, "timezone", self.timezone)
        check_wait(who, "ttl", self.ttl)
        check(is_day(self.start), who, "start", self.start, "a date")
        check(isinstance(self.strict, bool), who, "strict", self.strict, "true or false")
        foreign = sorted(set(self.carry_forward) - set(self.features))
        check(not foreign, who, "carry_forward", foreign, f"some of {self.features}")

    @property
    def features(self) -> tuple[str, ...]:
        """The value columns, in order."""
        return tuple(column.name for column in self.values)
