"""A profile's stored form: strict, canonical JSON with a version; a newer version is refused by name."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any, Final

from headrace.quality.errors import ProfileError
from headrace.quality.exact import exact_from, exact_text
from headrace.quality.profile import ColumnProfile, Profile
from headrace.spec.canonical import canonical_json
from headrace.spec.quality import Sampling

PROFILE_VERSION: Final = 1


def profile_bytes(profile: Profile) -> bytes:
    """Canonical JSON: equal profiles are equal bytes."""
    return canonical_json(profile_plain(profile))


def profile_plain(profile: Profile) -> dict[str, Any]:
    """JSON's own types."""
    sampling = profile.sampling
    return {
        "format": "headrace.profile",
        "version": PROFILE_VERSION,
        "plan_digest": profile.plan_digest,
        "bins_digest": profile.bins_digest,
        "code_fingerprint": profile.code_fingerprint,
        "sampling": None
        if sampling is None
        else {"label": sampling.label, "keep_positive": sampling.keep_positive, "keep_negative": sampling.keep_negative},
        "rows": profile.rows,
        "strata": list(profile.strata),
        "stratum_rows": list(profile.stratum_rows),
        "columns": {name: _column_plain(item) for name, item in profile.columns.items()},
    }


def _column_plain(item: ColumnProfile) -> dict[str, Any]:
    return {
        "kind": item.kind,
        "types": sorted(item.types),
        "absent": item.absent,
        "mistyped": item.mistyped,
        "specials": [list(stratum) for stratum in item.specials],
        "counts": [list(stratum) for stratum in item.counts],
        "total": exact_text(item.total),
        "squares": exact_text(item.squares),
        "minimum": None if item.minimum is None else exact_text(item.minimum),
        "maximum": None if item.maximum is None else exact_text(item.maximum),
        "new_levels": [list(pair) for pair in item.new_levels],
        "free_levels": None if item.free_levels is None else [list(pair) for pair in item.free_levels],
        "finite": item.finite,
    }


def profile_from(data: bytes | str | dict[str, Any]) -> Profile:
    """The profile of stored bytes. Raises ProfileError for a newer version and for what is no profile."""
    plain = _loaded(data)
    if plain.get("format") != "headrace.profile" or not isinstance(plain.get("version"), int):
        raise ProfileError(
            "profile",
            found=f"format {plain.get('format')!r}",
            expected="a document with format 'headrace.profile' and a version",
            remedy="Give the profile file itself.",
        )
    if plain["version"] > PROFILE_VERSION:
        raise ProfileError(
            "profile",
            found=f"version {plain['version']}",
            expected=f"version {PROFILE_VERSION} or older",
            remedy="Read it with a newer headrace.",
        )
    try:
        return _profile(plain)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ProfileError(
            "profile",
            found=f"{type(error).__name__}: {error}",
            expected="a complete version 1 profile",
            remedy="Profile the table again.",
        ) from error


def _loaded(data: bytes | str | dict[str, Any]) -> dict[str, Any]:
    if isinstance(data, dict):
        return data
    try:
        plain = json.loads(data)
    except ValueError as error:
        raise ProfileError("profile", found=str(error), expected="JSON", remedy="Give the profile file itself.") from error
    return plain if isinstance(plain, dict) else {}


def _profile(plain: dict[str, Any]) -> Profile:
    sampling = plain["sampling"]
    return Profile(
        plan_digest=plain["plan_digest"],
        bins_digest=plain["bins_digest"],
        code_fingerprint=plain["code_fingerprint"],
        sampling=None if sampling is None else Sampling(**sampling),
        rows=plain["rows"],
        strata=tuple(plain["strata"]),
        stratum_rows=tuple(plain["stratum_rows"]),
        columns={name: _column(item) for name, item in plain["columns"].items()},
    )


def _column(plain: dict[str, Any]) -> ColumnProfile:
    free = plain["free_levels"]
    return ColumnProfile(
        kind=plain["kind"],
        types=frozenset(plain["types"]),
        absent=plain["absent"],
        mistyped=plain["mistyped"],
        specials=tuple(tuple(stratum) for stratum in plain["specials"]),
        counts=tuple(tuple(stratum) for stratum in plain["counts"]),
        total=exact_from(plain["total"]),
        squares=exact_from(plain["squares"]),
        minimum=_exact_or_none(plain["minimum"]),
        maximum=_exact_or_none(plain["maximum"]),
        new_levels=tuple((level, count) for level, count in plain["new_levels"]),
        free_levels=None if free is None else tuple((level, count) for level, count in free),
        finite=plain["finite"],
    )


def _exact_or_none(text: str | None) -> Fraction | None:
    return None if text is None else exact_from(text)
