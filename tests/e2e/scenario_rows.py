"""Rows functions of the quality scenarios: the shipped example's, gone wrong as such functions do."""

from __future__ import annotations

import pyarrow as pa

from include.datasets.functions.flights import late_arrivals


def without_distance(flights: pa.Table) -> pa.Table:
    """Somebody renamed a column upstream and nobody noticed."""
    return late_arrivals(flights).rename_columns({"distance": "distance_miles"})
