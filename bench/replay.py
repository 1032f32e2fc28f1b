"""What finding one sample by its ID costs: replay among millions of IDs, in one partition and in many, before and after `headrace index`.

    PYTHONPATH=include:. python bench/replay.py [--rows 10000000] [--days 100]

Run by hand. The indexes are synthetic, the one sample that is looked for is real. CPU seconds and objects read are the figures to keep.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from headrace.lake import layout
from headrace.lake.local import LocalStore
from headrace.manifests.manifest import Counts, IndexEntry, Manifest
from headrace.manifests.promote import promote, write_candidate
from headrace.manifests.read import published
from headrace.shards.index import GROUP_ROWS, range_count
from headrace.shards.lookup import write_lookup
from headrace.shards.parquet import ParquetStyle, write_parquet
from headrace.shards.samples import position_ids
from headrace.shards.schema import schema_entries
from headrace.shards.upload import entry_of
from headrace.spec.load import Declarations
from headrace.transforms.replay.find import Wanted
from headrace.transforms.replay.replay import replay

from bench.raw_samples import FILES, RUN, rows_of, spent, written


class Counting:
    """A store that counts what is read of it."""

    def __init__(self, store: LocalStore) -> None:
        self._store = store
        self.objects: set[str] = set()
        self.requests = 0
        self.bytes_read = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def head(self, key: str) -> Any:
        self.requests += 1
        return self._store.head(key)

    def get(self, key: str, **kwargs: Any) -> Any:
        body = self._store.get(key, **kwargs)
        return self._count(key, len(body.data), body)

    def get_range(self, key: str, start: int, end: int, **kwargs: Any) -> bytes:
        data = self._store.get_range(key, start, end, **kwargs)
        self._count(key, len(data), data)
        return data

    def _count(self, key: str, size: int, answer: Any) -> Any:
        self.objects.add(key)
        self.requests += 1
        self.bytes_read += size
        return answer


def replay_one(rows: int, days: int) -> None:
    """By ID: the rows in one partition, then in many, before and after `headrace index`."""
    declared = Declarations(datasets=(FILES,), transforms=(), views=(), training_sets=(), failures={})
    for count in (1, days):
        with tempfile.TemporaryDirectory() as folder:
            landing, lake = LocalStore(Path(folder) / "landing"), LocalStore(Path(folder) / "lake")
            landing.put_new("in/one", b"the one that is looked for" * 1000)
            publish_large_index(lake, Path(folder), rows, count, landing)
            release = published(lake, "files")
            label = f"{rows:,} in {count} partitions"
            again(f"{label} (first)", lake, landing, declared)
            again(label, lake, landing, declared)
            if count > 1:
                took = spent(partial(write_lookup, lake, release))
                print(f"headrace index of {label}: {took.wall:.1f} s wall, {took.cpu:.1f} s CPU")
                again(f"{label}, indexed", lake, landing, declared)


def again(label: str, lake: LocalStore, landing: LocalStore, declared: Declarations) -> None:
    counting = Counting(lake)
    wanted = Wanted(sample_id=position_ids("in/one", 1)[0])
    took = spent(partial(replay, published(lake, "files"), wanted, declared, lake=counting, source=landing))
    rooms = Counter(key.split("/")[1] for key in counting.objects)
    print(
        f"replay among {label}: {took.cpu * 1000:.0f} ms CPU, {took.wall * 1000:.0f} ms wall, {len(counting.objects)} objects "
        f"({', '.join(f'{name} {number}' for name, number in sorted(rooms.items()))}) in {counting.requests} requests, "
        f"{counting.bytes_read / 1e6:.2f} MB; and the source object"
    )


def publish_large_index(lake: LocalStore, folder: Path, rows: int, days: int, landing: LocalStore) -> None:
    """One real shard of one sample, and indexes of `rows` samples in which it stands, on the last of some days."""
    info = landing.head("in/one")
    (shard,) = written(folder, [("in/one", landing.get("in/one").data)], etag=info.etag if info is not None else "")
    lake.put_file(layout.shard("files", shard.sha256), shard.path)
    own = shard.index.append_column("shard", pa.array([shard.sha256]))
    identity, made = RUN.document(), {}
    for day in range(days):
        is_last = day == days - 1
        manifest = Manifest(
            dataset="files",
            partition=(FILES.start + timedelta(days=day)).isoformat(),
            shards=(entry_of(shard),) if is_last else (),
            index=tuple(index_files(lake, folder, rows // days, own if is_last else own.slice(1), seed=day)),
            schema=schema_entries(rows_of([("k", b"")]).schema),
            counts=Counts(listed=1, read=1, skipped={}, quarantined={}, samples=1),
            inventory_digest="bench",
            declaration_digest="bench",
        )
        made[manifest.partition] = write_candidate(lake, manifest, identity)
    promote(lake, "files", made, identity)


def index_files(lake: LocalStore, folder: Path, rows: int, own: pa.Table, seed: int) -> Iterator[IndexEntry]:
    """An index in files of equal ranges of the ID, as publication cuts it; `own` has the row that is looked for, or none."""
    noise, count = np.random.default_rng(seed), range_count(rows)
    for number in range(count):
        low, high = number * 2**32 // count, (number + 1) * 2**32 // count
        size = rows // count
        prefix = noise.integers(low, high, size, dtype=np.int64)
        ids = np.char.add(np.array([f"{one:08x}" for one in prefix]), np.array([f"{seed:04x}{n:020x}" for n in range(size)]))
        ids.sort()
        table = pa.table(
            {
                "sample_id": ids,
                "source_key": pa.array([f"in/{n:09d}" for n in range(size)]),
                "source_row": pa.array(np.zeros(size, np.int64)),
                "sample_digest": ids,
                "row_group": pa.array(np.zeros(size, np.int32)),
                "row": pa.array(np.arange(size)),
                "shard": pa.repeat("0" * 64, size),
            }
        )
        if any(low <= int(target[:8], 16) < high for target in own.column("sample_id").to_pylist()):
            table = pa.concat_tables([table, own.cast(table.schema)]).sort_by("sample_id")
        path = folder / "index.parquet"
        sha256 = write_parquet(path, table, ParquetStyle(), group_rows=GROUP_ROWS)
        lake.put_file(layout.index("files", sha256), path)
        found = table.column("sample_id")
        yield IndexEntry(
            sha256=sha256,
            size_bytes=path.stat().st_size,
            rows=table.num_rows,
            first_sample_id=found[0].as_py(),
            last_sample_id=found[-1].as_py(),
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000, help="IDs in all")
    parser.add_argument("--days", type=int, default=100, help="partitions they are dealt to")
    options = parser.parse_args()
    replay_one(options.rows, options.days)


if __name__ == "__main__":
    main()
