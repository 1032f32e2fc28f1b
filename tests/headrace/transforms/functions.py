"""Functions by path for tests that write no project of their own."""

from __future__ import annotations

from typing import Any

import pyarrow as pa


def lengths(batch: pa.Table) -> pa.Table:
    """The first bytes of each payload, and how many there are."""
    payloads: list[bytes] = [bytes(one) for one in batch.column("payload").to_pylist()]
    heads: Any = pa.array([payload[:5] for payload in payloads], pa.large_binary())
    return pa.table({"head": heads, "size": pa.array([len(payload) for payload in payloads], pa.int64())})
