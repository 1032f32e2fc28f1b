"""A feature view: windowed aggregates per entity over an append-only log, one snapshot a day.

    CARRIER_DELAYS = FeatureView(
        name="carrier_delays",
        entity=("carrier",),
        log=FeatureLog(dataset="flights", rows="include.datasets.flights_rows:outcomes", event_key=("flight_id",)),
        aggregates=(count("flights"), mean("arr_delay"), share("late")),
        windows=(1, 7),
        cutoff=Cutoff(timezone="America/New_York"),
        start=date(2013, 1, 1),
        owner="data-platform",
    )

gives `flights_1d, flights_7d, arr_delay_mean_1d, ...` for each carrier. What the words promise is in
`headrace.features.snapshot`; this module only holds and checks them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final

from headrace.spec.aggregates import Aggregate
from headrace.spec.canonical import not_content
from headrace.spec.cutoff import Cutoff, check_wait
from headrace.spec.errors import check
from headrace.spec.names import check_dotted, check_name

RESERVED_COLUMNS = frozenset(
    {"event_time", "available_time", "seq", "tombstone", "retraction", "visible_time", "reason", "label", "label_id",
     "label_time", "label_known_time", "split"}
)  # fmt: skip
"""Column names with a meaning of their own: no entity column or feature may take them."""
LOG_PARTITIONS: Final = ("event_time", "available_time")


@dataclass(frozen=True, kw_only=True)
class FeatureLog:
    """Where the events come from.

    Attributes:
        dataset: the dataset whose shards hold them.
        rows: a function by path, `(pa.Table of shard columns) -> pa.Table`, that returns the entity columns, `event_time`
            and `available_time` (timestamps with a zone), optionally `seq` (int64), `tombstone` and `retraction` (bool),
            the `event_key` columns and the value columns.
        event_key: the columns that, with the entity, identify one event: rows that agree on them are versions of that
            event and only the version that arrived last counts. Empty: every row is an event of its own, and a log row
            that restates, cancels or retracts another is refused, because nothing says which one.
        partitions: whose local date a partition of the dataset is. `event_time`: the partitions of a window hold all that is ever
            said about its events, and late rows are added to them. `available_time`: partition D holds what arrived on D and is
            never touched again; snapshots are then computed by increment (`headrace.features.increment`), and `rows` is called
            for some partitions at a time: it has to work row by row.
    """

    dataset: str
    rows: str
    event_key: tuple[str, ...] = ()
    partitions: str = not_content(default="event_time")  # where rows lie changes no feature

    def __post_init__(self) -> None:
        check_name("FeatureLog", "dataset", self.dataset)
        check_dotted("FeatureLog", "rows", self.rows)
        check_columns("FeatureLog", "event_key", self.event_key, at_least=0)
        check(self.partitions in LOG_PARTITIONS, "FeatureLog", "partitions", self.partitions, f"one of {list(LOG_PARTITIONS)}")

    @property
    def by_arrival(self) -> bool:
        """Whether a partition holds what arrived on its day."""
        return self.partitions == "available_time"


@dataclass(frozen=True, kw_only=True)
class FeatureView:
    """Features of one entity, computed once a day. See the module for an example.

    Attributes:
        name: the view's name, also the prefix of its provenance columns.
        entity: the columns that identify what the features are about.
        log: the events.
        aggregates: what is computed over each window.
        windows: window lengths in local days: `7` on day D covers the events of `[C(D-7), C(D))`.
        cutoff: when a day ends and how long late events are waited for.
        publish_delay: the declared time from knowledge to publication, for days before the system ran.
        preliminary: whether a version is also published at the cutoff itself, before settlement.
        start: first day of data; part of the content, because it bounds the earliest windows.
        end: last day, inclusive, or None for no end.
        live_since: first day whose versions are published by the real clock; None: no day is, all are declared.
        catchup: whether the schedule runs the days since `start` by itself.
        owner: who answers for it.
        freshness: how long after a day's settlement its settled version should be there.
    """

    name: str
    entity: tuple[str, ...]
    log: FeatureLog
    aggregates: tuple[Aggregate, ...]
    windows: tuple[int, ...]
    cutoff: Cutoff
    publish_delay: timedelta = timedelta(hours=1)
    start: date
    # Which versions exist and who runs them changes no version's bytes; a training set records the versions it used.
    preliminary: bool = not_content(default=True)
    end: date | None = not_content(default=None)
    live_since: date | None = not_content(default=None)
    catchup: bool = not_content(default=False)
    owner: str = not_content()
    freshness: timedelta = not_content(default=timedelta(hours=6))

    def __post_init__(self) -> None:
        check_name("FeatureView", "name", self.name)
        who = f"FeatureView {self.name}"
        check_columns(who, "entity", self.entity, at_least=1)
        check(isinstance(self.log, FeatureLog), who, "log", self.log, "a FeatureLog")
        check(isinstance(self.cutoff, Cutoff), who, "cutoff", self.cutoff, "a Cutoff")
        _check_aggregates(who, self.aggregates)
        _check_windows(who, self.windows)
        check_wait(who, "publish_delay", self.publish_delay)
        check_days(who, self.start, self.end)
        check(self.live_since is None or is_day(self.live_since), who, "live_since", self.live_since, "a date or None")
        check_owner(who, self.owner)
        _check_outputs(who, self)

    @property
    def features(self) -> tuple[str, ...]:
        """The feature columns, by aggregate as declared and then by window."""
        return tuple(aggregate.output(days) for aggregate in self.aggregates for days in self.windows)

    @property
    def longest_window(self) -> int:
        """Local days the longest window reaches back, its own day included."""
        return max(self.windows)


def is_day(value: object) -> bool:
    """A calendar date and not an instant (`datetime` is a `date` in Python's types)."""
    return isinstance(value, date) and not isinstance(value, datetime)


def check_days(declaration: str, start: date, end: date | None) -> None:
    """A first day and, if any, a last day that is not before it."""
    check(is_day(start), declaration, "start", start, "a date")
    check(end is None or (is_day(end) and end >= start), declaration, "end", end, f"None or a date from {start} on")


def check_owner(declaration: str, owner: str) -> None:
    """Someone to ask."""
    check(isinstance(owner, str) and owner.strip() != "", declaration, "owner", owner, "the team that answers for it")


def check_columns(declaration: str, field: str, columns: tuple[str, ...], *, at_least: int) -> None:
    """A tuple of different, unreserved column names."""
    enough = isinstance(columns, tuple) and len(columns) >= at_least
    check(enough, declaration, field, columns, f"a tuple of at least {at_least} column names")
    for column in columns:
        check_name(declaration, field, column)
        check(column not in RESERVED_COLUMNS, declaration, field, column, f"none of {sorted(RESERVED_COLUMNS)}")
    check(not duplicates(columns), declaration, field, columns, "each column once")


def duplicates(names: Iterable[str]) -> list[str]:
    """The names that occur more than once, sorted."""
    return sorted(name for name, times in Counter(names).items() if times > 1)


def _check_aggregates(who: str, aggregates: tuple[Aggregate, ...]) -> None:
    right = isinstance(aggregates, tuple) and len(aggregates) > 0 and all(isinstance(item, Aggregate) for item in aggregates)
    check(right, who, "aggregates", aggregates, "a tuple of at least one aggregate, such as count('flights')")


def _check_windows(who: str, windows: tuple[int, ...]) -> None:
    whole = isinstance(windows, tuple) and all(type(days) is int and 1 <= days <= 3660 for days in windows)
    check(whole and len(windows) > 0, who, "windows", windows, "a tuple of whole local days, 1 to 3660")
    check(len(set(windows)) == len(windows), who, "windows", windows, "each window once")


def _check_outputs(who: str, view: FeatureView) -> None:
    twice = duplicates((*view.entity, *view.features))
    check(not twice, who, "aggregates", twice, "outputs that differ from each other and from the entity columns")
