"""Entities in buckets, by a hash of our own: the same bucket on every machine, engine and version, for ever.

Every feature and every join is about one entity at a time, so buckets can be computed apart, by tasks or machines that know nothing of
each other, and their sum is the whole. An engine's own `hash()` may change with the next release, and would then put an entity's history
in two places.

The hash of a key: BLAKE2b, 8 bytes, over each part's type and canonical text, parts joined by their lengths. Each distinct value is hashed
once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.features.columns import Rows, whole
from headrace.features.errors import SchemaError
from headrace.features.keys import NULL_KEY, key_column, shared_codes

MOST: Final = 1000
"""Airflow maps at most 1024 tasks, and a bucket should be worth one."""


def bucket_column(rows: pa.Table, entity: Sequence[str], buckets: int) -> Rows:
    """The bucket 0..buckets-1 of each row's entity, shape (rows,); rows without an entity are in bucket 0.

    Raises:
        SchemaError: a number of buckets below 1 or above `MOST`, or what `shared_codes` refuses.
    """
    if not 1 <= buckets <= MOST:
        raise SchemaError(
            "buckets", found=str(buckets), expected=f"1 to {MOST}", remedy="Choose how many tasks the work is worth."
        )
    codes = shared_codes([rows], entity, ["rows"])[0]
    distinct, first = np.unique(codes, return_index=True)
    keys = [whole(pc.take(key_column(rows, name, "rows"), pa.array(first, pa.int64()))).to_pylist() for name in entity]
    found = [0 if code == NULL_KEY else _hash(key) % buckets for code, key in zip(distinct, zip(*keys, strict=True), strict=True)]
    return np.asarray(found, dtype=np.int64)[np.searchsorted(distinct, codes)]


def _hash(key: tuple[Any, ...]) -> int:
    digest = hashlib.blake2b(digest_size=8)
    for part in key:
        text = part.hex() if isinstance(part, bytes) else str(part)
        data = f"{type(part).__name__}:{text}".encode()
        digest.update(len(data).to_bytes(4, "big") + data)
    return int.from_bytes(digest.digest(), "big")
