"""`headrace plan`: what would be transformed, how many bytes, and why; real processes on a real lake."""

from __future__ import annotations

import pytest
from headrace.manifests.read import manifest_of, published

from tests.headrace.cli.transformed import DAYS, Transformed, picture
from tests.headrace.transforms.build import land


def sizes(made: Transformed) -> list[int]:
    """Bytes of each day's input."""
    release = published(made.lake, "files")
    return [manifest_of(made.lake, release, day).size_bytes for day in DAYS]


def line(day: str, *, to_do: int, size: int, why: str, changes: tuple[str, ...] = ()) -> dict[str, object]:
    told = {"transform": "dark", "partition": day, "shards": 1, "to do": to_do, "bytes": size, "why": why}
    return {**told, "changes": list(changes)}


def test_nothing_changed_is_nothing_to_do(transformed: Transformed) -> None:
    """For machines, and in a sentence for people; the lake is as it was."""
    before = [info.key for info in transformed.lake.list()]

    assert transformed.told("plan") == [line(day, to_do=0, size=0, why="nothing changed") for day in DAYS]
    shown = transformed.headrace("plan", "dark").stdout
    assert "nothing changed" in shown
    assert shown.endswith("0 shards, 0 B to transform\n")
    assert [info.key for info in transformed.lake.list()] == before


CHANGES = {
    "a parameter": ("declarations/dark.py", "by=2", "by=3", "step darken parameter by 2 -> 3"),
    "a helper": ("code/darkening_helpers.py", "array // by", "array // by + 1", "step darken darkening_helpers:divided changed"),
    "a comment": ("code/darkening.py", "import numpy as np", "import numpy as np  # arrays", ""),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_of_code_is_all_or_nothing(changing: Transformed, what: str) -> None:
    """A parameter and a helper recompute every shard of every day, a comment none."""
    file, old, new, change = CHANGES[what]
    changing.edit(file, old, new)

    told = changing.told("plan", "dark")

    if change == "":
        assert told == [line(day, to_do=0, size=0, why="nothing changed") for day in DAYS]
    else:
        assert told == [
            line(day, to_do=1, size=size, why="transform changed", changes=(change,))
            for day, size in zip(DAYS, sizes(changing), strict=True)
        ]


def test_one_source_object_concerns_its_day_alone(changing: Transformed) -> None:
    """The other day has nothing to do; a partition can be named."""
    land(changing.landing, {"c.png": picture(41)}, "2013/01/02")
    changing.compact(DAYS[1])

    told = changing.told("plan")

    changed = line(DAYS[1], to_do=1, size=sizes(changing)[1], why="input changed")
    assert told == [line(DAYS[0], to_do=0, size=0, why="nothing changed"), changed]
    assert changing.told("plan", "dark", DAYS[1]) == [changed]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("plan", "bright"), "transform bright: found no such declaration; expected dark"),
        (("plan", "dark", "2013-09-09"), "found no partition 2013-09-09"),
    ],
)
def test_what_is_not_there_is_one_sentence(transformed: Transformed, arguments: tuple[str, ...], says: str) -> None:
    """Exit status 1, no traceback."""
    done = transformed.headrace(*arguments)

    assert (done.returncode, done.stdout) == (1, "")
    assert says in done.stderr
    assert "Traceback" not in done.stderr
