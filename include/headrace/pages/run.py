"""One run: when its tasks ran, where their time went, what failed and what to do about it."""

from __future__ import annotations

from datetime import datetime

from headrace.errors import HeadraceError
from headrace.pages import figures
from headrace.pages.catalogue import Entry
from headrace.pages.charts import Bar, Span, bars, timeline
from headrace.pages.errors import PageMissing
from headrace.pages.html import Html, facts, join, table, tag
from headrace.pages.links import Links
from headrace.pages.page import empty, link, out, page, problem, section
from headrace.pages.quality import newest_report
from headrace.pages.reads import Reads
from headrace.pages.runs import fresh, state_badge, straggling
from headrace.pages.site import Site
from headrace.runs.binding import binding
from headrace.runs.freshness import Freshness
from headrace.runs.prices import cost_of
from headrace.runs.report import RunReport
from headrace.runs.stored import find_run, run_name
from headrace.runs.straggler import find_straggler
from headrace.runs.task_record import TaskRecord
from headrace.stages import Stage


def run_page(entry: Entry, partition: str, run: str, site: Site) -> bytes:
    """A stored run report. Raises `PageMissing`."""
    report = find_run(site.reads.lake, entry.name, partition, run)
    if report is None:
        raise PageMissing(
            f"run {run} of {entry.name} {partition}",
            found="no report",
            expected="the report of a run that ended",
            remedy="See the dataset's runs.",
        )
    return page(
        f"{entry.name} {partition}",
        *_body(entry, report, site),
        here="Runs",
        links=site.links,
        lead=tag("span", "Run of ", link(entry.name, site.links.runs(entry.name)), ", ", _airflow(report, site.links)),
    )


def run_of_airflow_page(entry: Entry, partition: str | None, dag: str, run_id: str, site: Site) -> bytes:
    """The page a tab of an Airflow run or task shows: the run's report, or what to do while there is none."""
    if partition is None:
        body = _without_key(entry) if dag == entry.dag else _without_partition(entry, site.links)
        return page(entry.name, body, here="Runs", links=site.links)
    if dag.endswith(".monitor"):
        verdict = _verdict(entry, partition, site.reads, site.links, live=True)
        body = verdict or empty("Nothing was judged yet", "The verdict appears when the task ends. Until then, see its log.")
        return page(f"{entry.name} {partition}, live data", body, here="Quality", links=site.links)
    report = find_run(site.reads.lake, entry.name, partition, run_name(dag, run_id))
    if report is None:
        body = empty(
            "No task of this run has ended yet", "Its report appears when its first task ends. Until then, see the tasks' logs."
        )
        return page(
            f"{entry.name} {partition}", body, _verdict(entry, partition, site.reads, site.links), here="Runs", links=site.links
        )
    return page(f"{entry.name} {partition}", *_body(entry, report, site), here="Runs", links=site.links)


def _without_partition(entry: Entry, links: Links) -> Html:
    return empty(
        "This run leaves no report",
        "It publishes no partition of its own. What it did stands in its log, and what came of it on the page of ",
        link(entry.name, links.dataset(entry.name)),
        ".",
    )


def _without_key(entry: Entry) -> Html:
    again = "It is about no day, so it publishes nothing. Trigger the DAG again with a day such as "
    return problem("This run has no partition key", tag("p", again, tag("code", str(entry.start)), " as its partition key."))


def _body(entry: Entry, report: RunReport, site: Site) -> list[object]:
    records = sorted(report.records, key=lambda one: one.began)
    straggler = find_straggler(report.records)
    return [
        *(_failure(record) for record in report.last_tries if record.state != "success"),
        _verdict(entry, report.facts.partition, site.reads, site.links),
        section(
            "In figures",
            _facts(report, site),
            tag("p", binding(report).line),
            None
            if straggler is None
            else tag("p", tag("span", "Straggler", class_="badge t-warning"), " ", straggling(straggler)),
            _lost(report),
        ),
        section("When", timeline([_span(record, report.began) for record in records])),
        section(
            "Where the time went",
            bars([Bar(label=record.name, parts=_stages(record), figure=figures.seconds(record.seconds)) for record in records]),
            note="Stages add up over threads. What no stage has is the host's: starting up, or waiting for a core.",
        ),
        section("Tasks", _table(report)),
    ]


