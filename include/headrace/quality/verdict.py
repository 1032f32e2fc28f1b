"""The verdict: every declared check once, with a state, the figures behind it and a sentence a person can act on.

`judge` is the one entry point. It measures (pure), puts all drift tests into one Benjamini-Hochberg family, lets Great
Expectations apply the gates, and adds up. A verdict is a pure function of profile, policy and reference: judged again, the
same bytes. It decides nothing about releases; the gate of the publishing DAG reads `passes`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from headrace.quality.bounds import bounds_of
from headrace.quality.discovery import benjamini_hochberg
from headrace.quality.evidence import Evidence
from headrace.quality.expectations import Question, judge_with_expectations
from headrace.quality.measure import measure, measure_live, segment_check
from headrace.quality.measurement import Histogram, Measurement, Number
from headrace.quality.next_step import NEXT_STEPS, next_step
from headrace.quality.profile import Profile
from headrace.quality.profile_json import profile_plain
from headrace.quality.reference import Reference
from headrace.quality.ruling import Ruling, State, worst
from headrace.quality.segments import SegmentPair
from headrace.spec.canonical import canonical_json, digest_of
from headrace.spec.checks import SEVERITIES, Severity
from headrace.spec.live import Parity
from headrace.spec.quality import Check, Drift, QualityPolicy

VERDICT_VERSION: Final = 1


@dataclass(frozen=True, kw_only=True)
class CheckResult:
    """One check's outcome. `severity` is the effective one: a structural failure is critical whatever was declared."""

    id: str
    kind: str
    column: str | None
    severity: Severity
    state: State
    observed: str
    expected: str
    reason: str
    next_step: str
    numbers: dict[str, Number] = field(default_factory=dict)
    histogram: Histogram | None = None

    @property
    def effect(self) -> State:
        """What the check does to the verdict: warnings never block, information never flags."""
        if self.severity == "info":
            return "ok"
        if self.severity == "warning" and self.state in ("failed", "not run"):
            return "warning"
        return self.state


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """All results of one judgement. `about` says what was judged, as pairs for people (dataset, partition, run, ...)."""

    state: State
    headline: str
    checks: tuple[CheckResult, ...]
    rows: int
    profile_digest: str
    reference_digest: str | None
    policy_digest: str
    sampling: dict[str, Any] | None = None
    about: dict[str, str] = field(default_factory=dict)

    @property
    def passes(self) -> bool:
        """True when the data may be promoted, with a flag unless the state is `ok`."""
        return self.state in ("ok", "insufficient", "warning")

    def check(self, identity: str) -> CheckResult:
        """The result of that check. Raises KeyError when there is none."""
        for item in self.checks:
            if item.id == identity:
                return item
        raise KeyError(identity)

    def at_least(self, severity: Severity) -> tuple[CheckResult, ...]:
        """Checks that failed or warned with that severity or a higher one."""
        floor = SEVERITIES.index(severity)
        bad = (item for item in self.checks if item.state in ("failed", "warning", "not run"))
        return tuple(item for item in bad if SEVERITIES.index(item.severity) >= floor)


def judge(
    profile: Profile,
    policy: QualityPolicy,
    reference: Reference | None = None,
    *,
    evidence: Evidence | None = None,
    usual: Mapping[str, float] | None = None,
    parity: Sequence[Parity] = (),
    segments: Mapping[str, SegmentPair] | None = None,
    about: Mapping[str, str] | None = None,
) -> Verdict:
    """Judge a profile by a policy.

    Args:
        profile: of the data in question, counted with `policy.plan` and, when there is a reference, on its bins.
        reference: the frozen reference of `policy.reference`; without it, checks that need one fail and say so.
        evidence: label lag and selection counts, for the checks that ask for them; without them these fail and say so.
        usual: by check id, the distance that days like this one stay below (`headrace.quality.empirical_null`).
        parity: features whose served values are in the evidence, for live data.
        segments: parts of the data with their training side, in which every drift check is asked again, for live data.
        about: what was judged, for people; part of the verdict's bytes.
    """
    given, parts = Evidence() if evidence is None else evidence, {} if segments is None else segments
    measured = measure(profile, policy, reference, given)
    measured += measure_live(policy, reference, given, parity=parity, segments=parts)
    measurements = _with_usual(_with_family(measured), {} if usual is None else usual)
    declared = _declared(policy, parity, parts)
    questions = [
        Question(measurement=item, bounds=bounds_of(declared.get(item.id), policy), severity=_severity(item, declared))
        for item in measurements
    ]
    rulings = judge_with_expectations(questions)
    checks = tuple(_result(question, rulings[question.measurement.id]) for question in questions)
    state = worst(item.effect for item in checks)
    return Verdict(
        state=state,
        headline=_headline(state, checks),
        checks=checks,
        rows=profile.rows,
        profile_digest=digest_of(profile_plain(profile)),
        reference_digest=None if reference is None else digest_of(profile_plain(reference.profile)),
        policy_digest=digest_of(policy),
        sampling=None if profile.sampling is None else dataclasses.asdict(profile.sampling),
        about={} if about is None else dict(about),
    )


