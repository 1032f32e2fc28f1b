"""Why a feature is null. Every null in a training row carries one of these."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """The reasons, in the order in which they are checked.

    Stored rows never look ahead: `NOT_YET_ARRIVED` in a training row means that no snapshot of the view was published by
    label time, and for a log, that the entity's rows arrived later, which only a report made in hindsight may say. Were
    stored rows to say it, a row that arrives next week would change last week's training set.
    """

    NULL_KEY = "null_key"
    """The label's entity key has a null part: it equals no entity."""
    NOT_YET_ARRIVED = "not_yet_arrived"
    """There is something, but it was not there yet at label time."""
    NEVER_SEEN = "never_seen"
    """Nothing of this entity was there at label time."""
    RETRACTED = "retracted"
    """Everything that had arrived was withdrawn again by label time."""
    TOMBSTONED = "tombstoned"
    """The newest row says that there is no value from its event time on."""
    EXPIRED = "expired"
    """The newest value is older than the ttl allows."""
    NULL_VALUE = "null_value"
    """The newest row is there and holds a null; an older value is not used in its place."""
