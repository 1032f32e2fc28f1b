"""What a wrong declaration says, and the one way to say it."""

from __future__ import annotations

from headrace.errors import FinalError


class DeclarationError(FinalError, ValueError):
    """A declaration holds a value that is not allowed. Names the declaration, the field, the value and what is allowed."""


def check(condition: bool, declaration: str, field: str, value: object, allowed: str) -> None:  # noqa: FBT001 - it reads as the condition it is
    """Raise `DeclarationError` unless `condition` holds.

    Args:
        declaration: who speaks, e.g. `Dataset flights`.
        field: the field at fault.
        value: the value found there.
        allowed: what would be accepted, in words.
    """
    if not condition:
        raise DeclarationError(
            f"{declaration}.{field}",
            found=repr(value),
            expected=allowed,
            remedy="Correct the declaration file.",
        )
