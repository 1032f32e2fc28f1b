"""The page: self-contained, safe, bounded, the same bytes again, and readable in a real browser."""

from __future__ import annotations

import itertools
import re
from datetime import timedelta
from html.parser import HTMLParser

import numpy as np
import pyarrow as pa
import pytest
from headrace.quality.evidence import Evidence
from headrace.quality.label_lag import DAY, LagCounts
from headrace.quality.profiler import profile_table
from headrace.quality.reference import build_reference
from headrace.quality.report import report_page
from headrace.quality.report.charts import Axis
from headrace.quality.verdict import judge, not_run
from headrace.spec.quality import (
    Column,
    Drift,
    Maturity,
    MissingShare,
    Prevalence,
    PrevalenceReference,
    ProfilePlan,
    QualityPolicy,
    RowCount,
    Sampling,
)
from quality_samples import CODE, judge_against, judge_column, normal

HOSTILE = '</style><script>alert("1")</script>&<img src=//evil.example>'
COLUMNS = (
    Column(name="x", kind="numeric", default=0.0),
    Column(name=HOSTILE, kind="categorical"),
    Column(name="y", kind="boolean"),
)
POLICY = QualityPolicy(
    columns=COLUMNS,
    sampling=Sampling(label="y", keep_negative=0.25),
    reference="r.json",
    checks=(
        RowCount(),
        MissingShare(column="x", maximum=0.01),
        Prevalence(label="y", reference=PrevalenceReference(positives=500, labelled=10_000)),
        Drift(column="x"),
        Drift(column=HOSTILE),
        Drift(column="y", severity="info"),
    ),
)


def table(rows: int, seed: int, level: str, keep: float = 1.0) -> pa.Table:
    draw = np.random.default_rng(seed)
    y = draw.random(rows) < 0.05
    x = pa.array(draw.normal(size=rows), mask=draw.random(rows) < (0.3 if level == HOSTILE else 0))
    whole = pa.table({"x": x, HOSTILE: np.where(draw.random(rows) < 0.2, level, "b"), "y": y})
    return whole.filter(pa.array(y | (draw.random(rows) < keep)))


REFERENCE = build_reference(table(20_000, 1, "a"), ProfilePlan(columns=COLUMNS), code_fingerprint=CODE)


@pytest.fixture(scope="module")
def bad():
    return judge_against(REFERENCE, table(20_000, 2, HOSTILE, 0.25), POLICY)


@pytest.fixture(scope="module")
def page(bad):
    return report_page(bad, earlier=[judge_against(REFERENCE, table(20_000, 3, "a", 0.25), POLICY)]).decode()


