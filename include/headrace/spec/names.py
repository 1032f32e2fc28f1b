"""Names that become keys in the lake, DAG identifiers and file names at once."""

from __future__ import annotations

import re
from typing import Final

from headrace.spec.errors import check

NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,62}")
DOTTED: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")


def check_name(declaration: str, field: str, value: str) -> None:
    """A lower-case identifier of at most 63 characters."""
    check(
        isinstance(value, str) and NAME.fullmatch(value) is not None,
        declaration,
        field,
        value,
        "lower-case letters, digits and underscores, starting with a letter, at most 63 characters",
    )


def check_dotted(declaration: str, field: str, value: str) -> None:
    """A function by path, `package.module:function`: heavy code is named here and imported only where it runs."""
    check(
        isinstance(value, str) and DOTTED.fullmatch(value) is not None,
        declaration,
        field,
        value,
        "a function by path, such as 'include.datasets.flights_rows:outcomes'",
    )
