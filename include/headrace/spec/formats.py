"""What source objects look like inside."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import Final

from headrace.spec.columns import Column
from headrace.spec.errors import check

UNPACK: Final = ("gz", "zst", "tar", "zip")
ARCHIVES: Final = ("tar", "zip")


@dataclass(frozen=True, kw_only=True)
class Csv:
    """Comma-separated text with a header. Each row is a sample.

    Attributes:
        columns: every column of the header, in any order; a missing, extra or repeated one refuses the object.
        encoding: of the text; bytes that are not in it refuse the object.
        delimiter: one character.
    """

    columns: tuple[Column, ...]
    encoding: str = "utf-8"
    delimiter: str = ","

    def __post_init__(self) -> None:
        _check_columns("Csv", self.columns)
        check(
            _is_encoding(self.encoding),
            "Csv",
            "encoding",
            self.encoding,
            "a text encoding Python knows, such as utf-8 or latin-1",
        )
        check(isinstance(self.delimiter, str) and len(self.delimiter) == 1, "Csv", "delimiter", self.delimiter, "one character")


@dataclass(frozen=True, kw_only=True)
class JsonLines:
    """One JSON object a line, UTF-8. Each line is a sample; a line without a column has null there.

    Attributes:
        columns: every name that may stand in a line; another one refuses the object. Dates, instants and decimals stand as texts.
    """

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        _check_columns("JsonLines", self.columns)
        binary = [column.name for column in self.columns if column.type == "binary"]
        check(binary == [], "JsonLines", "columns", binary, "no binary column: JSON holds text")


@dataclass(frozen=True, kw_only=True)
class Parquet:
    """Parquet tables. Each row is a sample.

    Attributes:
        columns: what every table has; None: one schema is unified over all objects of the partition before anything is written.
    """

    columns: tuple[Column, ...] | None = None

    def __post_init__(self) -> None:
        if self.columns is not None:
            _check_columns("Parquet", self.columns)


@dataclass(frozen=True, kw_only=True)
class RawBytes:
    """Anything: an image, a recording, a document. Each object (or member of an archive) is a sample, its bytes the `payload`.

    Attributes:
        compress: zstd for text-like payloads; media is already compressed.
    """

    compress: bool = False


Format = Csv | JsonLines | Parquet | RawBytes


def declared_columns(form: Format) -> tuple[Column, ...]:
    """The columns a declaration may name; none for raw bytes and for tables whose schema is unified."""
    return () if isinstance(form, RawBytes) or form.columns is None else form.columns


def _is_encoding(name: str) -> bool:
    try:
        return codecs.lookup(name)._is_text_encoding  # the only place where codecs tells texts from bytes
    except (LookupError, TypeError):
        return False


def _check_columns(who: str, columns: tuple[Column, ...]) -> None:
    check(isinstance(columns, tuple) and len(columns) > 0, who, "columns", columns, "a tuple of at least one Column")
    names = [column.name for column in columns]
    twice = sorted({name for name in names if names.count(name) > 1})
    check(twice == [], who, "columns", twice, "each name once")
