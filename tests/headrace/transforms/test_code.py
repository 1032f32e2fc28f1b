"""What a function is made of: what changes its identity, what does not, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from headrace.transforms.errors import CodeRefused

from tests.headrace.transforms.conftest import Project

BEFORE = """
    import math
    from helpers import scale, Table

    LIMIT = 3

    def f(values, *, power=2):
        '''Keep what is large.'''
        kept = [value ** power for value in values if value > LIMIT]  # above
        return scale(kept, Table.start) + [math.pi]
"""
HELPERS = """
    FACTOR = 10

    class Table:
        start = 1

    def scale(values, start):
        return [inner(value) + start for value in values]

    def inner(value):
        return value * FACTOR

    def unused(value):
        return value
"""


@pytest.fixture
def before(project: Project) -> str:
    return project.digest(steps=BEFORE, helpers=HELPERS)


SAME = {
    "a comment": (BEFORE.replace("# above", "# larger than the limit"), HELPERS),
    "layout": (BEFORE.replace("values, *, power=2", "\n        values,\n        *,\n        power=2,\n    "), HELPERS),
    "brackets": (BEFORE.replace("value > LIMIT]", "(value > (LIMIT))]"), HELPERS),
    "a docstring": (BEFORE.replace("Keep what is large.", "Keeps."), HELPERS),
    "an annotation": (BEFORE.replace("(values, *, power=2)", "(values: list[int], *, power: int = 2) -> list[float]"), HELPERS),
    "an unused helper": (BEFORE, HELPERS.replace("return value\n", "return None\n")),
    "another function beside it": (BEFORE + "\n    def g():\n        return 1\n", HELPERS),
    "the order of definitions": ("    LATER = 1\n" + BEFORE, "    EARLIER = 2\n" + HELPERS),
}
OTHER = {
    "its own code": (BEFORE.replace("value > LIMIT", "value >= LIMIT"), HELPERS),
    "a constant": (BEFORE.replace("LIMIT = 3", "LIMIT = 4"), HELPERS),
    "a constant's type": (BEFORE.replace("LIMIT = 3", "LIMIT = 3.0"), HELPERS),
    "a default": (BEFORE.replace("power=2", "power=3"), HELPERS),
    "a helper": (BEFORE, HELPERS.replace("+ start", "- start")),
    "a helper of a helper": (BEFORE, HELPERS.replace("value * FACTOR", "value / FACTOR")),
    "a constant of a helper": (BEFORE, HELPERS.replace("FACTOR = 10", "FACTOR = 11")),
    "a class": (BEFORE, HELPERS.replace("start = 1", "start = 2")),
    "what a package gives": (BEFORE.replace("math.pi", "math.e"), HELPERS),
}


@pytest.mark.parametrize("what", SAME)
def test_what_changes_no_result_changes_no_digest(project: Project, before: str, what: str) -> None:
    """Comments, layout, docstrings, annotations, and what it does not reach."""
    steps, helpers = SAME[what]

    assert project.digest(steps=steps, helpers=helpers) == before


@pytest.mark.parametrize("what", OTHER)
def test_what_may_change_a_result_changes_the_digest(project: Project, before: str, what: str) -> None:
    """Its code, its constants, and those of all it reaches."""
    steps, helpers = OTHER[what]

    assert (steps, helpers) != (BEFORE, HELPERS)
    assert project.digest(steps=steps, helpers=helpers) != before


def test_packages_and_modules_are_told(project: Project) -> None:
    """Which packages it reaches, and the whole text of each module of the project that it stands in."""
    code = (
        project.write(steps="import numpy as np\nimport helpers\ndef f(x):\n    return helpers.g(np.abs(x))\n")
        .write(helpers="import pyarrow\ndef g(x):\n    return x\n")
        .code()
    )

    assert code.packages == {"numpy"}
    assert set(code.texts) == {"steps", "helpers"}


def test_datachain_1903_constructor_arguments_are_part_of_the_identity(project: Project) -> None:
    """datachain-ai/datachain#1903: two objects that differ only in what they were made with were served each other's rows."""
    project.write(
        steps="""
        class CountAbove:
            def __init__(self, limit):
                self.limit = limit

            def __call__(self, values):
                return {"n": sum(value > self.limit for value in values)}

        above_0 = CountAbove(0)
        above_3 = CountAbove(3)
        again_0 = CountAbove(0)
        bound_0 = above_0.__call__
        """
    )

    digests = {name: project.code(f"steps:{name}").digest for name in ("above_0", "above_3", "again_0", "bound_0")}

    assert digests["above_0"] != digests["above_3"]
    assert digests["above_0"] == digests["again_0"]
    assert digests["bound_0"] not in {digests["above_0"], digests["above_3"]}


