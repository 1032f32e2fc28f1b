"""The audits as a person runs them."""

from __future__ import annotations

import json
from pathlib import Path

from headrace.cli.audit import app
from headrace.loader.errors import RecordRefused
from typer.testing import CliRunner

from tests.headrace.loader.audit.recordings import record


def test_runs_prints_the_verdict_and_answers_by_exit_code(tmp_path: Path) -> None:
    """0 for the same data, 1 for other data; JSON on request. What cannot be read is the command line's to report."""
    record(tmp_path / "a", world=2, steps=10)
    record(tmp_path / "b", world=4, batch=2, steps=10)
    record(tmp_path / "c", world=4, batch=2, steps=10, content=lambda n: n + 1)
    (tmp_path / "empty").mkdir()

    same, other, none, as_json = (
        CliRunner().invoke(app, ["runs", str(tmp_path / "a"), str(tmp_path / name), *rest])
        for name, rest in (("b", []), ("c", []), ("empty", []), ("c", ["--json"]))
    )

    assert (same.exit_code, other.exit_code, none.exit_code, as_json.exit_code) == (0, 1, 1, 1)
    assert same.stdout.splitlines()[0] == "Verdict: the same data."
    assert "80 samples compared at the same position: 0 differ." in same.stdout
    assert "First difference: epoch 0, step 0, position 0: other content of the same sample" in other.stdout
    assert isinstance(none.exception, RecordRefused)
    answer = json.loads(as_json.stdout)
    assert (answer["verdict"], answer["different"]) == ("data_differ", 80)


def test_workers_prints_a_table_and_the_cause(tmp_path: Path) -> None:
    """The slow rank stands first."""
    record(tmp_path / "run", world=4, steps=50, times=lambda step, rank: (0.25 if rank == 2 else 0.01, 0.17))
    record(tmp_path / "fine", world=4, steps=50)

    slow, fine = (CliRunner().invoke(app, ["workers", str(tmp_path / name)]) for name in ("run", "fine"))

    assert (slow.exit_code, fine.exit_code) == (1, 0)
    assert slow.stdout.splitlines()[3].split() == ["2", "host-0", "50", "420", "250", "170"]
    assert "420 ms a step where the others take 180 ms; 250 ms of it waits for input" in slow.stdout
    assert "Cause: the input path, not the model." in slow.stdout
    assert fine.stdout.splitlines()[-1] == "No rank is slow."
