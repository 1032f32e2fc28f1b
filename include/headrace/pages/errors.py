"""Why a page cannot be shown."""

from __future__ import annotations

from headrace.errors import FinalError


class PageMissing(FinalError, LookupError):
    """There is nothing under that address that this person may see."""
