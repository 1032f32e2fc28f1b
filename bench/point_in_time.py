"""Point-in-time joins side by side, in one process: how long each takes, and how wrong each is.

    python bench/point_in_time.py --rows 5000000 --labels 500000 --entities 100000 --skew 0 --out result.json

Needs numpy, pyarrow, duckdb; polars, pandas, feast and timefence take part where they are installed. The data: events over 180 days, on
whole minutes; nine tenths arrive after an hour on average, one tenth after two days; one in twenty is restated up to ten days later.
A ratio is the best time of the rounds over the best time of DuckDB's plain as-of join on event time, which is the fastest wrong
answer. `wrong` is the share of labels whose value differs from the exact one; `leaks` the share that uses a row that had not
arrived.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import resource
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from headrace.features.as_of import AsOf, as_of
from headrace.features.stored_frontier import as_of_frontier, frontier_table

MINUTE = 60_000_000
START = int(datetime(2024, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000
INSTANT = pa.timestamp("us", tz="UTC")


@dataclass(frozen=True)
class World:
    """A log in arrival order and labels in any order, as integers and as tables."""

    log: pa.Table
    labels: pa.Table
    exact: np.ndarray


@dataclass(frozen=True)
class Result:
    """One method: best seconds of the rounds, ratio to DuckDB's plain join, and how wrong it is."""

    method: str
    seconds: float
    ratio: float
    wrong: float
    leaks: float
    note: str = ""


