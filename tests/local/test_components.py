"""Health is read from the body, and only a heartbeat of this very program counts."""

from __future__ import annotations

from typing import Any

from local.components import API_SERVER, SCHEDULER, TRIGGERER, is_healthy

BEAT = "2026-11-30T14:15:28.935888+00:00"
BEAT_SECONDS = 1_796_048_128.9


def health(scheduler: str, beat: str | None = BEAT) -> dict[str, Any]:
    """The body of the health address."""
    return {
        "metadatabase": {"status": "healthy"},
        "scheduler": {"status": scheduler, "latest_scheduler_heartbeat": beat},
        "triggerer": {"status": None, "latest_triggerer_heartbeat": None},
    }


def test_a_beating_scheduler_is_healthy() -> None:
    """Its heartbeat is younger than itself."""
    assert is_healthy(SCHEDULER, health("healthy"), BEAT_SECONDS - 5)


def test_a_heartbeat_of_the_scheduler_before_is_none() -> None:
    """A killed scheduler looks healthy for a while; the new one has not spoken yet."""
    assert not is_healthy(SCHEDULER, health("healthy"), BEAT_SECONDS + 5)


def test_a_dead_scheduler_is_seen_although_the_address_answers() -> None:
    """The address says 200 whoever is dead."""
    assert not is_healthy(SCHEDULER, health("unhealthy"), BEAT_SECONDS - 5)
    assert is_healthy(API_SERVER, health("unhealthy"), BEAT_SECONDS - 5)


def test_a_triggerer_that_never_spoke_is_not_healthy() -> None:
    """Airflow gives it no state at all."""
    assert not is_healthy(TRIGGERER, health("healthy"), 0)
