"""What a check allows, as its gate reads it: the declared bounds, and for drift the defaults beside them."""

from __future__ import annotations

import dataclasses
from typing import Any, Final

from headrace.spec.checks import DEFAULT_GATES
from headrace.spec.live import Parity
from headrace.spec.quality import Check, Drift, QualityPolicy

_NO_BOUND: Final = frozenset({"severity", "reference", "horizon", "unit", "decision", "score", "edges", "served"})
"""Fields that say what is counted, not what is allowed."""


def bounds_of(check: Check | Parity | None, policy: QualityPolicy) -> dict[str, Any]:
    """The declared bounds as JSON's own types: what Great Expectations shows as the expectation's parameters."""
    if check is None:
        return {}
    bounds = {name: value for name, value in dataclasses.asdict(check).items() if name not in _NO_BOUND}
    if isinstance(check, Drift):
        warn, fail = check.gates
        linf_warn, linf_fail = DEFAULT_GATES["linf"]
        rate = policy.false_discovery_rate
        bounds |= {
            "warn": warn,
            "fail": fail,
            "psi_warn": DEFAULT_GATES["psi"][0],
            "linf_warn": linf_warn,
            "linf_fail": linf_fail,
            "false_discovery_rate": rate,
        }
    return bounds
