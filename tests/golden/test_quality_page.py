"""What `docs/quality.md` works out by hand and prints as code is recomputed and run as it stands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from headrace.lake.local import LocalStore
from headrace.manifests.promote import promote
from headrace.quality.correction import CorrectedScorer, Correction
from headrace.quality.distance import debiased_psi, homogeneity_p, psi
from headrace.quality.errors import CorrectionError
from headrace.quality.profile_json import profile_plain
from headrace.quality.profiler import profile_table
from headrace.spec.quality import Column, ProfilePlan, Sampling

from tests.headrace.loader.releases import partition

PAGE = (Path(__file__).parents[2] / "docs" / "quality.md").read_text()
LABELS = [True] * 500 + [False] * 4500
DESIGN = Sampling(label="fraud", keep_negative=4500 / 99500)


def number(text: str) -> float:
    return float(text.replace(",", ""))


def test_b36_the_distance_by_hand_is_the_distance() -> None:
    """B36: each cell of the worked table, its sum, what chance would give, and the p-value, to the printed digits."""
    rows = re.findall(r"^\| (?:short|middle|long) \| (.*) \|$", PAGE, re.MULTILINE)
    table = np.array([[number(cell) for cell in row.split(" | ")] for row in rows])
    reference, day = table[:, 0], table[:, 1]
    p, q = (reference + 0.5) / 10_001.5, (day + 0.5) / 1_001.5

    assert table[:, 2:] == pytest.approx(np.stack([p, q, (q - p) * np.log(q / p)], axis=1), abs=5.1e-6)
    assert f"a PSI of {psi(reference, day):.4f}." in PAGE
    assert f"is {debiased_psi(reference, day):.4f}, the number the gate looks at" in PAGE
    assert f"= {psi(reference, day) - debiased_psi(reference, day):.4f} on average" in PAGE
    assert f"(p = {homogeneity_p(reference, day):.5f})" in PAGE


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names after the page's code, on the 5,000 payments it speaks of, released in a lake of their own."""
    lake, rows = LocalStore(tmp_path), pa.table({"n": range(5_000), "fraud": LABELS})
    plan = ProfilePlan(columns=(Column(name="fraud", kind="boolean"),), sampling=DESIGN)
    facts = {"profile": profile_plain(profile_table(rows, plan, code_fingerprint="c"))}
    promote(lake, "payments", partition(lake, "payments", "all", rows, facts), {})
    monkeypatch.setenv("HEADRACE_LAKE", lake.uri)
    names: dict[str, Any] = {"rows": rows, "model": lambda features: np.full(len(features), 0.5)}
    [code] = [block for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "correction_of" in block]
    exec(code, names)
    return names


def test_the_page_corrects_as_it_says(said: dict[str, Any]) -> None:
    """5,000 kept rows weigh as 100,000, or a score of 0.5 becomes 0.0433."""
    assert said["correction"] == Correction(sampling=DESIGN)
    assert sum(said["rows"]["sample_weight"].to_pylist()) == pytest.approx(100_000)
    assert np.mean(said["rows"]["sample_weight_normalised"]) == pytest.approx(1)
    assert isinstance(said["score"], CorrectedScorer)
    assert round(float(said["score"]([0])[0]), 4) == 0.0433


def test_the_page_says_what_is_refused(said: dict[str, Any]) -> None:
    """The record of weighted rows makes no scorer."""
    with pytest.raises(CorrectionError, match="already applied by weights"):
        said["weighted"].scorer(said["model"])
