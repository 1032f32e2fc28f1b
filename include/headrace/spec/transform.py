"""A transform: a dataset made from another one by plain functions, sample by sample.

    TENSORS = Transform(
        name="image_tensors",
        dataset="images",
        steps=(
            Step(
                name="decode",
                version="1",
                function="include.datasets.functions.images:decode",
                kind="bytes",
                columns=(Tensor(name="pixels", type="uint8", shape=(64, 64, 3)),),
                parameters=parameters(size=64),
                packages=("numpy", "pillow"),
            ),
        ),
    )

What the functions are given and what they return stands in `docs/transforms.md`; how code is identified in
`headrace.transforms.fingerprint`. Standard library only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal, TypeAlias, get_args

from headrace.spec.canonical import not_content
from headrace.spec.columns import RESERVED, Column
from headrace.spec.dataset import HARD_CAP_BYTES, MB
from headrace.spec.errors import check
from headrace.spec.names import check_dotted, check_name

Kind = Literal["batch", "bytes"]
"""What a function is given: a `pyarrow.Table` of some samples, or the bytes of one."""

Gives = Literal["one", "filter", "many"]
"""What becomes of a sample: exactly one, one or none, any number."""

Value: TypeAlias = "bool | int | float | str | tuple[Value, ...] | None"
Parameters: TypeAlias = tuple[tuple[str, Value], ...]

ELEMENTS: Final = {
    "bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8, "uint64": 8,
    "float16": 2, "float32": 4, "float64": 8,
}  # fmt: skip
"""Types of tensor elements and their size in bytes."""

TRACE: Final = ("input_row", "parent_id", "part")
"""Column names with a meaning of their own: no output column may take them."""


def parameters(**values: Value) -> Parameters:
    """Parameters as a declaration holds them: passed to the function by name."""
    return tuple(sorted(values.items()))


@dataclass(frozen=True, kw_only=True)
class Tensor:
    """A column of arrays of one type and shape, stored as their little-endian bytes in C order.

    Attributes:
        name: of the column.
        type: of the elements, one of `ELEMENTS`.
        shape: sizes by axis; the first may be None: it differs from sample to sample.
    """

    name: str
    type: str
    shape: tuple[int | None, ...]

    def __post_init__(self) -> None:
        who = f"Tensor {self.name}"
        check(isinstance(self.name, str) and self.name != "", who, "name", self.name, "a non-empty text")
        check(self.name not in RESERVED, who, "name", self.name, f"a name other than {', '.join(RESERVED)}")
        check(self.type in ELEMENTS, who, "type", self.type, f"one of {', '.join(ELEMENTS)}")
        sizes = self.shape[1:] if self.shape[:1] == (None,) else self.shape
        right = isinstance(self.shape, tuple) and len(self.shape) > 0 and all(_is_count(size) for size in sizes)
        check(right, who, "shape", self.shape, "sizes of 1 and more; the first may be None")

    @property
    def is_ragged(self) -> bool:
        """Whether the first axis differs from sample to sample."""
        return self.shape[0] is None

    @property
    def step_bytes(self) -> int:
        """Bytes of one array; of one entry of the first axis where that is free."""
        return ELEMENTS[self.type] * math.prod(size for size in self.shape if size is not None)


@dataclass(frozen=True, kw_only=True)
class Step:
    """One function of a chain.

    Attributes:
        name, version: how people speak of it. A new version recomputes even where the code is the same.
        function: by path; what it must be is said in `docs/transforms.md`.
        kind: `batch` (a `pyarrow.Table` of some samples in, one out) or `bytes` (one sample's bytes in, one row out, as a mapping).
        columns: what it returns, exactly.
        gives: `one`; `filter` (a row or None); `many` (an iterable of rows).
        parameters: passed by name; see `parameters()`.
        packages: distributions whose versions are part of the code's identity: another version recomputes.
        recorded: distributions the code uses whose versions are written down, but recompute nothing.
        column: for `bytes`: the column the bytes stand in.
        also: for `bytes`: columns passed by name as well, such as `source_key`.
    """

    name: str
    version: str
    function: str
    kind: Kind
    columns: tuple[Column | Tensor, ...]
    gives: Gives = "one"
    parameters: Parameters = ()
    packages: tuple[str, ...] = ()
    recorded: tuple[str, ...] = ()
    column: str = "payload"
    also: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        who = f"Step {self.name}"
        check_name(who, "name", self.name)
        check(isinstance(self.version, str) and self.version != "", who, "version", self.version, "a non-empty text, such as '1'")
        check_dotted(who, "function", self.function)
        check(self.kind in get_args(Kind), who, "kind", self.kind, "batch or bytes")
        check(self.gives in get_args(Gives), who, "gives", self.gives, "one, filter or many")
        _check_columns(who, self.columns)
        _check_parameters(who, self.parameters)
        for field in ("packages", "recorded", "also"):
            names = getattr(self, field)
            texts = isinstance(names, tuple) and all(isinstance(name, str) and name != "" for name in names)
            check(texts and len(set(names)) == len(names), who, field, names, "a tuple of texts, each once")
        both = sorted(set(self.packages) & set(self.recorded))
        check(both == [], who, "recorded", both, "packages that are not already in `packages`")
        check(self.kind == "bytes" or self.also == (), who, "also", self.also, "nothing: a batch has all columns")


@dataclass(frozen=True, kw_only=True)
class Transform:
    """A dataset of its own, made from every partition of another one.

    Attributes:
        name: becomes the folder in the lake, the DAG `<name>.transform` and the asset.
        dataset: the input: the name of a `Dataset`, or of another `Transform`.
        steps: run one after the other on each sample; at most one gives many.
        max_failed_share: the run fails when more of the input samples than this raise, 0 to 1.
        shard_bytes, row_group_bytes: target sizes, as of a `Dataset`; an input shard is never mixed with another.
        compress: zstd; False for what is compressed already.
        cores: how many a task may use; None: all it is allowed to.
        owner: who is asked when it breaks.
    """

    name: str
    dataset: str
    steps: tuple[Step, ...]
    max_failed_share: float = 0.0
    shard_bytes: int = 100 * MB
    row_group_bytes: int = 4 * MB
    compress: bool = True
    cores: int | None = not_content(default=None)
    owner: str = not_content(default="data-platform")

    def __post_init__(self) -> None:
        who = f"Transform {self.name}"
        check_name(who, "name", self.name)
        check_name(who, "dataset", self.dataset)
        check(self.dataset != self.name, who, "dataset", self.dataset, "another dataset than itself")
        chain = isinstance(self.steps, tuple) and len(self.steps) > 0 and all(isinstance(step, Step) for step in self.steps)
        check(chain, who, "steps", self.steps, "a tuple of at least one Step(...)")
        names = [step.name for step in self.steps]
        check(len(set(names)) == len(names), who, "steps", names, "each name once")
        many = [step.name for step in self.steps if step.gives == "many"]
        check(len(many) <= 1, who, "steps", many, "at most one step that gives many: declare a second Transform for the other")
        _check_chain(who, self.steps)
        check(0 <= self.max_failed_share <= 1, who, "max_failed_share", self.max_failed_share, "0 to 1")
        check(MB <= self.shard_bytes <= HARD_CAP_BYTES, who, "shard_bytes", self.shard_bytes, "1 MB to 4 GiB")
        allowed = "100 kB up to shard_bytes"
        check(MB // 10 <= self.row_group_bytes <= self.shard_bytes, who, "row_group_bytes", self.row_group_bytes, allowed)
        check(self.cores is None or _is_count(self.cores), who, "cores", self.cores, "None, or 1 and more")
        check(self.owner != "", who, "owner", self.owner, "a non-empty text")

    @property
    def columns(self) -> tuple[Column | Tensor, ...]:
        """The declared columns of its samples."""
        return self.steps[-1].columns

    @property
    def fans_out(self) -> bool:
        """Whether a sample may become many: then each has the columns `parent_id` and `part`."""
        return any(step.gives == "many" for step in self.steps)


def _check_columns(who: str, columns: tuple[Column | Tensor, ...]) -> None:
    right = isinstance(columns, tuple) and len(columns) > 0 and all(isinstance(one, (Column, Tensor)) for one in columns)
    check(right, who, "columns", columns, "a tuple of at least one Column(...) or Tensor(...)")
    names = [column.name for column in columns]
    check(len(set(names)) == len(names), who, "columns", names, "each name once")
    taken = sorted(set(names) & set(TRACE))
    check(taken == [], who, "columns", taken, f"names other than {', '.join(TRACE)}")


def _check_parameters(who: str, values: Parameters) -> None:
    pairs = isinstance(values, tuple) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in values)
    check(pairs, who, "parameters", values, "parameters(name=value, ...)")
    names = [name for name, _ in values]
    identifiers = all(isinstance(name, str) and name.isidentifier() for name in names)
    check(identifiers and names == sorted(set(names)), who, "parameters", names, "argument names, sorted, each once")
    for name, value in values:
        allowed = "None, bool, int, finite float, text, or tuples of them"
        check(_is_plain(value), who, f"parameters.{name}", value, allowed)


def _check_chain(who: str, steps: tuple[Step, ...]) -> None:
    """A later step reads what the one before it returns."""
    for before, step in pairwise(steps):
        known = [*(column.name for column in before.columns), *(name for name in RESERVED if name != "payload")]
        wanted = [step.column, *step.also] if step.kind == "bytes" else []
        lacking = [name for name in wanted if name not in known]
        check(lacking == [], who, f"steps.{step.name}", lacking, f"columns of step {before.name}: {', '.join(known)}")


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_plain(value: object) -> bool:
    if isinstance(value, tuple):
        return all(_is_plain(item) for item in value)
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, (bool, int, str))
