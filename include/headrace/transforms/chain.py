"""Running a chain of steps on some samples, in this process.

What comes out of a sample depends on that sample alone, so results do not depend on how samples are dealt to batches, tasks or cores.
A batch function is taken at its word: when it raises, the batch is halved until the samples that make it raise stand alone.
A sample that makes a step raise is left out whole, with all that it had become, and its failure is kept with the traceback.

IDs are kept, in order; of a sample that becomes many, each part has an ID made of the sample's and the part's number, and names both.
"""

from __future__ import annotations

import hashlib
import re
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from headrace.shards.samples import ID_BYTES, IDENTITY, MEMBER, digests_of
from headrace.spec.transform import Step, Transform
from headrace.transforms.output import checked_batch, checked_row, columns_of, field_of, schema_of

Origins = np.ndarray[Any, np.dtype[np.int64]]
Loaded = tuple[Step, Callable[..., Any]]

_IDENTITY_NAMES: Final = (*(field.name for field in IDENTITY), MEMBER.name)
_PARENT: Final[list[pa.Field[Any]]] = [
    pa.field("parent_id", pa.string(), nullable=False),
    pa.field("part", pa.int64(), nullable=False),
]
_LONGEST_TRACEBACK: Final = 20_000
_ADDRESS: Final = re.compile(r"\b0x[0-9a-f]{6,}\b")  # where an object lay in memory says nothing, and differs every time


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A sample that made a step raise. `row`: which of the samples given."""

    row: int
    step: str
    kind: str
    message: str
    traceback: str


@dataclass(frozen=True, kw_only=True)
class Between:
    """What the samples are after some steps.

    Attributes:
        values: the declared columns of the last step, one row each.
        origin: the sample each row came from, counted in those given.
        part: its number among those its sample became; None while there was no step that gives many.
        failed: so far.
    """

    values: pa.Table
    origin: Origins
    part: Origins | None
    failed: tuple[Failure, ...]


def run_chain(steps: Sequence[Loaded], samples: pa.Table) -> Iterator[Between]:
    """The state after each step. `samples`: rows of a shard, identity columns included."""
    identity = samples.select([name for name in samples.schema.names if name in _IDENTITY_NAMES])
    values = samples.drop_columns(identity.schema.names)
    state = Between(values=values, origin=np.arange(samples.num_rows), part=None, failed=())
    for step, function in steps:
        state = _run_step(step, function, state, identity)
        yield state


def finished_rows(transform: Transform, samples: pa.Table, state: Between) -> pa.Table:
    """The rows as shards hold them: identity first, then (where samples become many) parent and part, then the declared columns."""
    names = [name for name in samples.schema.names if name in _IDENTITY_NAMES]
    identity = samples.select(names).take(state.origin)
    own = state.values
    ids: Any = identity.column("sample_id").to_pylist()
    if transform.fans_out:
        parts = np.zeros(len(state.origin), np.int64) if state.part is None else state.part
        parents: list[Any] = [pa.array(ids, pa.string()), pa.array(parts)]
        own = pa.Table.from_arrays([*parents, *own.columns], schema=pa.schema([*_PARENT, *own.schema]))
        ids = [part_id(parent, int(part)) for parent, part in zip(ids, parts, strict=True)]
    columns: dict[str, Any] = {**dict(zip(names, identity.columns, strict=True)), "sample_id": pa.array(ids, pa.string())}
    columns["sample_digest"] = pa.array(digests_of(own), pa.string())
    schema = rows_schema(transform, samples.schema)
    return pa.Table.from_arrays([*(columns[name] for name in names), *own.columns], schema=schema)


def rows_schema(transform: Transform, samples: pa.Schema) -> pa.Schema:
    """The columns of a transform's shards, made of samples with these columns."""
    identity = [samples.field(name) for name in samples.names if name in _IDENTITY_NAMES]
    parent = _PARENT if transform.fans_out else []
    return pa.schema([*identity, *parent, *(field_of(column) for column in transform.columns)])


def part_id(parent: str, part: int) -> str:
    """The sample ID of one of the many that a sample became."""
    return hashlib.sha256(f"part\0{parent}\0{part}".encode()).hexdigest()[: 2 * ID_BYTES]


