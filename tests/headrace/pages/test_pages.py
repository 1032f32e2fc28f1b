"""Every page: what it says, that it needs nothing from elsewhere, and that nothing stored becomes markup."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import partial

import pytest
from headrace.lake import layout
from headrace.lake.local import LocalStore
from headrace.manifests.read import manifest_of, published
from headrace.pages.catalogue import Catalogue, Entry, catalogue
from headrace.pages.compared import Compare
from headrace.pages.dataset import dataset_page
from headrace.pages.datasets import datasets_page
from headrace.pages.errors import PageMissing
from headrace.pages.links import Links
from headrace.pages.partition import partition_page
from headrace.pages.quality import quality_page, stored_report, verdicts_page
from headrace.pages.reads import Reads
from headrace.pages.release import release_page
from headrace.pages.run import run_of_airflow_page, run_page
from headrace.pages.runs import entry_runs_page, overdue_days, runs_page
from headrace.pages.sample import _text, sample_page
from headrace.pages.site import Site
from headrace.pages.snapshots import snapshots_page
from headrace.pages.verified import verified_line
from headrace.runs.night import verify_tonight
from headrace.runs.stored import put_record, put_report, run_name
from headrace.runs.verified import Look, keep_looks
from headrace.stages import Stage
from headrace.transforms.replay.compared import compare_sample

from tests.headrace.pages.conftest import DECLARED, EVIL, FACTS, HELD, Page
from tests.headrace.runs.records import record, waited

LETTERS_RUN = run_name(FACTS.dag, FACTS.run_id)


def anybody(_: Entry) -> bool:
    """May take on whatever is wrong."""
    return True


def nobody(_: Entry) -> bool:
    return False


def no_source(site: Site) -> Compare:
    """Compares with no source at all."""
    return partial(compare_sample, declared=DECLARED, lake=site.reads.lake, source=None)


PAGES: dict[str, Callable[[Catalogue, Site], bytes]] = {
    "datasets": lambda c, s: datasets_page(c, s.reads, s.links),
    "dataset": lambda c, s: dataset_page(c.entry("letters"), s.reads, s.links, anybody),
    "empty dataset": lambda c, s: dataset_page(c.entry("carrier_delays"), s.reads, s.links, anybody),
    "release": lambda c, s: release_page(c.entry("letters"), 2, s.reads, s.links),
    "first release": lambda c, s: release_page(c.entry("letters"), 1, s.reads, s.links),
    "partition": lambda c, s: partition_page(c.entry("letters"), 2, "2013-01-02", s.reads, s.links),
    "snapshots": lambda c, s: snapshots_page(c, s.reads, s.links),
    "quality": lambda c, s: quality_page(c, s.reads, s.links, anybody),
    "verdicts": lambda c, s: verdicts_page(c.entry("flight_delay"), s.reads, s.links, anybody),
    "runs": runs_page,
    "runs of": lambda c, s: entry_runs_page(c.entry("letters"), s),
    "no runs": lambda c, s: entry_runs_page(c.entry("pictures"), s),
    "run": lambda c, s: run_page(c.entry("letters"), "2013-01-03", LETTERS_RUN, s),
    "sample form": lambda c, s: sample_page(c, None, None, s.reads, s.links, no_source(s)),
    "no sample": lambda c, s: sample_page(c, "letters", "f" * 32, s.reads, s.links, no_source(s)),
    "bad sample": lambda c, s: sample_page(c, "letters", EVIL, s.reads, s.links, no_source(s)),
}


@pytest.mark.parametrize("name", PAGES)
def test_each_page_stands_alone(name: str, everything: Catalogue, site: Site) -> None:
    """Every element closed, one heading, a language, no other host, nothing loaded, no stored text become markup."""
    body = PAGES[name](everything, site)
    page = Page(body)

    assert len(body) < 500_000
    assert [one["lang"] for one in page.all("html")] == ["en"]
    assert len(list(page.all("h1"))) == 1
    assert b"http://" not in body
    assert b"https://" not in body
    assert all(str(one.get("src", "data:")).startswith("data:") for _, one in page.elements)
    assert list(page.all("link")) == []
    assert len(list(page.all("script"))) == 1
    assert all(href.startswith(("/headrace", "/dags", "#")) for href in page.links())


@pytest.mark.parametrize("name", PAGES)
def test_each_page_stands_with_nothing_to_show(name: str, lake: LocalStore, everything: Catalogue, site: Site) -> None:
    """A person who may see nothing, and a lake with nothing in it: a page that says so, or a refusal that does."""
    bare = Site(reads=Reads(LocalStore(lake._root / "empty")), links=site.links, prices=None, now=site.now)
    for what in (lambda: PAGES[name](catalogue(DECLARED, set()), site), lambda: PAGES[name](everything, bare)):
        with contextlib.suppress(PageMissing):  # any other error is a defect
            Page(what())


def test_what_is_hidden_looks_like_what_is_not_there(site: Site) -> None:
    """Who may not read a DAG learns nothing of its dataset."""
    some = catalogue(DECLARED, {"letters.compact"})

    with pytest.raises(PageMissing) as hidden:
        some.entry("pictures")
    with pytest.raises(PageMissing) as absent:
        some.entry("nothing")

    assert str(hidden.value).replace("pictures", "nothing") == str(absent.value)
    assert "pictures" not in Page(datasets_page(some, site.reads, site.links)).text


def test_datasets_say_what_is_published_and_what_is_not(everything: Catalogue, site: Site) -> None:
    """Two days published, one of them with a refused object, one failed; a held candidate with its reason."""
    page = Page(datasets_page(everything, site.reads, site.links))
    titles = [str(one["title"]) for one in page.all("a") if one.get("title")]

    assert f"Failed 2013-01-03: NothingLanded: {EVIL}" in page.text
    assert f"Held 2013-01-05: Drift of {EVIL}" in page.text
    assert any(title.startswith("2013-01-01: 2 samples in 1 shard") for title in titles)
    assert any(title.startswith("2013-01-02: 1 sample in 1 shard") and "1 object quarantined" in title for title in titles)
    assert f"/headrace/quality/flight_delay/2013-01-05/{HELD}" in page.links()


def test_a_release_names_what_it_changed(everything: Catalogue, site: Site) -> None:
    """The second release added the second day."""
    page = Page(release_page(everything.entry("letters"), 2, site.reads, site.links))

    assert "in use" in page.text
    assert "Against release 1: 1 partition." in page.text
    assert "0 → 1" in page.text
    assert "0 kept, 1 new, 0 gone" in page.text
    with pytest.raises(PageMissing, match="no such release"):
        release_page(everything.entry("letters"), 9, site.reads, site.links)
    with pytest.raises(PageMissing, match="no partition"):
        partition_page(everything.entry("letters"), 2, "2013-01-09", site.reads, site.links)


def test_a_release_says_when_it_was_last_verified(everything: Catalogue, site: Site, filled: LocalStore) -> None:
    """Never; whole, with the time; and what was damaged."""

    def shown(number: int = 2) -> str:
        return Page(release_page(everything.entry("letters"), number, site.reads, site.links)).text

    assert "Verifiednever yet" in shown()
    keep_looks(
        filled, "letters", verify_tonight(filled, "letters", date(2026, 1, 1), nights=1), datetime(2026, 1, 1, 2, tzinfo=UTC)
    )
    assert "Verifiedevery byte the oldest look 2026-01-01 02:00 UTC" in shown()
    assert (
        "Last verified2026-01-01 02:00 UTC"
        in Page(partition_page(everything.entry("letters"), 2, "2013-01-01", site.reads, site.links)).text
    )

    shard = site.reads.manifests(published(filled, "letters"))["2013-01-01"].shards[0].sha256
    filled.delete(layout.shard("letters", shard))
    keep_looks(
        filled, "letters", verify_tonight(filled, "letters", date(2026, 1, 2), nights=1), datetime(2026, 1, 2, 2, tzinfo=UTC)
    )
    assert "Verifieddamaged: 2013-01-01" in shown()


def test_what_a_release_holds_otherwise_was_not_verified_with_another() -> None:
    """A look was at one manifest; the same day's other manifest was never read."""
    looks = {"2013-01-01": Look(manifest="a", at="2026-01-01T02:00:00.000000Z")}

    assert verified_line({"2013-01-01": "b"}, looks).startswith("never yet")
    assert "1 of 2 partitions, the oldest look" in verified_line({"2013-01-01": "a", "2013-01-02": "c"}, looks)


