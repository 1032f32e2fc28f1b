"""The monitor: a day of live data against the training set in use, feature by feature, by the same code.

The live rows get their features from the snapshots that were published when each was asked, as training rows do. Training is the sum
of the stored profiles of the release in use: exact, whatever its size, and reweighted where it was sampled on purpose. Days of the
release that other code or other bins counted are left out and said so; when none is left, nothing is compared, which is a failure.

Not covered: whether live rows are all of production's requests; that is the serving side's to log.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

import pyarrow as pa

from headrace.errors import FinalError
from headrace.features.build import read_sources
from headrace.features.functions import rows_function
from headrace.features.inputs import read_inputs
from headrace.features.log_join import log_columns
from headrace.features.training_rows import join_sources, provenance_columns
from headrace.lake import layout
from headrace.lake.store import Store
from headrace.manifests.manifest import Manifest
from headrace.manifests.read import Latest, latest, manifest_of
from headrace.manifests.run import RunIdentity
from headrace.quality.evidence import Evidence, evidence_plain
from headrace.quality.fingerprint import code_fingerprint
from headrace.quality.history import History, monitor_history
from headrace.quality.listed import ask_rows
from headrace.quality.observe import reference_of
from headrace.quality.parity import ParityCounts, count_parity
from headrace.quality.profile import Profile, merge
from headrace.quality.profile_json import profile_from, profile_plain
from headrace.quality.profiler import empty_profile, profile_table
from headrace.quality.reference import Reference
from headrace.quality.report import report_page
from headrace.quality.segments import paired, profile_segments
from headrace.quality.stored import put, store_verdict
from headrace.quality.verdict import Verdict, judge, not_run
from headrace.spec.canonical import digest_of
from headrace.spec.live import LiveSource, live_policy
from headrace.spec.quality import Expect, QualityPolicy
from headrace.spec.training_set import TrainingSet


class LiveDataDiffers(FinalError):
    """Live data is not like the training set in use. Another look at the same day says the same."""


@dataclass(frozen=True, kw_only=True)
class Watched:
    """A day's verdict, the digest of what was judged, and where the report lies."""

    verdict: Verdict
    subject: str
    report: str

    def check(self) -> None:
        """Raise LiveDataDiffers when a critical check failed."""
        if not self.verdict.passes:
            raise LiveDataDiffers(
                " ".join([*self.verdict.about.values()][:2]),
                found=self.verdict.headline,
                expected="live data like the training set in use",
                remedy=f"Read {self.report}; then mend the source, or train on newer data.",
            )


@dataclass(frozen=True, kw_only=True)
class InUse:
    """The training side: profiles of the release in use, whole and by segment; `days` counted, `left_out` of other code or bins."""

    profile: Profile
    segments: Mapping[str, Profile]
    days: int
    left_out: int
    release: str


def watch_day(training_set: TrainingSet, live: LiveSource, day: date, run: RunIdentity, *, lake: Store) -> Watched:
    """Judge one day of live data and store verdict and report."""
    policy: QualityPolicy = training_set.quality
    asked, reference = live_policy(policy), reference_of(policy)
    rows = live_rows(training_set, live, day, lake=lake)
    fingerprint = code_fingerprint(training_set)
    bins = None if reference is None else reference.bins
    profile = profile_table(rows, asked.plan, code_fingerprint=fingerprint, bins=bins)
    evidence = live_evidence(rows, asked, live)
    subject = digest_of([profile_plain(profile), evidence_plain(evidence), day.isoformat()])
    training = in_use(training_set, fingerprint, reference, live.segments, lake=lake)
    past = monitor_history(lake, training_set.name, day, asked)
    about = _about(training_set, live, day, training, past)
    if training is None or reference is None:
        verdict = not_run(asked, "no released training data was counted by this feature code on these bins", about=about)
    else:
        segments = profile_segments(rows, asked, live.segments, code_fingerprint=fingerprint, bins=bins)
        verdict = judge(
            profile,
            asked,
            Reference(bins=reference.bins, profile=training.profile),
            evidence=evidence,
            usual=past.usual,
            parity=live.parity,
            segments=paired(training.segments, segments, minimum_rows=live.segment_rows),
            about=about,
        )
    return _stored(training_set, day, verdict, subject, run, past=past, lake=lake)


