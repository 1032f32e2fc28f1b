"""Which code computed the features: the same on both sides of a comparison, or there is no comparison.

A digest over the declarations of the views and labels, and over the code their functions are made of, as transforms tell it
(`headrace.transforms.code`): helpers, constants and defaults count, comments and layout do not, and every Python agrees. Versions of
packages are left out: a reference must outlive them.
"""

from __future__ import annotations

from headrace.features.functions import rows_function
from headrace.spec.canonical import digest_of
from headrace.spec.training_set import TrainingSet
from headrace.transforms.code import code_of


def code_fingerprint(training_set: TrainingSet) -> str:
    """The fingerprint of everything that computes this training set's columns.

    Raises:
        CodeRefused: a function cannot be identified; names what and why.
        FunctionNotFound: one cannot be imported.
    """
    dotted = sorted({training_set.labels.rows, *(source.log.rows for source in training_set.sources)})
    code = {path: code_of(rows_function(path), path).digest for path in dotted}
    return digest_of([training_set.labels, list(training_set.sources), code])
