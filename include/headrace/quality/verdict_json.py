"""A verdict as JSON's own types and back, so that later runs, the page's history and people's tools read what the gate wrote."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from headrace.quality.measurement import Histogram
from headrace.quality.verdict import CheckResult, Verdict


def verdict_plain(verdict: Verdict) -> dict[str, Any]:
    """JSON's own types; `passes` stands beside the fields for readers that know nothing of states."""
    return {**asdict(verdict), "passes": verdict.passes}


def verdict_from(plain: dict[str, Any]) -> Verdict:
    """The inverse of `verdict_plain`; further keys of a stored verdict are ignored.

    Raises KeyError or TypeError for anything that is no verdict.
    """
    fields = Verdict.__dataclass_fields__
    known = {name: value for name, value in plain.items() if name in fields}
    return Verdict(**{**known, "checks": tuple(_check_from(item) for item in plain["checks"])})


def _check_from(plain: dict[str, Any]) -> CheckResult:
    return CheckResult(**{**plain, "histogram": _histogram_from(plain["histogram"])})


def _histogram_from(plain: dict[str, Any] | None) -> Histogram | None:
    return None if plain is None else Histogram(**{name: tuple(values) for name, values in plain.items()})