def _span(record: TaskRecord, start: datetime) -> Span:
    return Span(
        name=record.name if record.try_number == 1 else f"{record.name} try {record.try_number}",
        start=(record.began - start).total_seconds(),
        end=(record.ended - start).total_seconds(),
        waited=record.waited_seconds,
        state=record.state,
    )


def _failure(record: TaskRecord) -> Html:
    again = record.state == "retry"
    title = f"{record.name} failed{' and will be tried again' if again else ''}"
    return problem(
        title,
        tag("pre", record.error or "no error text"),
        tag("p", "Try ", record.try_number, ". The whole story is in the task's log."),
    )


def _verdict(entry: Entry, partition: str, reads: Reads, links: Links, *, live: bool = False) -> Html:
    """For a training set: the newest verdict of the day, or of its live data, one click from its report."""
    if entry.kind != "training set":
        return Html("")
    try:
        judged = newest_report(entry, partition, reads, live=live)
    except HeadraceError as error:
        return problem("The verdict cannot be read", tag("p", str(error)))
    if judged is None:
        return Html("")
    tone = "ok" if judged.state in ("ok", "insufficient") else "warning" if judged.passes else "failed"
    return section(
        "Verdict",
        tag("p", tag("span", judged.state, class_=f"badge t-{tone}"), " ", judged.headline),
        tag("p", link("Read the report", (links.live_report if live else links.report)(entry.name, partition, judged.manifest))),
    )


def _airflow(report: RunReport, links: Links) -> object:
    known = report.facts
    return out("open in Airflow", links.airflow_run(known.dag, known.run_id)) if known.run_id else "not finished"


def _facts(report: RunReport, site: Site) -> Html:
    known = report.facts
    found = fresh(report)
    return facts(
        [
            ("State", state_badge(report)),
            ("Kind", known.kind or None),
            ("Took", figures.seconds(report.seconds)),
            ("Waited", figures.seconds(report.waited_seconds)),
            ("Between tasks", figures.seconds(report.between_seconds)),
            ("Samples", None if report.samples is None else figures.count(report.samples)),
            ("Read", figures.size(sum(record.bytes_in for record in report.records))),
            ("Written", figures.size(sum(record.bytes_out for record in report.records))),
            ("Peak memory", figures.size(report.peak_memory_bytes)),
            ("Retries", report.retries),
            ("Due", None if known.due is None else figures.moment(known.due)),
            ("Freshness", None if found is None else _lateness(found)),
            ("Cost", None if site.prices is None else f"{cost_of(report.records, site.prices):.6f} {site.prices.currency}"),
        ]
    )


def _lateness(found: Freshness) -> Html:
    if found.caught_up:
        return tag("span", "caught up: begun long after it was due", class_="badge t-ok")
    words = f"late by {figures.duration(found.late)}" if found.is_late else f"in time, {figures.duration(found.late)} early"
    return tag("span", words, class_=f"badge t-{'late' if found.is_late else 'ok'}")


def _lost(report: RunReport) -> Html:
    if not report.lost_tries:
        return Html("")
    names = ", ".join(report.lost_tries)
    return tag(
        "p",
        tag("span", "Worker lost", class_="badge t-warning"),
        f" {names}: killed from outside or out of memory. It was tried again; nothing was published twice.",
    )


def _stages(record: TaskRecord) -> dict[str, float]:
    """Stages in the order bytes flow, and what is left of the task's time: the host's."""
    stages = {str(stage): record.stages[stage].seconds for stage in Stage if stage in record.stages}
    return {**stages, "the host": max(record.seconds - sum(stages.values()), 0.0)}


def _table(report: RunReport) -> Html:
    rows = [
        [
            record.name,
            record.try_number,
            record.state,
            figures.seconds(record.seconds),
            figures.seconds(record.cpu_seconds),
            figures.seconds(record.waited_seconds),
            figures.size(record.bytes_in),
            figures.size(record.bytes_out),
            figures.size(record.peak_memory_bytes),
            record.host,
        ]
        for record in report.records
    ]
    heads = ("Task", "Try", "State", "Took", "CPU", "Waited", "Read", "Written", "Peak memory", "Host")
    return join(table(heads, rows, caption="Tasks", numbers=(1, 3, 4, 5, 6, 7, 8)))
