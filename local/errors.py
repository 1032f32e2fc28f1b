"""What can go wrong on one machine, each told in one sentence with what to do."""

from __future__ import annotations

from headrace.errors import FinalError, RetryableError


class HouseError(FinalError):
    """The house cannot start, or cannot go on, as asked."""


class ApiError(FinalError):
    """Airflow refused a request.

    Attributes:
        status: the HTTP status, e.g. 409.
    """

    def __init__(self, subject: str, *, found: str, expected: str, remedy: str) -> None:
        super().__init__(subject, found=found, expected=expected, remedy=remedy)
        self.status = int(found.split(" ", 1)[0])


class ApiUnreachable(RetryableError, ConnectionError):
    """Nobody answers at Airflow's address (yet, or just now)."""
