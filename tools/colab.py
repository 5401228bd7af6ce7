"""Try the lessons on Colab's packages, as far as that can be done without Colab.

    python tools/colab.py run                       every lesson; --only 06 08 for some
    python tools/colab.py refresh pip-freeze.txt --date 2026-08-19 --python 3.13

tests/colab.txt lists what Colab has. `run` makes an environment of exactly these versions, with the
same Python, in build/colab. Each lesson runs in a kernel there, away from this checkout and with a
stand-in for google.colab, so its set-up cell has to install mialib itself: from a wheel of this
checkout in the place of the repository's address. Then every slider is moved. What executes the
notebook stays outside, so that nothing is added to Colab's packages but mialib.

`refresh` takes over the versions of a newer list that Colab has published.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import nbformat
from packaging.utils import canonicalize_name

import notebooks
import sliders
from paths import ROOT

LIST = ROOT / "tests" / "colab.txt"
FOLDER = ROOT / "build" / "colab"
ADDRESS = re.compile(r'git\+https://[^"\s]+')
# pip freezes a package by its version or by the wheel that it came from.
FROZEN = re.compile(r"(?m)^([\w.-]+)(?:==| @ \S*/[\w.]+?-)(\d[\w.!]*)")

# Runs when the kernel starts. On Colab the module is there before the first cell.
STARTUP = """\
import sys
import types

sys.modules.setdefault("google.colab", types.ModuleType("google.colab"))
"""

INSTALLED = """\
import json
from importlib import metadata

print(json.dumps({one.name: one.version for one in metadata.distributions()}))
"""


@dataclass(frozen=True)
class Published:
    """What tests/colab.txt says of Colab."""

    date: str
    python: str  # such as 3.13
    versions: dict[str, str]  # by the canonical name of the package


def read_list(text: str) -> Published:
    """The list, or a sentence about the line that is not as it should be."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    versions = {}
    for line in lines:
        match = re.fullmatch(r"([\w.-]+)==(\d[\w.!]*)", line)
        if match is None:
            raise ValueError(f"{LIST.name}: expected name==version, found {line!r}.")
        versions[canonicalize_name(match[1])] = match[2]
    if len(versions) < len(lines):
        raise ValueError(f"{LIST.name}: a package is listed twice.")
    return Published(_stated("Date", text), _stated("Python", text), versions)


def _stated(what: str, text: str) -> str:
    match = re.search(rf"(?m)^# {what}: (\S+)$", text)
    if match is None:
        raise ValueError(f"{LIST.name}: the head lacks a line «# {what}: …».")
    return match[1]


def refreshed(text: str, *, freeze: str, date: str, python: str) -> str:
    """The same list with the versions of a `pip freeze`; a package that is gone is an error."""
    newer = {canonicalize_name(name): version for name, version in FROZEN.findall(freeze)}
    gone = set(read_list(text).versions) - set(newer)
    if gone:
        raise ValueError(f"Colab no longer lists {', '.join(sorted(gone))}: is a need to go too?")

    def newest(match: re.Match) -> str:
        return f"{match[1]}=={newer[canonicalize_name(match[1])]}"

    text = re.sub(r"(?m)^([\w.-]+)==\S+$", newest, text)
    text = re.sub(r"(?m)^# Date: .*$", f"# Date: {date}", text)
    return re.sub(r"(?m)^# Python: .*$", f"# Python: {python}", text)


@dataclass(frozen=True)
class Colab:
    """An interpreter with Colab's packages, and a folder for what a try leaves behind."""

    python: Path
    folder: Path

    @property
    def content(self) -> Path:
        """Where its kernels start: an empty folder, as /content is on Colab."""
        return self.folder / "content"

    def run(self, *arguments: str) -> str:
        """What Python prints there; this checkout is out of its sight."""
        environment = {**os.environ, "PYTHONPATH": "", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        command = [str(self.python), *arguments]
        done = subprocess.run(
            command, cwd=self.content, env=environment, check=True, stdout=subprocess.PIPE
        )
        return done.stdout.decode()

    def installed(self) -> dict[str, str]:
        """The version of every package that is there, by its canonical name."""
        found = json.loads(self.run("-c", INSTALLED))
        return {canonicalize_name(name): version for name, version in found.items()}

    def forget_mialib(self) -> None:
        """Remove what an earlier lesson installed, so that the next one has to do so itself."""
        if "mialib" in self.installed():
            self.run("-m", "pip", "uninstall", "--quiet", "--yes", "mialib")

    def offer_kernel(self) -> None:
        """Let Jupyter find a kernel named colab that runs there."""
        startup = self.folder / "ipython" / "profile_default" / "startup"
        kernel = self.folder / "jupyter" / "kernels" / "colab"
        for folder in (self.content, startup, kernel):
            folder.mkdir(parents=True, exist_ok=True)
        (startup / "00_google_colab.py").write_text(STARTUP)
        launcher = ["-Xfrozen_modules=off", "-m", "ipykernel_launcher"]
        environment = {
            "PYTHONPATH": "",
            "IPYTHONDIR": str(self.folder / "ipython"),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        }
        command = [str(self.python), *launcher, "-f", "{connection_file}"]
        spec = {"argv": command, "display_name": "Colab", "language": "python"}
        (kernel / "kernel.json").write_text(json.dumps({**spec, "env": environment}))
        os.environ["JUPYTER_PATH"] = str(self.folder / "jupyter")


def make(published: Published, folder: Path) -> Path:
    """An environment of exactly these versions; its Python. One that is there already is kept."""
    environment = folder / "environment"
    python = environment / "bin" / "python"
    made_of = environment / "made-of.txt"
    if made_of.exists() and made_of.read_text() == LIST.read_text():
        return python
    interpreter = working_python(published.python)
    print(f"Making an environment of Colab's packages of {published.date}: some minutes, 6 GB.")
    subprocess.run([interpreter, "-m", "venv", "--clear", str(environment)], check=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "-r", str(LIST)], check=True)
    made_of.write_text(LIST.read_text())
    return python


