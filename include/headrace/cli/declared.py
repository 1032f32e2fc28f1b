"""A training set named on the command line, found among the declarations."""

from __future__ import annotations

from typing import Annotated

import typer

from headrace.errors import SettingsError
from headrace.settings import declarations_folder
from headrace.spec.load import load_declarations
from headrace.spec.training_set import TrainingSet

TrainingSetName = Annotated[str, typer.Argument(help="Name of the training set.")]


def declared_training_set(name: str) -> TrainingSet:
    """The training set of that name. Raises SettingsError, naming those there are."""
    declarations = load_declarations(declarations_folder())
    for one in declarations.training_sets:
        if one.name == name:
            return one
    declarations.check()
    known = ", ".join(one.name for one in declarations.training_sets)
    raise SettingsError("training set", found=repr(name), expected=f"one of {known}", remedy="Correct the name.")
