"""What a model of the flights would be asked in production: every flight that is to leave, cancelled later or not.

The columns are those the labels carry along, so that live rows and training rows can be compared; there is no outcome yet.
"""

from __future__ import annotations

import pyarrow as pa

_MINUTE_US = 60_000_000


def requests(flights: pa.Table) -> pa.Table:
    """One row per scheduled flight: carrier, label_time (scheduled departure), origin, dest, distance, sched_dep_hour."""
    hours = flights.column("time_hour").cast(pa.int64()).to_numpy()
    minutes = flights.column("minute").cast(pa.int64()).to_numpy()
    departure = pa.array(hours + minutes * _MINUTE_US, pa.int64()).cast(pa.timestamp("us", tz="UTC"))
    carried = flights.select(["carrier", "origin", "dest", "distance", "hour"]).rename_columns({"hour": "sched_dep_hour"})
    return carried.append_column("label_time", departure)
