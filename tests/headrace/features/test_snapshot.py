"""A snapshot is what was known of a day at its knowledge time, and nothing else."""

from __future__ import annotations

import random
from datetime import date, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from headrace.features.cutoff import cutoff_instant, day_interval
from headrace.features.errors import RowsError, SchemaError, SnapshotError
from headrace.features.snapshot import Snapshot, compute_snapshot
from headrace.features.versions import preliminary_key, scheduled_keys, settled_key
from headrace.spec.aggregates import count, distinct, first, last, max_of, mean, min_of, stddev, sum_of
from headrace.spec.cutoff import Cutoff
from headrace.spec.feature_view import FeatureLog, FeatureView

from tests.headrace.features.build import at, log, view

DAY = date(2013, 1, 3)  # [2013-01-03T05:00, 2013-01-04T05:00) UTC
EVENTS = FeatureLog(dataset="flights", rows="some.module:rows", event_key=("flight",))


def settled(rows: pa.Table, declared: FeatureView | None = None, day: date = DAY) -> Snapshot:
    declared = view() if declared is None else declared
    return compute_snapshot(rows, declared, day, settled_key(declared, day).knowledge)


def preliminary(rows: pa.Table, declared: FeatureView | None = None, day: date = DAY) -> Snapshot:
    declared = view() if declared is None else declared
    return compute_snapshot(rows, declared, day, preliminary_key(declared, day).knowledge)


def test_features_per_entity_over_one_and_seven_days() -> None:
    """Two carriers, sorted; a carrier without events in a window counts zero there and has no mean."""
    found = settled(
        log(
            ("UA", "2013-01-03T12:00", "2013-01-03T14:00", 20, True),
            ("UA", "2013-01-02T12:00", "2013-01-02T14:00", -5, False),
            ("AA", "2013-01-01T12:00", "2013-01-01T14:00", None, None),
            ("UA", "2013-01-03T13:00", "2013-01-03T15:00", 1, False),
        )
    )

    assert found.rows.to_pylist() == [
        {"carrier": "AA", "flights_1d": 0, "flights_7d": 1, "arr_delay_mean_1d": None, "arr_delay_mean_7d": None,
         "late_share_1d": None, "late_share_7d": None},
        {"carrier": "UA", "flights_1d": 2, "flights_7d": 3, "arr_delay_mean_1d": 10.5, "arr_delay_mean_7d": 16 / 3,
         "late_share_1d": 0.5, "late_share_7d": 1 / 3},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("event", "arrival", "counts"),
    [
        ("2013-01-03T05:00", "2013-01-04T05:00", 1),  # first instant of the day, arrived exactly at K
        ("2013-01-03T05:00", "2013-01-04T05:00:00.000001", 0),  # a microsecond too late
        ("2013-01-04T04:59:59.999999", "2013-01-04T05:00", 1),  # last instant of the day
        ("2013-01-04T05:00", "2013-01-04T05:00", 0),  # the cutoff belongs to tomorrow
        ("2013-01-03T04:59:59.999999", "2013-01-03T05:00", 0),  # yesterday
    ],
)
def test_the_edges_of_the_day_and_of_the_knowledge(event: str, arrival: str, counts: int) -> None:
    """Events half-open, arrivals closed, to the microsecond."""
    found = preliminary(log(("AA", event, arrival, 1, False)), view(windows=(1,)))

    assert found.rows.column("flights_1d").to_pylist() == [counts] * counts


def test_rows_that_arrive_after_the_knowledge_time_change_nothing() -> None:
    """A backfill months later, with everything there, gives the rows and counts of the on-time run."""
    early = log(("AA", "2013-01-03T12:00", "2013-01-03T14:00", 4, False), ("UA", "2013-01-03T12:00", "2013-01-03T14:00", 6, True))
    late = log(("AA", "2013-01-03T13:00", "2013-01-04T06:00", 100, True), ("DL", "2013-01-02T13:00", "2013-01-09T06:00", 7, True))

    on_time, later = preliminary(early), preliminary(pa.concat_tables([late, early]))

    assert later.rows.equals(on_time.rows)
    assert later.counts == on_time.counts
    assert (on_time.completeness.share, later.completeness.share) == (1.0, 2 / 3)


def test_no_snapshot_of_a_day_that_is_not_over() -> None:
    """The knowledge time is at or after the day's end."""
    with pytest.raises(SnapshotError, match="2013-01-04T05:00:00"):
        compute_snapshot(log(), view(), DAY, at("2013-01-04T04:59:59"))


