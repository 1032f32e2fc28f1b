"""A small lake with two published days, a failed one, a held candidate and a quarantined object; and what may be seen of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from html.parser import HTMLParser

import pytest
from headrace.lake import layout
from headrace.lake.local import LocalStore
from headrace.manifests.document import Document, to_bytes
from headrace.manifests.run import RunIdentity
from headrace.pages.catalogue import Catalogue, catalogue
from headrace.pages.links import Links
from headrace.pages.reads import Reads
from headrace.pages.site import Site
from headrace.quality.damage import looked
from headrace.quality.incident_store import change_incidents
from headrace.quality.incidents import Incident, Incidents
from headrace.runs.prices import Prices
from headrace.runs.report import RunFacts
from headrace.runs.stored import put_record, put_report
from headrace.shards.compact import plan_partition, publish_partition
from headrace.shards.group import write_group
from headrace.shards.plan import batches
from headrace.spec.columns import columns
from headrace.spec.dataset import Dataset, Source
from headrace.spec.formats import Csv, RawBytes
from headrace.spec.load import Declarations
from headrace.stages import Stage

from include.datasets.flights import CARRIER_DELAYS, FLIGHT_DELAY
from tests.headrace.runs.records import record, waited

LETTERS = Dataset(
    name="letters",
    source=Source(prefix="letters/%Y/%m/%d/", format=Csv(columns=columns(n="int64", text="string"))),
    timezone="UTC",
    start=date(2013, 1, 1),
    max_quarantine_share=0.5,
)
PICTURES = Dataset(
    name="pictures",
    source=Source(prefix="pictures/%Y/%m/%d/", format=RawBytes()),
    timezone="UTC",
    start=date(2013, 1, 1),
)
DECLARED = Declarations(datasets=(LETTERS, PICTURES), views=(CARRIER_DELAYS,), training_sets=(FLIGHT_DELAY,), failures={})
DAGS = {"letters.compact", "pictures.compact", "carrier_delays.snapshot", "flight_delay.build"}
EVIL = "<script>alert('x')</script>"
HELD = "0" * 64
FACTS = RunFacts(dataset="letters", partition="2013-01-03", dag="letters.compact", run_id="scheduled__3", kind="scheduled")


INCIDENTS = (
    Incident(
        number=1,
        check="row_count",
        feature="",
        level="critical",
        reason="No row.",
        first="2013-01-02",
        last="2013-01-02",
        opened_at="2013-01-03T00:00:00.000000Z",
        closed_at="2013-01-05T00:00:00.000000Z",
    ),
    Incident(
        number=2,
        check="drift.distance",
        feature="distance",
        level="warning",
        reason=EVIL,
        first="2013-01-03",
        last="2013-01-05",
        opened_at="2013-01-04T00:00:00.000000Z",
        count=3,
        acknowledged_by="ada",
        acknowledged_at="2013-01-04T09:00:00.000000Z",
        remark="asked upstream",
    ),
)


def publish(declared: Dataset, day: str, source: LocalStore, lake: LocalStore) -> None:
    run = RunIdentity(dag=f"{declared.name}.compact", run_id=f"manual__{day}", kind="manual", partition_key=day)
    plan = plan_partition(declared, day, source=source, lake=lake)
    for group in itertools.chain(*batches(plan)):
        write_group(declared, plan, group, source=source, lake=lake)
    publish_partition(declared, plan, run, lake=lake)


@pytest.fixture
def filled(landing: LocalStore, lake: LocalStore) -> LocalStore:
    """The lake."""
    landing.put_new("letters/2013/01/01/a.csv", f"n,text\n1,{EVIL}\n2,b\n".encode())
    landing.put_new("letters/2013/01/02/a.csv", b"n,text\n3,c\n")
    landing.put_new("letters/2013/01/02/bad.csv", f"n,text\n{EVIL},c\n".encode())
    landing.put_new("pictures/2013/01/01/a.png", b"\x89PNG\r\n\x1a\n" + bytes(40))
    publish(LETTERS, "2013-01-01", landing, lake)
    publish(LETTERS, "2013-01-02", landing, lake)
    publish(PICTURES, "2013-01-01", landing, lake)
    due = datetime(2013, 1, 4, 6, tzinfo=UTC)
    for day, kind, run in (("2013-01-01", "backfill", "b1"), ("2013-01-02", "scheduled", "s2")):
        facts = replace(FACTS, partition=day, kind=kind, run_id=run, due=due)
        for one in (record("plan", at=0), record("write", 0, 2, at=2, stages=waited(Stage.READ, 0.5)), record("publish", at=9)):
            put_record(lake, facts, one)
        put_report(lake, facts)
    put_record(lake, FACTS, record("plan", state="failed", error=f"NothingLanded: {EVIL}"))
    put_report(lake, FACTS)
    checks = [
        {"id": "drift.distance", "severity": "warning", "state": "failed", "reason": EVIL},
        {"id": "prevalence.label", "severity": "info", "state": "failed", "reason": ""},
        {"id": "row_count", "severity": "critical", "state": "failed", "reason": "No row."},
    ]
    verdict = {"state": "failed", "headline": f"Drift of {EVIL}", "passes": False, "checks": checks}
    lake.put_new(layout.verdict("flight_delay", "2013-01-05", HELD), to_bytes(Document(content=verdict, run={})))
    lake.put_new(layout.report("flight_delay", "2013-01-05", HELD), b"<!doctype html>the report")
    live = {"state": "warning", "headline": "Skew of distance", "passes": True, "checks": checks[:1]}
    lake.put_new(layout.monitor_verdict("flight_delay", "2013-01-06", HELD), to_bytes(Document(content=live, run={})))
    lake.put_new(layout.monitor_report("flight_delay", "2013-01-06", HELD), b"<!doctype html>the live report")
    change_incidents(lake, "flight_delay", "gate", lambda _: Incidents(incidents=INCIDENTS))
    damaged = {"2013-01-01": "Cut off."}
    change_incidents(
        lake, "letters", "lake", lambda state: looked(state, broken=damaged, right=(), at="2026-01-01T00:00:00.000000Z")
    )
    return lake


@pytest.fixture
def everything() -> Catalogue:
    return catalogue(DECLARED, DAGS)


@pytest.fixture
def site(filled: LocalStore) -> Site:
    return Site(
        reads=Reads(filled),
        links=Links(root="/headrace", airflow=""),
        prices=Prices(core_hour=3.6),
        now=datetime(2026, 1, 1, tzinfo=UTC),
    )


class Page(HTMLParser):
    """What a browser would find: text, links, and whether every element is closed."""

    VOID = frozenset({"br", "hr", "img", "input", "meta", "col"})

    def __init__(self, body: bytes) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(body.decode())
        self.close()
        assert self.open == [], self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in {"style", "script"}:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())

    def all(self, tag: str) -> Iterator[dict[str, str | None]]:
        return (attributes for name, attributes in self.elements if name == tag)

    def links(self) -> list[str]:
        return [str(one["href"]) for one in self.all("a")]