def _run_step(step: Step, function: Callable[..., Any], state: Between, identity: pa.Table) -> Between:
    run = _run_batch if step.kind == "batch" else _run_bytes
    values, came_from, raised = run(step, function, _given(step, state, identity))
    origin = state.origin[came_from]
    part = None if state.part is None else state.part[came_from]
    if step.gives == "many":
        part = _numbered(came_from)
    failed = {failure.row: failure for failure in (_of_sample(failure, state.origin) for failure in reversed(raised))}
    keep = ~np.isin(origin, list(failed))
    return Between(
        values=values if keep.all() else values.filter(pa.array(keep)),
        origin=origin[keep],
        part=None if part is None else part[keep],
        failed=(*state.failed, *(failed[row] for row in sorted(failed))),
    )


def _given(step: Step, state: Between, identity: pa.Table) -> pa.Table:
    """The columns a function is given: a batch has all, bytes only what it names."""
    wanted = [*identity.schema.names, *state.values.schema.names] if step.kind == "batch" else [step.column, *step.also]
    around = identity.select([name for name in wanted if name in identity.schema.names])
    if len(state.origin) != identity.num_rows or state.part is not None:
        around = around.take(state.origin)
    own = state.values.select([name for name in wanted if name in state.values.schema.names])
    fields = [*around.schema, *own.schema]
    return pa.Table.from_arrays([*around.columns, *own.columns], schema=pa.schema(fields))


def _run_bytes(step: Step, function: Callable[..., Any], given: pa.Table) -> tuple[pa.Table, Origins, list[Failure]]:
    keywords = dict(step.parameters)
    contents = given.column(step.column)
    also = [given.column(name).to_pylist() for name in step.also]
    rows: list[list[Any]] = []
    came_from: list[int] = []
    failed: list[Failure] = []
    for row, content in enumerate(scalar.as_py() for chunk in contents.chunks for scalar in chunk):
        more = {name: column[row] for name, column in zip(step.also, also, strict=True)}
        try:
            found = [checked_row(step, one) for one in _returned(step, function(content, **more, **keywords))]
        except MemoryError:
            raise  # the task's, not the sample's
        except Exception as error:  # noqa: BLE001 - a user's function may raise anything; it is that sample's failure
            failed.append(_failure(row, step, error))
        else:
            rows += found
            came_from += [row] * len(found)
    return columns_of(step, rows), np.array(came_from, np.int64), failed


def _returned(step: Step, found: Any) -> Any:
    if step.gives == "many":
        return found
    return [] if step.gives == "filter" and found is None else [found]


def _run_batch(step: Step, function: Callable[..., Any], given: pa.Table) -> tuple[pa.Table, Origins, list[Failure]]:
    """The whole batch at once; where it raises, its halves."""
    if given.num_rows == 0:
        return schema_of(step).empty_table(), np.empty(0, np.int64), []
    try:
        values, came_from = checked_batch(step, function(given, **dict(step.parameters)), given.num_rows)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - as above
        if given.num_rows == 1:
            return schema_of(step).empty_table(), np.empty(0, np.int64), [_failure(0, step, error)]
        return _halves(step, function, given)
    return values, came_from, []


def _halves(step: Step, function: Callable[..., Any], given: pa.Table) -> tuple[pa.Table, Origins, list[Failure]]:
    middle = given.num_rows // 2
    first = _run_batch(step, function, given.slice(0, middle))
    second = _run_batch(step, function, given.slice(middle))
    moved = [_moved(failure, failure.row + middle) for failure in second[2]]
    return pa.concat_tables([first[0], second[0]]), np.concatenate([first[1], second[1] + middle]), [*first[2], *moved]


def _numbered(came_from: Origins) -> Origins:
    """0, 1, 2 ... anew for each input row; `came_from` is sorted."""
    starts = np.flatnonzero(np.diff(came_from, prepend=-1))
    counts = np.diff(np.append(starts, len(came_from)))
    return np.arange(len(came_from)) - np.repeat(starts, counts)


def _of_sample(failure: Failure, origin: Origins) -> Failure:
    return _moved(failure, int(origin[failure.row]))


def _moved(failure: Failure, row: int) -> Failure:
    return Failure(row=row, step=failure.step, kind=failure.kind, message=failure.message, traceback=failure.traceback)


def _failure(row: int, step: Step, error: Exception) -> Failure:
    inside = error.__traceback__.tb_next if error.__traceback__ is not None else None  # from the user's first frame on
    text = "".join(traceback.format_exception(type(error), error, inside))
    return Failure(
        row=row,
        step=step.name,
        kind=type(error).__name__,
        message=_ADDRESS.sub("0x...", str(error))[:1000],
        traceback=text[-_LONGEST_TRACEBACK:],
    )
