"""What all commands take alike, and the lake they work on."""

from __future__ import annotations

from datetime import date
from typing import Annotated, TypeAlias

import typer

from headrace.lake.open import open_store
from headrace.lake.store import Store
from headrace.manifests.run import RunIdentity
from headrace.settings import lake_uri

Lake: TypeAlias = Annotated[
    str | None, typer.Option("--lake", help="URI of the lake, s3://bucket/prefix or file:///folder; else HEADRACE_LAKE.")
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
DatasetName: TypeAlias = Annotated[str, typer.Argument(help="Name of the dataset.")]
ReleaseNumber: TypeAlias = Annotated[int | None, typer.Option("--release", help="Release number; else the one in use.")]


def open_lake(uri: str | None) -> Store:
    """The lake named on the command line, else in the environment. Raises `SettingsError`."""
    return open_store(lake_uri() if uri is None else uri)


def written_day(text: str) -> date:
    """A date as an argument, for typer's `parser`. Another text ends the command with status 2, before anything is read."""
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is no date such as 2013-01-04") from error


def by_hand(command: str, partition: str = "") -> RunIdentity:
    """The run that a person's command is, as documents record it."""
    return RunIdentity(dag=f"headrace {command}", run_id="by hand", kind="local", partition_key=partition)
