"""A window's shards, open: any of its samples by place, in any order.

Large pieces stay where they are (parts of mapped files); small ones are laid end to end in memory, so that a window of thousands of tiny
shards costs no more to read from than one of a few large ones. Small samples are gathered piece by piece and then put in order, large
ones laid down in order at once: a call per sample costs less there than touching its bytes three times.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, cast

import numpy as np
import pyarrow as pa

from headrace.loader.decode import in_one_piece
from headrace.loader.order import Positions

_SMALL_BYTES: Final = 1_000_000
_LARGE_ROW_BYTES: Final = 8_000


@dataclass(frozen=True, kw_only=True)
class Piece:
    """Rows that lie together, and which of them are read: None for all, else row numbers."""

    rows: pa.RecordBatch
    chosen: Positions | None

    @property
    def length(self) -> int:
        return self.rows.num_rows if self.chosen is None else self.chosen.shape[0]

    def row(self, place: int) -> pa.RecordBatch:
        """One row, without a copy."""
        return self.rows.slice(place if self.chosen is None else int(self.chosen[place]), 1)


def pieces(shard: pa.Table, chosen: Positions | None) -> list[Piece]:
    """A shard's parts, each with its own share of the chosen rows, which ascend."""
    parts = shard.to_batches()
    if chosen is None:
        return [Piece(rows=part, chosen=None) for part in parts]
    starts = np.cumsum([0, *(part.num_rows for part in parts)])
    bounds = np.searchsorted(chosen, starts)
    return [Piece(rows=part, chosen=chosen[bounds[n] : bounds[n + 1]] - starts[n]) for n, part in enumerate(parts)]


class OpenWindow:
    """The samples of a window, laid end to end in the order of its shards."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self._pieces = _joined(pieces)
        self._starts = np.concatenate([[0], np.cumsum([piece.length for piece in self._pieces])]).astype(np.int64)
        held = sum(piece.rows.nbytes for piece in pieces)
        self.row_bytes = held / max(sum(piece.rows.num_rows for piece in pieces), 1)

    def take(self, places: Positions) -> pa.RecordBatch:
        """The samples at `places`, in that order. Shape (places,)."""
        if len(self._pieces) == 1:
            return _rows(self._pieces[0], places)
        piece = np.searchsorted(self._starts, places, side="right") - 1
        within = places - self._starts[piece]
        return self._one_by_one(piece, within) if self.row_bytes >= _LARGE_ROW_BYTES else self._by_piece(piece, within)

    def _one_by_one(self, piece: Positions, within: Positions) -> pa.RecordBatch:
        return together([self._pieces[n].row(place) for n, place in zip(piece.tolist(), within.tolist(), strict=True)])

    def _by_piece(self, piece: Positions, within: Positions) -> pa.RecordBatch:
        order = np.argsort(piece, kind="stable")
        bounds = np.searchsorted(piece[order], np.arange(len(self._pieces) + 1))
        parts = [
            _rows(self._pieces[n], within[order[start:stop]]) for n, (start, stop) in enumerate(pairwise(bounds)) if start < stop
        ]
        back = np.empty_like(order)
        back[order] = np.arange(order.shape[0])
        return together(parts).take(back)


def together(parts: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Batches end to end, in one piece; where offsets are wider in one, they are in all."""
    if len(parts) == 1:
        return parts[0]
    with contextlib.suppress(pa.ArrowInvalid):  # offsets differ in width, or 32 bits are too few for all of them together
        return cast(pa.RecordBatch, cast(Any, pa).concat_batches(parts))
    table = pa.concat_tables([pa.Table.from_batches([part]) for part in parts], promote_options="permissive")
    return in_one_piece(table)


def _rows(piece: Piece, places: Positions) -> pa.RecordBatch:
    rows = places if piece.chosen is None else piece.chosen[places]
    if rows.shape[0] > 0 and rows[-1] - rows[0] == rows.shape[0] - 1 and bool(np.all(np.diff(rows) == 1)):
        return piece.rows.slice(int(rows[0]), rows.shape[0])
    return piece.rows.take(rows)


def _joined(pieces: Sequence[Piece]) -> list[Piece]:
    """Neighbouring small pieces made one; their chosen rows only."""
    joined: list[Piece] = []
    small: list[pa.RecordBatch] = []
    for piece in pieces:
        if piece.rows.nbytes <= _SMALL_BYTES:
            small.append(piece.rows if piece.chosen is None else piece.rows.take(piece.chosen))
            continue
        if small:
            joined.append(Piece(rows=together(small), chosen=None))
            small = []
        joined.append(piece)
    return [*joined, Piece(rows=together(small), chosen=None)] if small else joined
