"""From shard results to a release: every sample accounted for, failures kept with their tracebacks, the manifest written last."""

from __future__ import annotations

from collections import Counter
from typing import Any

from headrace.lake import layout
from headrace.lake.immutable import lacking
from headrace.lake.store import Store
from headrace.manifests.manifest import Counts, Manifest
from headrace.manifests.promote import promote, write_candidate
from headrace.manifests.run import RunIdentity
from headrace.shards.compact import Published
from headrace.shards.index import write_index
from headrace.shards.schema import schema_entries
from headrace.shards.upload import read_parts
from headrace.shards.workspace import workspace
from headrace.sources.quarantine import Quarantined, keep
from headrace.spec.canonical import digest_of
from headrace.spec.transform import Tensor, Transform
from headrace.transforms.chain import rows_schema
from headrace.transforms.code_store import environment, keep_code
from headrace.transforms.errors import SamplesDiffer, ShardNotTransformed, TooMuchFailed
from headrace.transforms.fingerprint import Fingerprint, StepCode
from headrace.transforms.input_schema import input_schema
from headrace.transforms.job import FailedSample
from headrace.transforms.result import ShardResult, find_results


def publish_transform(
    transform: Transform, given: Manifest, fingerprint: Fingerprint, run: RunIdentity, *, lake: Store
) -> Published:
    """Account for every sample of the input, store code and manifest, make the release.

    Raises:
        ShardNotTransformed: a result, or a shard it names, is not there.
        SamplesDiffer: a sample is lost or doubled.
        SampleIdRepeated: two samples claim one ID.
        TooMuchFailed: more samples failed than the declaration allows; nothing is published.
    """
    results = _results(transform, given, fingerprint, lake)
    failed = [failure for result in results for failure in result.failed]
    for failure in failed:
        keep(lake, transform.name, given.partition, quarantined(transform.name, failure), None)
    _check_failed(transform, given, failed)
    manifest = _manifest(transform, given, fingerprint, results, lake)
    keep_code(lake, transform, fingerprint)
    identity = {**run.document(), "environment": environment(fingerprint)}
    digest = write_candidate(lake, manifest, identity)
    release = promote(lake, transform.name, {given.partition: digest}, identity)
    return Published(manifest=manifest, release=release)


def quarantined(transform: str, failure: FailedSample) -> Quarantined:
    """The record of a sample that made a step raise."""
    return Quarantined(
        key=failure.source_key,
        etag=failure.source_etag,
        size_bytes=0,
        reason=failure.kind,
        subject=f"sample {failure.sample_id}, step {failure.step}",
        found=f"{failure.kind}: {failure.message}",
        expected="a function that takes it",
        remedy=f"Look at it with `headrace replay {transform} {failure.sample_id}`; mend the function, or the source object and land it "
        "again.",
        sample_id=failure.sample_id,
        traceback=failure.traceback,
    )


def _results(transform: Transform, given: Manifest, fingerprint: Fingerprint, lake: Store) -> list[ShardResult]:
    found = find_results(lake, transform.name, fingerprint.digest, [shard.sha256 for shard in given.shards])
    results = [result for result in found if result is not None]
    wanted = [(layout.shard(transform.name, shard.sha256), shard.size_bytes) for result in results for shard in result.shards]
    gone = lacking(lake, wanted)
    if len(results) < len(found) or gone:
        raise ShardNotTransformed(
            f"{transform.name} {given.partition}",
            found=f"{len(found) - len(results)} of {len(found)} input shards without a result, {len(gone)} shards missing",
            expected="every input shard transformed, and its shards there",
            remedy="Clear the run from its plan task: what is done already is kept.",
        )
    return results


def _manifest(
    transform: Transform, given: Manifest, fingerprint: Fingerprint, results: list[ShardResult], lake: Store
) -> Manifest:
    rows = sum(result.rows for result in results)
    parts = [result.part for result in results if result.part is not None]
    with workspace() as folder:
        index = write_index(
            lake, transform.name, given.partition, read_parts(lake, transform.name, parts), rows=rows, folder=folder
        )
    failed = [failure for result in results for failure in result.failed]
    manifest = Manifest(
        dataset=transform.name,
        partition=given.partition,
        shards=tuple(shard for result in results for shard in result.shards),
        index=index,
        schema=schema_entries(rows_schema(transform, input_schema(lake, given))),
        counts=_counts(given, results, failed),
        inventory_digest=digest_of([[given.dataset, given.partition, given.digest]]),
        declaration_digest=digest_of(transform),
        facts=_facts(transform, given, fingerprint, failed),
    )
    _check_counts(manifest)
    return manifest


def _counts(given: Manifest, results: list[ShardResult], failed: list[FailedSample]) -> Counts:
    samples, dropped = sum(result.samples for result in results), sum(result.dropped for result in results)
    return Counts(
        listed=given.counts.samples,
        read=samples - dropped - len(failed),
        skipped={"dropped by a step": dropped} if dropped else {},
        quarantined=dict(sorted(Counter(failure.kind for failure in failed).items())),
        samples=sum(result.rows for result in results),
    )


def _facts(transform: Transform, given: Manifest, fingerprint: Fingerprint, failed: list[FailedSample]) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "transform": {
            "input": {"dataset": given.dataset, "partition": given.partition, "manifest": given.digest},
            "fingerprint": fingerprint.digest,
            "code": fingerprint.code,
            "packages": fingerprint.packages,
            "steps": [_step_facts(one) for one in fingerprint.steps],
            "tensors": {
                column.name: {"type": column.type, "shape": list(column.shape)}
                for column in transform.columns
                if isinstance(column, Tensor)
            },
        }
    }
    if failed:
        facts["quarantined"] = [
            {"key": one.source_key, "etag": one.source_etag, "reason": one.kind, "record": one.sample_id, "step": one.step}
            for one in failed
        ]
    return facts


def _step_facts(one: StepCode) -> dict[str, Any]:
    return {
        "name": one.step.name,
        "version": one.step.version,
        "function": one.step.function,
        "parameters": [[name, value] for name, value in one.step.parameters],
        "packages": one.packages,
    }


def _check_counts(manifest: Manifest) -> None:
    counts = manifest.counts
    accounted = counts.read + sum(counts.skipped.values()) + sum(counts.quarantined.values())
    rows, indexed = sum(shard.rows for shard in manifest.shards), sum(entry.rows for entry in manifest.index)
    if accounted != counts.listed or counts.read < 0 or not rows == indexed == counts.samples:
        raise SamplesDiffer(
            f"{manifest.dataset} {manifest.partition}",
            found=f"{accounted} of {counts.listed} samples accounted for, {rows} rows in shards and {indexed} in the index "
            f"for {counts.samples}",
            expected="every input sample transformed, dropped or quarantined once, every row in one shard",
            remedy="Nothing was published. Report this with the input's digest: it is a fault of Headrace.",
        )


def _check_failed(transform: Transform, given: Manifest, failed: list[FailedSample]) -> None:
    if failed and len(failed) > transform.max_failed_share * given.counts.samples:
        first = failed[0]
        raise TooMuchFailed(
            f"{transform.name} {given.partition}",
            found=f"{len(failed)} of {given.counts.samples} samples failed; first {first.source_key} row {first.source_row} (sample "
            f"{first.sample_id}), step {first.step}: {first.kind}: {first.message}",
            expected=f"at most a share of {transform.max_failed_share:g} failed",
            remedy=f"See `headrace quarantine {transform.name} {given.partition}`; mend them, or raise max_failed_share.",
        )
