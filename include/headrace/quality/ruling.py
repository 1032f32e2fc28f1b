"""The words in which a gate answers: a state, what was observed, what was expected, and why."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

State = Literal["ok", "insufficient", "warning", "failed", "not run"]
STATES: Final[tuple[State, ...]] = ("ok", "insufficient", "warning", "failed", "not run")
"""From best to worst."""

_LEAST: Final = 1e-300

Numbers = Mapping[str, Any]
Bounds = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Ruling:
    """A state with the sentence that justifies it. `reason` is empty only when the state is `ok` without remark."""

    state: State
    observed: str
    expected: str
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Gate:
    """How one kind of check is judged.

    Attributes:
        judge: from the check's numbers and bounds to a ruling.
        needed: numbers without which there is nothing to judge.
        expected: what the bounds ask for, in words.
        unmet: what was observed when the measurement itself is a problem.
    """

    judge: Callable[[Numbers, Bounds], Ruling]
    needed: tuple[str, ...]
    expected: Callable[[Bounds], str]
    unmet: Callable[[Numbers], str] = lambda _: "not measurable"


def worst(states: Iterable[State]) -> State:
    """The worst of some states; `ok` of none."""
    return max(states, key=STATES.index, default="ok")


def is_figure(value: Any) -> bool:
    """A finite number; booleans, texts, NaN and infinities are not."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def probability(value: float) -> str:
    """`p = 0.0031`; what no float can hold is said to be below what one can."""
    return f"p = {value:.2g}" if value >= _LEAST else f"p < {_LEAST:g}"


def percent(share: float) -> str:
    """`0.433 %`: three significant digits, never an exponent."""
    value = 100 * share
    if value == 0:
        return "0 %"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(digits, 6)}f} %"