def test_a_failed_run_shows_its_error_first(everything: Catalogue, site: Site) -> None:
    """The error as text, before any figure."""
    text = Page(run_page(everything.entry("letters"), "2013-01-03", LETTERS_RUN, site)).text

    assert text.index(f"NothingLanded: {EVIL}") < text.index("In figures")


def test_what_no_stage_has_is_the_hosts(everything: Catalogue, site: Site) -> None:
    """The write waited 0.5 s of its second for storage."""
    page = Page(run_page(everything.entry("letters"), "2013-01-02", run_name(FACTS.dag, "s2"), site))

    assert "read 0.50 s, the host 0.50 s" in [one["aria-label"] for one in page.all("div") if "aria-label" in one]


def test_a_lost_worker_and_a_late_run_are_called_what_they_are(everything: Catalogue, site: Site) -> None:
    """write[0] ended at try 2 and try 1 left nothing; the scheduled run ended six hours after it was due."""
    runs = Page(entry_runs_page(everything.entry("letters"), site)).text
    one = Page(run_page(everything.entry("letters"), "2013-01-02", run_name(FACTS.dag, "s2"), site)).text

    assert "late: 2013-01-02 by 6 h 00 min" in runs
    assert "write[0] try 1: killed from outside or out of memory" in one
    assert "Cost per 1,000 samples" in runs


