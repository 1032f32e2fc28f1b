"""What the flights declaration names by path: from shard columns to log rows and labels.

A flight's outcome is known when it lands. The source gives the landing as a wall clock at the destination without a date, so the
instant is rebuilt: take-off plus time in the air, then on to the next moment at which the destination's clock shows the
arrival time (the taxi to the gate).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Numbers = npt.NDArray[np.int64]

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
            "carrier": _array(landed, "carrier"),
            "flight_id": _array(landed, "sample_id"),
            "event_time": _scheduled_departure(landed),
            "available_time": _landing(landed),
            "arr_delay": _array(landed, "arr_delay"),
            "late": pa.array(_numbers(landed, "arr_delay") > LATE_AFTER_MINUTES),
        }
    )


def late_arrivals(flights: pa.Table) -> pa.Table:
    """The labels: was the flight more than 15 minutes late, asked at its scheduled departure, known at its landing."""
    landed = _landed(flights)
    return pa.table(
        {
            "label_id": _array(landed, "sample_id"),
            "carrier": _array(landed, "carrier"),
            "label_time": _scheduled_departure(landed),
            "label_known_time": _landing(landed),
            "label": pa.array(_numbers(landed, "arr_delay") > LATE_AFTER_MINUTES),
            "origin": _array(landed, "origin"),
            "dest": _array(landed, "dest"),
            "distance": _array(landed, "distance"),
            "sched_dep_hour": _array(landed, "hour"),
        }
    )


def _landed(flights: pa.Table) -> pa.Table:
    return flights.filter(pc.is_valid(flights.column("arr_delay")))


def _array(flights: pa.Table, name: str) -> pa.Array[Any]:
    column: pa.Array[Any] = flights.column(name).combine_chunks()
    return column


def _numbers(flights: pa.Table, name: str) -> Numbers:
    return np.asarray(_array(flights, name).cast(pa.int64()), dtype=np.int64)


def _utc(micros: Numbers, zone: str = "UTC") -> pa.Array[Any]:
    return pa.array(micros, pa.int64()).cast(pa.timestamp("us", tz=zone))


def _scheduled_departure(flights: pa.Table) -> pa.Array[Any]:
    """`time_hour` is the scheduled hour in UTC; `minute` stands beside it."""
    return _utc(_numbers(flights, "time_hour") + _numbers(flights, "minute") * _MINUTE_US)


def _landing(flights: pa.Table) -> pa.Array[Any]:
    after_the_hour = _numbers(flights, "minute") + _numbers(flights, "dep_delay") + _numbers(flights, "air_time")
    touched_down = _numbers(flights, "time_hour") + after_the_hour * _MINUTE_US
    clock = _numbers(flights, "arr_time")
    at_gate = (clock // 100 * 60 + clock % 100) % _DAY_MINUTES
    taxi = (
        at_gate - _local_minute_of_day(touched_down, [str(airport) for airport in flights.column("dest").to_pylist()])
    ) % _DAY_MINUTES
    return _utc(touched_down + taxi * _MINUTE_US)


def _local_minute_of_day(instants: Numbers, airports: list[str]) -> Numbers:
    """The minute 0..1439 that the clock at each airport shows at each instant (microseconds, UTC)."""
    unknown = sorted(set(airports) - _ZONE_OF.keys())
    if unknown:
        raise UnknownDestinationError(f"no time zone known for {', '.join(unknown)}; add it to the example's table")
    zones = np.array([_ZONE_OF[airport] for airport in airports])
    minutes = np.zeros(len(instants), dtype=np.int64)
    for zone in np.unique(zones):
        here = zones == zone
        local: Any = pc.local_timestamp(_utc(instants[here], str(zone)))  # type: ignore[call-overload] # the stubs know no zoned arrays
        minutes[here] = local.cast(pa.int64()).to_numpy() // _MINUTE_US % _DAY_MINUTES
    return minutes
