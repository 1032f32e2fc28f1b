"""What plain as-of joins would have leaked into real flights: whole months of 2013, exact answer beside the shortcuts.

    python -m bench.flights_leak --months 3 11

For each flight, asked at its scheduled departure: how late was the last flight of the same carrier (of the same carrier to the same
airport, of the same aircraft)? A flight's delay can be known once it has landed. The plain joins take the flight that was *scheduled* last,
strictly before the label; the exact one the flight scheduled last of those that had landed. DuckDB breaks ties as it likes, so its figures
may move by a few labels from run to run; another answer among equals counts as wrong, because nobody could say what a model would have
been trained on. polars takes part where it is installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from headrace.features.as_of import AsOf, as_of
from pyarrow import csv

from include.datasets.flights import FLIGHTS
from include.datasets.functions.flights import landings
from local.landing import flights_file, flights_table

ENTITIES = (("carrier",), ("carrier", "dest"), ("tailnum",))


@dataclass(frozen=True)
class Figure:
    """One join of one month. `answered`: labels it gives a value; `leaks`: values of flights still in the air or not yet gone;
    `wrong`: labels with another value than the exact answer's, both ways null among them.
    """

    method: str
    entity: str
    labels: int
    answered: int
    leaks: int
    wrong: int


def flights() -> pa.Table:
    """The year, in the columns of the declaration."""
    declared: Any = FLIGHTS.source.format
    types: dict[str, pa.DataType] = {column.name: pa.int64() for column in declared.columns if column.type == "int64"}
    types |= {column.name: pa.string() for column in declared.columns if column.type == "string"}
    types["time_hour"] = pa.timestamp("us", "UTC")
    options = csv.ConvertOptions(column_types=types, null_values=["NA"], strings_can_be_null=True)
    table = csv.read_csv(io.BytesIO(flights_table(flights_file())), convert_options=options)
    return table.append_column("sample_id", pa.array(np.arange(table.num_rows)))


def month_log(year: pa.Table, month: int) -> pa.Table:
    """The landed flights of a month with a known aircraft: keys, both clocks, `seq`, and the delay."""
    here = year.filter(pa.array(np.asarray(year.column("month")) == month))
    keys = {name: here.column(name) for name in ("sample_id", "tailnum", "dest")}
    log = landings(here)
    known = pa.table(keys).join(log.select(["flight_id"]), "sample_id", "flight_id", "inner").sort_by("sample_id")
    log = log.sort_by("flight_id")
    return pa.table(
        {
            "carrier": log.column("carrier"),
            "dest": known.column("dest"),
            "tailnum": known.column("tailnum"),
            "event_time": log.column("event_time"),
            "available_time": log.column("available_time"),
            "seq": log.column("flight_id"),
            "row": np.arange(log.num_rows),
        }
    )


def exact(log: pa.Table, labels: pa.Table, entity: Sequence[str]) -> np.ndarray:
    found = as_of(labels, log, AsOf(entity=tuple(entity), values=("row",), strict=True))
    return np.asarray(found.column("row").combine_chunks().fill_null(-1))


def duckdb_plain(log: pa.Table, labels: pa.Table, entity: Sequence[str]) -> np.ndarray:
    import duckdb

    same = " AND ".join(f"l.{name} = r.{name}" for name in entity)
    with duckdb.connect() as connection:
        connection.execute("SET asof_loop_join_threshold = 0")
        connection.register("log", log)
        connection.register("labels", labels)
        found = connection.execute(
            f"SELECT label_id, coalesce(row, -1) AS row FROM labels l ASOF LEFT JOIN log r ON {same} AND l.label_time > r.event_time"
        ).fetchnumpy()
    return _in_order(found["label_id"], found["row"])


def pandas_plain(log: pa.Table, labels: pa.Table, entity: Sequence[str]) -> np.ndarray:
    import pandas as pd

    left = labels.to_pandas().sort_values("label_time", kind="stable")
    right = log.to_pandas().sort_values("event_time", kind="stable")
    found = pd.merge_asof(left, right, left_on="label_time", right_on="event_time", by=list(entity), allow_exact_matches=False)
    return _in_order(found["label_id"], found["row"].fillna(-1).astype("int64"))


def polars_plain(log: pa.Table, labels: pa.Table, entity: Sequence[str]) -> np.ndarray:
    import polars as pl

    left, right = pl.from_arrow(labels).sort("label_time"), pl.from_arrow(log).sort("event_time")
    found = left.join_asof(
        right, left_on="label_time", right_on="event_time", by=list(entity), allow_exact_matches=False, check_sortedness=False
    )
    return _in_order(found["label_id"].to_numpy(), found["row"].fill_null(-1).to_numpy())


METHODS: dict[str, Callable[[pa.Table, pa.Table, Sequence[str]], np.ndarray]] = {
    "exact": exact,
    "DuckDB ASOF": duckdb_plain,
    "pandas merge_asof": pandas_plain,
    "polars join_asof": polars_plain,
}


def figures(log: pa.Table, entity: Sequence[str]) -> list[Figure]:
    """Every method on one month, the exact one first."""
    labels = pa.table(
        {"label_id": log.column("row"), "label_time": log.column("event_time"), **{n: log.column(n) for n in entity}}
    )
    asked, arrived = (np.asarray(log.column(name).cast(pa.int64())) for name in ("event_time", "available_time"))
    right = exact(log, labels, entity)
    found = []
    for name, method in METHODS.items():
        if name.startswith("polars") and importlib.util.find_spec("polars") is None:
            continue
        row = method(log, labels, entity)
        leaks = (row >= 0) & (arrived[np.maximum(row, 0)] >= asked)
        answered, wrong = int((row >= 0).sum()), int((row != right).sum())
        found.append(Figure(name, "+".join(entity), len(row), answered, int(leaks.sum()), wrong))
    return found


def _in_order(ids: Any, found: Any) -> np.ndarray:
    answers = np.full(len(ids), -1, dtype=np.int64)
    answers[np.asarray(ids)] = np.asarray(found)
    return answers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--months", type=int, nargs="+", default=[3, 11])
    year = flights()
    for month in parser.parse_args().months:
        log = month_log(year, month)
        for entity in ENTITIES:
            for one in figures(log, entity):
                print(
                    f"2013-{month:02d} {one.entity:14s} {one.method:18s} {one.labels} labels, {one.answered} answered, "
                    f"leaks {one.leaks} ({one.leaks / one.labels:.1%}), wrong {one.wrong} ({one.wrong / one.labels:.1%})"
                )


if __name__ == "__main__":
    main()