def test_the_straggler_is_named_with_its_reason(everything: Catalogue, site: Site, filled: LocalStore) -> None:
    """Of three mapped tasks one read for nine seconds of its ten: on its run's page, and among the runs with a link to that run."""
    facts = replace(FACTS, partition="2013-01-02", run_id="s3")
    for index, seconds in ((0, 1.0), (1, 10.0), (2, 1.0)):
        stages = waited(Stage.READ, seconds * 0.9)
        put_record(filled, facts, record("write", index, at=1, seconds=seconds, stages=stages))
    put_report(filled, facts)

    runs = Page(entry_runs_page(everything.entry("letters"), site))
    one = Page(run_page(everything.entry("letters"), "2013-01-02", run_name(FACTS.dag, "s3"), site))

    for text in (runs.text, one.text):
        assert "write[1] took 10 s, usual is 1.00 s" in text
    assert f"/headrace/runs/letters/2013-01-02/{run_name(FACTS.dag, 's3')}" in runs.links()
    assert "Workers lost" in runs.text


def test_a_scheduled_run_of_an_old_day_caught_up(everything: Catalogue, site: Site, filled: LocalStore) -> None:
    """Queued thirteen years after its day was due: on its own page and among the runs, and late is only the one that began in time."""
    facts = replace(FACTS, partition="2013-01-01", run_id="s1", due=datetime(2013, 1, 2, 6, tzinfo=UTC), queued=site.now)
    put_record(filled, facts, record("publish", at=0))
    put_report(filled, facts)
    entry = everything.entry("letters")

    assert "caught up: begun long after it was due" in Page(run_page(entry, "2013-01-01", run_name(FACTS.dag, "s1"), site)).text
    text = Page(entry_runs_page(entry, site)).text
    assert "late: 2013-01-02 by" in text
    assert "2013-01-01 by" not in text


