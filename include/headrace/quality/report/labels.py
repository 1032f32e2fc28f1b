"""The label's part of the page: its prevalence with the sampling undone, how its values arrive, and who gets one."""

from __future__ import annotations

from html import escape

from headrace.quality.correction import correct_scores
from headrace.quality.label_gates import release_in_words
from headrace.quality.report.charts import axis_for, curve, interval
from headrace.quality.report.words import NONE, badge, whole
from headrace.quality.ruling import percent, probability
from headrace.quality.verdict import CheckResult, Verdict


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
    heading = f"<h2>Maturity of <code>{escape(item.column or '')}</code> {badge(item.state)}</h2>"
    return f"<section>{heading}<p>{told}</p>{_arrival(item, n)}</section>"


def _arrival(item: CheckResult, n: dict[str, float]) -> str:
    """How positive labels arrive, by age; nothing where ages are too few for a curve."""
    drawn = item.histogram
    if drawn is None:
        return ""
    unit = _unit(n["unit_seconds"])
    return (
        '<figure class="arrival"><figcaption>Share of positive labels known by age, from 0 % to 100 %, with its 95 % interval; '
        f"dashed: the horizon, {whole(n['horizon'])} {unit}</figcaption>{curve(drawn, n['horizon'], height=90)}"
        f'<div class="ends"><span>0</span><span>{drawn.cells[-1]} {unit}</span></div></figure>'
    )


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
        f"<p class=below>With every unlabelled row negative the prevalence is {percent(n['low'])}, "
        f"with every one positive {percent(n['high'])}. {release_in_words(n)}</p>"
        "</section>"
    )


def _decision(name: str, rows: float, labelled: float) -> str:
    share = percent(labelled / rows) if rows else NONE
    return f'<tr><th scope="row">{escape(name)}</th><td>{whole(rows)}</td><td>{whole(labelled)}</td><td>{share}</td></tr>'


def _prevalence(item: CheckResult, verdict: Verdict) -> str:
    n = {name: float(value) for name, value in item.numbers.items() if isinstance(value, (int, float))}
    sampled, counted = verdict.sampling is not None, f"{whole(n['positives'])} of {whole(n['labelled'])} labelled rows"
    rows = [("In this data", n["raw"], n["raw"], n["raw"], "raw", counted)] if sampled else []
    found, told = (
        ("Sampling undone", str(item.numbers["interval"]))
        if sampled
        else ("In this data", f"{item.numbers['interval']}, {counted}")
    )
    rows += [
        (found, n["corrected"], n["corrected_low"], n["corrected_high"], "new", told),
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
    return "" if low == high else f"95 % interval {percent(low)} to {percent(high)}, "


def _reference_rows(n: dict[str, float], item: CheckResult) -> str:
    return f"{item.numbers['reference_interval']}, {whole(n['reference_positives'])} of {whole(n['reference_labelled'])} rows"


def _told(n: dict[str, float], item: CheckResult) -> str:
    unlabelled = f" {whole(n['unlabelled'])} rows have no label and were left out." if n["unlabelled"] else ""
    return (
        f"The odds are <b>{n['odds_ratio']:.3g}</b> times the reference's (95 % interval {n['odds_ratio_low']:.3g} to "
        f"{n['odds_ratio_high']:.3g}); were there no difference, chance would give one as large with {probability(n['p_value'])} "
        f"({escape(str(item.numbers['method']))}). With this many rows, a factor of "
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
