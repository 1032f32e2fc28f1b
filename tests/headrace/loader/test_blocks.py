"""Shared blocks go back and forth, and never while somebody still looks at what lies in them."""

from __future__ import annotations

import gc

import numpy as np
import pyarrow as pa
import pytest
from headrace.loader.batch import Batch

torch = pytest.importorskip("torch")

from headrace.loader.blocks import Receiver, Sender  # noqa: E402 - needs torch


def batch(first: int, rows: int, payload: bytes = b"x") -> Batch:
    """Rows numbered from `first`, the last of them a stand-in."""
    numbers = list(range(first, first + rows))
    return Batch(
        rows=pa.record_batch({"n": pa.array(numbers), "payload": [payload * 10 for _ in numbers]}),
        sample_ids=pa.array([f"{n:032x}" for n in numbers]),
        sample_digests=pa.array([f"{n + 1000:032x}" for n in numbers]),
        epoch=3,
        start=first,
        stop=first + rows,
        positions=np.array(numbers, dtype=np.int64),
        mask=np.array([n + 1 < first + rows for n in numbers]),
    )


def test_batches_arrive_as_they_were_sent() -> None:
    """Rows, identity, place and mask of each of the batches that travel together."""
    sent = [batch(0, 5), batch(5, 2)]

    got = list(Receiver().batches(Sender(1).parcel(sent, {"hits": 2})))

    assert [one.rows for one in got] == [one.rows for one in sent]
    assert [one.sample_ids for one in got] == [one.sample_ids for one in sent]
    assert [one.sample_digests for one in got] == [one.sample_digests for one in sent]
    assert [(one.epoch, one.start, one.stop) for one in got] == [(3, 0, 5), (3, 5, 7)]
    assert [one.positions.tolist() for one in got] == [[0, 1, 2, 3, 4], [5, 6]]
    assert [one.mask.tolist() for one in got] == [[True, True, True, True, False], [True, False]]


def test_a_block_is_used_again_once_its_batches_are_gone() -> None:
    """One block serves a rank that lets go, whatever it kept as Python values."""
    sender, receiver = Sender(0), Receiver()
    parcels = []

    for step in range(20):
        parcels.append(sender.parcel([batch(step, 4)], {}))
        [got] = receiver.batches(parcels[-1])
        assert got.rows.column("n").to_pylist() == list(range(step, step + 4))
        del got
        gc.collect()

    assert {parcel.block for parcel in parcels} == {0}
    assert [parcel.memory is not None for parcel in parcels] == [True] + [False] * 19


def test_a_block_somebody_looks_into_is_not_written_to() -> None:
    """Not even when what is left of a batch is one array made without a copy."""
    sender, receiver = Sender(0), Receiver()
    [kept] = receiver.batches(sender.parcel([batch(0, 4)], {}))
    numbers = kept.numpy()["n"]
    del kept
    gc.collect()

    later = [list(receiver.batches(sender.parcel([batch(step, 4)], {}))) for step in range(10, 15)]

    assert numbers.tolist() == [0, 1, 2, 3]
    assert [one.rows.column("n").to_pylist() for [one] in later] == [list(range(step, step + 4)) for step in range(10, 15)]
    assert len(sender._blocks) == 6


def test_a_block_that_is_too_small_is_replaced() -> None:
    """Growing batches do not leave a trail of small blocks."""
    sender, receiver = Sender(0), Receiver()

    for size in (1, 100, 10_000):
        [got] = receiver.batches(sender.parcel([batch(0, 3, b"y" * size)], {}))
        assert got.rows.column("payload").to_pylist() == [b"y" * size * 10] * 3
        del got
        gc.collect()

    assert len(sender._blocks) == 1
    assert len(receiver._blocks) == 1
