"""What the surroundings say about summaries and runbooks."""

from __future__ import annotations

from datetime import timedelta

import pytest
from headrace.errors import SettingsError
from headrace.settings import runbooks, summary_quiet


def test_a_backfill_is_quiet_after_ten_minutes_or_what_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole seconds; anything else is refused by name."""
    monkeypatch.delenv("HEADRACE_SUMMARY_QUIET_SECONDS", raising=False)
    assert summary_quiet() == timedelta(minutes=10)
    monkeypatch.setenv("HEADRACE_SUMMARY_QUIET_SECONDS", "30")
    assert summary_quiet() == timedelta(seconds=30)
    monkeypatch.setenv("HEADRACE_SUMMARY_QUIET_SECONDS", "soon")
    with pytest.raises(SettingsError, match="HEADRACE_SUMMARY_QUIET_SECONDS"):
        summary_quiet()


def test_runbooks_can_lie_behind_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages then hold links."""
    monkeypatch.setenv("HEADRACE_RUNBOOKS", "https://wiki.example.com/runbooks")
    assert runbooks() == "https://wiki.example.com/runbooks"
