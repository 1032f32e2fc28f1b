"""The split is strictly by time, and purged by when labels were known."""

from __future__ import annotations

from datetime import date, timedelta

import pyarrow as pa
import pytest
from headrace.features.errors import RowsError, SchemaError
from headrace.features.split import Part, split_column, split_counts, split_instant
from headrace.spec.cutoff import Cutoff
from headrace.spec.errors import DeclarationError
from headrace.spec.training_set import TimeHoldout

from tests.headrace.features.build import INSTANT, at, labels, training_set, view


def test_the_holdout_begins_at_its_first_local_instant() -> None:
    """Midnight in New York, in UTC."""
    assert split_instant(training_set()) == at("2013-01-05T05:00")


def test_labels_known_only_after_the_cut_are_purged() -> None:
    """A label whose outcome lies in the holdout's time is in neither part; at the cut itself it still trains."""
    times = ("2013-01-05T01:59", "2013-01-05T02:00", "2013-01-05T02:01", "2013-01-05T05:00")

    found = split_column(training_set(), labels(*[("AA", time) for time in times]))

    assert found.to_pylist() == ["train", "train", "purged", "holdout"]


def test_a_label_with_a_three_day_horizon_is_purged_the_day_before() -> None:
    """Asked at S minus one day, known three days later."""
    found = split_column(training_set(), labels(("AA", "2013-01-04T05:00"), known_after=timedelta(days=3)))

    assert found.to_pylist() == ["purged"]


def test_the_embargo_keeps_a_gap_before_the_holdout() -> None:
    """Known in the last six hours before the cut: embargoed, exactly six hours before: trains."""
    embargoed = training_set(holdout=TimeHoldout(start=date(2013, 1, 5), embargo=timedelta(hours=6)))

    found = split_column(embargoed, labels(("AA", "2013-01-04T20:00"), ("AA", "2013-01-04T20:00:00.000001")))

    assert found.to_pylist() == ["train", "embargoed"]


def test_every_part_is_counted_also_when_empty() -> None:
    """A missing part would read as a part nobody looked for."""
    found = split_counts(split_column(training_set(), labels(("AA", "2013-01-05T05:00"))))

    assert found == {Part.TRAIN: 0, Part.HOLDOUT: 1, Part.PURGED: 0, Part.EMBARGOED: 0}


def test_no_training_label_is_known_after_the_first_held_out_one_is_asked() -> None:
    """The law of the split, over labels an hour apart with growing horizons."""
    table = labels(*[("AA", f"2013-01-0{day}T{hour:02}:00") for day in (3, 4, 5, 6) for hour in range(24)])
    known = pa.array([t + timedelta(hours=n % 30) for n, t in enumerate(table.column("label_time").to_pylist())], INSTANT)
    table = table.set_column(3, "label_known_time", known)

    parts = split_column(training_set(), table).to_pylist()
    trained = [k for k, part in zip(known.to_pylist(), parts, strict=True) if part == "train"]
    held_out = [t for t, part in zip(table.column("label_time").to_pylist(), parts, strict=True) if part == "holdout"]

    assert max(trained) <= split_instant(training_set()) <= min(held_out)
    assert {"train", "holdout", "purged"} == set(parts)


def test_a_label_not_known_to_be_known_is_refused() -> None:
    """It could not be purged."""
    table = labels(("AA", "2013-01-04T05:00")).set_column(3, "label_known_time", pa.array([None], INSTANT))
    with pytest.raises(RowsError) as caught:
        split_column(training_set(), table)

    assert (caught.value.subject, caught.value.found) == ("column label_known_time", "null in row 0")
    with pytest.raises(SchemaError):
        split_column(training_set(), table.drop_columns("label_known_time"))


@pytest.mark.parametrize("holdout", ["random", 0.2, None])
def test_a_random_split_is_refused(holdout: object) -> None:
    """It cannot show leakage, and says so."""
    with pytest.raises(DeclarationError, match="random split"):
        training_set(holdout=holdout)


def test_views_in_several_zones_need_a_zone_for_the_holdout() -> None:
    """Otherwise nobody knows when the start day starts."""
    utc = view(name="utc_delays", cutoff=Cutoff(timezone="UTC"), windows=(3,))
    with pytest.raises(DeclarationError, match="several"):
        training_set(view(), utc)

    there = training_set(view(), utc, holdout=TimeHoldout(start=date(2013, 1, 5), timezone="UTC"))
    assert split_instant(there) == at("2013-01-05T00:00")
