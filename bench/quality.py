"""Profile + all checks + page, against Great Expectations on pandas and against Evidently, side by side on one machine.

    python bench/quality.py --rows 1000000 --evidently /path/to/venv/bin/python
    python bench/quality.py --rows 300000 --only headrace evidently --times 1 --evidently /path/to/venv/bin/python

Each contestant runs in a process of its own over the same Parquet files (50 columns: 30 float, 11 integer, 8 text, 1 instant), after a
warm import; reported are wall and CPU seconds of the work itself and the process's peak memory. They take turns `--times` times and the run
with the fewest CPU seconds counts; on a busy machine compare these, they move little. GX is given 150 built-in expectations (null share,
range or set, mean or distinct count of each column), once with its default result format and once with booleans only, ours 150 checks
that ask at least as much, drift tests among them; Evidently its data-drift preset, which makes its drawings whether a page is
written or not. `judge_cpu_s` is the part that is left when the profile is there, as it is in a gate: profiles are made while shards
are written, and a day is judged again without its rows.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

FLOATS, INTEGERS, TEXTS = 30, 11, 8


def make(folder: Path, rows: int) -> None:
    """`reference.parquet` and `current.parquet`, seeded."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    for seed, name in enumerate(("reference", "current")):
        draw = np.random.default_rng(seed)
        with pq.ParquetWriter(folder / f"{name}.parquet", _schema()) as writer:
            for start in range(0, rows, 100_000):
                count = min(100_000, rows - start)
                columns: dict[str, Any] = {f"f{n}": draw.normal(n, 1 + n / 10, count) for n in range(FLOATS)}
                columns |= {f"i{n}": draw.integers(0, 10 ** (1 + n % 5), count) for n in range(INTEGERS)}
                columns |= {f"s{n}": draw.choice([f"level{k}" for k in range(5 + 10 * n)], count) for n in range(TEXTS)}
                columns["t"] = pa.array(np.sort(draw.integers(1_300_000_000, 1_400_000_000, count)), pa.timestamp("s"))
                writer.write_table(pa.table(columns).cast(_schema()))


def _schema() -> Any:
    import pyarrow as pa

    fields = [(f"f{n}", pa.float64()) for n in range(FLOATS)] + [(f"i{n}", pa.int64()) for n in range(INTEGERS)]
    return pa.schema([*fields, *((f"s{n}", pa.string()) for n in range(TEXTS)), ("t", pa.timestamp("ms"))])


def headrace(folder: Path) -> Callable[[], Any]:
    """The current file streamed in batches, on bins frozen before; verdict and page."""
    import pyarrow.parquet as pq
    from headrace.quality.expectations import _classes
    from headrace.quality.profiler import profile_table
    from headrace.quality.reference import load_reference
    from headrace.quality.report import report_page
    from headrace.quality.verdict import judge

    _classes()
    policy, reference = _policy(), load_reference(folder / "reference.json")

    def work() -> Any:
        # In small reads, not ahead, so that the file is never in memory; texts as the dictionaries they are stored as.
        texts = [f"s{n}" for n in range(TEXTS)]
        file = pq.ParquetFile(folder / "current.parquet", pre_buffer=False, buffer_size=65_536, read_dictionary=texts)
        batches = file.iter_batches(65_536, use_threads=False)
        profile = profile_table(batches, policy.plan, code_fingerprint="c", bins=reference.bins)
        began = time.process_time()
        verdict = judge(profile, policy, reference)
        page = report_page(verdict)
        judged = round(time.process_time() - began, 2)
        return {"checks": len(verdict.checks), "state": verdict.state, "page_bytes": len(page), "judge_cpu_s": judged}

    return work


