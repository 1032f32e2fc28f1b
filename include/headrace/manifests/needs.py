"""Which of the partitions a run needs are not published yet."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from headrace.errors import FinalError
from headrace.lake.store import Store
from headrace.manifests.read import latest


@dataclass(frozen=True, kw_only=True, order=True)
class Needed:
    """One partition of one dataset that a run reads."""

    dataset: str
    partition: str

    def __str__(self) -> str:
        return f"{self.dataset} {self.partition}"

    def as_pair(self) -> list[str]:
        return [self.dataset, self.partition]


class NeededPartitionsMissing(FinalError):
    """What a run needs did not come in time."""

    @classmethod
    def of(cls, who: str, missing: list[Needed]) -> Self:
        """The error that names them all."""
        return cls(
            who,
            found="nothing published for " + ", ".join(str(one) for one in missing),
            expected="these partitions, which should exist by now",
            remedy="Backfill them, then clear this task.",
        )


def missing_partitions(store: Store, needed: Iterable[Needed]) -> list[Needed]:
    """The needed partitions that the datasets' LATEST releases lack, sorted."""
    wanted = sorted(set(needed))
    there: dict[str, set[str]] = {}
    for dataset in {one.dataset for one in wanted}:
        found = latest(store, dataset)
        there[dataset] = set() if found is None else set(found.release.partitions)
    return [one for one in wanted if one.partition not in there[one.dataset]]
