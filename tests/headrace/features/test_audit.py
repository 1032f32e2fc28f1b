"""Audits of real flights on a local lake, and what happens to a candidate that fails one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from headrace.cli.main import commands
from headrace.features import build
from headrace.features.audit import LeakageFound, RowNotFound, audit_partition, find_row
from headrace.features.build import build_candidate
from headrace.lake import layout
from headrace.lake.local import LocalStore
from headrace.manifests.document import from_bytes
from headrace.manifests.read import manifest_of, published
from headrace.spec.columns import columns
from headrace.spec.log_join import LogJoin
from typer.testing import CliRunner

from include.datasets.flights import CARRIER_DELAYS, FLIGHT_DELAY, NEW_YORK
from tests.headrace.features.flights_lake import FlightsLake, days, run

FIRST = date(2013, 1, 1)
DAYS = days(FIRST, 3)
LAST_LANDING = LogJoin(
    name="last_landing",
    entity=("carrier",),
    log=CARRIER_DELAYS.log,
    values=columns(arr_delay="int64", late="bool"),
    timezone=NEW_YORK,
    ttl=timedelta(hours=12),
    start=FIRST,
)


@pytest.fixture(scope="module")
def flights(tmp_path_factory: pytest.TempPathFactory) -> FlightsLake:
    """Three days, joined to a view and to the log itself."""
    folder = tmp_path_factory.mktemp("flights")
    made = FlightsLake(
        LocalStore(folder / "landing"), LocalStore(folder / "lake"), FIRST, replace(FLIGHT_DELAY, logs=(LAST_LANDING,))
    )
    made.land(DAYS)
    for step in (made.compact, made.snapshot, made.build):
        for day in DAYS:
            step(day)
    return made


def test_three_days_of_flights_do_not_look_ahead(flights: FlightsLake) -> None:
    """Every check, the snapshots' features from the log among them; and a plain join on event time finds each flight's own outcome."""
    manifest = manifest_of(flights.lake, published(flights.lake, "flight_delay"), "2013-01-03")

    found = audit_partition(flights.training_set, manifest, lake=flights.lake, from_logs=True)

    assert found.failed == ()
    assert {one.check for one in found.findings} >= {
        "rows",
        "scan",
        "no better version",
        "cut",
        "poison",
        "shuffle",
        "from the log",
    }
    assert sum(one.labels for one in found.findings if one.check == "from the log") == 28
    shares = {one.source: (one.labels, one.leaked) for one in found.naive}
    assert shares == {"carrier_delays": (900, 900), "last_landing": (900, 900)}


def test_the_audit_stands_beside_the_manifest(flights: FlightsLake) -> None:
    """What the build found, with its figures, under the candidate's digest."""
    release = published(flights.lake, "flight_delay")
    key = layout.leakage("flight_delay", "2013-01-03", release.partitions["2013-01-03"])

    content = from_bytes(key, flights.lake.get(key).data).content

    assert content["passes"] is True
    assert content["rows"] == 900
    assert content["naive"][1]["shortcut"] == "newest event"


