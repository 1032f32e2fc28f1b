"""A replay for people: values in a line, outputs as files, two rows side by side."""

from __future__ import annotations

import difflib
import hashlib
import json
from pathlib import Path, PurePosixPath
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace.transforms.replay.origin import SourceState
from headrace.transforms.replay.passage import Passage
from headrace.transforms.replay.picture import picture_of
from headrace.transforms.replay.replay import Replay
from headrace.transforms.replay.steps import StepOutput
from headrace.transforms.tensors import METADATA_KEY

_LONGEST: Final = 80
_MOST_ROWS: Final = 200
_DIFF_LINES: Final = 60


def shown(row: pa.Table) -> dict[str, str]:
    """The values of one row, each in a line."""
    return {name: _line(row.schema.field(name), row.column(name)[0].as_py()) for name in row.schema.names}


def tensor_of(field: pa.Field[Any], value: bytes) -> npt.NDArray[Any] | None:
    """The array in a tensor column's value; None for another column."""
    told = (field.metadata or {}).get(METADATA_KEY.encode())
    if told is None:
        return None
    kind, _, sizes = told.decode().partition(":")
    shape = [-1 if size == "" else int(size) for size in sizes.split(",")]
    return np.frombuffer(value, np.dtype(kind).newbyteorder("<")).reshape(shape)


def save(found: Replay, folder: Path) -> list[Path]:
    """Write the source, what each step made of it, and the row the release holds. Returns the files.

    Where the object is not the one that was read any more (or holds more than this sample), the sample as it landed is written too.

    Raises:
        OSError: the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written, number = _save_source(found, folder), 0
    for passage in found.passages:
        for output in passage.outputs:
            number += 1
            written += _save_output(folder, f"{number}-{passage.transform}-{output.step}", output)
        for output in passage.current or ():
            written += _save_output(folder, f"current-{passage.transform}-{output.step}", output)
        if passage.recorded is not None:
            written += _save_row(folder, f"recorded-{passage.transform}", passage.recorded)
    return written


def _save_source(found: Replay, folder: Path) -> list[Path]:
    written, origin, landed = [], found.origin, found.landed
    payload = landed.column("payload")[0].as_py() if "payload" in landed.schema.names else None
    if origin.data is not None:
        name = "source-now" if origin.state is SourceState.CHANGED else "source"
        written.append(_write(folder / (name + _suffix(origin.key)), origin.data))
    if payload is None:
        written += _save_row(folder, "landed", landed)
    elif payload != origin.data:
        name = origin.key if origin.member is None else origin.member
        written.append(_write(folder / f"landed{_suffix(name)}", payload))
    return written


def _suffix(name: str) -> str:
    suffix = PurePosixPath(name).suffix[:12]
    return suffix if suffix[1:].isalnum() else ""


def difference(passage: Passage) -> list[str]:
    """How today's output differs from the recorded row, column by column; empty when it does not, or was not made."""
    if passage.current is None:
        return []
    fails = _failures(passage.current)
    if passage.recorded is None:
        return [] if fails == _failures(passage.outputs) else fails or ["failed then, does not fail now"]
    row = passage.current[-1].row_of(passage.part)
    if row is None:
        return ["makes no such row now", *fails]
    lines: list[str] = []
    recorded = passage.recorded
    for name in row.schema.names:
        if name not in recorded.schema.names:
            lines.append(f"{name}: a new column")
            continue
        old, new = recorded.column(name)[0].as_py(), row.column(name)[0].as_py()
        if old != new:
            lines += _column_difference(row.schema.field(name), recorded.schema.field(name), old, new)
    return lines


def _failures(outputs: tuple[StepOutput, ...]) -> list[str]:
    return [f"step {one.step} fails: {raised.kind}: {raised.message}" for one in outputs for raised in one.failed]


def _line(field: pa.Field[Any], value: Any) -> str:
    if not isinstance(value, bytes):
        text = repr(value) if isinstance(value, str) else str(value)
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({len(text)} characters)"
    array = tensor_of(field, value)
    digest = hashlib.sha256(value).hexdigest()[:12]
    if array is None:
        return f"{len(value)} bytes, SHA-256 {digest}..."
    numbers = f", {array.min():.4g} to {array.max():.4g}" if array.size else ""
    return f"{array.dtype.name} {array.shape}{numbers}, SHA-256 {digest}..."


def _column_difference(field: pa.Field[Any], old_field: pa.Field[Any], old: Any, new: Any) -> list[str]:
    before = tensor_of(old_field, old) if isinstance(old, bytes) else None
    after = tensor_of(field, new) if isinstance(new, bytes) else None
    if before is not None and after is not None and before.shape == after.shape:
        apart = np.abs(before.astype(np.float64) - after.astype(np.float64))
        share = np.count_nonzero(apart) / apart.size
        return [
            f"{field.name}: {share:.1%} of {apart.size} elements differ, by at most {apart.max():.6g}, {apart.mean():.6g} on average"
        ]
    if isinstance(old, str) and isinstance(new, str) and "\n" in old + new:
        told = list(difflib.unified_diff(old.splitlines(), new.splitlines(), "recorded", "current", lineterm="", n=1))
        return [f"{field.name}:", *told[:_DIFF_LINES]]
    return [f"{field.name}: {_line(old_field, old)} -> {_line(field, new)}"]


def _save_output(folder: Path, name: str, output: StepOutput) -> list[Path]:
    written = []
    for position in range(min(output.rows.num_rows, _MOST_ROWS)):
        own = name if output.rows.num_rows == 1 else f"{name}-{position:03d}"
        written += _save_row(folder, own, output.rows.slice(position, 1))
    for failure in output.failed:
        written.append(_write(folder / f"{name}.traceback.txt", failure.traceback.encode()))
    return written


def _save_row(folder: Path, name: str, row: pa.Table) -> list[Path]:
    """A picture for what can be seen, a file for text and bytes, JSON for the rest."""
    written, rest = [], {}
    for column in row.schema.names:
        value = row.column(column)[0].as_py()
        safe = "".join(one if one.isalnum() or one in "-_" else "_" for one in column)
        if isinstance(value, bytes):
            written += _save_bytes(folder / f"{name}.{safe}", row.schema.field(column), value)
        elif isinstance(value, str) and "\n" in value:
            written.append(_write(folder / f"{name}.{safe}.txt", value.encode()))
        else:
            rest[column] = value if isinstance(value, (str, int, float, bool)) or value is None else str(value)
    if rest:
        written.append(_write(folder / f"{name}.json", json.dumps(rest, indent=2, ensure_ascii=False).encode()))
    return written


def _save_bytes(path: Path, field: pa.Field[Any], value: bytes) -> list[Path]:
    array = tensor_of(field, value)
    if array is None:
        return [_write(path.with_name(path.name + ".bin"), value)]
    with path.with_name(path.name + ".npy").open("wb") as file:
        np.save(file, array)
    picture = picture_of(array)
    seen = [] if picture is None else [_write(path.with_name(path.name + ".png"), picture)]
    return [path.with_name(path.name + ".npy"), *seen]


def _write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path
