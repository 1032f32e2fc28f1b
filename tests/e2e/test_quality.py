"""The gate in a running house: four things that go wrong, one alert each, a page for each, and a block that a person lifts."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from email import message_from_bytes
from pathlib import Path
from typing import Any

import pytest
from headrace.lake import layout
from headrace.lake.open import open_store
from headrace.lake.store import Store
from headrace.manifests.read import latest, published
from headrace.quality.held import held_candidates
from headrace.quality.incident_store import read_incidents
from headrace.quality.stored import stored_verdict
from headrace.quality.verdict import Verdict
from headrace.spec.load import load_declarations

from local import landing
from local.daily import find_dags, idle_files
from local.environment import BUCKET
from local.errors import ApiError
from local.house import House
from local.places import REPOSITORY
from tests.conftest import house_folder
from tests.e2e.browser import browser_page, log_in
from tests.receivers import Inbox, dead_port, http_receiver, mail_receiver

pytestmark = [pytest.mark.servers, pytest.mark.timeout(1200)]

GOOD, BAD, LATER = "2013-01-01", "2013-01-02", ("2013-01-03", "2013-01-04")
MAIN = {"flight_delay": "drift.distance", "hasty": "maturity.label", "sampled": "prevalence.label", "narrow": "schema"}
SETS = tuple(MAIN)

SCENARIOS = """
from dataclasses import replace
from datetime import timedelta

from headrace.spec.quality import Maturity, Prevalence, PrevalenceReference, Sampling
from headrace_declarations.flights import FLIGHT_DELAY as _SET, LATE_ARRIVALS as _LABELS, QUALITY as _QUALITY

_REFERENCE = PrevalenceReference(positives=77_630, labelled=327_346)
# Joined after a day, final after ten.
_FINAL = Maturity(label="label", horizon=timedelta(days=10))
HASTY = replace(_SET, name="hasty", live=None, quality=replace(_QUALITY, checks=(*_QUALITY.checks[:2], _FINAL)))
# Every negative is there; one in four was declared.
SAMPLED = replace(
    _SET,
    name="sampled",
    live=None,
    owner="sampling-team",
    quality=replace(
        _QUALITY,
        sampling=Sampling(label="label", keep_negative=0.25),
        checks=(*_QUALITY.checks[:2], Prevalence(label="label", reference=_REFERENCE, max_odds_ratio=1.5)),
    ),
)
NARROW = replace(
    _SET, name="narrow", live=None, labels=replace(_LABELS, name="narrow_labels", rows="tests.e2e.scenario_rows:without_distance")
)
"""

ROUTES = """
from headrace.spec.alerts import AlertRoute

