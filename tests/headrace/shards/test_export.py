"""A release for other loaders, read back by their own rules (their libraries: see docs/interop.md)."""

from __future__ import annotations

import itertools
import json
import struct
import tarfile
from pathlib import Path

import pytest
from headrace.lake.local import LocalStore
from headrace.manifests.manifest import Manifest
from headrace.shards.export import ExportRefused, export
from headrace.shards.table import read_partition

from tests.headrace.shards.lake_building import csv_dataset, land, raw_dataset, run


@pytest.fixture
def manifest(landing: LocalStore, lake: LocalStore) -> Manifest:
    land(landing, {f"{n:02d}.JPG": bytes([n]) * 90_000 for n in range(25)})
    return run(raw_dataset(), landing, lake).manifest


def read_mds(folder: Path) -> list[dict[str, bytes]]:
    """Samples by the layout alone: counts and offsets first, sizes before each sample."""
    found = []
    for entry in json.loads((folder / "index.json").read_text())["shards"]:
        data = (folder / entry["raw_data"]["basename"]).read_bytes()
        assert len(data) == entry["raw_data"]["bytes"]
        (count,) = struct.unpack_from("<I", data)
        assert count == entry["samples"]
        offsets = struct.unpack_from(f"<{count + 1}I", data, 4)
        for start, end in itertools.pairwise(offsets):
            sizes = struct.unpack_from(f"<{len(entry['column_names'])}I", data, start)
            position, sample = start + 4 * len(sizes), {}
            for name, size in zip(entry["column_names"], sizes, strict=True):
                sample[name] = data[position : position + size]
                position += size
            assert position == end
            found.append(sample)
    return found


def test_mds_holds_every_sample_in_order(lake: LocalStore, manifest: Manifest, tmp_path: Path) -> None:
    """IDs as text, payloads as bytes, the rest as JSON."""
    assert export(lake, [manifest], tmp_path / "mds", "mds") == 25

    found = read_mds(tmp_path / "mds")
    table = read_partition(lake, manifest)
    assert [sample["payload"] for sample in found] == table["payload"].to_pylist()
    assert [sample["sample_id"].decode() for sample in found] == table["sample_id"].to_pylist()
    assert [json.loads(sample["source_key"]) for sample in found] == table["source_key"].to_pylist()


def test_webdataset_holds_every_sample_in_order(lake: LocalStore, manifest: Manifest, tmp_path: Path) -> None:
    """The payload under the source's extension, the rest beside it; the same bytes each time."""
    assert export(lake, [manifest], tmp_path / "tar", "webdataset") == 25
    export(lake, [manifest], tmp_path / "again", "webdataset")

    names, payloads = [], []
    for path in sorted((tmp_path / "tar").iterdir()):
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes()
        with tarfile.open(path) as archive:
            for entry in archive:
                names.append(entry.name)
                if entry.name.endswith(".jpg"):
                    payloads.append(archive.extractfile(entry).read())  # type: ignore[union-attr] # a file
    table = read_partition(lake, manifest)
    assert payloads == table["payload"].to_pylist()
    assert names == [f"{one}.{end}" for one in table["sample_id"].to_pylist() for end in ("jpg", "json")]


def test_tables_are_exported_with_their_nulls(landing: LocalStore, lake: LocalStore, tmp_path: Path) -> None:
    """JSON holds what the binary columns cannot."""
    land(landing, {"a.csv": b"n,name\n1,x\n"})
    manifest = run(csv_dataset(), landing, lake).manifest

    export(lake, [manifest], tmp_path / "mds", "mds")

    (sample,) = read_mds(tmp_path / "mds")
    assert (json.loads(sample["n"]), json.loads(sample["name"])) == (1, "x")


def test_a_folder_with_files_is_refused(lake: LocalStore, manifest: Manifest, tmp_path: Path) -> None:
    """Nothing is deleted or mixed."""
    (tmp_path / "mine").write_text("x")

    with pytest.raises(ExportRefused, match="empty folder"):
        export(lake, [manifest], tmp_path, "mds")
