"""One library writes its data, or reads one epoch of it, in this process: what `loader.py` starts in each library's environment.

python -m bench.loader_epoch read headrace SOURCE CACHE 500B 1
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import resource
import sys
import time
from typing import Any

from bench.loader_peers import READERS, SIZES


def let_workers_end() -> None:
    """So that their time is counted."""
    gc.collect()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            if os.waitpid(-1, os.WNOHANG) == (0, 0):
                time.sleep(0.05)
        except ChildProcessError:
            break


def cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def measure(library: str, source: str, cache: str, size: str, workers: int) -> dict[str, Any]:
    """One epoch, in this process."""
    reader = READERS[library]()
    for name in ("torch", *reader.imports):
        importlib.import_module(name)
    started, before = time.perf_counter(), cpu_seconds()
    count = bytes_seen = labels = 0
    first = 0.0
    batches = reader.read(source, cache, size, workers)
    for batch in batches:
        first = first or time.perf_counter() - started
        payloads, numbers = batch["payload"], batch["label"]
        count += len(numbers)
        bytes_seen += sum(len(payload) for payload in payloads)
        labels += int(sum(numbers.tolist()))
    wall = time.perf_counter() - started
    del batches, batch
    let_workers_end()
    cpu = cpu_seconds() - before
    return {
        "library": library, "size": size, "workers": workers, "samples": count, "expected": SIZES[size].count,
        "samples_per_second": round(count / wall), "cpu_us_per_sample": round(cpu / max(count, 1) * 1e6, 2),
        "first_batch_seconds": round(first, 3), "bytes": bytes_seen, "labels": labels,
    }  # fmt: skip


def main() -> None:
    verb, library, source, cache, size, workers = sys.argv[1:]
    if verb == "write":
        READERS[library]().write(source, size)
    else:
        print(json.dumps(measure(library, source, cache, size, int(workers))))


if __name__ == "__main__":
    main()
