"""A run names what it needs and waits for it, without holding a worker.

The wait is bounded, and says what it waits for; a run that joined whatever happened to be there would be silently wrong, and a
backfill in another order would give other bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

from airflow.providers.standard.triggers.temporal import DateTimeTrigger
from airflow.sdk import BaseOperator
from headrace_waits import PartitionsTrigger
from wiring.partition import resolve_partition

from headrace.manifests.needs import Needed, NeededPartitionsMissing, missing_partitions
from headrace.settings import lake_uri

Moment = Callable[[str], datetime | None]
Needs = Callable[[str], list[Needed]]


class AwaitPartitions(BaseOperator):
    """Waits until an instant is past and the needed partitions are published.

    Args:
        start, end: the days the DAG has data for.
        not_before: the partition's instant, None for none; skipped when already past, so a backfill does not wait.
        needs: the partitions this run reads; asked again after each wait, since what is needed may depend on what is there.
        at_most: how long to wait for partitions.
    """

    def __init__(
        self,
        *,
        start: date,
        end: date | None,
        not_before: Moment,
        needs: Needs,
        at_most: timedelta = timedelta(hours=12),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.first_day = start
        self.last_day = end
        self.not_before = not_before
        self.needs = needs
        self.at_most = at_most

    def execute(self, context: Any) -> None:
        partition = resolve_partition(context, start=self.first_day, end=self.last_day)
        moment = self.not_before(partition)
        if moment is not None and moment > datetime.now(UTC):
            self.log.info("Waiting until %s, when %s is settled.", moment.isoformat(), partition)
            self.defer(trigger=DateTimeTrigger(moment=moment), method_name="look")
        self.look(context)

    def look(self, context: Any, event: Any = None, since: float | None = None) -> None:
        """Look for the needed partitions; wait for those that are not there."""
        partition = resolve_partition(context, start=self.first_day, end=self.last_day)
        needed = self.needs(partition)
        missing = missing_partitions(lake_uri(), needed)
        if not missing:
            self.log.info("All %d needed partitions are published.", len(needed))
            return
        began = datetime.now(UTC).timestamp() if since is None else since
        until = began + self.at_most.total_seconds()
        if datetime.now(UTC).timestamp() >= until:
            raise NeededPartitionsMissing.of(f"{self.dag_id} {partition}", missing)
        self.log.info("Waiting for %s.", ", ".join(str(one) for one in missing))
        self.defer(
            trigger=PartitionsTrigger(lake=lake_uri(), needed=[one.as_pair() for one in missing], until=until),
            method_name="look",
            kwargs={"since": began},
        )
