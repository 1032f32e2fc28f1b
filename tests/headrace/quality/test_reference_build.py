"""A reference is frozen from days that are known to be good, and those days pass by it."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from flights_lake import candidate, land, publish_days
from headrace.cli.quality import app
from headrace.lake.local import LocalStore
from headrace.manifests.errors import NotPublished
from headrace.manifests.read import read_manifest
from headrace.quality.profile_json import profile_from
from headrace.quality.reference import load_reference
from headrace.quality.reference_build import reference_from_days
from typer.testing import CliRunner

from include.datasets.flights import FLIGHT_DELAY

DECLARATIONS = Path(__file__).parents[3] / "include" / "datasets"
DAYS = [date(2013, 1, 1), date(2013, 1, 2)]


@pytest.fixture(scope="module")
def flights(tmp_path_factory: pytest.TempPathFactory) -> LocalStore:
    """Two days of flights with their snapshots."""
    folder = tmp_path_factory.mktemp("flights")
    source, lake = LocalStore(folder / "landing"), LocalStore(folder / "lake")
    land(source, DAYS)
    publish_days(source, lake, DAYS)
    return lake


def test_the_days_are_joined_as_the_gate_sees_them(flights: LocalStore) -> None:
    """Same code and as many rows as the candidate the day's run makes; days in any order, each once; said in words."""
    day = profile_from(
        read_manifest(flights, "flight_delay", "2013-01-02", candidate(FLIGHT_DELAY, DAYS[1], flights)).facts["profile"]
    )
    one = reference_from_days(FLIGHT_DELAY, DAYS[1:], lake=flights)
    both = reference_from_days(FLIGHT_DELAY, [DAYS[1], DAYS[0], DAYS[1]], lake=flights)

    assert (one.profile.rows, one.profile.code_fingerprint) == (day.rows, day.code_fingerprint)
    assert one.profile.columns["label"] == day.columns["label"]
    assert both == reference_from_days(FLIGHT_DELAY, DAYS, lake=flights)
    assert both.about == f"flight_delay 2013-01-01 to 2013-01-02, {both.profile.rows} rows"


def command(lake: LocalStore, first: str, last: str, out: Path) -> tuple[int, str]:
    """Exit code and output of `headrace quality reference flight_delay --from FIRST --to LAST --out OUT`, on the shipped declarations."""
    arguments = ["reference", "flight_delay", "--from", first, "--to", last, "--out", str(out), "--lake", lake.uri]
    env = {"COLUMNS": "300", "NO_COLOR": "1", "HEADRACE_DECLARATIONS": str(DECLARATIONS)}
    done = CliRunner().invoke(app, arguments, env=env, catch_exceptions=False)
    return done.exit_code, done.output


def test_the_command_writes_the_file_that_the_gate_reads(flights: LocalStore, tmp_path: Path) -> None:
    """And says what it was made from and where it lies."""
    file = tmp_path / "flight_delay.reference.json"
    code, text = command(flights, "2013-01-01", "2013-01-02", file)
    made = load_reference(file)

    assert code == 0
    assert made == reference_from_days(FLIGHT_DELAY, DAYS, lake=flights)
    assert text == f"{made.about}: written to {file}\n"


def test_days_that_are_not_there_or_the_wrong_way_round_write_nothing(flights: LocalStore, tmp_path: Path) -> None:
    """The missing day is named; the last day is not before the first."""
    file = tmp_path / "reference.json"
    with pytest.raises(NotPublished, match="2013-01-05"):
        command(flights, "2013-01-05", "2013-01-06", file)
    code, text = command(flights, "2013-01-02", "2013-01-01", file)

    assert code == 2
    assert "2013-01-01 is before 2013-01-02" in text
    assert not file.exists()
