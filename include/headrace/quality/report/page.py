"""One HTML page per verdict: no script, no other file, no other host, the same bytes for the same verdict.

It opens from a mail attachment with the network off, in the dark, on a phone. The numbers are those of the verdict; its
JSON (`verdict_bytes`) is stored beside the page for machines and for what a page of 500 KB cannot hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import Final

from headrace.quality.report.features import features
from headrace.quality.report.labels import label
from headrace.quality.report.sections import actions, banner, checks_table, compared, history
from headrace.quality.report.words import drawings
from headrace.quality.verdict import Verdict

MAX_BYTES: Final = 500_000


def report_page(verdict: Verdict, *, earlier: Sequence[Verdict] = ()) -> bytes:
    """The page of `verdict`, UTF-8. `earlier` are verdicts of earlier runs, newest first, for the history."""
    parts = [
        drawings(),
        banner(verdict),
        actions(verdict),
        compared(verdict),
        label(verdict),
        features(verdict),
        checks_table(verdict),
        history(verdict, earlier),
    ]
    title = " ".join([*verdict.about.values()][:2])
    page = _piece("page.html").substitute(
        title=escape(f"{verdict.state}: {title}" if title else verdict.state),
        style=_text("page.css"),
        body="\n".join(filter(None, parts)),
    )
    return page.encode()


def _text(name: str) -> str:
    return files("headrace.quality.report").joinpath(name).read_text(encoding="utf-8")


def _piece(name: str) -> Template:
    return Template(_text(name))