SLACK = AlertRoute(name="slack", channel="slack", connection="headrace_slack")
MAIL = AlertRoute(name="mail", channel="smtp", connection="headrace_smtp", at_least="critical", to=("ops@example.com",))
DEAD = AlertRoute(name="pager", channel="apprise", connection="headrace_pager", owners=("sampling-team",))
OFF = AlertRoute(name="off", channel="slack", connection="headrace_nobody_made_this")
"""


@dataclass(frozen=True, kw_only=True)
class Scene:
    """The house, its lake, and what people received."""

    house: House
    lake: Store
    slack: Inbox
    mails: list[Any]

    def wait(self, done: Callable[[], bool], what: str, seconds: float = 600.0) -> None:
        deadline = time.monotonic() + seconds
        while not done():
            if time.monotonic() > deadline:
                pytest.fail(f"not within {seconds:.0f} s: {what}")
            self.house.pause(1.0)

    def trigger(self, dag: str, key: str, **conf: object) -> str:
        body = {"logical_date": None, "partition_key": key, "conf": conf}
        return str(self.house.api.post(f"dags/{dag}/dagRuns", body)["dag_run_id"])

    def runs(self, dag: str, *keys: str) -> dict[str, str]:
        """State of the newest run by key."""
        rows = self.house.api.all(f"dags/{dag}/dagRuns", "dag_runs", order_by="id")
        return {row["partition_key"]: row["state"] for row in rows if row["partition_key"] in keys}

    def final(self, dag: str, *keys: str) -> bool:
        found = self.runs(dag, *keys)
        return set(found) == set(keys) and set(found.values()) <= {"success", "failed"}

    def texts(self, part: str = "") -> list[str]:
        """Slack messages that hold `part`, in the order they came."""
        found = [str(json.loads(body)["text"]) for body in self.slack.bodies]
        return [text for text in found if part in text]

    def verdict(self, name: str, key: str) -> Verdict:
        """The newest verdict of a day."""
        infos = [info for info in self.lake.list(f"{name}/verdicts/{key}/") if info.key.endswith(".json")]
        stored = stored_verdict(self.lake, max(infos, key=lambda info: info.modified).key)
        assert stored is not None
        return stored.verdict


def kilometres(content: bytes) -> bytes:
    """The distance in kilometres where it was in miles."""
    header, *rows = content.splitlines()
    at = header.split(b",").index(b"distance")
    cells = [row.split(b",") for row in rows]
    changed = [[*row[:at], str(round(int(row[at]) * 1.609)).encode(), *row[at + 1 :]] for row in cells]
    return b"\n".join([header, *(b",".join(row) for row in changed)]) + b"\n"


def source_objects() -> Iterator[landing.SourceObject]:
    """Four days, all but the first in kilometres."""
    days = [date(2013, 1, 1) + timedelta(days=n) for n in range(4)]
    for one in landing.source_objects(landing.flights_table(landing.flights_file()), days):
        yield one if "/2013/01/01/" in one.key else landing.SourceObject(key=one.key, content=kilometres(one.content))


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """The house with its receivers; the first two days run one by one, as a schedule or a person runs them."""
    folder = tmp_path_factory.mktemp("declarations")
    (folder / "flights.py").write_text((REPOSITORY / "include" / "datasets" / "flights.py").read_text())
    (folder / "scenarios.py").write_text(SCENARIOS)
    (folder / "routes.py").write_text(ROUTES)
    with (
        pytest.MonkeyPatch.context() as patch,
        http_receiver() as (url, slack),
        mail_receiver() as (port, mails),
        dead_port() as dead,
    ):
        mail = {"from_email": "headrace@example.com", "disable_ssl": True, "disable_tls": True}
        connections = {
            "SLACK": {"conn_type": "slackwebhook", "password": f"{url}/services/T/B/secret"},
            "SMTP": {"conn_type": "smtp", "host": "127.0.0.1", "port": port, "extra": mail},
            "PAGER": {"conn_type": "apprise", "extra": {"config": {"path": f"json://127.0.0.1:{dead}"}}},
        }
        for name, fields in connections.items():
            patch.setenv(f"AIRFLOW_CONN_HEADRACE_{name}", json.dumps(fields))
        patch.setenv("HEADRACE_SUMMARY_QUIET_SECONDS", "20")  # a busy scheduler takes seconds from a day's inputs to its run
        with house_folder() as home, House(home, declarations=folder) as house:
            for name, value in house.environment.items():
                if name.startswith("AWS_"):
                    patch.setenv(name, value)
            landing.land(house.s3, BUCKET, "landing", source_objects())
            idle = idle_files(load_declarations(folder))
            found = find_dags(house.api, REPOSITORY / "dags", house.parsing_since, house.pause, idle=idle)
            assert found.broken == {}
            scene = Scene(house=house, lake=open_store(house.environment["HEADRACE_LAKE"]), slack=slack, mails=mails)
            for key in (GOOD, BAD):
                scene.trigger("flights.compact", key)
                scene.trigger("carrier_delays.snapshot", key)
            for name in SETS:
                scene.wait(lambda name=name: scene.final(f"{name}.build", GOOD, BAD), f"{name} on two days")
            scene.trigger("flight_delay.monitor", BAD)  # watches while the first tests look
            yield scene


def failed(verdict: Verdict) -> list[str]:
    return [item.id for item in verdict.checks if item.effect == "failed"]


@pytest.mark.parametrize(
    ("name", "states", "checks"),
    [
        ("flight_delay", {GOOD: "success", BAD: "failed"}, ["drift.distance"]),
        ("hasty", {GOOD: "failed", BAD: "failed"}, ["maturity.label"]),
        ("sampled", {GOOD: "failed", BAD: "failed"}, ["prevalence.label"]),
        ("narrow", {GOOD: "failed", BAD: "failed"}, ["schema", "feature_code", "drift.distance"]),
    ],
)
def test_each_fault_has_its_verdict_and_is_held(scene: Scene, name: str, states: dict[str, str], checks: list[str]) -> None:
    """A shifted feature, labels too young, a wrong keep-rate, a vanished column: the right checks fail, nothing of it is released."""
    assert scene.runs(f"{name}.build", GOOD, BAD) == states
    assert failed(scene.verdict(name, BAD)) == checks
    found = latest(scene.lake, name)
    assert (set() if found is None else set(found.release.partitions)) == {
        key for key, state in states.items() if state == "success"
    }
    assert {item.partition for item in held_candidates(scene.lake, name)} == {
        k for k, state in states.items() if state == "failed"
    }


@pytest.mark.parametrize(("name", "check"), MAIN.items())
def test_each_fault_is_told_once(scene: Scene, name: str, check: str) -> None:
    """One message per training set though two days are bad, with the verdict, the page and the command that runs it again."""
    told = [text for text in scene.texts(f"[critical] {name} 2013-01-0") if f" {check} (critical)" in text]

    assert len(told) == 1
    day = told[0].split()[2].rstrip(":")
    for part in (
        ": Blocked: ",
        "Opened #1 ",
        f"Report: {scene.house.url}/headrace/quality/{name}/{day}/",
        f"Run: {scene.house.url}/dags/{name}.build/runs/",
        f"Run it again: airflow dags clear {name}.build --partition-key {day} --yes",
        f"Release it anyway: {scene.house.url}/dags/{name}.approve",
        "Runbook: docs/runbooks/",
    ):
        assert part in told[0]


def test_critical_failures_go_by_mail_too(scene: Scene) -> None:
    """The route for critical failures got the same four, once."""
    texts = [unquoted(mail.content) for mail in scene.mails]

    assert {
        name: sum(f"[critical] {name} 2013" in text and f" {check} (critical)" in text for text in texts)
        for name, check in MAIN.items()
    } == dict.fromkeys(SETS, 1)


def unquoted(content: bytes) -> str:
    """The HTML of a mail, on one line."""
    parts = [
        part.get_payload(decode=True) for part in message_from_bytes(content).walk() if part.get_content_type() == "text/html"
    ]
    return " ".join(part.decode() for part in parts if isinstance(part, bytes))


def test_a_dead_channel_is_told_over_the_living_ones_and_hides_nothing(scene: Scene) -> None:
    """The pager does not answer: an incident of its own, told over Slack; the failure itself was told as well."""
    state = read_incidents(scene.lake, "sampled", "gate")
    pager = [item for item in state.open if item.check == "alert_route.pager"]

    assert len(pager) == 1
    assert len(scene.texts("alert_route.pager")) == 1
    assert [item.told for item in state.open if item.check == "prevalence.label"] == [{"slack": "critical", "mail": "critical"}]


def test_running_a_held_day_again_tells_nobody_again(scene: Scene) -> None:
    """The very command of the message: the same verdict, no new message."""
    before = len(scene.texts("] hasty ")), sum(b"hasty" in mail.content for mail in scene.mails)
    command = f"airflow dags clear hasty.build --partition-key {BAD} --yes"
    assert "airflow dags clear hasty.build --partition-key 2013-01-0" in scene.texts("] hasty 2013")[0]
    subprocess.run(command.split(), env=scene.house.environment, check=True, capture_output=True)
    scene.wait(lambda: not scene.final("hasty.build", BAD), "the cleared run to start", 60)
    scene.wait(lambda: scene.final("hasty.build", BAD), "the cleared run")

    assert scene.runs("hasty.build", BAD) == {BAD: "failed"}
    assert (len(scene.texts("] hasty ")), sum(b"hasty" in mail.content for mail in scene.mails)) == before


def test_the_monitor_sees_live_data_drift_from_the_training_set_in_use(scene: Scene) -> None:
    """Live flights in kilometres against the released day in miles, whole and by airport."""
    scene.wait(lambda: scene.final("flight_delay.monitor", BAD), "the monitor")

    assert scene.runs("flight_delay.monitor", BAD) == {BAD: "failed"}
    keys = [info.key for info in scene.lake.list(f"flight_delay/monitor/{BAD}/") if info.key.endswith(".json")]
    stored = stored_verdict(scene.lake, keys[0])
    assert stored is not None
    assert "drift.distance" in failed(stored.verdict)
    assert "drift.distance@origin=EWR" in {item.id for item in stored.verdict.checks}
    assert stored.verdict.about["training set in use"].startswith("release 1 (")
    assert len(scene.texts(f"] flight_delay live {BAD}: Blocked")) == 1


def test_a_person_approves_with_name_and_reason(scene: Scene, screenshots: Path) -> None:
    """Clicked in the UI: the day is in the next release, which says who, when, why and in spite of what."""
    with pytest.raises(ApiError):
        scene.house.api.post("dags/flight_delay.approve/dagRuns", {"logical_date": None, "conf": {"day": BAD, "why": "ok"}})
    with browser_page(height=1000) as page:
        log_in(page, scene.house)
        page.goto(f"{scene.house.url}/dags/flight_delay.approve")
        page.get_by_role("button", name="Trigger").first.click()
        page.locator("#element_day").fill(BAD)
        page.locator("#element_why").fill("Kilometres were agreed with the model's owners.")
        page.screenshot(path=screenshots / "approve.png")
        page.get_by_role("dialog").get_by_role("button", name="Trigger").click()
        page.get_by_role("dialog").wait_for(state="detached")
    scene.wait(lambda: states(scene, "flight_delay.approve") == ["success"], "the approval")

    release = published(scene.lake, "flight_delay")
    assert set(release.partitions) == {GOOD, BAD}
    note = next(note.text for note in release.notes if note.kind == "approved")
    assert note.startswith("approved by admin at 20")
    assert "Kilometres were agreed with the model's owners. (checks: drift.distance;" in note
    assert [item.outcome for item in held_candidates(scene.lake, "flight_delay")] == ["released"]
    acknowledged = [item.acknowledged_by for item in read_incidents(scene.lake, "flight_delay", "gate").open]
    assert acknowledged == ["admin"]
    scene.house.api.post(
        f"dags/flight_delay.build/dagRuns/{newest_run(scene, 'flight_delay.build', BAD)}/clear", {"dry_run": False}
    )
    scene.wait(lambda: scene.runs("flight_delay.build", BAD) == {BAD: "success"}, "the approved day's cleared run")


def states(scene: Scene, dag: str) -> list[str]:
    return [row["state"] for row in scene.house.api.all(f"dags/{dag}/dagRuns", "dag_runs", order_by="id")]


def newest_run(scene: Scene, dag: str, key: str) -> str:
    rows = scene.house.api.all(f"dags/{dag}/dagRuns", "dag_runs", order_by="id")
    return str([row["dag_run_id"] for row in rows if row["partition_key"] == key][-1])


def test_a_backfill_sends_one_summary_per_training_set(scene: Scene) -> None:
    """Two bad days backfilled: no message for a day, one for both; no day waits for a person."""
    before = len(scene.slack.bodies)
    for root in ("flights.compact", "carrier_delays.snapshot"):
        window = {"from_date": f"{LATER[0]}T00:00:00Z", "to_date": f"{LATER[1]}T00:00:00Z", "reprocess_behavior": "failed"}
        scene.house.api.post("backfills", {"dag_id": root, **window})
    for name in SETS:
        scene.wait(lambda name=name: scene.final(f"{name}.build", *LATER), f"the backfill of {name}")

    assert set(scene.runs("flight_delay.build", *LATER).values()) == {"failed"}
    told = scene.texts()[before:]
    subjects = sorted(text.splitlines()[0] for text in told if "backfill" in text.splitlines()[0])
    assert subjects == sorted(f"[critical] {name}: backfill with 2 bad days, 2 held" for name in SETS)
    assert [text for text in told if "backfill" not in text.splitlines()[0] and "alert_route" not in text] == []
    assert all(read_incidents(scene.lake, name, "gate").backlog == () for name in SETS)


def test_pages_are_stored_beside_verdicts(scene: Scene, screenshots: Path, tmp_path: Path) -> None:
    """Every held day has its page, self-contained, with the sentence of the alert; pictures of each at two widths are kept."""
    for name in SETS:
        item = held_candidates(scene.lake, name)[-1]
        (tmp_path / f"{name}.html").write_bytes(scene.lake.get(layout.report(name, item.partition, item.manifest)).data)
    for width in (1280, 390):
        with browser_page(width=width) as tab:
            for name in SETS:
                tab.goto((tmp_path / f"{name}.html").as_uri())
                tab.screenshot(path=screenshots / f"quality-{name}-{width}.png", full_page=True)
                assert tab.evaluate("document.documentElement.scrollWidth") <= width
    for item in held_candidates(scene.lake, "narrow"):
        page = scene.lake.get(layout.report("narrow", item.partition, item.manifest)).data.decode()
        assert "olumn distance is absent" in page
        assert "http://" not in page.replace("http://www.w3.org", "")
        assert "https://" not in page
