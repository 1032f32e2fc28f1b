"""*Sample*: from a sample ID to its values and back to the object it came from."""

from __future__ import annotations

import base64
import re
from codecs import getincrementaldecoder
from typing import Any, Final

from headrace.errors import HeadraceError
from headrace.manifests.manifest import Manifest
from headrace.manifests.release import Release
from headrace.pages import figures
from headrace.pages.catalogue import Catalogue, Entry
from headrace.pages.compared import Compare, compared_section
from headrace.pages.html import Html, facts, join, table, tag
from headrace.pages.links import Links
from headrace.pages.page import empty, link, page, problem, section
from headrace.pages.reads import Reads
from headrace.shards.find import Found, find_by_id
from headrace.shards.table import COMPUTED

SAMPLE_ID: Final = re.compile(r"[0-9a-f]{32}")
_IDENTITY: Final = ("sample_id", "source_key", "source_etag", "source_row", "source_member", "sample_digest")
_SHOWN_BYTES: Final = 2_000_000
_SHOWN_TEXT: Final = 4000
_PICTURES: Final = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}


def sample_page(  # noqa: PLR0917 - what was asked, and what answers
    catalogue: Catalogue, dataset: str | None, sample_id: str | None, reads: Reads, links: Links, compare: Compare
) -> bytes:
    """The form, and what was found. Raises `PageMissing` for a dataset this person may not see."""
    form = _form(catalogue, dataset, sample_id, links)
    lead = "Any sample of a release in use, by its ID."
    if not catalogue.entries:
        return page(
            "Sample", empty("No dataset to look in", "Nothing is declared whose DAG you may read."), here="Sample", links=links
        )
    if dataset is None or sample_id is None or sample_id.strip() == "":
        hint = _example(catalogue.entries[0] if dataset is None else catalogue.entry(dataset), reads, links)
        return page("Sample", form, hint, here="Sample", links=links, lead=lead)
    entry, wanted = catalogue.entry(dataset), sample_id.strip().lower()
    return page("Sample", form, *_found(entry, wanted, reads, links, compare), here="Sample", links=links, lead=lead)


def _form(catalogue: Catalogue, dataset: str | None, sample_id: str | None, links: Links) -> Html:
    options = [
        tag("option", entry.name, value=entry.name, selected="selected" if entry.name == dataset else None)
        for entry in catalogue.entries
    ]
    return tag(
        "section",
        tag(
            "form",
            tag("label", "Dataset", tag("select", *options, name="dataset")),
            tag(
                "label",
                "Sample ID, 32 hex digits",
                tag("input", name="sample_id", value=sample_id or "", autocomplete="off", spellcheck="false"),
            ),
            tag("button", "Find", type="submit"),
            method="get",
            action=links.sample(),
        ),
    )


def _example(entry: Entry, reads: Reads, links: Links) -> Html:
    release = reads.release(entry.name)
    if release is None or not release.partitions:
        return empty("Nothing to look up yet", f"{entry.name} has no release.")
    newest = max(release.partitions)
    manifest = reads.manifests(release, [newest])[newest]
    if not manifest.shards:
        return empty("Nothing to look up yet", f"{entry.name} {newest} has no sample.")
    one = manifest.shards[0].first_sample_id
    return section(
        "For example", tag("p", link(tag("code", one), links.sample(entry.name, one)), f", the first of {entry.name} {newest}.")
    )


def _found(entry: Entry, wanted: str, reads: Reads, links: Links, compare: Compare) -> list[Html]:
    if SAMPLE_ID.fullmatch(wanted) is None:
        return [
            problem(
                "That is no sample ID",
                tag("p", "A sample ID is 32 hex digits, such as the column ", tag("code", "sample_id"), " of a shard holds."),
            )
        ]
    release = reads.release(entry.name)
    if release is None:
        return [empty("Nothing to look in", f"{entry.name} has no release yet.")]
    try:
        found = find_by_id(reads.lake, release, wanted)
        if found is not None:
            return _sections(entry, release, found, reads, links, compare)
    except HeadraceError as error:
        return [problem("The sample cannot be read", tag("p", str(error)))]
    text = f"{entry.name} release {release.number} has no sample {wanted}. An older release may hold it: "
    return [empty("No such sample", text, tag("code", f"headrace show {entry.name} --sample {wanted} --release N"))]


def _sections(  # noqa: PLR0917 - where it was found, and what answers
    entry: Entry, release: Release, found: Found, reads: Reads, links: Links, compare: Compare
) -> list[Html]:
    from headrace.shards.read import read_sample

    manifest, address = found.manifest, links.partition(entry.name, release.number, found.manifest.partition)
    if found.where is None:
        return [_left_out(found, address)]
    row = read_sample(reads.lake, manifest, found.where)
    values = row.to_pylist()[0]
    place = _place(entry, address, found.where, values, manifest, links)
    return [place, compared_section(manifest, found.sample_id, row, compare), _values(values, manifest)]


