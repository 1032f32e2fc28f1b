"""The door of the labels: one row per prediction to be learned, kept one for one and in their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from headrace.features.errors import SchemaError
from headrace.features.keys import key_column
from headrace.features.times import Micros, micros_of


@dataclass(frozen=True)
class Labels:
    """Checked labels. Arrays have shape (rows,) and the row order of `table`.

    Attributes:
        table: the labels exactly as given.
        time: label times, microseconds UTC, rounded down: a value a nanosecond later was not there.
    """

    table: pa.Table
    time: Micros


def open_labels(table: pa.Table, entity: Sequence[str]) -> Labels:
    """Check labels. Raises SchemaError or RowsError as `open_log` does; a label without a time has no answer."""
    for column in entity:
        key_column(table, column, "labels")
    return Labels(table=table, time=micros_of(table, "label_time", rounding="down"))


def refuse_nameless(labels: pa.Table) -> None:
    """Refuse labels without an ID, which names their row, or without an answer."""
    for column in ("label_id", "label"):
        if column not in labels.schema.names:
            raise SchemaError(
                f"labels.{column}",
                found=f"no such column among {labels.schema.names}",
                expected="label_id, the entity columns, label_time, label_known_time and label",
                remedy="Return it from the rows function of the labels.",
            )


def refuse_collisions(labels: pa.Table, added: Sequence[str]) -> None:
    """Refuse columns that would appear twice: label columns are never renamed and never overwritten."""
    taken = sorted(set(labels.schema.names) & set(added))
    twice = sorted({name for name in added if added.count(name) > 1})
    if taken or twice:
        raise SchemaError(
            "training row columns",
            found=f"{taken or twice} both among the labels and the features" if taken else f"{twice} from two sources",
            expected="different names",
            remedy="Rename the column in the rows function of the labels or of the log.",
        )
