"""Any sample of a window, in any order, whatever its shards look like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from headrace.loader.window import OpenWindow, Piece, pieces


def piece(first: int, rows: int, size: int, chosen: Sequence[int] | None = None, kind: Any = None) -> Piece:
    """A shard's rows, numbered from `first`, each with a payload of `size` bytes."""
    numbers = list(range(first, first + rows))
    payloads = pa.array([n.to_bytes(4, "big") * (size // 4) for n in numbers], pa.binary() if kind is None else kind)
    return Piece(
        rows=pa.record_batch({"n": pa.array(numbers), "payload": payloads}),
        chosen=None if chosen is None else np.array(chosen, dtype=np.int64),
    )


@pytest.mark.parametrize(("size", "rows"), [(8, 1000), (2_000, 3000), (20_000, 300), (200_000, 30)])
def test_samples_come_in_the_order_asked_for(size: int, rows: int) -> None:
    """Small shards and mapped ones, small samples and large ones: as a walk over the rows laid end to end gives them."""
    pieces = [
        piece(0, rows, size),
        piece(10_000, 3, size),
        piece(20_000, rows, size, chosen=range(0, rows, 3)),
        piece(30_000, 1, size),
        piece(40_000, rows, size),
    ]
    ends = [
        *range(rows),
        *range(10_000, 10_003),
        *range(20_000, 20_000 + rows, 3),
        30_000,
        *range(40_000, 40_000 + rows),
    ]
    window = OpenWindow(pieces)

    for places in (np.random.default_rng(1).permutation(len(ends))[:200], np.arange(5), np.array([len(ends) - 1])):
        taken = window.take(places)
        assert taken.column("n").to_pylist() == [ends[place] for place in places]
        assert taken.column("payload").to_pylist() == [ends[place].to_bytes(4, "big") * (size // 4) for place in places]


@pytest.mark.parametrize("size", [100, 20_000])
def test_shards_whose_offsets_differ_in_width_stand_together(size: int) -> None:
    """A shard above 1 GiB has 64-bit offsets; its neighbours need not."""
    rows = 6_000_000 // size
    window = OpenWindow([piece(0, rows, size), piece(rows, rows, size, kind=pa.large_binary())])

    taken = window.take(np.array([rows, 0, rows + 1, 1]))

    assert taken.column("n").to_pylist() == [rows, 0, rows + 1, 1]
    assert taken.schema.field("payload").type == pa.large_binary()


def test_chosen_rows_are_shared_out_among_a_shards_parts() -> None:
    """Each part knows its own, also a part none of whose rows is chosen."""
    numbers = pa.table({"n": pa.chunked_array([[0, 1, 2], [3, 4], [5], [6, 7, 8]])})

    parted = pieces(numbers, np.array([1, 2, 5, 8]))

    assert [None if one.chosen is None else one.chosen.tolist() for one in parted] == [[1, 2], [], [0], [2]]
    assert OpenWindow(parted).take(np.array([3, 0, 2, 1])).column("n").to_pylist() == [8, 1, 5, 2]
    assert OpenWindow(pieces(numbers, None)).take(np.array([8, 0, 5])).column("n").to_pylist() == [8, 0, 5]