def test_closures_and_partials_are_told_apart_by_what_they_hold(project: Project) -> None:
    """One function made twice with other values is two."""
    project.write(
        steps="""
        import functools

        def above(limit):
            def f(values):
                return [value for value in values if value > limit]
            return f

        def power(value, exponent):
            return value ** exponent

        above_0, above_3, again_0 = above(0), above(3), above(0)
        square, cube = functools.partial(power, exponent=2), functools.partial(power, exponent=3)
        both = lambda values: (above_0(values), above_3(values))
        same = lambda values: (above_0(values), again_0(values))
        """
    )

    digest = {name: project.code(f"steps:{name}").digest for name in ("above_0", "above_3", "again_0", "square", "cube")}

    assert digest["above_0"] == digest["again_0"] != digest["above_3"]
    assert digest["square"] != digest["cube"]
    assert len([one for one in project.code("steps:both").entries if one.startswith("steps:above.")]) == 2


def test_code_may_reach_itself(project: Project) -> None:
    """Recursion, alone and in turns."""
    text = """
    def f(n):
        return n if n < 2 else g(n - 1)

    def g(n):
        return f(n - {})
    """

    assert project.digest(steps=text.format(1)) != project.digest(steps=text.format(2))
    assert project.digest(steps=text.format(1)) == project.digest(steps=text.format(1))


def test_decorated_and_cached_functions_are_seen_through(project: Project) -> None:
    """The decorator counts, and so does what it decorates."""
    text = """
    import functools

    def twice(function):
        @functools.wraps(function)
        def wrapped(x):
            return function(function(x)) {}
        return wrapped

    @twice
    def once(x):
        return x + {}

    @functools.cache
    def kept(x):
        return once(x)

    def f(x):
        return kept(x)
    """
    digests = {project.digest(steps=text.format(end, add)) for end, add in (("", 1), ("", 2), ("+ 1", 1))}

    assert len(digests) == 3


def test_imports_inside_a_function_are_followed(project: Project) -> None:
    """Heavy modules are imported where they are used; helpers too."""
    steps = "def f(x):\n    import numpy as np\n    from helpers import g\n    return g(np.abs(x))\n"
    first = project.digest(steps=steps, helpers="def g(x):\n    return x + 1\n")

    assert project.digest(steps=steps, helpers="def g(x):\n    return x + 2\n") != first
    assert project.code().packages == {"numpy"}


def test_arrays_patterns_enums_and_schemas_count_by_value(project: Project) -> None:
    """Constants of the types people keep at the top of a module."""
    text = """
    import enum, re
    import numpy as np
    import pyarrow as pa

    class Mode(enum.Enum):
        FAST = 1
        SLOW = 2

    MEAN = np.array([{0}, 2.0], dtype=np.float32)
    WORD = re.compile(r"\\w{{{1}}}")
    SCHEMA = pa.schema([("x", pa.int{2}())])
    MODE = Mode.{3}
    SEEN = frozenset({{"b", "a"}})

    def f(x):
        return MEAN, WORD, SCHEMA, MODE, SEEN
    """
    variants = [(1.0, 2, 32, "FAST"), (1.5, 2, 32, "FAST"), (1.0, 3, 32, "FAST"), (1.0, 2, 64, "FAST"), (1.0, 2, 32, "SLOW")]

    assert len({project.digest(steps=text.format(*one)) for one in variants}) == len(variants)
    assert project.digest(steps=text.format(*variants[0])) == project.digest(steps=text.format(*variants[0]))


