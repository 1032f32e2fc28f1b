"""The libraries `loader.py` compares: how each writes the samples in its own format and default size, and reads one shuffled epoch.

Nothing but the standard library is imported at the top: each class runs in the environment of its library.
"""

from __future__ import annotations

import importlib
import os
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

SEED: Final = 11


@dataclass(frozen=True, kw_only=True)
class Size:
    """How many samples, bytes of payload in each, samples in a batch."""

    count: int
    payload: int
    batch: int


SIZES: Final = {
    "500B": Size(count=100_000, payload=484, batch=256),
    "50kB": Size(count=20_000, payload=49_984, batch=64),
}


def sample(size: str, n: int) -> dict[str, Any]:
    """The n-th sample: the same bytes for everyone."""
    return {"id": n, "label": n % 10, "payload": random.Random(f"{SEED} {n}").randbytes(SIZES[size].payload)}


def samples(size: str) -> Iterator[dict[str, Any]]:
    return (sample(size, n) for n in range(SIZES[size].count))


def labels_and_payloads(batch: list[dict[str, Any]]) -> dict[str, Any]:
    """For litdata, whose payloads are views of its file: torch would make a tensor of each of their bytes, others hand over bytes."""
    import torch

    return {"label": torch.tensor([one["label"] for one in batch]), "payload": [bytes(one["payload"]) for one in batch]}


class Headrace:
    """This repository."""

    imports = ("headrace.loader.open", "headrace.loader.torch", "boto3", "obstore")

    def write(self, source: str, size: str) -> None:
        import pyarrow as pa
        from headrace.lake.open import open_store
        from headrace.manifests.manifest import Counts, Manifest
        from headrace.manifests.promote import promote, write_candidate
        from headrace.shards.table import write_table

        lake = open_store(source if "://" in source else f"file://{source}")
        table = pa.Table.from_pylist(list(samples(size)))
        written = write_table(lake, "bench", table, key=("id",), computed_from="bench")
        manifest = Manifest(
            dataset="bench", partition="all", shards=written.uploaded.shards, index=written.uploaded.index, schema=written.schema,
            counts=Counts(listed=1, read=1, skipped={}, quarantined={}, samples=written.rows),
            inventory_digest="0" * 64, declaration_digest="0" * 64,
        )  # fmt: skip
        promote(lake, "bench", {"all": write_candidate(lake, manifest, {})}, {})

    def read(self, source: str, cache: str, size: str, workers: int) -> Iterator[Any]:
        from headrace.loader import LoaderOptions, open_loader
        from headrace.loader.torch import TorchLoader

        options = LoaderOptions(seed=SEED, batch_size=SIZES[size].batch, cache_folder=Path(cache))
        loader = open_loader(source if "://" in source else f"file://{source}", "bench", options=options)
        return iter(TorchLoader(loader, workers=workers))


class Mosaicml:
    """mosaicml-streaming 0.13.0."""

    imports = ("streaming", "boto3")

    def write(self, source: str, size: str) -> None:
        from streaming import MDSWriter

        with MDSWriter(columns={"id": "int", "label": "int", "payload": "bytes"}, out=source) as out:
            for item in samples(size):
                out.write(item)

    def read(self, source: str, cache: str, size: str, workers: int) -> Iterator[Any]:
        from streaming import StreamingDataLoader, StreamingDataset
        from streaming.base.util import clean_stale_shared_memory

        clean_stale_shared_memory()
        where = {"remote": source, "local": cache} if "://" in source else {"local": source}
        batch = SIZES[size].batch
        dataset = StreamingDataset(**where, shuffle=True, shuffle_seed=SEED, batch_size=batch)
        return iter(StreamingDataLoader(dataset, batch_size=batch, num_workers=workers))


class Litdata:
    """litdata 0.2.76."""

    imports = ("litdata", "boto3")

    def write(self, source: str, size: str) -> None:
        import litdata

        folder = source if "://" not in source else f"/tmp/litdata-{size}"
        shutil.rmtree(folder, ignore_errors=True)
        numbers = list(range(SIZES[size].count))
        litdata.optimize(partial(sample, size), numbers, output_dir=folder, chunk_bytes="64MB", num_workers=1, verbose=False)
        if "://" in source:
            upload(Path(folder), source)

    def read(self, source: str, cache: str, size: str, workers: int) -> Iterator[Any]:
        import litdata

        options = {"endpoint_url": os.environ["AWS_ENDPOINT_URL"]} if "://" in source else {}
        # It offers no other way to a server without TLS.
        importlib.import_module("litdata.streaming.downloader")._OBSTORE_CLIENT_OPTIONS["allow_http"] = True
        where = {"cache_dir": cache, "storage_options": options} if "://" in source else {}
        dataset = litdata.StreamingDataset(source, shuffle=True, seed=SEED, **where)
        return iter(
            litdata.StreamingDataLoader(
                dataset, batch_size=SIZES[size].batch, num_workers=workers, collate_fn=labels_and_payloads
            )
        )


