"""One message about a backfill's bad days, sent when the backfill has gone quiet.

Nobody knows which run of a backfill is its last: runs are parallel and in any order, a day is fed by the backfills of several roots, and a
task cannot ask which backfill its run belongs to. So every run that found something bad waits, without holding a worker; the one
whose finding is still the newest after the quiet time, with nothing queued or at work in the chain any more, sends the summary, and the
others end. However long a day takes, it is at work or queued until it was judged, so one backfill has one summary. A scheduled run
that waits for its time is not at work. Runs that found nothing never come here.
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
from wiring import telling

if TYPE_CHECKING:
    from headrace.lake.store import Store
    from headrace.quality.incidents import Incidents

_AT_MOST: Final = timedelta(hours=12)
_AT_WORK: Final = ["scheduled", "queued", "running", "restarting", "up_for_retry"]
"""States of a task that is being worked on or about to be; a deferred one waits for its time, or for another that is at work."""


class SummaryTask(BaseOperator):
    """Sends the summary of a dataset's gate, or leaves it to a later run.

    Args:
        dataset, owner: whose.
        routes: the declared routes.
        chain: the DAGs before this one, whose queued runs and working tasks mean that the backfill goes on.
        before: this DAG's own tasks before this one.
    """

    def __init__(
        self,
        *,
        dataset: str,
        owner_name: str,
        routes: Sequence[AlertRoute],
        chain: Sequence[str],
        before: Sequence[str],
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.dataset = dataset
        self.owner_name = owner_name
        self.routes = tuple(routes)
        self.chain = tuple(chain)
        self.before = tuple(before)

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
        ti = context["ti"]
        if any(ti.get_dr_count(dag_id=dag, states=["queued"]) > 0 for dag in (*self.chain, self.dag_id)):
            return True
        if ti.get_ti_count(dag_id=self.dag_id, task_ids=list(self.before), states=_AT_WORK) > 0:
            return True
        return any(ti.get_ti_count(dag_id=dag, states=_AT_WORK) > 0 for dag in self.chain)

    def _send(self, state: Incidents, partition: str, lake: Store) -> None:
        from headrace.quality.incident_store import change_incidents
        from headrace.quality.incidents import summarised
        from headrace.quality.message import summary
        from headrace.quality.routing import Owners, due_summary

        owners = Owners(dataset=self.owner_name)
        desk = telling.Desk(dataset=self.dataset, owners=owners, routes=self.routes, stream="gate", lake=lake)
        delivered = False
        for route in telling.connected(desk.routes, owners.all):
            days = due_summary(state, route, self.owner_name)
            if len(days) > 0:
                delivered |= telling.deliver(desk, route, summary(days, self.dataset, telling.again(partition)))
        if delivered:
            change_incidents(lake, self.dataset, "gate", partial(summarised, sent=state.backlog))
