"""A task about one partition that first waits for what it needs, without holding a worker.

A run names what it needs and waits for it: an instant (a day's end, its settlement) and the partitions it reads. The wait is bounded and
says what it waits for. A run that read whatever happened to be there would be silently wrong, and a backfill in another order
would give other bytes. Wait and work are one task: in a backfill the wait is over before it began and costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

from airflow.providers.standard.triggers.temporal import DateTimeTrigger
from airflow.sdk import BaseOperator
from headrace.manifests.needs import Needed, NeededPartitionsMissing, missing_partitions
from headrace.settings import lake_uri
from headrace_stores import open_store
from headrace_waits import PartitionsTrigger
from wiring.partition import resolve_partition


class PartitionTask(BaseOperator):
    """Waits for an instant and for partitions, then works on the run's partition.

    Args:
        start, end: the days the DAG has data for, both inclusive.
        not_before: the partition's instant, None for none.
        needs: the partitions the work reads; asked again after each wait, since what is needed may depend on what is there.
        work: called with the partition key; returns plain values for XCom.
        at_most: how long to wait for partitions before failing.
    """

    def __init__(
        self,
        *,
        start: date,
        end: date | None,
        not_before: Callable[[str], datetime | None],
        needs: Callable[[str], list[Needed]],
        work: Callable[[str], dict[str, Any]],
        at_most: timedelta = timedelta(hours=12),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.first_day = start
        self.last_day = end
        self.not_before = not_before
        self.needs = needs
        self.work = work
        self.at_most = at_most

    def execute(self, context: Any) -> dict[str, Any]:
        partition = resolve_partition(context, start=self.first_day, end=self.last_day)
        moment = self.not_before(partition)
        if moment is not None and moment > datetime.now(UTC):
            self.log.info("%s waits until %s.", partition, moment.isoformat())
            self.defer(trigger=DateTimeTrigger(moment=moment), method_name="look")
        return self.look(context)

    def look(self, context: Any, event: Any = None, since: float | None = None) -> dict[str, Any]:  # noqa: ARG002 - what a trigger passes
        """Work if the needed partitions are there, wait for them otherwise. `since`: seconds since the epoch of the first look."""
        partition = resolve_partition(context, start=self.first_day, end=self.last_day)
        missing = missing_partitions(open_store(lake_uri()), self.needs(partition))
        if missing:
            self._wait_for(partition, missing, since)
        return self.work(partition)

    def _wait_for(self, partition: str, missing: list[Needed], since: float | None) -> None:
        """Leave the worker until the partitions are there; raises NeededPartitionsMissing when the time is over."""
        began = datetime.now(UTC).timestamp() if since is None else since
        until = began + self.at_most.total_seconds()
        if datetime.now(UTC).timestamp() >= until:
            raise NeededPartitionsMissing.of(f"{self.dag_id} {partition}", missing)
        self.log.info("%s waits for %s.", partition, ", ".join(str(one) for one in missing))
        self.defer(
            trigger=PartitionsTrigger(lake=lake_uri(), needed=[one.as_pair() for one in missing], until=until),
            method_name="look",
            kwargs={"since": began},
        )
