"""The parts of the page, each a pure function from a verdict to a piece of HTML; an empty text when there is nothing to say."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

from headrace.quality.report.words import WORDS, badge, css_class, figure, icon, name_of, whole
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
        f'<li class="{css_class(item.state)}">{icon(item.state)}<div><p><b>{name_of(item.id)}</b> '
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