def live_rows(training_set: TrainingSet, live: LiveSource, day: date, *, lake: Store) -> pa.Table:
    """One day's requests with the features they could see, without provenance columns."""
    asked = rows_function(live.rows)(read_inputs(lake, live.dataset, [day]).rows)
    sources = read_sources(training_set, day, lake=lake)
    joined = join_sources(training_set, asked, sources.snapshots, sources.logs, onto=asked)
    views = [name for view in training_set.views for name in provenance_columns(view)]
    return joined.drop_columns([*views, *(name for join in training_set.logs for name in log_columns(join))])


def in_use(
    training_set: TrainingSet, fingerprint: str, reference: Reference | None, segments: Iterable[str], *, lake: Store
) -> InUse | None:
    """The training side of the comparison; None where nothing is released that could be compared."""
    found = latest(lake, training_set.name)
    if found is None or reference is None:
        return None
    plan = training_set.quality.plan
    nothing = empty_profile(plan, code_fingerprint=fingerprint, bins=reference.bins)
    whole, parts, days, left_out = nothing, dict[str, Profile](), 0, 0
    wanted = tuple(f"{name}=" for name in segments)
    for facts in _facts(lake, found):
        profile = profile_from(facts["profile"])
        if profile.identity != nothing.identity:
            left_out += 1
            continue
        whole, days = merge(whole, profile), days + 1
        for name, plain in facts.get("segments", {}).items():
            if name.startswith(wanted):
                parts[name] = merge(parts.get(name, nothing), profile_from(plain))
    release = f"{found.release.number} ({found.release.digest[:16]})"
    return InUse(profile=whole, segments=parts, days=days, left_out=left_out, release=release) if days else None


def live_evidence(rows: pa.Table, asked: QualityPolicy, live: LiveSource) -> Evidence:
    """Served against recomputed values of every declared feature, and listed expectations; where there is no answer, the reason."""
    counts: dict[str, ParityCounts] = {}
    problems: dict[str, str] = {}
    for item in live.parity:
        try:
            counts[item.column] = count_parity(rows, item)
        except ValueError as error:
            problems[item.id] = str(error)
    listed = ask_rows(rows, [item for item in asked.checks if isinstance(item, Expect)])
    return Evidence(parity=counts, listed=listed, problems=problems)


def _facts(lake: Store, found: Latest) -> Iterable[dict[str, Any]]:
    for partition in sorted(found.release.partitions):
        manifest: Manifest = manifest_of(lake, found.release, partition)
        if "profile" in manifest.facts:
            yield manifest.facts


def _about(training_set: TrainingSet, live: LiveSource, day: date, training: InUse | None, past: History) -> dict[str, str]:
    about = {
        "dataset": f"{training_set.name} live",
        "partition": day.isoformat(),
        "live source": live.dataset,
        "owner": training_set.owner,
    }
    if training is not None:
        about["training set in use"] = f"release {training.release}, {training.days} days"
        if training.left_out:
            about["left out"] = f"{training.left_out} released days counted by other code or on other bins"
    if past.compared_with:
        first, last = past.compared_with[0]["partition"], past.compared_with[-1]["partition"]
        about["days like this one"] = f"{len(past.compared_with)} days of this weekday that passed, {first} to {last}"
    return about


def _stored(
    training_set: TrainingSet, day: date, verdict: Verdict, subject: str, run: RunIdentity, *, past: History, lake: Store
) -> Watched:
    name, partition = training_set.name, day.isoformat()
    report = layout.monitor_report(name, partition, subject)
    put(lake, report, report_page(verdict, earlier=past.shown))
    key = layout.monitor_verdict(name, partition, subject)
    store_verdict(lake, key, verdict, run.document(), compared_with=past.compared_with)
    return Watched(verdict=verdict, subject=subject, report=f"{lake.uri}/{report}")
