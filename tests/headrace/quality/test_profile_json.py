"""Stored profiles: strict JSON, a golden file per version, a newer version refused by name."""

from __future__ import annotations

import json
import math

import pyarrow as pa
import pytest
from headrace.quality.errors import ProfileError
from headrace.quality.profile_json import profile_bytes, profile_from
from headrace.quality.profiler import profile_table
from headrace.spec.quality import Column, ProfilePlan

PLAN = ProfilePlan(columns=(Column(name="x", kind="numeric"), Column(name="c", kind="categorical")))
TABLE = pa.table({"x": [1.5, -2.0, None, math.nan, math.inf], "c": ["a", None, "b", "a", ""]})


def test_b14_infinite_and_missing_values_are_strict_json():
    """B14, B15: infinities and nulls are counts, so no NaN or Infinity can reach the document."""
    data = profile_bytes(profile_table(TABLE, PLAN, code_fingerprint="c"))
    plain = json.loads(data, parse_constant=lambda text: pytest.fail(f"{text} in strict JSON"))
    assert plain["columns"]["x"]["specials"] == [[1, 1, 1, 0]]
    assert plain["columns"]["x"]["total"] == "-0x1p-1"
    assert plain["columns"]["c"]["free_levels"] == [["", 1], ["a", 2], ["b", 1]]


@pytest.mark.parametrize(
    ("change", "found"),
    [({"version": 2}, "version 2"), ({"format": "other"}, "format 'other'"), ({"rows": None, "columns": 3}, "Error")],
)
def test_what_is_no_profile_of_this_version_is_refused(change, found):
    """A newer version by its number, another document by its format, a broken one by its fault."""
    plain = json.loads(profile_bytes(profile_table(TABLE, PLAN, code_fingerprint="c"))) | change
    with pytest.raises(ProfileError) as caught:
        profile_from(json.dumps(plain))
    assert found in caught.value.found


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b"null"])
def test_other_bytes_are_refused(data):
    """Not JSON, or not an object."""
    with pytest.raises(ProfileError):
        profile_from(data)
