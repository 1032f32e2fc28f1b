"""Declared columns: a name and a type, in words that Arrow, SQL and people share.

Types are never inferred: two days of the same feed must not disagree about what a column is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from headrace.spec.errors import check

TYPES: Final = (
    "int8", "int16", "int32", "int64", "float32", "float64", "bool", "string", "date",
    "timestamp[us]", "timestamp[us, UTC]", "decimal(18, 4)", "binary",
)  # fmt: skip

RESERVED: Final = ("sample_id", "source_key", "source_etag", "source_row", "sample_digest", "source_member", "payload")


@dataclass(frozen=True, kw_only=True)
class Column:
    """One declared column.

    Attributes:
        name: as it stands in the source. The names in `RESERVED` are Headrace's own.
        type: one of `TYPES`. A string stays a string: `00123` is not 123, `NA` is not null.
        null_text: texts that mean null in this column (text formats only).
    """

    name: str
    type: str
    null_text: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        who = f"Column {self.name}"
        check(isinstance(self.name, str) and self.name != "", who, "name", self.name, "a non-empty text")
        check(self.name not in RESERVED, who, "name", self.name, f"a name other than {', '.join(RESERVED)}")
        check(self.type in TYPES, who, "type", self.type, f"one of {', '.join(TYPES)}")
        check(isinstance(self.null_text, tuple), who, "null_text", self.null_text, "a tuple of texts")


def columns(null_text: tuple[str, ...] = (), /, **types: str) -> tuple[Column, ...]:
    """Columns in the order given: `columns(("NA",), dep_time="int64", carrier="string")`.

    `null_text` means null in every column that is not a string; a string column says so itself, with `Column`.
    """
    return tuple(
        Column(name=name, type=kind, null_text=() if kind in {"string", "binary"} else null_text) for name, kind in types.items()
    )
