"""The docs: every link leads somewhere, every alert has its runbook."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from headrace.quality import damage
from headrace.quality.incidents import CHANNEL
from headrace.quality.message import runbook

REPOSITORY = Path(__file__).resolve().parents[1]
PAGES = sorted([*(REPOSITORY / "docs").rglob("*.md"), *REPOSITORY.glob("*.md")])
LINK = re.compile(r"!?\[[^\]]*\]\((?!https?:|#)([^)#\s]+)")
IDENTITY = re.compile(r'return f?"([a-z_]+)[".{]')


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_every_link_leads_somewhere(page: Path) -> None:
    """Files and pictures named beside or above the page. Pictures of screens are made by the tests of the UI."""
    links = [link for link in LINK.findall(page.read_text()) if not link.startswith(("images/", "docs/images/"))]

    assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_alert_has_a_runbook() -> None:
    """What checks call themselves, damage, a dead route, a late day: the page that the message names is there."""
    folder = REPOSITORY / "include" / "headrace" / "spec"
    kinds = {kind for file in ("checks.py", "label_checks.py") for kind in IDENTITY.findall((folder / file).read_text())}

    assert {"drift", "prevalence", "row_count", "maturity", "selection"} <= kinds
    for check in (*kinds, "schema", "parity", damage.CHECK, CHANNEL, "late"):
        assert (REPOSITORY / "docs" / "runbooks" / runbook(check)).exists(), check
