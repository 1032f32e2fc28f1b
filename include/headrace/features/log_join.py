"""One declared log join, computed: the as-of join with the types that were declared."""

from __future__ import annotations

import pyarrow as pa

from headrace.features.as_of import AsOf, as_of
from headrace.features.errors import SchemaError
from headrace.sources.types import arrow_type
from headrace.spec.log_join import LogJoin


def log_columns(join: LogJoin) -> tuple[str, ...]:
    """The provenance columns of a log join: times, seq and reason, and two more for each column carried forward."""
    own = [f"{join.name}__{part}" for part in ("event_time", "available_time", "seq", "reason")]
    return (*own, *(f"{column}__{part}" for column in join.carry_forward for part in ("event_time", "reason")))


def join_log(join: LogJoin, labels: pa.Table, log: pa.Table, *, engine: str) -> pa.Table:
    """The log's values and provenance for each label, in the labels' order.

    Raises SchemaError for a value column that is missing or of another type than declared.
    """
    for column in join.values:
        kind = log.schema.field(column.name).type if column.name in log.schema.names else None
        if kind != arrow_type(column):
            raise SchemaError(
                f"log {join.name}.{column.name}",
                found="no such column" if kind is None else str(kind),
                expected=f"{arrow_type(column)}, as declared",
                remedy="Cast it in the rows function, or declare the type it has.",
            )
    how = AsOf(
        entity=join.entity,
        values=join.features,
        ttl=join.ttl,
        strict=join.strict,
        carry_forward=join.carry_forward,
        name=join.name,
    )
    return as_of(labels.select([*join.entity, "label_time"]), log, how, engine=engine)
