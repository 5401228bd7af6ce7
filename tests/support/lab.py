"""JupyterLab as `make lab` starts it, and a lesson open in it.

with server(folder, home) as address:
    lesson = Lesson(browser, address, "01_membership_game")
    lesson.run()
    lesson.sliders()[0].press("End")
"""

import os
import re
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import nbformat
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import Browser, Locator, Page, Route

import notebooks
from paths import ROOT

SERIES = notebooks.lessons()
COLD = "cold_start"
SMALL = "one_slider"
ONE_SLIDER = """\
from mialib.course import plots, widgets
def view(prior):
    return plots.lines([0, 1], {"PPV": [0, 1]}, xlabel="prior", ylabel="PPV", mark=prior)
widgets.explore(view, prior=widgets.slider(0.1, 0.5, start=0.1, step=0.1, label="prior"))"""
SECONDS_TO_START = 120
BOX = "xpath=ancestor::*[contains(@class, 'widget-vbox')][1]"
# The notebook that is shown, as JupyterLab's own code calls it.
OPEN = "window.jupyterapp?.shell?.currentWidget"
IS_READY = f"() => !!{OPEN}?.context?.sessionContext?.session?.kernel && {OPEN}?.context?.isReady"
# Resolves to the milliseconds from the next key or release of the mouse to the next picture.
ANSWER = """box => {
  const picture = () => [...box.querySelectorAll("img")].map(image => image.src).join();
  const before = picture();
  window.answer = new Promise(resolve => {
    let started = null;
    const start = () => { started = performance.now(); };
    addEventListener("keydown", start, {capture: true, once: true});
    addEventListener("pointerup", start, {capture: true, once: true});
    new MutationObserver((_, watcher) => {
      if (started === null || picture() === before) return;
      watcher.disconnect();
      resolve(performance.now() - started);
    }).observe(box, {childList: true, subtree: true});
  });
}"""
AWAIT_ANSWER = """limit => Promise.race([
  window.answer,
  new Promise((_, fail) => setTimeout(() => fail("No new picture came."), limit)),
])"""


def command() -> tuple[dict[str, str], list[str]]:
    """What `make lab` runs: variables of the environment, and what it gives to `jupyter lab`."""
    told = subprocess.run(
        ["make", "--dry-run", "lab"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    line = next(line for line in told.stdout.splitlines() if "jupyter lab" in line)
    before, options = line.split("jupyter lab")
    variables = [word.partition("=") for word in shlex.split(before) if "=" in word]
    return {name: value for name, _, value in variables}, shlex.split(options)


@contextmanager
def server(folder: Path, home: Path) -> Iterator[str]:
    """A server over fresh copies of all lessons; the address is the one that it prints.

    What the lessons train is kept in `home`; only COLD, a copy of lesson 00, finds nothing trained.
    SMALL is one slider without a lesson.
    """
    (folder / "notebooks").mkdir()
    for lesson in SERIES:
        assembled = notebooks.assemble(lesson, SERIES)
        nbformat.write(assembled, folder / "notebooks" / f"{lesson.name}.ipynb")
    cold = notebooks.assemble(SERIES[0], SERIES)
    elsewhere = f"import os\nos.environ['MIALIB_HOME'] = {str(folder / 'cold')!r}"
    cold.cells.insert(0, new_code_cell(elsewhere))
    nbformat.write(cold, folder / "notebooks" / f"{COLD}.ipynb")
    small = new_notebook(cells=[new_code_cell(ONE_SLIDER)], metadata=cold.metadata)
    nbformat.write(small, folder / "notebooks" / f"{SMALL}.ipynb")
    log = folder / "log"
    variables, options = command()
    with log.open("w") as opened:
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *options, *_for_tests()],
            cwd=folder,
            env=_environment(folder, home) | variables,
            stdout=opened,
            stderr=subprocess.STDOUT,
        )
        try:
            yield _printed_address(log)
        finally:
            process.terminate()
            process.wait()


def _for_tests() -> list[str]:
    with socket.socket() as free:
        free.bind(("localhost", 0))
        _, port = free.getsockname()
    return [f"--port={port}", "--no-browser", "--expose-app-in-browser"]


