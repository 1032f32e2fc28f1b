"""One person's visit: what they may see and take on, and what pages are built from."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Annotated

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.core_api.security import GetUserDep
from fastapi import Depends, Request
from headrace.errors import SettingsError
from headrace.pages.links import Links
from headrace_pages import ROOT

from headrace_ui import incidents

if TYPE_CHECKING:
    from headrace.lake.store import Store
    from headrace.pages.catalogue import Entry
    from headrace.pages.reads import Reads


class Visit:
    """One person's request."""

    def __init__(self, request: Request, user: GetUserDep) -> None:
        from headrace.pages.catalogue import catalogue
        from headrace.pages.site import Site
        from headrace.runs.prices import prices_from
        from headrace.settings import declarations_folder, prices_text
        from headrace.spec.load import load_declarations

        self.user = user
        self.links = links_of(request)
        self.reads = reads()
        self.declared = load_declarations(declarations_folder())
        self.catalogue = catalogue(self.declared, get_auth_manager().get_authorized_dag_ids(user=user))
        self.site = Site(reads=self.reads, links=self.links, prices=prices_from(prices_text()), now=datetime.now(UTC))

    def may_take_on(self, entry: Entry) -> bool:
        """Whether this person may take on what is wrong with an entry."""
        return incidents.may_decide(self.user, entry)


Visiting = Annotated[Visit, Depends()]


def links_of(request: Request) -> Links:
    """Addresses below wherever Airflow is mounted."""
    root = str(request.scope.get("root_path", ROOT)).rstrip("/")
    return Links(root=root, airflow=root.removesuffix(ROOT))


@cache
def reads() -> Reads:
    """One cache of the lake for this server."""
    from headrace.pages.reads import Reads
    from headrace.settings import lake_uri
    from headrace_stores import open_store

    return Reads(open_store(lake_uri()))


@cache
def source() -> Store | None:
    """Where source objects lie; None where nobody told this server."""
    from headrace.settings import source_uri
    from headrace_stores import open_store

    try:
        return open_store(source_uri())
    except SettingsError:
        return None
