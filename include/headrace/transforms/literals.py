"""Values of Python's own types as JSON, so that two values have one text exactly when they are equal in type and content.

Containers keep their order where they have one; dicts keep theirs too, for code may loop over them; sets are sorted by their texts.
"""

from __future__ import annotations

import datetime as dt
import decimal
import fractions
import hashlib
import pathlib
import re
import struct
import zoneinfo
from collections.abc import Callable
from typing import Any, Final

from headrace.transforms.syntax import constant

Describe = Callable[[Any], Any]
NOT_PLAIN: Final = object()

_SCALARS: Final = (bool, int, float, complex, bytes, str, type(None), type(Ellipsis))
_SHOWN: Final[dict[type, Callable[[Any], Any]]] = {
    bytearray: lambda value: value.hex(),
    range: lambda value: [value.start, value.stop, value.step],
    slice: repr,
    decimal.Decimal: str,
    fractions.Fraction: str,
    dt.date: dt.date.isoformat,
    dt.datetime: lambda value: [value.isoformat(), value.fold],
    dt.time: lambda value: [value.isoformat(), value.fold],
    dt.timedelta: lambda value: [value.days, value.seconds, value.microseconds],
    dt.timezone: repr,
    zoneinfo.ZoneInfo: lambda value: value.key,
    re.Pattern: lambda value: [repr(value.pattern), value.flags],
    struct.Struct: lambda value: value.format,
    pathlib.PurePosixPath: str,
}


def literal(value: Any, describe: Describe) -> Any:
    """The value as JSON, `NOT_PLAIN` when it is of no type of Python's own. `describe` is called for what containers hold."""
    kind = type(value)
    if kind in _SCALARS:
        return constant(value)
    if kind in (list, tuple):
        return [kind.__name__, [describe(item) for item in value]]
    if kind in (set, frozenset):
        return [kind.__name__, sorted((describe(item) for item in value), key=repr)]
    if kind is dict:
        return ["dict", [[describe(key), describe(item)] for key, item in value.items()]]
    if kind in _SHOWN:
        return [kind.__name__, _SHOWN[kind](value)]
    return _of_arrays(kind, value)


def _of_arrays(kind: type, value: Any) -> Any:
    """Values of numpy and pyarrow, told by the names of their types: neither need be installed."""
    if kind.__module__ == "numpy" and hasattr(value, "tobytes") and not value.dtype.hasobject:
        return [kind.__name__, value.dtype.str, list(value.shape), hashlib.sha256(value.tobytes()).hexdigest()]
    if kind.__module__ == "numpy.dtypes":
        return ["dtype", value.str]
    if kind.__module__ == "pyarrow.lib":
        import pyarrow as pa

        whole = pa.schema([pa.field("", value)]) if isinstance(value, pa.DataType) else value
        whole = pa.schema([whole]) if isinstance(whole, pa.Field) else whole
        if isinstance(whole, pa.Schema):
            return [kind.__name__, str(whole.remove_metadata()), hashlib.sha256(whole.serialize()).hexdigest()]
    return NOT_PLAIN
