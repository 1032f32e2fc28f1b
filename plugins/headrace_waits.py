"""The trigger that watches the lake for partitions. Lives here because the triggerer imports plugins, not DAG files."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent
from headrace_stores import open_store

POLL_SECONDS = 3.0


class PartitionsTrigger(BaseTrigger):
    """Fires when all needed partitions are published, or when the time is over.

    Args:
        lake: the lake's URI.
        needed: (dataset, partition) pairs.
        until: when to give up, seconds since the epoch.
    """

    def __init__(self, lake: str, needed: list[list[str]], until: float) -> None:
        super().__init__()  # type: ignore[no-untyped-call] # Airflow leaves it untyped
        self.lake = lake
        self.needed = needed
        self.until = until

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return "headrace_waits.PartitionsTrigger", {"lake": self.lake, "needed": self.needed, "until": self.until}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        from headrace.lake.errors import StoreUnavailable
        from headrace.manifests.needs import Needed, missing_partitions

        lake = open_store(self.lake)
        needed = [Needed(dataset=dataset, partition=partition) for dataset, partition in self.needed]
        while True:
            try:
                missing = await asyncio.to_thread(missing_partitions, lake, needed)
            except StoreUnavailable as error:
                self.log.warning("The lake does not answer: %s", error)
                missing = needed
            if not missing or datetime.now(UTC).timestamp() >= self.until:
                yield TriggerEvent({"missing": [str(one) for one in missing]})  # type: ignore[no-untyped-call] # as above
                return
            await asyncio.sleep(POLL_SECONDS)