class Webdataset:
    """webdataset 1.0.2; it shuffles a buffer, knows no epoch, and reads S3 through a function of one's own, without its cache, which
    refuses such an address: both turns are cold.
    """

    imports = ("webdataset", "boto3")

    def write(self, source: str, size: str) -> None:
        import webdataset as wds

        folder = Path(source if "://" not in source else f"/tmp/webdataset-{size}")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        with wds.ShardWriter(str(folder / "%05d.tar"), maxsize=64e6, verbose=0) as out:
            for item in samples(size):
                out.write({"__key__": f"{item['id']:08d}", "cls": str(item["label"]).encode(), "bin": item["payload"]})
        if "://" in source:
            upload(folder, source)

    def read(self, source: str, _cache: str, size: str, workers: int) -> Iterator[Any]:
        import torch
        import webdataset as wds

        if "://" in source:
            importlib.import_module("webdataset.gopen").gopen_schemes["s3"] = s3_body
            place = s3_place(source)
            listed = s3_client().list_objects_v2(Bucket=place["Bucket"], Prefix=f"{place['Key']}/")["Contents"]
            urls = [f"s3://{place['Bucket']}/{one['Key']}" for one in listed]
        else:
            urls = sorted(str(path) for path in Path(source).glob("*.tar"))
        made = wds.WebDataset(urls, shardshuffle=100, seed=SEED, empty_check=False)
        pairs = made.shuffle(1000).to_tuple("cls", "bin").map(lambda pair: {"label": int(pair[0]), "payload": pair[1]})
        return iter(torch.utils.data.DataLoader(pairs, batch_size=SIZES[size].batch, num_workers=workers))


class Datasets:
    """Hugging Face datasets 5.0.1: local files as memory-mapped Arrow, S3 streamed."""

    imports = ("datasets", "s3fs")

    def write(self, source: str, size: str) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        folder = Path(source if "://" not in source else f"/tmp/datasets-{size}")
        folder.mkdir(parents=True, exist_ok=True)
        table = pa.Table.from_pylist(list(samples(size)))
        step = max(64_000_000 * table.num_rows // table.nbytes, 1)
        for number, start in enumerate(range(0, table.num_rows, step)):
            pq.write_table(table.slice(start, step), folder / f"{number:05d}.parquet", row_group_size=max(step // 16, 1))
        if "://" in source:
            upload(folder, source)

    def read(self, source: str, cache: str, size: str, workers: int) -> Iterator[Any]:
        import torch
        from datasets import load_dataset

        if "://" in source:
            options = {"client_kwargs": {"endpoint_url": os.environ["AWS_ENDPOINT_URL"]}}
            made = load_dataset(
                "parquet", data_files=f"{source}/*.parquet", split="train", streaming=True, storage_options=options
            )
            made = made.shuffle(seed=SEED, buffer_size=1000)
            return iter(torch.utils.data.DataLoader(made, batch_size=SIZES[size].batch, num_workers=workers))
        made = load_dataset("parquet", data_files=f"{source}/*.parquet", split="train", cache_dir=cache)
        return iter(torch.utils.data.DataLoader(made, batch_size=SIZES[size].batch, num_workers=workers, shuffle=True))


READERS: dict[str, Callable[[], Any]] = {
    "headrace": Headrace,
    "mosaicml-streaming": Mosaicml,
    "litdata": Litdata,
    "webdataset": Webdataset,
    "datasets": Datasets,
}


def s3_client() -> Any:
    import boto3

    return boto3.client("s3")


def s3_place(url: str) -> dict[str, str]:
    bucket, _, key = url.removeprefix("s3://").partition("/")
    return {"Bucket": bucket, "Key": key}


def s3_body(url: str, *_: Any, **__: Any) -> Any:
    return s3_client().get_object(**s3_place(url))["Body"]


def upload(folder: Path, source: str) -> None:
    place = s3_place(source)
    for path in folder.rglob("*"):
        if path.is_file():
            s3_client().upload_file(str(path), place["Bucket"], f"{place['Key']}/{path.relative_to(folder)}")
