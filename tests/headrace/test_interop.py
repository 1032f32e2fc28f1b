"""A release read by other tools from its printed file list."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pandas as pd
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from headrace.lake import layout
from headrace.lake.local import LocalStore
from headrace.lake.open import open_store
from headrace.lake.store import Store
from headrace.manifests.manifest import Manifest

from tests.headrace.shards.lake_building import csv_dataset, land, run

COLUMNS = ["sample_id", "n", "name"]


def uris(lake: Store, manifest: Manifest) -> list[str]:
    """What `headrace ls d --files` prints."""
    return [f"{lake.uri}/{layout.shard('d', shard.sha256)}" for shard in manifest.shards]


@pytest.fixture
def manifest(landing: LocalStore, lake: LocalStore) -> Manifest:
    land(landing, {"a.csv": b"n,name\n1,00123\n2,x\n", "b.csv": b"n,name\n3,NA\n"})
    return run(csv_dataset(), landing, lake).manifest


def test_duckdb_pandas_and_arrow_read_the_files(lake: LocalStore, manifest: Manifest) -> None:
    """The same rows in the same order, strings still strings."""
    paths = [uri.removeprefix("file://") for uri in uris(lake, manifest)]
    expected = [(1, "00123"), (2, "x"), (3, "NA")]

    assert duckdb.sql(f"select n, name from read_parquet({paths}) order by file_row_number").fetchall() == expected
    frame = pd.concat([pd.read_parquet(path, columns=COLUMNS) for path in paths])
    assert list(frame[["n", "name"]].itertuples(index=False, name=None)) == expected
    table = ds.dataset(paths).to_table(columns=["n", "name"])
    assert [tuple(row.values()) for row in table.to_pylist()] == expected


def test_duckdb_finds_a_sample_by_its_id(lake: LocalStore, manifest: Manifest) -> None:
    """By the statistics of the row groups."""
    (path,) = [uri.removeprefix("file://") for uri in uris(lake, manifest)]
    wanted = manifest.shards[0].last_sample_id

    assert duckdb.execute("select n from read_parquet(?) where sample_id = ?", [path, wanted]).fetchall() == [(3,)]


@pytest.mark.servers
def test_pandas_reads_from_s3_through_s3fs(s3_store: Store, landing: LocalStore) -> None:
    """As in a notebook; DuckDB takes the same file system, where it may not load its own."""
    import boto3
    import s3fs

    land(landing, {"a.csv": b"n,name\n1,x\n"})
    lake = open_store(s3_store.uri)
    (uri,) = uris(lake, run(csv_dataset(), landing, lake).manifest)
    client = boto3.client("s3")
    keys = client._request_signer._credentials
    options = {"key": keys.access_key, "secret": keys.secret_key, "endpoint_url": client.meta.endpoint_url}
    files = s3fs.S3FileSystem(**options)

    frame = pd.read_parquet(uri, storage_options=options)
    assert frame["n"].tolist() == [1]
    connection = duckdb.connect()
    connection.register_filesystem(files)
    assert connection.sql(f"select n from read_parquet('{uri}')").fetchall() == [(1,)]
    assert pq.read_table(uri.removeprefix("s3://"), filesystem=files)["n"].to_pylist() == [1]
    assert Path(uri).suffix == ".parquet"
