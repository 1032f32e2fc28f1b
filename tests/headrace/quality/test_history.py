"""What a verdict is compared with: released days of the same weekday before it, half a year at most, and said so."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

import pytest
from headrace.lake import layout
from headrace.lake.local import LocalStore
from headrace.manifests.promote import promote
from headrace.quality.history import History, alike_days, history, monitor_history
from headrace.quality.lookup import newest_verdict
from headrace.quality.stored import store_verdict, stored_verdict
from headrace.quality.verdict import CheckResult, Verdict
from headrace.quality.verdict_json import verdict_from, verdict_plain
from headrace.spec.quality import Column, Drift, QualityPolicy

POLICY = QualityPolicy(columns=(Column(name="x", kind="numeric"),), checks=(Drift(column="x"),), reference="r.json")
TODAY = date(2013, 6, 3)


def verdict(day: date, psi: float) -> Verdict:
    check = CheckResult(
        id="drift.x",
        kind="Drift",
        column="x",
        severity="critical",
        state="ok",
        observed="",
        expected="",
        reason="",
        next_step="",
        numbers={"psi_debiased": psi},
    )
    return Verdict(
        state="ok",
        headline="All clear",
        checks=(check,),
        rows=1,
        profile_digest="p",
        reference_digest=None,
        policy_digest="q",
        about={"partition": day.isoformat()},
    )


def release(lake: LocalStore, days: list[date]) -> None:
    """Days released with verdicts whose distance is a hundredth per week of age."""
    manifests = {day.isoformat(): f"{n:064d}" for n, day in enumerate(days)}
    promote(lake, "d", manifests, {})
    for day in days:
        found = verdict(day, (TODAY - day).days / 700)
        store_verdict(lake, layout.verdict("d", day.isoformat(), manifests[day.isoformat()]), found, {})


def test_twenty_days_of_the_weekday_set_the_bar_and_are_named(lake: LocalStore) -> None:
    """The bar is the largest of 22 Mondays; the verdict can say which."""
    release(lake, [TODAY - timedelta(weeks=n) for n in range(1, 23)])
    found = history(lake, "d", TODAY.isoformat(), POLICY)

    assert found.usual == {"drift.x": pytest.approx(0.22)}
    assert len(found.compared_with) == 22
    assert found.compared_with[-1] == {"dataset": "d", "partition": "2013-05-27", "manifest": f"{0:064d}"}
    assert [item.about["partition"] for item in found.shown][:2] == ["2013-05-27", "2013-05-20"]


def test_nineteen_days_set_none_and_nothing_is_claimed(lake: LocalStore) -> None:
    """Too few: no bar, nothing compared with; the page's history still shows them."""
    release(lake, [TODAY - timedelta(weeks=n) for n in range(1, 20)])
    found = history(lake, "d", TODAY.isoformat(), POLICY)

    assert (found.usual, found.compared_with, len(found.shown)) == ({}, (), 14)


def test_only_days_before_within_half_a_year_count() -> None:
    """Later days, other weekdays and old ones are no company."""
    mondays = [TODAY + timedelta(weeks=n) for n in range(-60, 60)]
    others = [TODAY - timedelta(days=n) for n in range(1, 400) if n % 7]
    found = alike_days([day.isoformat() for day in (*mondays, *others)], TODAY)

    assert found == [(TODAY - timedelta(weeks=n)).isoformat() for n in range(26, 0, -1)]


def test_the_monitor_compares_with_live_days_that_passed(lake: LocalStore) -> None:
    """25 Mondays, three of which alarmed: the bar is of the 22 others, named; the page shows the last days whatever they said."""
    for week in range(1, 26):
        day = TODAY - timedelta(weeks=week)
        alarmed = week in (2, 3, 4)
        found = replace(verdict(day, 9.0 if alarmed else week / 100), state="failed" if alarmed else "ok")
        store_verdict(lake, layout.monitor_verdict("d", day.isoformat(), "subject"), found, {})
    found = monitor_history(lake, "d", TODAY, POLICY)

    assert found.usual == {"drift.x": pytest.approx(0.25)}
    assert [item["partition"] for item in found.compared_with][-2:] == ["2013-04-29", "2013-05-27"]
    assert found.compared_with[0] == {"dataset": "d live", "partition": "2012-12-10", "subject": "subject"}
    assert [item.state for item in found.shown] == ["ok", "failed"]
    assert monitor_history(lake, "nothing", TODAY, POLICY) == History()


def test_b61_the_cost_of_a_page_does_not_grow_with_history(lake: LocalStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """B61: after half a year and after three, the same number of objects is read: at most 14 shown days and 26 of the weekday."""
    real, read = LocalStore.get, []

    def counted(self: LocalStore, key: str, **kwargs: object) -> object:
        read.append(key)
        return real(self, key, **kwargs)  # type: ignore[arg-type]

    counts = []
    for days in (200, 1_000):
        dataset = f"d{days}"
        manifests = {(TODAY - timedelta(days=n)).isoformat(): f"{n:064d}" for n in range(1, days)}
        promote(lake, dataset, manifests, {})
        for key, manifest in list(manifests.items())[:190]:
            store_verdict(lake, layout.verdict(dataset, key, manifest), verdict(date.fromisoformat(key), 0.1), {})
        read.clear()
        monkeypatch.setattr(LocalStore, "get", counted)
        assert len(history(lake, dataset, TODAY.isoformat(), POLICY).shown) == 14
        monkeypatch.undo()
        counts.append(len(read))

    assert counts[0] == counts[1] <= 14 + 26 + 2


def test_an_unreleased_dataset_has_no_history(lake: LocalStore) -> None:
    """The first day is judged by the gates alone."""
    assert history(lake, "d", TODAY.isoformat(), POLICY).shown == ()


def test_a_stored_verdict_is_read_back_equal(lake: LocalStore) -> None:
    """Plain form, document and back; what it compared with beside it."""
    found = verdict(TODAY, 0.25)
    store_verdict(lake, "d/verdicts/2013-06-03/x.json", found, {"run_id": "r"}, compared_with=({"partition": "p"},))
    stored = stored_verdict(lake, "d/verdicts/2013-06-03/x.json")

    assert verdict_from(verdict_plain(found)) == found
    assert stored is not None
    assert (stored.verdict, stored.compared_with, stored.run) == (found, ({"partition": "p"},), {"run_id": "r"})
    assert newest_verdict(lake, "d").partition == "2013-06-03"
    assert stored_verdict(lake, "d/verdicts/2013-06-03/y.json") is None
