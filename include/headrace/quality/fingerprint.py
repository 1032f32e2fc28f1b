"""Which code computed the features: the same on both sides of a comparison, or there is no comparison.

SHA-256 over the declarations of the views and labels, and over the source text of the modules their functions live in. Source
text and not a parsed form of it, because parsed forms differ between Python versions; so a changed comment counts as a change
and asks for a new reference, which is the safe side to err on.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect

from headrace.spec.canonical import digest_of
from headrace.spec.training_set import TrainingSet


def code_fingerprint(training_set: TrainingSet) -> str:
    """The fingerprint of everything that computes this training set's columns."""
    dotted = {training_set.labels.rows, *(source.log.rows for source in training_set.sources)}
    modules = sorted({path.partition(":")[0] for path in dotted})
    sources = [hashlib.sha256(inspect.getsource(importlib.import_module(name)).encode()).hexdigest() for name in modules]
    return digest_of([training_set.labels, list(training_set.sources), dict(zip(modules, sources, strict=True))])
