"""What can be wrong with a stored run report or a declared price."""

from __future__ import annotations

from headrace.errors import FinalError


class RunReportRefused(FinalError, ValueError):
    """A stored record or report is unreadable or of a newer format."""


class PricesRefused(FinalError, ValueError):
    """The declared prices cannot be read."""
