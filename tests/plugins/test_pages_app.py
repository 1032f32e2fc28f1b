"""The pages' web application: who is let in, what an address may hold, what an answer carries."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.dags.conftest import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "plugins"))

pytest.importorskip("airflow")
PATHS = {
    "name": "flights",
    "number": "1",
    "partition": "2013-01-01",
    "digest": "0" * 64,
    "run": "0" * 16,
}


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
    app.reads.cache_clear()
    return TestClient(app.app, root_path="/headrace", follow_redirects=False)


@pytest.fixture
def logged_in(app: Any, client: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A person who may read the flights' DAG and no other."""
    from airflow.api_fastapi.core_api.security import get_user

    manager = SimpleNamespace(get_authorized_dag_ids=lambda user: {"flights.compact"})
    monkeypatch.setattr(app, "get_auth_manager", lambda: manager)
    app.app.dependency_overrides[get_user] = lambda: "somebody"
    yield client
    app.app.dependency_overrides.clear()


def addresses(app: Any) -> list[str]:
    return [route.path.format(**PATHS) for route in app.app.routes]


def test_no_page_without_a_login(app: Any, client: Any) -> None:
    """Every route there is, each asked without a session: 401, and nothing but where to log in."""
    assert len(addresses(app)) == 17
    for address in addresses(app):
        answer = client.get(address, params={"dag": "flights.compact", "run": "x"})
        assert answer.status_code == 401, address
        assert "Log in to Airflow first" in answer.text
        assert "flights" not in answer.text


def test_pages_only_answer_reads(app: Any, logged_in: Any) -> None:
    """There is nothing to post to."""
    assert {method for route in app.app.routes for method in route.methods} == {"GET"}
    assert logged_in.post("/datasets").status_code == 405


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
