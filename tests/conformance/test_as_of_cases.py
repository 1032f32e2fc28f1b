"""Faults that others shipped, each as a small world with the right outcome, on every engine.

The numbers in the test names are those of the collection of public bugs this suite was written from: availability and
restatement (1-9), ties and row identity (11-24), keys and types (25-32), nulls and staleness (34-37), sorting (39-40),
time values (41-44). Calendar and split cases stand with the cutoffs, snapshots and the split.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from headrace.features.as_of import AsOf, as_of
from headrace.features.engines.duckdb import DuckdbEngine
from headrace.features.errors import RowsError, SchemaError
from headrace.features.keys import shared_codes
from headrace.features.labels import open_labels
from headrace.features.log import open_log
from headrace.features.stored_frontier import as_of_frontier, frontier_table

from tests.conformance.engines import ENGINES_HERE

INSTANT = pa.timestamp("us", tz="UTC")
HOW = AsOf(entity=("user",), values=("v",))
Join = Callable[..., pa.Table]


@pytest.fixture(params=ENGINES_HERE)
def join(request: pytest.FixtureRequest) -> Join:
    """The join on one engine after the other; where it can be, also on the stored frontier, which must say the same."""

    def on_engine(labels: pa.Table, log: pa.Table, how: AsOf = HOW) -> pa.Table:
        found = as_of(labels, log, how, engine=request.param)
        if not how.carry_forward:
            assert as_of_frontier(labels, frontier_table(log, how.entity), how).equals(found)
        return found

    return on_engine


def day(number: float) -> datetime:
    """Midnight UTC of a day of January 2024; fractions are parts of the day."""
    return datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=number - 1)


def log(*rows: tuple[Any, ...], **columns: Any) -> pa.Table:
    """Log rows of (user, event day, arrival day, value), and further columns by name."""
    table = pa.table(
        {
            "user": pa.array([row[0] for row in rows], pa.string()),
            "event_time": pa.array([day(row[1]) for row in rows], INSTANT),
            "available_time": pa.array([day(row[2]) for row in rows], INSTANT),
            "v": pa.array([row[3] for row in rows], pa.int64()),
        }
    )
    for name, values in columns.items():
        table = table.append_column(name, pa.array(values))
    return table


def labels(*rows: tuple[str | None, float]) -> pa.Table:
    """Labels of (user, label day)."""
    return pa.table(
        {
            "label_id": pa.array(range(len(rows)), pa.int64()),
            "user": pa.array([row[0] for row in rows], pa.string()),
            "label_time": pa.array([day(row[1]) for row in rows], INSTANT),
        }
    )


def values(table: pa.Table, name: str = "v") -> list[Any]:
    return table.column(name).to_pylist()


def reasons(table: pa.Table) -> list[Any]:
    return table.column("log__reason").to_pylist()


# --- Availability and restatement ---


def test_1_a_value_restated_after_the_label_is_not_seen(join: Join) -> None:
    """Day 9 arrives on day 9 and again, restated, on day 11: each label gets what had arrived."""
    world = log(("u", 8, 8, 80), ("u", 9, 9.02, 91), ("u", 9, 11, 92))

    assert values(join(labels(("u", 10), ("u", 9.01), ("u", 12)), world)) == [91, 80, 92]


def test_3_a_late_old_event_does_not_override_a_newer_one(join: Join) -> None:
    """Day 5 arrived on day 6, day 4 only on day 8; on day 9 day 5 is the newest."""
    assert values(join(labels(("u", 9)), log(("u", 5, 6, 5), ("u", 4, 8, 4)))) == [5]


def test_4_the_newest_event_had_not_arrived_but_an_older_one_had(join: Join) -> None:
    """The older value, and not null."""
    assert values(join(labels(("u", 9)), log(("u", 5, 6, 5), ("u", 8, 10, 8)))) == [5]


def test_5_of_many_versions_the_newest_arrival_by_label_time(join: Join) -> None:
    """Five versions of one event, in shuffled order, at every time between."""
    rows = [("u", 5, 6 + n, n) for n in range(5)]
    random.Random(3).shuffle(rows)

    assert values(join(labels(*[("u", 6.5 + n) for n in range(5)]), log(*rows))) == [0, 1, 2, 3, 4]


def test_6_arriving_exactly_at_label_time_is_in_time(join: Join) -> None:
    """At L it is there, a microsecond before it is not; strict wants it before."""
    before = labels(("u", 6)).set_column(2, "label_time", pa.array([day(6) - timedelta(microseconds=1)], INSTANT))
    world = log(("u", 5, 6, 5))

    assert values(join(labels(("u", 6)), world)) == [5]
    assert values(join(before, world)) == [None]
    assert values(join(labels(("u", 6)), world, replace(HOW, strict=True))) == [None]


def test_7_a_future_dated_event_neither_shows_nor_hides(join: Join) -> None:
    """Told on day 3 about day 8: until day 8 the value of day 2 holds."""
    world = log(("u", 2, 2, 2), ("u", 8, 3, 8))

    assert values(join(labels(("u", 4), ("u", 7.99), ("u", 8)), world)) == [2, 2, 8]


def test_8_a_row_without_arrival_time_is_refused(join: Join) -> None:
    """It would be always available, or never; nobody said which."""
    world = log(("u", 5, 6, 5), ("u", 6, 7, 6)).set_column(2, "available_time", pa.array([day(6), None], INSTANT))
    with pytest.raises(RowsError) as caught:
        join(labels(("u", 9)), world)

    assert (caught.value.subject, caught.value.found) == ("column available_time", "null in row 1")


def test_9_a_nanosecond_after_the_label_is_after(join: Join) -> None:
    """Arrivals round up, labels and events down: a value 1 ns too late is not joined, 1 us too late neither."""
    ns = pa.timestamp("ns", tz="UTC")
    base = int(day(6).timestamp()) * 1_000_000_000

    def at(nanoseconds: int) -> pa.Array:
        return pa.array([base + nanoseconds], pa.int64()).cast(ns)

    question = labels(("u", 6)).set_column(2, "label_time", at(0))
    for late, expected in ((1, None), (1000, None), (0, 5), (-1, 5)):
        assert values(join(question, log(("u", 5, 6, 5)).set_column(2, "available_time", at(late)))) == [expected]
    almost = labels(("u", 6)).set_column(2, "label_time", at(999))
    assert values(join(almost, log(("u", 5, 6, 5)).set_column(2, "available_time", at(1)))) == [None]


# --- Ties, duplicates, row identity ---


def test_11_ties_are_decided_by_seq_whatever_the_order(join: Join) -> None:
    """Four rows that agree on entity and both times; always the greatest seq, in any file order."""
    world = log(*[("u", 5, 6, n) for n in (1, 2, 3, 4)], seq=[1, 2, 3, 4])

    for seed in range(20):
        order = random.Random(seed).sample(range(4), 4)
        assert values(join(labels(("u", 9)), world.take(pa.array(order)))) == [4]


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_11_ties_do_not_depend_on_threads(threads: int) -> None:
    """DuckDB decides ASOF ties at random with more than one thread; the frontier leaves it none to decide."""
    count = 3000
    world = log(*[(f"u{n % 7}", 5, 6, n) for n in range(count)], seq=list(range(count)))
    asked, known = open_labels(labels(*[(f"u{n}", 9) for n in range(7)]), ("user",)), open_log(world, ("user",))
    codes, group = shared_codes([asked.table, known.table], ("user",), ["labels", "log"])

    for _ in range(7):
        found = DuckdbEngine(threads=threads).rows_at(known, group, codes, asked.time)
        assert found.tolist() == [max(n for n in range(count) if n % 7 == user) for user in range(7)]


def test_11_without_seq_ties_are_ordered_by_content(join: Join) -> None:
    """The same answer and the same provenance in any order of rows."""
    world = log(("u", 5, 6, 3), ("u", 5, 6, 9), ("u", 5, 6, 4), ("u", 5, 7, 1))
    expected = join(labels(("u", 6.5), ("u", 7)), world)

    for seed in range(10):
        order = random.Random(seed).sample(range(4), 4)
        assert join(labels(("u", 6.5), ("u", 7)), world.take(pa.array(order))).equals(expected)
    assert values(expected) == [9, 1]


def test_11_two_rows_that_agree_on_everything_and_seq_are_refused(join: Join) -> None:
    """Which of them is meant cannot be told."""
    with pytest.raises(RowsError, match="again in row 1"):
        join(labels(("u", 9)), log(("u", 5, 6, 5), ("u", 5, 6, 6), seq=[1, 1]))


def test_13_identical_labels_stay_as_many_as_they_are(join: Join) -> None:
    """A hundred equal labels are a hundred rows, also where the log has several."""
    found = join(labels(*[("u", 9)] * 100), log(("u", 5, 6, 5), ("u", 5, 7, 6)))

    assert values(found) == [6] * 100


def test_14_labels_that_share_key_and_time_keep_their_own_id(join: Join) -> None:
    """Two questions, two rows."""
    assert values(join(labels(("u", 9), ("u", 9)), log(("u", 5, 6, 5))), "label_id") == [0, 1]


def test_15_labels_without_a_value_stay(join: Join) -> None:
    """Before the first value and beyond the ttl: null, with the reason."""
    found = join(labels(("u", 4), ("u", 9)), log(("u", 5, 6, 5)), replace(HOW, ttl=timedelta(days=1)))

    assert (values(found), reasons(found)) == ([None, None], ["never_seen", "expired"])


def test_17_a_filter_on_the_log_is_not_a_filter_on_the_answer(join: Join) -> None:
    """Joining only the rows that say something equals carrying forward, and both differ from dropping null answers."""
    world = log(("u", 5, 6, 5), ("u", 7, 8, None))

    filtered = join(labels(("u", 9)), world.filter(pc.is_valid(world.column("v"))))

    assert values(filtered) == values(join(labels(("u", 9)), world, replace(HOW, carry_forward=("v",)))) == [5]
    assert values(join(labels(("u", 9)), world)) == [None]


def test_18_only_equal_keys_join(join: Join) -> None:
    """A condition where a key column belongs is a column that is not there: databases give wrong nulls for an OR."""
    with pytest.raises(SchemaError, match="user OR v"):
        join(labels(("u", 9)), log(("u", 5, 5, 5)), replace(HOW, entity=("user OR v",)))


def test_19_equal_labels_with_a_ttl_are_two_rows(join: Join) -> None:
    """No fan-out, no lost match."""
    found = join(labels(("u", 6), ("u", 6)), log(("u", 5, 5, 5), ("u", 5, 5.5, 6)), replace(HOW, ttl=timedelta(days=1)))

    assert values(found) == [6, 6]


def test_20_labels_come_back_in_their_order(join: Join) -> None:
    """Ten thousand labels in random order of time and entity."""
    generator = random.Random(5)
    rows = [(f"u{generator.randrange(50)}", generator.randrange(2, 28)) for _ in range(10_000)]

    found = join(labels(*rows), log(*[(f"u{n}", 1 + n % 9, 1 + n % 9, n) for n in range(50)]))

    assert found.select(["label_id", "user", "label_time"]).equals(labels(*rows))


def test_21_keys_are_never_glued_together(join: Join) -> None:
    """("1", "12") and ("11", "2") are two entities."""
    world = log(("1", 5, 6, 5)).append_column("shop", pa.array(["12"]))
    question = labels(("11", 9), ("1", 9)).append_column("shop", pa.array(["2", "12"]))

    assert values(join(question, world, replace(HOW, entity=("user", "shop")))) == [None, 5]


def test_21_keys_of_two_columns_in_any_order_of_appearance(join: Join) -> None:
    """The second column's values first appear in falling order; every entity is still found."""
    world = log(("a", 5, 6, 1), ("b", 5, 6, 2), ("b", 5, 6, 3)).append_column("shop", pa.array(["2", "1", "2"]))
    question = labels(("b", 9), ("b", 9), ("a", 9)).append_column("shop", pa.array(["1", "2", "2"]))

    assert values(join(question, world, replace(HOW, entity=("user", "shop")))) == [2, 3, 1]


