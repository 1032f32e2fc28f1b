"""A profile counts what is there, and counts the same in any order and any split."""

from __future__ import annotations

import datetime
import decimal
import itertools
import math
import time

import numpy as np
import pyarrow as pa
import pytest
from headrace.quality.bins import NEW, Bins, LevelBins, grouped
from headrace.quality.errors import ProfileError
from headrace.quality.profile import merge
from headrace.quality.profile_json import profile_bytes, profile_from
from headrace.quality.profiler import empty_profile, profile_table
from headrace.spec.quality import Column, ProfilePlan, Sampling
from hypothesis import given
from hypothesis import strategies as st

PLAN = ProfilePlan(
    columns=(
        Column(name="x", kind="numeric"),
        Column(name="n", kind="numeric"),
        Column(name="c", kind="categorical"),
        Column(name="y", kind="boolean"),
    ),
    sampling=Sampling(label="y", keep_negative=0.5),
)
BINS = Bins(
    columns={
        "x": grouped((-1.0, 0.0, math.nextafter(0.0, 1), 2.5)),
        "n": grouped((0.0, 10.0)),
        "c": LevelBins(tracked=("a", "b"), known=("a", "b", "k")),
    }
)
rows = st.lists(
    st.tuples(
        st.none() | st.floats(width=64),
        st.none() | st.integers(-(2**63), 2**63 - 1),
        st.none() | st.sampled_from(["a", "b", "k", "new1", "new2", ""]),
        st.none() | st.booleans(),
    ),
    max_size=25,
)


def table_of(content):
    x, n, c, y = zip(*content, strict=True) if content else ((), (), (), ())
    return pa.table(
        {
            "x": pa.array(x, pa.float64()),
            "n": pa.array(n, pa.int64()),
            "c": pa.array(c, pa.string()),
            "y": pa.array(y, pa.bool_()),
        }
    )


def profile(content):
    return profile_table(table_of(content), PLAN, code_fingerprint="code", bins=BINS)


@given(rows, st.randoms(use_true_random=False))
def test_any_order_and_any_split_give_identical_bytes(content, random):
    """Rows shuffled, cut anywhere, profiled apart and merged in another order: the same bytes as one pass."""
    whole = profile_bytes(profile(content))
    shuffled = random.sample(content, len(content))
    cuts = sorted(random.choices(range(len(content) + 1), k=3))
    pieces = [shuffled[a:b] for a, b in zip([0, *cuts], [*cuts, len(content)], strict=True)]
    random.shuffle(pieces)
    merged = empty_profile(PLAN, code_fingerprint="code", bins=BINS)
    for piece in pieces:
        merged = merge(profile(piece), merged)
    assert profile_bytes(merged) == whole
    assert profile_bytes(profile_from(whole)) == whole


@given(rows)
def test_counts_equal_a_row_by_row_oracle(content):
    """Cells, missing and infinite values counted one row at a time in plain Python."""
    found = profile(content).columns["x"]
    values = [x for x, *_ in content if x is not None and math.isfinite(x)]
    edges = [-math.inf, -1.0, 0.0, math.nextafter(0.0, 1), 2.5, math.inf]
    cells = [sum(low <= v < high for v in values) for low, high in itertools.pairwise(edges)]
    assert list(found.pooled) == cells
    assert found.missing == sum(x is None or math.isnan(x) for x, *_ in content)
    assert found.infinite == sum(x is not None and math.isinf(x) for x, *_ in content)
    assert found.rows == len(content)
    assert (found.minimum, found.maximum) == (min(values, default=None), max(values, default=None))


@given(rows)
def test_levels_equal_a_row_by_row_oracle(content):
    """Tracked, other and new levels; examples of new ones with their counts."""
    found = profile(content).columns["c"]
    levels = [c for _, _, c, _ in content if c is not None]
    new = [c for c in levels if c not in ("a", "b", "k")]
    assert list(found.pooled) == [levels.count("a"), levels.count("b"), levels.count("k"), len(new)]
    assert dict(found.new_levels) == {level: new.count(level) for level in new}


