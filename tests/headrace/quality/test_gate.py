"""The gate on real flights: what fails is held and listed, what a person approves is released with the name, and days do not mix."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest
from flights_lake import RUN, candidate, checked, land, publish_days
from headrace.lake import layout
from headrace.lake.local import LocalStore
from headrace.manifests.gc import collect, find_garbage
from headrace.manifests.read import latest, read_manifest
from headrace.quality.approval import ApprovalRefused, approval_of
from headrace.quality.gate import UNCHECKED, GateHeld, NothingHeld, approve_held, check_candidate, promote_checked
from headrace.quality.held import held_candidates
from headrace.quality.stored import stored_verdict
from headrace.spec.quality import Column, Maturity, QualityPolicy, RowCount, Sampling

from include.datasets.flights import FLIGHT_DELAY, QUALITY

DAYS = [date(2013, 1, 1) + timedelta(days=n) for n in range(3)]
FIRST, SECOND = DAYS[1].isoformat(), DAYS[2].isoformat()


def kilometres(key: str, content: bytes) -> bytes:
    """On the second day a source delivers kilometres where it delivered miles."""
    if "/2013/01/02/" not in key:
        return content
    header, *rows = content.splitlines()
    cells = [row.split(b",") for row in rows]
    at = header.split(b",").index(b"distance")
    changed = [[*row[:at], str(round(int(row[at]) * 1.609)).encode(), *row[at + 1 :]] for row in cells]
    return b"\n".join([header, *(b",".join(row) for row in changed)]) + b"\n"


@pytest.fixture(scope="module")
def lake_before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three days of flights, the second in kilometres."""
    folder = tmp_path_factory.mktemp("flights")
    source, lake = LocalStore(folder / "landing"), LocalStore(folder / "lake")
    land(source, DAYS, kilometres)
    publish_days(source, lake, DAYS)
    return folder / "lake"


@pytest.fixture
def flights(lake_before: Path, tmp_path: Path) -> LocalStore:
    """A lake of its own for each test."""
    import shutil

    shutil.copytree(lake_before, tmp_path / "flights")
    return LocalStore(tmp_path / "flights")


def test_a_good_day_is_released_with_its_verdict_and_page_beside_it(flights: LocalStore) -> None:
    """Verdict and report lie in the lake; the release has no note."""
    digest, found = checked(FLIGHT_DELAY, DAYS[2], flights)
    release = promote_checked(FLIGHT_DELAY, SECOND, digest, RUN, lake=flights)

    assert (found.state, release.partitions, release.notes) == ("ok", {SECOND: digest}, ())
    stored = stored_verdict(flights, layout.verdict("flight_delay", SECOND, digest))
    assert stored is not None
    assert stored.verdict == found.verdict
    assert stored.compared_with == ()
    assert b"<html" in flights.get(layout.report("flight_delay", SECOND, digest)).data


def test_a_shifted_feature_is_held_and_neither_blocks_nor_rides_along(flights: LocalStore) -> None:
    """The day in kilometres is held and listed; the next day is released without it."""
    bad, found = checked(FLIGHT_DELAY, DAYS[1], flights)
    with pytest.raises(GateHeld) as held:
        promote_checked(FLIGHT_DELAY, FIRST, bad, RUN, lake=flights)
    good, _ = checked(FLIGHT_DELAY, DAYS[2], flights)
    release = promote_checked(FLIGHT_DELAY, SECOND, good, RUN, lake=flights)

    assert found.verdict is not None
    assert [item.id for item in found.verdict.checks if item.effect == "failed"] == ["drift.distance"]
    assert "flight_delay.approve" in held.value.remedy
    assert release.partitions == {SECOND: good}
    records = held_candidates(flights, "flight_delay")
    assert [(item.partition, item.manifest, item.checks, item.outcome) for item in records] == [
        (FIRST, bad, ("drift.distance",), "held")
    ]


def test_a_person_approves_a_held_day(flights: LocalStore) -> None:
    """Who, when, why and in spite of what stand in the release; clearing the run afterwards comes to the same release."""
    bad, _ = checked(FLIGHT_DELAY, DAYS[1], flights)
    with pytest.raises(GateHeld):
        promote_checked(FLIGHT_DELAY, FIRST, bad, RUN, lake=flights)
    made = approve_held(FLIGHT_DELAY, FIRST, who="ada", why="kilometres are fine for this run", run=RUN, lake=flights)

    assert (made.release.partitions, made.checks) == ({FIRST: bad}, ("drift.distance",))
    assert [note.kind for note in made.release.notes] == ["failed", "approved"]
    note = made.release.notes[1].text
    assert note.startswith("approved by ada at 20")
    assert "kilometres are fine for this run (checks: drift.distance; Blocked" in note
    assert promote_checked(FLIGHT_DELAY, FIRST, bad, RUN, lake=flights) == made.release
    assert [item.outcome for item in held_candidates(flights, "flight_delay")] == ["released"]