@pytest.mark.parametrize("buckets", [1, 3, 8, 16])
def test_22_buckets_of_entities_give_the_whole(join: Join, buckets: int) -> None:
    """Computed bucket by bucket and put back in place, the answer is that of one task."""
    generator = random.Random(11)
    world = log(*[(f"u{generator.randrange(40)}", n % 20 + 1, n % 20 + 1 + n % 3, n) for n in range(600)], seq=list(range(600)))
    asked = labels(*[(f"u{generator.randrange(45)}", generator.uniform(1, 25)) for _ in range(200)])

    def part(table: pa.Table, bucket: int) -> pa.Table:
        return table.filter(pa.array([int(user[1:]) % buckets == bucket for user in table.column("user").to_pylist()]))

    parts = [join(part(asked, bucket), part(world, bucket)) for bucket in range(buckets)]

    assert pa.concat_tables(parts).sort_by("label_id").equals(join(asked, world))


def test_24_an_empty_log_gives_typed_nulls(join: Join) -> None:
    """Integers stay integers when nothing matches; a log whose files hold no rows is a log."""
    found = join(labels(("u", 9)), log())

    assert found.schema.field("v").type == pa.int64()
    assert (values(found), reasons(found)) == ([None], ["never_seen"])


def test_24_no_labels_give_no_rows(join: Join) -> None:
    """With the columns of any other day."""
    world = log(("u", 5, 6, 5))

    assert join(labels(), world).schema == join(labels(("u", 9)), world).schema


