"""Whether a request that changes something comes from a page of ours, so that no other site can make a person's browser send it.

Airflow's login cookie is `SameSite=Lax`, which keeps it out of forms on other sites, but an auth manager may set another cookie (AWS's
does), and a neighbour on the same site is not us. What browsers say of a form by themselves, and no page can change, decides: where it
came from (`Sec-Fetch-Site`, else `Origin`; a browser that sends neither is older than both). A token that was given in a header
did not ride along by itself.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from urllib.parse import urlsplit


def is_from_here(headers: Mapping[str, str], hosts: Collection[str]) -> bool:
    """Whether the request comes from a page of this server. `headers`: by lower-case name; `hosts`: `host:port` people know it by."""
    if headers.get("authorization", "").lower().startswith("bearer "):
        return True
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    return urlsplit(headers.get("origin", "")).netloc in set(hosts) - {""}
