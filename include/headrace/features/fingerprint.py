"""Which code computes a source's columns: the declaration and the source text of the module its function lives in.

Source text and not a parsed form of it, because parsed forms differ between Python versions (`docs/decisions/0007`). Training and serving
compare like with like when their fingerprints are equal.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect

from headrace.features.functions import rows_function
from headrace.spec.canonical import digest_of
from headrace.spec.feature_view import FeatureView
from headrace.spec.log_join import LogJoin


def view_fingerprint(source: FeatureView | LogJoin) -> str:
    """SHA-256, hex. Raises `FunctionNotFound` when the declared function is not there."""
    rows_function(source.log.rows)
    module = importlib.import_module(source.log.rows.partition(":")[0])
    text = hashlib.sha256(inspect.getsource(module).encode()).hexdigest()
    return digest_of([source, text])
