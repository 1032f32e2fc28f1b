"""What a replay of a sample would begin with: its source, its code and its packages then and now. Nothing of it is run here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pyarrow as pa

from headrace.errors import HeadraceError
from headrace.manifests.manifest import Manifest
from headrace.pages import figures
from headrace.pages.html import Html, join, table, tag
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
    rows = [_source_row(found.source), *(line for one in found.code for line in _code_rows(one))]
    return section(
        "Then and now",
        tag(
            "p",
            tag("span", found.verdict, class_=f"badge t-{_TONES.get(found.verdict, 'warning')}"),
            f" {_SAYS[found.verdict]}",
        ),
        table(("Compared", "Then", "Now", ""), rows, caption="What was compared"),
        tag(
            "p",
            "Nothing was run for this page. ",
            "Whether the code still gives this output: " if found.code else "To read it again from the object's bytes: ",
            tag("code", f"headrace replay {manifest.dataset} {sample_id}"),
            class_="note",
        ),
    )


def _source_row(look: SourceLook) -> list[object]:
    now = "none" if look.found_etag is None else tag("code", look.found_etag)
    words = "not compared" if look.state is None else str(look.state)
    badge = tag("span", words, class_=f"badge t-{_SOURCE_TONES[look.state]}")
    return ["Source object", tag("code", look.recorded_etag), now, join(badge, tag("small", f" {look.how}"))]


def _code_rows(look: CodeLook) -> list[list[object]]:
    tone = "ok" if look.state is CodeState.SAME else "warning"
    more = f" {'; '.join(look.differences)}" if look.differences else ""
    said = join(tag("span", str(look.state), class_=f"badge t-{tone}"), tag("small", more))
    declared = "not declared" if look.state is CodeState.GONE else "as declared today"
    packages = "; ".join(look.packages)
    return [
        [f"Code of {look.transform}", figures.digest(look.fingerprint), declared, said],
        [
            f"Packages of {look.transform}",
            "as recorded",
            "as installed in this server",
            join(
                tag("span", "others" if look.packages else "same", class_=f"badge t-{'warning' if look.packages else 'ok'}"),
                tag("small", f" {packages}") if look.packages else None,
            ),
        ],
    ]