@given(rows)
def test_strata_split_every_count(content):
    """Negative, positive and unlabelled rows are counted apart, in the label's own terms."""
    found = profile(content)
    labels = [y for *_, y in content]
    assert found.stratum_rows == (labels.count(False), labels.count(True), labels.count(None))
    assert sum(found.columns["c"].counts[1]) == sum(y is True and c is not None for _, _, c, y in content)


INTEGERS = [3, 1, None, 2]


@pytest.mark.parametrize(
    "values",
    [
        pa.array(INTEGERS, pa.int64()),
        pa.array(INTEGERS, pa.int8()),
        pa.array(INTEGERS, pa.uint64()),
        pa.array(INTEGERS, pa.float64()),
        pa.array(INTEGERS, pa.float32()),
        pa.array([None if v is None else decimal.Decimal(v) for v in INTEGERS], pa.decimal128(10, 2)),
    ],
)
def test_b18_equal_values_have_equal_profiles_whatever_the_width(values):
    """B18: int64, nullable, narrow, unsigned, float and decimal columns of the same values differ only in the type's name."""
    plan = ProfilePlan(columns=(Column(name="n", kind="numeric"),))
    found = profile_table(
        pa.table({"n": values}), plan, code_fingerprint="c", bins=Bins(columns={"n": grouped((2.0, 3.0))})
    ).columns["n"]
    assert (found.total, found.squares, found.minimum, found.maximum, found.pooled) == (6, 14, 1, 3, (1, 1, 1))
    assert (found.missing, found.finite, found.mistyped) == (1, 3, 0)


@pytest.mark.parametrize(
    "values",
    [
        pa.array(["a", None, "b"]),
        pa.array(["a", None, "b"], pa.large_string()),
        pa.array(["a", None, "b"]).dictionary_encode(),
        pa.DictionaryArray.from_arrays(pa.array([0, 2, 1]), pa.array(["a", "b", None, "unused"])),
    ],
)
def test_b19_text_is_judged_on_the_arrow_schema(values):
    """B19: text, large text and dictionaries (with null or unused entries) are the same levels."""
    plan = ProfilePlan(columns=(Column(name="c", kind="categorical"),))
    found = profile_table(pa.table({"c": values}), plan, code_fingerprint="c").columns["c"]
    assert found.free_levels == (("a", 1), ("b", 1))
    assert (found.missing, found.finite) == (1, 2)


def test_a_level_only_a_dictionary_knows_is_not_counted():
    """A batch may carry the dictionary of its whole file: entries without a row are neither new levels nor counted twice."""
    entries = pa.array(["a", "unused", "new", "a", None])
    values = pa.DictionaryArray.from_arrays(pa.array([0, 3, 2, 4, None], pa.int32()), entries)
    plan = ProfilePlan(columns=(Column(name="c", kind="categorical"),))
    bins = Bins(columns={"c": LevelBins(tracked=("a",), known=("a",))})
    found = profile_table(pa.table({"c": values}), plan, code_fingerprint="c", bins=bins).columns["c"]
    assert (found.pooled, found.new_levels, found.missing) == ((2, 0, 1), (("new", 1),), 2)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("numeric", pa.array(["1", "2"])),
        ("numeric", pa.array([True, False])),
        ("numeric", pa.array([datetime.date(2013, 1, 1)])),
        ("boolean", pa.array(["yes"])),
        ("boolean", pa.array([0.5])),
        ("categorical", pa.array([1.5])),
    ],
)
def test_a_type_that_does_not_fit_the_declared_kind_is_counted_as_such(kind, values):
    """No silent conversion: the rows are mistyped and nothing else is known of them."""
    plan = ProfilePlan(columns=(Column(name="v", kind=kind),))
    found = profile_table(pa.table({"v": values}), plan, code_fingerprint="c").columns["v"]
    assert (found.mistyped, found.finite, found.missing) == (len(values), 0, 0)
    assert found.types == {str(values.type)}


def test_absent_and_duplicate_columns_are_counted_as_absent():
    """B23, B47: a column that is not there, or there twice, has no values and says why."""
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["n", "n"])
    plan = ProfilePlan(columns=(Column(name="n", kind="numeric"), Column(name="gone", kind="numeric")))
    found = profile_table(twice, plan, code_fingerprint="c")
    assert found.columns["n"].absent == 1
    assert found.columns["n"].types == {"int64"}
    assert found.columns["gone"].absent == 1
    assert found.columns["gone"].types == frozenset()


