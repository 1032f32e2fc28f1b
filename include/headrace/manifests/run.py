"""Who made a document: stored beside its content, never digested."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from headrace import __version__
from headrace.spec.canonical import instant_text


@dataclass(frozen=True, kw_only=True)
class RunIdentity:
    """The run as its orchestrator names it. `kind` is scheduled, manual, backfill, asset_triggered or local."""

    dag: str
    run_id: str
    kind: str
    partition_key: str
    code_version: str = "unknown"

    def document(self) -> dict[str, Any]:
        """The `run` part of a stored document, with the clock and the versions that ran."""
        import platform

        import pyarrow

        return {
            "dag": self.dag,
            "run_id": self.run_id,
            "run_kind": self.kind,
            "partition_key": self.partition_key,
            "made_at": instant_text(datetime.now(UTC)),
            "headrace": __version__,
            "code_version": self.code_version,
            "python": platform.python_version(),
            "pyarrow": pyarrow.__version__,
        }
