"""The docs: every link leads somewhere, every alert has its runbook, every command named there or by the product exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer
from headrace.cli.main import commands
from headrace.quality import damage
from headrace.quality.incidents import CHANNEL
from headrace.quality.message import runbook

REPOSITORY = Path(__file__).resolve().parents[1]
PAGES = sorted([*(REPOSITORY / "docs").rglob("*.md"), *REPOSITORY.glob("*.md")])
LINK = re.compile(r"!?\[[^\]]*\]\((?!https?:|#)([^)#\s]+)")
CODE = sorted(file for folder in ("include", "plugins", "dags") for file in (REPOSITORY / folder).rglob("*.py"))
COMMAND = re.compile(r'(?:`|"code", f?"|again=f?"|^\$ )headrace ([a-z]+)(?: ([a-z]+)\b)?', re.MULTILINE)
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


def test_every_command_that_people_are_told_exists() -> None:
    """In the docs, on the pages and in what errors say to do: `headrace <command>`, and of a group the command in it."""
    known = {name: getattr(one, "commands", None) for name, one in vars(typer.main.get_command(commands))["commands"].items()}
    told = {(file, *names) for file in (*PAGES, *CODE) for names in COMMAND.findall(file.read_text())}

    assert {"verify", "replay", "explain", "quality"} <= {first for _, first, _ in told}
    assert [one for one in told if one[1] not in known] == []
    assert [one for one in told if known[one[1]] is not None and one[2] not in {"", *known[one[1]]}] == []
