"""A real browser, logged in to a house's UI."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from local.house import House

_QUIET = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]


@contextmanager
def browser_page(width: int = 1400, height: int = 900, *, dark: bool = False) -> Iterator[Any]:
    """An empty page of Debian's Chromium."""
    playwright = pytest.importorskip("playwright.sync_api")
    chromium = os.environ.get("HEADRACE_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.fail("no Chromium: install Debian's package `chromium`, or set HEADRACE_CHROMIUM to a browser")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=_QUIET)
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light")
        context.set_default_timeout(60_000)
        yield context.new_page()
        browser.close()


def log_in(page: Any, house: House) -> None:
    """As a person does, at the login page itself, in a tab of its own.

    The UI that opens behind the login goes on asking for a while, and each of its requests that is answered 401 moves its tab to the login
    anew: in the tab that a test looks at, both would be taken for the page's own doing.
    """
    user, password = house.login
    door = page.context.new_page()
    door.goto(f"{house.url}/auth/login/")
    door.locator("input[name=username]").fill(user)
    door.locator("input[name=password]").fill(password)
    door.locator("button[type=submit]").click()
    door.wait_for_url(lambda url: "/auth/login" not in url, wait_until="commit")
    door.goto("about:blank")  # to close a tab while it loads has no time limit, and once never came back
