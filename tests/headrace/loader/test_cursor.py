"""The cursor's five numbers, and everything that is not them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from headrace.loader.cursor import Cursor, cursor_from
from headrace.loader.errors import StateRefused

GOOD = {"format": 1, "order": 77, "seed": 3, "epoch": 2, "position": 10}


def load(state: object) -> Cursor:
    return cursor_from(state, order=77, length=10, about="numbers release 1")


def test_a_state_is_five_numbers_and_survives_json() -> None:
    """What was saved is what is loaded."""
    cursor = Cursor(order=77, seed=3, epoch=2, position=10)

    assert cursor.state() == GOOD
    assert load(json.loads(json.dumps(cursor.state()))) == cursor


@pytest.mark.parametrize(
    ("state", "says"),
    [
        (None, "no state"),
        ({}, "a state without a format"),
        ("state", "a str"),
        ({**GOOD, "format": 0}, "format 0"),
        ({**GOOD, "format": 2}, "format 2"),
        ({**GOOD, "order": 78}, "order 78"),
        ({key: GOOD[key] for key in GOOD if key != "seed"}, "fields"),
        ({**GOOD, "shuffled": 1}, "fields"),
        ({**GOOD, "epoch": 1.0}, "fields"),
        ({**GOOD, "epoch": True}, "fields"),
        ({**GOOD, "epoch": -1}, "-1"),
        ({**GOOD, "position": 11}, "11"),
        ({**GOOD, "seed": -1}, "-1"),
    ],
)
def test_what_is_no_state_of_this_order_is_refused(state: Any, says: str) -> None:
    """Missing, older, newer, foreign, incomplete or altered: an error that says which, never a start from zero (C.1 7, 9)."""
    with pytest.raises(StateRefused, match=r"loader state: found .*") as caught:
        load(state)
    assert says in caught.value.found
