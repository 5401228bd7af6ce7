"""The set-up cell in an imitation of Colab, where mialib comes as a built wheel.

Torch, NumPy and the others are there: the imitation is a virtual environment that sees the packages
of this one, except mialib, and a stand-in `google.colab`. `make colab` has Colab's own versions
and runs every lesson. Tried on the real Colab: not yet.
"""

import os
import re
import site
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

import colab as colab_tool
import notebooks
from paths import ROOT

SERIES = notebooks.lessons()

COLAB = colab_tool.read_list(colab_tool.LIST.read_text(encoding="utf-8"))
NEEDS = [
    Requirement(line)
    for line in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
]

RUN_CELL = """
import sys, types
sys.modules["google.colab"] = types.ModuleType("google.colab")
from IPython.core.interactiveshell import InteractiveShell
result = InteractiveShell.instance().run_cell(sys.argv[1])
sys.exit(1 if result.error_before_exec or result.error_in_exec else 0)
"""

AWAY_FROM_THE_CHECKOUT = """
import mialib
from mialib import attacks, bank, data, metrics, profiles, runs, store
from mialib.course import cards, plots, widgets
from mialib.experiments import results
from mialib.course.exercises import check
print(mialib.__file__)
print(store.home())
print(len(data.load("letters", size=20, seed=0).y), "letters")
from mialib.configurations import Configuration
from mialib.training import Recipe
small = {"data": "digits", "size": 240, "model": "mlp", "options": {"widths": (16,)}}
print(runs.get(Configuration(**small, recipe=Recipe(epochs=1))).signals.is_member.sum(), "members")
print(len(bank.load("letters").labels), "records in the bank")
print(len(results("base", "quick")), "rows of results")
"""


@dataclass(frozen=True)
class Colab:
    """The imitated machine: an interpreter, a folder of packages, and an empty home."""

    python: Path
    packages: Path
    content: Path

    def run(self, *arguments: str) -> subprocess.CompletedProcess:
        """Run Python there, without a network and without this checkout's settings."""
        kept = {
            name: os.environ[name]
            for name in ("PATH", "TMPDIR", "LD_LIBRARY_PATH")
            if name in os.environ
        }
        settings = {
            "HOME": str(self.content),
            "PIP_NO_INDEX": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        }
        command = [str(self.python), *arguments]
        return subprocess.run(
            command, cwd=self.content, env=kept | settings, capture_output=True, text=True
        )

    def set_up(self, source: str) -> subprocess.CompletedProcess:
        """Run the set-up cell with `source` in the place of the repository's address."""
        cell = notebooks.SETUP.format(address=notebooks.repository())
        cell = colab_tool.installing_from(source, cell)
        return self.run("-c", RUN_CELL, cell)

    def freeze(self) -> list[str]:
        """Every installed package with its version."""
        return self.run("-m", "pip", "freeze", "--all").stdout.splitlines()

    def hide(self, name: str) -> None:
        for entry in self.packages.glob(f"{name}*"):
            entry.unlink()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """mialib as pip builds it, without a network."""
    folder = tmp_path_factory.mktemp("source")
    return colab_tool.build_wheel(folder, "--no-build-isolation", "--no-index")


@pytest.fixture(scope="module")
def colab(tmp_path_factory):
    folder = tmp_path_factory.mktemp("colab")
    packages, content = folder / "dist-packages", folder / "content"
    for made in (packages, content):
        made.mkdir()
    places = [Path(place) for place in site.getsitepackages() if Path(place).is_dir()]
    for entry in {entry.name: entry for place in places for entry in place.iterdir()}.values():
        if not re.match(r"mialib|__editable__|__pycache__|.*\.pth$", entry.name):
            (packages / entry.name).symlink_to(entry)
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True
    )
    (own,) = (folder / "venv").glob("lib/python*/site-packages")
    # The packages lie outside the environment, so pip could not remove one of them even if it
    # wanted to.
    (own / "colab.pth").write_text(str(packages))
    return Colab(folder / "venv" / "bin" / "python", packages, content)


def test_the_imitation_has_what_colab_has_and_no_mialib(colab):
    frozen = " ".join(colab.freeze())
    assert "mialib" not in frozen
    for need in NEEDS:
        assert f"{need.name}==" in frozen.lower(), need.name


