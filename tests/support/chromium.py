"""A real browser for the tests: Chromium, driven by Playwright.

Where there is none, the tests that ask for it are skipped, and the end of the report says how to
get one (`tests/conftest.py`).
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
MISSING = (
    "No Chromium was found, so nothing was looked at in a real browser. "
    "Install it with `apt-get install chromium` (or your system's way), then run `make test` again."
)
# It draws without a graphics card, runs as root in a container, and asks nobody for anything.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def executable() -> str | None:
    """Where Chromium is, if it is anywhere."""
    found = [shutil.which(name) for name in NAMES]
    return next((path for path in found if path), None)


@contextmanager
def opened() -> Iterator[Browser]:
    """A Playwright `Browser`; `browser.new_context()` gives each test a window of its own."""
    path = executable()
    if path is None:
        pytest.skip(MISSING)
    with sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path=path, headless=True, args=FLAGS)
        yield browser
        browser.close()
