"""What a replay of a sample would begin with: its source, its code and its packages then and now. Nothing of it is run here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pyarrow as pa

from headrace.errors import HeadraceError
from headrace.manifests.manifest import Manifest
from headrace.pages import figures
from headrace.pages.html import Html, join, tag
from headrace.pages.page import problem, section
from headrace.transforms.errors import NotReplayable
from headrace.transforms.replay.compared import CodeLook, CodeState, Compared, SourceLook
from headrace.transforms.replay.origin import SourceState

Compare = Callable[[Manifest, str, pa.Table], Compared]
"""From a sample (its partition, its ID, its row) to what was compared of it."""

_TONES: Final = {"nothing differs": "ok", "source gone": "failed", "source changed": "failed"}
_SOURCE_TONES: Final = {SourceState.SAME: "ok", SourceState.CHANGED: "failed", SourceState.GONE: "failed", None: "warning"}
_SAYS: Final = {
    "nothing differs": "What it was made of is as it was: a run today would begin with the same.",
    "source gone": "The object cannot be read again; the release keeps what was made of it.",
    "source changed": "The source holds another sample now; the release keeps the one that was read.",
    "transform changed": "The next run makes this sample with other code than it was made with.",
    "environment differs": "Source and code are as they were; packages of this server are not.",
    "not decided": "What was compared does not decide it.",
}


def compared_section(manifest: Manifest, sample_id: str, row: pa.Table, compare: Compare) -> Html:
    """The verdict, and what it rests on; nothing for a row that is computed from many samples."""
    try:
        found = compare(manifest, sample_id, row)
    except NotReplayable:
        return Html("")
    except HeadraceError as error:
        return problem("Then and now cannot be compared", tag("p", str(error)))
    items = [_source_item(found.source), *(item for one in found.code for item in _code_items(one))]
    return section(
        "Then and now",
        tag(
            "p",
            tag("span", found.verdict, class_=f"badge t-{_TONES.get(found.verdict, 'warning')}"),
            f" {_SAYS[found.verdict]}",
        ),
        tag("ul", *items, class_="plain"),
        tag(
            "p",
            "Nothing was run for this page. ",
            "Whether the code still gives this output: " if found.code else "To read it again from the object's bytes: ",
            tag("code", f"headrace replay {manifest.dataset} {sample_id}"),
            class_="note",
        ),
    )


def _source_item(look: SourceLook) -> Html:
    words = "not compared" if look.state is None else str(look.state)
    etags = join("ETag ", figures.digest(look.recorded_etag))
    if look.found_etag not in (None, look.recorded_etag):
        etags = join(etags, " then, ", figures.digest(str(look.found_etag)), " now")
    return _item(_SOURCE_TONES[look.state], words, "Source object", join(etags, ". ", look.how))


def _code_items(look: CodeLook) -> list[Html]:
    tone = "ok" if look.state is CodeState.SAME else "warning"
    against = join("Fingerprint ", figures.digest(look.fingerprint), ", against its declaration and its modules as they are now.")
    more = join(against, " ", "; ".join(look.differences)) if look.differences else against
    packages = "; ".join(look.packages) if look.packages else "As recorded, and as this server has them."
    return [
        _item(tone, str(look.state), f"Code of {look.transform}", more),
        _item(
            "warning" if look.packages else "ok", "others" if look.packages else "same", f"Packages of {look.transform}", packages
        ),
    ]


def _item(tone: str, words: str, subject: str, more: object) -> Html:
    return tag("li", tag("span", words, class_=f"badge t-{tone}"), " ", tag("strong", subject), " ", tag("small", more))
