"""`bin/venv` refuses an unfit Python in one sentence, before it downloads anything."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from local.places import REPOSITORY


def asked(tmp_path: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run `bin/venv` for a new place."""
    environment = {"PATH": os.defpath, "HEADRACE_VENV": str(tmp_path / "venv"), **variables}
    return subprocess.run([str(REPOSITORY / "bin" / "venv")], env=environment, capture_output=True, text=True, check=False)


def test_an_old_python_is_named_with_its_version(tmp_path: Path) -> None:
    """The reader learns what was found and what is needed."""
    old = tmp_path / "python"
    old.write_text("#!/bin/sh\necho 3.9\n", encoding="utf-8")
    old.chmod(0o755)

    told = asked(tmp_path, HEADRACE_PYTHON=str(old))

    assert (told.returncode, told.stdout) == (2, "")
    assert told.stderr == f"bin/venv: HEADRACE_PYTHON={old} is Python 3.9; give the path of a Python 3.11, 3.12 or 3.13.\n"


def test_a_folder_that_is_no_environment_is_left_alone(tmp_path: Path) -> None:
    """Clearing it could cost somebody their files."""
    (tmp_path / "venv").mkdir()

    told = asked(tmp_path)

    assert told.returncode == 2
    assert "exists and is no Python environment" in told.stderr
    assert (tmp_path / "venv").exists()
