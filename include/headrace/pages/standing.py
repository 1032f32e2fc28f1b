"""Where each day of a dataset stands: published, flagged, held, failed, damaged. Values in, values out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from headrace.lake import layout
from headrace.lake.store import ObjectInfo
from headrace.manifests.document import Document
from headrace.manifests.manifest import Manifest
from headrace.manifests.release import Release
from headrace.pages import figures
from headrace.pages.reads import Reads
from headrace.pages.verified import looks_at
from headrace.quality.incident_store import read_incidents
from headrace.quality.incidents import Incident
from headrace.runs.report import RunReport
from headrace.runs.stored import last_reports
from headrace.runs.verified import Look, read_looks

RUNS_LOOKED_AT = 60


@dataclass(frozen=True, kw_only=True)
class Checked:
    """What one check did to a verdict: its state by its severity, and its sentence."""

    id: str
    state: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Judged:
    """The newest verdict of a partition. `manifest` is the digest of what was judged: a candidate's, or a day of live data's profile."""

    partition: str
    manifest: str
    state: str
    headline: str
    passes: bool
    checks: tuple[Checked, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Standing:
    """A dataset as it stands.

    Attributes:
        release: in use, None when nothing was published.
        manifests: of the release, by partition.
        judged: newest verdicts by partition.
        held: those whose candidate is not in use and may not be.
        failed: days without a published partition whose newest run failed, with the error.
        quarantined: partitions without a manifest in use that have refused objects, and how many.
        damaged: open incidents of stored bytes that are not what their manifest says.
        looks: how each partition was last read again, at the manifest in use.
    """

    release: Release | None
    manifests: Mapping[str, Manifest]
    judged: Mapping[str, Judged]
    failed: Mapping[str, str]
    quarantined: Mapping[str, int]
    damaged: Sequence[Incident]
    looks: Mapping[str, Look]

    @property
    def held(self) -> list[Judged]:
        in_use = {} if self.release is None else self.release.partitions
        return [one for one in self.judged.values() if not one.passes and in_use.get(one.partition) != one.manifest]

    @property
    def samples(self) -> int:
        return sum(one.counts.samples for one in self.manifests.values())

    @property
    def size_bytes(self) -> int:
        return sum(one.size_bytes for one in self.manifests.values())

    @property
    def shards(self) -> int:
        return sum(len(one.shards) for one in self.manifests.values())


def standing(reads: Reads, dataset: str) -> Standing:
    """Read where a dataset stands."""
    release = reads.release(dataset)
    manifests = {} if release is None else reads.manifests(release)
    days = {name.partition(".")[0] for name in manifests}
    return Standing(
        release=release,
        manifests=manifests,
        judged=newest_verdicts(reads, dataset),
        failed=_failed(last_reports(reads.lake, dataset, limit=RUNS_LOOKED_AT), days),
        quarantined=_refused(reads, dataset, set(manifests)),
        damaged=read_incidents(reads.lake, dataset, "lake").open,
        looks={} if release is None else looks_at(release.partitions, read_looks(reads.lake, dataset)),
    )


def newest_verdicts(reads: Reads, dataset: str, *, live: bool = False) -> dict[str, Judged]:
    """The newest verdict of each partition, by partition; `live`: the monitor's, about live data, instead of the gate's."""
    newest: dict[str, ObjectInfo] = {}
    for info in reads.lake.list(layout.monitor_verdicts(dataset) if live else layout.verdicts(dataset)):
        partition = info.key.split("/")[2]
        if info.key.endswith(".json") and (partition not in newest or newest[partition].modified <= info.modified):
            newest[partition] = info
    documents = reads.documents(newest.values())
    return {
        partition: judged(partition, info.key, documents[info.key]) for partition, info in newest.items() if info.key in documents
    }


def judged(partition: str, key: str, document: Document) -> Judged:
    """What a verdict's document says in short."""
    content = document.content
    return Judged(
        partition=partition,
        manifest=key.rpartition("/")[2].removesuffix(".json"),
        state=str(content["state"]),
        headline=str(content["headline"]),
        passes=bool(content["passes"]),
        checks=tuple(_checked(item) for item in content.get("checks", ())),
    )


def _checked(check: Mapping[str, str]) -> Checked:
    """A warning never blocks, information never flags: what the check did to the verdict, as `quality.verdict` counts it."""
    state = "ok" if check["severity"] == "info" else check["state"]
    if check["severity"] == "warning" and state in ("failed", "not run"):
        state = "warning"
    return Checked(id=check["id"], state=state, reason=check["reason"])


def day_of(partition: str) -> date | None:
    """The day of a partition or snapshot version; None for a month or `all`."""
    try:
        return date.fromisoformat(partition.partition(".")[0])
    except ValueError:
        return None


def sentence(manifest: Manifest) -> str:
    """`914 samples in 1 shard, 62.2 kB`, and what was refused."""
    refused = sum(manifest.counts.quarantined.values())
    samples, shards = figures.plural(manifest.counts.samples, "sample"), figures.plural(len(manifest.shards), "shard")
    base = f"{samples} in {shards}, {figures.size(manifest.size_bytes)}"
    return base if refused == 0 else f"{base}; {figures.plural(refused, 'object')} quarantined"


def _failed(reports: Sequence[RunReport], published: set[str]) -> dict[str, str]:
    """Newest first: the first report of a day decides."""
    newest: dict[str, RunReport] = {}
    for report in reports:
        newest.setdefault(report.facts.partition, report)
    return {
        day: next((one.error for one in report.last_tries if one.error is not None), "failed") or "failed"
        for day, report in newest.items()
        if report.state == "failed" and day not in published
    }


def _refused(reads: Reads, dataset: str, published: set[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for info in reads.lake.list(layout.quarantines(dataset)):
        partition, name = info.key.split("/")[2:4]
        if name.endswith(".json") and not name.startswith("candidate-") and partition not in published:
            found[partition] = found.get(partition, 0) + 1
    return found