def _policy() -> Any:
    from headrace.spec.quality import Column, Drift, MissingShare, QualityPolicy, Range, RowCount, TopShare

    numeric = [f"f{n}" for n in range(FLOATS)] + [f"i{n}" for n in range(INTEGERS)]
    texts = [f"s{n}" for n in range(TEXTS)]
    checks: list[Any] = [RowCount()]
    checks += [MissingShare(column=name) for name in (*numeric, *texts)]
    checks += [Range(column=name, minimum=-1000, maximum=1_000_000) for name in numeric]
    checks += [TopShare(column=name, maximum=0.9) for name in (*texts, numeric[-1], numeric[-2])]
    checks += [Drift(column=name) for name in (*numeric, *texts)]
    columns = [Column(name=name, kind="numeric") for name in numeric] + [Column(name=name, kind="categorical") for name in texts]
    return QualityPolicy(columns=tuple(columns), checks=tuple(checks), reference="reference.json")


def freeze(folder: Path) -> None:
    """The reference, made once and not timed: it is made once in life, too."""
    import pyarrow.parquet as pq
    from headrace.quality.reference import build_reference, reference_bytes

    table = next(pq.ParquetFile(folder / "reference.parquet").iter_batches(1_000_000))
    import pyarrow as pa

    made = build_reference(pa.Table.from_batches([table]), _policy().plan, code_fingerprint="c")
    (folder / "reference.json").write_bytes(reference_bytes(made))


def gx_booleans(folder: Path) -> Callable[[], Any]:
    """Booleans only: its fastest way, without a number or an example."""
    return gx(folder, "BOOLEAN_ONLY")


def gx(folder: Path, result_format: str = "SUMMARY") -> Callable[[], Any]:
    """Read to pandas and validate 150 built-in expectations, in the format that is its default."""
    import great_expectations as gx
    import pandas as pd

    context = gx.get_context(mode="ephemeral")
    suite = gx.ExpectationSuite(name="bench", expectations=_expectations(gx.expectations))

    def work() -> Any:
        frame = pd.read_parquet(folder / "current.parquet")
        asset = context.data_sources.add_pandas("p").add_dataframe_asset("a")
        batch = asset.add_batch_definition_whole_dataframe("w").get_batch(batch_parameters={"dataframe": frame})
        found = batch.validate(suite, result_format=result_format)
        return {"checks": len(found.results), "state": str(found.success)}

    return work


def _expectations(gxe: Any) -> list[Any]:
    numeric = [f"f{n}" for n in range(FLOATS)] + [f"i{n}" for n in range(INTEGERS)]
    texts = [f"s{n}" for n in range(TEXTS)]
    made: list[Any] = [gxe.ExpectTableRowCountToBeBetween(min_value=1), gxe.ExpectColumnToExist(column="t")]
    made += [gxe.ExpectColumnValuesToNotBeNull(column=name) for name in (*numeric, *texts, "t")]
    made += [gxe.ExpectColumnValuesToBeBetween(column=name, min_value=-1000, max_value=1_000_000) for name in numeric]
    made += [gxe.ExpectColumnMeanToBeBetween(column=name, min_value=-1000, max_value=1_000_000) for name in numeric]
    for n, name in enumerate(texts):
        made.append(gxe.ExpectColumnValuesToBeInSet(column=name, value_set=[f"level{k}" for k in range(5 + 10 * n)]))
        made.append(gxe.ExpectColumnUniqueValueCountToBeBetween(column=name, min_value=1, max_value=1000))
    return made[:150]


def evidently(folder: Path) -> Callable[[], Any]:
    """Its data-drift preset over both files in memory."""
    import pandas as pd
    from evidently import Dataset, Report
    from evidently.presets import DataDriftPreset

    def work() -> Any:
        sides = [
            Dataset.from_pandas(pd.read_parquet(folder / f"{name}.parquet").drop(columns="t"))
            for name in ("current", "reference")
        ]
        found = Report([DataDriftPreset()]).run(*sides)
        return {"checks": len(found.dict()["metrics"])}

    return work