def test_new_levels_stay_bounded_and_exact():
    """Of 3,000 levels the reference never had, the first 20 by text are kept with exact counts, in any split."""
    plan = ProfilePlan(columns=(Column(name="c", kind="categorical"),))
    bins = Bins(columns={"c": LevelBins(tracked=("a",), known=("a",))})
    levels = [f"v{i:04}" for i in range(3000)] * 2
    whole = profile_table(pa.table({"c": levels}), plan, code_fingerprint="c", bins=bins)
    halves = [profile_table(pa.table({"c": levels[i::2]}), plan, code_fingerprint="c", bins=bins) for i in (1, 0)]
    assert whole == merge(*halves)
    assert whole.columns["c"].new_levels == tuple((f"v{i:04}", 2) for i in range(20))
    assert dict(zip(bins.columns["c"].texts(), whole.columns["c"].pooled, strict=True))[NEW] == 6000


def test_free_levels_give_up_above_their_limit_in_any_order():
    """Value counts without a reference end at 1,000 distinct levels, and never come back."""
    plan = ProfilePlan(columns=(Column(name="c", kind="categorical"),))
    many = profile_table(pa.table({"c": [str(i) for i in range(1001)]}), plan, code_fingerprint="c")
    few = profile_table(pa.table({"c": ["a"]}), plan, code_fingerprint="c")
    assert many.columns["c"].free_levels is None
    assert merge(many, few).columns["c"].free_levels is merge(few, many).columns["c"].free_levels is None


@pytest.mark.parametrize("change", [{"code_fingerprint": "other"}, {"bins": Bins(columns={})}])
def test_profiles_that_do_not_belong_together_are_not_merged(change):
    """Other feature code or other bins: refused, naming what differs."""
    ours = empty_profile(PLAN, code_fingerprint="code", bins=BINS)
    theirs = empty_profile(PLAN, **{"code_fingerprint": "code", "bins": BINS, **change})
    with pytest.raises(ProfileError, match=r"different (feature code|bins)"):
        merge(ours, theirs)


def test_mean_and_deviation_are_exact_where_float_sums_are_not():
    """A million values around 1e9 with deviation 1: the plain sum of squares would lose it."""
    values = np.array([1e9 - 1, 1e9 + 1] * 1000).astype(np.int64)
    found = profile_table(pa.table({"n": values}), ProfilePlan(columns=(Column(name="n", kind="numeric"),)), code_fingerprint="c")
    assert (found.columns["n"].mean, found.columns["n"].deviation) == (1e9, 1.0)


def test_b20_numbers_and_texts_are_the_same_codes():
    """B20: one shard delivers a code as integer, the next as text with a null: one set of levels, both types named."""
    plan = ProfilePlan(columns=(Column(name="c", kind="categorical"),))
    batches = [pa.record_batch({"c": [1, 2, 2]}), pa.record_batch({"c": pa.array(["1", None, "x"])})]
    found = profile_table(batches, plan, code_fingerprint="code").columns["c"]
    assert (found.free_levels, found.missing, found.mistyped) == ((("1", 2), ("2", 2), ("x", 1)), 1, 0)
    assert found.types == {"int64", "string"}


def test_b56_a_wide_table_costs_seconds_not_minutes():
    """B56: 100,000 rows of 50 columns, sums, extremes and bins of each: under 5 seconds of one processor."""
    names = [f"f{n}" for n in range(50)]
    plan = ProfilePlan(columns=tuple(Column(name=name, kind="numeric") for name in names))
    draw = np.random.default_rng(0)
    data = pa.table({name: draw.normal(size=100_000) for name in names})
    bins = Bins(columns={name: grouped(tuple(np.linspace(-2, 2, 11))) for name in names})
    began = time.process_time()
    found = profile_table(data, plan, code_fingerprint="code", bins=bins)
    assert time.process_time() - began < 5
    assert {column.finite for column in found.columns.values()} == {100_000}