def test_the_last_arrived_version_of_an_event_counts() -> None:
    """Five versions in shuffled order; each knowledge time sees the newest that had arrived."""
    versions = [("AA", "2013-01-03T12:00", f"2013-01-0{4 + n}T04:00", n, False, "f1") for n in (3, 0, 4, 1, 2)]
    rows = log(*versions, columns=("arr_delay", "late", "flight"))
    declared = view(log=EVENTS, windows=(1,))

    for n in range(5):
        found = compute_snapshot(rows, declared, DAY, at(f"2013-01-0{4 + n}T05:00"))
        assert found.rows.column("arr_delay_mean_1d").to_pylist() == [float(n)]
        assert (found.rows.column("flights_1d").to_pylist(), found.counts.superseded) == ([1], n)


def test_without_an_event_key_equal_rows_are_two_events() -> None:
    """Two flights of a carrier leave in the same minute."""
    same = ("AA", "2013-01-03T12:00", "2013-01-03T14:00", 4, False)

    assert settled(log(same, same)).rows.column("flights_1d").to_pylist() == [2]


def test_a_version_that_moves_an_event_takes_it_along() -> None:
    """A restated event time: the event counts on its new day and no longer on the old one."""
    rows = log(
        ("AA", "2013-01-03T12:00", "2013-01-03T14:00", 4, False, "f1"),
        ("AA", "2013-01-02T12:00", "2013-01-03T20:00", 4, False, "f1"),
        columns=("arr_delay", "late", "flight"),
    )
    found = settled(rows, view(log=EVENTS))

    assert (found.rows.column("flights_1d").to_pylist(), found.rows.column("flights_7d").to_pylist()) == ([0], [1])


def test_a_tombstone_cancels_and_a_retraction_restores() -> None:
    """f1 was cancelled; of f2 the second version was wrong, so the first counts again."""
    rows = log(
        ("AA", "2013-01-03T12:00", "2013-01-03T14:00", 1, False, "f1", None, None),
        ("AA", "2013-01-03T12:00", "2013-01-03T15:00", None, None, "f1", True, None),
        ("AA", "2013-01-03T13:00", "2013-01-03T14:00", 5, False, "f2", None, None),
        ("AA", "2013-01-03T13:00", "2013-01-03T15:00", 9, False, "f2", None, None),
        ("AA", "2013-01-03T13:00", "2013-01-03T16:00", None, None, "f2", None, True),
        columns=("arr_delay", "late", "flight", "tombstone", "retraction"),
    ).append_column("seq", pa.array([1, 2, 3, 4, 5], pa.int64()))
    rows = rows.append_column("retracts", pa.array([None, None, None, None, 4], pa.int64()))

    found = settled(rows, view(log=EVENTS, windows=(1,)))

    assert found.rows.column("arr_delay_mean_1d").to_pylist() == [5.0]
    assert (found.counts.tombstoned, found.counts.retracted, found.counts.used) == (1, 1, 1)


def test_marks_without_an_event_key_are_refused() -> None:
    """Nothing says which event is cancelled."""
    rows = log(("AA", "2013-01-03T12:00", "2013-01-03T14:00", 1, False, True), columns=("arr_delay", "late", "tombstone"))
    with pytest.raises(SchemaError, match="row 0"):
        settled(rows)


def test_rows_without_an_entity_are_counted_and_belong_to_nobody() -> None:
    """They make no row and no error."""
    found = settled(
        log((None, "2013-01-03T12:00", "2013-01-03T14:00", 1, False), ("AA", "2013-01-03T12:00", "2013-01-03T14:00", 1, False))
    )

    assert (found.rows.num_rows, found.counts.null_key, found.counts.used) == (1, 1, 1)


def test_a_future_dated_event_waits_for_its_own_day() -> None:
    """Reported on the 3rd for the 5th: ahead on the 3rd, counted on the 5th."""
    rows = log(("AA", "2013-01-05T12:00", "2013-01-03T14:00", 1, False))

    assert (preliminary(rows).rows.num_rows, preliminary(rows).counts.ahead) == (0, 1)
    assert preliminary(rows, day=date(2013, 1, 5)).rows.column("flights_1d").to_pylist() == [1]


def test_an_empty_log_gives_typed_columns() -> None:
    """No rows, and the schema of any other day."""
    full = settled(log(("AA", "2013-01-03T12:00", "2013-01-03T14:00", 1, False)))

    assert settled(log()).rows.schema == full.rows.schema
    assert settled(log()).completeness.share is None