def wide(_folder: Path) -> Callable[[], Any]:
    """The verdict over 5,000 features, profiles in hand."""
    import numpy as np
    import pyarrow as pa
    from headrace.quality.expectations import _classes
    from headrace.quality.profiler import profile_table
    from headrace.quality.reference import build_reference
    from headrace.quality.verdict import judge
    from headrace.spec.quality import Column, Drift, QualityPolicy

    _classes()
    names = [f"x{n}" for n in range(5_000)]
    policy = QualityPolicy(
        columns=tuple(Column(name=name, kind="numeric") for name in names),
        checks=tuple(Drift(column=name) for name in names),
        reference="r.json",
    )

    def rows(seed: int) -> pa.Table:  # one block, so that it leaves the memory that is measured when it is counted
        block = np.random.default_rng(seed).normal(size=(len(names), 2_000))
        return pa.table(list(block), names)

    reference = build_reference(rows(0), policy.plan, code_fingerprint="c")
    profile = profile_table(rows(1), policy.plan, code_fingerprint="c", bins=reference.bins)

    def work() -> Any:
        verdict = judge(profile, policy, reference)
        return {"checks": len(verdict.checks), "state": verdict.state}

    return work


CONTESTANTS = {"headrace": headrace, "gx": gx, "gx_booleans": gx_booleans, "evidently": evidently, "wide": wide}


def run_one(name: str, folder: Path) -> None:
    """In the contestant's own process: prepare, work once, say what it took."""
    work = CONTESTANTS[name](folder)
    wall, cpu = time.perf_counter(), time.process_time()
    said = work()
    took = {"wall_s": round(time.perf_counter() - wall, 2), "cpu_s": round(time.process_time() - cpu, 2)}
    print("RESULT" + json.dumps({**took, "peak_mb": _peak_mb(), **said}))


def _peak_mb() -> int:
    """This process's own peak; `getrusage` would tell that of the parent, if it was larger, because it survives an exec."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) // 1024


def measure(name: str, folder: Path, python: str) -> dict[str, Any]:
    """A contestant's figures, or why there are none."""
    done = subprocess.run([python, __file__, "--one", name, "--folder", str(folder)], capture_output=True, text=True, check=False)
    for line in done.stdout.splitlines():
        if line.startswith("RESULT"):
            found: dict[str, Any] = json.loads(line.removeprefix("RESULT"))
            print(name, found, file=sys.stderr, flush=True)  # a run that is stopped has said what it knew
            return found
    return {"failed": done.stderr[-500:]}


def contest(rows: int, names: list[str], times: int, evidently: str) -> dict[str, Any]:
    """The best run of each, by CPU seconds, having taken turns."""
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        make(folder, rows)
        freeze(folder)
        for _ in range(times):
            for name, found in runs.items():
                found.append(measure(name, folder, evidently if name == "evidently" else sys.executable))
    return {name: min(found, key=lambda run: run.get("cpu_s", math.inf)) for name, found in runs.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--evidently", help="a Python that has evidently")
    parser.add_argument("--only", nargs="+", choices=CONTESTANTS, help="default: all there are")
    parser.add_argument("--one", choices=CONTESTANTS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one is not None:
        run_one(options.one, options.folder)
        return
    names = options.only or [name for name in CONTESTANTS if name != "evidently" or options.evidently]
    if "evidently" in names and options.evidently is None:
        parser.error("evidently wants --evidently, a Python that has it")
    figures: dict[str, Any] = {"rows": options.rows, "columns": FLOATS + INTEGERS + TEXTS + 1}
    figures |= contest(options.rows, names, options.times, options.evidently)
    if options.only is None:
        figures["headrace_4x_rows"] = contest(4 * options.rows, ["headrace"], 1, "")["headrace"]
    ours = figures.get("headrace", {})
    for name in ("gx", "gx_booleans", "evidently"):
        if "cpu_s" in figures.get(name, {}) and "cpu_s" in ours:
            figures[f"{name}_over_headrace"] = {
                key: round(figures[name][key] / ours[key], 1) for key in ("wall_s", "cpu_s", "peak_mb")
            }
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