# --- Keys and types ---


def test_25_null_equals_nothing(join: Join) -> None:
    """A label without an entity does not get the row without an entity."""
    found = join(labels((None, 9), ("u", 9)), log((None, 5, 6, 1), ("u", 5, 6, 5)))

    assert (values(found), reasons(found)) == ([None, 5], ["null_key", None])


def test_26_float_keys_are_refused(join: Join) -> None:
    """NaN and 2**53 + 1 have no business in a key."""
    with pytest.raises(SchemaError, match=r"labels\.user: found double"):
        join(labels(("u", 9)).set_column(1, "user", pa.array([1.0])), log(("u", 5, 6, 5)))


@pytest.mark.parametrize(
    ("label_key", "log_key"),
    [
        (pa.array(["01"]), pa.array([1], pa.int64())),
        (pa.array([1], pa.int32()), pa.array([1], pa.int64())),
        (pa.array([2**53 + 1], pa.int64()), pa.array([2**53], pa.uint64())),
    ],
)
def test_27_keys_of_different_types_are_refused_by_name(join: Join, label_key: pa.Array, log_key: pa.Array) -> None:
    """Nothing is converted silently; the error names both types."""
    with pytest.raises(SchemaError) as caught:
        join(labels(("u", 9)).set_column(1, "user", label_key), log(("u", 5, 6, 5)).set_column(0, "user", log_key))

    assert caught.value.found == f"{log_key.type} in log and {label_key.type} in labels"


