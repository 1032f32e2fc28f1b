"""A listed expectation that is misspelt is refused when the declaration is read, with what was meant."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import pytest
from headrace.spec.errors import DeclarationError
from headrace.spec.quality import Column, QualityPolicy, expect

COLUMNS = (Column(name="code", kind="categorical"), Column(name="x", kind="numeric"))
REGEX = "expect_column_values_to_match_regex"


def policy(*checks: Any) -> QualityPolicy:
    return QualityPolicy(columns=COLUMNS, checks=checks)


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: expect("expect_column_values_to_match_regexp", "code", regex="a"), f"such as {REGEX}"),
        (lambda: expect("expect_column_values_to_be_of_type", "code", type_="str"), "an expectation that rows can be asked"),
        (lambda: expect(7, "code"), "an expectation that rows can be asked"),  # type: ignore[arg-type] # the mistake under test
        (lambda: expect(REGEX, "code", regexp="a"), r"did you mean regex\?"),
        (lambda: expect(REGEX, "code"), "a value for regex"),
        (lambda: expect(REGEX, "code", regex=object()), "a text, a finite number"),
        (lambda: expect("expect_column_values_to_be_in_set", "code", value_set=[]), "a text, a finite number"),
        (lambda: expect("expect_column_values_to_be_between", "x"), "a value for min_value or max_value"),
        (lambda: expect("expect_column_values_to_be_between", "x", min_value=math.nan), "a finite number"),
        (lambda: expect(REGEX, "code", regex="a", mostly=95), "a share above 0 and at most 1"),
        (lambda: expect(REGEX, "code", "x", regex="a"), r"1 column\(s\)"),
        (lambda: expect("expect_column_pair_values_to_be_equal", "x"), r"2 column\(s\)"),
        (lambda: expect("expect_compound_columns_to_be_unique", "x", "x"), "each column once"),
        (lambda: expect(REGEX, "code", regex="a", rows=0), "at least 1"),
        (lambda: expect(REGEX, "code", regex="a", severity="fatal"), "one of info, warning, critical"),  # type: ignore[arg-type] # the mistake under test
        (lambda: policy(expect(REGEX, "cod", regex="a")), "among the declared ones: code, x"),
        (lambda: policy(expect(REGEX, "x", regex="a")), "a categorical column"),
        (lambda: policy(expect("expect_column_mean_to_be_between", "code", min_value=1)), "a numeric column"),
        (lambda: policy(expect(REGEX, "code", regex="a"), expect(REGEX, "code", regex="b")), "each check once"),
    ],
)
def test_a_mistake_is_refused_with_what_is_allowed(build: Any, says: str) -> None:
    """Name, parameter, value, column, kind: each at declaration time."""
    with pytest.raises(DeclarationError, match=says):
        build()


def test_b51_sql_has_no_place_on_rows_in_memory() -> None:
    """B51: the expectation that fails on a data frame because it needs a database is refused when the declaration is read."""
    with pytest.raises(DeclarationError, match="an expectation that rows can be asked"):
        expect("unexpected_rows_expectation", "x", unexpected_rows_query="select 1")


def test_a_listed_expectation_is_a_value() -> None:
    """Equal and hashable whatever lists it was made with, with an identity that says what is asked of which columns."""
    one, two = (expect("expect_column_values_to_be_in_set", "code", value_set=values) for values in (["a", "b"], ("a", "b")))
    named = expect("expect_column_values_to_be_in_set", "code", value_set=["c"], name="c only")

    assert (one, hash(one)) == (two, hash(two))
    assert one.parameters == (("value_set", ("a", "b")),)
    assert [item.id for item in policy(one, named).checks] == [
        "expect.column_values_to_be_in_set.code",
        "expect.column_values_to_be_in_set.code.c only",
    ]


def test_listing_imports_nothing_heavy() -> None:
    """A DAG file that lists expectations imports neither the library nor a data frame."""
    code = "import sys, headrace.spec.expectation; print({'numpy', 'pandas', 'great_expectations'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "set()"