def world(rows: int, labels: int, entities: int, skew: float, seed: int = 0) -> World:
    dice = np.random.default_rng(seed)
    draw = (lambda n: dice.integers(0, entities, n)) if skew == 0 else (lambda n: _zipf(dice, entities, skew, n))
    fresh = rows - rows // 20
    event = START + dice.integers(0, 180 * 1440, fresh) * MINUTE
    slow = dice.random(fresh) < 0.1
    late = np.where(slow, dice.exponential(2 * 1440 * MINUTE, fresh), dice.exponential(60 * MINUTE, fresh)).astype(np.int64)
    entity, again = draw(fresh), dice.integers(0, fresh, rows // 20)
    later = dice.integers(MINUTE, 10 * 1440 * MINUTE, again.size)
    entity = np.concatenate([entity, entity[again]])
    arrival = np.concatenate([event + late, event[again] + late[again] + later])
    event = np.concatenate([event, event[again]])
    order = np.argsort(arrival, kind="stable")
    log = pa.table(
        {
            "entity": entity[order],
            "event_time": pa.array(event[order]).cast(INSTANT),
            "available_time": pa.array(arrival[order]).cast(INSTANT),
            "seq": np.arange(rows),
            "value": np.arange(rows),
        }
    )
    asked = pa.array(START + dice.integers(0, 180 * 1440, labels) * MINUTE + 30_000_000).cast(INSTANT)
    table = pa.table({"label_id": np.arange(labels), "entity": draw(labels), "label_time": asked})
    return World(log, table, values(headrace_log(World(log, table, np.empty(0)), "numpy")))


def _zipf(dice: np.random.Generator, entities: int, skew: float, size: int) -> np.ndarray:
    weights = np.arange(1, entities + 1, dtype=np.float64) ** -skew
    return np.searchsorted(np.cumsum(weights) / weights.sum(), dice.random(size))


def values(table: pa.Table) -> np.ndarray:
    """The value column, -1 for null."""
    return table.column("value").combine_chunks().fill_null(-1).to_numpy()


def headrace_log(one: World, engine: str) -> pa.Table:
    return as_of(one.labels, one.log, AsOf(entity=("entity",), values=("value",)), engine=engine)


def duckdb_plain(one: World) -> np.ndarray:
    with duckdb.connect() as connection:
        connection.execute("SET asof_loop_join_threshold = 0")
        connection.register("log", one.log)
        connection.register("labels", one.labels)
        found = connection.execute(
            """SELECT label_id, coalesce(value, -1) AS value FROM labels l
               ASOF LEFT JOIN log r ON l.entity = r.entity AND l.label_time >= r.event_time"""
        ).fetchnumpy()
    return _in_order(found["label_id"], found["value"])


def _in_order(ids: Any, found: Any) -> np.ndarray:
    answers = np.full(len(ids), -1, dtype=np.int64)
    answers[np.asarray(ids)] = np.asarray(found)
    return answers


def polars_plain(one: World) -> np.ndarray:
    import polars as pl

    log = pl.from_arrow(one.log).sort("event_time")
    labels = pl.from_arrow(one.labels).sort("label_time")
    found = labels.join_asof(log, left_on="label_time", right_on="event_time", by="entity", check_sortedness=False)
    return _in_order(found["label_id"].to_numpy(), found["value"].fill_null(-1).to_numpy())


def pandas_plain(one: World) -> np.ndarray:
    import pandas as pd

    log = one.log.to_pandas().sort_values("event_time", kind="stable")
    labels = one.labels.to_pandas().sort_values("label_time", kind="stable")
    found = pd.merge_asof(labels, log, left_on="label_time", right_on="event_time", by="entity")
    return _in_order(found["label_id"], found["value"].fillna(-1).astype("int64"))


def feast_default(one: World, folder: Path) -> Callable[[], np.ndarray]:
    """Feast's offline retrieval from a file, as its documentation has it; labels are made unique, because it drops duplicates."""
    import pandas as pd
    from feast import Entity, FeatureStore, FeatureView, Field, FileSource, RepoConfig, ValueType
    from feast.types import Int64

    path = folder / "log.parquet"
    pq.write_table(one.log.rename_columns(["entity", "event_timestamp", "created", "seq", "value"]), path)
    source = FileSource(path=str(path), timestamp_field="event_timestamp", created_timestamp_column="created")
    entity = Entity(name="entity", join_keys=["entity"], value_type=ValueType.INT64)
    fields = [Field(name="value", dtype=Int64)]
    view = FeatureView(name="log", entities=[entity], ttl=timedelta(days=400), schema=fields, source=source, online=False)
    config = RepoConfig(
        project="bench", registry=str(folder / "registry.db"), provider="local", offline_store={"type": "dask"},
        entity_key_serialization_version=3,
    )  # fmt: skip
    store = FeatureStore(config=config)
    store.apply([entity, view])
    spine: Any = one.labels.rename_columns(["label_id", "entity", "event_timestamp"]).to_pandas()

    def retrieve() -> np.ndarray:
        found = store.get_historical_features(entity_df=spine, features=["log:value"]).to_df()
        answers = np.full(len(spine), -1, dtype=np.int64)
        answers[found["label_id"].to_numpy()] = pd.to_numeric(found["value"]).fillna(-1).astype("int64").to_numpy()
        return answers

    return retrieve


def timefence_default(one: World, folder: Path) -> Callable[[], np.ndarray]:
    """Timefence with its one clock and no embargo; its lookback is set to the whole time."""
    import timefence

    pq.write_table(one.log.select(["entity", "event_time", "value"]), folder / "features.parquet")
    pq.write_table(one.labels, folder / "labels.parquet")
    source = timefence.Source(path=str(folder / "features.parquet"), keys=["entity"], timestamp="event_time", name="log")
    feature = timefence.Feature(source=source, columns=["value"], name="log", on_duplicate="keep_any")
    labels = timefence.Labels(path=str(folder / "labels.parquet"), keys=["entity"], label_time="label_time", target=["label_id"])
    out = folder / "timefence.parquet"

    def build() -> np.ndarray:
        timefence.build(labels=labels, features=[feature], output=str(out), max_lookback="400d")
        found = pq.read_table(out)
        name = next(column for column in found.schema.names if column.endswith("value"))
        return _in_order(found.column("label_id").to_numpy(), found.column(name).combine_chunks().fill_null(-1).to_numpy())

    return build


def measured(one: World, method: Callable[[], np.ndarray], rounds: int) -> tuple[float, float, float]:
    """Best seconds, share wrong, share leaking."""
    best, found = float("inf"), np.empty(0)
    for _ in range(rounds):
        begin = time.perf_counter()
        found = method()
        best = min(best, time.perf_counter() - begin)
    arrival = one.log.column("available_time").cast(pa.int64()).to_numpy()
    asked = one.labels.column("label_time").cast(pa.int64()).to_numpy()
    leaks = (found >= 0) & (arrival[np.maximum(found, 0)] > asked)
    return best, float((found != one.exact).mean()), float(leaks.mean())


def methods(one: World, folder: Path, *, peers: bool) -> dict[str, Callable[[], Callable[[], np.ndarray]]]:
    """Each method as something that prepares it; what it needs beforehand (files, a stored frontier) is not timed."""
    how = AsOf(entity=("entity",), values=("value",))

    def on_frontier() -> Callable[[], np.ndarray]:
        stored = frontier_table(one.log, ("entity",))
        return lambda: values(as_of_frontier(one.labels, stored, how))

    found: dict[str, Callable[[], Callable[[], np.ndarray]]] = {
        "duckdb plain as-of on event time": lambda: lambda: duckdb_plain(one),
        "headrace numpy, from the log": lambda: lambda: values(headrace_log(one, "numpy")),
        "headrace duckdb, from the log": lambda: lambda: values(headrace_log(one, "duckdb")),
        "headrace numpy, stored frontier": on_frontier,
    }
    if importlib.util.find_spec("polars") is not None:
        found["polars plain join_asof"] = lambda: lambda: polars_plain(one)
    if importlib.util.find_spec("pandas") is not None:
        found["pandas plain merge_asof"] = lambda: lambda: pandas_plain(one)
    if peers and importlib.util.find_spec("timefence") is not None:
        found["timefence"] = lambda: timefence_default(one, folder)
    if peers and importlib.util.find_spec("feast") is not None:
        found["feast, file store (dask)"] = lambda: feast_default(one, folder)
    return found


def run(arguments: argparse.Namespace) -> list[Result]:
    one = world(arguments.rows, arguments.labels, arguments.entities, arguments.skew)
    results: list[Result] = []
    with tempfile.TemporaryDirectory() as name:
        for method, prepare in methods(one, Path(name), peers=arguments.peers).items():
            rounds = 1 if method.startswith(("feast", "timefence")) else arguments.rounds
            try:
                seconds, wrong, leaks = measured(one, prepare(), rounds)
                note = ""
            except Exception as error:  # noqa: BLE001 - a peer that fails is a result too
                seconds, wrong, leaks, note = float("nan"), float("nan"), float("nan"), f"{type(error).__name__}: {error}"[:300]
            base = results[0].seconds if results else seconds
            results.append(Result(method, seconds, seconds / base, wrong, leaks, note))
            shown = f"{method:36s} {seconds:8.2f} s  x{seconds / base:6.2f}  wrong {wrong:6.2%}  leaks {leaks:6.2%}  {note}"
            print(shown, flush=True)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("rows", 5_000_000), ("labels", 500_000), ("entities", 100_000), ("rounds", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--skew", type=float, default=0.0, help="Zipf exponent; 0 is uniform")
    parser.add_argument("--peers", action=argparse.BooleanOptionalAction, default=True, help="also feast and timefence")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    results = run(arguments)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"peak memory of the process {peak:.1f} GB")
    if arguments.out is not None:
        settings = {name: value for name, value in vars(arguments).items() if name != "out"}
        document = {"settings": settings, "python": sys.version.split()[0], "results": [asdict(one) for one in results]}
        arguments.out.write_text(json.dumps(document, indent=2))


if __name__ == "__main__":
    main()
