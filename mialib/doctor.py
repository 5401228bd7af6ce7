"""Is everything here? `python -m mialib.doctor` says versions, device, store, and how to mend what is missing.

`require()` is the short form for a notebook's set-up cell: silent when all is well.
"""

from __future__ import annotations

import platform
import shutil
from importlib import metadata

from packaging.requirements import Requirement

from mialib import __version__, paths


def problems() -> list[str]:
    """One sentence for each package that is missing or too old."""
    found = []
    for text in metadata.requires("mialib") or []:
        need = Requirement(text)
        if need.marker is not None and not need.marker.evaluate({"extra": ""}):
            continue
        try:
            version = metadata.version(need.name)
        except metadata.PackageNotFoundError:
            found.append(f'{need.name} is missing: pip install "{need.name}{need.specifier}"')
            continue
        if not need.specifier.contains(version, prereleases=True):
            found.append(f'{need.name} {version} is not {need.specifier}: pip install "{need.name}{need.specifier}"')
    return found


def require() -> None:
    """Raise, with the commands that help, if a package is missing or too old."""
    if found := problems():
        raise ImportError("mialib needs a little more here.\n" + "\n".join(found) + "\nThen restart the kernel.")


def report() -> str:
    """Versions, device, store, problems: what a bug report should carry."""
    lines = [f"mialib {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"]
    for name in ("torch", "torchvision", "numpy", "ipywidgets", "jupyterlab"):
        try:
            lines.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            lines.append(f"{name}: not installed")
    found = problems()
    if not found:
        from mialib.training import pick_device

        lines.append(f"device: {pick_device().type}")
    home = paths.home()
    existing = next(folder for folder in (home, *home.parents) if folder.exists())
    free = shutil.disk_usage(existing).free / 1e9
    lines.append(f"store: {sum(1 for _ in home.glob('runs/[!.]*'))} runs, {free:.0f} GB free")
    return "\n".join([*lines, *(found or ["All is well."])])


if __name__ == "__main__":
    print(report())
    raise SystemExit(1 if problems() else 0)