def test_a_clock_change_makes_a_day_of_25_hours() -> None:
    """An event an hour after the fall-back midnight of New York's 3 November 2013 still belongs to the 3rd."""
    rows = log(("AA", "2013-11-04T04:59", "2013-11-04T04:59", 1, False), ("AA", "2013-11-03T04:00", "2013-11-03T04:00", 1, False))

    assert preliminary(rows, view(windows=(1,)), date(2013, 11, 3)).rows.column("flights_1d").to_pylist() == [2]


def test_every_function_on_one_entity() -> None:
    """Nulls take no part, except in count and in the value of the first and last event."""
    declared = view(
        aggregates=(
            count("flights"), sum_of("arr_delay", dtype="int64"), mean("arr_delay"), stddev("arr_delay"),
            min_of("tail", dtype="string"), max_of("tail", dtype="string"), first("tail", dtype="string"),
            last("tail", dtype="string"), distinct("tail"), max_of("arr_delay", dtype="float64"),
        ),
        windows=(1,),
    )  # fmt: skip
    rows = log(
        ("AA", "2013-01-03T14:00", "2013-01-03T15:00", 7, "b"),
        ("AA", "2013-01-03T12:00", "2013-01-03T15:00", 1, "c"),
        ("AA", "2013-01-03T13:00", "2013-01-03T15:00", None, "a"),
        ("AA", "2013-01-03T15:00", "2013-01-03T16:00", 4, None),
        ("AA", "2013-01-03T11:00", "2013-01-03T12:00", 4, "a"),
        columns=("arr_delay", "tail"),
    )

    assert settled(rows, declared).rows.to_pylist() == [
        {"carrier": "AA", "flights_1d": 5, "arr_delay_sum_1d": 16, "arr_delay_mean_1d": 4.0, "arr_delay_stddev_1d": 6**0.5,
         "tail_min_1d": "a", "tail_max_1d": "c", "tail_first_1d": "a", "tail_last_1d": None, "tail_distinct_1d": 3,
         "arr_delay_max_1d": 7.0}
    ]  # fmt: skip


def test_a_value_that_is_not_finite_is_refused() -> None:
    """NaN would make a minimum depend on the order of rows."""
    rows = log(("AA", "2013-01-03T12:00", "2013-01-03T14:00", 1, False))
    rows = rows.set_column(3, "arr_delay", pa.array([float("nan")]))
    with pytest.raises(RowsError, match="NaN or infinity in row 0"):
        settled(rows)


def test_text_is_text_however_it_is_stored() -> None:
    """A dictionary column gives the features of a plain one."""
    plain = log(
        ("AA", "2013-01-03T12:00", "2013-01-03T14:00", "b"),
        ("AA", "2013-01-03T13:00", "2013-01-03T14:00", "a"),
        columns=("tail",),
    )
    declared = view(aggregates=(min_of("tail", dtype="string"), last("tail", dtype="string"), distinct("tail")), windows=(1,))
    coded = plain.set_column(3, "tail", plain.column("tail").dictionary_encode())

    assert settled(coded, declared).rows.equals(settled(plain, declared).rows)


def test_a_tombstoned_event_that_is_told_again_happened() -> None:
    """Of an event the version that arrived last decides, also after a cancellation, and between the two nothing happened."""
    rows = log(
        ("AA", "2013-01-03T12:00", "2013-01-03T14:00", 1, "a", False),
        ("AA", "2013-01-03T12:00", "2013-01-04T05:00", None, "a", True),
        ("AA", "2013-01-03T12:00", "2013-01-05T05:00", 9, "a", False),
        columns=("arr_delay", "flight", "tombstone"),
    )
    declared = view(log=EVENTS, aggregates=(sum_of("arr_delay", dtype="int64"),), windows=(1,))

    assert preliminary(rows, declared).rows.to_pylist() == []
    assert settled(rows, declared).rows.to_pylist() == [{"carrier": "AA", "arr_delay_sum_1d": 9}]


def test_a_retraction_cannot_be_retracted() -> None:
    """What was withdrawn stays so until it is told again: a retraction that names another one's seq withdraws nothing."""
    rows = log(
        ("AA", "2013-01-03T12:00", "2013-01-03T14:00", 1, "a", False, 1),
        ("AA", "2013-01-03T12:00", "2013-01-03T15:00", None, "a", True, 2),
        ("AA", "2013-01-03T12:00", "2013-01-03T16:00", None, "a", True, 3),
        columns=("arr_delay", "flight", "retraction", "seq"),
    ).append_column("retracts", pa.array([None, None, 2], pa.int64()))

    found = settled(rows, view(log=EVENTS, aggregates=(count("flights"),), windows=(1,)))

    assert (found.rows.num_rows, found.counts.retracted) == (0, 1)


