"""The source object a sample came from, as it is now: the same, changed, or gone."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import pyarrow as pa

from headrace.lake.errors import ObjectMissing
from headrace.lake.store import Body, Store
from headrace.shards.samples import digests_of
from headrace.sources.decode import declared_schema, decode
from headrace.sources.errors import ObjectRefused
from headrace.spec.dataset import Dataset

_IDENTITY: Final = ("source_", "sample_")
_NOT_UTF_8: Final = re.compile(rb"\\x([89a-f][0-9a-f])")


class SourceState(StrEnum):
    """What became of the source of a sample."""

    SAME = "same"
    CHANGED = "changed"
    GONE = "gone"


@dataclass(frozen=True, kw_only=True)
class Origin:
    """The object, as recorded and as found.

    Attributes:
        key, row, member: which sample of which object.
        recorded_etag, found_etag: when it was read, and now.
        recorded_digest, found_digest: of the sample.
        sha256: of the object's bytes now.
        data: the object's bytes now.
    """

    state: SourceState
    key: str
    row: int
    member: str | None
    recorded_etag: str
    found_etag: str | None
    recorded_digest: str
    found_digest: str | None
    sha256: str | None
    data: bytes | None


def find_origin(source: Store, dataset: Dataset | None, sample: pa.Table) -> Origin:
    """Look at the object of one sample (one row, identity columns included).

    An object under the ETag it was read under is the same. Under another ETag its sample is decoded again and compared by digest, so that
    an object that was only copied or touched counts as the same; where the dataset is not declared any more, it counts as changed.
    """
    row = {name: sample.column(name)[0].as_py() for name in sample.schema.names if name.startswith(_IDENTITY)}
    try:
        body = _found(source, row["source_key"])
    except ObjectMissing:
        return _origin(row, SourceState.GONE, None, None, None)
    data = bytes(body.data)
    if body.etag == row["source_etag"]:
        return _origin(row, SourceState.SAME, body.etag, row["sample_digest"], data)
    digest = None if dataset is None else _digest_now(dataset, data, row, sample)
    state = SourceState.SAME if digest == row["sample_digest"] else SourceState.CHANGED
    return _origin(row, state, body.etag, digest, data)


def _found(source: Store, shown_key: str) -> Body:
    """The object that is shown as this. Raises `ObjectMissing`."""
    try:
        return source.get(shown_key)
    except ObjectMissing:
        exact = _NOT_UTF_8.sub(lambda found: bytes.fromhex(found[1].decode()), shown_key.encode()).decode(
            errors="surrogateescape"
        )
        if exact == shown_key:
            raise
        return source.get(exact)


def _digest_now(dataset: Dataset, data: bytes, recorded: dict[str, Any], sample: pa.Table) -> str | None:
    """The digest of the sample at the same place of the object as it is now; None when there is none."""
    schema = declared_schema(dataset.source)
    if schema is None:
        schema = pa.schema([entry for entry in sample.schema if not entry.name.startswith(_IDENTITY)])
    try:
        decoded = decode(recorded["source_key"], data, dataset.source, schema)
    except ObjectRefused:
        return None
    member, row = recorded.get("source_member"), recorded["source_row"]
    for one in decoded.payloads:
        if one.name == member:
            return digests_of(pa.table({"payload": pa.array([bytes(one.data)], pa.large_binary())}))[0]
    for name, table in decoded.tables:
        if name == member and row < table.num_rows:
            return digests_of(table.slice(row, 1))[0]
    return None


def _origin(row: dict[str, Any], state: SourceState, etag: str | None, digest: str | None, data: bytes | None) -> Origin:
    return Origin(
        state=state,
        key=row["source_key"],
        row=row["source_row"],
        member=row.get("source_member"),
        recorded_etag=row["source_etag"],
        found_etag=etag,
        recorded_digest=row["sample_digest"],
        found_digest=digest,
        sha256=None if data is None else hashlib.sha256(data).hexdigest(),
        data=data,
    )
