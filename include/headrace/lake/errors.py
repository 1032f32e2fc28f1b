"""What storage can answer besides the bytes."""

from __future__ import annotations

import errno
from typing import Final, Self

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


class DiskFull(RetryableError, OSError):
    """A local disk took no more bytes; nothing of ours is half published."""

    __str__ = RetryableError.__str__

    @classmethod
    def at(cls, where: str, error: OSError) -> Self:
        """The error for what the system said about the folder or file `where`."""
        return cls(
            where,
            found=error.strerror or str(error),
            expected="room for a few shards",
            remedy="Free some space, or point TMPDIR at a larger disk, and run again.",
        )


_FULL: Final = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def is_disk_full(error: OSError) -> bool:
    """Whether the system refused bytes for want of room: no space, over quota, over the file size limit."""
    return error.errno in _FULL
