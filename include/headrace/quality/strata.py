"""Which stratum of a designed sample each row of a batch is in, and counts kept apart by stratum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Cells = npt.NDArray[np.intp]


@dataclass(frozen=True, kw_only=True)
class Strata:
    """Stratum of each row, shape [rows], of `count` strata; all rows are in stratum 0 when there is one."""

    of_row: Cells
    count: int

    def where(self, chosen: npt.NDArray[np.bool_]) -> Strata:
        """The strata of the chosen rows."""
        return self if self.count == 1 else Strata(of_row=self.of_row[chosen], count=self.count)

    def counts(self, cells: npt.NDArray[np.integer], n_cells: int) -> Cells:
        """Rows by stratum and cell, shape [count, n_cells], from the cell of each row."""
        flat = cells if self.count == 1 else self.of_row * n_cells + cells
        return np.bincount(flat, minlength=self.count * n_cells).reshape(self.count, n_cells)

    def tally(self, cells: npt.NDArray[np.integer], n_cells: int) -> tuple[tuple[int, ...], ...]:
        """`counts` as a profile holds them."""
        return as_tuples(self.counts(cells, n_cells))


def as_tuples(counts: Cells) -> tuple[tuple[int, ...], ...]:
    """Counts of shape [strata, cells] as a profile holds them."""
    return tuple(map(tuple, counts.tolist()))
