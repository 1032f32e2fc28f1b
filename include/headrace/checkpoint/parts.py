"""The parts of a training state as bytes, each with a kind that says how to read it back.

`bytes` as they are, NumPy arrays as `.npy`, plain values (dictionaries, lists, numbers, texts: a loader's cursor, a configuration) as
canonical JSON, PyTorch state as `torch.save` writes it. Equal values give equal bytes, so that an unchanged part is recognised and not
stored again. PyTorch state is read back with `weights_only=True`: a checkpoint runs no code.
"""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace.checkpoint.errors import PartRefused
from headrace.spec.canonical import canonical_json


@dataclass(frozen=True, kw_only=True)
class TorchState:
    """Marks a value (a `state_dict()`, a tensor) to be stored by PyTorch."""

    value: Any


@dataclass(frozen=True, kw_only=True)
class Encoded:
    """A part as it is stored: `kind` is bytes, array, json or torch."""

    kind: str
    data: bytes


def encoded(name: str, value: Any) -> Encoded:
    """The part's bytes. Raises `PartRefused` for values of no kind; arrays of Python objects are one of those."""
    if isinstance(value, bytes):
        return Encoded(kind="bytes", data=value)
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        return Encoded(kind="array", data=_npy(value))
    if isinstance(value, TorchState):
        return Encoded(kind="torch", data=_torch(value.value))
    try:
        return Encoded(kind="json", data=canonical_json(value))
    except (TypeError, ValueError) as error:
        raise PartRefused(
            f"checkpoint part {name}",
            found=f"{type(value).__name__}: {error}",
            expected="bytes, a NumPy array, plain JSON values, or TorchState(value=...)",
            remedy="Convert it, or wrap PyTorch state in TorchState.",
        ) from error


def decoded(name: str, kind: str, data: bytes) -> Any:
    """The inverse of `encoded`; PyTorch state comes back as its value, on the CPU. Raises `PartRefused` for a kind of a newer version."""
    if kind == "bytes":
        return data
    if kind == "array":
        return np.load(io.BytesIO(data), allow_pickle=False)
    if kind == "json":
        return json.loads(data)
    if kind == "torch":
        import torch

        return torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    raise PartRefused(
        f"checkpoint part {name}",
        found=f"kind {kind!r}",
        expected="bytes, array, json or torch",
        remedy="Restore with the version of headrace that saved it.",
    )


def _npy(array: np.ndarray[Any, Any]) -> bytes:
    sink = io.BytesIO()
    np.save(sink, array, allow_pickle=False)
    return sink.getvalue()


def _torch(value: Any) -> bytes:
    import torch

    sink = io.BytesIO()
    torch.save(value, sink)
    return sink.getvalue()