def _declared(policy: QualityPolicy, parity: Sequence[Parity], segments: Iterable[str]) -> dict[str, Check | Parity]:
    """Each check by the identity its measurement has."""
    drifts = [item for item in policy.checks if isinstance(item, Drift)]
    within = {segment_check(item.id, name): item for name in segments for item in drifts}
    return {**{item.id: item for item in policy.checks}, **{item.id: item for item in parity}, **within}


def not_run(policy: QualityPolicy, reason: str, *, about: Mapping[str, str] | None = None) -> Verdict:
    """The verdict when judging itself was impossible: every declared check is there, none ran, nothing passes."""
    checks = tuple(
        CheckResult(
            id=item.id,
            kind=type(item).__name__,
            column=getattr(item, "column", getattr(item, "label", None)),
            severity=item.severity,
            state="not run",
            observed="",
            expected="",
            reason=reason,
            next_step=NEXT_STEPS["not run"],
        )
        for item in policy.checks
    )
    return Verdict(
        state="not run",
        headline=f"Not run: {reason}",
        checks=checks,
        rows=0,
        profile_digest="",
        reference_digest=None,
        policy_digest=digest_of(policy),
        about={} if about is None else dict(about),
    )


def _with_family(measurements: list[Measurement]) -> list[Measurement]:
    """Add each drift test's adjusted p-value as `<test>_q`, all drift tests of the policy being one family."""
    tests = {f"{item.id}\n{name}": p for item in measurements for name, p in item.tests.items() if not math.isnan(p)}
    adjusted = benjamini_hochberg(tests)
    return [
        dataclasses.replace(
            item, numbers={**item.numbers, **{f"{name}_q": adjusted.get(f"{item.id}\n{name}") for name in item.tests}}
        )
        for item in measurements
    ]


def _with_usual(measurements: list[Measurement], usual: Mapping[str, float]) -> list[Measurement]:
    return [
        dataclasses.replace(item, numbers={**item.numbers, "usual": usual[item.id]}) if item.id in usual else item
        for item in measurements
    ]


def _severity(measurement: Measurement, declared: dict[str, Check | Parity]) -> Severity:
    if measurement.structural and measurement.problem is not None:
        return "critical"
    check = declared.get(measurement.id)
    return "critical" if check is None else check.severity


def _result(question: Question, ruling: Ruling) -> CheckResult:
    measurement = question.measurement
    return CheckResult(
        id=measurement.id,
        kind=measurement.kind,
        column=measurement.column,
        severity=question.severity,  # type: ignore[arg-type]  # set by _severity
        state=ruling.state,
        observed=ruling.observed,
        expected=ruling.expected,
        reason=ruling.reason,
        next_step=next_step(measurement, ruling.state),
        numbers={name: _storable(value) for name, value in measurement.numbers.items()},
        histogram=_stored_histogram(measurement.histogram),
    )


def _storable(value: Number) -> Number:
    """Strict JSON has no NaN and no infinity; twelve digits, so that the last bit of another machine's logarithm does not show."""
    if not isinstance(value, float):
        return value
    return float(f"{value:.12g}") if math.isfinite(value) else None


def _stored_histogram(histogram: Histogram | None) -> Histogram | None:
    if histogram is None:
        return None
    before, after = (tuple(float(f"{count:.12g}") for count in side) for side in (histogram.reference, histogram.sample))
    return Histogram(cells=histogram.cells, reference=before, sample=after)


def _headline(state: State, checks: tuple[CheckResult, ...]) -> str:
    """One sentence: the state in a word, how many, and the worst check in full."""
    words = {
        "ok": "All clear",
        "insufficient": "Too little data",
        "warning": "Flagged",
        "failed": "Blocked",
        "not run": "Not run",
    }
    bad = [item for item in checks if item.effect == state and state != "ok"]
    if not bad:
        return f"{words[state]}: {len(checks)} checks passed."
    noun = {
        "failed": "critical failure",
        "warning": "warning",
        "insufficient": "check without enough rows",
        "not run": "check not run",
    }[state]
    plural = noun.replace("check", "checks") if noun.startswith("check") else f"{noun}s"
    worst = bad[0]
    subject = worst.column if worst.column is not None else worst.id
    return f"{words[state]}: {len(bad)} {noun if len(bad) == 1 else plural}. {subject}: {worst.reason}"


def verdict_bytes(verdict: Verdict) -> bytes:
    """Canonical, strict JSON."""
    return canonical_json({"format": "headrace.verdict", "version": VERDICT_VERSION, **dataclasses.asdict(verdict)})
