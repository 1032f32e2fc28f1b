"""*Runs*: where the time of the last runs went, what bound them, who straggled, what is late, what a sample cost."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from headrace.errors import HeadraceError
from headrace.pages import figures
from headrace.pages.catalogue import Catalogue, Entry
from headrace.pages.charts import Bar, bars, spread
from headrace.pages.html import Html, facts, join, table, tag
from headrace.pages.links import Links
from headrace.pages.page import empty, link, page, problem, section
from headrace.pages.reads import Reads
from headrace.pages.site import Site
from headrace.runs.binding import binding
from headrace.runs.freshness import Freshness, due_at, freshness
from headrace.runs.prices import Prices, cost_of
from headrace.runs.report import RunReport
from headrace.runs.stored import last_reports, run_name
from headrace.runs.straggler import Straggler, find_straggler
from headrace.runs.trends import stage_percentiles, task_percentiles

RUNS_SHOWN = 30
RUNS_ON_OVERVIEW = 8


def runs_page(catalogue: Catalogue, site: Site) -> bytes:
    """All entries, each with its last runs."""
    if not catalogue.entries:
        return page("Runs", empty("No run to show", "Nothing is declared whose DAG you may read."), here="Runs", links=site.links)
    cards = [_card(entry, site, limit=RUNS_ON_OVERVIEW) for entry in catalogue.entries]
    return page("Runs", *cards, here="Runs", links=site.links, lead="Where the time of the last runs went, and what bound them.")


def entry_runs_page(entry: Entry, site: Site) -> bytes:
    """One entry's last runs, with percentiles per stage and task."""
    reports = last_reports(site.reads.lake, entry.name, limit=RUNS_SHOWN)
    title = f"Runs of {entry.name}"
    if not reports:
        return page(title, _none(entry), here="Runs", links=site.links)
    return page(
        title,
        section("The last runs", _summary(entry, reports, site), _bars(reports, site.links)),
        section(
            "Stages",
            spread({str(stage): found for stage, found in stage_percentiles(reports).items()}, of="run/runs"),
            note=f"Time per run over the last {figures.plural(len(reports), 'run')}, all tasks together; threads add up.",
        ),
        section("Tasks", spread(task_percentiles(reports), of="try/tries"), note="Time on a worker, each try by itself."),
        section("Each run", _table(reports, site)),
        here="Runs",
        links=site.links,
    )


def _card(entry: Entry, site: Site, *, limit: int) -> Html:
    try:
        reports = last_reports(site.reads.lake, entry.name, limit=limit)
        if not reports:
            return _none(entry)
        body = join(_summary(entry, reports, site), _bars(reports, site.links))
    except HeadraceError as error:
        return problem(f"{entry.name} cannot be read", tag("p", str(error)))
    more = tag("small", link("percentiles and all runs", site.links.runs(entry.name)))
    return tag("section", tag("div", tag("h2", link(entry.name, site.links.runs(entry.name))), more, class_="head"), body)


def _none(entry: Entry) -> Html:
    return empty(entry.name, "No run has left a report yet. Each run of ", tag("code", entry.dag), " leaves one when it ends.")


def _summary(entry: Entry, reports: Sequence[RunReport], site: Site) -> Html:
    newest = reports[0]
    return join(
        facts(
            [
                ("Newest run", join(_run_link(newest, site.links), " ", state_badge(newest))),
                ("Freshness", _freshness(entry, reports, site)),
                ("Cost per 1,000 samples", _cost(reports, site.prices)),
                ("Largest peak memory", figures.size(max(report.peak_memory_bytes for report in reports))),
            ]
        ),
        tag("p", tag("strong", newest.facts.partition), ": ", binding(newest).line),
        _newest_straggler(reports, site.links),
        _lost(reports),
    )


def _newest_straggler(reports: Sequence[RunReport], links: Links) -> Html | None:
    for report in reports:
        found = find_straggler(report.records)
        if found is not None:
            badge = tag("span", "Straggler", class_="badge t-warning")
            return tag("p", badge, " ", _run_link(report, links), ": ", straggling(found))
    return None


