"""A real browser for the tests: Chromium, driven by Playwright.

Where there is none, the tests that ask for it are skipped, and the end of the report says how to
get one (`tests/conftest.py`).
"""

import shutil

import pytest
from playwright.sync_api import sync_playwright

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


def chromium() -> str | None:
    """Where Chromium is, if it is anywhere."""
    found = [shutil.which(name) for name in NAMES]
    return next((path for path in found if path), None)


@pytest.fixture(scope="module")
def browser():
    """A Playwright `Browser`; `browser.new_context()` gives each test a window of its own.

    One per file, not per session: while it is open, Playwright's event loop counts as running, and
    other tests of the same process may want one of their own.
    """
    executable = chromium()
    if executable is None:
        pytest.skip(MISSING)
    with sync_playwright() as engine:
        opened = engine.chromium.launch(executable_path=executable, headless=True, args=FLAGS)
        yield opened
        opened.close()
