"""Replay: from a sample of a release back to its source object, and forward again through the code that made it (`passage.py`)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import pyarrow as pa

from headrace.lake.store import Store
from headrace.manifests.release import Release
from headrace.shards.find import Found
from headrace.shards.read import read_sample
from headrace.spec.load import Declarations
from headrace.transforms.errors import NotReplayable
from headrace.transforms.replay.find import Wanted, find_sample
from headrace.transforms.replay.origin import Origin, find_origin
from headrace.transforms.replay.passage import Passage, passage_of
from headrace.transforms.replay.verdict import Facts, Verdict, findings_of, verdict_of
from headrace.transforms.replay.way import Stand, way_to


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


def _passages(
    found: Found, sample: pa.Table | None, declared: Declarations, lake: Store, *, with_current: bool
) -> tuple[list[Stand], tuple[Passage, ...]]:
    """The rows from the landed sample on, and what was done between them."""
    stands = way_to(Stand(manifest=found.manifest, sample_id=found.sample_id, row=sample), lake)
    made = {one.name: one for one in declared.transforms}
    pairs = pairwise(stands)
    return stands, tuple(
        passage_of(given, after, made.get(after.manifest.dataset), lake, with_current=with_current) for given, after in pairs
    )


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
