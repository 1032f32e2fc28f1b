"""A reader written from docs/format.md alone: standard library and a Parquet reader, none of our code.

It stands here to prove that the page is enough. `samples` yields (partition, row as a dict); `find` looks one ID up.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq


def canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def document(path: Path, digest: str) -> dict[str, Any]:
    data = path.read_bytes()
    stored = json.loads(data)
    if stored["format"] != 1:
        raise ValueError(f"{path}: format {stored['format']}")
    if not stored["digest"] == digest == hashlib.sha256(canonical(stored["content"])).hexdigest():
        raise ValueError(f"{path}: another digest")
    if canonical(stored["content"]) != as_it_lies(data, digest):
        raise ValueError(f"{path}: not canonical")
    return dict(stored["content"])


def as_it_lies(data: bytes, digest: str) -> bytes:
    return data.removeprefix(b'{"content":').partition(b',"digest":"%s","format":1,"run":' % digest.encode())[0]


def inventory_digest(path: Path) -> str:
    read, skipped = hashlib.sha256(), []
    for row in pq.read_table(path).to_pylist():
        key = row["key"].decode(errors="surrogateescape")
        if row["skipped"] is None:
            read.update(json.dumps([key, row["size_bytes"], row["etag"]], separators=(",", ":")).encode() + b"\n")
        else:
            skipped.append(json.dumps([key, row["skipped"]], separators=(",", ":")).encode() + b"\n")
    read.update(b"".join(skipped))
    return read.hexdigest()


def whole(path: Path, entry: dict[str, Any]) -> bytes:
    data = path.read_bytes()
    if (len(data), hashlib.sha256(data).hexdigest()) != (entry["size_bytes"], entry["sha256"]):
        raise ValueError(f"{path}: other bytes")
    return data


def manifests(lake: Path, dataset: str, tag: str = "LATEST") -> Iterator[dict[str, Any]]:
    pointer = json.loads((lake / dataset / tag).read_bytes())
    release = document(lake / dataset / "releases" / f"{pointer['number']:08d}.json", pointer["digest"])
    for line in release["partitions"]:
        yield document(lake / dataset / "manifests" / line["partition"] / f"{line['manifest']}.json", line["manifest"])


def samples(lake: Path, dataset: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for manifest in manifests(lake, dataset):
        for shard in manifest["shards"]:
            table = pq.read_table(io.BytesIO(whole(lake / dataset / "shards" / f"{shard['sha256']}.parquet", shard)))
            for row in table.to_pylist():
                yield manifest["partition"], row


def find(lake: Path, dataset: str, sample_id: str) -> dict[str, Any] | None:
    for manifest in manifests(lake, dataset):
        for entry in manifest["index"]:
            if entry["first_sample_id"] <= sample_id <= entry["last_sample_id"]:
                index = pq.ParquetFile(lake / dataset / "index" / f"{entry['sha256']}.parquet")
                column = index.schema_arrow.names.index("sample_id")
                for group in range(index.num_row_groups):
                    statistics = index.metadata.row_group(group).column(column).statistics
                    if statistics.min <= sample_id <= statistics.max:
                        for row in index.read_row_group(group).to_pylist():
                            if row["sample_id"] == sample_id:
                                return dict(row)
    return None


def frame(values: list[bytes | None]) -> bytes:
    return b"".join(b"n" if value is None else b"%d:%s" % (len(value), value) for value in values)


def short(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def expected_id(row: dict[str, Any]) -> str:
    key = row["source_key"].encode()
    if "source_member" in row:
        return short(b"member\0" + key + b"\0" + row["source_member"].encode() + b"\0" + str(row["source_row"]).encode())
    return short(b"source\0" + key + b"\0" + str(row["source_row"]).encode())
