"""The loader's law over a matrix, and each way it is used."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from headrace.lake.local import LocalStore
from headrace.loader import LoaderOptions, Place, open_loader
from headrace.loader.errors import ColumnsRefused, IteratorStale, NothingToRead, StateRefused
from headrace.manifests.errors import NotPublished
from headrace.manifests.promote import promote
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.headrace.loader.releases import (
    RUN,
    WithWorkers,
    check_resume,
    global_order,
    loaders,
    numbers,
    partition,
    release,
    run_steps,
)

WORLDS = (1, 2, 3, 7, 8)
SIZES = [13, 1, 7, 0, 22, 5, 17]  # 65 samples


@pytest.fixture
def options(tmp_path: Path) -> LoaderOptions:
    return LoaderOptions(seed=5, batch_size=2, window_bytes=9_000, cache_folder=tmp_path / "cache", prefetch_bytes=0)


@pytest.fixture
def order(lake: LocalStore, options: LoaderOptions) -> list[int]:
    """The order of epoch 0, as one rank reads it."""
    release(lake, SIZES)
    return numbers(open_loader(lake.uri, "numbers", options=options))


def test_the_order_is_a_shuffle_over_windows(order: list[int]) -> None:
    """Everything once, not as it lies, and not only within shards."""
    assert sorted(order) == list(range(65))
    assert order != list(range(65))
    first_shard = [n for n in order if n < 13]
    assert first_shard != sorted(first_shard)


@pytest.mark.parametrize("world", WORLDS)
def test_the_order_is_the_same_for_every_world_size(
    lake: LocalStore, options: LoaderOptions, order: list[int], world: int
) -> None:
    """Law 5: what the ranks saw, put back together."""
    assert global_order([list(loader) for loader in loaders(lake, world, options)]) == order


@pytest.mark.parametrize("prefetch_bytes", [0, 1, 10_000_000])
def test_the_order_is_the_same_for_every_prefetch_depth(
    lake: LocalStore, options: LoaderOptions, order: list[int], prefetch_bytes: int
) -> None:
    """Threads move no sample."""
    assert numbers(open_loader(lake.uri, "numbers", options=replace(options, prefetch_bytes=prefetch_bytes))) == order


@pytest.mark.parametrize("before", WORLDS)
@pytest.mark.parametrize("after", WORLDS)
def test_stopped_anywhere_and_resumed_at_any_world_size(
    lake: LocalStore, options: LoaderOptions, order: list[int], before: int, after: int
) -> None:
    """Every step is tried as the last one; nothing is lost or repeated (C.1 1, 4, 5, 6)."""
    steps = -(-65 // (2 * before))
    for stop in range(min(steps, 12) + 1):
        check_resume(lambda world: loaders(lake, world, options), order, before=before, after=after, steps=stop)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    before=st.tuples(st.sampled_from(WORLDS), st.sampled_from([0, 1, 3])),
    after=st.tuples(st.sampled_from(WORLDS), st.sampled_from([0, 1, 3])),
    steps=st.integers(0, 33),
    epoch=st.integers(0, 2),
)
def test_any_world_and_workers_resume_at_any_other(  # noqa: PLR0917 - hypothesis passes them by name
    lake: LocalStore, tmp_path: Path, before: tuple[int, int], after: tuple[int, int], steps: int, epoch: int
) -> None:
    """World {1, 2, 3, 7, 8} x workers {0, 1, 3}, stopped anywhere in epochs 0 to 2, resumed at any other pair (C.1 5, 6)."""
    if not (tmp_path / "lake" / "numbers").exists():
        release(lake, SIZES)
    options = LoaderOptions(seed=5, batch_size=2, window_bytes=9_000, cache_folder=tmp_path / "cache", prefetch_bytes=0)
    [whole] = loaders(lake, 1, options)
    whole.set_epoch(epoch)

    def open_ranks(scale: tuple[int, int]) -> list[WithWorkers]:
        return [WithWorkers(loader, scale[1]) for loader in loaders(lake, scale[0], options)]

    stop = min(steps, -(-65 // (2 * before[0])))
    check_resume(open_ranks, numbers(whole), before=before, after=after, steps=stop, epoch=epoch)


def test_later_epochs_have_their_own_order_and_start_clean(lake: LocalStore, options: LoaderOptions, order: list[int]) -> None:
    """Stopped in epoch 1, resumed at another world size; epochs 1 and 2 are whole, and not epoch 0 again (C.1 2, 5)."""
    ranks = loaders(lake, 2, options)
    epochs = [global_order([list(loader) for loader in ranks]) for _ in range(3)]
    assert [sorted(epoch) for epoch in epochs] == [sorted(order)] * 3
    assert len({tuple(epoch) for epoch in epochs}) == 3

    stopped = loaders(lake, 2, options)
    for loader in stopped:
        loader.set_epoch(1)
    first = run_steps(stopped, 5)
    resumed = loaders(lake, 3, options)
    for loader in resumed:
        loader.load_state_dict(stopped[0].state_dict())
    assert global_order([*first, *(list(loader) for loader in resumed)]) == epochs[1]
    assert global_order([list(loader) for loader in resumed]) == epochs[2]


def test_a_stop_at_the_very_end_of_an_epoch_goes_on_with_the_next(
    lake: LocalStore, options: LoaderOptions, order: list[int]
) -> None:
    """C.1 2: the state after the last batch is the start of epoch 1."""
    loader = open_loader(lake.uri, "numbers", options=options)
    run_steps([loader], 33)

    assert loader.state_dict() | {"epoch": 1, "position": 0} == loader.state_dict()
    fresh = open_loader(lake.uri, "numbers", options=options)
    fresh.load_state_dict(loader.state_dict())
    assert sorted(numbers(fresh)) == sorted(order)


def test_a_state_loads_into_a_fresh_loader_whatever_its_seed(lake: LocalStore, options: LoaderOptions, order: list[int]) -> None:
    """C.1 9: the seed comes from the state, so the order goes on."""
    stopped = open_loader(lake.uri, "numbers", options=options)
    [first] = run_steps([stopped], 10)
    fresh = open_loader(lake.uri, "numbers", options=replace(options, seed=99))
    fresh.load_state_dict(stopped.state_dict())

    assert numbers([*first, *fresh]) == order


def test_a_state_of_another_order_is_refused_and_changes_nothing(
    lake: LocalStore, options: LoaderOptions, order: list[int]
) -> None:
    """C.1 7: another window, end, split or release gives positions another meaning."""
    loader = open_loader(lake.uri, "numbers", options=options)
    for other in (replace(options, window_bytes=10), replace(options, end="pad"), replace(options, shuffle=False)):
        with pytest.raises(StateRefused):
            loader.load_state_dict(open_loader(lake.uri, "numbers", options=other).state_dict())
    release(lake, [*SIZES, 3])
    with pytest.raises(StateRefused, match="release 2"):
        open_loader(lake.uri, "numbers", options=options).load_state_dict(loader.state_dict())

    assert numbers(loader) == order


def test_a_loader_keeps_its_release_when_another_is_published(lake: LocalStore, options: LoaderOptions) -> None:
    """It pins the digest, and the digest opens it again."""
    digest = release(lake, SIZES)
    loader = open_loader(lake.uri, "numbers", options=options)
    release(lake, [*SIZES, 3])

    again = open_loader(lake.uri, "numbers", version=digest, options=options)

    assert (loader.length, again.length, open_loader(lake.uri, "numbers", options=options).length) == (65, 65, 68)
    assert again.data_version == loader.data_version
    assert loader.data_version["releases"] == {"numbers": digest}
    with pytest.raises(NotPublished, match="none with digest"):
        open_loader(lake.uri, "numbers", version="0" * 64, options=options)


def test_a_tag_opens_the_release_it_was_copied_from(lake: LocalStore, options: LoaderOptions) -> None:
    """`LATEST` goes on, the tag stays; one that nobody made is named."""
    release(lake, SIZES)
    lake.put_new("numbers/golden", lake.get("numbers/LATEST").data)
    release(lake, [*SIZES, 3])

    assert open_loader(lake.uri, "numbers", version="golden", options=options).length == 65
    with pytest.raises(NotPublished):
        open_loader(lake.uri, "numbers", version="silver", options=options)


@pytest.mark.parametrize("world", [1, 3, 8])
def test_padded_ranks_have_equal_full_batches(lake: LocalStore, options: LoaderOptions, world: int) -> None:
    """Every rank has as many steps; repeats are masked, real samples come once."""
    release(lake, SIZES)
    shares = [list(loader) for loader in loaders(lake, world, replace(options, batch_size=4, end="pad"))]

    assert {len(share) for share in shares} == {-(-65 // (4 * world))}
    assert {len(batch) for share in shares for batch in share} == {4}
    assert sorted(numbers(batch for share in shares for batch in share)) == list(range(65))


def test_dropping_leaves_out_less_than_a_global_batch(lake: LocalStore, options: LoaderOptions) -> None:
    """65 samples in global batches of 12: 60 are read, once each; fewer samples than one batch is an error, not an empty epoch."""
    release(lake, SIZES)
    seen = [n for loader in loaders(lake, 3, replace(options, batch_size=4, end="drop")) for n in numbers(loader)]

    assert (len(seen), len(set(seen))) == (60, 60)
    with pytest.raises(NothingToRead, match="at least 99"):
        loaders(lake, 3, replace(options, batch_size=33, end="drop"))


def test_breaking_off_and_iterating_again_goes_on(lake: LocalStore, options: LoaderOptions, order: list[int]) -> None:
    """The cursor is the loader's, not the iterator's; an old iterator is refused."""
    loader = open_loader(lake.uri, "numbers", options=options)
    iterator = iter(loader)
    first = [next(iterator), next(iterator)]

    assert numbers([*first, *loader]) == order
    with pytest.raises(IteratorStale):
        next(iterator)


def test_columns_are_chosen_and_kept_in_order(lake: LocalStore, options: LoaderOptions) -> None:
    """As Arrow, as NumPy, as dictionaries; a name the release lacks is refused with those it has."""
    release(lake, [4], columns={"x": lambda n: None if n == 2 else n})
    chosen = replace(options, batch_size=4, shuffle=False, columns=("x", "n"))

    [batch] = open_loader(lake.uri, "numbers", options=chosen)

    assert batch.rows.schema.names == ["x", "n"]
    assert [str(value) for value in batch.numpy()["x"]] == ["0.0", "1.0", "nan", "3.0"]
    assert batch.numpy()["n"].dtype == np.int64
    [*samples] = open_loader(lake.uri, "numbers", options=chosen).samples()
    assert [{**sample, "sample_id": ""} for sample in samples][2] == {"sample_id": "", "x": None, "n": 2}
    assert [sample["sample_id"] for sample in samples] == batch.sample_ids.to_pylist()
    with pytest.raises(ColumnsRefused, match=r"'y'.*one of \['sample_id', .*'n', 'text', 'x'\]"):
        open_loader(lake.uri, "numbers", options=replace(options, columns=("y",)))


def split_release(lake: LocalStore) -> None:
    """A day of training rows, a mixed one, a day held out, and one whose manifest does not say."""
    parts = {
        "2024-01-01": ["train"] * 5,
        "2024-01-02": ["train", "purged", "train"],
        "2024-01-03": ["holdout"] * 4,
        "2024-01-04": ["train", None],
    }
    candidates, start = {}, 0
    for key, values in parts.items():
        table = pa.table({"n": range(start, start + len(values)), "split": pa.array(values, pa.string())})
        counts = {"training": {"split": {part: values.count(part) for part in ("train", "purged", "holdout")}}}
        candidates.update(partition(lake, "numbers", key, table, counts if None not in values else None))
        start += len(values)
    promote(lake, "numbers", candidates, RUN)


def test_a_split_is_read_alone(lake: LocalStore, options: LoaderOptions) -> None:
    """Rows of other parts and of none are left out, and positions count the chosen rows."""
    split_release(lake)

    train, holdout = (open_loader(lake.uri, "numbers", options=replace(options, split=part)) for part in ("train", "holdout"))

    assert (sorted(numbers(train)), train.length) == ([0, 1, 2, 3, 4, 5, 7, 12], 8)
    assert sorted(numbers(holdout)) == [8, 9, 10, 11]
    with pytest.raises(NothingToRead, match="split test"):
        open_loader(lake.uri, "numbers", options=replace(options, split="test"))


def test_a_split_needs_a_split_column(lake: LocalStore, options: LoaderOptions) -> None:
    """Reading everything instead would train on the holdout."""
    release(lake, [3])
    with pytest.raises(ColumnsRefused, match="'split'"):
        open_loader(lake.uri, "numbers", options=replace(options, split="train"))


def test_partitions_that_disagree_about_a_column_are_named(lake: LocalStore, options: LoaderOptions) -> None:
    """Nothing is cast behind the reader's back."""
    first = partition(lake, "numbers", "2024-01-01", pa.table({"n": [1], "x": [1]}))
    second = partition(lake, "numbers", "2024-01-02", pa.table({"n": [2], "x": ["1"]}))
    promote(lake, "numbers", first | second, RUN)

    with pytest.raises(ColumnsRefused, match=r"column x: found string in 2024-01-02; expected int64, as in 2024-01-01"):
        open_loader(lake.uri, "numbers", options=options)