def test_the_tab_of_a_run_says_what_to_do_while_there_is_no_report(everything: Catalogue, site: Site) -> None:
    """No key: trigger again with one. No report yet: wait. A report: the run's page."""
    entry = everything.entry("letters")

    assert "no partition key" in Page(run_of_airflow_page(entry, None, "letters.compact", "manual__1", site)).text
    assert "No task of this run has ended" in Page(run_of_airflow_page(entry, "2013-01-09", "letters.compact", "x", site)).text
    assert "NothingLanded" in Page(run_of_airflow_page(entry, "2013-01-03", FACTS.dag, FACTS.run_id, site)).text


def test_the_tab_of_a_dag_that_fills_nothing_says_so(everything: Catalogue, site: Site) -> None:
    """An approval has no report; a monitor's run shows the verdict on live data; of other DAGs nothing is known."""
    entry = everything.entry("flight_delay")
    monitor = Page(run_of_airflow_page(entry, "2013-01-06", "flight_delay.monitor", "x", site))

    assert "leaves no report" in Page(run_of_airflow_page(entry, None, "flight_delay.approve", "x", site)).text
    assert f"/headrace/quality/flight_delay/live/2013-01-06/{HELD}" in monitor.links()
    assert "Skew of distance" in monitor.text
    assert "Nothing was judged yet" in Page(run_of_airflow_page(entry, "2013-01-09", "flight_delay.monitor", "x", site)).text
    with pytest.raises(PageMissing, match="stands in their logs"):
        everything.of_dag("headrace.maintenance")


def test_the_report_is_shown_as_it_is(everything: Catalogue, site: Site) -> None:
    """The stored bytes, or a refusal that says how to get them."""
    entry = everything.entry("flight_delay")

    assert stored_report(entry, "2013-01-05", HELD, site.reads) == b"<!doctype html>the report"
    with pytest.raises(PageMissing, match="Clear the run's check task"):
        stored_report(entry, "2013-01-06", HELD, site.reads)


def test_quality_shows_each_check_of_each_day_and_who_has_taken_it_on(everything: Catalogue, site: Site) -> None:
    """Worst check first, by what it did to the verdict; open incidents first, with the person and the remark; the monitor's beside."""
    entry = everything.entry("flight_delay")
    page = Page(verdicts_page(entry, site.reads, site.links, anybody))
    marks = [one["aria-label"] for one in page.all("a") if "mark" in str(one.get("class"))]

    assert marks == [
        "row_count, 2013-01-05: failed. No row.",
        f"drift.distance, 2013-01-05: warning. {EVIL}",
        "prevalence.label, 2013-01-05: ok",
        f"drift.distance, 2013-01-06: warning. {EVIL}",
    ]
    assert page.text.index("#2") < page.text.index("#1")
    assert "With ada since 2013-01-04 09:00 UTC: asked upstream" in page.text
    assert f"/headrace/quality/flight_delay/live/2013-01-06/{HELD}" in page.links()
    assert stored_report(entry, "2013-01-06", HELD, site.reads, live=True) == b"<!doctype html>the live report"


def test_who_may_take_an_incident_on_is_given_a_form_for_each_open_one(everything: Catalogue, site: Site) -> None:
    """Posted to the incident's own address, with a remark that is required; the closed one has none."""
    page = Page(verdicts_page(everything.entry("flight_delay"), site.reads, site.links, anybody))

    assert [(one["method"], one["action"]) for one in page.all("form")] == [("post", "/headrace/incidents/flight_delay/gate/2")]
    assert [(one["name"], one["required"]) for one in page.all("input")] == [("remark", "required")]
    assert "Take over #2" in page.text


def test_who_may_not_is_told_who_may(everything: Catalogue, site: Site) -> None:
    """The DAG whose triggering decides, and the command; no form."""
    page = Page(verdicts_page(everything.entry("flight_delay"), site.reads, site.links, nobody))

    assert list(page.all("form")) == []
    assert "Who may trigger flight_delay.approve may take one on here" in page.text
    assert "headrace quality acknowledge flight_delay NUMBER --stream gate" in page.text


