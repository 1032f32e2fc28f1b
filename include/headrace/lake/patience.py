"""Asking again when a store was busy or a connection broke.

Only `StoreUnavailable` is asked again: nothing about the request was wrong. Pauses grow and are jittered, so that many tasks do not come
back in step, and each is logged, so that nobody watches a command that only seems to hang. boto3 and obstore have their own retries below
this; what reaches us is what they do not see, such as a body cut short.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from typing import Final, TypeVar

from headrace.lake.errors import StoreUnavailable

TRIES: Final = 6
FIRST_PAUSE_SECONDS: Final = 0.05

T = TypeVar("T")
log = logging.getLogger(__name__)


def patiently(ask: Callable[[], T]) -> T:
    """The answer of `ask`, asked up to `TRIES` times. Raises the last `StoreUnavailable`."""
    for attempt in range(TRIES - 1):
        try:
            return ask()
        except StoreUnavailable as error:
            log.warning("%s: %s. Asking again, %d of %d times.", error.subject, error.found, attempt + 1, TRIES - 1)
            time.sleep(FIRST_PAUSE_SECONDS * 2**attempt * random.uniform(0.5, 1.5))  # noqa: S311 - spreads tasks, guards nothing
    return ask()