def _environment(folder: Path, home: Path) -> dict[str, str]:
    """Nobody's settings but its own; progress bars are shown, as to a reader."""
    tracker = folder / "settings/@jupyterlab/notebook-extension/tracker.jupyterlab-settings"
    tracker.parent.mkdir(parents=True)
    tracker.write_text('{"windowingMode": "none"}')  # The whole notebook is on the page.
    own = {
        "MIALIB_HOME": home,
        "JUPYTER_CONFIG_DIR": folder / "config",
        "JUPYTER_RUNTIME_DIR": folder / "runtime",
        "JUPYTERLAB_SETTINGS_DIR": folder / "settings",
        "JUPYTERLAB_WORKSPACES_DIR": folder / "workspaces",
    }
    kept = {name: value for name, value in os.environ.items() if name != "TQDM_DISABLE"}
    path = {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    return kept | path | {name: str(value) for name, value in own.items()}


def _printed_address(log: Path) -> str:
    deadline = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < deadline:
        found = re.search(r"http://localhost:\S+token=\w+", log.read_text())
        if found:
            return found[0]
        time.sleep(0.2)
    raise TimeoutError(f"JupyterLab printed no address with a token: {log.read_text()[-2000:]}")


class Lesson:
    """A lesson in a window of its own, with what the browser complained about."""

    def __init__(self, browser: Browser, address: str, name: str):
        self.name = name
        self.complaints: list[str] = []
        self.asked: set[str] = set()  # addresses on the server
        self.asked_elsewhere: set[str] = set()
        self.page = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
        self.page.on("console", self._listen)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.route("**/*", self._answer)
        here = urlsplit(address)
        path = f"/lab/tree/notebooks/{name}.ipynb"
        query = f"{here.query}&reset"  # without the tabs of the lesson before
        self.page.goto(here._replace(path=path, query=query).geturl())
        self.page.wait_for_function(IS_READY, timeout=1000 * SECONDS_TO_START)

    def _listen(self, message) -> None:
        if message.type == "error":
            self.complaints.append(message.text)

    def _answer(self, route: Route) -> None:
        address = urlsplit(route.request.url)
        if address.hostname == "localhost":
            self.asked.add(address.path)
            route.continue_()
        else:
            self.asked_elsewhere.add(route.request.url)
            route.abort()

    def start(self) -> None:
        """Run every cell, and come back at once."""
        run_all = "jupyterapp.commands.execute('notebook:run-all-cells')"
        self.page.evaluate(f"() => {{ window.running = {run_all}; }}")

    def run(self) -> None:
        """Run every cell; comes back when the last one has ended."""
        self.start()
        self.page.evaluate("window.running")

    def content(self) -> nbformat.NotebookNode:
        return nbformat.from_dict(self.page.evaluate(f"{OPEN}.content.model.toJSON()"))

    def is_changed(self) -> bool:
        return self.page.evaluate(f"{OPEN}.context.model.dirty")

    def save(self) -> None:
        self.page.evaluate(f"{OPEN}.context.save()")

    def reload(self) -> None:
        """Open the saved file anew."""
        self.page.reload()
        self.page.wait_for_function(IS_READY, timeout=1000 * SECONDS_TO_START)

    def sliders(self) -> list["Slider"]:
        found = self.page.locator(".mialib-slider")
        return [Slider(self.page, one) for one in found.all()]

    def sliders_beside(self, button: Locator) -> list["Slider"]:
        """Those that stand in one box with a button."""
        box = button.locator(BOX)
        return [Slider(self.page, one) for one in box.locator(".mialib-slider").all()]

    def end_kernel(self) -> None:
        self.page.evaluate(f"{OPEN}.context.sessionContext.shutdown()")

    def close(self) -> None:
        """End the kernel too: two cores are few."""
        self.end_kernel()
        self.page.context.close()


class Slider:
    """One slider, and the box of sliders and picture that it stands in."""

    def __init__(self, page: Page, place: Locator):
        self.page = page
        self.place = place
        self.handle = place.locator(".noUi-handle")
        self.box = place.locator(BOX)

    @property
    def name(self) -> str:
        return self.handle.get_attribute("aria-label") or ""

    def shown(self) -> dict[str, str | None]:
        """What a reader sees or hears of it."""
        picture = self.box.locator("img").last
        return {
            "value": self.handle.get_attribute("aria-valuetext"),
            "picture": picture.get_attribute("src"),
            "alt text": picture.get_attribute("alt"),
            "announcement": self.box.locator(".mialib-told").inner_text(),
        }

    def is_at_its_start(self) -> bool:
        return self._stands_at("aria-valuemin")

    def is_at_its_end(self) -> bool:
        return self._stands_at("aria-valuemax")

    def _stands_at(self, limit: str) -> bool:
        return self.handle.get_attribute("aria-valuenow") == self.handle.get_attribute(limit)

    def wait_until_told(self, before: str) -> None:
        """The words for a screen reader come just after the picture."""
        told = self.box.locator(".mialib-told").element_handle()
        changed = "([told, before]) => told.innerText !== before"
        self.page.wait_for_function(changed, arg=[told, before])

    def press(self, key: str) -> float:
        """Milliseconds until the next picture."""
        self.handle.focus()
        self.box.evaluate(ANSWER)
        self.page.keyboard.press(key)
        return self._wait()

    def drag(self, share: float) -> float:
        """To this share of the track, by mouse; milliseconds from the release to the picture."""
        self.handle.scroll_into_view_if_needed()
        self.box.evaluate(ANSWER)
        start = self.handle.bounding_box()
        track = self.place.locator(".noUi-base").bounding_box()
        height = start["y"] + start["height"] / 2
        self.page.mouse.move(start["x"] + start["width"] / 2, height)
        self.page.mouse.down()
        self.page.mouse.move(track["x"] + share * track["width"], height, steps=5)
        self.page.mouse.up()
        return self._wait()

    def _wait(self) -> float:
        return self.page.evaluate(AWAIT_ANSWER, 20_000)
