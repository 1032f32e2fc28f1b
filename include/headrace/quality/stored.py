"""Verdicts in the lake: written beside their report, read back by later runs and by people's tools.

A verdict may be written again: it is a function of the candidate, the policy, the reference and what it says it compared with. The
document's digest covers all of these; who judged and when stands outside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.lake.errors import ObjectMissing, StoredBytesDiffer
from headrace.lake.store import Store
from headrace.manifests.document import Document, from_bytes, to_bytes
from headrace.manifests.errors import DocumentRefused
from headrace.quality.verdict import Verdict
from headrace.quality.verdict_json import verdict_from, verdict_plain


@dataclass(frozen=True, kw_only=True)
class StoredVerdict:
    """A verdict as it lies in the lake, with the part that says who judged."""

    verdict: Verdict
    compared_with: tuple[dict[str, str], ...]
    run: dict[str, Any]


def store_verdict(
    lake: Store, key: str, verdict: Verdict, run: dict[str, Any], *, compared_with: tuple[dict[str, str], ...] = ()
) -> None:
    """Write a verdict; `compared_with` are the days whose distances set the bar, as dataset, partition and manifest."""
    content = {**verdict_plain(verdict), "compared_with": list(compared_with)}
    put(lake, key, to_bytes(Document(content=content, run=run)))


def stored_verdict(lake: Store, key: str) -> StoredVerdict | None:
    """The verdict at that key; None when there is none. Raises DocumentRefused for what is no verdict."""
    try:
        data = lake.get(key).data
    except ObjectMissing:
        return None
    where = f"{lake.uri}/{key}"
    document = from_bytes(where, data)
    try:
        compared = tuple(document.content.get("compared_with", ()))
        return StoredVerdict(verdict=verdict_from(document.content), compared_with=compared, run=document.run)
    except (KeyError, TypeError) as error:
        raise DocumentRefused(
            where,
            found=f"{type(error).__name__}: {error}",
            expected="a verdict",
            remedy="Judge the candidate again: clear the run.",
        ) from error


def put(lake: Store, key: str, data: bytes) -> None:
    """Write what may be written again, over whatever is there now, and read it back: an alert will name it.

    Raises:
        StoredBytesDiffer: the store gives back something else, or nothing.
    """
    current = lake.head(key)
    etag = lake.swap(key, data, expected=None if current is None else current.etag)
    try:
        found = lake.get(key)
    except ObjectMissing:
        found = None
    if found is None or (
        found.etag == etag and found.data != data
    ):  # another ETag: somebody has judged it since, which is as good
        raise StoredBytesDiffer(
            f"{lake.uri}/{key}",
            found="nothing" if found is None else f"{len(found.data):,} other bytes",
            expected=f"the {len(data):,} bytes just written",
            remedy="Try again; if it stays so, the store loses what it is given.",
        )
