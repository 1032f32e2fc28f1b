"""A store behind a bad network: one request in five fails, and nothing is lost or doubled."""

from __future__ import annotations

import os
import random
from concurrent.futures import ThreadPoolExecutor

import boto3
import pytest
from headrace.lake.open import open_store
from headrace.lake.store import Store
from headrace.shards.verify import verify_partition

from tests.faults.proxy import FAULTS, spoiling
from tests.headrace.shards.lake_building import land, raw_dataset, run

ROUNDS = int(os.environ.get("HEADRACE_BAD_NETWORK", "1"))
"""How many publications; 10 in the full count."""


@pytest.mark.servers
@pytest.mark.parametrize("seed", range(ROUNDS))
def test_a_publication_through_a_bad_network(s3_store: Store, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """503, resets before and after the deed, short, slow and headless answers on 20 % of requests: the same manifest as without."""
    dice = random.Random(seed)
    landing = open_store(f"{s3_store.uri}/landing")
    land(landing, {f"{n:03d}.bin": dice.randbytes(40_000) for n in range(120)})
    clean = run(raw_dataset(), landing, open_store(f"{s3_store.uri}/clean")).manifest
    endpoint = boto3.client("s3").meta.endpoint_url
    with spoiling(endpoint, share=0.2, seed=seed) as (url, injected):
        monkeypatch.setenv("AWS_ENDPOINT_URL", url)
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", url)

        done = run(raw_dataset(), open_store(landing.uri), open_store(f"{s3_store.uri}/spoiled"))

        assert set(injected) == set(FAULTS)
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", endpoint)
    assert done.manifest == clean
    assert (done.release.number, done.release.partitions) == (1, {"2013-01-01": clean.digest})
    assert list(verify_partition(open_store(f"{s3_store.uri}/spoiled"), done.manifest)) == []


@pytest.mark.servers
@pytest.mark.parametrize("seed", range(ROUNDS))
def test_a_listing_through_a_bad_network(s3_store: Store, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """2,100 keys in three pages, half of the requests spoiled: all keys, once, in order. A page cut short is not the end."""
    landing = open_store(f"{s3_store.uri}/landing")
    keys = [f"k/{n:04d}" for n in range(2_100)]
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda key: landing.put_new(key, b"x"), keys))
    with spoiling(boto3.client("s3").meta.endpoint_url, share=0.5, seed=seed) as (url, injected):
        monkeypatch.setenv("AWS_ENDPOINT_URL", url)
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", url)
        for listed in range(50):
            assert [info.key for info in open_store(landing.uri).list("k/")] == keys
            if listed > 0 and sum(injected.values()) > 1:
                break
        assert sum(injected.values()) > 1
