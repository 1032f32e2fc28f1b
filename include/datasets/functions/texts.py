"""What the texts declaration names by path: from a source file's bytes to chunks of text a language model can read."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import Any, Final

_WORD: Final = re.compile(r"\w+|[^\w\s]")
_DECLARED: Final = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")


def read(payload: bytes) -> dict[str, Any] | None:
    """A file as text, decoded as it declares itself (PEP 263: UTF-8 unless one of the first two lines says otherwise).

    A file without a word is left out. One whose bytes are not in its encoding raises: what it says cannot be known.
    """
    encoding = _encoding(payload)
    text = payload.removeprefix(codecs.BOM_UTF8).decode(encoding)
    if _WORD.search(text) is None:
        return None
    return {"text": text.replace("\r\n", "\n").replace("\r", "\n"), "encoding": encoding}


def chunks(text: str, *, encoding: str, words: int, overlap: int) -> Iterator[dict[str, Any]]:
    """A text in chunks of whole lines, at most `words` words each unless one line is longer, `overlap` lines said twice."""
    lines = text.splitlines(keepends=True)
    start = 0
    while start < len(lines):
        end, count = start, 0
        while end < len(lines):
            more = len(_WORD.findall(lines[end]))
            if end > start and count + more > words:
                break
            count, end = count + more, end + 1
        if count > 0:
            yield {"chunk": "".join(lines[start:end]), "words": count, "first_line": start + 1, "encoding": encoding}
        start = end if end >= len(lines) else max(end - overlap, start + 1)


def _encoding(payload: bytes) -> str:
    if payload.startswith(codecs.BOM_UTF8):
        return "utf-8"
    for line in payload.splitlines()[:2]:
        found = _DECLARED.match(line)
        if found is not None:
            return codecs.lookup(found.group(1).decode("ascii")).name
    return "utf-8"
