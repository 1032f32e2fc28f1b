"""The pages' web application: who is let in, what an address may hold, what an answer carries."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from headrace.lake.local import LocalStore
from headrace.quality.damage import looked
from headrace.quality.incident_store import change_incidents, read_incidents

from tests.dags.conftest import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "plugins"))

pytest.importorskip("airflow")
PATHS = {
    "name": "flights",
    "number": "1",
    "partition": "2013-01-01",
    "digest": "0" * 64,
    "run": "0" * 16,
    "stream": "gate",
}
HERE = {"Origin": "http://testserver", "Sec-Fetch-Site": "same-origin"}
WHY = {"remark": "Asked the source."}
INCIDENT = "/incidents/flights/lake/1"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The application, as the api-server loads it with the first request."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AIRFLOW_HOME", str(tmp_path_factory.mktemp("airflow")))
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Airflow's and its providers' own imports warn
            from headrace_ui import app as module
        yield module


@pytest.fixture
def client(app: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A client of an empty lake; nobody is logged in."""
    from starlette.testclient import TestClient

    monkeypatch.setenv("HEADRACE_LAKE", f"file://{tmp_path}/lake")
    monkeypatch.setenv("HEADRACE_DECLARATIONS", str(REPOSITORY / "include" / "datasets"))
    from headrace_ui import visit

    visit.reads.cache_clear()
    return TestClient(app.app, root_path="/headrace", follow_redirects=False)


@pytest.fixture
def may() -> set[str]:
    """The DAGs this person may trigger."""
    return set()


@pytest.fixture
def audit() -> list[Any]:
    """What was added to Airflow's database."""
    return []


@pytest.fixture
def logged_in(app: Any, client: Any, may: set[str], audit: list[Any], monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A person who may read the flights' DAG and no other."""
    from airflow.api_fastapi.common.db.common import _get_session
    from airflow.api_fastapi.core_api.security import get_user
    from airflow.models.dag import DagModel

    manager = SimpleNamespace(
        get_authorized_dag_ids=lambda user: {"flights.compact"},
        is_authorized_dag=lambda method, access_entity, details, user: (
            (method, access_entity.value) == ("POST", "RUN") and details.id in may
        ),
    )
    from headrace_ui import visit

    for module in (visit, app.incidents):
        monkeypatch.setattr(module, "get_auth_manager", lambda: manager)
    monkeypatch.setattr(DagModel, "get_team_name", lambda dag: None)
    app.app.dependency_overrides[get_user] = lambda: SimpleNamespace(get_name=lambda: "ada")
    app.app.dependency_overrides[_get_session] = lambda: SimpleNamespace(add=audit.append)
    yield client
    app.app.dependency_overrides.clear()


@pytest.fixture
def damaged(tmp_path: Path) -> LocalStore:
    """The lake of the client, with one incident."""
    lake = LocalStore(tmp_path / "lake")
    step = partial(looked, broken={"2013-01-01": "Cut off."}, right=(), at="2026-01-01T00:00:00.000000Z")
    change_incidents(lake, "flights", "lake", step)
    return lake


def addresses(app: Any) -> list[tuple[str, str]]:
    return [(method, route.path.format(**PATHS)) for route in app.app.routes for method in route.methods]


def test_no_page_without_a_login(app: Any, client: Any) -> None:
    """Every route there is, each asked without a session: 401, and nothing but where to log in."""
    assert len(addresses(app)) == 18
    for method, address in addresses(app):
        answer = client.request(method, address, params={"dag": "flights.compact", "run": "x"}, headers=HERE)
        assert answer.status_code == 401, address
        assert "Log in to Airflow first" in answer.text
        assert "flights" not in answer.text


def test_pages_answer_reads_and_one_form(app: Any, logged_in: Any) -> None:
    """There is nothing else to post to."""
    posts = [address for method, address in addresses(app) if method != "GET"]
    assert posts == ["/incidents/flights/gate/1"]
    assert logged_in.post("/datasets").status_code == 405


def test_who_may_trigger_takes_an_incident_on(logged_in: Any, may: set[str], damaged: LocalStore, audit: list[Any]) -> None:
    """Back to where it is shown; name, time and remark in the incident; a line in Airflow's audit log."""
    may.add("flights.compact")
    answer = logged_in.post(INCIDENT, data=WHY, headers=HERE)

    assert (answer.status_code, answer.headers["Location"]) == (303, "/headrace/datasets/flights#lake-1")
    (one,) = read_incidents(damaged, "flights", "lake").open
    assert (one.acknowledged_by, one.remark) == ("ada", "Asked the source.")
    assert one.acknowledged_at is not None
    assert [(line.event, line.owner, line.dag_id) for line in audit] == [("headrace take on incident", "ada", "flights.compact")]


def test_who_may_only_look_takes_nothing_on(logged_in: Any, damaged: LocalStore, audit: list[Any]) -> None:
    """403 that says who may; nothing is changed."""
    answer = logged_in.post(INCIDENT, data=WHY, headers=HERE)

    assert answer.status_code == 403
    assert "Who may trigger flights.compact may take this on." in answer.text
    assert read_incidents(damaged, "flights", "lake").open[0].acknowledged_by is None
    assert audit == []


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"Sec-Fetch-Site": "cross-site", "Origin": "http://testserver"}, 403),
        ({"Sec-Fetch-Site": "same-site", "Origin": "http://other.testserver"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({}, 403),
        ({"Origin": "http://testserver"}, 303),
        ({"Authorization": "Bearer x"}, 303),
    ],
)
def test_no_other_site_can_send_the_form(
    logged_in: Any, may: set[str], damaged: LocalStore, headers: dict[str, str], expected: int
) -> None:
    """What a browser says of where a form comes from decides; a token in a header did not ride along."""
    may.add("flights.compact")

    assert logged_in.post(INCIDENT, data=WHY, headers=headers).status_code == expected
    taken = read_incidents(damaged, "flights", "lake").open[0].acknowledged_by is not None
    assert taken is (expected == 303)


