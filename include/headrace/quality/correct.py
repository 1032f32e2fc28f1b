"""What a trainer calls: the correction that a release needs, from its own manifests, and its weights as columns.

The keep-rates stand in the profile of each partition's manifest, so nobody has to carry them over by hand from the declaration, which
may have changed since. A release whose partitions were sampled at different rates is refused: no two numbers undo that.

That a correction is applied once is seen here by the columns: a table that has weights gets no others. Across programs it is only as good
as the record that is kept with the model. A weight follows from the label, so it is for the loss and never a feature; training sets
refuse features of these names.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from headrace.quality.correction import Correction
from headrace.quality.errors import CorrectionError
from headrace.quality.profile_json import profile_from
from headrace.spec.quality import WEIGHT_COLUMNS, Sampling

if TYPE_CHECKING:
    import pyarrow as pa

    from headrace.lake.store import Store
    from headrace.manifests.release import Release

log: Final = logging.getLogger("headrace")


def correction_of(lake: Store, release: Release) -> Correction | None:
    """What undoes the designed sampling of a release, not yet applied; None where rows were not sampled on purpose.

    Raises:
        CorrectionError: its partitions were sampled in different ways.
    """
    from headrace.manifests.read import manifest_of

    designs: dict[Sampling | None, str] = {}
    for partition in sorted(release.partitions):
        designs.setdefault(_design(manifest_of(lake, release, partition).facts), partition)
    if len(designs) > 1:
        told = "; ".join(f"{partition}: {_told(design)}" for design, partition in designs.items())
        raise CorrectionError(
            f"{release.dataset} release {release.number}",
            found=told,
            expected="one and the same sampling in every partition",
            remedy="Run the partitions of the older sampling again, or give each row its own keep-rate and use weights_from.",
        )
    sampling = next(iter(designs), None)
    return None if sampling is None else Correction(sampling=sampling)


def _design(facts: dict[str, Any]) -> Sampling | None:
    return profile_from(facts["profile"]).sampling if "profile" in facts else None


def _told(design: Sampling | None) -> str:
    if design is None:
        return "no sampling by label"
    return f"positives of {design.label} kept at {design.keep_positive:g}, negatives at {design.keep_negative:g}"


def with_weights(rows: pa.Table, correction: Correction) -> tuple[pa.Table, Correction]:
    """(the rows with two more columns, the record that says so).

    `sample_weight`: how many rows of the population each row stands for; `sample_weight_normalised`: the same with mean 1 over these rows.
    What is odd about them is logged.

    Raises:
        CorrectionError: something was applied before, to the record or to the rows; or a row has no label.
    """
    import pyarrow as pa

    label, there = correction.sampling.label, [name for name in WEIGHT_COLUMNS if name in rows.column_names]
    if there or label not in rows.column_names:
        raise CorrectionError(
            "rows",
            found=f"columns {', '.join(there)} already" if there else f"no column {label}",
            expected=f"the label {label}, and no weights yet",
            remedy="Weigh the rows of a release as they were loaded, once.",
        )
    weights, record = correction.weigh(rows[label].to_numpy())
    for warning in weights.warnings:
        log.warning("%s", warning)
    for name, values in zip(WEIGHT_COLUMNS, (weights.raw, weights.normalised), strict=True):
        rows = rows.append_column(name, pa.array(values))
    return rows, record
