"""The identity of code is a stored contract: the same on every Python, for ever, or results made before are lost."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent / "code"
REPOSITORY = Path(__file__).resolve().parents[2]
GOLDEN = json.loads((HERE / "identity-1.json").read_bytes())

_DIGESTS = """
import json, sys
import shapes
from headrace.transforms.code import code_of
print(json.dumps({name: code_of(getattr(shapes, name), name).digest for name in json.loads(sys.argv[1])}))
"""


def digests(python: str) -> dict[str, str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), str(REPOSITORY / "include")])}
    done = subprocess.run(
        [python, "-c", _DIGESTS, json.dumps(sorted(GOLDEN))], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout)
    return found


def test_the_golden_code_keeps_its_identity() -> None:
    """On the Python that runs the tests."""
    assert digests(sys.executable) == GOLDEN


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_other_pythons_agree(version: str) -> None:
    """On every supported Python that this machine has; describing code needs the standard library only."""
    python = shutil.which(f"python{version}")
    runs = python is not None and subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0
    if python is None or not runs:
        pytest.skip(f"no Python {version} here")

    assert digests(python) == GOLDEN
