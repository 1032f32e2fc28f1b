"""The correction of a release comes from its manifests, its weights are columns, and no table gets them twice."""

from __future__ import annotations

import logging
import subprocess
import sys

import pyarrow as pa
import pytest
from headrace.lake.local import LocalStore
from headrace.manifests.promote import promote
from headrace.manifests.release import Release
from headrace.quality.correct import correction_of, with_weights
from headrace.quality.correction import Correction
from headrace.quality.errors import CorrectionError
from headrace.quality.profile_json import profile_plain
from headrace.quality.profiler import profile_table
from headrace.spec.quality import Column, ProfilePlan, Sampling

from tests.headrace.loader.releases import partition

FRAUD = Sampling(label="fraud", keep_negative=4500 / 99500)
HALF = Sampling(label="fraud", keep_negative=0.5)
ROWS = pa.table({"n": [1, 2, 3], "fraud": [True, False, False]})


def released(lake: LocalStore, *designs: Sampling | None) -> Release:
    """A partition for each design, with what the gate stores of it; none is the release of a set without a policy."""
    candidates: dict[str, str] = {}
    for number, sampling in enumerate(designs, 1):
        plan = ProfilePlan(columns=(Column(name="fraud", kind="boolean"),), sampling=sampling)
        facts = {"profile": profile_plain(profile_table(ROWS, plan, code_fingerprint="c"))}
        candidates.update(partition(lake, "payments", f"2024-01-{number:02d}", ROWS, facts))
    return promote(lake, "payments", candidates, {})


def test_a_release_knows_its_correction(lake: LocalStore) -> None:
    """Two days of one design: the seeds' keep-rate, and 0.5 comes out as 0.0433."""
    correction = correction_of(lake, released(lake, FRAUD, FRAUD))

    assert correction == Correction(sampling=FRAUD)
    assert correction is not None
    assert correction.correct([0.5])[0] == pytest.approx([0.0432692308], abs=1e-10)


def test_nothing_sampled_on_purpose_is_nothing_to_correct(lake: LocalStore) -> None:
    """Neither with a policy that declares no sampling, nor without any policy."""
    plain = promote(lake, "plain", partition(lake, "plain", "all", ROWS), {})

    assert correction_of(lake, released(lake, None)) is None
    assert correction_of(lake, plain) is None


def test_days_of_different_sampling_are_refused(lake: LocalStore) -> None:
    """Each design is named with the first day that has it."""
    with pytest.raises(CorrectionError) as caught:
        correction_of(lake, released(lake, HALF, HALF, None))

    assert caught.value.found == ("2024-01-01: positives of fraud kept at 1, negatives at 0.5; 2024-01-03: no sampling by label")


def test_weights_are_columns_in_the_rows_order() -> None:
    """One positive stands for itself, each negative for two: 5 rows of the population, and the same with mean 1."""
    rows, record = with_weights(ROWS, Correction(sampling=HALF))

    assert rows["sample_weight"].to_pylist() == [1.0, 2.0, 2.0]
    assert rows["sample_weight_normalised"].to_pylist() == pytest.approx([0.6, 1.2, 1.2])
    assert rows.select(ROWS.column_names) == ROWS
    assert record.applied == "weights"


def test_b77_no_rows_are_weighed_twice() -> None:
    """B77: neither by a record that was used, nor when the table has a column of that name, whoever made it."""
    rows, record = with_weights(ROWS, Correction(sampling=HALF))

    with pytest.raises(CorrectionError, match="already applied by weights"):
        with_weights(ROWS, record)
    with pytest.raises(CorrectionError, match="columns sample_weight, sample_weight_normalised already"):
        with_weights(rows, Correction(sampling=HALF))


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        (pa.table({"n": [1]}), "no column fraud"),
        (pa.table({"fraud": [True, None]}), "object"),
        (pa.table({"fraud": [1, 0]}), "int64"),
    ],
)
def test_rows_without_a_label_have_no_weight(rows: pa.Table, found: str) -> None:
    """An absent label, an unknown one, and numbers that may mean anything."""
    with pytest.raises(CorrectionError) as caught:
        with_weights(rows, Correction(sampling=HALF))

    assert caught.value.found == found


def test_extreme_weights_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    """One negative among a thousand positives stands for a hundred thousand: a sentence in the log, and the weights all the same."""
    with caplog.at_level(logging.WARNING, "headrace"):
        with_weights(pa.table({"y": [True] * 999 + [False]}), Correction(sampling=Sampling(label="y", keep_negative=1e-5)))

    assert "a handful of rows decides" in caplog.text


def test_a_training_machine_needs_neither_statistics_nor_checks() -> None:
    """Only numpy, pyarrow and the lake: neither scipy nor Great Expectations is imported (pandas is, by pyarrow, where it is there)."""
    code = (
        "import sys, headrace.quality.correct, headrace.manifests.read, pyarrow as pa\n"
        "from headrace.spec.quality import Sampling\n"
        "from headrace.quality.correction import Correction\n"
        "headrace.quality.correct.with_weights(pa.table({'y': [True, False]}), Correction(sampling=Sampling(label='y')))\n"
        "print({'scipy', 'great_expectations', 'airflow'} & set(sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert found.stdout.strip() == "set()"
