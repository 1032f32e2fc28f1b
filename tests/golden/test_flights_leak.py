"""What plain as-of joins leak into two months of real flights, those of the clock changes: the figures of the documentation."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from bench.flights_leak import ENTITIES, figures, flights, month_log

PAGE = Path(__file__).parents[2] / "docs" / "point-in-time.md"
LEAKED = {
    (3, "carrier"): (27_902, 27_122, 27_165),
    (3, "carrier+dest"): (27_902, 14_205, 14_211),
    (3, "tailnum"): (27_902, 31, 31),
    (11, "carrier"): (26_971, 26_071, 26_173),
    (11, "carrier+dest"): (26_971, 13_863, 13_900),
    (11, "tailnum"): (26_971, 10, 10),
}


@pytest.fixture(scope="module")
def year() -> pa.Table:
    return flights()


@pytest.mark.parametrize("entity", ENTITIES, ids="+".join)
@pytest.mark.parametrize("month", [3, 11])
def test_the_shortcuts_leak_and_the_page_says_how_much(year: pa.Table, month: int, entity: tuple[str, ...]) -> None:
    """The exact join leaks nothing; the plain ones take flights that are still in the air. DuckDB's ties move by a few labels."""
    found = {one.method: one for one in figures(month_log(year, month), entity)}
    labels, leaks, wrong = LEAKED[month, "+".join(entity)]
    for one in found.values():
        print(  # noqa: T201 - shown with -s, and when it fails
            f"2013-{month:02d}, {one.entity}, {one.method}: {one.leaks} of {one.labels} leak, {one.wrong} wrong"
        )

    assert (found["exact"].labels, found["exact"].leaks) == (labels, 0)
    for method in {"pandas merge_asof", "polars join_asof"} & set(found):
        assert (found[method].leaks, found[method].wrong) == (leaks, wrong), method
    assert found["DuckDB ASOF"].leaks == pytest.approx(leaks, abs=labels // 1000)
    assert found["DuckDB ASOF"].wrong == pytest.approx(wrong, abs=labels // 250)
    assert f"{leaks:,} of {labels:,}" in PAGE.read_text()
