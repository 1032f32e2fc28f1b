"""A day is compared with days of its own weekday, once there are enough of them."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import pyarrow as pa
import pytest
from headrace.quality.empirical_null import usual_bar, usual_bars
from headrace.quality.profiler import profile_table
from headrace.quality.reference import build_reference
from headrace.quality.verdict import judge
from headrace.spec.quality import Column, Drift, QualityPolicy
from quality_samples import CODE

POLICY = QualityPolicy(columns=(Column(name="x", kind="numeric"),), checks=(Drift(column="x"),), reference="r.json")
FIRST = date(2013, 1, 6)  # a Sunday


def day_of(day: date, *, seed: int, shift: float = 0.0) -> pa.Table:
    """2,000 values; Sundays lie 0.6 standard deviations higher, as a quiet day does."""
    usual = 0.6 if day.weekday() == 6 else 0.0
    return pa.table({"x": np.random.default_rng(seed).normal(size=2000) + usual + shift})


REFERENCE = build_reference(
    pa.concat_tables([day_of(FIRST + timedelta(days=i), seed=i) for i in range(28)]), POLICY.plan, code_fingerprint=CODE
)


def verdict(day, seed, *, shift=0.0, usual=None):
    profile = profile_table(day_of(day, seed=seed, shift=shift), POLICY.plan, code_fingerprint=CODE, bins=REFERENCE.bins)
    return judge(profile, POLICY, REFERENCE, usual=usual, about={"partition": day.isoformat()})


@pytest.fixture(scope="module")
def earlier():
    return [verdict(FIRST + timedelta(weeks=i), 100 + i) for i in range(22)]


def test_b44_a_weekday_cycle_raises_no_alarm_and_a_real_shift_does(earlier):
    """B44: a Sunday is far from the mean of all days, as all Sundays are; half a deviation more is not usual."""
    day = FIRST + timedelta(weeks=30)
    bars = usual_bars(earlier, like=day)
    assert verdict(day, 7).check("drift.x").state != "ok"
    assert verdict(day, 7, usual=bars).check("drift.x").state == "ok"
    assert "days like this one usually are" in verdict(day, 7, usual=bars).check("drift.x").reason
    assert verdict(day, 7, usual=bars, shift=0.5).check("drift.x").state == "failed"


def test_other_weekdays_and_too_few_days_say_nothing(earlier):
    """No Monday among the Sundays; nineteen Sundays are not twenty."""
    assert usual_bars(earlier, like=FIRST + timedelta(days=1)) == {}
    assert usual_bars(earlier[:19], like=FIRST + timedelta(weeks=40)) == {}


@pytest.mark.parametrize(("count", "bar"), [(19, None), (20, 20), (100, 99), (200, 198)])
def test_the_bar_is_the_99_percent_point(count, bar):
    """Of 1 to n: the smallest value with 99 % at or below."""
    assert usual_bar([float(i) for i in range(count, 0, -1)]) == bar
