"""Where a column's values are counted: cells frozen from the reference, the same for every later profile.

Numeric columns: sorted edges `e[0] < ... < e[k-1]` make `k + 1` half-open cells `(-inf, e[0])`, `[e[0], e[1])`, ...,
`[e[k-1], inf)`. The first and last edge are the reference's smallest and largest value, so the two outer cells hold what
lies out of its range. A *point* is the cell `[p, next float after p)`: one value alone, for heavy ties and the declared
default. `groups` says which cells count as one in a distance: an outer cell joins its neighbour, unless that is a point.

Levels: one cell per tracked level, then `other` (known to the reference, not tracked) and `new` (never seen by it).
Booleans: false, true, and `other` for integers that are neither 0 nor 1.

Integers beyond 2**53 are compared as the nearest float.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

from headrace.spec.canonical import digest_of
from headrace.spec.quality import Column

BOOLEAN_CELLS: Final = ("false", "true", "other")
OTHER: Final = "(other)"
NEW: Final = "(new)"
MAX_CELLS: Final = 50


@dataclass(frozen=True, kw_only=True)
class NumericBins:
    """Edges of shape [k], groups of shape [k + 1]."""

    edges: tuple[float, ...]
    groups: tuple[int, ...]

    @property
    def cells(self) -> int:
        return len(self.edges) + 1

    def is_point(self, cell: int) -> bool:
        """True when the cell holds exactly one float."""
        return 0 < cell < len(self.edges) and self.edges[cell] == math.nextafter(self.edges[cell - 1], math.inf)

    def point_of(self, value: float) -> int | None:
        """The cell that holds `value` alone, None when there is none."""
        return next((c for c in range(1, len(self.edges)) if self.edges[c - 1] == value and self.is_point(c)), None)

    def texts(self) -> tuple[str, ...]:
        """What each cell holds, for people."""
        if not self.edges:
            return ("any value",)
        last = math.nextafter(self.edges[-1], -math.inf)
        return (f"below {self.edges[0]:.6g}", *map(self._text, range(1, len(self.edges))), f"above {last:.6g}")

    def _text(self, cell: int) -> str:
        low, high = self.edges[cell - 1], self.edges[cell]
        if self.is_point(cell):
            return f"= {low:.6g}"
        # Behind a point the cell begins at the next float, which reads as the point itself (or as 5e-324).
        after_point = self.is_point(cell - 1)
        return f"above {self.edges[cell - 2]:.6g} to {high:.6g}" if after_point else f"{low:.6g} to {high:.6g}"


def grouped(edges: tuple[float, ...]) -> NumericBins:
    """Bins over `edges` with the outer cells joined to their neighbours where these are ranges."""
    bare = NumericBins(edges=edges, groups=tuple(range(len(edges) + 1)))
    last = len(edges)
    groups = list(bare.groups)
    if last >= 2 and not bare.is_point(1):
        groups[0] = 1
    if last >= 2 and not bare.is_point(last - 1):
        groups[last] = last - 1
    return NumericBins(edges=edges, groups=tuple(groups))


@dataclass(frozen=True, kw_only=True)
class LevelBins:
    """Tracked levels (a cell each), and all levels the reference knew; `known` is None when there were too many to list."""

    tracked: tuple[str, ...]
    known: tuple[str, ...] | None

    @property
    def cells(self) -> int:
        return len(self.tracked) + 2

    def texts(self) -> tuple[str, ...]:
        return (*self.tracked, OTHER, NEW)


@dataclass(frozen=True, kw_only=True)
class BooleanBins:
    @property
    def cells(self) -> int:
        return len(BOOLEAN_CELLS)

    def texts(self) -> tuple[str, ...]:
        return BOOLEAN_CELLS


ColumnBins = NumericBins | LevelBins | BooleanBins


@dataclass(frozen=True, kw_only=True)
class Bins:
    """Frozen bins per column name. A column without bins is profiled without a histogram."""

    columns: dict[str, ColumnBins]

    @property
    def digest(self) -> str:
        return digest_of(bins_plain(self))


def bins_of(column: Column, bins: Bins) -> ColumnBins | None:
    """The bins a column is counted on: frozen ones, what its declaration implies, or None."""
    if column.kind == "boolean":
        return BooleanBins()
    frozen = bins.columns.get(column.name)
    if frozen is None and column.levels is not None:
        levels = tuple(sorted(column.levels))
        return LevelBins(tracked=levels[: MAX_CELLS - 2], known=levels)
    return frozen


def bins_plain(bins: Bins) -> dict[str, Any]:
    """JSON's own types; the inverse of `bins_from`."""
    return {name: _column_plain(item) for name, item in bins.columns.items()}


def bins_from(plain: dict[str, Any]) -> Bins:
    return Bins(columns={name: _column_from(item) for name, item in plain.items()})


def _column_plain(item: ColumnBins) -> dict[str, Any]:
    if isinstance(item, NumericBins):
        return {"edges": list(item.edges), "groups": list(item.groups), "kind": "numeric"}
    if isinstance(item, LevelBins):
        return {"kind": "categorical", "known": None if item.known is None else list(item.known), "tracked": list(item.tracked)}
    return {"kind": "boolean"}


def _column_from(plain: dict[str, Any]) -> ColumnBins:
    if plain["kind"] == "numeric":
        return NumericBins(edges=tuple(float(edge) for edge in plain["edges"]), groups=tuple(plain["groups"]))
    if plain["kind"] == "categorical":
        known = plain["known"]
        return LevelBins(tracked=tuple(plain["tracked"]), known=None if known is None else tuple(known))
    return BooleanBins()