REFUSED = {
    "a value of an unknown type": ("import threading\nL = threading.Lock()\ndef f(x):\n    return L\n", "_thread.lock"),
    "a stream": ("import io\nF = io.StringIO()\ndef f(x):\n    return F.read()\n", "_io.StringIO"),
    "a module as a value": ("import helpers\ndef f(x):\n    return getattr(helpers, x)\n", "module helpers used as a value"),
    "a global that it assigns": ("N = 0\ndef f(x):\n    global N\n    N += 1\n    return N\n", "N: found a name of its surroundings"),
    "a global that it fills": ("SEEN = {}\ndef f(x):\n    SEEN[x] = 1\n    return SEEN\n", "SEEN: found a name of its surroundings"),
    "a global that it appends to": ("SEEN = []\ndef f(x):\n    SEEN.append(x)\n    return SEEN\n", "a change of a value around it"),
    "a name that is not there": ("def f(x):\n    return nothing(x)\n", "nothing: found a name that is bound to nothing"),
    "the clock": ("import time\ndef f(x):\n    return time.time()\n", "time.time: the result would depend on when it runs"),
    "the day": ("from datetime import datetime\ndef f(x):\n    return datetime.now()\n", "datetime.datetime.now"),
    "chance": ("import random\ndef f(x):\n    return random.random()\n", "random.random: the result would differ"),
    "chance of arrays": ("import numpy as np\ndef f(x):\n    return np.random.rand()\n", "numpy.random.rand"),
    "text hashes": ("def f(x):\n    return hash(x)\n", "builtins.hash"),
    "the environment": ("import os\ndef f(x):\n    return os.environ['HOME']\n", "os.environ.*files or settings"),
    "a file": ("def f(x):\n    with open('w') as file:\n        return file.read()\n", "builtins.open"),
    "code from text": ("def f(x):\n    return eval(x)\n", "builtins.eval: code made while it runs"),
    "its own place": ("def f(x):\n    return __file__\n", "a place on this machine"),
    "two lambdas in a line": ("f, g = (lambda x: x), (lambda x: x + 1)\n", "2 functions that begin in line 1"),
    "a class within a function": ("def g():\n    class A:\n        n = 1\n    return A\nA = g()\ndef f(x):\n    return A()\n", "0 classes"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_identified_is_refused_with_the_reason(project: Project, what: str) -> None:
    """Never skipped: results that depend on it would be served stale."""
    text, says = REFUSED[what]
    project.write(steps=text, helpers="def g(x):\n    return x\n")

    with pytest.raises(CodeRefused, match=says):
        project.code()


def test_chance_with_a_seed_is_a_function_of_it(project: Project) -> None:
    """Generators that are told their seed are let through."""
    text = "import random\nimport numpy as np\ndef f(x, *, seed):\n    return random.Random(seed).random(), np.random.default_rng(seed)\n"

    assert project.write(steps=text).code().packages == {"numpy"}


def test_a_file_that_changed_since_it_was_loaded_is_refused(project: Project) -> None:
    """The new text would be taken for the old code's."""
    project.write(steps="def f(x):\n    return x + 1\n")
    function = project.load("steps:f")
    (Path(project.folder) / "steps.py").write_text("def f(x):\n    return x + 2\n")

    from headrace.transforms.code import code_of

    with pytest.raises(CodeRefused, match="other code than its file holds now"):
        code_of(function, "steps:f")


def test_the_digest_does_not_depend_on_where_the_project_lies(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another folder, the same code."""
    here = project.digest(steps=BEFORE, helpers=HELPERS)
    there = tmp_path / "elsewhere"
    there.mkdir()
    monkeypatch.syspath_prepend(str(there))
    other = Project(there)

    assert other.digest(steps=BEFORE, helpers=HELPERS) == here
    other.forget()
