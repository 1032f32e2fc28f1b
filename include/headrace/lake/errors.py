"""What storage can answer besides the bytes."""

from __future__ import annotations

from headrace.errors import FinalError, RetryableError


class ObjectMissing(FinalError, KeyError):
    """No object has that key."""

    __str__ = FinalError.__str__  # KeyError would print the tuple of its arguments


class ObjectChanged(RetryableError):
    """The object is no longer the one that was listed. Take a fresh listing."""


class AlreadyThere(FinalError):
    """A create-only write met another object at that key."""


class PointerMoved(RetryableError):
    """A compare-and-swap met another value: somebody else published meanwhile."""


class StoredBytesDiffer(RetryableError):
    """What was read back is not what was written."""


class StoreUnavailable(RetryableError):
    """The store did not answer, or asked for patience."""


class AccessRefused(FinalError, PermissionError):
    """The store knows us and says no."""

    __str__ = FinalError.__str__


class KeyRefused(FinalError, ValueError):
    """This kind of lake cannot hold that key."""


class NoConditionalWrites(FinalError):
    """The store cannot create-only or compare-and-swap, so publication would not be all or nothing."""