def _lost(reports: Sequence[RunReport]) -> Html | None:
    names = [f"{report.facts.partition} {name}" for report in reports for name in report.lost_tries]
    if not names:
        return None
    badge = tag("span", "Workers lost", class_="badge t-warning")
    return tag("p", badge, f" {', '.join(names[:5])}: killed from outside or out of memory; tried again.")


def straggling(found: Straggler) -> str:
    """The straggler in a sentence."""
    took = f"{found.task} took {figures.seconds(found.seconds)}, usual is {figures.seconds(found.median_seconds)}."
    return f"{took} {found.reason.capitalize()}: {found.why}."


def _bars(reports: Sequence[RunReport], links: Links) -> Html:
    return bars(
        [
            Bar(
                label=_run_link(report, links),
                parts=binding(report).parts,
                figure=figures.seconds(sum(binding(report).parts.values())),
            )
            for report in reports
        ]
    )


def _freshness(entry: Entry, reports: Sequence[RunReport], site: Site) -> Html:
    """Late when a day came after it was due; overdue when the newest that fell due have nothing published."""
    judged = [(report, found) for report in reports if report.state == "success" and (found := fresh(report)) is not None]
    late = [f"{report.facts.partition} by {figures.duration(found.late)}" for report, found in judged if found.is_late]
    if late:
        return tag("span", "late: ", ", ".join(late[:3]), class_="badge t-late")
    overdue = overdue_days(entry, site.reads, site.now)
    if overdue:
        return tag("span", f"overdue: {overdue[0]}", class_="badge t-late")
    if any(not found.caught_up for _, found in judged):
        return tag("span", "in time", class_="badge t-ok")
    return tag("span", "caught up" if judged else "not judged: no scheduled run", class_=f"badge t-{'ok' if judged else 'none'}")


def fresh(report: RunReport) -> Freshness | None:
    """How fresh the partition of a run was; None when it is not judged."""
    known = report.facts
    queued = report.began if known.queued is None else known.queued
    return freshness(known.due, known.kind, queued=queued, ended=report.ended)


def overdue_days(entry: Entry, reads: Reads, now: datetime) -> list[str]:
    """Days that fell due in the last three and have nothing published, newest first."""
    release = reads.release(entry.name)
    published = set() if release is None else {name.partition(".")[0] for name in release.partitions}
    days = [now.date() - timedelta(days=back) for back in range(10)]
    expected = [day for day in days if day >= entry.start and (entry.end is None or day <= entry.end)]
    due = [(day, due_at(entry.root, day)) for day in expected]
    return [str(day) for day, at in due if at is not None and now - timedelta(days=3) < at < now and str(day) not in published]


def _cost(reports: Sequence[RunReport], prices: Prices | None) -> str | None:
    """Of the runs that published samples; failed tries were paid for too."""
    made = [report for report in reports if report.samples is not None and report.samples > 0]
    if prices is None or not made:
        return None if prices is not None else "no prices declared"
    cost = sum(cost_of(report.records, prices) for report in made)
    return f"{1000 * cost / sum(report.samples or 0 for report in made):.6f} {prices.currency}"


def _table(reports: Sequence[RunReport], site: Site) -> Html:
    rows = [
        [
            _run_link(report, site.links),
            state_badge(report),
            report.facts.kind,
            figures.moment(report.ended),
            figures.seconds(report.seconds),
            "" if report.samples is None else figures.count(report.samples),
            report.retries,
            "" if site.prices is None else f"{cost_of(report.records, site.prices):.6f}",
        ]
        for report in reports
    ]
    heads = ("Day", "State", "Kind", "Ended", "Took", "Samples", "Retries", "Cost")
    return table(heads, rows, caption="Runs, newest first", numbers=(4, 5, 6, 7))


def _run_link(report: RunReport, links: Links) -> Html:
    name = run_name(report.facts.dag, report.facts.run_id)
    return link(report.facts.partition, links.run(report.facts.dataset, report.facts.partition, name))


def state_badge(report: RunReport) -> Html:
    """The run's state as a badge."""
    tone = {"success": "ok", "retry": "warning"}.get(report.state, "failed")
    return tag("span", {"success": "done", "retry": "trying again"}.get(report.state, "failed"), class_=f"badge t-{tone}")