def test_float_sums_do_not_depend_on_row_order() -> None:
    """A thousand floats of very different size, in a hundred orders, one result, and it is the exact one rounded."""
    random.seed(1)
    values = [random.uniform(-1, 1) * 10.0 ** random.randint(-12, 12) for _ in range(1000)] + [1e16, 1.0, -1e16]
    declared = view(aggregates=(sum_of("arr_delay", dtype="float64"),), windows=(1,))
    base = log(*[("AA", "2013-01-03T12:00", "2013-01-03T14:00", None, None)] * len(values))
    rows = base.set_column(3, "arr_delay", pa.array(values, pa.float64()))
    expected = settled(rows, declared).rows

    for seed in range(20):
        shuffled = rows.take(pa.array(np.random.default_rng(seed).permutation(rows.num_rows)))
        assert settled(shuffled, declared).rows.equals(expected)


def test_thirty_days_in_random_order_with_later_data_present_equal_daily_runs() -> None:
    """Backfill: the same rows from everything that is known later as from what was there on the day."""
    generator = random.Random(7)
    start = at("2013-01-01T05:00")

    def moment(hours: float) -> datetime:
        return start + timedelta(seconds=int(hours * 3600))

    events = []
    for n in range(600):
        happened = generator.uniform(0, 30 * 24)
        for v in range(generator.choice((1, 1, 1, 2, 3))):
            arrived = happened + generator.expovariate(1 / 10) + 30 * v
            events.append(
                ("AB"[n % 2], moment(happened).isoformat()[:19], moment(arrived).isoformat()[:19], n * v, v > 0, f"f{n}")
            )
    everything = log(*events, columns=("arr_delay", "late", "flight"))
    declared = view(log=EVENTS)
    days = [date(2013, 1, 1) + timedelta(days=n) for n in range(28)]

    def run(rows: pa.Table, day: date) -> list[pa.Table]:
        return [compute_snapshot(rows, declared, day, key.knowledge).rows for key in scheduled_keys(declared, day)]

    on_time = {}
    for day in days:
        arrived = pa.compute.less_equal(everything.column("available_time"), settled_key(declared, day).knowledge)
        on_time[day] = run(everything.filter(arrived), day)
    for seed in (1, 2):
        order = random.Random(seed).sample(days, len(days))
        shuffled = everything.take(pa.array(np.random.default_rng(seed).permutation(everything.num_rows)))
        again = {day: run(shuffled, day) for day in order}
        assert all(again[day][k].equals(on_time[day][k]) for day in days for k in (0, 1))


def test_rows_too_late_for_their_own_day_are_counted_where_they_show() -> None:
    """Of the 3rd one event arrives at its settlement, one a second later: the 3rd has one, the 5th both, one of them too late."""
    rows = log(
        ("AA", "2013-01-03T10:00", "2013-01-06T05:00:00", 1, False, "a"),
        ("AA", "2013-01-04T04:59", "2013-01-06T05:00:01", 2, False, "b"),
        columns=("arr_delay", "late", "flight"),
    )

    counts = [
        compute_snapshot(rows, view(log=EVENTS), date(2013, 1, day), settled_key(view(), date(2013, 1, day)).knowledge).counts
        for day in (3, 4, 5)
    ]

    assert [(one.used, one.too_late) for one in counts] == [(1, 0), (2, 1), (2, 1)]


def test_a_snapshot_records_its_instants_and_zone_data() -> None:
    """Enough for a manifest to say what the day was."""
    found = settled(log())

    assert (found.begins, found.ends) == (day_interval(view().cutoff, DAY).start, cutoff_instant(view().cutoff, DAY))
    assert found.knowledge == at("2013-01-06T05:00")
    assert found.zone_data.startswith("tzdata ")


def test_another_zone_cuts_other_days() -> None:
    """The same event is in UTC's 4th and in New York's 3rd."""
    rows = log(("AA", "2013-01-04T02:00", "2013-01-04T02:00", 1, False))

    assert preliminary(rows, view(windows=(1,))).rows.num_rows == 1
    assert preliminary(rows, view(windows=(1,), cutoff=Cutoff(timezone="UTC"))).rows.num_rows == 0
