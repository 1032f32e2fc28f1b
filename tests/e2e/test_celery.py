"""Production's topology as processes: who may do what, a worker killed in the middle, the night's maintenance, and no secret anywhere.

Each test stands alone: what it needs (a day written while a worker died, a night that found damage) is a fixture, made once for all.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email import message_from_bytes
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import psycopg2
import pytest
from headrace.lake import layout
from headrace.lake.local import LocalStore
from headrace.lake.open import open_store
from headrace.lake.store import Store
from headrace.manifests.manifest import Manifest
from headrace.manifests.read import manifest_of, published
from headrace.manifests.run import RunIdentity
from headrace.quality.damage import looked
from headrace.quality.incident_store import change_incidents, read_incidents
from headrace.runs.stored import find_run, run_name
from headrace.runs.verified import read_looks
from headrace.shards.compact import plan_partition, publish_partition
from headrace.shards.group import write_groups
from headrace.shards.plan import batches
from headrace.spec.canonical import instant_text
from headrace.spec.load import load_declarations

from local import landing
from local.environment import BUCKET
from local.errors import ApiError
from local.places import REPOSITORY
from tests.conftest import house_folder
from tests.e2e.celery_house import KEPT_FROM_WORKERS, WORKERS, CeleryHouse
from tests.receivers import mail_receiver

pytestmark = [pytest.mark.servers, pytest.mark.timeout(900)]

DAY = "2013-01-01"
DAG = "flights.compact"
MAINTENANCE = "headrace.maintenance"
FINAL = {"success", "failed"}
REMARK = {"remark": "Asked the source."}
ROUTES = """
from headrace.spec.alerts import AlertRoute

