"""What broke for others between listing and publication, each with its right outcome: `test_write.py`, `test_compact.py` and the store's
conformance suite hold the rest.
"""

from __future__ import annotations

import gzip
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

import boto3
import obstore
import pyarrow.parquet as pq
import pytest
from headrace.lake import s3_bulk
from headrace.lake.errors import StoreUnavailable
from headrace.lake.immutable import upload_verified
from headrace.lake.local import LocalStore
from headrace.lake.store import Fetched, ObjectInfo, Store
from headrace.manifests.read import published
from headrace.shards.compact import plan_partition, publish_partition
from headrace.shards.group import write_groups
from headrace.shards.read import read_partition
from headrace.shards.write import sha256_of
from headrace.sources.inventory import kept_inventory
from headrace.sources.quarantine import records

from tests.headrace.shards.lake_building import DAY, csv_dataset, identity, land, raw_dataset, run

ODD = (
    "a b",
    "a+b",
    "a%20b",
    "a#b?c=d&e",
    "\N{ROCKET}",
    "漢字",
    "e\u0301",
    "\u00e9",
    "it's",
    "*[]{}",
    "x:y;z,@$!",
    "tab\there",
    "y=1/x=2",
)


class Watched:
    """A store whose calls are counted; `fails_after` reads its bulk reads break."""

    def __init__(self, store: LocalStore, fails_after: int | None = None) -> None:
        self.asked: Counter[str] = Counter()
        self._store, self._fails_after = store, fails_after

    def __getattr__(self, name: str) -> Any:
        self.asked[name] += 1
        return getattr(self._store, name)

    def get_many(self, wanted: Iterable[ObjectInfo]) -> Iterator[Fetched]:
        for number, answer in enumerate(self._store.get_many(wanted)):
            if number == self._fails_after:
                raise StoreUnavailable("landing", found="no answer", expected="the object", remedy="Try again.")
            yield answer


def objects(count: int, size: int = 30_000) -> dict[str, bytes]:
    return {f"{n:03d}.bin": random.Random(n).randbytes(size) for n in range(count)}


def test_a_run_that_raises_in_the_middle_publishes_nothing(landing: LocalStore, lake: LocalStore) -> None:
    """The old release stays, and what shards it has left are whole."""
    land(landing, {"000.bin": b"the day as it was"})
    before = run(raw_dataset(), landing, lake).release
    land(landing, objects(200))

    with pytest.raises(StoreUnavailable):
        run(raw_dataset(), cast("Store", Watched(landing, fails_after=30)), lake)

    assert published(lake, "d") == before
    for info in lake.list("d/shards/"):
        assert sha256_of(lake.get(info.key).data) in info.key
    assert run(raw_dataset(), landing, lake).manifest.counts.samples == 200


def test_objects_are_listed_and_read_and_nothing_else_is_asked(landing: LocalStore, lake: LocalStore) -> None:
    """No request per object beside its read: a throttled HEAD looks like a refusal."""
    land(landing, objects(120))
    source = Watched(landing)

    run(raw_dataset(), cast("Store", source), lake)

    assert set(source.asked) <= {"list", "uri"}  # and `get_many`


def test_keys_stand_in_shards_and_inventory_as_they_were_listed(landing: LocalStore, lake: LocalStore) -> None:
    """Neither decoded nor normalised on the way."""
    land(landing, {key: str(number).encode() for number, key in enumerate(ODD)})

    manifest = run(raw_dataset(), landing, lake).manifest

    rows = read_partition(lake, manifest)
    wanted = {f"in/2013/01/01/{key}": str(number).encode() for number, key in enumerate(ODD)}
    assert dict(zip(rows["source_key"].to_pylist(), rows["payload"].to_pylist(), strict=True)) == wanted
    assert {one.key for one in kept_inventory(lake, "d", manifest.inventory_digest).objects} == set(wanted)


def test_a_file_whose_name_is_no_utf_8_is_refused_like_any_other(landing: LocalStore, lake: LocalStore) -> None:
    """What its record says can be written, stored and read again; its bytes are kept under the exact key."""
    key = "in/2013/01/01/caf\udce9.csv"  # the byte 0xe9 as Python holds it
    land(landing, {"caf\udce9.csv": b"n,name\nbad,x\n", "a.csv": b"n,name\n1,x\n"})

    manifest = run(csv_dataset(max_quarantine_share=0.5), landing, lake).manifest

    (record,) = records(lake, "d", DAY)
    assert (record.key, record.subject) == (key, r"in/2013/01/01/caf\xe9.csv row 0 column n")
    (told,) = manifest.facts["quarantined"]
    assert (told["key"], told["record"]) == (r"in/2013/01/01/caf\xe9.csv", record.name)
    assert lake.get(f"d/quarantine/{DAY}/{record.name}.bytes").data == b"n,name\nbad,x\n"


