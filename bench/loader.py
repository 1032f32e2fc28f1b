"""Reading for training, side by side with peers: processor time per sample, and samples per second.

    python -m bench.loader --work /tmp/bench --peers /tmp/peers                              from a local folder
    python -m bench.with_s3 python -m bench.loader --work /tmp/bench --peers /tmp/peers --s3     from an S3 server started for it

Each peer runs in an environment of its own below `--peers` (`mosaicml-streaming`, `litdata`, `webdataset`, `datasets`, each with torch;
ours is `headrace`, this repository's requirements with torch), because their pins exclude each other. Everyone writes the same samples
(id, label, payload of random bytes), then reads one shuffled epoch in batches through a torch DataLoader (with 0 workers: in the training
process; ours reads in threads there) and adds up what it got. `cold` starts with an empty cache, `warm` is a new process that finds
what the cold one left; of several warm rounds, in which the libraries take turns, the cheapest counts. Imports are not counted. Ours
verifies every byte; the peers run as they come. Rates of a shared machine say little; processor time per sample and ratios say more.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.loader_peers import READERS, SIZES

ROOT: Final = Path(__file__).parents[1]
OURS: Final = "headrace"
_PATIENCE_SECONDS: Final = 900
Result = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Bench:
    """Where everything lies. `place`: `local` or `s3`."""

    work: Path
    peers: Path
    place: str

    def source(self, library: str, size: str) -> str:
        return f"s3://headrace/bench/{library}/{size}" if self.place == "s3" else str(self.work / "data" / library / size)

    def cache(self, library: str, size: str) -> Path:
        return self.work / "cache" / self.place / library / size

    def write(self, library: str, size: str) -> None:
        """Local data stay from run to run."""
        done = self.work / "data" / library / f"{size}.done"
        if self.place == "local" and done.exists():
            return
        answer = call(self.peers, "write", library, self.source(library, size), str(self.cache(library, size)), size, "0")
        if self.place == "local" and "error" not in answer:
            done.touch()

    def read(self, library: str, size: str, workers: int, turn: str) -> Result:
        cache = self.cache(library, size)
        if turn == "cold":
            shutil.rmtree(cache, ignore_errors=True)
        answer = call(self.peers, "read", library, self.source(library, size), str(cache), size, str(workers))
        result = {"place": self.place, "turn": turn, **answer}
        print(json.dumps(result), file=sys.stderr, flush=True)
        return result


def run(bench: Bench, libraries: list[str], sizes: list[str], counts: list[int], rounds: int) -> Iterator[Result]:
    """Every setting in turn; a setting's libraries follow each other closely."""
    for size in sizes:
        for library in libraries:
            bench.write(library, size)
        for workers in counts:
            for turn in ("cold", *["warm"] * rounds):
                for library in libraries:
                    yield bench.read(library, size, workers, turn)


def call(peers: Path, *arguments: str) -> Result:
    """`loader_epoch.py` in the library's environment; a failure is a result too. Bytecode is kept: compiling is no part of reading."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPATH"] = f"{ROOT}:{ROOT / 'include'}"
    python = str(peers / arguments[1] / "bin" / "python")
    command = [python, "-m", "bench.loader_epoch", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_PATIENCE_SECONDS, env=environment)
    except subprocess.TimeoutExpired:
        return {"library": arguments[1], "size": arguments[4], "workers": int(arguments[5]), "error": "took too long"}
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or (arguments[0] == "read" and not lines):
        print(f"{arguments}: {done.stderr[-600:]}", file=sys.stderr)
        return {"library": arguments[1], "size": arguments[4], "workers": int(arguments[5]), "error": done.stderr[-300:]}
    return json.loads(lines[-1]) if lines else {}


def cheapest(results: list[Result]) -> dict[tuple[str, int, str, str], Result]:
    """(size, workers, turn, library) -> the round that took the least processor time."""
    best: dict[tuple[str, int, str, str], Result] = {}
    for one in results:
        key = (one["size"], one["workers"], one["turn"], one["library"])
        if "error" not in one and (key not in best or one["cpu_us_per_sample"] < best[key]["cpu_us_per_sample"]):
            best[key] = one
    return best


def table(results: list[Result], libraries: list[str]) -> str:
    """Markdown: a line for each setting, a column for each library, and how many times cheaper we are than the best peer."""
    best = cheapest(results)
    settings = sorted({key[:3] for key in best})
    lines = ["| size, workers, turn | " + " | ".join(libraries) + " | best peer / ours |", "| --- " * (len(libraries) + 2) + "|"]
    for setting in settings:
        found = {library: best.get((*setting, library)) for library in libraries}
        peers = [one["cpu_us_per_sample"] for name, one in found.items() if one is not None and name != OURS]
        ours = found.get(OURS)
        ratio = f"{min(peers) / ours['cpu_us_per_sample']:.1f}" if ours is not None and peers else "-"
        cells = [
            "-" if one is None else f"{one['cpu_us_per_sample']:g} ({one['samples_per_second']}/s)" for one in found.values()
        ]
        lines.append(f"| {', '.join(map(str, setting))} | " + " | ".join([*cells, ratio]) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Reading for training, side by side with peers.")
    parser.add_argument("--work", type=Path, required=True, help="where data and caches lie")
    parser.add_argument("--peers", type=Path, required=True, help="one environment below it for each library")
    parser.add_argument("--libraries", nargs="+", choices=list(READERS), default=list(READERS))
    parser.add_argument("--sizes", nargs="+", choices=list(SIZES), default=list(SIZES))
    parser.add_argument("--workers", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--rounds", type=int, default=3, help="how often each reads warm; the cheapest counts")
    parser.add_argument(
        "--s3", action="store_true", help="from s3://headrace/bench instead; needs AWS_ENDPOINT_URL and credentials"
    )
    parser.add_argument("--json", type=Path, help="where every single result goes")
    chosen = parser.parse_args()
    bench = Bench(work=chosen.work.resolve(), peers=chosen.peers.resolve(), place="s3" if chosen.s3 else "local")
    results = list(run(bench, chosen.libraries, chosen.sizes, chosen.workers, chosen.rounds))
    if chosen.json is not None:
        chosen.json.write_text(json.dumps(results, indent=1))
    print("Processor microseconds a sample (samples a second)\n")
    print(table(results, chosen.libraries))


if __name__ == "__main__":
    main()
