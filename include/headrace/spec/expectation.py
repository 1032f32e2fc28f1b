"""Great Expectations' own expectations, as a user lists them beside the other checks, and what may be asked of each.

`expect("expect_column_values_to_match_regex", "tailnum", regex="^N")` is one check. Names, parameters and columns are checked here,
against the table below, so that a misspelt one is refused when the declaration is read and not after the data was. What the
table leaves out is left out on purpose: types and schema are checked anyway and on Arrow types; orders and quantiles have no answer
in a sample; SQL has no database to run in; distances belong to `Drift`, which knows the number of rows.

Standard library only.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any, Final, Literal

from headrace.spec.checks import Severity, check_column, check_count, check_severity, is_number
from headrace.spec.errors import check

Answer = Literal["each row", "all rows", "profile"]
"""Who answers: each row for itself, so that a sample shows a share; only all rows together; or the profile, exactly, at any size."""

Value = str | int | float | bool | tuple[Any, ...] | None

MANY: Final = 50
_BOUNDS: Final = ("min_value", "max_value", "strict_min", "strict_max")
_SHARE: Final = ("mostly",)


@dataclass(frozen=True, kw_only=True)
class Form:
    """What one expectation takes.

    Attributes:
        columns: the least and the greatest number of columns.
        needs: parameters without which it says nothing; of `min_value` and `max_value` one is enough.
        takes: the other parameters.
        kinds: kinds of column it can be asked of.
        answer: who answers.
        disproof: a failure among some rows is one of all rows.
    """

    columns: tuple[int, int] = (1, 1)
    needs: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ("numeric", "categorical", "boolean")
    answer: Answer = "each row"
    disproof: bool = False


_TEXT: Final = ("categorical",)
_NUMBER: Final = ("numeric",)
FORMS: Final[dict[str, Form]] = {
    "expect_column_values_to_not_be_null": Form(takes=_SHARE),
    "expect_column_values_to_be_null": Form(takes=_SHARE),
    "expect_column_values_to_be_between": Form(needs=_BOUNDS[:2], takes=(*_BOUNDS[2:], *_SHARE), kinds=_NUMBER),
    "expect_column_values_to_be_in_set": Form(needs=("value_set",), takes=_SHARE),
    "expect_column_values_to_not_be_in_set": Form(needs=("value_set",), takes=_SHARE),
    "expect_column_values_to_match_regex": Form(needs=("regex",), takes=_SHARE, kinds=_TEXT),
    "expect_column_values_to_not_match_regex": Form(needs=("regex",), takes=_SHARE, kinds=_TEXT),
    "expect_column_values_to_match_regex_list": Form(needs=("regex_list",), takes=("match_on", *_SHARE), kinds=_TEXT),
    "expect_column_values_to_not_match_regex_list": Form(needs=("regex_list",), takes=_SHARE, kinds=_TEXT),
    "expect_column_values_to_match_strftime_format": Form(needs=("strftime_format",), takes=_SHARE, kinds=_TEXT),
    "expect_column_values_to_be_json_parseable": Form(takes=_SHARE, kinds=_TEXT),
    "expect_column_value_lengths_to_be_between": Form(needs=_BOUNDS[:2], takes=(*_BOUNDS[2:], *_SHARE), kinds=_TEXT),
    "expect_column_value_lengths_to_equal": Form(needs=("value",), takes=_SHARE, kinds=_TEXT),
    "expect_column_pair_values_a_to_be_greater_than_b": Form(
        columns=(2, 2), takes=("or_equal", "ignore_row_if", *_SHARE), kinds=_NUMBER
    ),
    "expect_column_pair_values_to_be_equal": Form(columns=(2, 2), takes=("ignore_row_if", *_SHARE)),
    "expect_column_pair_values_to_be_in_set": Form(columns=(2, 2), needs=("value_pairs_set",), takes=("ignore_row_if", *_SHARE)),
    "expect_multicolumn_sum_to_equal": Form(
        columns=(2, MANY), needs=("sum_total",), takes=("ignore_row_if", *_SHARE), kinds=_NUMBER
    ),
    "expect_select_column_values_to_be_unique_within_record": Form(columns=(2, MANY), takes=("ignore_row_if", *_SHARE)),
    "expect_column_values_to_be_unique": Form(answer="all rows", disproof=True),
    "expect_compound_columns_to_be_unique": Form(columns=(2, MANY), takes=("ignore_row_if",), answer="all rows", disproof=True),
    "expect_column_distinct_values_to_be_in_set": Form(needs=("value_set",), answer="all rows", disproof=True),
    "expect_column_distinct_values_to_equal_set": Form(needs=("value_set",), answer="all rows"),
    "expect_column_distinct_values_to_contain_set": Form(needs=("value_set",), answer="all rows"),
    "expect_column_unique_value_count_to_be_between": Form(needs=_BOUNDS[:2], takes=_BOUNDS[2:], answer="all rows"),
    "expect_column_proportion_of_unique_values_to_be_between": Form(needs=_BOUNDS[:2], takes=_BOUNDS[2:], answer="all rows"),
    "expect_column_most_common_value_to_be_in_set": Form(needs=("value_set",), takes=("ties_okay",), answer="all rows"),
    "expect_column_median_to_be_between": Form(needs=_BOUNDS[:2], takes=_BOUNDS[2:], kinds=_NUMBER, answer="all rows"),
    "expect_column_stdev_to_be_between": Form(needs=_BOUNDS[:2], takes=_BOUNDS[2:], kinds=_NUMBER, answer="all rows"),
    "expect_column_sum_to_be_between": Form(needs=_BOUNDS[:2], takes=_BOUNDS[2:], kinds=_NUMBER, answer="all rows"),
    "expect_column_min_to_be_between": Form(needs=_BOUNDS[:2], takes=_BOUNDS[2:], kinds=_NUMBER, answer="profile"),
    "expect_column_max_to_be_between": Form(needs=_BOUNDS[:2], takes=_BOUNDS[2:], kinds=_NUMBER, answer="profile"),
    "expect_column_mean_to_be_between": Form(needs=_BOUNDS[:2], takes=_BOUNDS[2:], kinds=_NUMBER, answer="profile"),
}


@dataclass(frozen=True, kw_only=True)
class Expect:
    """One expectation. Made by `expect`.

    Attributes:
        expectation: its name in Great Expectations.
        columns: what it is about, in its order.
        parameters: name and value, by name.
        rows: at most so many of a day's rows are looked at, drawn evenly and always the same ones.
        name: told apart by it, when the same is asked of the same columns twice.
    """

    expectation: str
    columns: tuple[str, ...]
    parameters: tuple[tuple[str, Value], ...] = ()
    rows: int = 100_000
    name: str | None = None
    severity: Severity = "critical"

    @property
    def id(self) -> str:
        subject = [self.expectation.removeprefix("expect_"), *self.columns, *([] if self.name is None else [self.name])]
        return f"expect.{'.'.join(subject)}"

    @property
    def column(self) -> str:
        """The first of its columns."""
        return self.columns[0]

    @property
    def form(self) -> Form:
        return FORMS[self.expectation]

    def __post_init__(self) -> None:
        close = difflib.get_close_matches(str(self.expectation), FORMS, n=1, cutoff=0.0)[0]
        known = isinstance(self.expectation, str) and self.expectation in FORMS
        check(known, "Expect", "expectation", self.expectation, f"an expectation that rows can be asked, such as {close}")
        who, form = self.expectation, self.form
        least, most = form.columns
        many = isinstance(self.columns, tuple) and least <= len(self.columns) <= most
        check(many, who, "columns", self.columns, f"{least} to {most} columns" if most > least else f"{least} column(s)")
        for column in self.columns:
            check_column(who, "columns", column)
        check(len(set(self.columns)) == len(self.columns), who, "columns", self.columns, "each column once")
        self._check_parameters(who, form)
        check_count(who, "rows", self.rows, minimum=1)
        check(self.name is None or (isinstance(self.name, str) and self.name != ""), who, "name", self.name, "a name or None")
        check_severity(who, self.severity)

    def _check_parameters(self, who: str, form: Form) -> None:
        given = dict(self.parameters)
        allowed = (*form.needs, *form.takes)
        for field, value in given.items():
            close = difflib.get_close_matches(field, allowed, n=1, cutoff=0.6)
            near = f"; did you mean {close[0]}?" if close else ""
            check(field in allowed, who, field, value, f"one of its parameters: {', '.join(allowed) or 'none'}{near}")
            check(_is_value(value), who, field, value, "a text, a finite number, a boolean, or a tuple or list of them")
        absent = [field for field in form.needs if given.get(field) is None]
        either = set(_BOUNDS[:2]) <= set(form.needs)
        enough = len(absent) < len(form.needs) if either else not absent
        wanted = " or ".join(form.needs) if either else ", ".join(form.needs)
        check(enough or not form.needs, who, wanted, None, f"a value for {wanted}")
        share = given.get("mostly", 1.0)
        check(is_number(share) and 0 < share <= 1, who, "mostly", share, "a share above 0 and at most 1")  # type: ignore[operator]  # is_number has established the type


def expect(
    expectation: str,
    *columns: str,
    rows: int = 100_000,
    name: str | None = None,
    severity: Severity = "critical",
    **parameters: Any,
) -> Expect:
    """One of Great Expectations' expectations, by its name there, about columns, with its parameters by their names there."""
    frozen = tuple((field, _frozen(parameters[field])) for field in sorted(parameters))
    return Expect(expectation=expectation, columns=columns, parameters=frozen, rows=rows, name=name, severity=severity)


def _frozen(value: Any) -> Any:
    return tuple(_frozen(item) for item in value) if isinstance(value, (list, tuple)) else value


def _is_value(value: object) -> bool:
    if isinstance(value, tuple):
        return len(value) > 0 and all(_is_value(item) for item in value)
    return isinstance(value, (str, bool)) or is_number(value)
