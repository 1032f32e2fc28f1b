"""What a training machine needs not have."""

from __future__ import annotations

import subprocess
import sys

from headrace.lake.local import LocalStore

from tests.headrace.loader.releases import release

WITHOUT = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"airflow", "torch", "pandas", "duckdb", "scipy", "great_expectations", "rich", "typer", "boto3", "s3fs"}:
            raise ImportError(f"{name} is blocked")
sys.meta_path.insert(0, Blocked())
from pathlib import Path
from headrace.loader import LoaderOptions, open_loader
loader = open_loader(sys.argv[1], "numbers", options=LoaderOptions(cache_folder=Path(sys.argv[2])))
print(sum(len(batch) for batch in loader))
"""


def test_reading_needs_neither_airflow_nor_torch_nor_pandas(lake: LocalStore, tmp_path: str) -> None:
    """A whole epoch from a local lake with all of them blocked; S3 asks for boto3 besides."""
    release(lake, [4, 5])

    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, lake.uri, f"{tmp_path}/cache"], capture_output=True, text=True, check=False
    )

    assert (done.stdout, done.stderr) == ("9\n", "")
