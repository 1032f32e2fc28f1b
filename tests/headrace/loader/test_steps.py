"""Who takes which positions."""

from __future__ import annotations

import pytest
from headrace.loader.place import Place
from headrace.loader.steps import Steps
from headrace.spec.errors import DeclarationError
from hypothesis import given, settings
from hypothesis import strategies as st


def steps(length: int, start: int = 0, *, batch: int = 2, world: int = 1, rank: int = 0, end: str = "exact") -> Steps:
    return Steps(length=length, start=start, batch_size=batch, place=Place(rank=rank, world_size=world), end=end)


def positions(made: Steps) -> list[list[int]]:
    return [made.step(n).positions.tolist() for n in range(made.count)]


def test_a_rank_takes_every_wth_position() -> None:
    """Rank 1 of 3, two a step, 14 samples."""
    assert positions(steps(14, world=3, rank=1)) == [[1, 4], [7, 10], [13]]


def test_taken_up_in_the_middle_the_ranks_still_share_consecutive_positions() -> None:
    """From position 5 on, two ranks: the global batch is 5 to 8."""
    assert [positions(steps(11, 5, world=2, rank=rank)) for rank in (0, 1)] == [[[6, 8], [10]], [[5, 7], [9]]]


def test_pad_fills_the_last_batch_and_says_so() -> None:
    """Stand-ins repeat from the end of the epoch backwards."""
    made = steps(5, world=2, rank=1, end="pad")

    assert positions(made) == [[1, 3], [4, 2]]
    assert [made.step(n).mask.tolist() for n in range(2)] == [[True, True], [False, False]]


def test_drop_leaves_the_unfilled_batch_out() -> None:
    """Seven samples, global batches of four."""
    assert [positions(steps(7, world=2, rank=rank, end="drop")) for rank in (0, 1)] == [[[0, 2]], [[1, 3]]]


@settings(max_examples=150, deadline=None)
@given(
    length=st.integers(1, 80),
    start=st.integers(0, 80),
    batch=st.integers(1, 5),
    world=st.integers(1, 8),
    workers=st.integers(1, 4),
    end=st.sampled_from(["exact", "pad", "drop"]),
)
def test_ranks_and_workers_partition_the_rest_of_an_epoch(  # noqa: PLR0917 - hypothesis passes them by name
    length: int, start: int, batch: int, world: int, workers: int, end: str
) -> None:
    """Each position once over all ranks and workers; global batches are consecutive; the expected count is the real one."""
    start = min(start, length)
    seen: list[int] = []
    for rank in range(world):
        for worker in range(workers):
            place = Place(rank=rank, world_size=world, worker=worker, workers=workers)
            made = Steps(length=length, start=start, batch_size=batch, place=place, end=end)
            given = [made.step(n) for n in made.own]
            real = [p for step in given for p, kept in zip(step.positions.tolist(), step.mask, strict=True) if kept]
            assert made.expected_samples == len(real)
            assert all(step.start <= p < step.stop for step in given for p in step.positions[step.mask])
            assert end == "exact" or all(len(step.positions) == batch for step in given)
            seen += real
    stop = length if end != "drop" else start + (length - start) // (batch * world) * batch * world
    assert sorted(seen) == list(range(start, stop))


def test_a_place_that_cannot_be_is_refused() -> None:
    """Rank 2 of 2 would read nothing and lose a share."""
    with pytest.raises(DeclarationError, match="0 to 1"):
        Place(rank=2, world_size=2)
