"""Labels: what the model shall predict, at what time, and when the answer became known."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from headrace.spec.cutoff import check_wait
from headrace.spec.feature_view import check_columns
from headrace.spec.names import check_dotted, check_name


@dataclass(frozen=True, kw_only=True)
class LabelSet:
    """Labels from the rows of a dataset.

    Attributes:
        name: the label set's name.
        dataset: the dataset whose partitions hold the rows.
        rows: a function by path, `(pa.Table of shard columns) -> pa.Table`, that returns `label_id`, the entity columns,
            `label_time` (when the prediction is made) and `label_known_time` (when the outcome is known), both timestamps
            with a zone, `label`, and any columns to carry along.
        entity: every entity column the views of a training set need.
        maturity: how long after its day a label may still change; a day's labels are read only after that.
    """

    name: str
    dataset: str
    rows: str
    entity: tuple[str, ...]
    maturity: timedelta = timedelta(0)

    def __post_init__(self) -> None:
        check_name("LabelSet", "name", self.name)
        who = f"LabelSet {self.name}"
        check_name(who, "dataset", self.dataset)
        check_dotted(who, "rows", self.rows)
        check_columns(who, "entity", self.entity, at_least=1)
        check_wait(who, "maturity", self.maturity)
