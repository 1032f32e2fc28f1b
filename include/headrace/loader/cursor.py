"""Where a training run stands in the data: five numbers, the same for all ranks.

`{"format": 1, "order": ..., "seed": ..., "epoch": ..., "position": ...}`: the format of this state, the first 60 bits of the order's
fingerprint (release, split, window, end: what positions mean), the seed, the epoch, and the next global position. No world size and
no worker count: a cursor loads into a fresh loader with any of both. A state that is missing, of another format or of another order
is refused: silently starting again is what loses data (NVIDIA-NeMo/Megatron-Bridge#3993).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from headrace.loader.errors import StateRefused

FORMAT: Final = 1
_NAMES: Final = ("format", "order", "seed", "epoch", "position")


@dataclass(frozen=True, kw_only=True)
class Cursor:
    """The next sample of a run."""

    order: int
    seed: int
    epoch: int
    position: int

    def state(self) -> dict[str, int]:
        return {"format": FORMAT, "order": self.order, "seed": self.seed, "epoch": self.epoch, "position": self.position}


def order_number(fingerprint: str) -> int:
    """60 bits of a hex fingerprint: enough to tell orders apart, small enough for every integer type."""
    return int(fingerprint[:15], 16)


def cursor_from(state: object, *, order: int, length: int, about: str) -> Cursor:
    """The cursor in a state.

    Args:
        state: what `state_dict()` gave.
        order: the number of the order this loader reads by.
        length: samples of an epoch; the position may be at most that.
        about: what this loader reads, for the message.

    Raises:
        StateRefused: the state is none of this loader's.
    """
    fields = _five_numbers(state)
    if fields["order"] != order:
        raise _refused(
            f"a state of order {fields['order']}",
            f"order {order}: {about}",
            "Open the release, split, window and end the state was saved with; the release's digest stands beside the state.",
        )
    if fields["epoch"] < 0 or not 0 <= fields["position"] <= length or not 0 <= fields["seed"] < 2**63:
        raise _refused(repr(fields), f"an epoch from 0 and a position from 0 to {length}", "The state was altered: use another.")
    return Cursor(order=order, seed=fields["seed"], epoch=fields["epoch"], position=fields["position"])


def _five_numbers(state: object) -> dict[str, int]:
    if not isinstance(state, Mapping):
        found = "no state" if state is None else f"a {type(state).__name__}"
        raise _refused(found, "a state of this loader", "To start from the beginning on purpose, load no state at all.")
    found_format = state.get("format")
    if found_format != FORMAT:
        raise _refused(
            "a state without a format" if found_format is None else f"a state of format {found_format!r}",
            f"format {FORMAT}",
            "Resume with the version of headrace that saved it; this one does not guess.",
        )
    if set(state) != set(_NAMES) or not all(isinstance(value, int) and not isinstance(value, bool) for value in state.values()):
        raise _refused(f"fields {dict(state)!r}", f"whole numbers under {list(_NAMES)}", "The state was altered: use another.")
    return {name: state[name] for name in _NAMES}


def _refused(found: str, expected: str, remedy: str) -> StateRefused:
    return StateRefused("loader state", found=found, expected=expected, remedy=remedy)
