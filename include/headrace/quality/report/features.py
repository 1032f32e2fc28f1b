"""The feature table and each feature's detail: the worst twenty first, the rest folded, all figures there to recompute."""

from __future__ import annotations

from html import escape
from typing import Final

from headrace.quality.gates import percent
from headrace.quality.measurement import Histogram
from headrace.quality.report.charts import bars
from headrace.quality.report.sections import numbers_list, worst_first
from headrace.quality.report.words import badge, change, distance, whole
from headrace.quality.verdict import CheckResult, Verdict

_FIRST: Final = 20
_ROWS: Final = 120  # beyond these the page would outgrow its 500 KB; the JSON beside it has all
_DETAILS: Final = 30
_NONE: Final = ' class="none"'
_HEAD: Final = (
    "<thead><tr><th>Feature</th><th>State</th><th>Reference and this data</th><th>PSI</th><th>JS</th>"
    "<th>Missing</th><th>Default</th><th>New levels</th><th title='Rows with the same noise if all weighed alike'>Effective rows</th></tr></thead>"
)


def features(verdict: Verdict) -> str:
    """One row per drift check, worst first."""
    found = worst_first([item for item in verdict.checks if item.kind == "Drift"])
    if not found:
        return ""
    rest = found[_FIRST:_ROWS]
    folded = (
        f"<details><summary>{len(found) - _FIRST} more features</summary>{_table(rest)}{_left_out(found)}</details>"
        if rest
        else ""
    )
    details = "".join(_detail(item) for item in found[:_DETAILS] if item.histogram is not None)
    return (
        f"<section><h2>Features</h2>{_LEGEND}{_table(found[:_FIRST])}{folded}</section>"
        f'<section><h2>Feature by feature</h2><p class="note">The counts behind every number, worst feature first.</p>{details}</section>'
    )


_LEGEND: Final = (
    '<p class="legend"><svg class="key" width="26" height="14" aria-hidden="true"><rect class="ref" width="11" height="14" rx="1"/></svg> reference '
    '<svg class="key" width="26" height="14" aria-hidden="true"><rect class="new" x="3" width="6" height="14" rx="1"/></svg> this data '
    '<svg class="key" width="26" height="14" aria-hidden="true"><rect class="odd" x="3" width="6" height="14" rx="1"/></svg> missing, infinite, '
    "other or new. Cells are the reference's own: equal data, equal heights. "
    "PSI is above what chance gives; noise is what chance alone stays below at these sizes.</p>"
)


def _left_out(found: list[CheckResult]) -> str:
    left = len(found) - _ROWS
    return f'<p class="note">{left} more stand in the JSON beside this page.</p>' if left > 0 else ""


def _table(items: list[CheckResult]) -> str:
    return f'<table class="cards features">{_HEAD}<tbody>{"".join(_row(item) for item in items)}</tbody></table>'


def _row(item: CheckResult) -> str:
    n = item.numbers
    kind = f"<small>{escape(str(n['kind']))}</small>" if "kind" in n else ""
    chart = "" if item.histogram is None else bars(item.histogram, height=34)
    floor = f" <small>noise {distance(n.get('psi_floor'))}</small>" if "psi_floor" in n else ""
    cells = [
        ("PSI", f"{distance(n.get('psi_debiased'))}{floor}"),
        ("JS", distance(n.get("js"))),
        ("missing", change(n.get("missing_reference"), n.get("missing_sample"))),
        ("default", change(n.get("default_reference"), n.get("default_sample"))),
        ("new levels", change(n.get("new_reference"), n.get("new_sample"))),
        ("effective rows", whole(n["sample_rows"]) if "sample_rows" in n else "–"),
    ]
    rest = "".join(f'<td data-label="{name}"{_NONE if text == "–" else ""}>{text}</td>' for name, text in cells)
    return (
        f'<tr><th scope="row">{escape(item.column or item.id)}{_metric(item)} {kind}</th>'
        f'<td data-label="state">{badge(item.state)}</td><td class="chart">{chart}</td>{rest}</tr>'
    )


def _metric(item: CheckResult) -> str:
    name = item.id.removeprefix(f"drift.{item.column}")
    return f" <small>{escape(name.lstrip('.'))}</small>" if name else ""


def _detail(item: CheckResult) -> str:
    histogram = item.histogram
    if histogram is None:
        return ""
    opened = " open" if item.state == "failed" else ""
    reason = f"<p>{escape(item.reason)}</p>" if item.reason else ""
    return (
        f'<details class="feature"{opened}><summary>{badge(item.state)} <b>{escape(item.column or item.id)}</b>{_metric(item)}</summary>'
        f"{reason}{bars(histogram, height=120)}{_cells(histogram)}<h3>Every number</h3>{numbers_list(item)}</details>"
    )


def _cells(histogram: Histogram) -> str:
    """Counts per cell; effective rows where rows were sampled on purpose, hence the decimal."""
    before, after = sum(histogram.reference), sum(histogram.sample)
    rows = "".join(
        f"<tr><th scope=row>{escape(cell)}</th><td>{_count(a)}</td><td>{percent(a / before)}</td><td>{_count(b)}</td><td>{percent(b / after)}</td></tr>"
        for cell, a, b in zip(histogram.cells, histogram.reference, histogram.sample, strict=True)
        if a > 0 or b > 0
    )
    return (
        "<table class=counts><thead><tr><th>Cell</th><th>Reference</th><th></th><th>This data</th><th></th></tr></thead>"
        f"<tbody>{rows}</tbody></table>"
    )


def _count(value: float) -> str:
    return whole(value) if value.is_integer() else f"{value:,.1f}"
