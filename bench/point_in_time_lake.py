"""Through the lake whole: objects landed, compacted, snapshots, a training day joined in buckets and audited. What grows with the history?

    python -m bench.point_in_time_lake --rows 500000 --labels 50000 --days 5 10

Every day the same number of log rows arrives (a tenth a day late) and the same number of labels is asked; `--days` are the lengths of the
history to try. Each step runs in a process of its own, whose peak memory (`VmHWM`; `ru_maxrss` starts at the parent's) and processor
seconds are printed. What a step may hold is declared: an arrival partition, the state of a view, a day's labels and finished rows. So the
last day must cost the same after ten days as after five: the run fails when a step's peak grows by more than a quarter (repeats
differ by a tenth).
"""

from __future__ import annotations

import argparse
import io
import itertools
import multiprocessing
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from headrace.features.audit import audit_candidate
from headrace.features.build_buckets import gather, join_bucket, plan_join
from headrace.features.materialise import materialise
from headrace.features.versions import scheduled_keys
from headrace.lake.local import LocalStore
from headrace.manifests.promote import promote
from headrace.manifests.run import RunIdentity
from headrace.shards.compact import plan_partition, publish_partition
from headrace.shards.group import write_group
from headrace.shards.plan import batches
from headrace.spec.aggregates import count, sum_of
from headrace.spec.columns import columns
from headrace.spec.cutoff import Cutoff
from headrace.spec.dataset import Dataset, Source
from headrace.spec.feature_view import FeatureLog, FeatureView
from headrace.spec.formats import Parquet
from headrace.spec.label_set import LabelSet
from headrace.spec.log_join import LogJoin
from headrace.spec.training_set import TimeHoldout, TrainingSet

START = date(2024, 1, 1)
CLOCK = datetime(2026, 1, 1, tzinfo=UTC)
RUN = RunIdentity(dag="bench", run_id="bench", kind="manual", partition_key="x")
USERS = 20_000
BUCKETS = 8
GROWTH = 1.25
INSTANT = "timestamp[us, UTC]"
EVENTS = Dataset(
    name="events",
    source=Source(
        prefix="events/%Y/%m/%d/",
        format=Parquet(columns=columns(user="int64", seq="int64", event_time=INSTANT, available_time=INSTANT, n="int64")),
    ),
    timezone="UTC",
    start=START,
)
ASKED = Dataset(
    name="asked",
    source=Source(
        prefix="asked/%Y/%m/%d/",
        format=Parquet(
            columns=columns(label_id="int64", user="int64", label_time=INSTANT, label_known_time=INSTANT, label="bool")
        ),
    ),
    timezone="UTC",
    start=START,
)
LOG = FeatureLog(dataset="events", rows="bench.point_in_time_lake:log_rows", event_key=("seq_key",), partitions="available_time")
CLICKS = FeatureView(
    name="clicks",
    entity=("user",),
    log=LOG,
    aggregates=(count("clicks"), sum_of("n", dtype="int64")),
    windows=(1, 2),
    cutoff=Cutoff(timezone="UTC", settlement=timedelta(hours=24)),
    start=START,
    owner="bench",
)
TRAINING = TrainingSet(
    name="answers",
    labels=LabelSet(name="asked", dataset="asked", rows="bench.point_in_time_lake:label_rows", entity=("user",)),
    views=(CLICKS,),
    logs=(
        LogJoin(
            name="last", entity=("user",), log=LOG, values=columns(n="int64"), timezone="UTC", ttl=timedelta(days=1), start=START
        ),
    ),
    holdout=TimeHoldout(start=date(2025, 1, 1)),
    buckets=BUCKETS,
    owner="bench",
)


def log_rows(shards: pa.Table) -> pa.Table:
    """The log's rows, named by the declarations."""
    rows = shards.select(["user", "event_time", "available_time", "seq", "n"])
    return rows.append_column("seq_key", rows.column("seq"))


def label_rows(shards: pa.Table) -> pa.Table:
    """The labels' rows, named by the declaration."""
    return shards.select(["label_id", "user", "label_time", "label_known_time", "label"])


