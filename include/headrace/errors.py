"""The root of every error Headrace raises on purpose.

An error is data: what was found, what was expected, what to do. Whether another try can help is a type, set where the
error is known: `RetryableError` (the store was busy, a lost race) or `FinalError` (corrupt data, a failed gate, a wrong
declaration). The orchestration layer translates the type into a retry or a failure and never guesses from text.
"""

from __future__ import annotations

from typing import Any


class HeadraceError(Exception):
    """Root of all Headrace errors.

    Attributes:
        subject: the object, row, field or partition the error is about.
        found: what was found there.
        expected: what would have been right.
        remedy: what the reader can do about it.
    """

    def __init__(self, subject: str, *, found: str, expected: str, remedy: str) -> None:
        super().__init__(subject, found, expected, remedy)
        self.subject = subject
        self.found = found
        self.expected = expected
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.subject}: found {self.found}; expected {self.expected}. {self.remedy}"

    def __reduce__(self) -> tuple[Any, ...]:
        # Keyword-only facts would be lost by the default reduction; errors cross process borders.
        return (_rebuild, (type(self), self.subject, self.found, self.expected, self.remedy))


def _rebuild(kind: type[HeadraceError], subject: str, found: str, expected: str, remedy: str) -> HeadraceError:
    error = kind.__new__(kind)
    HeadraceError.__init__(error, subject, found=found, expected=expected, remedy=remedy)
    return error


class RetryableError(HeadraceError):
    """Another try may succeed: nothing about the input is wrong."""


class FinalError(HeadraceError):
    """Another try with the same input fails the same way."""


class SettingsError(FinalError, ValueError):
    """The environment lacks or misstates a setting."""