@pytest.mark.parametrize(
    ("address", "form", "expected"),
    [
        (INCIDENT, {}, 422),
        (INCIDENT, {"remark": "x"}, 422),
        (INCIDENT, {"remark": "x" * 501}, 422),
        ("/incidents/flights/lake/2", WHY, 404),
        ("/incidents/flights/other/1", WHY, 404),
        ("/incidents/flight_delay/gate/1", WHY, 404),
    ],
)
def test_a_form_that_names_nothing_changes_nothing(
    logged_in: Any, may: set[str], damaged: LocalStore, *, address: str, form: dict[str, str], expected: int
) -> None:
    """Too little said, no open incident of that number, no such stream, a dataset this person may not see."""
    may |= {"flights.compact", "flight_delay.approve"}

    assert logged_in.post(address, data=form, headers=HERE).status_code == expected
    assert read_incidents(damaged, "flights", "lake").open[0].acknowledged_by is None


def test_a_person_sees_what_they_may_read(logged_in: Any) -> None:
    """The flights, and no word of what follows from them."""
    page = logged_in.get("/datasets")

    assert page.status_code == 200
    assert "flights.compact" in page.text
    assert "flight_delay" not in page.text
    assert logged_in.get("/datasets/flight_delay").status_code == 404
    assert logged_in.get("/sample", params={"dataset": "flight_delay", "sample_id": "0" * 32}).status_code == 404
    assert logged_in.get("/of-dag", params={"dag": "flight_delay.build"}).status_code == 404


def test_an_answer_lets_nothing_in_and_is_kept_by_nobody(logged_in: Any) -> None:
    """Policy, type and cache headers on pages and on refusals."""
    for address in ("/datasets", "/datasets/nothing", "/datasets/..%2f..%2fetc"):
        headers = logged_in.get(address).headers
        assert headers["Content-Security-Policy"].startswith("default-src 'none'")
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cache-Control"] == "private, no-store"


@pytest.mark.parametrize(
    "address",
    [
        "/datasets/..%2f..%2fetc%2fpasswd",
        "/datasets/%2e%2e",
        "/datasets/flights%00",
        "/releases/flights/0",
        "/releases/flights/-1",
        "/releases/flights/1e3",
        "/releases/flights/1/..%2f..%2fkeys",
        "/quality/flights/2013-01-01/..%2f..%2f..%2fkeys.json",
        "/quality/flights/2013-01-01/" + "0" * 63 + "g",
        "/runs/flights/2013-01-01/..%2f..%2fsecret",
        "/runs/flights/2013-01-01%0a/" + "0" * 16,
    ],
)
def test_an_address_cannot_reach_outside(logged_in: Any, address: str) -> None:
    """Names, days, digests and numbers have fixed forms; anything else is no address."""
    answer = logged_in.get(address)

    assert answer.status_code == 404
    assert "passwd" not in answer.text


def test_other_components_load_no_web_application(tmp_path: Path) -> None:
    """Airflow runs every plugin file in every process; ours load neither FastAPI nor anything heavy."""
    code = """
import sys
sys.path.insert(0, sys.argv[1])
before = set(sys.modules)
import airflow.plugins_manager
base = set(sys.modules)
import headrace_pages, headrace_recorder, headrace_waits
print("RESULT", sorted({name.split(".")[0] for name in set(sys.modules) - base}))
"""
    environment = {**os.environ, "AIRFLOW_HOME": str(tmp_path), "PYTHONPATH": f"{REPOSITORY}{os.pathsep}{REPOSITORY / 'include'}"}
    done = subprocess.run(
        [sys.executable, "-c", code, str(REPOSITORY / "plugins")], capture_output=True, text=True, env=environment, check=True
    )
    loaded = set(done.stdout.split("RESULT")[1].replace("[", "").replace("]", "").replace("'", "").replace(",", "").split())

    assert loaded & {"fastapi", "pyarrow", "numpy", "pandas", "boto3", "duckdb", "great_expectations", "headrace_ui"} == set()
