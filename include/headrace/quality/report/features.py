"""The feature table and each feature's detail: the worst twenty first, the rest folded, all figures there to recompute."""

from __future__ import annotations

from html import escape
from typing import Final

from headrace.quality.measurement import Histogram
from headrace.quality.report.charts import bars
from headrace.quality.report.sections import numbers_list, worst_first
from headrace.quality.report.words import NONE, badge, change, distance, name_of, whole
from headrace.quality.ruling import percent
from headrace.quality.verdict import CheckResult, Verdict

_FIRST: Final = 20
_ROWS: Final = 100  # beyond these the page would outgrow its 500 KB; the JSON beside it has all
_DETAILS: Final = 25
_NONE: Final = ' class="none"'
_COLUMNS: Final = (
    "Feature",
    "State",
    "Reference and this data",
    "PSI",
    "JS",
    "Missing",
    "Default",
    "New levels",
    "Effective rows",
)
_NOTE: Final = '<p class="note">The counts behind every number, worst feature first.</p>'
_HEAD: Final = f"<thead><tr>{''.join(f'<th>{name}</th>' for name in _COLUMNS)}</tr></thead>"


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
    table = f"<section><h2>Features</h2>{_LEGEND}{_table(found[:_FIRST])}{folded}</section>"
    return f"{table}<section><h2>Feature by feature</h2>{_NOTE}{details}</section>" if details else table


def _key(kind: str, width: int) -> str:
    return f'<svg class="key" width="14" height="14" aria-hidden="true"><rect class="{kind}" width="{width}" height="14" rx="1"/></svg>'


_LEGEND: Final = (
    f'<p class="legend">{_key("ref", 11)} reference {_key("new", 6)} this data {_key("odd", 6)} missing, infinite, other or new. '
    "Cells are the reference's own: equal data, equal heights. PSI is above what chance gives; noise is what chance alone stays "
    "below at these sizes; effective rows are the equally weighted rows with the same noise.</p>"
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
        ("effective rows", whole(n["sample_rows"]) if "sample_rows" in n else NONE),
    ]
    rest = "".join(f'<td data-label="{name}"{_NONE if text == NONE else ""}>{text}</td>' for name, text in cells)
    return (
        f'<tr><th scope="row">{name_of(item.column or item.id)}{_metric(item)} {kind}</th>'
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
        f"<tr><th scope=row>{escape(cell)}</th><td>{_count(a)}</td><td>{percent(a / before)}</td>"
        f"<td>{_count(b)}</td><td>{percent(b / after)}</td></tr>"
        for cell, a, b in zip(histogram.cells, histogram.reference, histogram.sample, strict=True)
        if a > 0 or b > 0
    )
    return (
        "<table class=counts><thead><tr><th>Cell</th><th>Reference</th><th></th><th>This data</th><th></th></tr></thead>"
        f"<tbody>{rows}</tbody></table>"
    )


def _count(value: float) -> str:
    return whole(value) if value.is_integer() else f"{value:,.1f}"
