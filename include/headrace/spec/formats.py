"""What source objects look like inside."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.spec.columns import Column
from headrace.spec.errors import check


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
        check(len(self.delimiter) == 1, "Csv", "delimiter", self.delimiter, "one character")


@dataclass(frozen=True, kw_only=True)
class RawBytes:
    """Anything: an image, a recording, a document. Each object is a sample, its bytes the `payload`.

    Attributes:
        compress: zstd for text-like payloads; media is already compressed.
    """

    compress: bool = False


Format = Csv | RawBytes


def _check_columns(who: str, columns: tuple[Column, ...]) -> None:
    check(isinstance(columns, tuple) and len(columns) > 0, who, "columns", columns, "a tuple of at least one Column")
    names = [column.name for column in columns]
    twice = sorted({name for name in names if names.count(name) > 1})
    check(twice == [], who, "columns", twice, "each name once")
