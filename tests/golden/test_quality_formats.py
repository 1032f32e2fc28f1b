"""Stored quality documents of every format version are read for ever, and today's writer writes them byte for byte.

The table is small enough to recompute by hand: `x` sums to 6.25, one null, one NaN, one infinity; `y` has two positives.
"""

from __future__ import annotations

import math
from pathlib import Path

import pyarrow as pa
from headrace.quality.profile_json import profile_bytes, profile_from
from headrace.quality.profiler import profile_table
from headrace.quality.reference import build_reference, reference_bytes, reference_from
from headrace.quality.verdict import judge, verdict_bytes
from headrace.spec.quality import Column, Drift, Prevalence, PrevalenceReference, ProfilePlan, QualityPolicy, RowCount, Sampling

HERE = Path(__file__).parent / "quality"
COLUMNS = (
    Column(name="x", kind="numeric", default=0.0),
    Column(name="c", kind="categorical"),
    Column(name="y", kind="boolean"),
)
POLICY = QualityPolicy(
    columns=COLUMNS,
    sampling=Sampling(label="y", keep_negative=0.5),
    reference="r.json",
    checks=(RowCount(), Prevalence(label="y", reference=PrevalenceReference(positives=1, labelled=4)), Drift(column="x")),
)
TABLE = pa.table(
    {
        "x": [0.0, 1.25, 5.0, None, math.nan, math.inf],
        "c": ["a", "b", "a", None, "c", "a"],
        "y": [True, False, None, False, True, False],
    }
)
REFERENCE = build_reference(TABLE, ProfilePlan(columns=COLUMNS), code_fingerprint="code", about="six rows")
PROFILE = profile_table(TABLE, POLICY.plan, code_fingerprint="code", bins=REFERENCE.bins)


def test_profile_version_1() -> None:
    """Read, and written again."""
    stored = (HERE / "profile-1.json").read_bytes()

    assert profile_from(stored) == PROFILE
    assert profile_bytes(PROFILE) == stored
    assert (PROFILE.columns["x"].total, PROFILE.columns["x"].missing, PROFILE.columns["y"].pooled) == (6.25, 2, (3, 2, 0))


def test_reference_version_1() -> None:
    """Read, and written again."""
    stored = (HERE / "reference-1.json").read_bytes()

    assert reference_from(stored) == REFERENCE
    assert reference_bytes(REFERENCE) == stored


def test_verdict_version_1() -> None:
    """Written again, through Great Expectations."""
    assert verdict_bytes(judge(PROFILE, POLICY, REFERENCE, about={"dataset": "golden"})) == (HERE / "verdict-1.json").read_bytes()
