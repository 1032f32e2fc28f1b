"""Many small objects into ~100 MB shards: Headrace beside its peers and the floor, on one real S3 server.

    PYTHONPATH=include:. python bench/compaction.py --objects 10000 --size 200000 --peers /tmp/peers --json out.json

Each contender runs in a process of its own (and its own Python, where its requirements clash with ours) against the same SeaweedFS and the
same objects, in random order, `--rounds` times. Measured: wall seconds, processor seconds of the contender (its children included), of the
server meanwhile, peak memory of its largest process. Only ratios mean anything: server and contender share the machine, and the clock
cannot show less than their processor seconds together divided by the cores.

Contenders (`contenders.py`): `headrace`; `mds` (boto3 in 32 threads + mosaicml-streaming's MDSWriter); `webdataset` (boto3 in 32 threads +
ShardWriter); `litdata` (litdata.optimize with boto3); `floor` (obstore reads all, 100 MB blobs are put, nothing is checked);
`floor_verified` (the same, each blob read back and hashed, which is what a verified publication has to move at least).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import s3_server
from contenders import CONTENDERS, PEERS
from s3_server import Server

VENVS = {"mds": "mosaicml-streaming", "webdataset": "webdataset", "litdata": "litdata"}
"""Folders below `--peers`, one Python environment each."""


def main() -> None:
    options = _options()
    if options.worker is not None:
        work(options.worker, options.source, options.bucket, options.kind)
        return
    with s3_server.running(options.data) as server:
        started = time.monotonic()
        s3_server.seed("source", objects=options.objects, size_bytes=options.size, kind=options.kind)
        print(f"seeded {options.objects} x {options.size} {options.kind} in {time.monotonic() - started:.0f} s", file=sys.stderr)
        results: dict[str, list[dict[str, float]]] = {name: [] for name in options.contenders}
        for number in range(options.rounds):
            for name in random.sample(options.contenders, len(options.contenders)):
                bucket = f"out{number}{name}".replace("_", "")
                found = run(name, _python(name, options), server, source="source", bucket=bucket, kind=options.kind)
                results[name].append(found)
                print(number, name, json.dumps(found), file=sys.stderr)
    report(_summary(options, results), options.json)


def report(summary: dict[str, Any], path: Path | None) -> None:
    """Print the figures, and keep them in a file if one is named."""
    text = json.dumps(summary, indent=2)
    print(text)
    if path is not None:
        path.write_text(text + "\n")


def run(name: str, python: str, server: Server, *, source: str, bucket: str, kind: str) -> dict[str, float]:
    """One contender in a process of its own, from one bucket into a fresh one that is removed afterwards."""
    s3_server.client().create_bucket(Bucket=bucket)
    own = Path(__file__).parents[1]
    command = [python, __file__, "--worker", name, "--source", source, "--bucket", bucket, "--kind", kind]
    paths = {"PYTHONPATH": f"{own / 'include'}:{own}"} if python == sys.executable else {}
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "AWS_"))}
    before = server.processor_seconds()
    try:
        done = subprocess.run(command, env=clean | server.environment | paths, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{name}: {done.stderr[-2000:]}")
        found = dict(json.loads(done.stdout.strip().splitlines()[-1]))
        return found | {"server_cpu_seconds": round(server.processor_seconds() - before, 2)}
    finally:
        s3_server.remove(bucket)


def work(name: str, source: str, bucket: str, kind: str) -> None:
    """What the process of one contender does: it prints its figures as its last line."""
    started, before = time.monotonic(), _processor_seconds()
    written = CONTENDERS[name](source, bucket, kind)
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    found = {
        "wall_seconds": round(time.monotonic() - started, 2),
        "cpu_seconds": round(_processor_seconds() - before, 2),
        "peak_mb": round(peak / 1000, 1),
        "samples": written,
    }
    print(json.dumps(found))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, default=10_000)
    parser.add_argument("--size", type=int, default=200_000)
    parser.add_argument("--kind", choices=["random", "text"], default="random")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--contenders", nargs="+", default=list(CONTENDERS), choices=list(CONTENDERS))
    parser.add_argument("--peers", type=Path, help=f"folder of the peers' environments: {', '.join(VENVS.values())}")
    parser.add_argument("--data", type=Path, help="folder for the server's data; temporary without one")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--worker", choices=list(CONTENDERS), help=argparse.SUPPRESS)
    parser.add_argument("--bucket", help=argparse.SUPPRESS)
    parser.add_argument("--source", help=argparse.SUPPRESS)
    return parser.parse_args()


def _python(name: str, options: argparse.Namespace) -> str:
    return sys.executable if name not in PEERS or options.peers is None else str(options.peers / VENVS[name] / "bin" / "python")


def _processor_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def _summary(options: argparse.Namespace, results: dict[str, list[dict[str, float]]]) -> dict[str, Any]:
    medians = {
        name: {figure: statistics.median_low(run[figure] for run in runs) for figure in runs[0]} for name, runs in results.items()
    }
    about = {
        "objects": options.objects,
        "size_bytes": options.size,
        "kind": options.kind,
        "rounds": options.rounds,
        "cores": os.cpu_count(),
    }
    return {"about": about, "medians": medians, "ratios": _ratios(medians), "runs": results}


def _ratios(medians: dict[str, dict[str, float]]) -> dict[str, float]:
    """The best peer and the floors over Headrace: above 1, they need more."""
    ratios: dict[str, float] = {}
    for figure in ("wall_seconds", "cpu_seconds") if "headrace" in medians else ():
        others = {name: found[figure] for name, found in medians.items() if name not in {*PEERS, "headrace"}}
        peers = [medians[name][figure] for name in PEERS if name in medians]
        if peers:
            others = {"best peer": min(peers), **others}
        ours = medians["headrace"][figure]
        ratios |= {f"{name} / headrace, {figure}": round(theirs / ours, 2) for name, theirs in others.items()}
    return ratios


if __name__ == "__main__":
    main()
