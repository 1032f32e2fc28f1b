"""Finding the declarations a user wrote.

Every `*.py` directly in the declarations folder is a declaration file; subfolders hold the functions they name by path and are not imported
here. Each file is imported on its own: one that fails is reported with its error and takes no other with it. Standard library
only, since every DAG file runs this at parse.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from headrace.errors import FinalError
from headrace.spec.alerts import AlertRoute
from headrace.spec.dataset import Dataset
from headrace.spec.feature_view import FeatureView
from headrace.spec.training_set import TrainingSet
from headrace.spec.transform import Transform

Declared = Dataset | Transform | FeatureView | TrainingSet | AlertRoute


class DeclarationFilesRefused(FinalError, ImportError):
    """Some declaration files could not be used; the others are."""


@dataclass(frozen=True, kw_only=True)
class Declarations:
    """What the folder declares, in the order of file names and then of their names; `failures` maps file name to error text."""

    datasets: tuple[Dataset, ...]
    transforms: tuple[Transform, ...] = ()
    views: tuple[FeatureView, ...]
    training_sets: tuple[TrainingSet, ...]
    routes: tuple[AlertRoute, ...] = ()
    failures: dict[str, str]

    def root_of(self, transform: Transform) -> Dataset:
        """The dataset of source objects that a chain of transforms begins with; its days are theirs."""
        name = transform.dataset
        made = {item.name: item.dataset for item in self.transforms}
        while name in made:
            name = made[name]
        return next(item for item in self.datasets if item.name == name)

    def check(self) -> None:
        """Raise `DeclarationFilesRefused` naming every file that could not be used."""
        if self.failures:
            texts = "\n\n".join(f"{name}: {text}" for name, text in self.failures.items())
            raise DeclarationFilesRefused(
                ", ".join(self.failures),
                found=f"errors\n\n{texts}\n",
                expected="valid declarations",
                remedy="Correct these files.",
            )


def load_declarations(folder: Path) -> Declarations:
    """Import every declaration file of a folder.

    A name declared in two files belongs to the file that comes first; the other file is a failure. A transform whose chain does not
    begin with a declared dataset is left out, and its file is a failure.
    """
    found: dict[str, Declared] = {}
    files: dict[str, str] = {}
    failures: dict[str, str] = {}
    for path in sorted(folder.glob("*.py")):
        try:
            declared = _declared_in(_import(path))
            _check_names(declared, found)
        except Exception as error:  # noqa: BLE001 - a user's file may raise anything, and must not take others with it
            failures[path.name] = f"{type(error).__name__}: {error}"
        else:
            found.update((item.name, item) for item in declared)
            files.update((item.name, path.name) for item in declared)
    for name, text in _without_root(found).items():
        failures[files[name]] = text
        del found[name]
    return Declarations(
        datasets=tuple(item for item in found.values() if isinstance(item, Dataset)),
        transforms=tuple(item for item in found.values() if isinstance(item, Transform)),
        views=tuple(item for item in found.values() if isinstance(item, FeatureView)),
        training_sets=tuple(item for item in found.values() if isinstance(item, TrainingSet)),
        routes=tuple(item for item in found.values() if isinstance(item, AlertRoute)),
        failures=failures,
    )


def _import(path: Path) -> ModuleType:
    name = f"headrace_declarations.{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up while they are made
    spec.loader.exec_module(module)
    return module


def _declared_in(module: ModuleType) -> list[Declared]:
    values = [value for name, value in sorted(vars(module).items()) if not name.startswith("_")]
    return list(dict.fromkeys(value for value in values if isinstance(value, Declared)))


def _check_names(declared: Iterable[Declared], found: dict[str, Declared]) -> None:
    """All declarations share one set of names: those with data share the lake's first folder, and an alert names them all."""
    names = [item.name for item in declared]
    for item in declared:
        if names.count(item.name) > 1 or item.name in found:
            raise ValueError(f"the name {item.name!r} is declared twice; all declarations share one set of names")


def _without_root(found: dict[str, Declared]) -> dict[str, str]:
    """Transforms whose chain does not begin with a declared dataset, and what is wrong with each."""
    datasets = {name for name, item in found.items() if isinstance(item, Dataset)}
    rooted, grew = set(datasets), True
    while grew:
        more = {name for name, item in found.items() if isinstance(item, Transform) and item.dataset in rooted}
        grew = not more <= rooted
        rooted |= more
    lost = {name: item for name, item in found.items() if isinstance(item, Transform) and name not in rooted}
    return {
        name: f"Transform {name}.dataset: found {item.dataset!r}; expected a declared dataset or transform that begins with one, such as "
        f"{', '.join(sorted(datasets)) or 'none: there is no dataset'}."
        for name, item in lost.items()
    }