def test_a_loader_crosses_process_borders(lake: LocalStore, options: LoaderOptions, order: list[int]) -> None:
    """Spawned workers get a copy by pickle; nothing open goes along."""
    loader = open_loader(lake.uri, "numbers", options=replace(options, prefetch_bytes=1_000_000))
    next(iter(loader))

    copy = pickle.loads(pickle.dumps(loader))

    assert numbers(copy) == order[2:]


def test_stats_tell_waiting_from_working(lake: LocalStore, options: LoaderOptions, order: list[int]) -> None:
    """Six shards were fetched once by the fixture; the second reader hits the cache only."""
    loader = open_loader(lake.uri, "numbers", options=options, place=Place())
    assert sorted(numbers(loader)) == sorted(order)
    stats = loader.stats()

    assert (stats.batches, stats.samples, stats.cache_hits, stats.cache_misses, stats.bytes_fetched) == (33, 65, 6, 0, 0)
    assert stats.wait_seconds > 0
    assert 0 < stats.wait_share < 1


def test_a_bar_shows_the_epoch_by_choice_and_changes_no_sample(
    lake: LocalStore, options: LoaderOptions, order: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    """65 of 65 samples of epoch 0; without the choice nothing is written."""
    assert numbers(open_loader(lake.uri, "numbers", options=options)) == order
    assert capsys.readouterr().out == ""

    assert numbers(open_loader(lake.uri, "numbers", options=replace(options, progress=True))) == order

    shown = capsys.readouterr().out
    assert "epoch 0" in shown
    assert "65/65" in shown
