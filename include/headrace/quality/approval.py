"""A person's decision to release a held candidate: who, when, why, and exactly what for.

An approval names one candidate by its manifest's digest and the checks that failed when the person looked. It covers nothing else: other
data of the same day, or the same data failing another check later, is held again. It is written once and read at every promotion,
so a run that is cleared afterwards comes to the same end.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final

from headrace.errors import FinalError
from headrace.lake import layout
from headrace.lake.errors import AlreadyThere, ObjectMissing
from headrace.lake.store import Store
from headrace.manifests.document import Document, from_bytes, to_bytes
from headrace.manifests.errors import DocumentRefused
from headrace.manifests.release import Note
from headrace.quality.verdict import Verdict

MINIMUM_REASON: Final = 10


class ApprovalRefused(FinalError, ValueError):
    """An approval that says too little, or for something that is not held."""


@dataclass(frozen=True, kw_only=True)
class Approval:
    """`who` is the name Airflow knows the person by, `when` an instant's text, `checks` those that failed then."""

    dataset: str
    partition: str
    manifest: str
    who: str
    when: str
    why: str
    checks: tuple[str, ...]
    headline: str

    def __post_init__(self) -> None:
        if len(self.why.strip()) < MINIMUM_REASON:
            raise _refused(
                self, f"the reason {self.why!r}", f"at least {MINIMUM_REASON} characters", "Say why this data may be used."
            )
        if self.who.strip() == "":
            raise _refused(self, "no name", "the person who approves", "Approve from the UI or the API, logged in as yourself.")

    def covers(self, verdict: Verdict) -> bool:
        """Whether every check that blocks this verdict is one the person knew of."""
        return set(blocking(verdict)) <= set(self.checks)

    def note(self) -> Note:
        """What stands in the release."""
        text = f"approved by {self.who} at {self.when}: {self.why.strip()} (checks: {', '.join(self.checks)}; {self.headline})"
        return Note(partition=self.partition, manifest=self.manifest, kind="approved", text=text)


def blocking(verdict: Verdict) -> tuple[str, ...]:
    """The checks that keep a candidate from being promoted."""
    return tuple(item.id for item in verdict.checks if item.effect in ("failed", "not run"))


def record_approval(lake: Store, approval: Approval, run: dict[str, Any]) -> Approval:
    """Write the approval and return the one that counts: the first that covers the same checks stays."""
    key = layout.approval(approval.dataset, approval.partition, approval.manifest)
    document = to_bytes(Document(content={**asdict(approval), "checks": list(approval.checks)}, run=run))
    try:
        lake.put_new(key, document)
    except AlreadyThere:
        before = approval_of(lake, approval.dataset, approval.partition, approval.manifest)
        if before is not None and set(approval.checks) <= set(before.checks):
            return before
        current = lake.head(key)
        lake.swap(key, document, expected=None if current is None else current.etag)
    return approval


def approval_of(lake: Store, dataset: str, partition: str, manifest: str) -> Approval | None:
    """The approval of a candidate; None without one. Raises DocumentRefused for what is none."""
    key = layout.approval(dataset, partition, manifest)
    try:
        data = lake.get(key).data
    except ObjectMissing:
        return None
    where = f"{lake.uri}/{key}"
    content = from_bytes(where, data).content
    try:
        return Approval(**{**content, "checks": tuple(content["checks"])})
    except (KeyError, TypeError) as error:
        raise DocumentRefused(
            where, found=f"{type(error).__name__}: {error}", expected="an approval", remedy="Approve the candidate again."
        ) from error


def _refused(approval: Approval, found: str, expected: str, remedy: str) -> ApprovalRefused:
    return ApprovalRefused(f"approval of {approval.dataset} {approval.partition}", found=found, expected=expected, remedy=remedy)
