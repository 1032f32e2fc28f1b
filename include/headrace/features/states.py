"""States of views in the lake: what `headrace.features.increment` starts from tomorrow.

A state is a cache. It is found by what it is a function of (the code's fingerprint and the log partitions behind it), never trusted
otherwise, and made again from the whole log when it is gone, damaged or of something else; a snapshot has the same bytes either way.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.features.errors import SnapshotError
from headrace.features.fingerprint import view_fingerprint
from headrace.features.needs import version_log_days
from headrace.features.versions import SnapshotKey
from headrace.lake import layout
from headrace.lake.errors import ObjectMissing
from headrace.lake.immutable import overwrite, write_once
from headrace.lake.store import Store
from headrace.shards.write import sha256_of
from headrace.spec.canonical import canonical_json, digest_of
from headrace.spec.feature_view import FeatureView

_TRIES: Final = 3
"""States looked at before the whole log is read: the newest ones; the others would save less and less."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """The state to start from, or why there is none.

    Attributes:
        rows: the state's rows; None: there is none to start from.
        through: the last arrival partition it holds.
        words: which one it is, or what was wrong with those that were there; for the run's log.
    """

    rows: pa.Table | None
    through: date | None
    words: str


def find_state(lake: Store, view: FeatureView, key: SnapshotKey, inputs: Sequence[dict[str, str]]) -> Found:
    """The newest state that the version `key` can start from.

    Args:
        inputs: what the version is computed from: its log partitions from the view's start on, oldest first, each with its manifest.
    """
    problems = []
    for other in _candidates(lake, view, key)[:_TRIES]:
        through = version_log_days(view, other)[-1]
        wanted = _identity(view, [one for one in inputs if one["partition"] <= through.isoformat()])
        rows = _read(lake, view, other, wanted)
        if isinstance(rows, pa.Table):
            return Found(rows=rows, through=through, words=f"the state of {other}")
        problems.append(f"that of {other} {rows}")
    return Found(rows=None, through=None, words="; ".join(problems) if problems else "there is none")


def keep_state(lake: Store, view: FeatureView, key: SnapshotKey, inputs: Sequence[dict[str, str]], rows: pa.Table) -> None:
    """Store the state behind a version; what another run stored for it is replaced."""
    sink = io.BytesIO()
    pq.write_table(rows, sink, compression="zstd", row_group_size=1 << 17, write_page_checksum=True)
    data = sink.getvalue()
    sha256 = sha256_of(data)
    write_once(lake, layout.state_rows(view.name, sha256), data)
    record = {**_identity(view, inputs), "rows": rows.num_rows, "sha256": sha256}
    overwrite(lake, layout.state(view.name, str(key)), canonical_json(record))


def _identity(view: FeatureView, inputs: Sequence[dict[str, str]]) -> dict[str, Any]:
    return {"format": 1, "code": view_fingerprint(view), "inputs": digest_of(list(inputs))}


def _candidates(lake: Store, view: FeatureView, key: SnapshotKey) -> list[SnapshotKey]:
    """States of no later day and no later arrivals than the version's, and not its own; the one that leaves least to do first."""
    last = version_log_days(view, key)[-1]
    found = []
    for info in lake.list(layout.states(view.name)):
        name = info.key.removeprefix(layout.states(view.name))
        if not name.endswith(".json"):
            continue
        try:
            other = SnapshotKey.parse(name.removesuffix(".json"))
        except SnapshotError:
            continue  # not written by this version of Headrace
        days = version_log_days(view, other)
        if other != key and other.day <= key.day and days and days[-1] <= last:
            found.append((days[-1], other.day, str(other.kind), other))
    return [one[-1] for one in sorted(found, key=lambda one: one[:-1], reverse=True)]


def _read(lake: Store, view: FeatureView, key: SnapshotKey, wanted: dict[str, Any]) -> pa.Table | str:
    """The rows, or what is wrong with the state."""
    try:
        record = json.loads(lake.get(layout.state(view.name, str(key))).data)
        differs = [name for name, value in wanted.items() if record.get(name) != value]
        if differs:
            return f"has another {differs[0]}"
        data = lake.get(layout.state_rows(view.name, record["sha256"])).data
    except (ObjectMissing, ValueError, KeyError, AttributeError) as error:
        return f"cannot be read ({type(error).__name__})"
    if sha256_of(data) != record["sha256"]:
        return "is damaged"
    return pq.read_table(pa.BufferReader(data))
