"""Replay: from a sample of a release back to its source object, and forward again through the code that made it.

Each transform on the way is run on the input row that the lake holds, by its recorded code: today's when it has the recorded
fingerprint, the kept texts otherwise. Then the row it makes is compared, by digest, with the row the release holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pyarrow as pa

from headrace.lake.errors import ObjectMissing
from headrace.lake.store import Store
from headrace.manifests.manifest import Manifest
from headrace.manifests.read import read_manifest
from headrace.manifests.release import Release
from headrace.shards.find import Found
from headrace.shards.index import locate
from headrace.shards.read import read_sample
from headrace.spec.load import Declarations
from headrace.spec.transform import Transform
from headrace.transforms.chain import run_chain
from headrace.transforms.changes import changed_code, changed_surroundings, changed_versions
from headrace.transforms.code_store import kept_code
from headrace.transforms.errors import CodeRefused, NotReplayable
from headrace.transforms.fingerprint import Fingerprint, fingerprint_of
from headrace.transforms.registry import FunctionNotFound
from headrace.transforms.replay.find import Wanted, find_sample
from headrace.transforms.replay.origin import Origin, SourceState, find_origin
from headrace.transforms.replay.recorded import RecordedCodeFailed, run_recorded
from headrace.transforms.replay.steps import StepOutput, outputs_of, same_values
from headrace.transforms.replay.verdict import Facts, Verdict, findings_of, verdict_of


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


@dataclass(frozen=True, kw_only=True)
class Replay:
    """One sample's way, from its source on.

    Attributes:
        landed: the row of the dataset that reads the source.
        sample: the row the release holds, None for one that failed.
    """

    found: Found
    origin: Origin
    landed: pa.Table
    passages: tuple[Passage, ...]
    sample: pa.Table | None
    facts: Facts

    @property
    def verdict(self) -> Verdict:
        return verdict_of(self.facts)

    @property
    def findings(self) -> tuple[str, ...]:
        return findings_of(self.facts)


def replay(
    release: Release, wanted: Wanted, declared: Declarations, *, lake: Store, source: Store, with_current: bool = False
) -> Replay:
    """Replay one sample of a release.

    Args:
        declared: today's declarations.
        with_current: also run today's code on the same input.

    Raises:
        SampleNotFound: the release has no such sample.
        NotReplayable: its rows are computed from many others.
    """
    found = find_sample(lake, release, wanted)
    sample = None if found.where is None else read_sample(lake, found.manifest, found.where)
    rows, passages = _passages(found, sample, declared, lake, with_current=with_current)
    first = rows[0]
    root = next((one for one in declared.datasets if one.name == first.manifest.dataset), None)
    if first.row is None:
        raise NotReplayable(
            f"sample {found.sample_id}",
            found="a source object that was refused before it became a sample",
            expected="a sample",
            remedy=f"See `headrace quarantine {first.manifest.dataset} {first.manifest.partition}`.",
        )
    origin = find_origin(source, root, first.row)
    return Replay(
        found=found, origin=origin, landed=first.row, passages=passages, sample=sample, facts=_together(origin, passages)
    )


@dataclass(frozen=True, kw_only=True)
class _Stand:
    """One row on the way and the partition it stands in."""

    manifest: Manifest
    sample_id: str
    row: pa.Table | None


def _passages(
    found: Found, sample: pa.Table | None, declared: Declarations, lake: Store, *, with_current: bool
) -> tuple[list[_Stand], tuple[Passage, ...]]:
    """The rows from the landed sample on, and what was done between them."""
    stands = [_Stand(manifest=found.manifest, sample_id=found.sample_id, row=sample)]
    while "transform" in stands[0].manifest.facts:
        stands.insert(0, _before(stands[0], lake))
    first = stands[0].manifest
    if "snapshot" in first.facts or "training" in first.facts:
        raise NotReplayable(
            f"{found.manifest.dataset} sample {found.sample_id}",
            found="a row that is computed from many samples",
            expected="a sample that comes from one source object",
            remedy="Its manifest names what it was computed from: `headrace show`.",
        )
    made = {one.name: one for one in declared.transforms}
    pairs = pairwise(stands)
    return stands, tuple(
        _pass(given, after, made.get(after.manifest.dataset), lake, with_current=with_current) for given, after in pairs
    )


def _before(stand: _Stand, lake: Store) -> _Stand:
    """The row a row was made of."""
    given = stand.manifest.facts["transform"]["input"]
    manifest = read_manifest(lake, given["dataset"], given["partition"], given["manifest"])
    parent = stand.sample_id
    if stand.row is not None and "parent_id" in stand.row.schema.names:
        parent = str(stand.row.column("parent_id")[0])
    where = locate(lake, manifest, parent)
    row = None if where is None else read_sample(lake, manifest, where)
    return _Stand(manifest=manifest, sample_id=parent, row=row)


def _pass(given: _Stand, after: _Stand, transform: Transform | None, lake: Store, *, with_current: bool) -> Passage:
    recorded: dict[str, Any] = after.manifest.facts["transform"]
    today, trouble = _today(transform)
    if given.row is None:
        raise NotReplayable(
            f"sample {given.sample_id}",
            found=f"no such sample in {given.manifest.dataset} {given.manifest.partition}",
            expected="the sample it was made of",
            remedy="Restore the manifest's index.",
        )
    outputs, more = _run(given.row, recorded, today, after.manifest.dataset, lake)
    part = _part_of(after.row)
    return Passage(
        transform=after.manifest.dataset,
        partition=after.manifest.partition,
        sample_id=after.sample_id,
        part=part,
        outputs=outputs,
        current=_run_here(today, given.row) if with_current and today is not None else None,
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


def _reproduced(after: _Stand, outputs: tuple[StepOutput, ...], part: int) -> bool | None:
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


def _together(origin: Origin, passages: tuple[Passage, ...]) -> Facts:
    made = [one.facts for one in passages]
    return Facts(
        source=origin.state,
        changed_code=tuple(line for one in made for line in one.changed_code),
        packages=tuple(dict.fromkeys(line for one in made for line in one.packages)),
        surroundings=tuple(dict.fromkeys(line for one in made for line in one.surroundings)),
        reproduced=_all_reproduced([one.reproduced for one in made]),
        failed=any(one.failed for one in made),
    )


def _all_reproduced(each: list[bool | None]) -> bool | None:
    """False where one was not; None where one could not be run, or there is none."""
    if False in each:
        return False
    return True if each and None not in each else None
