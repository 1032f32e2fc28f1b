"""Ten times the bytes in at most 10.5 times the time: compaction at two sizes, on one real S3 server.

    PYTHONPATH=include:. python bench/scale.py --objects 2500 --size 200000 --times 10 --rounds 3 --json out.json

Each run is a process of its own; a run of ten objects, a small and a large one in turn, every round. Printed are medians and, for wall
clock, processor seconds and peak memory, large over small. Start-up (imports, connecting) is in all three, so the law is also told without
it: the run of ten objects is subtracted from both. For that the least of the rounds is taken, since noise only adds; and, so that nobody
believes a quotient more than it deserves, what the rounds' own figures would have made of it at the least and at the most.

The small run must be several times its start-up, or the difference is mostly noise. Five hundred objects of 200 kB are 0.4 s of work behind
0.76 s of start-up: over three rounds the quotient to ten times as much came out anywhere from 10.3 to 14.7, the least rounds giving 13.1.
In the same hour a byte cost 4.4 ns in the first 100 MB, 4.9 in the second and 4.9 from there to 1 GB: no growth, and a first shard
0.05 s cheaper than its successors, since it has the cores to itself.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import sys
from pathlib import Path
from typing import Any

import compaction
import s3_server

FIGURES = ("wall_seconds", "cpu_seconds", "server_cpu_seconds", "peak_mb")
TIMES = FIGURES[:3]
LAW = 10.5
Runs = dict[str, list[dict[str, float]]]


def main() -> None:
    options = _options()
    sizes = {"empty": 10, "small": options.objects, "large": options.objects * options.times}
    results: Runs = {name: [] for name in sizes}
    with s3_server.running(options.data) as server:
        for name, count in sizes.items():
            s3_server.seed(name, objects=count, size_bytes=options.size, kind=options.kind)
        for number in range(options.rounds):
            for name in sizes:
                bucket = f"out{number}{name}"
                found = compaction.run("headrace", sys.executable, server, source=name, bucket=bucket, kind=options.kind)
                results[name].append(found)
                print(number, name, json.dumps(found), file=sys.stderr)
    compaction.report(_summary(options, results), options.json)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, default=2500, help="of the smaller run")
    parser.add_argument("--size", type=int, default=200_000)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--kind", choices=["random", "text"], default="random")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--data", type=Path, help="folder for the server's data; temporary without one")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def _summary(options: argparse.Namespace, results: Runs) -> dict[str, Any]:
    medians = {name: {one: statistics.median(run[one] for run in runs) for one in FIGURES} for name, runs in results.items()}
    return {
        "about": {"objects": options.objects, "times": options.times, "size_bytes": options.size, "rounds": options.rounds},
        "medians": medians,
        "large over small": {one: round(medians["large"][one] / medians["small"][one], 2) for one in FIGURES},
        "the same without start-up": {one: _without_start_up(results, one) for one in TIMES},
        "wanted": f"time at most {LAW * options.times / 10:g}",
        "runs": results,
    }


def _without_start_up(results: Runs, figure: str) -> dict[str, float | None]:
    """Large over small, the run of ten objects taken from both; None where the small run shows no work of its own."""

    def quotient(empty: float, small: float, large: float) -> float | None:
        return round((large - empty) / (small - empty), 2) if small > empty else None

    seen = [[run[figure] for run in results[name]] for name in ("empty", "small", "large")]
    every = [one for one in itertools.starmap(quotient, itertools.product(*seen)) if one is not None]
    return {"of the least": quotient(*map(min, seen)), "lowest": min(every, default=None), "highest": max(every, default=None)}


if __name__ == "__main__":
    main()
