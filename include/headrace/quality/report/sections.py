"""The parts of the page, each a pure function from a verdict to a piece of HTML; an empty text when there is nothing to say."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

from headrace.quality.correction import correct_scores
from headrace.quality.report.charts import axis_for, interval
from headrace.quality.report.words import NONE, WORDS, badge, css_class, figure, icon, name_of, whole
from headrace.quality.ruling import STATES, percent
from headrace.quality.verdict import CheckResult, Verdict
from headrace.spec.checks import SEVERITIES

_SHOWN_ACTIONS: Final = 20
_SHOWN_SCARCE: Final = 6
_SHOWN_CHECKS: Final = 200
_OPEN_CHECKS: Final = 30
_SHOWN_RUNS: Final = 30
_HISTORY_CHECKS: Final = 30


def worst_first(checks: Sequence[CheckResult]) -> list[CheckResult]:
    """By state, severity, then effect; ties in the declared order."""

    def rank(item: CheckResult) -> tuple[int, int, float]:
        effect = item.numbers.get("psi_debiased")
        return -STATES.index(item.state), -SEVERITIES.index(item.severity), -effect if isinstance(effect, float) else 0.0

    return sorted(checks, key=rank)


def banner(verdict: Verdict) -> str:
    counts = [(state, sum(item.state == state for item in verdict.checks)) for state in reversed(STATES)]
    chips = "".join(f"<li>{badge(state)} <b>{count}</b></li>" for state, count in counts if count)
    return (
        f'<header class="banner {css_class(verdict.state)}">{icon(verdict.state)}'
        f'<div><p class="state">{WORDS[verdict.state]}</p><h1>{escape(verdict.headline)}</h1><ul class="chips">{chips}</ul></div></header>'
    )


def actions(verdict: Verdict) -> str:
    """What to do: one entry per check that failed or warned, and one for all that had too little data."""
    bad = [item for item in worst_first(verdict.checks) if item.state not in ("ok", "insufficient")]
    scarce = [item for item in verdict.checks if item.state == "insufficient"]
    if not bad and not scarce:
        return ""
    shown = "".join(_action(item) for item in bad[:_SHOWN_ACTIONS]) + _scarce(scarce)
    more = f"<p class=note>{len(bad) - _SHOWN_ACTIONS} more below.</p>" if len(bad) > _SHOWN_ACTIONS else ""
    return f'<section><h2>What to do</h2><ol class="actions">{shown}</ol>{more}</section>'


def _scarce(items: list[CheckResult]) -> str:
    if len(items) < 2:
        return "".join(map(_action, items))
    names = ", ".join(item.id for item in items[:_SHOWN_SCARCE])
    more = f" and {len(items) - _SHOWN_SCARCE} more" if len(items) > _SHOWN_SCARCE else ""
    return (
        f'<li class="{css_class("insufficient")}">{icon("insufficient")}<div><p><b>{len(items)} checks</b> '
        f'<span class="word">{WORDS["insufficient"]}</span></p><p>{escape(names)}{more}. For the first: {escape(items[0].reason)}</p>'
        f'<p class="next">{escape(items[0].next_step)}</p></div></li>'
    )


def _action(item: CheckResult) -> str:
    severity = "" if item.severity == "critical" else f' <span class="severity">{item.severity}</span>'
    return (
        f'<li class="{css_class(item.state)}">{icon(item.state)}<div><p><b>{escape(item.id)}</b> '
        f'<span class="word">{WORDS[item.state]}</span>{severity}</p>'
        f'<p>{escape(item.reason)}</p><p class="next">{escape(item.next_step)}</p></div></li>'
    )


def compared(verdict: Verdict) -> str:
    """What was judged, against what."""
    pairs = [*verdict.about.items(), ("rows", whole(verdict.rows)), *_sampling(verdict), *_identities(verdict)]
    rows = "".join(f"<div><dt>{escape(name)}</dt><dd>{_linked(value)}</dd></div>" for name, value in pairs)
    return f'<section><h2>What was compared</h2><dl class="facts">{rows}</dl></section>'


def _linked(value: str) -> str:
    # Only places inside the same web server become links: the page names no other host.
    text = escape(value)
    return f'<a href="{text}">{text}</a>' if value.startswith("/") and not value.startswith("//") else text


def _sampling(verdict: Verdict) -> list[tuple[str, str]]:
    design = verdict.sampling
    if design is None:
        return [("sampling", "every row kept")]
    positive, negative = percent(design["keep_positive"]), percent(design["keep_negative"])
    return [("sampling", f"by {design['label']}: {positive} of positives and {negative} of negatives kept")]


def _identities(verdict: Verdict) -> list[tuple[str, str]]:
    code = [item.state for item in verdict.checks if item.id == "feature_code"]
    same = {"ok": "the same on both sides", "failed": "different, so no comparison was made"}
    pairs = [("feature code", same.get(code[0], "not compared"))] if code else []
    pairs.append(("profile", verdict.profile_digest[:16]))
    if verdict.reference_digest is not None:
        pairs.append(("reference", verdict.reference_digest[:16]))
    return pairs


def label(verdict: Verdict) -> str:
    """Raw prevalence, sampling undone, and the reference, on one axis; and the correction with a worked example."""
    parts = [_prevalence(item, verdict) for item in verdict.checks if item.kind == "Prevalence" and "corrected" in item.numbers]
    parts += [_maturity(item) for item in verdict.checks if item.kind == "Maturity" and "share" in item.numbers]
    parts += [_selection(item) for item in verdict.checks if item.kind == "Selection" and "low" in item.numbers]
    return "".join(parts)


def _maturity(item: CheckResult) -> str:
    n = {name: float(value) for name, value in item.numbers.items() if isinstance(value, (int, float))}
    told = f"{whole(n['immature'])} of {whole(n['rows'])} rows ({percent(n['share'])}) are younger than the label's horizon."
    if "mean_delay" in n:
        delay = f"{n['mean_delay']:.3g} {_unit(n['unit_seconds'])}"
        told += f" Positive labels take {delay} on the mean; {percent(n['completeness'])} are there at the horizon."
    if "completed_prevalence" in n:
        told += (
            f" Counting young rows as negative gives {percent(n['naive_prevalence'])}; weighted by completeness it is "
            f"<b>{percent(n['completed_prevalence'])}</b> ({percent(n['completed_low'])} to {percent(n['completed_high'])})."
        )
    return f"<section><h2>Maturity of <code>{escape(item.column or '')}</code> {badge(item.state)}</h2><p>{told}</p></section>"


def _unit(seconds: float) -> str:
    return {60: "minutes", 3_600: "hours", 86_400: "days"}.get(int(seconds), f"x {seconds:g} seconds")


def _selection(item: CheckResult) -> str:
    """Coverage by decision, as bars of rows and labelled rows, and what the prevalence can be."""
    n = {name: float(value) for name, value in item.numbers.items() if isinstance(value, (int, float))}
    cells = item.histogram
    rows = "" if cells is None else "".join(map(_decision, cells.cells, cells.reference, cells.sample))
    head = "<thead><tr><th>Decision</th><th>Rows</th><th>Labelled</th><th></th></tr></thead>"
    return (
        f"<section><h2>Who gets a label <code>{escape(item.column or '')}</code> {badge(item.state)}</h2>"
        f'<table class="counts">{head}<tbody>{rows}</tbody></table>'
        f"<p>With every unlabelled row negative the prevalence is {percent(n['low'])}, with every one positive {percent(n['high'])}.</p>"
        "</section>"
    )


def _decision(name: str, rows: float, labelled: float) -> str:
    share = percent(labelled / rows) if rows else NONE
    return f'<tr><th scope="row">{escape(name)}</th><td>{whole(rows)}</td><td>{whole(labelled)}</td><td>{share}</td></tr>'


def _prevalence(item: CheckResult, verdict: Verdict) -> str:
    n = {name: float(value) for name, value in item.numbers.items() if isinstance(value, (int, float))}
    rows = [
        ("In this data", n["raw"], n["raw"], n["raw"], "raw", f"{whole(n['positives'])} of {whole(n['labelled'])} labelled rows"),
        ("Sampling undone", n["corrected"], n["corrected_low"], n["corrected_high"], "new", str(item.numbers["interval"])),
        ("Reference", n["reference"], n["reference_low"], n["reference_high"], "ref", _reference_rows(n, item)),
    ]
    axis = axis_for([value for _, *values, _, _ in rows for value in values])
    lines = "".join(
        f'<div class="line"><p><b>{name}</b> <span class="value">{percent(value)}</span> '
        f"<small>{_span(low, high)}{escape(note)}</small></p>"
        f"{interval(axis, value, low, high, kind)}</div>"
        for name, value, low, high, kind, note in rows
    )
    ticks = "".join(f'<text x="{axis.at(t):.2f}%" y="12" text-anchor="middle">{100 * t:.3g} %</text>' for t in axis.ticks())
    return (
        f"<section><h2>Label <code>{escape(item.column or '')}</code> {badge(item.state)}</h2>"
        f'<div class="axis">{lines}<svg class="ticks" height="16" aria-hidden="true">{ticks}</svg></div>'
        f"<p>{_told(n, item)}</p>{_correction(verdict)}</section>"
    )


def _span(low: float, high: float) -> str:
    return "" if low == high else f"{percent(low)} to {percent(high)}, "


def _reference_rows(n: dict[str, float], item: CheckResult) -> str:
    return f"{item.numbers['reference_interval']}, {whole(n['reference_positives'])} of {whole(n['reference_labelled'])} rows"


def _told(n: dict[str, float], item: CheckResult) -> str:
    unlabelled = f" {whole(n['unlabelled'])} rows have no label and were left out." if n["unlabelled"] else ""
    return (
        f"The odds are <b>{n['odds_ratio']:.3g}</b> times the reference's ({n['odds_ratio_low']:.3g} to {n['odds_ratio_high']:.3g}, "
        f"p = {n['p_value']:.2g}, {escape(str(item.numbers['method']))}). With this many rows, a factor of "
        f"{n['detectable_ratio']:.3g} or more would be noticed four times in five.{unlabelled}"
    )


def _correction(verdict: Verdict) -> str:
    design = verdict.sampling
    if design is None:
        return ""
    keep = {"keep_positive": design["keep_positive"], "keep_negative": design["keep_negative"]}
    example = float(correct_scores(0.5, **keep))
    return (
        '<p class="note">A model trained on this data gives scores of the sample, not of the population. Correct it <b>once</b>: '
        "weigh rows by 1 / keep-rate while learning, "
        f"or turn each score p into s p / (s p + (1 - p)) with s = {keep['keep_negative'] / keep['keep_positive']:.6g}; "
        f"a score of 0.5 then means {example:.4f}.</p>"
    )


def checks_table(verdict: Verdict) -> str:
    """Every check once."""
    shown = worst_first(verdict.checks)[:_SHOWN_CHECKS]
    rows = "".join(
        f'<tr><td data-label="state">{badge(item.state)}</td><th scope="row">{name_of(item.id)}</th>'
        f'<td data-label="severity">{item.severity}</td><td data-label="observed">{escape(item.observed)}</td>'
        f'<td data-label="expected">{escape(item.expected)}</td></tr>'
        for item in shown
    )
    more = f"<p class=note>{len(verdict.checks) - len(shown)} more checks stand in the JSON beside this page.</p>"
    return (
        f"<section><h2>All {len(verdict.checks)} checks</h2>"
        f"<details{' open' if len(shown) <= _OPEN_CHECKS else ''}><summary>Show each check</summary>"
        '<table class="cards"><thead><tr><th>State</th><th>Check</th><th>Severity</th><th>Observed</th><th>Expected</th></tr></thead>'
        f"<tbody>{rows}</tbody></table>{more if len(shown) < len(verdict.checks) else ''}</details></section>"
    )


def history(verdict: Verdict, earlier: Sequence[Verdict]) -> str:
    """One row per run, newest first, one mark per check."""
    if not earlier:
        return ""
    runs = [verdict, *earlier][: _SHOWN_RUNS + 1]
    identities = [item.id for item in worst_first(verdict.checks)][:_HISTORY_CHECKS]
    rows = "".join(_run(run, identities, newest=run is verdict) for run in runs)
    table = f'<div class="scroll"><table class="history"><tbody>{rows}</tbody></table></div>'
    return f"<section><h2>Last {len(runs)} runs</h2>{table}</section>"


def _run(run: Verdict, identities: list[str], *, newest: bool) -> str:
    found = {item.id: item for item in run.checks}
    marks = "".join(
        f'<span title="{escape(identity)}: {WORDS[found[identity].state]}">{icon(found[identity].state)}</span>'
        for identity in identities
        if identity in found
    )
    name = run.about.get("partition", run.profile_digest[:8])
    kind = ' class="newest"' if newest else ""
    return f'<tr{kind}><th scope="row">{escape(name)}</th><td>{badge(run.state)}</td><td class="marks">{marks}</td></tr>'


def numbers_list(item: CheckResult) -> str:
    """Every figure of a check, to recompute it by hand."""
    pairs = "".join(
        f"<div><dt>{escape(name.replace('_', ' '))}</dt><dd>{figure(value)}</dd></div>"
        for name, value in item.numbers.items()
        if value is not None
    )
    return f'<dl class="numbers">{pairs}</dl>'