def test_27_text_is_text_however_it_is_stored(join: Join) -> None:
    """Dictionary and large text are the same type to a reader."""
    question = labels(("u", 9)).set_column(1, "user", pa.array(["u"]).dictionary_encode())
    world = log(("u", 5, 6, 5)).set_column(0, "user", pa.array(["u"], pa.large_string()))

    assert values(join(question, world)) == [5]


def test_29_instants_in_different_zones_are_the_same_key_and_the_same_time(join: Join) -> None:
    """A key and a label time written in Tokyo match those written in UTC."""
    tokyo = pa.timestamp("us", tz="Asia/Tokyo")
    moment = pa.array([day(3)], INSTANT)
    question = labels(("u", 6)).set_column(1, "user", moment.cast(tokyo))
    question = question.set_column(2, "label_time", pa.array([day(6).astimezone(timezone(timedelta(hours=9)))], tokyo))

    found = join(question, log(("u", 5, 6, 5)).set_column(0, "user", moment))

    assert values(found) == [5]
    assert found.schema.field("label_time").type == tokyo


@pytest.mark.parametrize("times", [pa.array([1.7e9]), pa.array([1_700_000_000]), pa.array(["2024-01-06"]), pa.array([True])])
def test_30_only_timestamps_are_times(join: Join, times: pa.Array) -> None:
    """Numbers and text need a unit and a zone that nobody gave."""
    with pytest.raises(SchemaError, match="timestamp with a zone"):
        join(labels(("u", 9)).set_column(2, "label_time", times), log(("u", 5, 6, 5)))


