"""Headrace in Airflow's UI: five pages in the navigation, and a tab on DAGs, runs and tasks.

Airflow runs every file of this folder in every component, each task's process included, so the pages' web application stands in
`headrace_ui/` and loads with the first request to it.
"""

from __future__ import annotations

from typing import Any

from airflow.plugins_manager import AirflowPlugin

ROOT = "/headrace"


async def pages(scope: Any, receive: Any, send: Any) -> None:
    """The ASGI application, imported when somebody asks for a page."""
    from headrace_ui.app import app

    await app(scope, receive, send)


def view_of(name: str, href: str, destination: str, route: str, **more: str) -> dict[str, str]:
    """One place where the UI shows a page. Airflow fills in the names in braces."""
    return {"name": name, "href": f"{ROOT}/{href}", "destination": destination, "url_route": route, **more}


class HeadracePagesPlugin(AirflowPlugin):
    """Where the pages are shown."""

    name = "headrace_pages"
    fastapi_apps = [{"app": pages, "url_prefix": ROOT, "name": "Headrace"}]  # noqa: RUF012 - as Airflow declares it
    external_views = [  # noqa: RUF012 - as Airflow declares it
        view_of("Datasets", "datasets", "nav", "headrace-datasets", category="Headrace"),
        view_of("Snapshots", "snapshots", "nav", "headrace-snapshots", category="Headrace"),
        view_of("Quality", "quality", "nav", "headrace-quality", category="Headrace"),
        view_of("Runs", "runs", "nav", "headrace-runs", category="Headrace"),
        view_of("Sample", "sample", "nav", "headrace-sample", category="Headrace"),
        view_of("Dataset", "of-dag?dag={DAG_ID}", "dag", "headrace-dag"),
        view_of("Report", "of-run?dag={DAG_ID}&run={RUN_ID}", "dag_run", "headrace-run"),
        view_of("Report", "of-run?dag={DAG_ID}&run={RUN_ID}", "task_instance", "headrace-task"),
    ]
