"""The gate: a candidate is promoted only when its stored verdict allows it, or a person did.

Judging and promoting are two steps. The verdict and its report are stored first, whatever they say, so that a held candidate always has
its reasons beside it; promotion then reads the stored verdict, and an approval if there is one, and nothing else. What is held stays
in the lake with a record of its own: a person can look at it, nothing else waits for it, and nothing takes it along.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from headrace.errors import FinalError
from headrace.lake import layout
from headrace.lake.store import Store
from headrace.manifests.manifest import Manifest
from headrace.manifests.promote import promote
from headrace.manifests.read import read_manifest
from headrace.manifests.release import Note, Release
from headrace.manifests.run import RunIdentity
from headrace.quality.approval import Approval, approval_of, blocking, record_approval
from headrace.quality.evidence import Evidence, evidence_from
from headrace.quality.held import HeldCandidate, held_candidates, record_held, settle
from headrace.quality.history import history
from headrace.quality.observe import reference_of
from headrace.quality.profile_json import profile_from
from headrace.quality.report import report_page
from headrace.quality.stored import put, store_verdict, stored_verdict
from headrace.quality.verdict import Verdict, judge
from headrace.spec.quality import QualityPolicy
from headrace.spec.training_set import TrainingSet

UNCHECKED: Final = "unchecked"


class GateHeld(FinalError):
    """A candidate was not promoted. Another try with the same candidate is held the same way."""


class NothingHeld(FinalError):
    """There is no held candidate to approve."""


@dataclass(frozen=True, kw_only=True)
class Checked:
    """What the gate said of a candidate, and where the report lies; no verdict and no report without a quality policy."""

    state: str
    line: str
    report: str
    verdict: Verdict | None


@dataclass(frozen=True, kw_only=True)
class Approved:
    """The release that an approval made, and the failed checks it was made in spite of."""

    release: Release
    checks: tuple[str, ...]


def check_candidate(training_set: TrainingSet, partition: str, digest: str, run: RunIdentity, *, lake: Store) -> Checked:
    """Judge a candidate by its profile and store verdict and report, whatever they say."""
    policy: QualityPolicy | None = training_set.quality
    if policy is None:
        return Checked(state=UNCHECKED, line="No quality policy is declared: nothing was checked.", report="", verdict=None)
    manifest = read_manifest(lake, training_set.name, partition, digest)
    facts, past = manifest.facts, history(lake, training_set.name, partition, policy)
    verdict = judge(
        profile_from(facts["profile"]),
        policy,
        reference_of(policy),
        evidence=evidence_from(facts["evidence"]) if "evidence" in facts else Evidence(),
        usual=past.usual,
        about=_about(manifest, training_set, past.compared_with),
    )
    report = layout.report(training_set.name, partition, digest)
    put(lake, report, report_page(verdict, earlier=past.shown))
    key = layout.verdict(training_set.name, partition, digest)
    store_verdict(lake, key, verdict, run.document(), compared_with=past.compared_with)
    return Checked(state=verdict.state, line=verdict.headline, report=f"{lake.uri}/{report}", verdict=verdict)


def promote_checked(training_set: TrainingSet, partition: str, digest: str, run: RunIdentity, *, lake: Store) -> Release:
    """Promote a candidate whose stored verdict, or a person's approval, allows it.

    Raises:
        GateHeld: neither does, or there is no verdict.
    """
    name = training_set.name
    if training_set.quality is None:
        note = Note(partition=partition, manifest=digest, kind=UNCHECKED, text="no quality policy is declared")
        return promote(lake, name, {partition: digest}, run.document(), (note,))
    verdict = _stored(lake, name, partition, digest)
    approval = approval_of(lake, name, partition, digest)
    if not verdict.passes and (approval is None or not approval.covers(verdict)):
        record_held(lake, _held(name, partition, digest, verdict, run))
        raise GateHeld(
            f"{name} {partition}",
            found=verdict.headline,
            expected="no critical check to fail",
            remedy=f"Read {lake.uri}/{layout.report(name, partition, digest)}; mend the data and clear this run, "
            f"or approve it with {name}.approve.",
        )
    release = promote(lake, name, {partition: digest}, run.document(), _notes(partition, digest, verdict, approval))
    settle(lake, name, partition, digest)
    return release


def approve_held(training_set: TrainingSet, partition: str, *, who: str, why: str, run: RunIdentity, lake: Store) -> Approved:
    """Record a person's approval of the partition's newest held candidate and release it. Doing it again changes nothing.

    Raises:
        NothingHeld: the partition has no held candidate.
        ApprovalRefused: no name or no reason was given.
    """
    name, digest = training_set.name, newest_held(lake, training_set.name, partition)
    verdict, document = _stored(lake, name, partition, digest), run.document()
    read_manifest(lake, name, partition, digest)  # whole, or there is nothing to release
    approval = Approval(
        dataset=name,
        partition=partition,
        manifest=digest,
        who=who,
        when=document["made_at"],
        why=why,
        checks=blocking(verdict),
        headline=verdict.headline,
    )
    record_approval(lake, approval, document)
    return Approved(release=promote_checked(training_set, partition, digest, run, lake=lake), checks=approval.checks)


def newest_held(lake: Store, dataset: str, partition: str) -> str:
    """The manifest of the partition's newest candidate that waits for a decision. Raises NothingHeld when there is none."""
    waiting = [item for item in held_candidates(lake, dataset, partition) if item.outcome == "held"]
    if not waiting:
        raise NothingHeld(
            f"{dataset} {partition}",
            found="no held candidate",
            expected="a candidate the gate has held",
            remedy=f"Run {dataset}.build for that day first; `headrace quality held {dataset}` lists what waits.",
        )
    return max(waiting, key=lambda item: (item.held_at, item.manifest)).manifest


def _notes(partition: str, digest: str, verdict: Verdict, approval: Approval | None) -> tuple[Note, ...]:
    if verdict.state == "ok":
        return ()
    flag = Note(partition=partition, manifest=digest, kind=str(verdict.state), text=verdict.headline)
    return (flag, approval.note()) if not verdict.passes and approval is not None else (flag,)


def _held(dataset: str, partition: str, digest: str, verdict: Verdict, run: RunIdentity) -> HeldCandidate:
    document = run.document()
    return HeldCandidate(
        dataset=dataset,
        partition=partition,
        manifest=digest,
        headline=verdict.headline,
        checks=blocking(verdict),
        held_at=document["made_at"],
        run=run.run_id,
    )


def _about(manifest: Manifest, training_set: TrainingSet, compared_with: tuple[dict[str, str], ...]) -> dict[str, str]:
    about = {
        "dataset": manifest.dataset,
        "partition": manifest.partition,
        "candidate": manifest.digest,
        "label times": " to ".join(manifest.facts["training"]["label_times"]).replace(".000000Z", "Z"),
        "owner": training_set.owner,
    }
    if compared_with:
        first, last = compared_with[0]["partition"], compared_with[-1]["partition"]
        about["days like this one"] = f"{len(compared_with)} released days of this weekday, {first} to {last}"
    return about


def _stored(lake: Store, dataset: str, partition: str, digest: str) -> Verdict:
    found = stored_verdict(lake, layout.verdict(dataset, partition, digest))
    if found is None:
        raise GateHeld(
            f"{dataset} {partition}",
            found="no verdict",
            expected="a verdict for this candidate",
            remedy="Clear the run's check task.",
        )
    return found.verdict
