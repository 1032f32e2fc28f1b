"""Several datasets as one: shares, order, and each dataset's own epochs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from headrace.lake.local import LocalStore
from headrace.loader import Loader, LoaderOptions, Place, open_mixture
from headrace.loader.errors import ColumnsRefused
from headrace.loader.mixture import BLOCK, Mixture, quotas
from headrace.spec.errors import DeclarationError
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.headrace.loader.releases import check_resume, numbers, release


@pytest.fixture
def options(tmp_path: Path) -> LoaderOptions:
    return LoaderOptions(seed=1, batch_size=5, window_bytes=5_000, cache_folder=tmp_path / "cache", prefetch_bytes=0)


def open_ranks(lake: LocalStore, options: LoaderOptions, world: int, samples: int = 400) -> list[Loader]:
    return [
        open_mixture(lake.uri, {"big": 3, "small": 1}, samples=samples, options=options, place=Place(rank=rank, world_size=world))
        for rank in range(world)
    ]


@pytest.fixture
def datasets(lake: LocalStore) -> None:
    release(lake, [100, 100, 100], name="big")
    release(lake, [20, 13], name="small", first=1000)


@pytest.mark.parametrize(
    ("weights", "slots"),
    [([1.0], [1000]), ([0.7, 0.3], [700, 300]), ([1, 1, 1], [334, 333, 333]), ([1, 2, 997], [1, 2, 997])],
)
def test_slots_are_dealt_by_largest_remainders(weights: list[float], slots: list[int]) -> None:
    """A thousand in all."""
    assert quotas(weights).tolist() == slots


@pytest.mark.parametrize("weights", [[], [1, 0], [1, -1], [1, float("nan")], [1, 1e-6]])
def test_weights_that_give_a_dataset_nothing_are_refused(weights: list[float]) -> None:
    """Silently never reading a dataset is worse than an error."""
    with pytest.raises(DeclarationError):
        quotas(weights)


@settings(max_examples=30, deadline=None)
@given(
    weights=st.lists(st.integers(1, 50), min_size=1, max_size=4),
    seed=st.integers(0, 2**63 - 1),
    places=st.lists(st.integers(0, 5 * BLOCK), min_size=1, max_size=60),
)
def test_any_place_is_dealt_as_if_walked_to(weights: list[int], seed: int, places: list[int]) -> None:
    """The oracle deals from the start and counts; shares are exact over every block."""
    stream, within = Mixture("f", seed, weights).deal(np.arange(5 * BLOCK + 1))
    counted = np.zeros(len(weights), dtype=int)
    for one, place in zip(stream, within, strict=True):
        assert counted[one] == place
        counted[one] += 1
    assert np.bincount(stream[:BLOCK], minlength=len(weights)).tolist() == quotas(weights).tolist()

    asked, at = Mixture("f", seed, weights).deal(np.array(places))

    assert asked.tolist() == stream[places].tolist()
    assert at.tolist() == within[places].tolist()
    assert (
        Mixture("f", seed, weights).counts_before(places[0]).tolist()
        == np.bincount(stream[: places[0]], minlength=len(weights)).tolist()
    )


def test_each_dataset_runs_through_its_own_epochs(lake: LocalStore, options: LoaderOptions, datasets: None) -> None:
    """Over 1,000 samples the small one, at a quarter, is read seven times whole and begun again; the big one two and a half times."""
    seen = numbers(open_ranks(lake, options, 1, samples=1000)[0])

    big, small = [n for n in seen if n < 1000], [n for n in seen if n >= 1000]
    assert (len(big), len(small)) == (750, 250)
    assert [sorted(small[n : n + 33]) for n in range(0, 231, 33)] == [list(range(1000, 1033))] * 7
    assert [sorted(big[n : n + 300]) for n in (0, 300)] == [list(range(300))] * 2
    assert big[:300] != big[300:600]


@pytest.mark.parametrize(("before", "after", "steps"), [(1, 3, 7), (3, 2, 11), (2, 2, 0), (8, 1, 10)])
@pytest.mark.usefixtures("datasets")
def test_a_mixture_resumes_like_one_dataset(
    lake: LocalStore, options: LoaderOptions, before: int, after: int, steps: int
) -> None:
    """The same five numbers, the same law."""
    order = numbers(open_ranks(lake, options, 1)[0])
    check_resume(lambda world: open_ranks(lake, options, world), order, before=before, after=after, steps=steps)


def test_epochs_of_a_mixture_go_on_where_the_last_one_stopped(lake: LocalStore, options: LoaderOptions, datasets: None) -> None:
    """Three epochs of 200 samples, a quarter of them small: the first 300 big ones are all of them."""
    loader = open_ranks(lake, replace(options, prefetch_bytes=10**7), 1, samples=200)[0]

    big = [n for _ in range(3) for n in numbers(loader) if n < 1000]

    assert sorted(big[:300]) == list(range(300))


def test_datasets_that_disagree_about_a_column_are_refused(lake: LocalStore, options: LoaderOptions) -> None:
    """With the columns they share it works."""
    release(lake, [3], name="one", columns={"x": lambda n: n})
    release(lake, [3], name="two", columns={"x": lambda n: f"{n}"})

    with pytest.raises(ColumnsRefused, match="mixture column x: found string in two; expected int64, as in one"):
        open_mixture(lake.uri, {"one": 1, "two": 1}, options=options)
    assert open_mixture(lake.uri, {"one": 1, "two": 1}, options=replace(options, columns=("n",))).length == 6
