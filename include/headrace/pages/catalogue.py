"""What is declared and what this person may see of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import date

from headrace.pages.errors import PageMissing
from headrace.spec.dataset import Dataset
from headrace.spec.feature_view import FeatureView
from headrace.spec.load import Declarations
from headrace.spec.training_set import TrainingSet

Timed = Dataset | FeatureView | TrainingSet
"""Declarations that say when their days are due."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One declared dataset, transform, view or training set.

    Attributes:
        dag: fills it; who may read that DAG may see the entry.
        start, end: first and last day of its data, both inclusive; no end: it goes on.
        timed: the declaration, when it says how fresh it should be.
    """

    name: str
    kind: str
    dag: str
    owner: str
    start: date
    end: date | None
    timed: Timed | None


@dataclass(frozen=True, kw_only=True)
class Catalogue:
    """The entries a person may see, in the order data flows."""

    entries: tuple[Entry, ...]

    def entry(self, name: str) -> Entry:
        """The entry of that name. Raises `PageMissing`, the same for what is hidden and what is not there."""
        for entry in self.entries:
            if entry.name == name:
                return entry
        raise PageMissing(
            name, found="no such dataset", expected=self._names(), remedy="Check the name, or ask for access to its DAG."
        )

    def of_kind(self, kind: str) -> list[Entry]:
        return [entry for entry in self.entries if entry.kind == kind]

    def of_dag(self, dag: str) -> Entry:
        """The entry that a DAG `<name>.<verb>` is about. Raises `PageMissing`."""
        return self.entry(dag.partition(".")[0])

    def _names(self) -> str:
        return "one of " + ", ".join(entry.name for entry in self.entries) if self.entries else "any you may see"


def catalogue(declared: Declarations, readable: Collection[str]) -> Catalogue:
    """What the folder declares, of whose DAGs `readable` holds the ID."""
    return Catalogue(entries=tuple(entry for entry in _entries(declared) if entry.dag in readable))


def _entries(declared: Declarations) -> Iterator[Entry]:
    for one in declared.datasets:
        yield Entry(
            name=one.name, kind="dataset", dag=f"{one.name}.compact", owner=one.owner, start=one.start, end=one.end, timed=one
        )
    for made in declared.transforms:
        root = declared.root_of(made)
        dag = f"{made.name}.transform"
        yield Entry(name=made.name, kind="transform", dag=dag, owner=made.owner, start=root.start, end=root.end, timed=None)
    for view in declared.views:
        dag = f"{view.name}.snapshot"
        yield Entry(name=view.name, kind="view", dag=dag, owner=view.owner, start=view.start, end=view.end, timed=view)
    for trained in declared.training_sets:
        dag, end = f"{trained.name}.build", _last_day(trained)
        yield Entry(
            name=trained.name,
            kind="training set",
            dag=dag,
            owner=trained.owner,
            start=trained.first_day,
            end=end,
            timed=trained,
        )


def _last_day(trained: TrainingSet) -> date | None:
    """A training set ends with its views."""
    ends = [trained.end, *(view.end for view in trained.views)]
    return min((day for day in ends if day is not None), default=None)