@pytest.fixture
def leaking_builder(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A builder that reads one value from the future."""
    honest = build.training_rows

    def leaking(*args: object) -> pa.Table:
        rows = honest(*args)  # type: ignore[arg-type]
        position = rows.schema.get_field_index("flights_1d")
        values = rows.column(position).to_pylist()
        return rows.set_column(position, "flights_1d", pa.array([999, *values[1:]], pa.int64()))

    monkeypatch.setattr(build, "training_rows", leaking)
    return iter(())


@pytest.mark.usefixtures("leaking_builder")
def test_a_candidate_that_looks_ahead_ends_the_run(flights: FlightsLake) -> None:
    """An error that no retry mends; the audit is stored, the release stays as it was.

    The first check to say so is the scan when its sample has the row, which it draws by the candidate's digest, else the cut.
    """
    from headrace.features.audit import audit_candidate

    before = published(flights.lake, "flight_delay")
    made = build_candidate(flights.training_set, DAYS[1], run("build", DAYS[1]), lake=flights.lake, observe=lambda _: {})

    with pytest.raises(LeakageFound, match="flights_1d"):
        audit_candidate(flights.training_set, made, run("build", DAYS[1]), lake=flights.lake)

    key = layout.leakage("flight_delay", made.partition, made.digest)
    assert from_bytes(key, flights.lake.get(key).data).content["passes"] is False
    assert published(flights.lake, "flight_delay") == before


@pytest.fixture
def declared(flights: FlightsLake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lake's training set as a declaration file, as a user would have it."""
    text = Path(__file__).parents[3].joinpath("include/datasets/flights.py").read_text()
    joined = text.replace("views=(CARRIER_DELAYS,),", "views=(CARRIER_DELAYS,), logs=(LAST_LANDING,),")
    imported = joined.replace("NEW_YORK =", "from tests.headrace.features.test_audit import LAST_LANDING\n\nNEW_YORK =")
    (tmp_path / "flights.py").write_text(imported)
    monkeypatch.setenv("HEADRACE_DECLARATIONS", str(tmp_path))
    monkeypatch.setenv("HEADRACE_LAKE", flights.lake.uri)


@pytest.mark.usefixtures("declared")
def test_a_person_audits_from_the_command_line(flights: FlightsLake) -> None:
    """Exit 0, one line a day, and what the shortcuts would have done, for people and for machines."""
    told = CliRunner().invoke(commands, ["audit", "leakage", "flight_delay"])
    as_json = CliRunner().invoke(commands, ["audit", "leakage", "flight_delay", "2013-01-02", "--json", "--no-from-logs"])

    assert told.exit_code == 0
    assert told.stdout.splitlines()[0].startswith("2013-01-01: 831 rows, ")
    assert told.stdout.splitlines()[-1].startswith("Joining last_landing by newest event would have leaked into 2659 of 2659")
    assert json.loads(as_json.stdout)["2013-01-02"]["passes"] is True


@pytest.mark.usefixtures("declared")
def test_rows_that_another_declaration_would_build_otherwise_are_named(flights: FlightsLake, tmp_path: Path) -> None:
    """The declaration lost its log: the audit builds other rows than were stored, says so, and exits 1."""
    text = Path(__file__).parents[3].joinpath("include/datasets/flights.py").read_text()
    (tmp_path / "flights.py").write_text(text)

    done = CliRunner().invoke(commands, ["audit", "leakage", "flight_delay", "2013-01-02", "--json"])

    assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
    found = json.loads(done.stdout)["2013-01-02"]
    assert done.exit_code == 1, done.output
    assert {one["check"] for one in found["findings"] if one["wrong"] > 0} == {"cut", "poison", "shuffle"}
    assert len(flights.digests("flights")) == 3


@pytest.mark.usefixtures("declared")
def test_a_person_asks_why(flights: FlightsLake) -> None:
    """By row number and by label ID: the same timeline, with the version that was used and the one that came too late."""
    _, row = find_row("flight_delay", "400", DAYS[1], lake=flights.lake)

    by_number = CliRunner().invoke(commands, ["explain", "flight_delay", "400", "--day", "2013-01-02"])
    by_label = CliRunner().invoke(commands, ["explain", "flight_delay", row["label_id"]])

    assert by_number.exit_code == 0
    assert by_number.stdout == by_label.stdout
    assert "=> 2013-01-02 06:00:00Z  2013-01-01 preliminary, published (declared)" in by_number.stdout
    assert "too late: its day had ended at 2013-01-02 05:00:00Z, but nobody could read it at label time" in by_number.stdout


def test_a_row_that_is_not_there_is_named(flights: FlightsLake) -> None:
    """With what to give instead."""
    with pytest.raises(RowNotFound, match="no label or sample 'x' in any day"):
        find_row("flight_delay", "x", None, lake=flights.lake)


@pytest.mark.usefixtures("declared")
@pytest.mark.parametrize(
    "asked", [["explain", "flight_delay", "400", "--day", "4.1."], ["audit", "leakage", "flight_delay", "4.1."]]
)
def test_a_day_that_is_none_is_refused_with_an_example(asked: list[str]) -> None:
    """A slip of the fingers is answered with what would have been right, and status 2."""
    done = CliRunner().invoke(commands, asked)

    assert done.exit_code == 2
    assert "'4.1.' is no date such as 2013-01-04" in " ".join(done.output.replace("│", " ").split())
