"""What a person may say when they trigger a DAG, and that nothing else is taken in silently."""

from __future__ import annotations

from typing import Any, Final

from airflow.sdk import Param
from headrace.errors import FinalError

_HOW: Final = (
    "**Which day?** Open *Advanced Options* and give the day as **Partition Key**, such as `{example}`; a run without one fails at "
    "once and publishes nothing. For several days choose *Backfill* above. What you write here stays with the run; nothing is computed "
    "from it."
)


class RunConfRefused(FinalError):
    """A run was given parameters its DAG does not have."""


def root_params(example: str) -> dict[str, Any]:
    """The trigger form of a root DAG. `example`: a day of its data."""
    why = Param(
        None, type=["null", "string"], maxLength=500, title="Why this run (optional)", description_md=_HOW.format(example=example)
    )
    return {"why": why}


def check_conf(context: Any) -> None:
    """Airflow takes any key of a run's conf; a misspelt one would do nothing and say nothing.

    Raises:
        RunConfRefused: names the unknown keys and the known ones.
    """
    conf: dict[str, Any] | None = context["dag_run"].conf
    unknown = sorted(set(conf or {}) - set(context["dag"].params))
    if unknown:
        known = ", ".join(sorted(context["dag"].params)) or "none"
        raise RunConfRefused(
            f"run {context['dag_run'].run_id}",
            found=f"parameters {', '.join(unknown)}",
            expected=f"only parameters this DAG has: {known}",
            remedy="Trigger it again without them.",
        )
