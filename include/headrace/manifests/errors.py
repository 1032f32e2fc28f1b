"""What can be wrong with a stored document or a publication."""

from __future__ import annotations

from headrace.errors import FinalError, RetryableError


class DocumentRefused(FinalError, ValueError):
    """A stored document is not what its place says: unreadable, altered, or of a newer format."""


class NotPublished(FinalError, LookupError):
    """The dataset has no such release, partition or manifest."""


class PublicationContended(RetryableError):
    """Other publications kept winning; nothing of ours is half done."""


class CollectionUnderWay(RetryableError):
    """`headrace gc` is removing what was unreachable, and a new manifest needs some of it."""


class DataGone(FinalError):
    """What a new manifest names was there and is no more."""


class VersionExists(FinalError):
    """A partition that is published once and never replaced already holds other content."""
