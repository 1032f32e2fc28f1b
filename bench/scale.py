"""Ten times the bytes in at most 10.5 times the time: compaction at two sizes, on one real S3 server.

    PYTHONPATH=include:. python bench/scale.py --objects 1000 --size 200000 --times 10 --rounds 3 --json out.json

Each run is a process of its own, small and large in turn, every round. Printed are medians and, for wall clock, processor seconds and peak
memory, large over small. Start-up (imports, connecting) is in both, so the law is also told without it: the processor seconds of a run of
ten objects are subtracted from each.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path
from typing import Any

import compaction

FIGURES = ("wall_seconds", "cpu_seconds", "peak_mb")
LAW = 10.5


def main() -> None:
    options = _options()
    sizes = {"empty": 10, "small": options.objects, "large": options.objects * options.times}
    results: dict[str, list[dict[str, float]]] = {name: [] for name in sizes}
    with compaction._server(options.data) as environment:
        for name, count in sizes.items():
            seeding = argparse.Namespace(objects=count, size=options.size, kind=options.kind, bucket=name)
            compaction._seed(seeding, environment)
        for number in range(options.rounds):
            for name in sizes:
                running = argparse.Namespace(kind=options.kind, source=name)
                found = compaction._run("headrace", sys.executable, running, environment, f"out{number}{name}")
                results[name].append(found)
                print(number, name, json.dumps(found), file=sys.stderr)
    summary = _summary(options, results)
    print(json.dumps(summary, indent=2))
    if options.json is not None:
        options.json.write_text(json.dumps(summary, indent=2) + "\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, default=1000, help="of the smaller run")
    parser.add_argument("--size", type=int, default=200_000)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--kind", choices=["random", "text"], default="random")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--data", type=Path, help="folder for the server's data; temporary without one")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def _summary(options: argparse.Namespace, results: dict[str, list[dict[str, float]]]) -> dict[str, Any]:
    medians = {name: {one: statistics.median(run[one] for run in runs) for one in FIGURES} for name, runs in results.items()}
    small, large, empty = medians["small"], medians["large"], medians["empty"]
    ratios = {one: round(large[one] / small[one], 2) for one in FIGURES}
    without = {one: round((large[one] - empty[one]) / (small[one] - empty[one]), 2) for one in ("wall_seconds", "cpu_seconds")}
    return {
        "about": {"objects": options.objects, "times": options.times, "size_bytes": options.size, "rounds": options.rounds},
        "medians": medians,
        "large over small": ratios,
        "the same without start-up": without,
        "wanted": f"time at most {LAW * options.times / 10:g}",
    }


if __name__ == "__main__":
    main()
