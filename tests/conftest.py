"""What several test files share.

The run store of the tests is a folder of their own, never the user's. Processes that run tests side
by side share it, so that what one of them trained the others find.
"""

import os

# Small arrays gain nothing from threads that wait for each other, least of all beside a second
# process of tests. NumPy and torch read this when they are imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import settings

# The same examples every time, so that a newcomer's first `make test` cannot fail by bad luck.
settings.register_profile("course", deadline=None, derandomize=True, database=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "course"))


@pytest.fixture(scope="session")
def common_folder(tmp_path_factory):
    """One folder for all processes that run tests side by side."""
    folder = tmp_path_factory.getbasetemp()
    # A worker's folder lies in the folder of them all.
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@pytest.fixture(scope="session", autouse=True)
def _own_home(common_folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MIALIB_HOME", str(common_folder / "home"))
        yield


@pytest.fixture(scope="session")
def lessons_home(common_folder):
    """The store of all lessons, run as notebooks or in a browser: each model is trained once."""
    return common_folder / "lessons"


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def digits():
    from mialib import data

    return data.load("digits", size=240)


@pytest.fixture(scope="session")
def members(digits):
    return digits.take(np.arange(60))


@pytest.fixture(scope="session")
def others(digits):
    """Non-members."""
    return digits.take(np.arange(60, 110))


@pytest.fixture(scope="module")
def one_thread():
    """The same bits need the same number of threads; with one, small networks are quickest too."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def tiny():
    """A run of a tenth of a second."""
    from mialib.configurations import Configuration
    from mialib.training import Recipe

    recipe = Recipe(epochs=2, batch_size=16, lr=0.05)
    return Configuration(
        data="digits", size=240, model="mlp", options={"widths": (16,)}, recipe=recipe
    )


@pytest.fixture
def store(tmp_path):
    from mialib.store import Store

    return Store(tmp_path / "store")


@pytest.fixture(scope="module")
def browser():
    """Chromium. One per file, not per session: while it is open, Playwright's event loop counts as
    running, and other tests of the same process may want one of their own.
    """
    import chromium

    with chromium.opened() as browser:
        yield browser


def pytest_terminal_summary(terminalreporter):
    """Say aloud what was not looked at in a browser, and how fast sliders answered in one."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = {report.longrepr[2] for report in skipped if "tests/browser" in report.nodeid}
    passed = terminalreporter.stats.get("passed", [])
    answers = [
        value for report in passed for name, value in report.user_properties if name == "answers"
    ]
    if reasons or answers:
        terminalreporter.section("in a real browser", sep="-")
        for line in [*sorted(reasons), *answers]:
            terminalreporter.write_line(line.removeprefix("Skipped: "))
