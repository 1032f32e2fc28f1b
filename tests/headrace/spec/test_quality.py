"""What a quality declaration refuses at the door, with the field, the value and what is allowed."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest
from headrace.spec.errors import DeclarationError
from headrace.spec.quality import (
    Column,
    Drift,
    KnownLevels,
    MissingShare,
    Prevalence,
    PrevalenceReference,
    ProfilePlan,
    QualityPolicy,
    Range,
    RowCount,
    Sampling,
    TopShare,
)

COLUMNS = (
    Column(name="distance", kind="numeric", default=0.0),
    Column(name="carrier", kind="categorical"),
    Column(name="origin", kind="categorical", levels=("EWR", "JFK", "LGA")),
    Column(name="late", kind="boolean"),
)


def policy(*checks, **changes):
    return QualityPolicy(**{"columns": COLUMNS, "checks": checks, "reference": "flights.reference.json", **changes})


@pytest.mark.parametrize(
    ("build", "field"),
    [
        (lambda: Column(name="x", kind="integer"), "kind"),
        (lambda: Column(name="", kind="numeric"), "name"),
        (lambda: Column(name="x", kind="numeric", default="unknown"), "default"),
        (lambda: Column(name="x", kind="boolean", default=False), "default"),
        (lambda: Column(name="x", kind="numeric", levels=("a",)), "levels"),
        (lambda: Column(name="x", kind="categorical", levels=("a", "a")), "levels"),
        (lambda: Column(name="x", kind="categorical", levels=("a",), default="b"), "default"),
        (lambda: RowCount(minimum=0), "minimum"),
        (lambda: RowCount(minimum=5, maximum=4), "maximum"),
        (lambda: RowCount(severity="fatal"), "severity"),
        (lambda: MissingShare(column="x", maximum=1.5), "maximum"),
        (lambda: MissingShare(column="x", maximum=math.nan), "maximum"),
        (lambda: Range(column="x"), "minimum"),
        (lambda: Range(column="x", minimum=2, maximum=1), "maximum"),
        (lambda: Range(column="x", minimum=math.inf), "minimum"),
        (lambda: PrevalenceReference(positives=5, labelled=0), "labelled"),
        (lambda: PrevalenceReference(positives=6, labelled=5), "positives"),
        (lambda: Prevalence(label="late", max_odds_ratio=1.0), "max_odds_ratio"),
        (lambda: Prevalence(label="late", alpha=0.0), "alpha"),
        (lambda: Drift(column="x", metric="kl"), "metric"),
        (lambda: Drift(column="x", warn=0.5), "fail"),
        (lambda: Drift(column="x", share_warn=0.2), "share_fail"),
        (lambda: ProfilePlan(columns=()), "columns"),
        (lambda: ProfilePlan(columns=(COLUMNS[0], COLUMNS[0])), "columns"),
        (policy, "checks"),
        (lambda: policy(RowCount(), RowCount(minimum=2)), "checks"),
        (lambda: policy(MissingShare(column="speed")), "column"),
        (lambda: policy(Drift(column="distance"), reference=None), "reference"),
        (lambda: policy(Prevalence(label="late"), reference=None), "reference"),
        (lambda: policy(Prevalence(label="carrier")), "column"),
        (lambda: policy(KnownLevels(column="carrier")), "column"),
        (lambda: policy(Range(column="late", minimum=0)), "column"),
        (lambda: policy(RowCount(), sampling=Sampling(label="carrier")), "sampling"),
        (lambda: policy(RowCount(), false_discovery_rate=0), "false_discovery_rate"),
    ],
)
def test_a_wrong_declaration_names_its_field(build, field):
    """Every bound is checked when the declaration is made, and the error says where."""
    with pytest.raises(DeclarationError) as caught:
        build()
    assert caught.value.subject.endswith(f".{field}")


@pytest.mark.parametrize("rate", [0.0, -0.1, 1.01, math.nan, math.inf, True, None, "0.5"])
def test_b72_a_bad_keep_rate_is_refused(rate):
    """B72: a keep-rate of 0, above 1, NaN or no number at all cannot be undone."""
    with pytest.raises(DeclarationError) as caught:
        Sampling(label="late", keep_negative=rate)
    assert caught.value.subject == "Sampling late.keep_negative"


@pytest.mark.parametrize(("column", "metric"), [("distance", "linf"), ("carrier", "ks"), ("late", "ks")])
def test_b25_a_metric_that_does_not_apply_is_a_configuration_error(column, metric):
    """B25: L-infinity on a number, or KS on unordered levels, is refused instead of being 0 for ever."""
    with pytest.raises(DeclarationError) as caught:
        policy(Drift(column=column, metric=metric))
    assert metric in caught.value.expected


def test_b2_a_policy_without_checks_is_refused():
    """B2: zero checks is not a pass but a wrong declaration."""
    with pytest.raises(DeclarationError, match="a gate without checks lets all pass"):
        policy()


def test_b49_a_missing_bound_or_reference_is_an_error_when_the_file_is_read():
    """B49: a check without the bound it needs, or drift without anything to compare with, never gets as far as data."""
    with pytest.raises(TypeError, match="maximum"):
        TopShare(column="carrier")
    with pytest.raises(DeclarationError, match="at least one of minimum and maximum"):
        Range(column="distance")
    with pytest.raises(DeclarationError, match=r"drift\.distance compares with it"):
        policy(Drift(column="distance"), reference=None)


def test_b24_a_kind_is_declared_never_guessed():
    """B24: there is no default kind, so a 0/1 column or a numeric code cannot be taken for what it is not."""
    with pytest.raises(TypeError):
        Column(name="x")


def test_checks_have_stable_identities():
    """Identity is kind and subject, so history survives a reordering of the declaration."""
    checks = (
        Prevalence(label="late"),
        Drift(column="distance"),
        Drift(column="distance", metric="ks"),
        TopShare(column="x", maximum=1),
    )
    assert [check.id for check in checks] == ["prevalence.late", "drift.distance", "drift.distance.ks", "top_share.x"]


def test_prevalence_of_an_unsampled_label_is_refused_when_another_was_sampled():
    """The rates of one label say nothing about the odds of another."""
    columns = (*COLUMNS, Column(name="cancelled", kind="boolean"))
    with pytest.raises(DeclarationError, match="whose rates are known"):
        policy(Prevalence(label="cancelled"), columns=columns, sampling=Sampling(label="late", keep_negative=0.1))


def test_b66_declarations_import_nothing_heavy():
    """B66: parsing a DAG file that declares a policy imports neither numpy nor pyarrow nor the check library."""
    code = "import sys, headrace.spec.quality; print({'numpy', 'pyarrow', 'pandas', 'scipy', 'great_expectations'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"
