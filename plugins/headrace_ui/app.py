"""Headrace's pages inside Airflow's UI: their addresses and what is refused. What the pages say is built in `headrace.pages`.

Airflow does not guard plugin apps, so every route asks for Airflow's own session itself, and shows only what belongs to DAGs the person may
read (`visit.py`). Pages read the lake; the one thing they change is who takes an incident on (`incidents.py`). This module loads with
the first request, in the server alone (see `headrace_pages.py`).
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from airflow.api_fastapi.common.db.common import SessionDep
from airflow.api_fastapi.core_api.security import GetUserDep, get_user
from fastapi import Depends, FastAPI, Form, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse
from headrace.errors import HeadraceError
from headrace.pages.errors import PageMissing
from headrace.pages.html import tag
from headrace.pages.incidents import LONGEST_REMARK, SHORTEST_REMARK
from headrace.pages.page import out, page, policy, problem
from headrace.quality.incident_store import Stream
from starlette.exceptions import HTTPException

from headrace_ui import incidents
from headrace_ui.visit import Visiting, links_of, source

app = FastAPI(title="Headrace", docs_url=None, redoc_url=None, openapi_url=None)

Name = Annotated[str, Path(pattern=r"^[a-z][a-z0-9_]{0,62}$")]
Partition = Annotated[str, Path(pattern=r"^(all|\d{4}-\d{2}|\d{4}-\d{2}-\d{2}(\.[a-z]+\.\d{8}T\d{6}Z)?)$")]
Digest = Annotated[str, Path(pattern=r"^[0-9a-f]{64}$")]
Number = Annotated[int, Path(ge=1, le=99_999_999)]
Remark = Annotated[str, Form(min_length=SHORTEST_REMARK, max_length=LONGEST_REMARK)]
RunName = Annotated[str, Path(pattern=r"^[0-9a-f]{16}$")]


def answer(body: bytes, status: int = 200) -> Response:
    """A page as it is sent: nothing is loaded, framed elsewhere or kept by a proxy."""
    headers = {
        "Content-Security-Policy": policy(),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "same-origin",
        "Cache-Control": "private, no-store",
    }
    return Response(body, status_code=status, media_type="text/html; charset=utf-8", headers=headers)


@app.get("/")
def index(request: Request, _: GetUserDep) -> RedirectResponse:
    return RedirectResponse(links_of(request).datasets())


@app.get("/datasets")
def datasets(visit: Visiting) -> Response:
    from headrace.pages.datasets import datasets_page

    return answer(datasets_page(visit.catalogue, visit.reads, visit.links))


@app.get("/datasets/{name}")
def dataset(name: Name, visit: Visiting) -> Response:
    from headrace.pages.dataset import dataset_page

    return answer(dataset_page(visit.catalogue.entry(name), visit.reads, visit.links, visit.may_take_on))


@app.get("/releases/{name}/{number}")
def release(name: Name, number: Number, visit: Visiting) -> Response:
    from headrace.pages.release import release_page

    return answer(release_page(visit.catalogue.entry(name), number, visit.reads, visit.links))


@app.get("/releases/{name}/{number}/{partition}")
def release_partition(name: Name, number: Number, partition: Partition, visit: Visiting) -> Response:
    from headrace.pages.partition import partition_page

    return answer(partition_page(visit.catalogue.entry(name), number, partition, visit.reads, visit.links))


@app.get("/snapshots")
def snapshots(visit: Visiting) -> Response:
    from headrace.pages.snapshots import snapshots_page

    return answer(snapshots_page(visit.catalogue, visit.reads, visit.links))


@app.get("/snapshots/{name}")
def view(name: Name, visit: Visiting) -> Response:
    from headrace.pages.snapshots import view_page

    entry = visit.catalogue.entry(name)
    if entry.kind != "view":
        raise PageMissing(name, found=f"a {entry.kind}", expected="a feature view", remedy="See Datasets.")
    return answer(view_page(entry, visit.reads, visit.links))


@app.get("/quality")
def quality(visit: Visiting) -> Response:
    from headrace.pages.quality import quality_page

    return answer(quality_page(visit.catalogue, visit.reads, visit.links, visit.may_take_on))


@app.get("/quality/{name}")
def verdicts(name: Name, visit: Visiting) -> Response:
    from headrace.pages.quality import verdicts_page

    return answer(verdicts_page(visit.catalogue.entry(name), visit.reads, visit.links, visit.may_take_on))


@app.get("/quality/{name}/{partition}/{digest}")
def report(name: Name, partition: Partition, digest: Digest, visit: Visiting) -> Response:
    from headrace.pages.quality import stored_report

    return answer(stored_report(visit.catalogue.entry(name), partition, digest, visit.reads))


@app.get("/quality/{name}/live/{partition}/{digest}")
def live_report(name: Name, partition: Partition, digest: Digest, visit: Visiting) -> Response:
    from headrace.pages.quality import stored_report

    return answer(stored_report(visit.catalogue.entry(name), partition, digest, visit.reads, live=True))


@app.post("/incidents/{name}/{stream}/{number}", dependencies=[Depends(get_user), Depends(incidents.check_origin)])
def take_on(
    *, name: Name, stream: Stream, number: Number, remark: Remark, visit: Visiting, session: SessionDep
) -> RedirectResponse:
    """Take an incident on, and go back to where it is shown."""
    entry = visit.catalogue.entry(name)
    if not visit.may_take_on(entry):
        raise HTTPException(403, f"Who may trigger {entry.decision_dag} may take this on.")
    session.add(incidents.take_on(visit.reads.lake, entry, stream, number, who=visit.user.get_name(), remark=remark))
    back = visit.links.dataset(name) if stream == "lake" else visit.links.quality(name)
    return RedirectResponse(f"{back}#{stream}-{number}", status_code=303)


@app.get("/runs")
def runs(visit: Visiting) -> Response:
    from headrace.pages.runs import runs_page

    return answer(runs_page(visit.catalogue, visit.site))


@app.get("/runs/{name}")
def runs_of(name: Name, visit: Visiting) -> Response:
    from headrace.pages.runs import entry_runs_page

    return answer(entry_runs_page(visit.catalogue.entry(name), visit.site))


@app.get("/runs/{name}/{partition}/{run}")
def run(name: Name, partition: Partition, run: RunName, visit: Visiting) -> Response:
    from headrace.pages.run import run_page

    return answer(run_page(visit.catalogue.entry(name), partition, run, visit.site))


@app.get("/sample")
def sample(
    visit: Visiting,
    dataset: Annotated[str | None, Query(max_length=63)] = None,
    sample_id: Annotated[str | None, Query(max_length=200)] = None,
) -> Response:
    from headrace.pages.sample import sample_page
    from headrace.transforms.replay.compared import compare_sample

    compare = partial(compare_sample, declared=visit.declared, lake=visit.reads.lake, source=source())
    return answer(sample_page(visit.catalogue, dataset, sample_id, visit.reads, visit.links, compare))


@app.get("/of-run")
def of_run(
    visit: Visiting, session: SessionDep, dag: Annotated[str, Query(max_length=250)], run: Annotated[str, Query(max_length=250)]
) -> Response:
    """What the tab of an Airflow run or task shows."""
    from airflow.models.dagrun import DagRun
    from headrace.pages.run import run_of_airflow_page
    from sqlalchemy import select

    entry = visit.catalogue.of_dag(dag)
    found = session.scalar(select(DagRun).where(DagRun.dag_id == dag, DagRun.run_id == run))
    if found is None:
        raise PageMissing(f"{dag} {run}", found="no such run", expected="a run of this DAG", remedy="See the DAG's runs.")
    return answer(run_of_airflow_page(entry, found.partition_key, dag, run, visit.site))


@app.get("/of-dag")
def of_dag(visit: Visiting, dag: Annotated[str, Query(max_length=250)]) -> Response:
    """What the tab of a DAG shows."""
    from headrace.pages.dataset import dataset_page

    return answer(dataset_page(visit.catalogue.of_dag(dag), visit.reads, visit.links, visit.may_take_on))


@app.exception_handler(HTTPException)
async def refused(request: Request, error: Any) -> Response:
    """Nobody is logged in, the login does not reach this far, or there is no such address."""
    links = links_of(request)
    titles = {401: "Log in to Airflow first", 403: "Not for this login", 404: "No such address"}
    title = titles.get(error.status_code, "Not possible")
    why = tag("p", error.detail) if error.status_code == 403 else None
    body = problem(title, why, out("To Airflow", links.airflow or "/"))
    return answer(page(title, body, here="", links=links), error.status_code)


@app.exception_handler(RequestValidationError)
async def mistyped(request: Request, error: Any) -> Response:
    """An address that no page of ours has: nothing of it reaches the lake, nor is it repeated. Or a form with too little in it."""
    if {one["loc"][0] for one in error.errors()} == {"body"}:
        body = problem(
            "Say a little more", f"A remark has {SHORTEST_REMARK} to {LONGEST_REMARK} characters; go back and write one."
        )
        return answer(page("Say a little more", body, here="", links=links_of(request)), 422)
    body = problem("No such address", "Names, days, digests and numbers have fixed forms; follow a link of a page.")
    return answer(page("No such address", body, here="", links=links_of(request)), 404)


@app.exception_handler(HeadraceError)
async def troubled(request: Request, error: Any) -> Response:
    """One of ours: it says what was found, what was expected and what to do."""
    missing = isinstance(error, PageMissing)
    title = "Nothing here" if missing else "This page cannot be shown"
    return answer(page(title, problem(title, str(error)), here="", links=links_of(request)), 404 if missing else 503)
