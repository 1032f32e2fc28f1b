"""What is declared and what this person may see of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import date

from headrace.pages.errors import PageMissing
from headrace.spec.dataset import Dataset
from headrace.spec.feature_view import FeatureView
from headrace.spec.load import Declarations
from headrace.spec.training_set import TrainingSet
from headrace.spec.transform import Transform


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One declared dataset, transform, view or training set; `dag` fills it, and who may read that DAG may see it.

    `root`: what decides its days and when they are due; of a transform, the dataset its chain begins with.
    """

    name: str
    kind: str
    dag: str
    declared: Dataset | Transform | FeatureView | TrainingSet
    root: Dataset | FeatureView | TrainingSet

    @property
    def owner(self) -> str:
        return self.declared.owner

    @property
    def decision_dag(self) -> str:
        """Who may trigger this DAG decides about the entry: its approval where it has a gate, else what fills it."""
        gated = isinstance(self.declared, TrainingSet) and self.declared.quality is not None
        return f"{self.name}.approve" if gated else self.dag

    @property
    def start(self) -> date:
        return self.root.first_day if isinstance(self.root, TrainingSet) else self.root.start

    @property
    def end(self) -> date | None:
        """The last day of data; a training set ends with its views. None: it goes on."""
        views = self.root.views if isinstance(self.root, TrainingSet) else ()
        return min((day for day in (self.root.end, *(view.end for view in views)) if day is not None), default=None)


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
        """The entry that a DAG `<name>.<verb>` is about. Raises `PageMissing`, the same for what is hidden and what is not there."""
        name = dag.partition(".")[0]
        for entry in self.entries:
            if entry.name == name:
                return entry
        raise PageMissing(
            dag,
            found="a DAG about no dataset you may see",
            expected="the DAG of a dataset",
            remedy="What its runs did stands in their logs; the datasets are in the navigation above.",
        )

    def _names(self) -> str:
        return "one of " + ", ".join(entry.name for entry in self.entries) if self.entries else "any you may see"


def catalogue(declared: Declarations, readable: Collection[str]) -> Catalogue:
    """What the folder declares, of whose DAGs `readable` holds the ID."""
    found: Iterable[Entry] = (
        *(Entry(name=one.name, kind="dataset", dag=f"{one.name}.compact", declared=one, root=one) for one in declared.datasets),
        *(
            Entry(name=one.name, kind="transform", dag=f"{one.name}.transform", declared=one, root=declared.root_of(one))
            for one in declared.transforms
        ),
        *(Entry(name=one.name, kind="view", dag=f"{one.name}.snapshot", declared=one, root=one) for one in declared.views),
        *(
            Entry(name=one.name, kind="training set", dag=f"{one.name}.build", declared=one, root=one)
            for one in declared.training_sets
        ),
    )
    return Catalogue(entries=tuple(entry for entry in found if entry.dag in readable))
