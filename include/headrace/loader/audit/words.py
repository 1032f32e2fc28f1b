"""The evidence in sentences for people."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.loader.audit.evidence import Difference, Evidence, Scale
from headrace.loader.audit.metrics import Disagreement, Parting
from headrace.loader.audit.seen import Fault


def sentences(evidence: Evidence) -> Iterator[str]:
    """Scale, faults, samples, batches, gradients, in the order they are looked at."""
    yield from map(_scale, evidence.scales)
    for scale, faults in zip(evidence.scales, evidence.faults, strict=True):
        yield from (_fault(scale, fault) for fault in faults)
    yield f"{evidence.compared:,} samples compared at the same position: {evidence.different:,} differ."
    if evidence.common_batches > 0:
        yield (
            f"{evidence.same_batches:,} of {evidence.common_batches:,} global batches that both runs cut alike hold the same samples."
        )
    if evidence.difference is not None:
        yield _difference(evidence.difference)
    if evidence.disagreement is not None:
        yield from _disagreement(evidence.disagreement)
    if evidence.parting is not None:
        yield _parting(evidence.parting)
    first, second = (scale.loss_noise for scale in evidence.scales)
    if first is not None and second is not None:
        yield f"The loss changes from step to step by {first:.4g} and {second:.4g} (standard deviation)."


def _scale(scale: Scale) -> str:
    batch = f"{scale.batch_size} x {scale.ranks} = {scale.global_batch}"
    started = "once" if scale.starts == 1 else f"{scale.starts} times"
    return (
        f"{scale.name}: {_count(scale.ranks, 'rank')} on {_count(scale.hosts, 'host')}, global batch {batch}, started {started}."
    )


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _fault(scale: Scale, fault: Fault) -> str:
    rank = "" if fault.rank < 0 else f", rank {fault.rank}"
    return f"{scale.name}: {fault.text}, first at epoch {fault.epoch}, position {fault.position}{rank}."


def _difference(one: Difference) -> str:
    return (
        f"First difference: epoch {one.epoch}, step {one.step}, position {one.position}: {one.kind} "
        f"(rank {one.rank_first} against rank {one.rank_second})."
    )


def _disagreement(one: Disagreement) -> Iterator[str]:
    values = ", ".join(f"rank {rank} {value:.6g}" for rank, value in sorted(one.values.items())[:8])
    yield f"Ranks log different gradient norms from epoch {one.epoch}, position {one.position} on: {values}."
    if one.between_hosts is None:
        yield "Every rank has a host of its own, so the network and the synchronisation cannot be told apart."
    elif one.between_hosts:
        yield "Ranks of one host agree with each other: the fault lies between the hosts."
    else:
        yield "Ranks of one host disagree with each other: the fault is not the network between hosts."


def _parting(one: Parting) -> str:
    return (
        f"Gradient norms of the runs part at epoch {one.epoch}, position {one.position}: {one.first:.6g} against {one.second:.6g}; "
        f"{one.compared_before} steps before it were within {one.largest_before:.1e}."
    )