@pytest.mark.parametrize("name", ["v", "log__reason", "log__event_time"])
def test_31_a_label_column_named_like_an_added_one_is_refused(join: Join, name: str) -> None:
    """Label columns are never renamed and never overwritten."""
    with pytest.raises(SchemaError, match=name):
        join(labels(("u", 9)).append_column(name, pa.array([1])), log(("u", 5, 6, 5)))


def test_31_a_value_column_that_is_not_there_is_refused(join: Join) -> None:
    """And a mark is not a value."""
    for name in ("w", "seq", "user"):
        with pytest.raises(SchemaError, match=name):
            join(labels(("u", 9)), log(("u", 5, 6, 5), seq=[1]), replace(HOW, values=(name,)))


def test_32_never_seen_and_not_yet_are_told_apart_in_hindsight_only(join: Join) -> None:
    """A stored reason must not change when a later row comes in; a report may look back."""
    world, asked = log(("u", 5, 6, 5)), labels(("u", 4), ("w", 9))

    assert reasons(join(asked, world)) == ["never_seen", "never_seen"]
    assert reasons(join(asked, world, replace(HOW, hindsight=True))) == ["not_yet_arrived", "never_seen"]


# --- Nulls, staleness, tombstones, retractions ---


def test_34_a_null_that_is_newest_is_the_answer(join: Join) -> None:
    """The older value is not used in its place, also with a single question."""
    found = join(labels(("u", 9)), log(("u", 5, 6, 5), ("u", 7, 8, None)))

    assert (values(found), reasons(found)) == ([None], ["null_value"])
    assert values(found, "log__event_time") == [day(7)]


def test_35_partial_rows_carried_forward_per_column(join: Join) -> None:
    """The first row says v, the second only w: carried forward both are known, otherwise v is null."""
    world = log(("u", 5, 6, 5), ("u", 7, 8, None), w=["a", None])
    world = world.set_column(4, "w", pa.array([None, "b"]))
    both = replace(HOW, values=("v", "w"))

    found = join(labels(("u", 9)), world, replace(both, carry_forward=("v", "w")))

    assert (values(found, "v"), values(found, "w")) == ([5], ["b"])
    assert (values(found, "v__event_time"), values(found, "w__event_time")) == ([day(5)], [day(7)])
    plain = join(labels(("u", 9)), world, both)
    assert (values(plain, "v"), values(plain, "w")) == ([None], ["b"])


def test_36_exactly_as_old_as_the_ttl_is_kept(join: Join) -> None:
    """A microsecond older has expired; no ttl keeps everything, a ttl of zero only what happens now."""
    world = log(("u", 5, 5, 5))
    after = labels(("u", 6)).set_column(2, "label_time", pa.array([day(6) + timedelta(microseconds=1)], INSTANT))
    one_day = replace(HOW, ttl=timedelta(days=1))

    assert values(join(labels(("u", 6)), world, one_day)) == [5]
    assert (values(join(after, world, one_day)), reasons(join(after, world, one_day))) == ([None], ["expired"])
    assert values(join(after, world)) == [5]
    zero = replace(HOW, ttl=timedelta(0))
    assert (values(join(labels(("u", 5)), world, zero)), values(join(labels(("u", 6)), world, zero))) == ([5], [None])


