"""What a day's snapshot costs as the history grows: in full from the first arrival on, and on top of yesterday's state.

    python -m bench.increment --days 60 --rows 10000

The log lies in a local lake, one partition a day of arrival; a tenth of the events arrive a day late. Processor seconds of one settled
version, best of three; both ways give the same manifest, which is checked.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
from headrace.features.materialise import Materialised, materialise
from headrace.features.versions import settled_key
from headrace.lake import layout
from headrace.lake.local import LocalStore
from headrace.manifests.manifest import Counts, Manifest
from headrace.manifests.promote import promote, write_candidate
from headrace.manifests.run import RunIdentity
from headrace.shards.table import write_table
from headrace.spec.aggregates import count, sum_of
from headrace.spec.cutoff import Cutoff
from headrace.spec.feature_view import FeatureLog, FeatureView

START = date(2024, 1, 1)
RUN = RunIdentity(dag="bench", run_id="bench", kind="manual", partition_key="x")
VIEW = FeatureView(
    name="clicks",
    entity=("user",),
    log=FeatureLog(dataset="events", rows="bench.increment:log", event_key=("event",), partitions="available_time"),
    aggregates=(count("clicks"), sum_of("n", dtype="int64")),
    windows=(1, 7),
    cutoff=Cutoff(timezone="UTC", settlement=timedelta(hours=48)),
    start=START,
    owner="bench",
)


def log(shards: pa.Table) -> pa.Table:
    """The log's rows, named by the view."""
    return shards.select(["user", "event", "event_time", "available_time", "seq", "n"])


def land(lake: LocalStore, number: int, rows: int) -> None:
    """One day of arrivals."""
    dice = np.random.default_rng(number)
    midnight = int(datetime.combine(START + timedelta(days=number), datetime.min.time(), UTC).timestamp()) * 1_000_000
    arrival = midnight + dice.integers(0, 86_400_000_000, rows)
    event = arrival - np.where(dice.random(rows) < 0.1, 86_400_000_000, 60_000_000)
    ids = np.arange(number * rows, (number + 1) * rows)
    instants = [pa.array(column).cast(pa.timestamp("us", "UTC")) for column in (event, arrival)]
    table = pa.table(
        {
            "user": dice.integers(0, 5_000, rows),
            "event": ids,
            "event_time": instants[0],
            "available_time": instants[1],
            "seq": ids,
            "n": dice.integers(0, 100, rows),
        }
    )
    day = (START + timedelta(days=number)).isoformat()
    written = write_table(lake, "events", table, key=("event",), computed_from=f"events@{day}")
    counts = Counts(listed=1, read=1, skipped={}, quarantined={}, samples=written.rows)
    manifest = Manifest(
        dataset="events",
        partition=day,
        shards=written.uploaded.shards,
        index=written.uploaded.index,
        schema=written.schema,
        counts=counts,
        inventory_digest="0" * 64,
        declaration_digest="0" * 64,
    )
    promote(lake, "events", {day: write_candidate(lake, manifest, {})}, {})


def make(lake: LocalStore, day: date) -> tuple[Materialised, float]:
    """One settled version and the processor seconds it took."""
    began = time.process_time()
    done = materialise(VIEW, settled_key(VIEW, day), RUN, lake=lake, clock=datetime(2026, 1, 1, tzinfo=UTC))
    return done, time.process_time() - began


def forget(lake: LocalStore) -> None:
    """Remove every state."""
    for info in list(lake.list(layout.states("clicks"))):
        lake.delete(info.key)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, default=60)
    parser.add_argument("--rows", type=int, default=10_000, help="log rows that arrive in a day")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lake = LocalStore(Path(folder))
        for number in range(arguments.days):
            land(lake, number, arguments.rows)
            day = START + timedelta(days=number - 2)  # what is settled now
            if number < 9 or number % 10 != 9:
                continue
            in_full, on_top = [], []
            for _ in range(3):
                forget(lake)
                whole, seconds = make(lake, day)
                in_full.append(seconds)
                forget(lake)
                make(lake, day - timedelta(days=1))
                grown, seconds = make(lake, day)
                on_top.append(seconds)
                if grown.manifest != whole.manifest:
                    raise RuntimeError(f"{day}: an increment gives another manifest")
            print(
                f"{number + 1:4d} days: in full {min(in_full):.3f} s, by increment {min(on_top):.3f} s ({grown.how})", flush=True
            )


if __name__ == "__main__":
    main()