def working_python(version: str) -> str:
    """The interpreter of this version, or a sentence: pyenv's stand-in is found, and cannot run."""
    found = shutil.which(f"python{version}")
    if found is None or subprocess.run([found, "--version"], capture_output=True).returncode:
        raise SystemExit(
            f"Colab has Python {version}, and python{version} does not run here: install it, or "
            f"put its folder on the PATH (with pyenv: set PYENV_VERSION to one of {version})."
        )
    return found


def build_wheel(folder: Path, *options: str) -> Path:
    """mialib as pip builds it in `folder`, from a copy, so that the checkout stays clean."""
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "mialib", folder / "mialib", ignore=ignore)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]
    command = [*pip, *options, "--no-deps", "--wheel-dir", "dist", "."]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    (wheel,) = (folder / "dist").glob("mialib-*.whl")
    return wheel


def installing_from(source: str, cell: str) -> str:
    """The set-up cell with `source` in the place of the repository's address."""
    changed, places = ADDRESS.subn(lambda _: source, cell)
    if places != 1:
        raise ValueError(f"Expected one address in the set-up cell, found {places}:\n{cell}")
    return changed


def try_lesson(
    lesson: notebooks.Lesson,
    series: list[notebooks.Lesson],
    *,
    colab: Colab,
    wheel: Path,
    home: Path,
) -> str:
    """Run one lesson as if it were the first that a reader opens; a line about it."""
    colab.forget_mialib()
    before = colab.installed()
    notebook = notebooks.assemble(lesson, series)
    setup = notebooks.cell_tagged(notebook, "setup")
    setup.source = installing_from(wheel.as_uri(), setup.source)
    there = {"kernel": "colab", "folder": colab.content, "home": home}
    with notebooks.executed(notebook, title=lesson.name, **there) as client:
        views = sliders.move(client)
    after = colab.installed()
    if after != before | {"mialib": after.get("mialib")}:
        raise RuntimeError(f"More than mialib has changed: {differences(before, after)}")
    (colab.folder / "lessons").mkdir(exist_ok=True)
    nbformat.write(notebook, colab.folder / "lessons" / f"{lesson.name}.ipynb")
    return f"{lesson.name:<30}{notebook.metadata['mialib']['seconds']:>8.1f}{views:>8}"


def differences(before: dict[str, str], after: dict[str, str]) -> str:
    """Each package whose version is not the same in both."""
    names = sorted(before.keys() | after.keys())
    changes = [
        f"{name} {before.get(name)} → {after.get(name)}"
        for name in names
        if before.get(name) != after.get(name)
    ]
    return ", ".join(changes) or "nothing"


def run(chosen: list[notebooks.Lesson], series: list[notebooks.Lesson], colab: Colab) -> None:
    """Try lessons one after the other, with nothing trained before, and say how each went."""
    colab.offer_kernel()
    _say_what_differs(colab)
    lines = []
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        machine = {"colab": colab, "wheel": build_wheel(Path(folder)), "home": Path(folder, "home")}
        for lesson in chosen:
            try:
                lines.append(try_lesson(lesson, series, **machine))
            except Exception as error:
                print(f"{lesson.name} failed: {str(error)[-3000:]}", file=sys.stderr)
                failed.append(lesson.name)
    print(f"\n{'lesson':<30}{'seconds':>8}{'sliders':>8}", *lines, sep="\n")
    if failed:
        raise SystemExit(f"Failed: {', '.join(failed)}; the reason stands above.")


def _say_what_differs(colab: Colab) -> None:
    """In Colab's own image, what is newer than the list."""
    listed = read_list(LIST.read_text()).versions
    installed = colab.installed()
    there = {name: installed[name] for name in listed if name in installed}
    print(f"Different from {LIST.relative_to(ROOT)}: {differences(listed, there)}.")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    trying = commands.add_parser("run", help="try lessons on Colab's packages")
    trying.add_argument("--only", nargs="*", default=[], help="by the start of their names: 00 01")
    trying.add_argument(
        "--interpreter", type=Path, help="a Python that has Colab's packages, as in Colab's image"
    )
    trying.add_argument("--folder", type=Path, default=FOLDER, help="where everything is kept")
    refreshing = commands.add_parser("refresh", help="take over a newer list of versions")
    refreshing.add_argument("freeze", type=Path, help="Colab's pip-freeze.txt")
    refreshing.add_argument("--date", required=True, help="of that list: 2026-08-19")
    refreshing.add_argument("--python", required=True, help="Colab's Python: 3.13")
    arguments = parser.parse_args()
    if arguments.command == "run":
        _run(arguments)
    else:
        _refresh(arguments)


def _run(arguments: argparse.Namespace) -> None:
    folder = arguments.folder.absolute()
    series = notebooks.lessons()
    chosen = notebooks.chosen_of(series, arguments.only)
    python = arguments.interpreter or make(read_list(LIST.read_text()), folder)
    run(chosen, series, Colab(python.absolute(), folder))


def _refresh(arguments: argparse.Namespace) -> None:
    freeze = arguments.freeze.read_text(encoding="utf-8")
    newer = refreshed(LIST.read_text(), freeze=freeze, date=arguments.date, python=arguments.python)
    LIST.write_text(newer)


if __name__ == "__main__":
    main()