def land(folder: Path, number: int, rows: int, labels: int) -> None:
    """One day's two objects."""
    dice, landing = np.random.default_rng(number), LocalStore(folder / "landing")
    day = START + timedelta(days=number)
    midnight = int(datetime.combine(day, datetime.min.time(), UTC).timestamp()) * 1_000_000
    arrival = midnight + dice.integers(0, 86_400_000_000, rows)
    event = arrival - np.where(dice.random(rows) < 0.1, 86_400_000_000, 60_000_000)
    asked = midnight + dice.integers(0, 86_400_000_000, labels)
    log = {
        "user": dice.integers(0, USERS, rows),
        "seq": np.arange(number * rows, (number + 1) * rows),
        **_instants(event_time=event, available_time=arrival),
        "n": dice.integers(0, 100, rows),
    }
    questions = {
        "label_id": np.arange(number * labels, (number + 1) * labels),
        "user": dice.integers(0, USERS, labels),
        **_instants(label_time=asked, label_known_time=asked + 1),
        "label": dice.random(labels) < 0.5,
    }
    for name, found in (("events", log), ("asked", questions)):
        sink = io.BytesIO()
        pq.write_table(pa.table(found), sink)
        landing.put_new(day.strftime(f"{name}/%Y/%m/%d/all.parquet"), sink.getvalue())


def _instants(**micros: np.ndarray) -> dict[str, pa.Array]:
    return {name: pa.array(values).cast(pa.timestamp("us", "UTC")) for name, values in micros.items()}


def compact(folder: Path, number: int) -> None:
    """Ingest: what landed becomes shards of the lake."""
    landing, lake, day = LocalStore(folder / "landing"), LocalStore(folder / "lake"), START + timedelta(days=number)
    for dataset in (EVENTS, ASKED):
        plan = plan_partition(dataset, day.isoformat(), source=landing, lake=lake)
        for group in itertools.chain(*batches(plan)):
            write_group(dataset, plan, group, source=landing, lake=lake)
        publish_partition(dataset, plan, RUN, lake=lake)


def snapshot(folder: Path, number: int) -> None:
    """Both versions that the arrivals up to this day complete, each on top of the last state."""
    for back in (1, 0):
        day = START + timedelta(days=number - back)
        kind = "settled" if back else "preliminary"
        for key in scheduled_keys(CLICKS, day):
            if str(key.kind) == kind:
                materialise(CLICKS, key, RUN, lake=LocalStore(folder / "lake"), clock=CLOCK)


def build(folder: Path, number: int) -> None:
    """The labels of a day joined bucket by bucket, gathered, audited, released."""
    lake, day = LocalStore(folder / "lake"), START + timedelta(days=number)
    plan = plan_join(TRAINING, day, lake=lake)
    for bucket in range(BUCKETS):
        join_bucket(TRAINING, plan, bucket, lake=lake)
    made = gather(TRAINING, plan, RUN, lake=lake, observe=lambda _: {})
    audit_candidate(TRAINING, made, RUN, lake=lake)
    promote(lake, TRAINING.name, {day.isoformat(): made.digest}, {})


STEPS: tuple[Callable[[Path, int], None], ...] = (compact, snapshot, build)


def measured(step: Callable[[Path, int], None], folder: Path, number: int) -> tuple[float, float]:
    """Peak megabytes and processor seconds of one step in a new process."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_told, args=(step, folder, number, there))
    process.start()
    there.close()
    found: tuple[float, float] = here.recv()  # EOFError if the step failed, after its traceback
    process.join()
    return found


def _told(step: Callable[[Path, int], None], folder: Path, number: int, pipe: object) -> None:
    began = time.process_time()
    step(folder, number)
    lines = Path("/proc/self/status").read_text().splitlines()
    peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024
    pipe.send((peak, time.process_time() - began))  # type: ignore[attr-defined] - a Connection, which has no public name


def run(days: int, rows: int, labels: int) -> dict[str, float]:
    """Live through a history; returns each step's peak megabytes on its last day."""
    peaks: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in ("landing", "lake"):
            (folder / part).mkdir()
        for number in range(days):
            land(folder, number, rows, labels)
            for step in STEPS if number > 2 else STEPS[:2]:
                peak, seconds = measured(step, folder, number)
                peaks[step.__name__] = peak
                if number == days - 1:
                    told = f"{days * rows:>11,} rows {days * labels:>9,} labels"
                    print(f"{days:3d} days {told}  {step.__name__:9s} {peak:6.0f} MB {seconds:7.2f} cpu s", flush=True)
    return peaks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, nargs="+", default=[5, 10])
    parser.add_argument("--rows", type=int, default=500_000, help="log rows that arrive in a day")
    parser.add_argument("--labels", type=int, default=50_000, help="labels asked in a day")
    arguments = parser.parse_args()
    found = [run(days, arguments.rows, arguments.labels) for days in sorted(arguments.days)]
    grown = {name: round(found[-1][name] / found[0][name], 2) for name in found[0] if name in found[-1]}
    print(f"peak memory after the longest history, in shares of that after the shortest: {grown}")
    if max(grown.values()) > GROWTH:
        raise SystemExit("a step's memory grows with the history")


if __name__ == "__main__":
    main()
