"""The verdict of a replay, decided from facts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from headrace.transforms.replay.origin import SourceState


class Verdict(StrEnum):
    """What a replay says."""

    EQUAL = "equal"
    TRANSFORM_CHANGED = "transform changed"
    SOURCE_CHANGED = "source changed"
    SOURCE_GONE = "source gone"
    ENVIRONMENT_DIFFERS = "environment differs"
    NOT_REPRODUCED = "not reproduced"  # the same code, packages and input gave something else: it is no function of its input


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What a replay found.

    Attributes:
        source: of the sample's object.
        changed_code: transforms whose code is not the recorded one, with what is different, in words.
        packages: versions that are part of a fingerprint and differ, as `name old -> new`.
        surroundings: what else was recorded and differs: other packages, Python, the machine.
        reproduced: whether the recorded code made the recorded output; None where nothing was made, or it could not be run.
        failed: whether that is a failure, and no output.
    """

    source: SourceState
    changed_code: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    surroundings: tuple[str, ...] = ()
    reproduced: bool | None = None
    failed: bool = False


def verdict_of(facts: Facts) -> Verdict:
    """The first that applies: source gone, source changed, transform changed, environment differs; then whether the output is equal.

    Another version of a package that is part of the fingerprint is an environment that differs even where the output is the same, for
    a run would recompute; of one that is not, only where the output is not the same.
    """
    if facts.source is SourceState.GONE:
        return Verdict.SOURCE_GONE
    if facts.source is SourceState.CHANGED:
        return Verdict.SOURCE_CHANGED
    if facts.changed_code:
        return Verdict.TRANSFORM_CHANGED
    if facts.packages:
        return Verdict.ENVIRONMENT_DIFFERS
    if facts.reproduced is not False:
        return Verdict.EQUAL
    return Verdict.ENVIRONMENT_DIFFERS if facts.surroundings else Verdict.NOT_REPRODUCED


def findings_of(facts: Facts) -> tuple[str, ...]:
    """Everything found, in words, whatever the verdict."""
    lines = [f"source {facts.source}"]
    lines += list(facts.changed_code)
    lines += [f"package {line}" for line in facts.packages]
    lines += [f"surroundings: {line}" for line in facts.surroundings]
    if facts.reproduced is not None and facts.failed:
        lines.append("recorded code fails as recorded" if facts.reproduced else "recorded code does not fail as recorded")
    elif facts.reproduced is not None:
        lines.append("recorded code gives the recorded output" if facts.reproduced else "recorded code gives another output")
    return tuple(lines)
