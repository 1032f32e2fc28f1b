"""Tables, policies and references the quality tests share: literal where a test reads them, seeded where it needs many rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from headrace.quality.profiler import profile_table
from headrace.quality.reference import Reference, build_reference
from headrace.quality.verdict import Verdict, judge
from headrace.spec.quality import Check, Column, ProfilePlan, QualityPolicy

CODE = "code-1"


def normal(rows: int, *, seed: int, shift: float = 0.0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).normal(size=rows) + shift


def judge_column(
    reference: Any, sample: Any, *checks: Check, kind: str = "numeric", default: Any = None, levels: Any = None, **policy: Any
) -> Verdict:
    """The verdict of `checks` on one column `x`, values of any Arrow-able kind on both sides."""
    columns = (Column(name="x", kind=kind, default=default, levels=levels),)  # type: ignore[arg-type]
    return judge_tables(pa.table({"x": reference}), pa.table({"x": sample}), columns, checks, **policy)


def judge_tables(
    reference: pa.Table, sample: pa.Table, columns: tuple[Column, ...], checks: tuple[Check, ...], **policy: Any
) -> Verdict:
    frozen = build_reference(reference, ProfilePlan(columns=columns), code_fingerprint=CODE)
    return judge_against(frozen, sample, QualityPolicy(columns=columns, checks=checks, reference="r.json", **policy))


def judge_against(reference: Reference | None, sample: pa.Table, policy: QualityPolicy, *, code: str = CODE) -> Verdict:
    bins = None if reference is None else reference.bins
    return judge(profile_table(sample, policy.plan, code_fingerprint=code, bins=bins), policy, reference)
