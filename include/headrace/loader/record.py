"""The record of a run: which samples each rank was given at each step, how long it waited and how long it worked.

```
<run>/rank-00003/part-0001/header.json     who reads what, from where on
                           steps.jsonl     one line per batch, written before the batch is handed over
                           samples.bin     two little-endian 64-bit numbers per sample, in order: of its ID and of its digest
                           times.jsonl     one line per step that ended: seconds waited and worked; now and then the host's state
                           metrics.jsonl   what the training code logs: loss, grad_norm, ...
```

A process that resumes opens the next part. Lines are whole or last: a reader drops a torn last line. 16 bytes a sample, so 10 million
samples an epoch are 160 MB over all ranks. `docs/loading.md` lists the fields.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import socket
import weakref
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from headrace.loader.batch import Batch
from headrace.loader.cursor import Cursor
from headrace.loader.host import HostWatch
from headrace.loader.place import Place
from headrace.loader.read import Reading
from headrace.loader.transform import id_numbers
from headrace.spec.canonical import instant_text

FORMAT: Final = 1
HEADER, STEPS, SAMPLES, TIMES, METRICS = "header.json", "steps.jsonl", "samples.bin", "times.jsonl", "metrics.jsonl"


class Recorder:
    """Writes one rank's record below a run's folder, which all ranks may share."""

    def __init__(self, run: Path, reading: Reading, place: Place) -> None:
        self._folder = run / f"rank-{place.rank:05d}"
        self._reading = reading
        self._place = place
        self._part: Path | None = None
        self._files: dict[str, int] = {}
        # Descriptors, not file objects: a recorder that is simply dropped leaves nothing open and nothing unwritten.
        weakref.finalize(self, _close, self._files)
        self._next: Cursor | None = None
        self._step: dict[str, int] = {}
        self._watch = HostWatch()

    def opened(self, cursor: Cursor) -> None:
        """An iteration begins at the cursor; a new part unless it goes on where the last one stopped."""
        if self._part is not None and cursor == self._next:
            return
        self.close()
        self._part = self._fresh_part()
        header = self._part / HEADER
        header.write_text(json.dumps(self._header(cursor), indent=1))
        for name in (STEPS, SAMPLES, TIMES, METRICS):
            self._files[name] = os.open(self._part / name, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o644)

    def batch(self, batch: Batch, *, after: Cursor) -> None:
        """A batch is about to be handed over; `after` is the cursor behind it."""
        pairs = sample_numbers(batch)
        self._step, self._next = {"epoch": batch.epoch, "start": batch.start}, after
        content = pairs.astype("<u8").tobytes()
        self._write(SAMPLES, content)
        digest = hashlib.sha256(content).hexdigest()[:16]
        self._line(STEPS, {**self._step, "stop": batch.stop, "samples": pairs.shape[0], "digest": digest})

    def stepped(self, *, wait_seconds: float, step_seconds: float) -> None:
        """The step of the last batch ended."""
        times = {"wait_seconds": round(wait_seconds, 6), "step_seconds": round(step_seconds, 6)}
        self._line(TIMES, {**self._step, **times, **self._watch.sample()})

    def log(self, **values: float) -> None:
        """Metrics of the step under way. `loss`: this rank's own; `grad_norm`: after synchronisation, equal on all ranks;
        `sync_seconds`: of the step, waiting for other ranks. Any other name is kept too.
        """
        self._line(METRICS, {**self._step, **{name: _plain(value) for name, value in values.items()}})

    def close(self) -> None:
        _close(self._files)

    def _line(self, name: str, fields: dict[str, Any]) -> None:
        self._write(name, json.dumps(fields, separators=(",", ":")).encode() + b"\n")

    def _write(self, name: str, content: bytes) -> None:
        written = 0
        while written < len(content):
            written += os.write(self._files[name], content[written:])

    def _fresh_part(self) -> Path:
        number = 1
        while True:
            part = self._folder / f"part-{number:04d}"
            try:
                part.mkdir(parents=True)
            except FileExistsError:
                number += 1
            else:
                return part

    def _header(self, cursor: Cursor) -> dict[str, Any]:
        source, options = self._reading.source, self._reading.options
        return {
            "format": FORMAT,
            "rank": self._place.rank,
            "world_size": self._place.world_size,
            "batch_size": options.batch_size,
            "length": source.length,
            "end": options.end,
            "cursor": cursor.state(),
            "about": source.about,
            "releases": {part.pinned.dataset: part.pinned.digest for part in source.parts},
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "started_at": instant_text(datetime.now(UTC)),
        }


def sample_numbers(batch: Batch) -> NDArray[np.uint64]:
    """Two numbers per real sample: the first 64 bits of its ID and of its digest. Shape (samples, 2)."""
    numbers = np.stack([id_numbers(batch.sample_ids), id_numbers(batch.sample_digests)], axis=1)
    return numbers[batch.mask]


def _close(files: dict[str, int]) -> None:
    while files:
        os.close(files.popitem()[1])


def _plain(value: float) -> float | str:
    """JSON has no NaN or infinity: `nan`, `inf` and `-inf` are written as texts."""
    number = float(value)
    return number if math.isfinite(number) else str(number)
