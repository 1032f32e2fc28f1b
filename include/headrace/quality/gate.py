"""The gate: a candidate is promoted only when its stored verdict allows it.

Judging and promoting are two steps. The verdict and its report are stored first, whatever they say, so that a held candidate always has
its reasons beside it; promotion then reads the stored verdict and nothing else. What is held stays in the lake: a person can look
at it, and nothing else waits for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from headrace.errors import FinalError
from headrace.lake import layout
from headrace.lake.errors import ObjectMissing
from headrace.lake.store import Store
from headrace.manifests.document import Document, from_bytes, to_bytes
from headrace.manifests.manifest import Manifest
from headrace.manifests.promote import promote
from headrace.manifests.read import read_manifest
from headrace.manifests.release import Note, Release
from headrace.manifests.run import RunIdentity
from headrace.quality.fingerprint import code_fingerprint
from headrace.quality.profile_json import profile_from, profile_plain
from headrace.quality.profiler import profile_table
from headrace.quality.reference import Reference, load_reference
from headrace.quality.report import report_page
from headrace.quality.verdict import Verdict, judge
from headrace.spec.quality import QualityPolicy
from headrace.spec.training_set import TrainingSet


class GateHeld(FinalError):
    """A candidate was not promoted. Another try with the same candidate is held the same way."""


@dataclass(frozen=True, kw_only=True)
class Checked:
    """What the gate said of a candidate: its state, one line for people, and where the report lies."""

    state: str
    line: str
    report: str


def observer(training_set: TrainingSet) -> Callable[[pa.Table], dict[str, Any]]:
    """What is recorded of a candidate's rows while they are in hand: their profile."""
    policy = training_set.quality
    reference = reference_of(policy)
    fingerprint = code_fingerprint(training_set)

    def observe(rows: pa.Table) -> dict[str, Any]:
        bins = None if reference is None else reference.bins
        return {"profile": profile_plain(profile_table(rows, policy.plan, code_fingerprint=fingerprint, bins=bins))}

    return observe


def check_candidate(training_set: TrainingSet, partition: str, digest: str, run: RunIdentity, *, lake: Store) -> Checked:
    """Judge a candidate by its profile and store verdict and report, whatever they say."""
    manifest = read_manifest(lake, training_set.name, partition, digest)
    policy = training_set.quality
    verdict = judge(profile_from(manifest.facts["profile"]), policy, reference_of(policy), about=_about(manifest, training_set))
    report = layout.report(training_set.name, partition, digest)
    _put(lake, report, report_page(verdict))
    document = Document(content=_plain(verdict), run=run.document())
    _put(lake, layout.verdict(training_set.name, partition, digest), to_bytes(document))
    return Checked(state=verdict.state, line=verdict.headline, report=f"{lake.uri}/{report}")


def promote_checked(training_set: TrainingSet, partition: str, digest: str, run: RunIdentity, *, lake: Store) -> Release:
    """Promote a candidate whose stored verdict allows it.

    Raises:
        GateHeld: the verdict does not allow it, or there is none.
    """
    verdict = _stored(lake, training_set.name, partition, digest)
    if not verdict["passes"]:
        raise GateHeld(
            f"{training_set.name} {partition}",
            found=str(verdict["headline"]),
            expected="no critical check to fail",
            remedy=f"Read {lake.uri}/{layout.report(training_set.name, partition, digest)}; mend the data and clear this run.",
        )
    notes: tuple[Note, ...] = ()
    if verdict["state"] != "ok":
        notes = (Note(partition=partition, manifest=digest, kind=str(verdict["state"]), text=str(verdict["headline"])),)
    return promote(lake, training_set.name, {partition: digest}, run.document(), notes)


def reference_of(policy: QualityPolicy) -> Reference | None:
    """The policy's frozen reference profile, looked up from the project's root (the folder above `include`)."""
    if policy.reference is None:
        return None
    return load_reference(Path(__file__).resolve().parents[3] / policy.reference)


def _plain(verdict: Verdict) -> dict[str, Any]:
    return {**asdict(verdict), "passes": verdict.passes}


def _about(manifest: Manifest, training_set: TrainingSet) -> dict[str, str]:
    return {
        "dataset": manifest.dataset,
        "partition": manifest.partition,
        "candidate": manifest.digest,
        "label times": " to ".join(manifest.facts["training"]["label_times"]),
        "owner": training_set.owner,
    }


def _stored(lake: Store, dataset: str, partition: str, digest: str) -> dict[str, Any]:
    key = layout.verdict(dataset, partition, digest)
    try:
        return from_bytes(f"{lake.uri}/{key}", lake.get(key).data).content
    except ObjectMissing as error:
        raise GateHeld(
            f"{dataset} {partition}",
            found="no verdict",
            expected="a verdict for this candidate",
            remedy="Clear the run's check task.",
        ) from error


def _put(lake: Store, key: str, data: bytes) -> None:
    """Write what may be written again: a verdict is a function of the candidate, the policy and the reference."""
    current = lake.head(key)
    lake.swap(key, data, expected=None if current is None else current.etag)