def test_damage_stands_with_its_dataset(everything: Catalogue, site: Site) -> None:
    """A line on Datasets that leads to the incident, and there the form; its own DAG decides where there is no gate."""
    overview = Page(datasets_page(everything, site.reads, site.links))
    page = Page(dataset_page(everything.entry("letters"), site.reads, site.links, anybody))

    assert "Damaged 2013-01-01: Cut off. with nobody yet" in overview.text
    assert "/headrace/datasets/letters#lake-1" in overview.links()
    assert [one["id"] for one in page.all("li") if "id" in one] == ["lake-1"]
    assert [one["action"] for one in page.all("form")] == ["/headrace/incidents/letters/lake/1"]
    assert [everything.entry(name).decision_dag for name in ("letters", "flight_delay")] == [
        "letters.compact",
        "flight_delay.approve",
    ]


def test_a_damaged_day_is_marked_in_the_calendar(everything: Catalogue, site: Site) -> None:
    """By its class and in words, what it holds and what is wrong; it leads to the incident; the legend says what the mark means."""
    one = everything.entry("letters")
    for body in (datasets_page(everything, site.reads, site.links), dataset_page(one, site.reads, site.links, anybody)):
        page = Page(body)

        [marked] = [link for link in page.all("a") if link.get("class") == "day c-damaged"]
        words = str(marked["aria-label"])
        assert words.startswith("2013-01-01: 2 samples in 1 shard, ")
        assert words.endswith("; stored bytes are damaged: Cut off.")
        assert (marked["title"], marked["href"]) == (words, "/headrace/datasets/letters#lake-1")
        assert [key["class"] for key in page.all("span") if key.get("class") == "square c-damaged"] == ["square c-damaged"]
        assert "stored bytes are damaged" in page.text


def test_damage_found_by_hand_is_shown_before_it_is_an_incident(everything: Catalogue, site: Site, filled: LocalStore) -> None:
    """The second day's shard is gone and a person verified it: marked, leading to the partition; the first day has its incident."""
    shard = site.reads.manifests(published(filled, "letters"))["2013-01-02"].shards[0].sha256
    filled.delete(layout.shard("letters", shard))
    seen = verify_tonight(filled, "letters", date(2026, 1, 1), nights=1)
    keep_looks(filled, "letters", seen, datetime(2026, 1, 1, 2, tzinfo=UTC))

    overview = Page(datasets_page(everything, site.reads, site.links))
    page = Page(dataset_page(everything.entry("letters"), site.reads, site.links, anybody))

    marked = [one["href"] for one in overview.all("a") if one.get("class") == "day c-damaged"]
    assert marked == ["/headrace/datasets/letters#lake-1", "/headrace/releases/letters/2/2013-01-02"]
    for one in (overview, page):
        assert f"{shard}.parquet: found nothing; expected" in one.text
        assert "found by hand; tonight it is read again and becomes an incident" in one.text


def test_a_sample_leads_back_to_its_object(everything: Catalogue, site: Site, filled: LocalStore) -> None:
    """Values, escaped; source key and row."""
    manifest = next(iter(site.reads.manifests(published(filled, "letters"), ["2013-01-01"]).values()))
    first = manifest.shards[0].first_sample_id
    text = Page(sample_page(everything, "letters", f" {first.upper()} ", site.reads, site.links, no_source(site))).text

    assert EVIL in text
    assert "letters/2013/01/01/a.csv" in text


def test_what_was_left_out_is_found_by_its_id(everything: Catalogue, site: Site, filled: LocalStore) -> None:
    """A refused object is in no shard: the page says so, why, and where its record is."""
    release = published(filled, "letters")
    [refused] = manifest_of(filled, release, "2013-01-02").facts["quarantined"]

    text = Page(sample_page(everything, "letters", refused["record"], site.reads, site.links, no_source(site))).text

    assert f"Left out of letters 2013-01-02: {refused['reason']}." in text
    assert "headrace quarantine letters 2013-01-02" in text
    assert "No such sample" not in text


