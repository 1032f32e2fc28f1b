"""The frame of every page: title, navigation, style. No other file, no other host; light and dark, phone and wall.

The one script moves links to Airflow's screens out of Airflow's frame, nothing else; it is named to the browser by its hash.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files

from headrace.pages.html import Html, join, join_all, tag
from headrace.pages.links import Links


def policy() -> str:
    """The content security policy pages are sent with: nothing is loaded from anywhere, and nothing runs but our own script."""
    script = base64.b64encode(hashlib.sha256(_piece("page.js").encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{script}'; style-src 'unsafe-inline'; img-src data:; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'self'"
    )


def page(title: str, *body: object, here: str, links: Links, lead: object = None) -> bytes:
    """A whole page, UTF-8. `here`: which entry of the navigation it belongs to."""
    head = join(
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{title} · Headrace"),
        tag("style", Html(_piece("page.css"))),
    )
    top = tag("header", tag("h1", title), None if lead is None else tag("p", lead, class_="lead"))
    skip = tag("a", "Skip to content", href="#content", class_="skip")
    main = tag("main", top, *body, id="content", tabindex="-1")
    html = tag(
        "html",
        tag("head", head),
        tag("body", skip, _navigation(here, links), main, tag("script", Html(_piece("page.js")))),
        lang="en",
    )
    return f"<!doctype html>\n{html}\n".encode()


def section(title: str, *body: object, note: object = None) -> Html:
    """A card with a heading."""
    return tag("section", tag("h2", title), None if note is None else tag("p", note, class_="note"), *body)


def empty(title: str, *what_to_do: object) -> Html:
    """What stands where there is nothing yet, and what to do about it."""
    return tag("section", tag("h2", title), tag("div", *what_to_do), class_="empty")


def problem(title: str, *body: object) -> Html:
    """Something went wrong: what, and what to do."""
    return tag("section", tag("h2", title), *body, class_="problem", role="alert")


def link(label: object, href: str, **more: object) -> Html:
    return tag("a", label, href=href, **more)


def out(label: object, href: str) -> Html:
    """A link to a screen of Airflow, which must replace the whole window, not this frame in it."""
    return tag("a", label, href=href, target="_top")


def _navigation(here: str, links: Links) -> Html:
    entries = (
        ("Datasets", links.datasets()),
        ("Snapshots", links.snapshots()),
        ("Quality", links.quality()),
        ("Runs", links.runs()),
        ("Sample", links.sample()),
    )
    shown = [tag("li", tag("a", name, href=href, aria_current="page" if name == here else None)) for name, href in entries]
    return tag("nav", tag("ul", join_all(shown)), aria_label="Headrace")


@cache
def _piece(name: str) -> str:
    return files("headrace.pages").joinpath(name).read_text(encoding="utf-8")