def test_an_approval_covers_what_was_seen_and_nothing_else(flights: LocalStore) -> None:
    """The same candidate that later fails another check is held again."""
    bad, _ = checked(FLIGHT_DELAY, DAYS[1], flights)
    with pytest.raises(GateHeld):
        promote_checked(FLIGHT_DELAY, FIRST, bad, RUN, lake=flights)
    approve_held(FLIGHT_DELAY, FIRST, who="ada", why="kilometres are fine", run=RUN, lake=flights)
    stricter = replace(FLIGHT_DELAY, live=None, quality=replace(QUALITY, checks=(*QUALITY.checks[1:], RowCount(minimum=100_000))))
    check_candidate(stricter, FIRST, bad, RUN, lake=flights)

    with pytest.raises(GateHeld, match="Blocked: 2 critical failures"):
        promote_checked(stricter, FIRST, bad, RUN, lake=flights)


@pytest.mark.parametrize(("who", "why"), [("ada", "ok"), ("ada", "   short    "), ("", "a reason that is long enough")])
def test_an_approval_without_name_or_reason_is_refused(flights: LocalStore, who: str, why: str) -> None:
    """Nothing is stored and nothing released."""
    bad, _ = checked(FLIGHT_DELAY, DAYS[1], flights)
    with pytest.raises(GateHeld):
        promote_checked(FLIGHT_DELAY, FIRST, bad, RUN, lake=flights)

    with pytest.raises(ApprovalRefused):
        approve_held(FLIGHT_DELAY, FIRST, who=who, why=why, run=RUN, lake=flights)
    assert approval_of(flights, "flight_delay", FIRST, bad) is None
    assert latest(flights, "flight_delay") is None


def test_there_is_nothing_to_approve_where_nothing_is_held(flights: LocalStore) -> None:
    """The refusal says what to run."""
    with pytest.raises(NothingHeld, match=r"flight_delay\.build"):
        approve_held(FLIGHT_DELAY, SECOND, who="ada", why="because I say so", run=RUN, lake=flights)


def test_a_mended_day_replaces_the_held_one(flights: LocalStore) -> None:
    """When a good candidate of the day is released, the held one says so and can no longer be approved."""
    bad, _ = checked(FLIGHT_DELAY, DAYS[1], flights)
    with pytest.raises(GateHeld):
        promote_checked(FLIGHT_DELAY, FIRST, bad, RUN, lake=flights)
    without_drift = replace(FLIGHT_DELAY, live=None, ttl=timedelta(days=30), quality=replace(QUALITY, checks=QUALITY.checks[:2]))
    good, _ = checked(without_drift, DAYS[1], flights)
    promote_checked(without_drift, FIRST, good, RUN, lake=flights)

    record = held_candidates(flights, "flight_delay")[0]
    assert (record.manifest, record.outcome, record.by) == (bad, "replaced", good)
    with pytest.raises(NothingHeld):
        approve_held(FLIGHT_DELAY, FIRST, who="ada", why="because I say so", run=RUN, lake=flights)


def test_judging_again_gives_the_same_bytes_and_changes_no_shard(flights: LocalStore) -> None:
    """The verdict is a function of the candidate and of what it says it compared with."""
    digest, _ = checked(FLIGHT_DELAY, DAYS[2], flights)
    key = layout.verdict("flight_delay", SECOND, digest)
    before, page = stored_verdict(flights, key), flights.get(layout.report("flight_delay", SECOND, digest)).data
    again, _ = checked(FLIGHT_DELAY, DAYS[2], flights)

    after = stored_verdict(flights, key)
    assert again == digest
    assert before is not None
    assert after is not None
    assert (after.verdict, after.compared_with) == (before.verdict, before.compared_with)
    assert flights.get(layout.report("flight_delay", SECOND, digest)).data == page