def test_a_failed_installation_stops_the_cell_with_a_sentence(colab):
    """A failed %pip does not fail a cell, so the cell looks for itself."""
    done = colab.set_up("file:///nowhere/mialib-0.1.0-py3-none-any.whl")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].endswith(
        "mialib is not installed: see the README, then restart."
    )


@pytest.fixture(scope="module")
def ready(colab, wheel):
    """The set-up cell has run; what pip listed before and after."""
    before = colab.freeze()
    done = colab.set_up(wheel.as_uri())
    assert done.returncode == 0, done.stdout + done.stderr
    return before, colab.freeze()


def test_the_set_up_cell_adds_mialib_and_changes_nothing_else(ready):
    before, after = map(set, ready)
    assert before - after == set()
    (added,) = after - before
    assert added.startswith("mialib")


def test_a_second_run_installs_nothing(ready, colab):
    assert colab.set_up("file:///nowhere/mialib-0.1.0-py3-none-any.whl").returncode == 0


def test_mialib_works_away_from_the_checkout(ready, colab):
    done = colab.run("-c", AWAY_FROM_THE_CHECKOUT)
    assert done.returncode == 0, done.stderr
    file, home, letters, members, records, rows = done.stdout.splitlines()
    assert Path(file).is_relative_to(colab.python.parents[1])
    assert Path(home) == colab.content / ".cache" / "mialib"
    assert (Path(home) / "runs").is_dir()
    assert letters == "20 letters"
    for line in (members, records, rows):
        assert int(line.split()[0]) > 0, line


def test_the_wheel_holds_every_file_of_the_package(ready, colab):
    place = colab.run("-c", "import mialib; print(mialib.__path__[0])").stdout.strip()
    installed = Path(place)
    assert installed.is_relative_to(colab.python.parents[1])
    for pattern in ("*.py", "*.toml", "*.npz", "*.json", "*.csv", "*.png", "py.typed"):
        here = {path.relative_to(ROOT / "mialib") for path in (ROOT / "mialib").rglob(pattern)}
        there = {path.relative_to(installed) for path in installed.rglob(pattern)}
        assert here <= there
        assert here


def test_what_is_missing_is_named_with_a_command_for_a_cell(ready, colab):
    """Runs last: the package stays hidden."""
    colab.hide("pooch")
    done = colab.set_up("file:///nowhere/mialib-0.1.0-py3-none-any.whl")
    assert done.returncode == 1
    assert 'pooch is missing: %pip install "pooch>=1.8"' in done.stdout
    assert "Then restart the kernel." in done.stdout


@pytest.mark.parametrize("need", NEEDS, ids=str)
def test_every_range_admits_what_colab_has(need):
    """A minimum that is raised beyond Colab's version fails here, before a reader sees it."""
    assert need.specifier.contains(COLAB.versions[need.name])


def test_python_admits_what_colab_has():
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    assert SpecifierSet(wanted).contains(COLAB.python)


@pytest.mark.parametrize("lesson", SERIES, ids=lambda lesson: lesson.name)
def test_the_notebook_asks_colab_for_a_gpu(lesson):
    assert notebooks.assemble(lesson, SERIES).metadata["accelerator"] == "GPU"
    committed = ROOT / "notebooks" / f"{lesson.name}.ipynb"
    if committed.exists():
        assert nbformat.read(committed, as_version=4).metadata["accelerator"] == "GPU"


def test_sliders_show_with_the_ipywidgets_of_colab(monkeypatch):
    """ipywidgets 7 has no `_repr_mimebundle_`."""
    import ipywidgets

    from mialib.course import widgets
    from mialib.course.plots.picture import Picture

    monkeypatch.delattr(ipywidgets.Widget, "_repr_mimebundle_", raising=False)
    monkeypatch.setattr(widgets, "EXPLORERS", [])
    line = Picture(lambda figure: figure.subplots(), alt="An empty plot.", caption="Nothing.")
    explorer = widgets.explore(lambda x: line, x=widgets.slider(0, 1, start=0, step=0.1, label="x"))
    bundle = explorer._repr_mimebundle_()
    model = bundle["application/vnd.jupyter.widget-view+json"]["model_id"]
    assert re.fullmatch(r"[0-9a-f]{32}", model)
    assert "run the notebook" in bundle["text/plain"]
