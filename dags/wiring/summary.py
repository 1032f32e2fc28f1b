"""One message about a backfill's bad days, sent when the backfill has gone quiet.

Nobody knows which run of a backfill is its last: runs are parallel and in any order. So every run that found something bad waits, without
holding a worker; the one whose finding is still the newest after the quiet time, with no run of the chain queued any more, sends the
summary, and the others end. Runs that found nothing never come here.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from airflow.providers.standard.triggers.temporal import DateTimeTrigger
from airflow.sdk import BaseOperator
from headrace.settings import lake_uri, summary_quiet
from headrace.spec.alerts import AlertRoute
from headrace.spec.canonical import instant_from
from wiring import alerting

if TYPE_CHECKING:
    from headrace.lake.store import Store
    from headrace.quality.incidents import Incidents

_AT_MOST: Final = timedelta(hours=12)


class SummaryTask(BaseOperator):
    """Sends the summary of a dataset's gate, or leaves it to a later run.

    Args:
        dataset, owner: whose.
        routes: the declared routes.
        chain: the DAGs whose queued runs mean that the backfill goes on.
    """

    def __init__(
        self, *, dataset: str, owner_name: str, routes: Sequence[AlertRoute], chain: Sequence[str], **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.dataset = dataset
        self.owner_name = owner_name
        self.routes = tuple(routes)
        self.chain = tuple(chain)

    def execute(self, context: Any) -> None:
        self.look(context, began=datetime.now(UTC).timestamp())

    def look(self, context: Any, event: Any = None, began: float = 0.0) -> None:  # noqa: ARG002 - what a trigger passes
        """Send, wait, or leave it. `began`: seconds since the epoch of the first look."""
        from headrace.quality.incident_store import read_incidents
        from headrace_stores import open_store

        lake = open_store(lake_uri())
        state, now = read_incidents(lake, self.dataset, "gate"), datetime.now(UTC)
        if len(state.backlog) == 0 or state.backlog[-1].run != context["dag_run"].run_id:
            self.log.info("Another run found something later, or has told it; it sends the summary.")
            return
        quiet_at = instant_from(state.backlog[-1].at) + summary_quiet()
        if now < quiet_at or (self._goes_on(context) and now.timestamp() < began + _AT_MOST.total_seconds()):
            until = max(quiet_at, now + timedelta(seconds=10))
            self.log.info("Waiting until %s for more days of the backfill.", until.isoformat())
            self.defer(trigger=DateTimeTrigger(moment=until), method_name="look", kwargs={"began": began})
        self._send(state, context["dag_run"].partition_key, lake)

    def _goes_on(self, context: Any) -> bool:
        return any(context["ti"].get_dr_count(dag_id=dag, states=["queued"]) > 0 for dag in self.chain)

    def _send(self, state: Incidents, partition: str, lake: Store) -> None:
        from headrace.quality.incident_store import change_incidents
        from headrace.quality.incidents import summarised
        from headrace.quality.message import summary
        from headrace.quality.routing import due_summary

        desk = alerting.Desk(dataset=self.dataset, owner=self.owner_name, routes=self.routes, stream="gate", lake=lake)
        delivered = False
        for route in alerting.connected(desk.routes, desk.owner):
            days = due_summary(state, route, desk.owner)
            if len(days) > 0:
                delivered |= alerting.deliver(desk, route, summary(days, self.dataset, alerting.again(partition)))
        if delivered:
            change_incidents(lake, self.dataset, "gate", partial(summarised, sent=state.backlog))
