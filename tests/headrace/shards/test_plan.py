"""Where a partition is cut: near-full shards, and a change stays where it is."""

from __future__ import annotations

import random
from datetime import date

import pytest
from headrace.shards.plan import Measured, cut_objects, group_digest, plan_shards, rank
from headrace.sources.inventory import Inventory, SourceObject
from headrace.spec.dataset import MB, Dataset, Source
from headrace.spec.formats import RawBytes
from hypothesis import given, settings
from hypothesis import strategies as st

TARGET = 1_000_000


def objects(*sizes: int) -> list[SourceObject]:
    return [SourceObject(key=f"in/{n:06d}", size_bytes=size, etag=f"e{n}") for n, size in enumerate(sizes)]


def cut_by_the_book(listed: list[SourceObject]) -> list[tuple[int, int]]:
    """The rule, the slow way: from each first object, try every end and take the one the rule names."""
    cuts, first = [], 0
    while first < len(listed):
        sizes = [one.size_bytes for one in listed[first:]]
        total, end = 0, len(listed)
        near: list[int] = []
        for count, size in enumerate(sizes):
            if count > 0 and total >= 0.92 * TARGET:
                near.append(first + count)
            if count > 0 and total + size > 1.08 * TARGET:
                end = min(near, key=lambda position: rank(listed[position].key)) if near else first + count
                break
            total += size
        cuts.append((first, end))
        first = end
    return cuts


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(1, 2_000_000) | st.integers(1, 60_000), max_size=120))
def test_cuts_follow_the_rule_and_cover_everything(sizes: list[int]) -> None:
    """Equal to the slow way; ranges meet, none is empty, every object is in one."""
    listed = objects(*sizes)

    cuts = cut_objects(listed, TARGET)

    assert cuts == cut_by_the_book(listed)
    assert [n for first, end in cuts for n in range(first, end)] == list(range(len(sizes)))


def test_small_objects_make_near_full_groups() -> None:
    """All but the last are within 8 % of the target."""
    dice = random.Random(1)
    listed = objects(*(dice.randint(1_000, 40_000) for _ in range(5_000)))

    groups = [sum(one.size_bytes for one in listed[first:end]) for first, end in cut_objects(listed, TARGET)]

    assert len(groups) > 50
    assert all(0.92 * TARGET <= size <= 1.08 * TARGET for size in groups[:-1])


def test_an_oversized_object_stands_alone() -> None:
    """Its neighbours are not written with it."""
    assert cut_objects(objects(10, 5_000_000, 10), TARGET) == [(0, 1), (1, 2), (2, 3)]


def changed_groups(before: list[SourceObject], after: list[SourceObject]) -> int:
    """Groups of `after` that `before` does not have."""
    known = {group_digest("w", before[first:end]) for first, end in cut_objects(before, TARGET)}
    return sum(group_digest("w", after[first:end]) not in known for first, end in cut_objects(after, TARGET))


def test_an_object_changed_in_place_is_one_group() -> None:
    """Whatever the object, when its size stays."""
    listed = objects(*([20_000] * 2_000))
    for position in range(0, 2_000, 97):
        after = list(listed)
        after[position] = SourceObject(key=listed[position].key, size_bytes=20_000, etag="new")

        assert changed_groups(listed, after) == 1


@pytest.mark.parametrize("what", ["grown", "new", "gone"])
def test_an_object_that_shifts_the_cuts_moves_few_groups(what: str) -> None:
    """About one: the cuts are found again by the keys. With cuts by position every later group would move."""
    dice = random.Random(7)
    listed = objects(*(dice.randint(1_000, 3_000) for _ in range(20_000)))
    moved = []
    for position in range(5, 20_000, 1_701):
        after = list(listed)
        if what == "grown":
            after[position] = SourceObject(key=listed[position].key, size_bytes=2 * listed[position].size_bytes, etag="new")
        elif what == "new":
            after.insert(position, SourceObject(key=listed[position - 1].key + "x", size_bytes=2_000, etag="new"))
        else:
            del after[position]
        moved.append(changed_groups(listed, after))

    assert sorted(moved)[len(moved) // 2] == 1
    assert sum(moved) / len(moved) < 2
    assert len(cut_objects(listed, TARGET)) in range(38, 43)


def test_density_makes_groups_of_text_larger() -> None:
    """Ten source bytes a written byte: ten times the objects a shard."""
    dataset = Dataset(
        name="d",
        source=Source(prefix="in/", format=RawBytes(compress=True)),
        timezone="UTC",
        start=date(2013, 1, 1),
        shard_bytes=MB,
        row_group_bytes=MB,
    )
    inventory = Inventory(partition="all", objects=tuple(objects(*([10_000] * 5_000))), skipped=())

    plain = plan_shards(dataset, inventory, Measured(schema=""))
    packed = plan_shards(dataset, inventory, Measured(schema="", density=0.1))

    assert (len(plain.groups) in range(49, 53), len(packed.groups)) == (True, 5)


def test_the_same_objects_have_the_same_group_whatever_surrounds_them() -> None:
    """What makes an unchanged group free: its digest is of its own objects and the rules."""
    one = objects(1, 2, 3)

    assert group_digest("w", one[1:]) == group_digest("w", objects(9, 2, 3)[1:])
    assert group_digest("w", one) != group_digest("v", one)
