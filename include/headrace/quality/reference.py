"""The frozen reference: bins chosen from it alone, and its own counts on them.

Edges are quantiles that occur in the reference, so an outlier in later data cannot stretch them (equal-width bins over both
sides hide a one-sigma shift behind a single outlier: PSI 0.911 becomes 0.022). A value with at least half a bin's share is a
tie no quantile can split; it gets a bin of its own, as does the declared default. Repeated edges fall together.

Quantiles are exact, so building a reference sorts each column once (about 0.1 s per million values); profiles do not.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace.quality.bins import MAX_CELLS, Bins, ColumnBins, LevelBins, NumericBins, bins_from, bins_plain, grouped
from headrace.quality.errors import ProfileError, ReferenceProfileError
from headrace.quality.numeric_column import numbers
from headrace.quality.profile import Profile
from headrace.quality.profile_json import profile_from, profile_plain
from headrace.quality.profiler import profile_table
from headrace.spec.canonical import canonical_json
from headrace.spec.quality import MAX_LEVELS, Column, ProfilePlan

REFERENCE_VERSION: Final = 1
_BINS: Final = 10
_TRACKED_LEVELS: Final = MAX_CELLS - 2


@dataclass(frozen=True, kw_only=True)
class Reference:
    """Bins and the reference's profile on them. `about` says for people what it was built from."""

    bins: Bins
    profile: Profile
    about: str = ""


def build_reference(table: pa.Table, plan: ProfilePlan, *, code_fingerprint: str, about: str = "") -> Reference:
    """Choose bins from `table` and count it on them. Raises ReferenceProfileError when it has no rows or lacks a column."""
    if table.num_rows == 0:
        raise ReferenceProfileError(
            "reference", found="no rows", expected="a table with rows", remedy="Choose other data as reference."
        )
    bins = choose_bins(table, plan)
    profile = profile_table(table, plan, code_fingerprint=code_fingerprint, bins=bins)
    for name, column in profile.columns.items():
        if column.absent or column.mistyped:
            types = ", ".join(sorted(column.types))
            raise ReferenceProfileError(
                f"reference column {name}",
                found=f"type {types}" if column.mistyped else f"{types.count(',') + 1 if types else 'no'} column of that name",
                expected=f"one {column.kind} column",
                remedy="Correct the table or the declared columns.",
            )
    return Reference(bins=bins, profile=profile, about=about)


def choose_bins(table: pa.Table, plan: ProfilePlan) -> Bins:
    """Bins for every column of the plan that the table has with a fitting type; booleans need none."""
    chosen: dict[str, ColumnBins] = {}
    free = profile_table(table, ProfilePlan(columns=plan.columns), code_fingerprint="")
    for column in plan.columns:
        seen = free.columns[column.name]
        if column.kind == "boolean" or seen.absent or seen.mistyped:
            continue
        if column.kind == "numeric":
            chosen[column.name] = numeric_bins(_finite_numbers(table[column.name]), default=column.default)
        else:
            chosen[column.name] = level_bins(_level_counts(table[column.name]), column)
    return Bins(columns=chosen)


def _finite_numbers(values: Any) -> npt.NDArray[np.float64]:
    plain = [numbers(chunk.drop_null()).astype(np.float64) for chunk in values.chunks]
    joined = np.concatenate(plain) if plain else np.empty(0)
    return joined[np.isfinite(joined)]


def numeric_bins(values: npt.NDArray[np.float64], *, default: Any = None, bins: int = _BINS) -> NumericBins:
    """Quantile bins of finite `values`, shape [n]. Without values there is one cell, or three with a default."""
    levels, counts = np.unique(values, return_counts=True)
    heavy = levels[counts * 2 * bins >= max(len(values), 1)].tolist()
    points = sorted({*heavy, *([] if default is None else [float(default)])})
    edges = {edge for point in points for edge in (point, math.nextafter(point, math.inf))}
    rest = np.sort(values[~np.isin(values, points)])
    if len(rest):
        share = len(rest) / len(values)
        cuts = max(1, round(bins * share))
        at = np.ceil(np.arange(1, cuts) / cuts * len(rest)).astype(np.intp) - 1
        edges |= set(rest[at].tolist())
    if len(values):
        edges |= {float(levels[0]), math.nextafter(float(levels[-1]), math.inf)}
    return grouped(tuple(sorted(edges)))


def _level_counts(values: Any) -> dict[str, int]:
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    counted = values.cast(pa.string()).drop_null().value_counts()
    return dict(zip(counted.field("values").to_pylist(), counted.field("counts").to_pylist(), strict=True))


def level_bins(counts: dict[str, int], column: Column) -> LevelBins:
    """The most frequent levels get cells, by count then text; the default always. A declared closed set is what is known."""
    ranked = sorted(counts, key=lambda level: (-counts[level], level))
    first = [] if column.default is None else [str(column.default)]
    tracked = sorted([*first, *(level for level in ranked if level not in first)][:_TRACKED_LEVELS])
    if column.levels is not None:
        return LevelBins(
            tracked=tuple(level for level in tracked if level in set(column.levels)), known=tuple(sorted(column.levels))
        )
    known = tuple(sorted({*counts, *first}))
    return LevelBins(tracked=tuple(tracked), known=known if len(known) <= MAX_LEVELS else None)


def reference_bytes(reference: Reference) -> bytes:
    """Canonical JSON of a reference, to be stored as `*.reference.json`."""
    return canonical_json(
        {
            "format": "headrace.reference",
            "version": REFERENCE_VERSION,
            "about": reference.about,
            "bins": bins_plain(reference.bins),
            "profile": profile_plain(reference.profile),
        }
    )


def reference_from(data: bytes | str) -> Reference:
    """The inverse of `reference_bytes`. Raises ReferenceProfileError for anything else, a newer version by name."""
    try:
        plain = json.loads(data)
        if plain["format"] != "headrace.reference":
            raise _unreadable(f"format {plain['format']!r}", "Give the reference file itself.")
        if plain["version"] > REFERENCE_VERSION:
            raise _unreadable(f"version {plain['version']}", "Read it with a newer headrace.")
        bins = bins_from(plain["bins"])
        profile = profile_from(plain["profile"])
    except (AttributeError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, (ReferenceProfileError, ProfileError)):
            raise
        raise _unreadable(f"{type(error).__name__}: {error}", "Build it again with build_reference.") from error
    if profile.bins_digest != bins.digest:
        raise _unreadable(
            "counts on other bins than the stored ones", "Build it again with build_reference; do not edit it by hand."
        )
    return Reference(bins=bins, profile=profile, about=plain["about"])


def _unreadable(found: str, remedy: str) -> ReferenceProfileError:
    return ReferenceProfileError(
        "reference profile", found=found, expected=f"a whole version {REFERENCE_VERSION} reference", remedy=remedy
    )


def load_reference(path: Path) -> Reference:
    """The reference stored in a local file."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ReferenceProfileError(
            f"reference profile {path}",
            found=str(error),
            expected="a readable file",
            remedy="Build it with build_reference and store it there.",
        ) from error
    return reference_from(data)
