"""The frozen reference: bins from it alone, ties and defaults in cells of their own, stored and read back exactly."""

from __future__ import annotations

import json
import math

import numpy as np
import pyarrow as pa
import pytest
from headrace.quality.errors import ProfileError, ReferenceProfileError
from headrace.quality.reference import build_reference, level_bins, load_reference, numeric_bins, reference_bytes, reference_from
from headrace.spec.quality import Column, ProfilePlan
from hypothesis import given
from hypothesis import strategies as st
from quality_samples import CODE

PLAN = ProfilePlan(columns=(Column(name="x", kind="numeric", default=0.0), Column(name="c", kind="categorical")))
TABLE = pa.table({"x": [0.0, 1.5, 2.5, None, math.nan, math.inf], "c": ["a", "b", "a", None, "c", "a"]})


def test_quantiles_that_occur_in_the_data():
    """1 to 100: nine inner edges at values of the data, the smallest, and the float behind the largest."""
    edges = numeric_bins(np.arange(1.0, 101.0)).edges
    assert edges == (1.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, math.nextafter(100.0, math.inf))


def test_outer_cells_join_their_neighbours():
    """Values beyond the reference's range count with the outermost bin in a distance, and are still counted apart."""
    bins = numeric_bins(np.arange(1.0, 101.0))
    assert bins.groups == (1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10)


def test_heavy_ties_and_the_default_are_points():
    """60 % zeros, a default that never occurs: one cell each, holding exactly one float."""
    bins = numeric_bins(np.concatenate([np.zeros(60), np.linspace(1, 2, 40)]), default=-1.0)
    assert bins.is_point(bins.point_of(0.0))
    assert bins.is_point(bins.point_of(-1.0))
    assert bins.texts()[1] == "= -1"
    assert bins.point_of(1.0) is None


def test_a_constant_has_three_cells():
    """Below, the value, above: none joined, so a change is seen."""
    bins = numeric_bins(np.full(10, 5.0))
    assert (bins.texts(), bins.groups) == (("below 5", "= 5", "above 5"), (0, 1, 2))


def test_no_values_make_one_cell():
    """A column of nulls has nothing to cut."""
    assert numeric_bins(np.empty(0)).texts() == ("any value",)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=60), st.none() | st.floats(-9, 9))
def test_edges_are_sorted_distinct_and_few(values, default):
    """Whatever the values: sorted, no edge twice, at most 50 cells."""
    bins = numeric_bins(np.array(values), default=default)
    assert list(bins.edges) == sorted(set(bins.edges))
    assert bins.cells <= 50
    assert len(bins.groups) == bins.cells


def test_levels_are_ranked_by_count_then_text():
    """48 tracked of 60; all 60 known; the default tracked though it never occurs."""
    counts = {f"v{i:02}": 100 - i // 2 for i in range(60)}
    bins = level_bins(counts, Column(name="c", kind="categorical", default="unknown"))
    assert len(bins.tracked) == 48
    assert {"v00", "v46", "unknown"} <= set(bins.tracked)
    assert "v47" not in bins.tracked
    assert len(bins.known) == 61


def test_stored_and_read_back():
    """Bins and counts, exactly; and the bytes are a function of the content."""
    reference = build_reference(TABLE, PLAN, code_fingerprint=CODE, about="six rows")
    again = reference_from(reference_bytes(reference))
    assert again == reference
    assert reference_bytes(again) == reference_bytes(reference)
    assert (again.about, again.profile.rows) == ("six rows", 6)


@pytest.mark.parametrize(
    ("table", "found"),
    [
        (TABLE.slice(0, 0), "no rows"),
        (TABLE.drop_columns(["c"]), "no column of that name"),
        (TABLE.set_column(0, "x", pa.array(["1"] * 6)), "type string"),
    ],
)
def test_a_table_that_cannot_be_a_reference_is_refused(table, found):
    """Empty, a column short, or of another type."""
    with pytest.raises(ReferenceProfileError) as caught:
        build_reference(table, PLAN, code_fingerprint=CODE)
    assert caught.value.found == found


@pytest.mark.parametrize(
    "change",
    [{"version": 2}, {"format": "other"}, {"bins": {"x": {"kind": "numeric", "edges": [1.0], "groups": [0, 1]}}}, {"profile": 5}],
)
def test_an_edited_or_newer_reference_is_refused(change):
    """A newer version, another document, bins that are not those of the counts, or no profile."""
    plain = json.loads(reference_bytes(build_reference(TABLE, PLAN, code_fingerprint=CODE))) | change
    with pytest.raises((ReferenceProfileError, ProfileError)):
        reference_from(json.dumps(plain))


def test_a_missing_file_says_what_to_do(tmp_path):
    """The path, and how to make one."""
    with pytest.raises(ReferenceProfileError, match="Build it with build_reference"):
        load_reference(tmp_path / "none.json")
