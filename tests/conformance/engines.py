"""The engines a test runs on: all that are installed here, the others skipped by name."""

from __future__ import annotations

import importlib.util
import shutil

import pytest
from headrace.spec.training_set import ENGINES


def lacks(engine: str) -> str:
    """What is missing for an engine; empty if nothing is."""
    if engine != "spark":
        return ""
    if importlib.util.find_spec("pyspark") is None:
        return "pyspark is not installed: pip install 'headrace[spark]'"
    return "" if shutil.which("java") is not None else "Spark needs Java 17 on the PATH"


# As an error it would be swallowed by pyspark's own check of what is installed, which then believes that Connect is not.
NEW_PANDAS = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")

ENGINES_HERE = [
    pytest.param(name, marks=[NEW_PANDAS, pytest.mark.skipif(lacks(name) != "", reason=f"engine {name}: {lacks(name)}")])
    for name in ENGINES
]
