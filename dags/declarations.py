"""No DAG: this file fails to import when a declaration file is wrong, so that Airflow shows which and why.

The DAGs of all other declarations (see `compact.py`, `snapshot.py`, `build.py`) go on undisturbed.
"""

from __future__ import annotations

from headrace.settings import declarations_folder
from headrace.spec.load import load_declarations

load_declarations(declarations_folder()).check()  # raises the error Airflow shows for this file