def test_37_the_ttl_is_about_the_event_and_finds_nothing_older(join: Join) -> None:
    """An old event that arrived yesterday has expired; the older event that arrived today does not step in."""
    world = log(("u", 5, 8, 5), ("u", 4, 8.9, 4))

    found = join(labels(("u", 9)), world, replace(HOW, ttl=timedelta(days=2)))

    assert (values(found), reasons(found), values(found, "log__event_time")) == ([None], ["expired"], [day(5)])


def test_a_tombstone_ends_the_value_and_says_so(join: Join) -> None:
    """From its event time on there is none; before it had arrived the old value holds, and a later value revives."""
    world = log(("u", 5, 5, 5), ("u", 7, 8, None), ("u", 10, 10, 9), tombstone=[False, True, None])

    found = join(labels(("u", 7.5), ("u", 8), ("u", 10)), world)

    assert (values(found), reasons(found)) == ([5, None, 9], [None, "tombstoned", None])


def test_a_tombstone_does_not_expire(join: Join) -> None:
    """It says "from here on", so its age does not matter."""
    found = join(labels(("u", 9)), log(("u", 5, 5, None), tombstone=[True]), replace(HOW, ttl=timedelta(days=1)))

    assert reasons(found) == ["tombstoned"]


def test_a_retraction_lets_the_earlier_value_resurface(join: Join) -> None:
    """Day 7 is withdrawn on day 9: until then it holds, after that day 5 does again, exactly at every time."""
    world = log(("u", 5, 5, 5), ("u", 7, 7, 7), ("u", 7, 9, None), retraction=[False, False, True])

    found = join(labels(("u", 6), ("u", 8.99), ("u", 9), ("u", 20)), world)

    assert (values(found), reasons(found)) == ([5, 7, 5, 5], [None] * 4)


def test_a_retraction_of_one_version_leaves_the_others(join: Join) -> None:
    """The second version of day 7 was wrong; the first one counts again."""
    world = log(
        ("u", 7, 7, 70), ("u", 7, 8, 71), ("u", 7, 9, None), seq=[1, 2, 3], retraction=[False, False, True],
    ).append_column("retracts", pa.array([None, None, 2], pa.int64()))  # fmt: skip

    assert values(join(labels(("u", 8.5), ("u", 9)), world)) == [71, 70]


def test_of_rows_that_arrive_together_seq_says_what_a_retraction_withdraws(join: Join) -> None:
    """Said and then withdrawn in one instant: nothing is left. Withdrawn and then said: it holds."""
    said_first = log(("u", 7, 7, 7), ("u", 7, 7, None), seq=[1, 2], retraction=[False, True])
    said_last = log(("u", 7, 7, 7), ("u", 7, 7, None), seq=[2, 1], retraction=[False, True])

    assert reasons(join(labels(("u", 7), ("u", 6.9)), said_first)) == ["retracted", "never_seen"]
    assert values(join(labels(("u", 7)), said_last)) == [7]


def test_a_retraction_cannot_be_retracted(join: Join) -> None:
    """What was withdrawn stays so until it is said again, whatever seq a second retraction names."""
    world = log(
        ("u", 5, 5, 5), ("u", 7, 7, 7), ("u", 7, 8, None), ("u", 7, 9, None), ("u", 7, 10, 8),
        seq=[1, 2, 3, 4, 5], retraction=[False, False, True, True, False],
    ).append_column("retracts", pa.array([None, None, 2, 3, None], pa.int64()))  # fmt: skip

    assert values(join(labels(("u", 7), ("u", 8), ("u", 9), ("u", 10)), world)) == [7, 5, 5, 8]