def _left_out(found: Found, address: str) -> Html:
    """A sample that failed, or an object that was refused: in no shard, and why."""
    manifest = found.manifest
    reason = next(item["reason"] for item in manifest.facts["quarantined"] if item["record"] == found.sample_id)
    return problem(
        "In quarantine",
        tag("p", "Left out of ", link(f"{manifest.dataset} {manifest.partition}", address), f": {reason}."),
        tag("p", "The whole record: ", tag("code", f"headrace quarantine {manifest.dataset} {manifest.partition}")),
    )


def _place(entry: Entry, address: str, where: Any, values: dict[str, Any], manifest: Manifest, links: Links) -> Html:  # noqa: PLR0917 - facts of one sample
    etag = values.get("source_etag")
    computed = etag == COMPUTED
    source = facts(
        [
            ("Member", where.source_member),
            ("Row in it", figures.count(where.source_row)),
            ("Made of", _made_of(where.sample_id, values, manifest, links)),
            ("Partition", link(manifest.partition, address)),
            ("Shard", figures.digest(where.shard)),
            ("Row group and row", f"{where.row_group}, {where.row}"),
            ("Digest of its values", figures.digest(where.sample_digest)),
            ("Source ETag", None if etag is None or computed else figures.digest(str(etag))),
        ]
    )
    return section(
        f"Where it lies, and {'what it was computed from' if computed else 'where it came from'}",
        tag("p", tag("code", where.source_key)),
        source,
        tag("p", "Checked against its digest. ", _more(entry, where.sample_id, address), class_="note"),
    )


def _more(entry: Entry, sample_id: str, address: str) -> Html:
    """How to learn more of a sample on a terminal, by what it is."""
    if entry.kind == "training set":
        return join("Why it holds what it holds: ", tag("code", f"headrace explain {entry.name} {sample_id}"))
    if entry.kind == "view":
        return join("It is computed from many samples; ", link("its partition", address), " names them.")
    return join("To follow it on a terminal: ", tag("code", f"headrace show {entry.name} --sample {sample_id}"))


def _made_of(sample_id: str, values: dict[str, Any], manifest: Manifest, links: Links) -> Html | None:
    """The sample that a transform made this one of; None for what no transform made."""
    made: dict[str, Any] | None = manifest.facts.get("transform")
    if made is None:
        return None
    name = str(made["input"]["dataset"])
    return link(f"a sample of {name}", links.sample(name, str(values.get("parent_id", sample_id))))


def _values(values: dict[str, Any], manifest: Manifest) -> Html:
    tensors: dict[str, Any] = manifest.facts.get("transform", {}).get("tensors", {})
    rows = [
        [name, _value(name, value) if name not in tensors or value is None else _tensor(name, value, tensors[name])]
        for name, value in values.items()
        if name not in _IDENTITY
    ]
    return section("Values", table(("Column", "Value"), rows, caption="Values"))


def _tensor(name: str, value: bytes, tensor: dict[str, Any]) -> Html:
    """`float32, 3 x 64 x 64`, as a picture where it can be seen as one, with the numbers it spans."""
    import numpy as np

    from headrace.transforms.replay.picture import picture_of

    sides = [-1 if side is None else side for side in tensor["shape"]]
    array = np.frombuffer(value, np.dtype(tensor["type"]).newbyteorder("<")).reshape(sides)
    picture = picture_of(array) if len(value) <= _SHOWN_BYTES else None
    spans = f", {array.min():.4g} to {array.max():.4g}" if array.size > 0 else ""
    words = tag("small", f" {tensor['type']}, {' x '.join(str(side) for side in array.shape)}{spans}")
    return join(_value(name, value) if picture is None else _picture(name, picture, "image/png"), words)


def _picture(name: str, data: bytes, kind: str) -> Html:
    inside = base64.b64encode(data).decode()
    return tag("img", src=f"data:{kind};base64,{inside}", alt=f"{name}, a picture", class_="sample")


def _value(name: str, value: Any) -> Html:
    if value is None:
        return tag("small", "null")
    if not isinstance(value, bytes):
        return tag("code", str(value)[:4000])
    kind = next((kind for start, kind in _PICTURES.items() if value.startswith(start)), None)
    if kind is not None and len(value) <= _SHOWN_BYTES:
        return join(_picture(name, value, kind), tag("small", f" {figures.size(len(value))}"))
    size = tag("small", f" {figures.size(len(value))}")
    text = _text(value)
    return join(tag("code", value[:64].hex(" ")), size) if text is None else join(tag("pre", text), size)


def _text(value: bytes) -> str | None:
    """The beginning of bytes that are UTF-8 text, None for others."""
    try:
        text = getincrementaldecoder("utf-8")().decode(value[:_SHOWN_TEXT], final=len(value) <= _SHOWN_TEXT)
    except UnicodeDecodeError:
        return None
    return text if all(one.isprintable() or one in "\r\n\t" for one in text) else None
