"""Which run made a release or a manifest, with what: the same words on every page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.pages import figures
from headrace.pages.html import Html, tag
from headrace.pages.links import Links
from headrace.pages.page import out


def made_by(run: Mapping[str, Any], links: Links) -> list[tuple[str, object]]:
    """Names and values for a list of facts; a value of None where the document does not say."""
    return [
        ("Made", figures.moment(run["made_at"]) if "made_at" in run else None),
        ("By", run_link(run, links)),
        (
            "Code",
            None if "code_version" not in run else tag("code", str(run["code_version"])[:12], title=str(run["code_version"])),
        ),
    ]


def run_link(run: Mapping[str, Any], links: Links) -> Html | None:
    """`backfill run`, linked, with its DAG and ID on hover. None when the document does not say."""
    if not {"run_id", "dag"} <= run.keys():
        return None
    kind = str(run.get("run_kind", "")).replace("_", " ")
    address = links.airflow_run(str(run["dag"]), str(run["run_id"]))
    return tag("span", out(f"{kind} run".strip(), address), title=f"{run['dag']} {run['run_id']}")
