"""A table as one released partition of a log."""

from __future__ import annotations

from datetime import date

import pyarrow as pa
from headrace.lake.local import LocalStore
from headrace.manifests.manifest import Counts, Manifest
from headrace.manifests.promote import promote, write_candidate
from headrace.shards.table import write_table


def publish_log(lake: LocalStore, dataset: str, day: date, table: pa.Table, key: str) -> None:
    """The day's partition of `dataset`, in use from now on. `key`: the column sample IDs are made of."""
    written = write_table(lake, dataset, table, key=(key,), computed_from=f"{dataset}@{day}")
    manifest = Manifest(
        dataset=dataset,
        partition=day.isoformat(),
        shards=written.uploaded.shards,
        index=written.uploaded.index,
        schema=written.schema,
        counts=Counts(listed=1, read=1, skipped={}, quarantined={}, samples=written.rows),
        inventory_digest="0" * 64,
        declaration_digest="0" * 64,
    )
    promote(lake, dataset, {day.isoformat(): write_candidate(lake, manifest, {})}, {})
