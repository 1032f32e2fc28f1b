"""What is recorded of rows while they are in hand, and what is refused before a row is read."""

from __future__ import annotations

from dataclasses import replace

import pytest
from headrace.quality.errors import ReferenceProfileError
from headrace.quality.observe import observer

from include.datasets.flights import FLIGHT_DELAY, QUALITY


def test_b49_a_reference_that_is_not_there_stops_a_run_before_it_reads_data() -> None:
    """B49: the error names the file and how to make it, and comes from making the observer, not from observing."""
    unmade = replace(FLIGHT_DELAY, quality=replace(QUALITY, reference="include/datasets/nowhere.json"))

    with pytest.raises(ReferenceProfileError, match=r"include/datasets/nowhere\.json"):
        observer(unmade, "2013-01-02")
