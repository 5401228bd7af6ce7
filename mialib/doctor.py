"""Is everything here? `python -m mialib.doctor` says versions, device, store, and how to mend what is missing.

>>> require()  # for a notebook's set-up cell: silent when all is well, and quick, because it reads versions only
"""

import importlib
import os
import platform
import shutil
import sys
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

from mialib import __version__, store

SHOWN = ("torch", "torchvision", "numpy", "scikit-learn", "matplotlib", "ipywidgets", "jupyterlab")
ROOM = 1.0  # GB: CIFAR-10 and the runs of the course fit


def require() -> None:
    """Raise, with the commands that help, if a package is missing, too old, or not built for its partner."""
    if found := missing_packages() or broken_pair():
        raise ImportError(
            "mialib needs a little more here.\n" + "\n".join(found) + "\nThen restart the kernel."
        )


def missing_packages() -> list[str]:
    """One sentence for each package that is missing or too old."""
    try:
        needs = [Requirement(line) for line in metadata.requires("mialib") or []]
    except metadata.PackageNotFoundError:
        return [
            f"mialib itself is not installed: in the folder of its pyproject.toml, {_install('-e', '.')}"
        ]
    found = []
    for need in (
        need for need in needs if need.marker is None or need.marker.evaluate({"extra": ""})
    ):
        version = _version(need.name)
        if version is None or not need.specifier.contains(version, prereleases=True):
            state = f"{version} is not {need.specifier}" if version else "is missing"
            found.append(f"{need.name} {state}: {_install(f'{need.name}{need.specifier}')}")
    return found


def broken_pair(*, certain: bool = False) -> list[str]:
    """Are torch and torchvision built for each other? Comparing versions is quick; importing them is `certain`."""
    torch, vision = metadata.version("torch"), metadata.version("torchvision")
    wanted = [
        need
        for need in map(Requirement, metadata.requires("torchvision") or [])
        if need.name == "torch"
    ]
    pinned = all(need.specifier.contains(torch, prereleases=True) for need in wanted)
    one_place = (
        torch.partition("+")[2] == vision.partition("+")[2]
    )  # 2.9.0+cpu and 0.24.0 come from two places
    try:
        if certain or not (pinned and one_place):
            importlib.import_module("torchvision")
        return []
    except (
        Exception
    ) as error:  # RuntimeError, ImportError or OSError, by the way in which they differ
        quarrel = f"torch {torch} and torchvision {vision} do not work together ({type(error).__name__}: {error})."
        return [
            f"{quarrel} Both must come from one place: {_install('--force-reinstall', 'torch', 'torchvision')}"
        ]


def store_facts() -> tuple[str, list[str]]:
    """Where runs and downloads are kept, and what hinders that."""
    home = store.home()
    there = next(folder for folder in (home, *home.parents) if folder.exists())
    free = shutil.disk_usage(there).free / 1e9
    name = f"~/{home.relative_to(Path.home())}" if home.is_relative_to(Path.home()) else str(home)
    faults = {
        f"The store {name} cannot be written": not (there.is_dir() and os.access(there, os.W_OK))
    }
    faults |= {f"Only {free:.1f} GB are free for the store {name}": free < ROOM}
    found = [
        f"{fault}: set MIALIB_HOME to a folder of your own with space."
        for fault, true in faults.items()
        if true
    ]
    return f"store: {name}, {len(list(home.glob('runs/[!.]*')))} runs, {free:.0f} GB free", found


def examine() -> tuple[list[str], list[str]]:
    """What is here, and what is wrong."""
    facts = [
        f"mialib {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    ]
    facts += [f"{name} {_version(name) or 'is not installed'}" for name in SHOWN]
    found = missing_packages() or broken_pair(certain=True)
    if not found:
        from mialib.training import pick_device

        facts.append(f"device: {pick_device().type}")
        if facts[-1].endswith("cpu") and "COLAB_RELEASE_TAG" in os.environ:
            facts[-1] += " (for a GPU: Runtime, Change runtime type)"
    if not (_version("jupyterlab") or _version("notebook")):
        facts.append(f"to open the lessons: {_install('jupyterlab')}")
    store, hindrances = store_facts()
    return [*facts, store], found + hindrances


def main() -> int:
    """Print the report; 0 if all is well."""
    facts, found = examine()
    print(*facts, *(found or ["All is well."]), sep="\n")
    return int(bool(found))


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _install(*what: str) -> str:
    """The command, as a cell has it in a notebook and as a terminal has it elsewhere."""
    pip = "%pip" if "IPython" in sys.modules else "python -m pip"
    return f"{pip} install " + " ".join(f'"{one}"' if ">" in one else one for one in what)
