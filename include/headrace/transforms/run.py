"""A partition through a transform, in the steps a run takes: plan, transform shards, publish; or all at once."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from typing import Final

from headrace.lake.store import Store
from headrace.manifests.collecting import objects_gone
from headrace.manifests.manifest import Manifest
from headrace.manifests.promote import promote, write_candidate
from headrace.manifests.run import RunIdentity
from headrace.shards.compact import Published
from headrace.spec.transform import Transform
from headrace.transforms.cores import allowed_cores
from headrace.transforms.fetch import Fetcher
from headrace.transforms.fingerprint import code_as_planned
from headrace.transforms.plan import batches, differences, manifest_in_use, plan_transform
from headrace.transforms.pool import Pool
from headrace.transforms.publish import publish_transform
from headrace.transforms.shard import Passed, transform_shard

log = logging.getLogger("headrace")

_SECONDS_BETWEEN_LINES: Final = 10.0


def transform_shards(
    transform: Transform, given: Manifest, positions: Iterable[int], *, fingerprint: str, lake: Store, cores: int | None = None
) -> None:
    """Transform some shards of the input; those with a result are done again, so give only what a plan names.

    Args:
        given: the input's manifest.
        positions: of its shards.
        fingerprint: with which the work was planned.
        cores: None: what the declaration says, else all that the process may use.

    Raises:
        CodeChanged: the code is no longer the planned one.
    """
    found = code_as_planned(transform, fingerprint)
    limits = [limit for limit in (cores, transform.cores) if limit is not None]
    chosen, fetcher = list(positions), Fetcher(lake, transform.dataset)
    with Pool(transform, found, cores=min([allowed_cores(), *limits])) as pool:
        for number, position in enumerate(chosen, start=1):
            line = _Lines(f"Shard {number} of {len(chosen)}")
            result = transform_shard(transform, found, given.shards[position], pool, fetcher, lake=lake, progress=line.say)
            line.end(result.rows)


def run_transform(transform: Transform, partition: str, run: RunIdentity, *, lake: Store, cores: int | None = None) -> Published:
    """One partition, whole, in this process and its workers: what the DAG does in tasks."""
    plan = plan_transform(transform, partition, lake=lake)
    for batch in batches(plan):
        transform_shards(transform, plan.input, batch, fingerprint=plan.fingerprint.digest, lake=lake, cores=cores)
    return publish_planned(transform, plan.input, plan.fingerprint.digest, run, lake=lake)


def publish_planned(transform: Transform, given: Manifest, fingerprint: str, run: RunIdentity, *, lake: Store) -> Published:
    """Publish what was planned; where that is in use already, and whole, it stays in use.

    Raises what `publish_transform` raises, and `CodeChanged`.
    """
    found = code_as_planned(transform, fingerprint)
    in_use = manifest_in_use(lake, transform.name, given.partition)
    if in_use is None or differences(transform, given, found, in_use) or objects_gone(lake, in_use):
        return publish_transform(transform, given, found, run, lake=lake)
    digest = write_candidate(lake, in_use, run.document())
    release = promote(lake, transform.name, {in_use.partition: digest}, run.document())
    return Published(manifest=in_use, release=release)


class _Lines:
    """Progress for the task log: a line every ten seconds, and one at the end."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._last = time.monotonic()
        self._passed: Passed | None = None

    def say(self, passed: Passed) -> None:
        self._passed = passed
        if time.monotonic() - self._last >= _SECONDS_BETWEEN_LINES:
            self._last = time.monotonic()
            log.info("%s: %d of %d samples, %s.", self._label, passed.samples, passed.of_samples, _speed(passed))

    def end(self, rows: int) -> None:
        if self._passed is not None:
            done = self._passed
            log.info("%s: %d samples became %d, %d failed; %s.", self._label, done.samples, rows, done.failed, _speed(done))


def _speed(passed: Passed) -> str:
    return f"{passed.samples / max(passed.seconds, 1e-9):,.0f} samples a second"