MAIL = AlertRoute(name="mail", channel="smtp", connection="headrace_smtp", to=("ops@example.com",))
"""


@dataclass(frozen=True, kw_only=True)
class Works:
    """The house, its lake, its declarations and the mails people got."""

    house: CeleryHouse
    lake: Store
    declarations: Path
    mails: list[Any]

    def wait(self, done: Callable[[], bool], what: str, seconds: float = 400.0) -> None:
        deadline = time.monotonic() + seconds
        while not done():
            if time.monotonic() > deadline:
                pytest.fail(f"not within {seconds:.0f} s: {what}")
            self.house.pause(0.3)

    def trigger(self, dag: str, **body: Any) -> str:
        """The path of the new run."""
        made = self.house.api.post(f"dags/{dag}/dagRuns", {"logical_date": None, **body})
        return f"dags/{dag}/dagRuns/{made['dag_run_id']}"

    def state(self, run: str) -> str:
        return str(self.house.api.get(run)["state"])

    def tasks(self, run: str) -> list[dict[str, Any]]:
        return list(self.house.api.get(f"{run}/taskInstances")["task_instances"])

    def told(self, part: str) -> int:
        """How many mails hold these words."""
        return sum(part in text_of(mail.content) for mail in self.mails)


def text_of(content: bytes) -> str:
    """The HTML of a mail."""
    parts = [part for part in message_from_bytes(content).walk() if part.get_content_type() == "text/html"]
    return " ".join(body.decode() for part in parts if isinstance(body := part.get_payload(decode=True), bytes))


@pytest.fixture(scope="module")
def works(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Works]:
    """One day of flights landed, nothing run yet."""
    folder = tmp_path_factory.mktemp("declarations")
    (folder / "flights.py").write_text((REPOSITORY / "include" / "datasets" / "flights.py").read_text())
    (folder / "routes.py").write_text(ROUTES)
    with pytest.MonkeyPatch.context() as patch, mail_receiver() as (port, mails), house_folder() as home:
        extra = {"from_email": "headrace@example.com", "disable_ssl": True, "disable_tls": True}
        mail = {"conn_type": "smtp", "host": "127.0.0.1", "port": port, "extra": extra}
        patch.setenv("AIRFLOW_CONN_HEADRACE_SMTP", json.dumps(mail))
        with CeleryHouse(home, declarations=folder) as house:
            for name, value in house.environment.items():
                if name.startswith("AWS_"):
                    patch.setenv(name, value)
            table = landing.flights_table(landing.flights_file())
            landing.land(house.s3, BUCKET, "landing", landing.source_objects(table, landing.asked_days(landing.FIRST_DAY, 1)))
            found = Works(house=house, lake=open_store(house.environment["HEADRACE_LAKE"]), declarations=folder, mails=mails)
            found.wait(lambda: has_dags(found), "the DAGs")
            yield found


def has_dags(works: Works) -> bool:
    return {DAG, MAINTENANCE, "flight_delay.approve"} <= {dag["dag_id"] for dag in works.house.api.all("dags", "dags")}


def undisturbed(works: Works, folder: Path) -> Manifest:
    """The same day, written in this process."""
    dataset = next(one for one in load_declarations(works.declarations).datasets if one.name == "flights")
    source, lake = open_store(works.house.environment["HEADRACE_SOURCE"]), LocalStore(folder)
    plan = plan_partition(dataset, DAY, source=source, lake=lake)
    for batch in batches(plan):
        write_groups(dataset, plan, batch, source=source, lake=lake)
    identity = RunIdentity(dag=DAG, run_id="here", kind="manual", partition_key=DAY)
    return publish_partition(dataset, plan, identity, lake=lake).manifest


def worker_of(works: Works, run: str, task: str) -> str | None:
    """The worker that runs a task now: a worker leads the session of all that it starts."""
    pids = [one["pid"] for one in works.tasks(run) if one["task_id"] == task and one["state"] == "running" and one["pid"]]
    sessions = {works.house.pid(worker): worker for worker in WORKERS}
    for pid in pids:
        try:
            return sessions[os.getsid(pid)]
        except (ProcessLookupError, KeyError):
            continue
    return None


@dataclass(frozen=True, kw_only=True)
class Struck:
    """The path of a run that ended although a worker was killed while it wrote, and which worker."""

    run: str
    worker: str


@pytest.fixture(scope="module")
def struck(works: Works) -> Struck:
    """SIGKILL for one of two workers while it writes the day; the other goes on until the run's end; the first is started again."""
    run = works.trigger(DAG, partition_key=DAY)
    killed: list[str] = []

    def is_struck() -> bool:
        killed.extend(filter(None, [worker_of(works, run, "write")]))
        return len(killed) > 0

    works.wait(is_struck, "a worker that writes")
    works.house.kill(killed[0])
    works.wait(lambda: works.state(run) in FINAL, "the run after its worker was killed")
    works.house.start(killed[0])
    return Struck(run=run, worker=killed[0])


def test_a_killed_worker_loses_nothing_and_is_called_what_it_was(works: Works, struck: Struck, tmp_path: Path) -> None:
    """The other worker finished, the shards are the same, and the report names the lost try."""
    assert works.state(struck.run) == "success"
    assert {one["task_id"]: one["try_number"] for one in works.tasks(struck.run)} == {"plan": 1, "write": 2, "publish": 1}
    report = find_run(works.lake, "flights", DAY, run_name(DAG, struck.run.rpartition("/")[2]))
    assert report is not None
    assert report.lost_tries == ["write[0] try 1"]
    assert report.samples == 842
    made = manifest_of(works.lake, published(works.lake, "flights"), DAY)
    assert made.shards == undisturbed(works, tmp_path).shards
    # The lost try's log died with its worker; the others' are where every api-server finds them.
    log = works.house.api.get(f"{struck.run}/taskInstances/write/logs/2", map_index=0)["content"]
    assert any("written and read back" in str(line) for line in log)


@pytest.mark.usefixtures("struck")
def test_workers_share_no_folder_and_hold_no_key(works: Works) -> None:
    """Each has a home of its own, with the logs of its tries; what it was given lets nobody reach the database or sign anything."""
    hidden = secrets(works)
    for worker in WORKERS:
        given = works.house.environment_of(worker)
        assert [name for name in KEPT_FROM_WORKERS if name in given] == []
        held = {name for name, value in hidden.items() if any(value.decode() in text for text in given.values())}
        assert held == {"redis"}  # keys of the store stand in AWS's own file
    logs = [set(works.house.home_of(worker).rglob("attempt=*.log")) for worker in WORKERS]
    assert all(len(found) > 0 for found in logs)


