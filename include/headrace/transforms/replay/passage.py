"""One transform on the way from a source to a sample: run again, by the code it was made with, and compared with what the lake holds.

The recorded code is today's when it has the recorded fingerprint, the kept texts otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from headrace.lake.errors import ObjectMissing
from headrace.lake.store import Store
from headrace.spec.transform import Transform
from headrace.transforms.chain import run_chain
from headrace.transforms.changes import changed_code, changed_surroundings, changed_versions
from headrace.transforms.code_store import kept_code
from headrace.transforms.errors import CodeRefused, NotReplayable
from headrace.transforms.fingerprint import Fingerprint, fingerprint_of
from headrace.transforms.registry import FunctionNotFound
from headrace.transforms.replay.origin import SourceState
from headrace.transforms.replay.recorded import RecordedCodeFailed, run_recorded
from headrace.transforms.replay.steps import StepOutput, outputs_of, same_values
from headrace.transforms.replay.verdict import Facts
from headrace.transforms.replay.way import Stand


@dataclass(frozen=True, kw_only=True)
class Passage:
    """One transform on the way.

    Attributes:
        transform, partition, sample_id: whose sample.
        outputs: of the recorded code, step by step.
        current: of today's code; None unless asked for, or where there is none.
        recorded: the row the release holds; None for a sample that failed.
        facts: of this transform.
        trouble: why recorded or current code could not be run.
    """

    transform: str
    partition: str
    sample_id: str
    part: int
    outputs: tuple[StepOutput, ...]
    current: tuple[StepOutput, ...] | None
    recorded: pa.Table | None
    facts: Facts
    trouble: tuple[str, ...]


def passage_of(given: Stand, after: Stand, transform: Transform | None, lake: Store, *, with_current: bool) -> Passage:
    """Run one transform again on the row it was given.

    Args:
        given, after: the row before it, and the one that is to come out.
        transform: as it is declared today; None where it is not any more.
        with_current: also run today's code.

    Raises:
        NotReplayable: the row before it is not there.
    """
    recorded: dict[str, Any] = after.manifest.facts["transform"]
    today, trouble = _today(transform)
    row = _row_of(given)
    outputs, more = _run(row, recorded, today, after.manifest.dataset, lake)
    part = _part_of(after.row)
    return Passage(
        transform=after.manifest.dataset,
        partition=after.manifest.partition,
        sample_id=after.sample_id,
        part=part,
        outputs=outputs,
        current=_run_here(today, row) if with_current and today is not None else None,
        recorded=after.row,
        facts=Facts(
            source=SourceState.SAME,
            changed_code=_changed_code(after.manifest.dataset, recorded, today, lake),
            packages=() if today is None else changed_versions(recorded["packages"], today.packages),
            surroundings=changed_surroundings(after.manifest, recorded["packages"], today, lake),
            reproduced=_reproduced(after, outputs, part),
            failed=after.row is None,
        ),
        trouble=(*trouble, *more),
    )


def _row_of(given: Stand) -> pa.Table:
    if given.row is None:
        raise NotReplayable(
            f"sample {given.sample_id}",
            found=f"no such sample in {given.manifest.dataset} {given.manifest.partition}",
            expected="the sample it was made of",
            remedy="Restore the manifest's index.",
        )
    return given.row


def _changed_code(name: str, recorded: dict[str, Any], today: Fingerprint | None, lake: Store) -> tuple[str, ...]:
    if today is None:
        return (f"{name}: its code cannot be compared",)
    return tuple(f"{name}: {line}" for line in changed_code(recorded, today, lake, name))


def _part_of(row: pa.Table | None) -> int:
    return int(row.column("part")[0].as_py()) if row is not None and "part" in row.schema.names else 0


def _today(transform: Transform | None) -> tuple[Fingerprint | None, tuple[str, ...]]:
    if transform is None:
        return None, ("not declared any more",)
    try:
        return fingerprint_of(transform), ()
    except (CodeRefused, FunctionNotFound) as error:
        return None, (str(error),)


def _run(
    sample: pa.Table, recorded: dict[str, Any], today: Fingerprint | None, transform: str, lake: Store
) -> tuple[tuple[StepOutput, ...], tuple[str, ...]]:
    """The recorded code on its input: here when it is today's, from the kept texts otherwise."""
    if today is not None and today.code == recorded["code"]:
        return _run_here(today, sample), ()
    try:
        return run_recorded(kept_code(lake, transform, recorded["fingerprint"]).content, sample), ()
    except (ObjectMissing, RecordedCodeFailed) as error:
        return (), (str(error),)


def _run_here(code: Fingerprint, sample: pa.Table) -> tuple[StepOutput, ...]:
    steps = [(one.step, one.function) for one in code.steps]
    return tuple(outputs_of(steps, run_chain(steps, sample)))


def _reproduced(after: Stand, outputs: tuple[StepOutput, ...], part: int) -> bool | None:
    """Whether the last step's rows hold the recorded row; None where the recorded code could not be run.

    For a sample that failed: whether it fails in the same step, the same way.
    """
    if not outputs:
        return None
    if after.row is None:
        again = {(one.step, failure.kind) for one in outputs for failure in one.failed}
        return any(
            item["record"] == after.sample_id and (item["step"], item["reason"]) in again
            for item in after.manifest.facts["quarantined"]
        )
    made = outputs[-1].row_of(part)
    return made is not None and same_values(made, after.row)
