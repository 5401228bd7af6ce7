"""Is everything here? `python -m mialib.doctor` says what is, and how to mend what is missing.

>>> require()  # for a notebook's set-up cell: silent when all is well, and quick

`device` is that cell's last line: what can compute here. `require` only reads the versions of what
is installed; `device`, and the report of `main`, also import torch.
"""

import importlib
import os
import platform
import shutil
import sys
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement

from mialib import __version__, store

SHOWN = ("torch", "torchvision", "numpy", "scikit-learn", "matplotlib", "ipywidgets", "jupyterlab")
ROOM = 1.0  # GB: CIFAR-10 and the runs of the course fit


class Report(NamedTuple):
    """What the doctor says."""

    facts: list[str]  # what is here
    faults: list[str]  # what is wrong, each with the command that helps


class StoreReport(NamedTuple):
    """What the doctor says of the store."""

    fact: str  # where it is and what it holds
    faults: list[str]  # what hinders writing there


def require() -> None:
    """Raise, with the commands that help, if a package is missing, too old, or does not match."""
    faults = missing_packages() or broken_pair()
    if faults:
        lines = "\n".join(faults)
        raise ImportError(f"mialib needs a little more here.\n{lines}\nThen restart the kernel.")


def missing_packages() -> list[str]:
    """One sentence for each package that is missing or too old."""
    try:
        lines = metadata.requires("mialib") or []
    except metadata.PackageNotFoundError:
        command = _install("-e", ".")
        return [f"mialib itself is not installed: in the folder of its pyproject.toml, {command}"]
    needs = [Requirement(line) for line in lines]
    sentences = [_fault_of(need) for need in needs if _is_needed(need)]
    return [sentence for sentence in sentences if sentence is not None]


def _is_needed(need: Requirement) -> bool:
    """Whether it is needed here, and not for an extra or for another system alone."""
    return need.marker is None or need.marker.evaluate({"extra": ""})


def _fault_of(need: Requirement) -> str | None:
    """What is wrong with one package, and how to mend it; None if it is well."""
    version = _version(need.name)
    command = _install(f"{need.name}{need.specifier}")
    if version is None:
        return f"{need.name} is missing: {command}"
    if not need.specifier.contains(version, prereleases=True):
        return f"{need.name} {version} is not {need.specifier}: {command}"
    return None


def broken_pair(*, certain: bool = False) -> list[str]:
    """Are torch and torchvision built for each other?

    Comparing their versions is quick; importing them is `certain`.
    """
    torch = metadata.version("torch")
    torchvision = metadata.version("torchvision")
    if not certain and _versions_agree(torch, torchvision):
        return []
    try:
        importlib.import_module("torchvision")
    except Exception as error:  # RuntimeError, ImportError or OSError, by how they differ.
        command = _install("--force-reinstall", "torch", "torchvision")
        return [
            f"torch {torch} and torchvision {torchvision} do not work together "
            f"({type(error).__name__}: {error}). Both must come from one place: {command}"
        ]
    return []


def _versions_agree(torch: str, torchvision: str) -> bool:
    """Whether torchvision asks for this torch, and both have the same build, such as `+cpu`."""
    needs = [Requirement(line) for line in metadata.requires("torchvision") or []]
    wanted = [need for need in needs if need.name == "torch"]
    is_wanted = all(need.specifier.contains(torch, prereleases=True) for need in wanted)
    # 2.9.0+cpu and 0.24.0 come from two places.
    same_build = torch.partition("+")[2] == torchvision.partition("+")[2]
    return is_wanted and same_build


def store_facts() -> StoreReport:
    """Where runs and downloads are kept, and what hinders that."""
    home = store.home()
    there = next(folder for folder in (home, *home.parents) if folder.exists())
    free = shutil.disk_usage(there).free / 1e9
    name = _short(home)
    advice = "set MIALIB_HOME to a folder of your own with space."
    faults = []
    if not there.is_dir() or not os.access(there, os.W_OK):
        faults.append(f"The store {name} cannot be written: {advice}")
    if free < ROOM:
        faults.append(f"Only {free:.1f} GB are free for the store {name}: {advice}")
    runs = len(list(home.glob("runs/[!.]*")))
    return StoreReport(f"store: {name}, {runs} runs, {free:.0f} GB free", faults)


def _short(folder: Path) -> str:
    """The folder as one writes it, with ~ for the user's own."""
    if folder.is_relative_to(Path.home()):
        return f"~/{folder.relative_to(Path.home())}"
    return str(folder)


def examine() -> Report:
    """What is here, and what is wrong."""
    system = f"{platform.system()} {platform.machine()}"
    facts = [f"mialib {__version__}, Python {platform.python_version()}, {system}"]
    facts += [f"{name} {_version(name) or 'is not installed'}" for name in SHOWN]
    faults = missing_packages() or broken_pair(certain=True)
    if not faults:
        facts.append(device())
    if not (_version("jupyterlab") or _version("notebook")):
        facts.append(f"to open the lessons: {_install('jupyterlab')}")
    kept = store_facts()
    return Report([*facts, kept.fact], faults + kept.faults)


def device() -> str:
    """One line on what can compute here, and on who uses it."""
    from mialib import query  # It needs torch, which may be what is missing.

    found = query.pick_device().type
    if found != "cpu":
        return f"device: {found} (for profiles class and paper; quick and cpu use the processor)"
    if "COLAB_RELEASE_TAG" in os.environ:
        return f"device: {found} (for a GPU: Runtime, Change runtime type)"
    return f"device: {found}"


def main() -> int:
    """Print the report; 0 if all is well."""
    report = examine()
    print(*report.facts, *(report.faults or ["All is well."]), sep="\n")
    return 1 if report.faults else 0


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _install(*what: str) -> str:
    """The command, as a cell has it in a notebook and as a terminal has it elsewhere."""
    pip = "%pip" if "IPython" in sys.modules else "python -m pip"
    quoted = [f'"{one}"' if ">" in one else one for one in what]
    return f"{pip} install {' '.join(quoted)}"


if __name__ == "__main__":
    sys.exit(main())