def asked(works: Works, address: str, token: str | None, form: dict[str, str] | None = None) -> int:
    """The status of one of our pages, or of one that is sent a form."""
    connection = http.client.HTTPConnection("127.0.0.1", works.house.ports.ui, timeout=60)
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    if form is None:
        connection.request("GET", f"/headrace{address}", headers=headers)
    else:
        typed = {**headers, "Content-Type": "application/x-www-form-urlencoded"}
        connection.request("POST", f"/headrace{address}", body=urlencode(form), headers=typed)
    with closing(connection):
        return connection.getresponse().status


def test_no_page_without_a_login(works: Works) -> None:
    """Every route of the pages, over the wire, with nobody logged in and with a token that nobody signed."""
    text = (REPOSITORY / "plugins" / "headrace_ui" / "app.py").read_text()
    found = re.findall(r'@app\.(get|post)\("([^"]*)"', text)
    routes = [(re.sub(r"\{[a-z]+\}", "x", path), None if method == "get" else REMARK) for method, path in found]

    assert len(routes) == text.count("@app.") - text.count("@app.exception_handler") > 10
    assert {asked(works, route, None, form) for route, form in routes} == {401}
    assert {asked(works, route, "not.a.token", form) for route, form in routes} <= {401, 403}


def test_who_may_trigger_takes_an_incident_on_and_a_viewer_may_not(works: Works) -> None:
    """FAB decides: nobody 401, a Viewer 403, a User takes it on under that name."""
    now = instant_text(datetime.now(UTC))
    change_incidents(works.lake, "carrier_delays", "monitor", lambda state: looked(state, broken={"y": "Cut."}, right=[], at=now))
    number = read_incidents(works.lake, "carrier_delays", "monitor").open[0].number
    address = f"/incidents/carrier_delays/monitor/{number}"

    assert asked(works, address, None, REMARK) == 401
    assert asked(works, address, works.house.as_person("viewer")._new_token(), REMARK) == 403
    assert read_incidents(works.lake, "carrier_delays", "monitor").open[0].acknowledged_by is None
    assert asked(works, address, works.house.as_person("user")._new_token(), REMARK) == 303
    (taken,) = read_incidents(works.lake, "carrier_delays", "monitor").open
    assert (taken.acknowledged_by, taken.remark) == ("user", REMARK["remark"])


def test_a_viewer_looks_and_changes_nothing(works: Works, struck: Struck) -> None:
    """FAB's Viewer reads pages; promoting, approving, removing garbage, backfilling and clearing are refused, and nothing comes of it."""
    viewer = works.house.as_person("viewer")
    before = {
        dag: len(works.house.api.all(f"dags/{dag}/dagRuns", "dag_runs")) for dag in (DAG, MAINTENANCE, "flight_delay.approve")
    }
    days = {"from_date": f"{DAY}T00:00:00Z", "to_date": f"{DAY}T00:00:00Z"}
    wanted: list[tuple[str, dict[str, Any]]] = [
        (f"dags/{DAG}/dagRuns", {"logical_date": None, "partition_key": DAY}),
        ("dags/flight_delay.approve/dagRuns", {"logical_date": None, "conf": {"day": DAY, "why": "Because I would like to."}}),
        (f"dags/{MAINTENANCE}/dagRuns", {"logical_date": None, "conf": {"delete": True}}),
        ("backfills", {"dag_id": DAG, "reprocess_behavior": "completed", **days}),
        (f"{struck.run}/clear", {"dry_run": False}),
    ]

    assert asked(works, "/datasets", viewer._new_token()) == 200
    for path, body in wanted:
        with pytest.raises(ApiError, match="found 403"):
            viewer.post(path, body)
    assert {dag: len(works.house.api.all(f"dags/{dag}/dagRuns", "dag_runs")) for dag in before} == before
    # What a User may do: the same request, not yet carried out.
    cleared = works.house.as_person("user").post(f"{struck.run}/clear", {"dry_run": True})
    assert {one["task_id"] for one in cleared["task_instances"]} == {"plan", "write", "publish"}


