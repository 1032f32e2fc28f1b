"""Recorded runs made by hand: any sampler, any fault, any timing."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from headrace.loader.record import HEADER, METRICS, SAMPLES, STEPS, TIMES

Sampler = Callable[[int, int], list[int]]
"""(step, rank) -> the samples that rank was given."""


def record(
    run: Path,
    *,
    world: int,
    steps: int,
    batch: int = 4,
    sampler: Sampler | None = None,
    content: Callable[[int], int] = lambda n: n,
    hosts: Sequence[str] | None = None,
    times: Callable[[int, int], tuple[float, float]] = lambda step, rank: (0.01, 0.17),
    metrics: Callable[[int, int], dict[str, Any]] = lambda step, rank: {},
    host_facts: Callable[[int], dict[str, float]] = lambda rank: {},
    length: int = 10_000,
    part: int = 1,
    first_step: int = 0,
    started_at: str = "2024-01-01T00:00:00.000000Z",
) -> Path:
    """Write what every rank of a run would have; the default sampler is the right one, sample `n` at position `n`."""
    size = world * batch
    for rank in range(world):
        folder = run / f"rank-{rank:05d}" / f"part-{part:04d}"
        folder.mkdir(parents=True)
        header = {
            "format": 1, "rank": rank, "world_size": world, "batch_size": batch, "length": length, "releases": {"d": "0" * 64},
            "host": "host-0" if hosts is None else hosts[rank], "started_at": started_at,
            "cursor": {"epoch": 0, "position": first_step * size},
        }  # fmt: skip
        (folder / HEADER).write_text(json.dumps(header))
        lines: dict[str, list[dict[str, Any]]] = {STEPS: [], TIMES: [], METRICS: []}
        pairs: list[list[int]] = []
        for step in range(first_step, steps):
            place = {"epoch": 0, "start": step * size}
            right = [step * size + (rank - step * size) % world + k * world for k in range(batch)]
            given = right if sampler is None else sampler(step, rank)
            pairs += [[n, content(n)] for n in given]
            lines[STEPS].append({**place, "stop": (step + 1) * size, "samples": len(given)})
            wait, work = times(step, rank)
            lines[TIMES].append({**place, "wait_seconds": wait, "step_seconds": work, **host_facts(rank)})
            lines[METRICS].append({**place, **metrics(step, rank)})
        (folder / SAMPLES).write_bytes(np.array(pairs, dtype="<u8").tobytes())
        for name, content_lines in lines.items():
            (folder / name).write_text("".join(json.dumps(line) + "\n" for line in content_lines))
    return run
