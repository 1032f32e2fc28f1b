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
        page = browser.new_page(viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light")
        page.set_default_timeout(60_000)
        yield page
        browser.close()


def log_in(page: Any, house: House) -> None:
    """As a person does, at the login page itself: over the UI, each of its requests that is answered 401 moves the browser there anew."""
    user, password = house.login
    page.goto(f"{house.url}/auth/login/")
    page.locator("input[name=username]").fill(user)
    page.locator("input[name=password]").fill(password)
    page.locator("button[type=submit]").click()
    page.wait_for_url(lambda url: "/auth/login" not in url, wait_until="commit")
