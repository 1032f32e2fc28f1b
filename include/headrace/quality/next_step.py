"""What to do about a check that is not ok: one sentence by kind of check, for the page, the alert and the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from headrace.quality.measurement import Measurement
from headrace.quality.ruling import State

NEXT_STEPS: Final[Mapping[str, str]] = {
    "insufficient": "Nothing was shown to be wrong or right: judge more rows, such as a longer period, before relying on this.",
    "part of the rows": "Raise the number of rows this expectation may look at, in the declaration, so that it sees all.",
    "not run": "Read the task's log, repair what it names, and run the check again.",
    "structural": "Nothing could be compared: repair what the checks of schema or feature code name first.",
    "Schema": "Compare the source's columns with the declaration: a source or a transform renamed, dropped or retyped one.",
    "FeatureCode": "Build the reference again with the current feature code, or run this data through the code of the reference.",
    "RowCount": "Look at the partition's run report: objects listed, quarantined, and samples read.",
    "MissingShare": "Find the source that stopped delivering the column; look at the runs upstream on that day.",
    "InfiniteShare": "Look for a division by zero or an overflow in the feature that computes the column.",
    "Range": "Look at the extreme rows: a unit change or a sentinel value is the usual cause.",
    "KnownLevels": "Add the new levels to the declaration if they are real; otherwise correct the source.",
    "TopShare": "A column that is nearly one value carries no information: look for a failed lookup or a default.",
    "Prevalence": "Compare the declared keep-rates with what the sampler did, then the age of the labels, then the population.",
    "Maturity": "Move the end of the label period back by the horizon, or leave the label null until it is final.",
    "Selection": "Release a known random share of every decision to get labels; until then this prevalence has only bounds.",
    "Parity": "Replay an example row by hand: a permuted row, other code or a later snapshot are the usual causes.",
    "Expect": "Look at the examples, then at the source that delivered them; the sentence is in the declaration's own words.",
    "Drift": "Compare the two histograms: a jump in one cell is usually a source, a shift of all cells usually the population.",
}


def next_step(measurement: Measurement, state: State) -> str:
    """The step that fits state and measurement; an empty text when there is nothing to do."""
    if state == "ok":
        return ""
    if measurement.structural and measurement.kind not in ("Schema", "FeatureCode"):
        return NEXT_STEPS["structural"]
    if state == "insufficient":
        return NEXT_STEPS["part of the rows" if measurement.kind == "Expect" else "insufficient"]
    return NEXT_STEPS[measurement.kind]
