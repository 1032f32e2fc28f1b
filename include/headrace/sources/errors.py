"""Why an object is refused, and when a partition cannot be read."""

from __future__ import annotations

from headrace.errors import FinalError, RetryableError


class ObjectRefused(FinalError, ValueError):
    """This object does not hold what the declaration says. It goes to quarantine; the rest of the partition goes on.

    `kind` is a short stable word for counting, such as `ragged row`.
    """

    def __init__(self, subject: str, *, kind: str = "", found: str, expected: str, remedy: str) -> None:
        super().__init__(subject, found=found, expected=expected, remedy=remedy)
        self.kind = kind


class NothingLanded(RetryableError):
    """A partition has no object: its feed is late, or broken. Published as empty, the day would look done for ever."""


class TooMuchQuarantined(FinalError):
    """More objects of a partition were refused than the declaration allows."""


class CountsDiffer(FinalError):
    """Objects listed are not objects in shards plus objects quarantined: something was lost or doubled."""
