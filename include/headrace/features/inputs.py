"""The released partitions that features and labels are computed from, read with their identity."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date

import pyarrow as pa

from headrace.lake.store import Store
from headrace.manifests.manifest import Manifest
from headrace.manifests.read import manifest_of, published, read_manifest
from headrace.shards.table import read_partition
from headrace.spec.canonical import digest_of


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """Partitions of one dataset, in key order."""

    manifests: tuple[Manifest, ...]
    rows: pa.Table

    @property
    def facts(self) -> list[dict[str, str]]:
        """What a manifest records of them."""
        return [fact_of(one) for one in self.manifests]

    @property
    def digest(self) -> str:
        return digest_of(self.facts)


def fact_of(manifest: Manifest) -> dict[str, str]:
    """What another manifest records of this one."""
    return {"dataset": manifest.dataset, "partition": manifest.partition, "manifest": manifest.digest}


def read_inputs(lake: Store, dataset: str, days: Iterable[date]) -> Inputs:
    """All rows of these days in the dataset's LATEST release.

    Raises:
        NotPublished: a day is not there; a run waits for its days before it reads them.
    """
    release = published(lake, dataset)
    manifests = tuple(manifest_of(lake, release, day.isoformat()) for day in sorted(set(days)))
    return Inputs(manifests=manifests, rows=pa.concat_tables([read_partition(lake, manifest) for manifest in manifests]))


def inputs_from(lake: Store, facts: Iterable[Mapping[str, str]]) -> Inputs:
    """The same partitions again, by the digests that a manifest recorded of them (`Inputs.facts`)."""
    wanted = sorted(facts, key=lambda one: (one["dataset"], one["partition"]))
    manifests = tuple(read_manifest(lake, one["dataset"], one["partition"], one["manifest"]) for one in wanted)
    return Inputs(manifests=manifests, rows=pa.concat_tables([read_partition(lake, manifest) for manifest in manifests]))