@pytest.mark.parametrize(
    "address",
    [
        "/datasets/..%2f..%2fetc%2fpasswd",
        "/datasets/%2e%2e%2f%2e%2e%2fkeys.json",
        "/datasets/flights%00",
        "/quality/flights/2013-01-01/..%2f..%2f..%2fLATEST",
        "/releases/flights/1/%2fetc%2fpasswd",
        "/runs/flights/../" + "0" * 16,
        "/sample?dataset=../landing&sample_id=" + "0" * 32,
        "/of-dag?dag=../flights.compact",
    ],
)
def test_an_address_cannot_reach_outside_the_lake(works: Works, address: str) -> None:
    """Refused by the running server, logged in as the administrator: nothing of it becomes a key."""
    connection = http.client.HTTPConnection("127.0.0.1", works.house.ports.ui, timeout=60)
    connection.request("GET", f"/headrace{address}", headers={"Authorization": f"Bearer {works.house.api._new_token()}"})
    with closing(connection):
        answer = connection.getresponse()
        body = answer.read().decode()

    assert answer.status in {307, 400, 404}
    assert "root:" not in body
    assert works.house.keys.s3_secret_key not in body


@pytest.mark.usefixtures("struck")
def test_a_sample_id_is_looked_up_and_never_a_key(works: Works) -> None:
    """A path in its place is a sample that there is not; the page shows what was typed, and nothing of any object."""
    connection = http.client.HTTPConnection("127.0.0.1", works.house.ports.ui, timeout=60)
    address = "/headrace/sample?dataset=flights&sample_id=../../flights/LATEST"
    connection.request("GET", address, headers={"Authorization": f"Bearer {works.house.api._new_token()}"})
    with closing(connection):
        body = connection.getresponse().read()
    pointer = works.lake.get(layout.pointer("flights")).data

    assert b"../../flights/LATEST" in body or b"..&#x2F;" in body
    assert json.loads(pointer)["digest"].encode() not in body


@dataclass(frozen=True, kw_only=True)
class Night:
    """The path of a maintenance run, the shard it found damaged and that shard's right bytes."""

    run: str
    digest: str
    good: bytes

    @property
    def key(self) -> str:
        return "lake/" + layout.shard("flights", self.digest)


@pytest.fixture(scope="module")
def night(works: Works, struck: Struck) -> Night:
    """One bit of a shard flipped, an incident that lay there for days, an old row in Airflow's database; then everything is verified."""
    digest = manifest_of(works.lake, published(works.lake, "flights"), DAY).shards[0].sha256
    good = bytes(works.lake.get(layout.shard("flights", digest)).data)
    made = Night(run="", digest=digest, good=good)
    works.house.s3.put_object(Bucket=BUCKET, Key=made.key, Body=good[:1000] + bytes([good[1000] ^ 1]) + good[1001:])
    old = instant_text(datetime.now(UTC) - timedelta(days=3))
    change_incidents(works.lake, "carrier_delays", "gate", lambda state: looked(state, broken={"x": "Cut."}, right=[], at=old))
    age_a_row(works)
    run = works.trigger(MAINTENANCE, conf={"nights": 1})
    works.wait(lambda: works.state(run) in FINAL, "the night")
    return replace(made, run=run)