def test_a_file_whose_name_is_no_utf_8_may_change_while_it_is_read(landing: LocalStore, lake: LocalStore) -> None:
    """How it was found is stored with its exact key."""
    land(landing, {"caf\udce9": b"old"})
    dataset = raw_dataset()
    plan = plan_partition(dataset, DAY, source=landing, lake=lake)
    land(landing, {"caf\udce9": b"newer"})
    list(write_groups(dataset, plan, [0], source=landing, lake=lake))

    manifest = publish_partition(dataset, plan, identity(), lake=lake).manifest

    assert read_partition(lake, manifest)["payload"].to_pylist() == [b"newer"]
    (seen,) = kept_inventory(lake, "d", manifest.inventory_digest).objects
    assert (seen.key, seen.size_bytes) == ("in/2013/01/01/caf\udce9", 5)


def test_row_groups_of_tiny_rows_are_bounded_too(landing: LocalStore, lake: LocalStore) -> None:
    """By bytes they could hold a million."""
    land(landing, {"a.csv": b"n,name\n" + b"1,\n" * 40_000})

    (shard,) = run(csv_dataset(), landing, lake).manifest.shards

    footer = pq.read_metadata(Path(lake.uri.removeprefix("file://")) / f"d/shards/{shard.sha256}.parquet")
    assert max(footer.row_group(number).num_rows for number in range(footer.num_row_groups)) <= 16_384
    assert footer.num_rows == 40_000


@pytest.fixture
def bucket(s3_store: Store) -> tuple[Store, str, str]:
    """A landing place on the real server, its bucket and its prefix."""
    name, _, prefix = s3_store.uri.removeprefix("s3://").partition("/")
    return s3_store, name, f"{prefix}/in/2013/01/01"


@pytest.mark.servers
def test_a_content_encoding_changes_no_bytes(bucket: tuple[Store, str, str], lake: LocalStore) -> None:
    """What is stored is what is hashed and kept; unpacking is declared, not guessed from a header."""
    landing, name, prefix = bucket
    packed = gzip.compress(b"n,name\n" * 1000)
    boto3.client("s3").put_object(Bucket=name, Key=f"{prefix}/a.csv", Body=packed, ContentEncoding="gzip")

    rows = read_partition(lake, run(raw_dataset(), landing, lake).manifest)

    assert rows["payload"].to_pylist() == [packed]
    assert landing.get("in/2013/01/01/a.csv").data == packed


@pytest.mark.servers
def test_an_etag_of_parts_is_no_hash_of_anything(bucket: tuple[Store, str, str], lake: LocalStore) -> None:
    """An object uploaded in parts is read under its `...-2` and reused under it."""
    landing, name, prefix = bucket
    client, key, data = boto3.client("s3"), f"{prefix}/large.bin", random.Random(0).randbytes(5 * 2**20 + 7)
    upload = client.create_multipart_upload(Bucket=name, Key=key)["UploadId"]
    parts = []
    for number, body in enumerate((data[: 5 * 2**20], data[5 * 2**20 :]), 1):
        answer = client.upload_part(Bucket=name, Key=key, UploadId=upload, PartNumber=number, Body=body)
        parts.append({"PartNumber": number, "ETag": answer["ETag"]})
    assert list(landing.list()) == []
    client.complete_multipart_upload(Bucket=name, Key=key, UploadId=upload, MultipartUpload={"Parts": parts})

    first = run(raw_dataset(), landing, lake)

    rows = read_partition(lake, first.manifest)
    assert rows["source_etag"][0].as_py().endswith("-2")
    assert rows["payload"].to_pylist() == [data]
    assert run(raw_dataset(), landing, lake) == first


@pytest.mark.servers
def test_an_upload_in_parts_that_fails_leaves_nothing(s3_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut off between two parts: no object under the final key, whole or not."""
    path = tmp_path / "shard"
    path.write_bytes(random.Random(0).randbytes(12_000_000))
    put = obstore.put

    def cut() -> Iterator[bytes]:
        yield path.read_bytes()[:6_000_000]
        raise OSError("the connection broke")

    with monkeypatch.context() as patched:
        patched.setattr(s3_bulk, "ONE_REQUEST_BYTES", 1_000_000)
        patched.setattr(s3_bulk, "PART_BYTES", 5 * 2**20)
        patched.setattr(obstore, "put", lambda store, key, _, **how: put(store, key, cut(), **how))
        with pytest.raises(StoreUnavailable, match="the connection broke"):
            upload_verified(s3_store, "s", path, sha256=sha256_of(path.read_bytes()))

    assert list(s3_store.list()) == []
