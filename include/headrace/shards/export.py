"""A release in the formats of other loaders: MDS (mosaicml-streaming) and tar (webdataset).

Written from the formats' published layouts, without their libraries, shard by shard into a local folder that must be empty. A sample keeps
its ID. What a target cannot hold as it is (nulls, instants, nested values) becomes JSON; nothing is dropped.
"""

from __future__ import annotations

import io
import json
import re
import tarfile
from collections.abc import Callable, Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np

from headrace.errors import FinalError
from headrace.lake.store import Store
from headrace.manifests.manifest import Manifest
from headrace.shards.read import shard_file

FORMATS: Final = ("mds", "webdataset")
_MDS_LIMIT: Final = 2**32 - 1  # offsets are 32 bits


class ExportRefused(FinalError, ValueError):
    """The target cannot take this release."""


def export(
    lake: Store, manifests: list[Manifest], folder: Path, kind: str, *, on_samples: Callable[[int], None] = lambda _: None
) -> int:
    """Write partitions in the order given. Returns the number of samples.

    Args:
        kind: one of `FORMATS`.
        on_samples: told how many samples each finished file holds.

    Raises:
        ExportRefused: the folder is not empty, or no folder, or a shard is too large for the format.
        ShardDamaged: names the shard; the folder then has no index.
    """
    if folder.exists() and not folder.is_dir():
        raise ExportRefused(str(folder), found="a file", expected="an empty folder", remedy="Name a new folder.")
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise ExportRefused(str(folder), found="files", expected="an empty folder", remedy="Name a new folder.")
    write = {"mds": _write_mds, "webdataset": _write_tar}[kind]
    total, entries = 0, []
    for number, samples in enumerate(_shards(lake, manifests)):
        entries.append(write(folder, number, samples))
        total += len(samples)
        on_samples(len(samples))
    if kind == "mds":
        (folder / "index.json").write_text(json.dumps({"version": 2, "shards": entries}))
    return total


def _shards(lake: Store, manifests: list[Manifest]) -> Iterator[list[dict[str, Any]]]:
    for manifest in manifests:
        for shard in manifest.shards:
            yield shard_file(lake, manifest.dataset, shard).read().to_pylist()


def _write_mds(folder: Path, number: int, samples: list[dict[str, Any]]) -> dict[str, Any]:
    """`uint32 samples, uint32 offsets[samples + 1], JSON header, samples`; a sample is `uint32 sizes[columns], values`."""
    names = sorted(samples[0])
    encodings = [_mds_encoding(name) for name in names]
    name = f"shard.{number:05d}.mds"
    header = {
        "column_encodings": encodings,
        "column_names": names,
        "column_sizes": [None] * len(names),
        "compression": None,
        "format": "mds",
        "hashes": [],
        "size_limit": None,
        "version": 2,
    }
    rows = [_mds_sample(sample, names) for sample in samples]
    head = json.dumps(header, sort_keys=True).encode()
    start = 4 + 4 * (len(rows) + 1) + len(head)
    offsets = start + np.concatenate(([0], np.cumsum([len(row) for row in rows], dtype=np.int64)))
    if offsets[-1] > _MDS_LIMIT:
        raise ExportRefused(
            name, found=f"{offsets[-1]} bytes", expected="less than 4 GiB", remedy="Use smaller shards, or webdataset."
        )
    with (folder / name).open("wb") as file:
        file.write(np.uint32(len(rows)).tobytes() + offsets.astype(np.uint32).tobytes() + head)
        file.writelines(rows)
    raw = {"basename": name, "bytes": int(offsets[-1]), "hashes": {}}
    return {**header, "raw_data": raw, "samples": len(rows), "zip_data": None}


def _mds_encoding(name: str) -> str:
    return {"payload": "bytes", "sample_id": "str"}.get(name, "json")


def _mds_sample(sample: dict[str, Any], names: list[str]) -> bytes:
    values = [_mds_value(name, sample[name]) for name in names]
    return np.array([len(value) for value in values], np.uint32).tobytes() + b"".join(values)


def _mds_value(name: str, value: Any) -> bytes:
    if name == "payload":
        return bytes(value)
    return value.encode() if name == "sample_id" else _as_json(value)


def _write_tar(folder: Path, number: int, samples: list[dict[str, Any]]) -> str:
    """`<sample_id>.<extension>` for the payload (the source's extension, `bin` when it has none), `<sample_id>.json` for the rest."""
    name = f"{number:06d}.tar"
    with tarfile.open(folder / name, "w", format=tarfile.GNU_FORMAT) as archive:
        for sample in samples:
            rest = {key: value for key, value in sample.items() if key != "payload"}
            if "payload" in sample:
                extension = _extension(sample.get("source_member") or sample["source_key"])
                _add(archive, f"{sample['sample_id']}.{extension}", sample["payload"])
            _add(archive, f"{sample['sample_id']}.json", _as_json(rest))
    return name


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)  # no clock, no owner: the same release gives the same bytes
    info.size = len(data)
    archive.addfile(info, io.BytesIO(data))


def _extension(source: str) -> str:
    found = re.search(r"\.([A-Za-z0-9]{1,8})$", source)
    extension = "bin" if found is None else found.group(1).lower()
    return "bin" if extension == "json" else extension


def _as_json(value: Any) -> bytes:
    return json.dumps(value, default=_plain, ensure_ascii=False).encode()


def _plain(value: Any) -> Any:
    if isinstance(value, (date, datetime)):
        return value.isoformat()
    return value.hex() if isinstance(value, bytes) else str(value)
