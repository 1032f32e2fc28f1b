"""A Python that has PyTorch beside everything the tests have.

PyTorch is no dependency of ours and must not stand beside Airflow, so it gets an environment of its own that sees this one's packages. An
installation that would bring CUDA (gigabytes) is not made: name a Python with PyTorch in HEADRACE_TORCH_PYTHON instead.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
REQUIREMENTS = REPOSITORY / "requirements-torch.txt"
HOME = REPOSITORY / ".headrace" / "venv-torch"


def torch_python() -> str:
    """The Python to run, made on first use. Skips the test when PyTorch cannot be had, saying why."""
    named = os.environ.get("HEADRACE_TORCH_PYTHON")
    if named is not None:
        return named
    if importlib.util.find_spec("torch") is not None:
        return sys.executable
    python = HOME / "bin" / "python"
    stamp = HOME / "requirements"
    if not (stamp.exists() and stamp.read_text() == _wanted()):
        _make(python)
        stamp.write_text(_wanted())
    return str(python)


def torch_variables() -> dict[str, str]:
    """The environment in which that Python finds this repository."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(REPOSITORY / "include"), str(REPOSITORY)])}


def _wanted() -> str:
    return f"{sys.version}\n{sysconfig.get_path('purelib')}\n{REQUIREMENTS.read_text()}"


def _make(python: Path) -> None:
    _run([sys.executable, "-m", "venv", "--clear", str(HOME)])
    site = next((HOME / "lib").glob("python*/site-packages"))
    (site / "tests.pth").write_text(sysconfig.get_path("purelib") + "\n")
    install = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--quiet", "-r", str(REQUIREMENTS)]
    report = json.loads(_run([*install, "--dry-run", "--report", "-"]))
    cuda = sorted(
        one["metadata"]["name"] for one in report["install"] if one["metadata"]["name"].startswith(("nvidia", "triton", "cuda"))
    )
    if cuda:
        pytest.skip(f"the PyTorch that can be installed here is the CUDA build ({cuda[0]}, ...): set HEADRACE_TORCH_PYTHON")
    _run(install)


def _run(command: list[str]) -> str:
    variables = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=variables, timeout=1200)
    if done.returncode != 0:
        pytest.skip(f"PyTorch cannot be installed here: {done.stderr.strip().splitlines()[-1:]}")
    return done.stdout
