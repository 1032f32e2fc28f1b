"""HTML by construction, figures, calendars and charts."""

from __future__ import annotations

from datetime import date
from html.parser import HTMLParser

import pytest
from headrace.pages import figures
from headrace.pages.by_day import DAYS_SHOWN, Column, by_day
from headrace.pages.calendar import Day, calendar
from headrace.pages.charts import Bar, Span, bars, spread, timeline
from headrace.pages.html import Html, tag
from headrace.pages.matrix import Said, matrix
from headrace.pages.page import policy
from headrace.runs.percentiles import Percentiles
from hypothesis import example, given
from hypothesis import strategies as st

from tests.headrace.pages.conftest import Page


class Found(HTMLParser):
    """Elements and text, as a browser reads them."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


@given(st.text(), st.text())
@example("</p><script>", '" onclick="')
def test_no_text_becomes_markup(inside: str, attribute: str) -> None:
    """Whatever the text, there is one element with one attribute, and both come back."""
    found = Found(tag("p", inside, title=attribute))

    assert found.elements == [("p", {"title": attribute})]
    assert found.text == inside


def test_markup_stays_and_nothing_is_nothing() -> None:
    """What was made here is not escaped again; None leaves out."""
    assert tag("a", tag("b", "<"), None, href="/x", class_="c", title=None) == '<a href="/x" class="c"><b>&lt;</b></a>'
    assert tag("img", src="data:") == '<img src="data:">'
    assert isinstance(tag("p"), Html)


@pytest.mark.parametrize(
    ("made", "wanted"),
    [
        (figures.size(0), "0 B"),
        (figures.size(999), "999 B"),
        (figures.size(62_205), "62.2 kB"),
        (figures.size(4.2e15), "4.2 PB"),
        (figures.seconds(0.254), "0.25 s"),
        (figures.seconds(59.4), "59 s"),
        (figures.seconds(185), "3 min 05 s"),
        (figures.seconds(7800), "2 h 10 min"),
        (figures.seconds(273_600), "3 d 4 h"),
        (figures.plural(1, "shard"), "1 shard"),
        (figures.plural(2000, "entity", "entities"), "2,000 entities"),
    ],
)
def test_figures(made: str, wanted: str) -> None:
    """As people read them."""
    assert made == wanted


def test_a_calendar_shows_what_is_missing_between_the_first_and_the_last_day() -> None:
    """30 January and 2 February: the days between are missing, those around are none of its business."""
    known = {
        date(2013, 1, 30): Day(state="ok", title="914 samples", href="/x"),
        date(2013, 2, 2): Day(state="held", title="drift"),
    }
    page = Page(f"<div>{calendar(known)}</div>".encode())
    states = [str(one["class"]) for kind, one in page.elements if str(one.get("class", "")).startswith("day ")]

    assert states.count("day c-missing") == 2
    assert (states[28], states[29], states[30], states[32]) == ("day c-none", "day c-ok", "day c-missing", "day c-held")
    assert "January 2013" in page.text
    assert [one["aria-label"] for one in page.all("a")] == ["2013-01-30: 914 samples"]
    assert calendar({}) == ""


def test_a_calendar_of_the_last_months_leaves_earlier_ones_out() -> None:
    """Four months to May are February to May."""
    known = {date(2013, month, 5): Day(state="ok", title="") for month in range(1, 6)}

    text = Page(f"<div>{calendar(known, months=4)}</div>".encode()).text
    assert "January" not in text
    assert "February 2013" in text


def test_the_legend_explains_each_kind_of_square_that_is_shown_and_no_other() -> None:
    """Days without anything are squares too; a failed one before the months shown is not."""
    known = {date(2013, month, 5): Day(state="failed" if month == 1 else "ok", title="") for month in (1, 5, 6)}
    whole = {date(2013, 6, day): Day(state="held", title="") for day in (1, 2)}

    assert Page(f"<div>{calendar(known, months=2)}</div>".encode()).text.endswith("publishednothing published")
    assert "failed" not in Page(f"<div>{calendar(known, months=2)}</div>".encode()).text
    assert "nothing published" not in Page(f"<div>{calendar(whole)}</div>".encode()).text


def test_a_leap_day_and_a_year_end_are_days() -> None:
    """29 February 2012; December to January."""
    known = {date(2011, 12, 31): Day(state="ok", title=""), date(2012, 2, 29): Day(state="ok", title="")}
    page = Page(f"<div>{calendar(known)}</div>".encode())

    assert sum(str(one.get("class", "")).startswith("day ") for _, one in page.elements) == 31 + 31 + 29


def test_bars_and_time_lines_say_in_words_what_they_draw() -> None:
    """Colour is never the only sign; a run of no length is drawn too."""
    rows = [Bar(label="x", parts={"read": 1.5, "write": 0.0}, figure="1.5 s"), Bar(label="y", parts={}, figure="0")]
    page = Page(f"<div>{bars(rows)}</div>".encode())
    drawn = timeline(
        [Span(name="plan", start=0, end=0, waited=0, state="success"), Span(name="a<b", start=5, end=6, waited=2, state="failed")]
    )

    assert "read 1.50 s" in [one["aria-label"] for one in page.all("div") if "aria-label" in one]
    line = Page(f"<div>{drawn}</div>".encode())
    assert [one["aria-label"] for one in line.all("div") if "aria-label" in one] == [
        "success, from 0.00 s to 0.00 s",
        "failed, from 5.00 s to 6.00 s",
    ]
    assert "a<b" in line.text
    assert "waited, on no worker" in line.text


def test_percentiles_stand_on_one_scale_with_their_words() -> None:
    """The longest p99 is the whole width; what lies between two percentiles is drawn once."""
    rows = {
        "read": Percentiles(p50=1.0, p95=2.0, p99=4.0, count=7),
        "list": Percentiles(p50=1.0, p95=1.0, p99=1.0, count=1),
        "none": Percentiles(p50=0.0, p95=0.0, p99=0.0, count=2),
    }
    page = Page(f"<div>{spread(rows, of='run/runs')}</div>".encode())
    drawn = [one["aria-label"] for one in page.all("div") if "aria-label" in one]
    widths = [str(one["style"]) for one in page.all("span") if "style" in one]

    assert drawn[:2] == ["p50 1.00 s, p95 2.00 s, p99 4.00 s", "p50 1.00 s, p95 1.00 s, p99 1.00 s"]
    assert widths == ["width:25.00%", "width:25.00%", "width:50.00%", "width:25.00%"]
    assert "7 runs" in page.text
    assert "1 run" in page.text


def test_a_column_a_day_with_gaps() -> None:
    """Heights are shares of the greatest; a day without a value is there, empty."""
    days = {
        date(2013, 1, 1): Column(value=50, words="50 samples", href="/x"),
        date(2013, 1, 3): Column(value=200, words="200 samples"),
    }

    page = Page(by_day(days, label="Samples a day").encode())
    assert [str(one["style"]) for one in page.all("span") if "style" in one] == ["height:25.0%", "height:100.0%"]
    assert [one["title"] for _, one in page.elements if "title" in one] == [
        "2013-01-01: 50 samples",
        "2013-01-02: nothing",
        "2013-01-03: 200 samples",
    ]
    assert "a whole column is 200 samples" in page.text
    assert by_day({}, label="x") == ""
    late = {date(2013, 1, 1): days[date(2013, 1, 1)], date(2014, 1, 1): days[date(2013, 1, 3)]}
    assert by_day(late, label="x").count("<li") == DAYS_SHOWN


def test_checks_by_day_say_each_mark_in_words() -> None:
    """What was not asked on a day is an empty cell; a reason is told with its mark."""
    rows = {
        "row_count": {"2013-01-01": Said(state="ok", words=""), "2013-01-02": Said(state="failed", words="<0 rows>", href="/r")},
        "drift": {"2013-01-02": Said(state="warning", words="It moved.")},
    }
    page = Page(matrix(["2013-01-01", "2013-01-02"], rows).encode())

    assert [one["aria-label"] for name, one in page.elements if name in "span a" and "aria-label" in one] == [
        "row_count, 2013-01-01: ok",
        "row_count, 2013-01-02: failed. <0 rows>",
        "drift, 2013-01-02: warning. It moved.",
    ]
    assert len(list(page.all("td"))) == 4
    assert page.links() == ["/r"]
    assert "could not run" not in page.text


def test_the_policy_lets_nothing_in() -> None:
    """Nothing is loaded; one script, by its hash."""
    assert policy().startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy()
