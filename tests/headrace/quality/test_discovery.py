"""Benjamini-Hochberg equals scipy's, by key and whatever the order."""

from __future__ import annotations

import numpy as np
import pytest
from headrace.quality.discovery import benjamini_hochberg
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_adjusted_values_equal_the_library(p_values):
    """To 1e-9, matched by key."""
    adjusted = benjamini_hochberg({str(i): p for i, p in enumerate(p_values)})
    assert [adjusted[str(i)] for i in range(len(p_values))] == pytest.approx(list(false_discovery_control(p_values)), abs=1e-9)


def test_no_tests_no_values():
    """An empty family has no members."""
    assert benjamini_hochberg({}) == {}


def test_two_hundred_null_tests_raise_about_one_family_alarm_in_twenty():
    """400 families of 200 true nulls at q = 0.05: some alarm in at most 8 % of families, against always without it."""
    draw = np.random.default_rng(2).random((400, 200))
    alarms = [min(benjamini_hochberg(dict(enumerate(map(float, row)))).values()) <= 0.05 for row in draw]  # type: ignore[arg-type]
    assert 0.02 <= np.mean(alarms) <= 0.08