def test_a_night_finds_a_flipped_bit_and_the_next_its_repair(works: Works, night: Night) -> None:
    """The damaged dataset's task fails once, by name, and the run; the rest goes on; one mail when it is found, one when it is over."""
    assert works.state(night.run) == "failed"
    done = {(one["task_id"], one["rendered_map_index"]): (one["state"], one["try_number"]) for one in works.tasks(night.run)}
    sets = ("carrier_delays", "flight_delay", "flights")
    assert done == {
        **{("verify", name): ("failed" if name == "flights" else "success", 1) for name in sets},
        **{("collect", name): ("success", 1) for name in sets},
        ("remind", None): ("success", 1),
        ("clean_metadata", None): ("success", 1),
    }
    assert [(one.check, one.feature) for one in read_incidents(works.lake, "flights", "lake").open] == [("damaged", DAY)]
    assert night.digest in read_incidents(works.lake, "flights", "lake").open[0].reason
    assert night.digest in str(read_looks(works.lake, "flights")[DAY].wrong)
    assert works.told(f"[critical] flights: stored bytes are damaged in 1 of 2 verified: {DAY}") == 1
    assert works.told("[critical] 1 incident is open for more than a day, and with nobody") == 1
    assert aged_rows(works) == 0

    works.house.s3.put_object(Bucket=BUCKET, Key=night.key, Body=night.good)
    again = works.trigger(MAINTENANCE, conf={"nights": 366, "delete": True})
    works.wait(lambda: works.state(again) in FINAL, "the next night")

    assert works.state(again) == "success"
    assert read_incidents(works.lake, "flights", "lake").open == ()
    assert works.told(f"every byte of {DAY} is right again") == 1
    assert read_looks(works.lake, "flights")[DAY].wrong is None
    assert works.lake.get(layout.shard("flights", night.digest)).data == night.good


def age_a_row(works: Works) -> None:
    """A row of Airflow's audit log, a year old."""
    with closing(database(works)) as connection, connection, connection.cursor() as cursor:
        cursor.execute("INSERT INTO log (dttm, event) VALUES (now() - interval '365 days', 'headrace_aged')")


def aged_rows(works: Works) -> int:
    with closing(database(works)) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM log WHERE event = 'headrace_aged'")
        return int(cursor.fetchone()[0])


def database(works: Works) -> Any:
    return psycopg2.connect(host=str(works.house.places.sockets), user="postgres", dbname="airflow")


def secrets(works: Works) -> dict[str, bytes]:
    """Everything this house keeps to itself, by name."""
    found = {**vars(works.house.keys), "redis": works.house.redis_password, **works.house.passwords}
    assert len(found) == 9
    return {name: str(value).encode() for name, value in found.items()}


@pytest.mark.usefixtures("struck", "night")
def test_no_secret_is_in_a_log_or_in_the_store(works: Works) -> None:
    """Every log of every program and worker, and every object of the bucket: lake, landing and task logs."""
    places, hidden = works.house.places, secrets(works)
    folders = (places.logs, places.airflow / "logs", *(works.house.home_of(worker) / "logs" for worker in WORKERS))
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    listed = works.house.s3.get_paginator("list_objects_v2").paginate(Bucket=BUCKET)
    keys = [item["Key"] for page in listed for item in page.get("Contents", [])]

    assert len(files) > 15
    assert len([key for key in keys if key.startswith("logs/")]) > 5
    bodies = [(str(path), path.read_bytes()) for path in files]
    bodies += [(key, works.house.s3.get_object(Bucket=BUCKET, Key=key)["Body"].read()) for key in keys]
    assert [f"{name} in {where}" for where, body in bodies for name, value in hidden.items() if value in body] == []


@pytest.mark.usefixtures("struck", "night")
def test_no_secret_is_in_what_airflow_shows(works: Works) -> None:
    """Runs, tasks with their rendered templates, and XComs, as the API gives them to an administrator."""
    api, shown = works.house.api, []
    for dag in (DAG, MAINTENANCE):
        for run in api.all(f"dags/{dag}/dagRuns", "dag_runs"):
            path = f"dags/{dag}/dagRuns/{run['dag_run_id']}"
            shown.append(repr(run).encode())
            for task in works.tasks(path):
                shown.append(repr(task).encode())
                base = f"{path}/taskInstances/{task['task_id']}/xcomEntries"
                for entry in api.get(base, map_index=task["map_index"])["xcom_entries"]:
                    shown.append(repr(api.get(f"{base}/{entry['key']}", map_index=task["map_index"])).encode())

    assert len(shown) > 15
    assert [name for text in shown for name, value in secrets(works).items() if value in text] == []