class Tags(HTMLParser):
    """Open elements must close in order; void elements and shapes that close themselves aside."""

    VOID = frozenset({"meta", "br", "wbr", "img", "link", "input", "hr"})

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.text, self.attributes = [], set(), [], []

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.add(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def parsed(page: str) -> Tags:
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    return tags


def test_b63_the_page_needs_nothing_but_itself(page):
    """B63: no script, no other file, no host: neither in an attribute, nor in the style, nor as text that would load."""
    tags = parsed(page)
    assert tags.seen & {"script", "link", "img", "iframe", "object", "base", "form"} == set()
    loading = {name for name, _ in tags.attributes} & {"src", "srcset", "action", "data", "poster", "background", "style"}
    assert loading == set()
    assert [name for name, _ in tags.attributes if name.startswith("on")] == []
    assert {value[0] for name, value in tags.attributes if name == "href"} <= {"#", "/"}
    assert re.findall(r"https?:|url\(|@import|\\\\", page.split("</style>", 1)[0]) == []


def test_names_and_levels_from_the_data_stay_text(page):
    """A column and a level that look like markup are shown, not run."""
    assert HOSTILE in "".join(parsed(page).text)


def test_the_same_verdict_gives_the_same_bytes(bad):
    """No clock and no random identifier in the page."""
    assert report_page(bad) == report_page(bad)


def test_states_are_words_and_shapes_not_only_colours(page):
    """Every icon stands with a word or a title; the headline says the state."""
    text = "".join(parsed(page).text)
    assert "Blocked: 3 critical failures." in text
    assert {word for word in ("OK", "Failed", "Warning") if word in text} >= {"OK", "Failed"}


def test_the_label_block_tells_the_correction(page):
    """Raw, undone and reference prevalence, s, and what a score of 0.5 means: 0.25 * 0.5 / (0.25 * 0.5 + 0.5) = 0.2."""
    text = "".join(parsed(page).text)
    assert "Sampling undone" in text
    assert "with s = 0.25; a score of 0.5 then means 0.2000." in text


def test_b36_b37_counts_per_cell_let_anyone_recompute(bad, page):
    """B36, B37: the cells, both counts and every number of the check stand on the page, alarm or not."""
    text = "".join(parsed(page).text)
    histogram = bad.check("drift.x").histogram
    assert f"{sum(histogram.reference):,.0f}" == "20,000"
    assert all(f"{count:,.1f}" in text or f"{count:,.0f}" in text for count in histogram.sample if count)
    assert "psi floor" in text


def test_b53_zero_is_shown_as_zero():
    """B53: the best possible result, 0 % missing and a distance of 0, is not a blank."""
    same = normal(5000, seed=1)
    text = "".join(parsed(report_page(judge_column(same, same, MissingShare(column="x"), Drift(column="x"))).decode()).text)
    assert "0 %" in text
    assert "0.000" in text


def test_an_ok_page_has_nothing_to_do():
    """No empty list of actions."""
    same = normal(5000, seed=1)
    assert "What to do" not in report_page(judge_column(same, same, Drift(column="x"))).decode()


def test_a_verdict_that_did_not_run_still_has_a_page():
    """The reason, for every declared check."""
    text = "".join(parsed(report_page(not_run(POLICY, "the profile could not be read")).decode()).text)
    assert text.count("the profile could not be read") >= len(POLICY.checks)


def test_two_thousand_features_stay_under_500_kilobytes():
    """Wide tables and long names: the page holds the worst and says how many are left out."""
    columns = tuple(Column(name=f"a_feature_with_quite_a_long_name_{i:04}", kind="numeric") for i in range(2000))
    draw = np.random.default_rng(1)
    before = pa.table({c.name: draw.normal(size=400) for c in columns})
    after = pa.table({c.name: draw.normal(size=400) + (i % 2) for i, c in enumerate(columns)})
    policy = QualityPolicy(columns=columns, checks=tuple(Drift(column=c.name) for c in columns), reference="r.json")
    found = judge_against(build_reference(before, policy.plan, code_fingerprint=CODE), after, policy)
    page = report_page(found, earlier=[found] * 40)
    assert len(page) < 500_000
    assert "1900 more stand in the JSON beside this page." in "".join(parsed(page.decode()).text)


@pytest.mark.servers
@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (1200, "dark"), (390, "light")])
def test_a_real_browser_shows_it_without_scripts_or_network(page, tmp_path, width, scheme):
    """Chromium, offline, scripts off: nothing is requested, nothing runs out of the window, every chart has a size."""
    from playwright.sync_api import sync_playwright

    path = tmp_path / "report.html"
    path.write_text(page)
    requests = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, java_script_enabled=False, offline=True
        )
        view = context.new_page()
        view.on("request", lambda request: requests.append(request.url))
        view.goto(path.as_uri())
        chart = view.locator("svg.bars").first.bounding_box()
        edges = [view.locator(name).first.bounding_box() for name in ("section", "table.features", ".banner")]
        assert view.screenshot()[:4] == b"\x89PNG"
        browser.close()
    assert requests == [path.as_uri()]
    assert chart["width"] > 100
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= width for box in edges)


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [
        (0.055, 0.44, [0.06, 0.1, 0.2, 0.3, 0.4]),
        (0.16, 0.48, [0.2, 0.3, 0.4]),
        (0.0001, 1.0, [0.0001, 0.001, 0.01, 0.1, 1.0]),
        (0.42, 0.48, []),
    ],
)
def test_labels_of_the_axis_have_room_on_a_phone(low, high, told):
    """Round shares, none nearer to another than 12 % of the width."""
    axis = Axis(low=low, high=high)
    assert axis.ticks() == pytest.approx(told)
    assert all(axis.at(b) - axis.at(a) >= 12 for a, b in itertools.pairwise(axis.ticks()))


def test_the_maturity_curve_is_drawn_with_its_interval_and_horizon():
    """Delays of up to six days: a line that rises from left to right, a band around it, the horizon and the ages in words."""
    positives = {(age, delay): 20 - delay for age in range(10) for delay in range(min(age, 6) + 1)}
    counts = LagCounts(unit=DAY, horizon=5, positives=positives, others=dict.fromkeys(range(10), 200))
    policy = QualityPolicy(
        columns=(Column(name="y", kind="boolean"),), checks=(Maturity(label="y", horizon=timedelta(days=5), unit=DAY),)
    )
    profile = profile_table(pa.table({"y": [True, False]}), policy.plan, code_fingerprint=CODE)
    found = judge(profile, policy, evidence=Evidence(lag={"y": counts}))
    page = report_page(found).decode()
    heights = [float(point.split()[1]) for point in re.search(r'class="line" d="M([^"]+)"', page)[1].split("L")]

    assert heights == sorted(heights, reverse=True)
    assert heights[0] > 0 == heights[-1]
    assert 'class="band"' in page
    assert "dashed: the horizon, 5 days" in page
    assert found.check("maturity.y").histogram.cells == ("0", "1", "2", "3", "4", "5", "6")