def test_a_sample_is_compared_with_its_source_as_it_is(
    everything: Catalogue, site: Site, filled: LocalStore, landing: LocalStore
) -> None:
    """The same by its ETag; written again; gone; and unknown where nobody said where sources lie. How replay is run, each time."""
    manifest = next(iter(site.reads.manifests(published(filled, "letters"), ["2013-01-01"]).values()))
    first, key = manifest.shards[0].first_sample_id, "letters/2013/01/01/a.csv"

    def shown(source: LocalStore | None) -> str:
        compare = partial(compare_sample, declared=DECLARED, lake=filled, source=source)
        text = Page(sample_page(everything, "letters", first, site.reads, site.links, compare)).text
        assert f"headrace replay letters {first}" in text
        return text

    text = shown(landing)
    assert "nothing differs" in text
    assert "By its ETag; its bytes were not read." in text
    assert "HEADRACE_SOURCE is not set" in shown(None)
    landing.delete(key)
    landing.put_new(key, b"n,text\n7,x\n8,y\n")
    assert "Then and nowsource changed The source holds another sample now" in shown(landing)
    landing.delete(key)
    assert "Then and nowsource gone" in shown(landing)


def test_a_picture_is_shown(everything: Catalogue, site: Site, filled: LocalStore) -> None:
    """Inside the page, not from elsewhere."""
    manifest = next(iter(site.reads.manifests(published(filled, "pictures")).values()))
    page = Page(sample_page(everything, "pictures", manifest.shards[0].first_sample_id, site.reads, site.links, no_source(site)))

    assert [str(one["src"])[:22] for one in page.all("img")] == ["data:image/png;base64,"]


@pytest.mark.parametrize(
    ("payload", "shown"),
    [
        (b"a <b>\nc", "a <b>\nc"),
        (b"x" * 3999 + "\u00e9".encode() * 9, "x" * 3999),  # cut in the middle of a character
        (b"", ""),
        (b"x" * 5000 + b"\xff", "x" * 4000),
        (b"caf\xe9", None),
        (b"a\x00b", None),
    ],
)
def test_bytes_that_are_text_are_shown_as_text(payload: bytes, shown: str | None) -> None:
    """As far as it is shown; what is no UTF-8, or holds what no page prints, is not."""
    assert _text(payload) == shown


def test_a_goal_that_passed_without_data_is_overdue(everything: Catalogue, site: Site) -> None:
    """Letters go on; nothing of the last days is there. Flights ended in 2013."""
    assert overdue_days(everything.entry("letters"), site.reads, site.now)[0] == "2025-12-30"
    assert overdue_days(everything.entry("flight_delay"), site.reads, site.now) == []


def test_documents_are_read_once(filled: LocalStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Manifests never change: a second page asks the lake for none."""
    asked: list[str] = []
    original = LocalStore.get_many
    monkeypatch.setattr(LocalStore, "get_many", lambda self, wanted: original(self, [asked.append(i.key) or i for i in wanted]))
    reads = Reads(filled)
    release = published(filled, "letters")

    assert reads.manifests(release) == reads.manifests(release)
    assert len(asked) == 2


def test_addresses_are_quoted() -> None:
    """A run ID holds a plus and colons; a query is a query."""
    links = Links(root="/a/headrace", airflow="/a")

    assert (
        links.airflow_run("x.y", "scheduled__2013-01-01T00:00:00+00:00")
        == "/a/dags/x.y/runs/scheduled__2013-01-01T00%3A00%3A00%2B00%3A00"
    )
    assert links.sample("d", "a&b") == "/a/headrace/sample?dataset=d&sample_id=a%26b"
