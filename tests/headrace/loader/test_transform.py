"""Random transforms that depend on the sample and the epoch, and on nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from headrace.lake.local import LocalStore
from headrace.loader import LoaderOptions
from headrace.loader.errors import TransformFailed
from headrace.loader.transform import each_sample, id_numbers, sample_seeds
from numpy.typing import NDArray

from tests.headrace.loader.releases import loaders, numbers, release


def noisy(sample: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    return {"n": sample["n"], "noise": float(rng.normal())}


@pytest.fixture
def options(tmp_path: Path) -> LoaderOptions:
    return LoaderOptions(seed=9, batch_size=4, cache_folder=tmp_path / "cache", transform=each_sample(noisy))


def noises(lake: LocalStore, options: LoaderOptions, world: int, epoch: int = 0) -> dict[int, float]:
    ranks = loaders(lake, world, options)
    for loader in ranks:
        loader.set_epoch(epoch)
    pairs = [row for loader in ranks for batch in loader for row in batch.rows.to_pylist()]
    assert len(pairs) == 30
    return {row["n"]: row["noise"] for row in pairs}


def test_a_samples_noise_does_not_depend_on_who_reads_it(lake: LocalStore, options: LoaderOptions) -> None:
    """Any world size, batch size and order; another epoch or seed makes another noise."""
    release(lake, [11, 19])
    expected = noises(lake, options, 1)

    assert noises(lake, options, 3) == expected
    assert noises(lake, replace(options, batch_size=7, shuffle=False), 2) == expected
    assert not set(noises(lake, options, 1, epoch=1).values()) & set(expected.values())
    assert not set(noises(lake, replace(options, seed=8), 1).values()) & set(expected.values())
    assert len(set(expected.values())) == 30


def test_seeds_never_change() -> None:
    """Kept by hand: a training run resumed with a newer version must see the same augmentation."""
    ids = pa.array(["00112233445566778899aabbccddeeff", "f" * 32])

    assert id_numbers(ids).tolist() == [0x0011223344556677, 0xFFFFFFFFFFFFFFFF]
    assert sample_seeds(7, 2, ids).tolist() == [977371264982385624, 8965997983728905548]


def test_an_id_has_its_number_whatever_stands_beside_it() -> None:
    """Slices, longer texts and other company change nothing."""
    ids = pa.array(["a" * 32, "user-7", "b" * 32])
    one = id_numbers(ids.slice(0, 1)).tolist() + id_numbers(ids.slice(1, 1)).tolist() + id_numbers(ids.slice(2, 1)).tolist()

    assert id_numbers(ids).tolist() == one == id_numbers(ids.cast(pa.large_string())).tolist()
    assert id_numbers(ids.slice(0, 0)).tolist() == []


def raises(rows: pa.RecordBatch, seeds: NDArray[np.uint64]) -> pa.RecordBatch:
    raise ZeroDivisionError("augmentation")


def loses_a_row(rows: pa.RecordBatch, seeds: NDArray[np.uint64]) -> pa.RecordBatch:
    return rows.slice(1)


def makes_a_table(rows: pa.RecordBatch, seeds: NDArray[np.uint64]) -> Any:
    return pa.Table.from_batches([rows])


@pytest.mark.parametrize(
    ("transform", "says"), [(raises, "ZeroDivisionError: augmentation"), (loses_a_row, "3 rows"), (makes_a_table, "a Table")]
)
def test_a_transform_that_fails_names_the_samples(lake: LocalStore, options: LoaderOptions, transform: Any, says: str) -> None:
    """Losing rows is a failure too: a batch of another length would shift every later sample."""
    release(lake, [8])
    [loader] = loaders(lake, 1, replace(options, transform=transform))
    first = numbers([next(iter(loaders(lake, 1, replace(options, transform=None))[0]))])

    with pytest.raises(TransformFailed) as caught:
        next(iter(loader))

    assert caught.value.found == says
    assert len(first) == 4
    assert "transform of samples" in caught.value.subject
