"""What each step of a chain made of one sample."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from headrace.shards.samples import digests_of
from headrace.transforms.chain import Between, Failure, Loaded


@dataclass(frozen=True, kw_only=True)
class StepOutput:
    """A step's rows: one, none, or many; `failed` holds its failure, with the traceback.

    `parts` numbers the rows among those the sample became; None before a step that gives many.
    """

    step: str
    version: str
    rows: pa.Table
    parts: tuple[int, ...] | None
    failed: tuple[Failure, ...]

    def row_of(self, part: int) -> pa.Table | None:
        """The row with that part number; None when there is none."""
        numbers = list(range(self.rows.num_rows)) if self.parts is None else list(self.parts)
        return self.rows.slice(numbers.index(part), 1) if part in numbers else None


def same_values(row: pa.Table, other: pa.Table) -> bool:
    """Whether two rows hold the same in the columns of the first."""
    return digests_of(row) == digests_of(other.select(row.schema.names))


def outputs_of(steps: Sequence[Loaded], states: Iterable[Between]) -> list[StepOutput]:
    """The states of a chain as outputs."""
    outputs = []
    for (step, _), state in zip(steps, states, strict=True):
        failed = tuple(failure for failure in state.failed if failure.step == step.name)
        parts = None if state.part is None else tuple(int(part) for part in state.part)
        outputs.append(StepOutput(step=step.name, version=step.version, rows=state.values, parts=parts, failed=failed))
    return outputs
