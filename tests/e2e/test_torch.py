"""Real PyTorch: its own tests, and the page on loading run as written."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from headrace.lake.local import LocalStore

from tests.e2e.torch_environment import REPOSITORY, torch_python, torch_variables

pytestmark = [pytest.mark.servers, pytest.mark.timeout(1800)]
DAYS = [date(2013, 1, 1) + timedelta(n) for n in range(6)]


def test_everything_that_needs_torch_passes_with_it() -> None:
    """The files that are skipped where PyTorch is missing."""
    rooms = ("loader/test_torch.py", "loader/test_blocks.py", "checkpoint/test_torch_parts.py")
    files = [f"tests/headrace/{name}" for name in rooms]

    done = subprocess.run(
        [torch_python(), "-m", "pytest", "-q", *files],
        capture_output=True,
        text=True,
        check=False,
        cwd=REPOSITORY,
        env=torch_variables(),
    )

    assert done.returncode == 0, done.stdout[-8000:]
    assert "skipped" not in done.stdout.splitlines()[-1]


@pytest.fixture(scope="module")
def flights(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Six days of the flights training set in a local lake, as the shipped declarations make it; the gate has its own tests."""
    from headrace.features.build import build_candidate
    from headrace.features.materialise import materialise
    from headrace.features.versions import scheduled_keys
    from headrace.manifests.promote import promote
    from headrace.manifests.run import RunIdentity
    from headrace.shards.compact import plan_partition, publish_partition
    from headrace.shards.group import write_group
    from headrace.shards.plan import batches
    from headrace.spec.load import load_declarations

    from local import landing as landed

    root = tmp_path_factory.mktemp("flights")
    source, lake = LocalStore(root / "landing"), LocalStore(root / "lake")
    declared = load_declarations(REPOSITORY / "include" / "datasets")
    [dataset], [view], [training_set] = declared.datasets, declared.views, declared.training_sets
    run = RunIdentity(dag="test", run_id="test", kind="local", partition_key="test")
    for item in landed.source_objects(landed.flights_table(landed.flights_file()), DAYS):
        source.put_new(item.key, item.content)
    for day in DAYS:
        plan = plan_partition(dataset, day.isoformat(), source=source, lake=lake)
        for group in itertools.chain(*batches(plan)):
            write_group(dataset, plan, group, source=source, lake=lake)
        publish_partition(dataset, plan, run, lake=lake)
    for day in DAYS:
        for key in scheduled_keys(view, day):
            materialise(view, key, run, lake=lake, clock=datetime.now(UTC))
    for day in DAYS:
        candidate = build_candidate(training_set, day, run, lake=lake, observe=lambda rows: {})
        promote(lake, training_set.name, {day.isoformat(): candidate.digest}, run.document())
    return lake.uri


def script(folder: Path) -> Path:
    """`train.py` as the page prints it."""
    [code] = re.findall(r"```python\n(.*?)```", (REPOSITORY / "docs" / "loading.md").read_text(), flags=re.DOTALL)
    path = folder / "train.py"
    path.write_text(code)
    return path


def test_the_page_on_loading_does_what_it_says(flights: str, tmp_path: Path) -> None:
    """Stopped in the middle of an epoch and resumed with two workers, the run saw the batches of the unbroken one, to the same loss."""
    variables = {**torch_variables(), "HEADRACE_LAKE": flights, "HEADRACE_CACHE": str(tmp_path / "cache")}
    program = script(tmp_path)

    def train(run: str, *options: str) -> str:
        command = [torch_python(), "-W", "error", str(program), f"runs/{run}", *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=variables)
        assert done.returncode == 0, done.stderr
        return done.stdout

    whole = train("whole")
    stopped = train("broken", "--stop-at", "55")
    resumed = train("broken", "--workers", "2")
    audit = [sys.executable, "-c", "from headrace.cli.main import app; app()", "audit", "runs", "runs/whole", "runs/broken"]
    done = subprocess.run(audit, capture_output=True, text=True, check=False, cwd=tmp_path, env=dict(os.environ) | variables)

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[0] == "Verdict: the same data and the same gradients."
    assert "training at step 55" in stopped
    assert "resumed at step 55" in resumed
    losses = [re.findall(r"done at step (\d+), loss ([\d.]+)", text) for text in (whole, resumed)]
    assert losses[0] == losses[1] != []
