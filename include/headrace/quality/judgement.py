"""What one run found, in the terms of incidents: each check that is not right, how bad it is, and what makes two runs say the same.

Made from a verdict once, when it is told; from here on nobody reads verdicts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from headrace.quality.verdict import CheckResult, Verdict
from headrace.spec.canonical import digest_of
from headrace.spec.checks import Severity

_RUN: Final = "@"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One check that is not right: its feature (empty when it is about the whole), how severe, and the sentence."""

    check: str
    feature: str
    level: Severity
    reason: str


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """One run's outcome.

    Attributes:
        partition, subject: the day, and the digest of what was judged.
        headline, report, run: the verdict's line, where its page lies, the run's name.
        at: when, as an instant's text.
        findings: what is wrong.
        unknown: checks that had too little data to say anything: neither bad nor clean.
        quiet: the run belongs to a backfill.
    """

    partition: str
    subject: str
    headline: str
    report: str
    run: str
    at: str
    findings: tuple[Finding, ...] = ()
    unknown: frozenset[str] = frozenset()
    quiet: bool = False

    @property
    def digest(self) -> str:
        """What makes two judgements the same: the day, the subject, and what was found of which severity."""
        return digest_of([self.partition, self.subject, sorted([item.check, item.level] for item in self.findings)])

    @property
    def mark(self) -> str:
        """What is remembered of it: the digest, and of a backfill which run, so that the next backfill has its summary, too."""
        return f"{self.digest}{_RUN}{self.run}" if self.quiet else self.digest


def digest_of_mark(mark: str) -> str:
    """The digest in a judgement's mark."""
    return mark.partition(_RUN)[0]


def findings_of(verdict: Verdict) -> tuple[tuple[Finding, ...], frozenset[str]]:
    """(what is wrong, checks that could not say)."""
    found = [
        Finding(check=item.id, feature=item.column or "", level=level, reason=item.reason)
        for item in verdict.checks
        if (level := level_of(item)) is not None
    ]
    return tuple(found), frozenset(item.id for item in verdict.checks if item.state == "insufficient")


def level_of(item: CheckResult) -> Severity | None:
    """How bad a check's outcome is: what it did to the verdict; None when there is nothing to tell."""
    if item.effect in ("failed", "not run"):
        return "critical"
    if item.effect == "warning":
        return "warning"
    return "info" if item.state in ("failed", "warning", "not run") else None
