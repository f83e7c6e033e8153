"""Debian's Chromium under test control; its complaints and fetches are recorded."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

ALL_DRAWN = "[...document.querySelectorAll('[data-chart], #vis')].every(each => each.querySelector('svg'))"


@contextmanager
def chromium() -> Iterator[Browser]:
    # Root in a container has no namespaces for the sandbox; the pages are ours.
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield browser
        browser.close()


@dataclass
class Visit:
    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


def visit(browser: Browser, path: Path, *, scheme: str = "light", width: int = 1280) -> Visit:
    """Return the page after all its charts are drawn."""
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    made = Visit(page)
    page.on("console", lambda message: made.complaints.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: made.complaints.append(str(error)))
    page.on("request", lambda request: made.requests.append(request.url))
    page.goto(path.as_uri())
    page.wait_for_function(ALL_DRAWN)
    return made
