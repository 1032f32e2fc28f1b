"""What a start waits for: each DAG file that makes a DAG, and no other."""

from __future__ import annotations

from pathlib import Path

from headrace.spec.load import load_declarations

from local.daily import dag_files, idle_files
from local.places import REPOSITORY

OURS = {"compact.py", "rollup.py", "transform.py", "snapshot.py", "build.py", "approve.py", "monitor.py"}


def test_where_nothing_is_declared_only_the_house_looks_after_itself(tmp_path: Path) -> None:
    """A file that is waited for and makes nothing would cost every start the whole patience."""
    assert dag_files(REPOSITORY / "dags") - idle_files(load_declarations(tmp_path)) == {"maintenance.py"}


def test_what_is_declared_is_waited_for() -> None:
    """The running example has neither a transform nor a rollup."""
    assert OURS - idle_files(load_declarations(REPOSITORY / "include" / "datasets")) == OURS - {"transform.py", "rollup.py"}
