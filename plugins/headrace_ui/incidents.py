"""The one thing pages change: who takes an incident on. Who, when and why stand in the incident, and in Airflow's audit log.

Whoever may trigger the DAG that decides about a dataset may do it: its approval where it has a gate, else the DAG that fills it.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity, DagDetails
from airflow.configuration import conf
from airflow.models.dag import DagModel
from airflow.models.log import Log
from fastapi import HTTPException, Request, status
from headrace.pages.errors import PageMissing

from headrace_ui.origin import is_from_here

if TYPE_CHECKING:
    from headrace.lake.store import Store
    from headrace.pages.catalogue import Entry
    from headrace.quality.incident_store import Stream


def may_decide(user: Any, entry: Entry) -> bool:
    """Whether Airflow lets this person trigger the DAG that decides about the entry."""
    dag = entry.decision_dag
    return get_auth_manager().is_authorized_dag(
        method="POST",
        access_entity=DagAccessEntity.RUN,
        details=DagDetails(id=dag, team_name=DagModel.get_team_name(dag)),
        user=user,
    )


def check_origin(request: Request) -> None:
    """Raises 403 for what another site made a browser send."""
    from urllib.parse import urlsplit

    hosts = (request.headers.get("host", ""), urlsplit(conf.get("api", "base_url", fallback="")).netloc)
    if not is_from_here(request.headers, hosts):
        raise HTTPException(status.HTTP_403_FORBIDDEN, "This form was not sent from a page of Headrace.")


def take_on(lake: Store, entry: Entry, stream: Stream, number: int, *, who: str, remark: str) -> Log:
    """Record it in the incident; returns the line for Airflow's audit log.

    Raises:
        PageMissing: no open incident has that number (any more).
    """
    from headrace.quality.incident_store import change_incidents
    from headrace.quality.incidents import acknowledge
    from headrace.spec.canonical import instant_text

    step = partial(acknowledge, number=number, who=who, at=instant_text(datetime.now(UTC)), remark=remark)
    try:
        change_incidents(lake, entry.name, stream, step)
    except KeyError as error:
        raise PageMissing(
            f"{entry.name} incident #{number}",
            found="no open incident of that number",
            expected="one that is open",
            remedy="It may have closed meanwhile: look at the page again.",
        ) from error
    known = {"dataset": entry.name, "stream": stream, "incident": number, "remark": remark}
    return Log(
        event="headrace take on incident", owner=who, owner_display_name=who, dag_id=entry.decision_dag, extra=json.dumps(known)
    )