def test_labels_younger_than_their_horizon_are_held(flights: LocalStore) -> None:
    """The set is joined a day after its labels; a label that needs ten days to be final makes every negative a question."""
    checks = (*QUALITY.checks[:2], Maturity(label="label", horizon=timedelta(days=10)))
    hasty = replace(FLIGHT_DELAY, live=None, quality=replace(QUALITY, checks=checks))
    _, found = checked(hasty, DAYS[2], flights)

    assert found.verdict is not None
    result = found.verdict.check("maturity.label")
    assert result.state == "failed"
    assert "called negative before they are old enough" in result.reason
    assert result.numbers["immature"] == result.numbers["immature_negative"] == 665


def test_a_wrong_keep_rate_is_held(flights: LocalStore) -> None:
    """All negatives were kept, one in four was declared: the odds come out four times off."""
    sampled = replace(QUALITY, sampling=Sampling(label="label", keep_negative=0.25))
    checks = tuple(
        replace(item, max_odds_ratio=1.5, severity="critical") if item.id == "prevalence.label" else item
        for item in sampled.checks
    )
    wrong = replace(FLIGHT_DELAY, quality=replace(sampled, checks=checks))
    _, found = checked(wrong, DAYS[2], flights)

    assert found.verdict is not None
    result = found.verdict.check("prevalence.label")
    assert (result.state, found.verdict.passes) == ("failed", False)
    assert result.numbers["odds_ratio"] == pytest.approx(0.2846, abs=1e-4)  # a quarter of the day's 1.138


def test_a_vanished_column_is_held_whatever_else_is_right(flights: LocalStore) -> None:
    """A column the policy profiles and nobody delivers any more is critical."""
    policy = QualityPolicy(columns=(*QUALITY.columns, Column(name="gate_number", kind="numeric")), checks=(RowCount(),))
    _, found = checked(replace(FLIGHT_DELAY, live=None, quality=policy), DAYS[2], flights)

    assert found.verdict is not None
    assert (found.verdict.state, found.verdict.check("schema").severity) == ("failed", "critical")
    assert "gate_number" in found.verdict.check("schema").reason


def test_a_training_set_without_a_policy_is_released_with_a_note(flights: LocalStore) -> None:
    """Nothing was asked, and the release says so."""
    unguarded = replace(FLIGHT_DELAY, quality=None, live=None)
    digest = candidate(unguarded, DAYS[2], flights)
    found = check_candidate(unguarded, SECOND, digest, RUN, lake=flights)
    release = promote_checked(unguarded, SECOND, digest, RUN, lake=flights)

    assert (found.state, found.verdict) == (UNCHECKED, None)
    assert [note.kind for note in release.notes] == [UNCHECKED]
    assert "profile" not in read_manifest(flights, "flight_delay", SECOND, digest).facts


def test_evidence_is_recorded_only_where_it_is_asked_for(flights: LocalStore) -> None:
    """A policy without label checks leaves the manifest's facts as they were."""
    plain = replace(FLIGHT_DELAY, live=None, quality=replace(QUALITY, checks=QUALITY.checks[:2]))
    facts = read_manifest(flights, "flight_delay", SECOND, candidate(plain, DAYS[2], flights)).facts

    assert sorted(facts) == ["inputs", "profile", "training"]


def test_what_is_held_survives_collection_and_can_still_be_released(flights: LocalStore) -> None:
    """However long a candidate waits for a person, its shards are there when the person comes."""
    bad, _ = checked(FLIGHT_DELAY, DAYS[1], flights)
    with pytest.raises(GateHeld):
        promote_checked(FLIGHT_DELAY, FIRST, bad, RUN, lake=flights)
    stray, _ = checked(replace(FLIGHT_DELAY, ttl=timedelta(days=30)), DAYS[1], flights)
    old = time.time() - timedelta(days=90).total_seconds()
    for info in list(flights.list("flight_delay/")):
        os.utime(Path(flights.uri.removeprefix("file://")) / info.key, (old, old))
    gone = collect(flights, find_garbage(flights, "flight_delay"))

    assert gone > 0
    assert flights.head(layout.manifest("flight_delay", FIRST, stray)) is None
    manifest = read_manifest(flights, "flight_delay", FIRST, bad)
    assert all(flights.head(layout.shard("flight_delay", shard.sha256)) is not None for shard in manifest.shards)
    made = approve_held(FLIGHT_DELAY, FIRST, who="ada", why="better late than never", run=RUN, lake=flights)
    assert made.release.partitions == {FIRST: bad}
