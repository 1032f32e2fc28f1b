"""Great Expectations is used so that nothing of it is shared, stored or loaded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

CHILD = """
from pathlib import Path
import pyarrow as pa
from headrace.quality.profiler import profile_table
from headrace.quality.verdict import judge
from headrace.spec.quality import Column, MissingShare, QualityPolicy

policy = QualityPolicy(columns=(Column(name="x", kind="numeric"),), checks=(MissingShare(column="x"),))
profile = profile_table(pa.table({"x": [1.0, 2.0]}), policy.plan, code_fingerprint="c")
print([judge(profile, policy).check("missing_share.x").state for _ in range(2)], sorted(map(str, Path().rglob("*"))))
"""


def test_b50_a_fresh_process_judges_without_any_store(tmp_path: Path) -> None:
    """B50: our expectations are built from the declaration by the process that needs them; no context, suite or file is left behind."""
    home = {**os.environ, "HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run([sys.executable, "-c", CHILD], cwd=tmp_path, env=home, capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "['ok', 'ok'] []"
