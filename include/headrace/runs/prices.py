"""What a run cost, from declared prices. No price list is shipped: prices differ by place and contract, and a guessed one misleads.

`HEADRACE_PRICES=core_hour=0.04,put_1000=0.005,get_1000=0.0004,currency=USD`; a price that is not named is 0. Cost counts CPU
time held by tasks (a task holds one core while it is on a worker) and requests to stores; storage over time is not a run's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields

from headrace.runs.errors import PricesRefused
from headrace.runs.task_record import TaskRecord
from headrace.stages import Stage

_READS = (Stage.LIST, Stage.READ, Stage.VERIFY)
_WRITES = (Stage.WRITE, Stage.PUBLISH)


@dataclass(frozen=True, kw_only=True)
class Prices:
    """Money per core-hour and per thousand requests."""

    core_hour: float = 0.0
    put_1000: float = 0.0
    get_1000: float = 0.0
    currency: str = "USD"

    def __post_init__(self) -> None:
        for name in ("core_hour", "put_1000", "get_1000"):
            value = getattr(self, name)
            if not math.isfinite(value) or value < 0:
                raise _refused(f"{name}={value}", "a price of 0 or more")


def prices_from(text: str) -> Prices | None:
    """The prices in a setting's text; None for an empty one. Raises `PricesRefused`."""
    if text.strip() == "":
        return None
    known = {item.name for item in fields(Prices)}
    found: dict[str, str] = {}
    for part in text.split(","):
        name, separator, value = (piece.strip() for piece in part.partition("="))
        if separator == "" or name not in known or name in found:
            raise _refused(part, f"name=value, each name once, of {', '.join(sorted(known))}")
        found[name] = value
    currency = found.pop("currency", "USD")
    try:
        numbers = {name: float(value) for name, value in found.items()}
    except ValueError as error:
        raise _refused(text, "numbers as prices") from error
    return Prices(**numbers, currency=currency)


def cost_of(records: Iterable[TaskRecord], prices: Prices) -> float:
    """What these tries cost, failed ones included: they were paid for."""
    total = 0.0
    for record in records:
        reads = sum(record.stages[stage].times for stage in _READS if stage in record.stages)
        writes = sum(record.stages[stage].times for stage in _WRITES if stage in record.stages)
        total += record.seconds / 3600 * prices.core_hour + (reads * prices.get_1000 + writes * prices.put_1000) / 1000
    return total


def _refused(found: str, expected: str) -> PricesRefused:
    return PricesRefused("HEADRACE_PRICES", found=repr(found), expected=expected, remedy="Correct or unset it.")
