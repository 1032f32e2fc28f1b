"""The loader over a real S3 server: the same samples, and processes made while it is in use."""

from __future__ import annotations

import multiprocessing
from dataclasses import replace
from pathlib import Path

import pytest
from headrace.lake.store import Store
from headrace.loader import Loader, LoaderOptions, open_loader

from tests.headrace.loader.releases import numbers, release

pytestmark = pytest.mark.servers


@pytest.fixture
def options(tmp_path: Path) -> LoaderOptions:
    return LoaderOptions(seed=5, batch_size=4, window_bytes=9_000, cache_folder=tmp_path / "cache")


def test_an_epoch_from_s3_is_whole_and_then_comes_from_the_cache(s3_store: Store, options: LoaderOptions) -> None:
    """Every sample once; the second epoch fetches nothing."""
    release(s3_store, [300, 20, 1])
    loader = open_loader(s3_store.uri, "numbers", options=options)

    assert sorted(numbers(loader)) == list(range(321))
    fetched = loader.stats().bytes_fetched
    assert fetched > 0
    assert sorted(numbers(loader)) == list(range(321))
    assert loader.stats().bytes_fetched == fetched


def read_all(loader: Loader, answers: multiprocessing.Queue[list[int]]) -> None:
    answers.put(numbers(loader))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_process_made_after_the_parent_read_from_s3_reads_too(
    s3_store: Store, options: LoaderOptions, tmp_path: Path, method: str
) -> None:
    """C.3 44: clients, threads and runtimes of the parent are of no use to a child, and do not hang it."""
    release(s3_store, [300, 20, 1])
    parent = iter(open_loader(s3_store.uri, "numbers", options=options))
    next(parent)
    context = multiprocessing.get_context(method)
    answers = context.Queue()
    loader = open_loader(s3_store.uri, "numbers", options=replace(options, cache_folder=tmp_path / "other"))

    child = context.Process(target=read_all, args=(loader, answers), daemon=True)
    child.start()

    assert sorted(answers.get(timeout=60)) == list(range(321))
    child.join(30)
    assert len(list(parent)) == 80
