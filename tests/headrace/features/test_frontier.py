"""The frontier keeps record-setters and nothing else, also where numbers get large."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from headrace.features.frontier import Steps, last_step, record_setters, visible_steps
from headrace.features.log import open_log
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.headrace.features.build import log

FAR = 2**61  # so wide a span that group and value do not fit one integer


def array(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def test_a_row_that_sets_no_record_is_left_out() -> None:
    """Visible at 1, 2, 3 with events 5, 4, 6: the second never shows."""
    kept = record_setters(array(0, 0, 0), array(1, 2, 3), array(5, 4, 6), array(0, 0, 0))

    assert kept.tolist() == [0, 2]


def test_of_rows_that_become_visible_together_the_last_is_kept() -> None:
    """Equal visibility: the greatest best, then the greatest tie."""
    kept = record_setters(array(0, 0, 0), array(1, 1, 1), array(5, 5, 4), array(7, 8, 9))

    assert kept.tolist() == [1]


SPREADS: dict[str, Callable[[Any], Any]] = {
    "small": lambda value: value,
    "so wide that ranks are used": lambda value: value * (FAR // 5),
    "close together in two places far apart": lambda value: (value // 3) * 2**58 + value % 3,
}


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(0, 5), st.integers(0, 5)), max_size=25),
    st.sampled_from(sorted(SPREADS)),
)
@settings(max_examples=300, deadline=None)
def test_the_last_step_is_the_best_of_what_is_visible(raw: list[tuple[int, int, int, int]], spread: str) -> None:
    """For every group and time, also where a number cannot hold group, moment and position at once."""
    far = SPREADS[spread]
    group, visible, best, tie = (np.array(column, dtype=np.int64) for column in zip(*raw, strict=True)) if raw else [array()] * 4
    visible, best = far(visible), far(best)
    kept = record_setters(group, visible, best, tie, np.arange(group.size))
    steps = Steps(group=group[kept], visible=visible[kept], row=kept)

    asked = [(g, far(t)) for g in range(-1, 5) for t in range(-1, 7)]
    found = last_step(steps, array(*[g for g, _ in asked]), array(*[t for _, t in asked]))

    for (g, t), step in zip(asked, found.tolist(), strict=True):
        seen = [n for n in range(group.size) if group[n] == g and visible[n] <= t]
        expected = max(seen, key=lambda n: (best[n], visible[n], tie[n], n), default=None)
        assert (None if step < 0 else int(steps.row[step])) == expected
    packed = list(zip(steps.group.tolist(), steps.visible.tolist(), strict=True))
    assert packed == sorted(set(packed))


def test_a_log_in_arrival_order_only_appends_to_its_frontier() -> None:
    """The frontier of a longer log begins with that of the shorter one, entity by entity."""
    rows = [("AA", f"2013-01-0{1 + n % 5}T12:00", f"2013-01-0{1 + n}T13:00", n, False) for n in range(9)]
    whole, part = (open_log(log(*rows[:n]), ("carrier",)) for n in (9, 6))

    longer = visible_steps(whole, np.zeros(9, dtype=np.int64))
    shorter = visible_steps(part, np.zeros(6, dtype=np.int64))

    assert longer.visible[: shorter.visible.size].tolist() == shorter.visible.tolist()
    assert longer.row[: shorter.row.size].tolist() == shorter.row.tolist()


def test_a_retraction_of_nothing_is_no_step() -> None:
    """There is nothing to withdraw, so nothing changes."""
    rows = log(("AA", "2013-01-03T12:00", "2013-01-03T14:00", True), columns=("retraction",))

    assert visible_steps(open_log(rows, ("carrier",)), array(0)).row.size == 0


def test_an_empty_log_has_no_steps() -> None:
    """And every question finds none."""
    steps = visible_steps(open_log(log(), ("carrier",)), array())

    assert last_step(steps, array(0, -1), array(5, 5)).tolist() == [-1, -1]
    assert isinstance(pa.array(steps.row), pa.Int64Array)
