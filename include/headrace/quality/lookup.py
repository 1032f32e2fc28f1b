"""Finding verdicts without knowing a digest: what people ask for is a day."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.lake import layout
from headrace.lake.store import Store
from headrace.manifests.errors import NotPublished
from headrace.quality.stored import StoredVerdict, stored_verdict


@dataclass(frozen=True, kw_only=True)
class FoundVerdict:
    """A stored verdict, its partition, the digest of what was judged, and the key of its page."""

    partition: str
    subject: str
    report: str
    stored: StoredVerdict


def newest_verdict(lake: Store, dataset: str, partition: str | None = None, *, monitor: bool = False) -> FoundVerdict:
    """The verdict judged last for a partition; of the last partition that has one when none is named.

    Raises:
        NotPublished: there is no verdict.
    """
    room = f"{dataset}/{'monitor' if monitor else 'verdicts'}/"
    prefix = room if partition is None else f"{room}{layout.check_partition(partition)}/"
    infos = [info for info in lake.list(prefix) if info.key.endswith(".json")]
    if not infos:
        raise NotPublished(
            f"{lake.uri}/{prefix}",
            found="no verdict",
            expected="at least one judged day",
            remedy=f"Run {dataset}.{'monitor' if monitor else 'build'} first.",
        )
    last = max(infos, key=lambda info: (info.key.split("/")[2], info.modified, info.key))
    _, _, day, name = last.key.split("/")
    stored = stored_verdict(lake, last.key)
    if stored is None:
        raise NotPublished(f"{lake.uri}/{last.key}", found="it vanished", expected="a verdict", remedy="Try again.")
    return FoundVerdict(
        partition=day, subject=name.removesuffix(".json"), report=f"{last.key.removesuffix('.json')}.html", stored=stored
    )
