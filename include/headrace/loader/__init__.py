"""Deterministic, exactly-once, resumable reading for training.

`open_loader` and `open_mixture` are the doors; they need pyarrow, numpy and the lake's client, neither Airflow nor torch.
Loaded on first use, so that importing a neighbour in this room stays light.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.loader.batch import Batch as Batch
    from headrace.loader.loader import Loader as Loader
    from headrace.loader.open import open_loader as open_loader
    from headrace.loader.open import open_mixture as open_mixture
    from headrace.loader.options import LoaderOptions as LoaderOptions
    from headrace.loader.place import Place as Place

_HOMES = {
    "Batch": "batch",
    "Loader": "loader",
    "LoaderOptions": "options",
    "Place": "place",
    "open_loader": "open",
    "open_mixture": "open",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{home}"), name)
