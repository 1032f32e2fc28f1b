"""One leakage audit from the audits of a day's buckets.

Every check asks about one label, or builds rows again from what is said of the labels' own entities; so the findings of the buckets add up
to those of the day. *Cut* is even stricter: each bucket is cut at its own last label.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from headrace.features.leakage import LeakageAudit
from headrace.features.leakage_checks import SHOWN, Finding
from headrace.features.naive import NaiveLeak


def added(audits: Iterable[LeakageAudit], *, seed: str) -> LeakageAudit:
    """The audits of all buckets, of which there is at least one, as the audit of the day."""
    parts = list(audits)
    return LeakageAudit(
        rows=sum(one.rows for one in parts),
        seed=seed,
        findings=tuple(_findings(same) for same in zip(*(one.findings for one in parts), strict=True)),
        naive=tuple(_naive(same) for same in zip(*(one.naive for one in parts), strict=True)),
    )


def _findings(same: Sequence[Finding]) -> Finding:
    """One check of one source, over all buckets."""
    examples = [example for one in same for example in one.examples]
    return replace(
        same[0],
        labels=sum(one.labels for one in same),
        wrong=sum(one.wrong for one in same),
        examples=tuple(examples[:SHOWN]),
    )


def _naive(same: Sequence[NaiveLeak]) -> NaiveLeak:
    return replace(
        same[0],
        labels=sum(one.labels for one in same),
        leaked=sum(one.leaked for one in same),
        changed=sum(one.changed for one in same),
    )
