"""What the flights declaration names by path: from shard columns to log rows and labels.

A flight's outcome is known when it lands. The source gives the landing as a wall clock at the destination without a date, so the
instant is rebuilt: take-off plus time in the air, then on to the next moment at which the destination's clock shows the
arrival time (the taxi to the gate).
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

LATE_AFTER_MINUTES: Final = 15

_MINUTE_US: Final = 60_000_000
_DAY_MINUTES: Final = 1440

_DESTINATIONS: Final = {
    "America/Anchorage": "ANC",
    "America/Chicago": "AUS BHM BNA DFW DSM HOU IAH MCI MDW MEM MKE MSN MSP MSY OKC OMA ORD SAT STL TUL XNA",
    "America/Denver": "ABQ BZN DEN EGE HDN JAC MTJ SLC",
    "America/Los_Angeles": "BUR LAS LAX LGB OAK PDX PSP SAN SEA SFO SJC SMF SNA",
    "America/New_York": (
        "ACK ALB ATL AVL BDL BGR BOS BTV BUF BWI CAE CAK CHO CHS CLE CLT CMH CRW CVG DAY DCA DTW EYW FLL GRR GSO GSP IAD ILM IND "
        "JAX LEX LGA MCO MHT MIA MVY MYR ORF PBI PHL PIT PVD PWM RDU RIC ROC RSW SAV SBN SDF SRQ SYR TPA TVC TYS"
    ),
    "America/Phoenix": "PHX",
    "America/Puerto_Rico": "BQN PSE SJU STT",
    "Pacific/Honolulu": "HNL",
}
_ZONE_OF: Final = {airport: zone for zone, airports in _DESTINATIONS.items() for airport in airports.split()}


class UnknownDestinationError(ValueError):
    """A flight goes to an airport whose time zone the example does not know."""


def landings(flights: pa.Table) -> pa.Table:
    """The log: one row per landed flight, known from its landing on; cancelled and diverted flights have no outcome.

    Columns: carrier, flight_id, event_time (scheduled departure), available_time (landing), arr_delay (minutes), late.
    """
    landed = _landed(flights)
    return pa.table(
        {
            "carrier": landed["carrier"],
            "flight_id": landed["sample_id"],
            "event_time": _scheduled_departure(landed),
            "available_time": _landing(landed),
            "arr_delay": landed["arr_delay"],
            "late": pc.greater(landed["arr_delay"], LATE_AFTER_MINUTES),
        }
    )


def late_arrivals(flights: pa.Table) -> pa.Table:
    """The labels: was the flight more than 15 minutes late, asked at its scheduled departure, known at its landing."""
    landed = _landed(flights)
    return pa.table(
        {
            "label_id": landed["sample_id"],
            "carrier": landed["carrier"],
            "label_time": _scheduled_departure(landed),
            "label_known_time": _landing(landed),
            "label": pc.greater(landed["arr_delay"], LATE_AFTER_MINUTES),
            "origin": landed["origin"],
            "dest": landed["dest"],
            "distance": landed["distance"],
            "sched_dep_hour": landed["hour"],
        }
    )


def _landed(flights: pa.Table) -> pa.Table:
    return flights.filter(pc.is_valid(flights["arr_delay"])).combine_chunks()


def _micros(times: pa.ChunkedArray) -> np.ndarray:
    return times.cast(pa.int64()).to_numpy()


def _utc(micros: np.ndarray) -> pa.Array:
    return pa.array(micros, pa.int64()).cast(pa.timestamp("us", tz="UTC"))


def _scheduled_departure(flights: pa.Table) -> pa.Array:
    """`time_hour` is the scheduled hour in UTC; `minute` stands beside it."""
    return _utc(_micros(flights["time_hour"]) + flights["minute"].to_numpy() * _MINUTE_US)


def _landing(flights: pa.Table) -> pa.Array:
    took_off = _micros(flights["time_hour"]) + (flights["minute"].to_numpy() + flights["dep_delay"].to_numpy()) * _MINUTE_US
    touched_down = took_off + flights["air_time"].to_numpy() * _MINUTE_US
    clock = flights["arr_time"].to_numpy()
    at_gate = (clock // 100 * 60 + clock % 100) % _DAY_MINUTES
    taxi = (at_gate - _local_minute_of_day(touched_down, flights["dest"])) % _DAY_MINUTES
    return _utc(touched_down + taxi * _MINUTE_US)


def _local_minute_of_day(instants: np.ndarray, airports: pa.ChunkedArray) -> np.ndarray:
    """The minute 0..1439 that the clock at each airport shows at each instant (microseconds, UTC)."""
    names = airports.to_pylist()
    unknown = sorted(set(names) - _ZONE_OF.keys())
    if unknown:
        raise UnknownDestinationError(f"no time zone known for {', '.join(unknown)}; add it to the example's table")
    zones = np.array([_ZONE_OF[name] for name in names])
    minutes = np.zeros(len(instants), dtype=np.int64)
    for zone in np.unique(zones):
        here = zones == zone
        local = pc.local_timestamp(pa.array(instants[here], pa.int64()).cast(pa.timestamp("us", tz=str(zone))))
        minutes[here] = local.cast(pa.int64()).to_numpy() // _MINUTE_US % _DAY_MINUTES
    return minutes
