"""Flipped bytes and truncations, anywhere: found, and the broken thing named."""

from __future__ import annotations

import os
import random

import pytest
from headrace.errors import HeadraceError
from headrace.lake import layout
from headrace.lake.local import LocalStore
from headrace.manifests.history import named_release
from headrace.manifests.manifest import Manifest
from headrace.manifests.read import manifest_of, published
from headrace.shards.verify import verify_partition

from tests.headrace.shards.lake_building import DAY, land, raw_dataset, run

DAMAGES = int(os.environ.get("HEADRACE_DAMAGES", "60"))
"""How many single damages are tried; 500 in the full count."""


@pytest.fixture
def manifest(landing: LocalStore, lake: LocalStore) -> Manifest:
    dice = random.Random(0)
    land(landing, {f"{n:03d}.bin": dice.randbytes(30_000) for n in range(60)})
    return run(raw_dataset(), landing, lake).manifest


def test_what_is_as_published_has_no_findings(lake: LocalStore, manifest: Manifest) -> None:
    """And every byte was counted."""
    told: list[int] = []

    assert list(verify_partition(lake, manifest, on_bytes=told.append)) == []
    assert sum(told) == manifest.size_bytes + sum(entry.size_bytes for entry in manifest.index)


def put_back(lake: LocalStore, key: str, data: bytes) -> None:
    lake.delete(key)
    lake.put_new(key, data)


def named_by_reading(lake: LocalStore) -> str:
    """What a reader is told: pointer, release, manifest, then every byte."""
    try:
        found = published(lake, "d")
        named_release(lake, "d", found.number)
        findings = list(verify_partition(lake, manifest_of(lake, found, DAY)))
    except HeadraceError as error:
        return error.subject
    return " ".join(finding.subject for finding in findings)


def test_every_single_damage_is_found_and_named(lake: LocalStore, manifest: Manifest) -> None:
    """A flipped bit or a truncation, at random, of shards, index, manifest, release and pointer."""
    dice = random.Random(1)
    release = published(lake, "d")
    keys = [layout.shard("d", shard.sha256) for shard in manifest.shards]
    keys += [layout.index("d", entry.sha256) for entry in manifest.index]
    keys += [layout.manifest("d", DAY, manifest.digest), layout.release("d", release.number), layout.pointer("d")]
    undetected = []
    for number in range(DAMAGES):
        key = keys[number % len(keys)]
        good = lake.get(key).data
        bad = bytearray(good)
        if number // len(keys) % 2:
            bad = bad[: dice.randrange(len(bad))]
        else:
            bad[dice.randrange(len(bad))] ^= 1 << dice.randrange(8)
        if bytes(bad) == good:
            continue
        put_back(lake, key, bytes(bad))
        subject = named_by_reading(lake)
        if key not in subject and not harmless(lake, key, good, bytes(bad)):
            undetected.append((key, number, subject))
        put_back(lake, key, good)

    assert undetected == []
    assert named_by_reading(lake) == ""


def harmless(lake: LocalStore, key: str, good: bytes, bad: bytes) -> bool:
    """Damage to the part of a document that is not digested (who ran it, when) changes no content, and is not claimed to be found.

    A pointer whose number is damaged names another release: then that one is missed by name.
    """
    import json

    if "/manifests/" in key or "/releases/" in key:
        try:
            old, new = json.loads(good), json.loads(bad)
        except ValueError:
            return False
        return bool(old["content"] == new.get("content") and old["digest"] == new.get("digest"))
    return key == layout.pointer("d") and "/releases/" in named_by_reading(lake)


def test_a_shard_swapped_for_another_is_named(lake: LocalStore, manifest: Manifest) -> None:
    """Both are whole Parquet files; only the name tells."""
    first, second = (layout.shard("d", shard.sha256) for shard in manifest.shards[:2])
    put_back(lake, first, lake.get(second).data)

    (finding,) = verify_partition(lake, manifest)

    assert first in finding.subject


def test_an_index_that_describes_other_shards_is_found(lake: LocalStore, landing: LocalStore, manifest: Manifest) -> None:
    """Each is whole; together they are wrong."""
    from dataclasses import replace

    land(landing, {"999.bin": b"more"})
    other = run(raw_dataset(), landing, lake).manifest

    findings = list(verify_partition(lake, replace(manifest, index=other.index)))

    assert findings
    assert all(f"index of d {DAY}" in finding.subject for finding in findings)


def test_all_findings_are_collected(lake: LocalStore, manifest: Manifest) -> None:
    """Two shards gone: two findings."""
    for shard in manifest.shards[:2]:
        lake.delete(layout.shard("d", shard.sha256))

    assert [finding.found for finding in verify_partition(lake, manifest)] == ["nothing", "nothing"]
