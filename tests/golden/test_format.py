"""The format is what its page says: a stranger reads it, old lakes stay readable, documents match their schemas."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow as pa
import pytest
from headrace.lake.local import LocalStore
from headrace.lake.store import Store
from headrace.manifests.document import Document, from_bytes, to_bytes
from headrace.manifests.errors import DocumentRefused
from headrace.manifests.read import latest, manifest_of, published
from headrace.shards.index import locate
from headrace.shards.read import read_sample
from headrace.shards.table import read_partition
from headrace.shards.verify import verify_partition

from tests.golden import stranger
from tests.golden.make_format_1 import plain
from tests.headrace.shards.lake_building import csv_dataset, land, raw_dataset, run

GOLDEN = Path(__file__).parent / "format-1"
DATASETS = ("golden_table", "golden_raw")


def rows_of(dataset: str) -> list[dict[str, Any]]:
    return list(json.loads((GOLDEN / f"{dataset}.json").read_text()))


@pytest.mark.parametrize("dataset", DATASETS)
def test_the_golden_lake_is_read_as_ever(dataset: str) -> None:
    """Every row, by our own reader; and verified."""
    lake = LocalStore(GOLDEN / "lake")
    release = published(lake, dataset)
    found = []
    for partition in sorted(release.partitions):
        manifest = manifest_of(lake, release, partition)
        assert list(verify_partition(lake, manifest)) == []
        found += [{"partition": partition, **row} for row in read_partition(lake, manifest).to_pylist()]

    assert json.loads(json.dumps(found, default=plain)) == rows_of(dataset)


@pytest.mark.parametrize("dataset", DATASETS)
def test_a_stranger_reads_the_golden_lake(dataset: str) -> None:
    """By the page alone: rows, identities, look-ups."""
    found = [{"partition": partition, **row} for partition, row in stranger.samples(GOLDEN / "lake", dataset)]

    assert json.loads(json.dumps(found, default=plain)) == rows_of(dataset)
    for row in found:
        assert row["sample_id"] == stranger.expected_id(row)
        where = stranger.find(GOLDEN / "lake", dataset, row["sample_id"])
        assert where is not None
        assert (where["source_row"], where["sample_digest"]) == (row["source_row"], row["sample_digest"])
        if dataset == "golden_raw":
            assert row["sample_digest"] == stranger.short(row["payload"])


@pytest.mark.parametrize("dataset", DATASETS)
def test_a_stranger_computes_an_inventory_s_name(dataset: str) -> None:
    """From its rows, by the page."""
    found = {path.stem: stranger.inventory_digest(path) for path in (GOLDEN / "lake" / dataset / "inventories").iterdir()}

    assert found == {name: name for name in found}
    assert found.keys() == {one["inventory_digest"] for one in stranger.manifests(GOLDEN / "lake", dataset)}


def test_a_stranger_names_an_inventory_with_odd_and_skipped_keys(landing: LocalStore, lake: LocalStore) -> None:
    """Letters outside ASCII, a quote, an empty object and a housekeeping file among them."""
    land(landing, {"a.csv": b"n,name\n1,x\n", 'é".csv': b"n,name\n2,x\n", "empty.csv": b"", "_SUCCESS": b"x"})
    run(csv_dataset(), landing, lake)

    (path,) = (Path(lake.uri.removeprefix("file://")) / "d" / "inventories").iterdir()
    assert stranger.inventory_digest(path) == path.stem


def test_a_stranger_computes_the_digest_of_a_table_row() -> None:
    """The frame of the first golden row, spelled out from the page."""
    first = rows_of("golden_table")[0]
    parts: list[bytes | None] = [
        b"1", b"4591870180066957722", b"true", b"15706", b"1356998400000001", b"1.2500", b"00123",
    ]  # fmt: skip
    # 0.1 has the bits 0x3fb999999999999a; 2013-01-01 is day 15706

    assert first["sample_digest"] == stranger.short(stranger.frame(parts))
    assert rows_of("golden_table")[1]["sample_digest"] == stranger.short(b"nnnnnnn")


@pytest.mark.parametrize("dataset", DATASETS)
def test_any_sample_of_the_golden_lake_is_found_by_its_id(dataset: str) -> None:
    """One footer and one row group of the index, then of the shard."""
    lake = LocalStore(GOLDEN / "lake")
    release = published(lake, dataset)
    for row in rows_of(dataset):
        manifest = manifest_of(lake, release, row["partition"])
        where = locate(lake, manifest, row["sample_id"])
        assert where is not None
        (found,) = read_sample(lake, manifest, where).to_pylist()
        assert json.loads(json.dumps({"partition": row["partition"], **found}, default=plain)) == row


@pytest.mark.parametrize("damage", ["LATEST", "releases", "manifests", "shards"])
def test_a_stranger_notices_damage(landing: Store, lake: LocalStore, damage: str) -> None:
    """The page's checks are enough."""
    land(landing, {"a.csv": b"n,name\n1,x\n"})
    run(csv_dataset(), landing, lake)
    root = Path(lake.uri.removeprefix("file://"))
    (path,) = [one for one in root.rglob("*") if one.is_file() and damage in one.relative_to(root).parts]
    data = bytearray(path.read_bytes())
    data[data.index(b'digest":"') + 12 if damage == "LATEST" else len(data) // 3] ^= 1
    path.write_bytes(bytes(data))

    with pytest.raises(ValueError, match=r"."):
        list(stranger.samples(root, "d"))


def schema(name: str) -> Any:
    return json.loads(resources.files("headrace.manifests").joinpath(f"schemas/{name}.schema.json").read_text())


def documents(lake: LocalStore) -> list[tuple[str, Any]]:
    """Every document of a lake with the name of its schema."""
    kinds = {"manifests": "manifest", "releases": "release", "LATEST": "pointer"}
    found = []
    for info in lake.list():
        room = info.key.split("/")[1]
        if room in kinds:
            found.append((kinds[room], json.loads(lake.get(info.key).data)))
        elif room == "index":
            import pyarrow.parquet as pq

            rows = pq.read_table(pa.BufferReader(lake.get(info.key).data)).to_pylist()
            found += [("index_row", row) for row in rows]
    return found


def test_documents_match_their_published_schemas(landing: Store, lake: LocalStore) -> None:
    """The golden ones, and those of today: raw, tables, with quarantine and skips."""
    land(landing, {"a.csv": b"n,name\n1,x\n", "b.csv": b"n,name\nbad,x\n", "_SUCCESS": b"x"})
    run(csv_dataset(max_quarantine_share=0.5), landing, lake)
    land(landing, {"a.bin": b"x"}, "2013-01-02")
    run(raw_dataset(), landing, lake, "2013-01-02")
    validators = {name: jsonschema.Draft202012Validator(schema(name)) for name in ("manifest", "release", "pointer", "index_row")}

    checked = [*documents(lake), *documents(LocalStore(GOLDEN / "lake"))]
    for name, document in checked:
        validators[name].validate(document)

    assert {name for name, _ in checked} == set(validators)


def test_a_newer_format_is_refused_by_its_number(lake: LocalStore) -> None:
    """And says what to do."""
    newer = json.loads(to_bytes(Document(content={"a": 1}, run={})))
    newer["format"] = 2

    with pytest.raises(DocumentRefused, match="found format 2; expected format 1"):
        from_bytes("x", json.dumps(newer).encode())
    lake.put_new("d/LATEST", b'{"format":2,"number":1,"digest":"' + b"0" * 64 + b'"}')
    with pytest.raises(DocumentRefused, match="format 2"):
        latest(lake, "d")