def test_everything_retracted_is_not_never_seen(join: Join) -> None:
    """There was a value, and it was withdrawn; what is said again later counts again."""
    world = log(("u", 7, 7, 7), ("u", 7, 9, None), ("u", 7, 11, 8), retraction=[False, True, False])

    found = join(labels(("u", 8), ("u", 10), ("u", 11)), world)

    assert (values(found), reasons(found)) == ([7, None, 8], [None, "retracted", None])


# --- Sorting and time values ---


def test_40_sorted_per_group_or_not_at_all(join: Join) -> None:
    """Labels and log in falling order of time, entities interleaved: nobody has to sort anything first."""
    world = log(("v", 9, 9, 4), ("u", 8, 8, 3), ("v", 3, 3, 2), ("u", 2, 2, 1))

    assert values(join(labels(("u", 9), ("v", 9), ("u", 7), ("v", 2)), world)) == [3, 4, 1, None]


def test_39_shuffling_log_and_labels_changes_no_answer(join: Join) -> None:
    """Neither has to be sorted, and nothing is silently wrong when it is not."""
    world = log(*[(f"u{n % 5}", 1 + n % 17, 1 + n % 17 + n % 4, n) for n in range(200)], seq=list(range(200)))
    asked = labels(*[(f"u{n % 6}", 1 + n * 7 % 23) for n in range(80)])
    expected = join(asked, world)

    for seed in range(5):
        order = np.random.default_rng(seed)
        shuffled = join(asked.take(pa.array(order.permutation(80))), world.take(pa.array(order.permutation(200))))
        assert shuffled.sort_by("label_id").equals(expected)


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_41_a_sentinel_event_time_is_refused(join: Join, unit: str) -> None:
    """9999-12-31 for "open" becomes another century in a reader that counts nanoseconds."""
    far = pa.array([datetime(9999, 12, 31, tzinfo=UTC)], INSTANT).cast(pa.timestamp(unit, tz="UTC"))
    with pytest.raises(RowsError, match="1678 to 2261 in row 0"):
        join(labels(("u", 9)), log(("u", 5, 6, 5)).set_column(1, "event_time", far))


def test_41_the_greatest_second_does_not_wrap_around(join: Join) -> None:
    """Seconds far beyond the calendar are refused, not multiplied into range."""
    wild = pa.array([2**63 - 1], pa.int64()).cast(pa.timestamp("s", tz="UTC"))
    with pytest.raises(RowsError, match="1678 to 2261"):
        join(labels(("u", 9)), log(("u", 5, 6, 5)).set_column(2, "available_time", wild))


@pytest.mark.parametrize("column", ["event_time", "available_time"])
def test_44_a_time_without_a_zone_is_refused(join: Join, column: str) -> None:
    """It names no instant; the answer would depend on the session."""
    world = log(("u", 5, 6, 5))
    naive = world.column(column).cast(pa.timestamp("us"))
    with pytest.raises(SchemaError) as caught:
        join(labels(("u", 9)), world.set_column(world.schema.get_field_index(column), column, naive))

    assert (caught.value.subject, caught.value.found) == (f"column {column}", "timestamp[us]")


def test_integers_beyond_a_float_stay_exact(join: Join) -> None:
    """2**53 + 1, also beside a miss."""
    found = join(labels(("u", 9), ("w", 9)), log(("u", 5, 6, 2**53 + 1)))

    assert (values(found), found.schema.field("v").type) == ([2**53 + 1, None], pa.int64())


def test_every_value_says_where_it_comes_from(join: Join) -> None:
    """Event time, arrival and seq of the row it is."""
    found = join(labels(("u", 9)), log(("u", 5, 6, 5), seq=[17]))

    assert found.select(["log__event_time", "log__available_time", "log__seq"]).to_pylist() == [
        {"log__event_time": day(5), "log__available_time": day(6), "log__seq": 17}
    ]
