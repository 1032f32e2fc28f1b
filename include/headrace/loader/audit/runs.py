"""Did two runs of different scale see the same data, and if they diverge, where does the fault lie?

First the data, because nothing else can be judged without: each run's samples once, then sample by sample. Then, with logged gradients: do
the ranks of each run agree (else synchronisation, or communication when they part at a node boundary); do the runs (else numerics); and
if data and gradients are in order, what is left is optimisation: batch size and learning rate.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from headrace.loader.audit.evidence import Evidence, evidence_of
from headrace.loader.audit.recorded import recorded_run
from headrace.loader.audit.words import sentences


class Verdict(StrEnum):
    """What the audit concludes, in words."""

    DATA_FAULTY = "a run lost or repeated samples"
    DATA_DIFFER = "the data differ"
    SYNCHRONISATION = "same data, ranks disagree: synchronisation"
    COMMUNICATION = "same data, only wrong across a node boundary: communication"
    NUMERICS = "same data, ranks agree, gradients part: numerics, code or initial weights"
    OPTIMISATION = "same data cut into other global batches, ranks agree: optimisation (batch size and learning rate)"
    SAME_GRADIENTS = "the same data and the same gradients"
    SAME_DATA = "the same data"
    NOTHING_IN_COMMON = "the runs have no position in common"


_NOT_THE_SAME = {Verdict.DATA_FAULTY, Verdict.DATA_DIFFER, Verdict.NOTHING_IN_COMMON}


@dataclass(frozen=True, kw_only=True)
class RunsAudit:
    """The verdict and what it rests on."""

    verdict: Verdict
    evidence: Evidence

    @property
    def same_data(self) -> bool:
        return self.verdict not in _NOT_THE_SAME

    @property
    def facts(self) -> tuple[str, ...]:
        """Sentences for people."""
        return tuple(sentences(self.evidence))

    def plain(self) -> dict[str, Any]:
        """As JSON values."""
        return {"verdict": self.verdict.name.lower(), "same_data": self.same_data, **asdict(self.evidence)}


def audit_runs(first: Path, second: Path) -> RunsAudit:
    """Compare two recorded runs. Raises `RecordRefused` when one cannot be read."""
    evidence = evidence_of(recorded_run(first), recorded_run(second))
    return RunsAudit(verdict=verdict_on(evidence), evidence=evidence)


def verdict_on(evidence: Evidence) -> Verdict:
    """The first thing that is wrong, in the order in which one thing must be right before the next can be judged."""
    if any(evidence.faults):
        return Verdict.DATA_FAULTY
    if evidence.compared == 0:
        return Verdict.NOTHING_IN_COMMON
    if evidence.different > 0 and not 0 < evidence.common_batches == evidence.same_batches:
        return Verdict.DATA_DIFFER
    if evidence.disagreement is not None:
        return Verdict.COMMUNICATION if evidence.disagreement.between_hosts else Verdict.SYNCHRONISATION
    if not evidence.gradients:
        return Verdict.SAME_DATA
    return _on_gradients(evidence)


def _on_gradients(evidence: Evidence) -> Verdict:
    first, second = evidence.scales
    if first.global_batch != second.global_batch:
        return Verdict.OPTIMISATION
    if evidence.parting is None:
        return Verdict.SAME_GRADIENTS
    crosses = min(first.hosts, second.hosts) == 1 < max(first.hosts, second.hosts)
    return Verdict.COMMUNICATION if crosses and evidence.parting.compared_before == 0 else Verdict.NUMERICS
