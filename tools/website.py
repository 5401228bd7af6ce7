"""The whole course as a website, from what `make run` made: `make site` writes build/site.

It is a folder of files that need no server's help: put it on GitHub Pages (the workflow `pages`
does), on any other host, or on a memory stick.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import nbformat

import notebooks
import pages
from notebooks import BUILD

SITE = BUILD / "site"
BESIDE_THE_PAGES = ("frames", "figures")


def write(build: Path, site: Path) -> None:
    """Make the site anew from the executed lessons in `build`."""
    series = notebooks.lessons()
    missing = [one.name for one in series if not (build / f"{one.name}.ipynb").exists()]
    if missing:
        raise SystemExit(f"Not executed yet: {', '.join(missing)}. Run `make run` first.")
    shutil.rmtree(site, ignore_errors=True)
    site.mkdir(parents=True)
    for name in BESIDE_THE_PAGES:
        shutil.copytree(build / name, site / name, ignore=shutil.ignore_patterns("*.svg"))
    executed = {}
    for one in series:
        copied = shutil.copyfile(build / f"{one.name}.ipynb", site / f"{one.name}.ipynb")
        executed[one.name] = nbformat.read(copied, as_version=4)
    pages.write(executed, {one.name: one for one in series}, site)
    # GitHub Pages would otherwise leave out what Jekyll does not like.
    (site / ".nojekyll").touch()


def main() -> None:
    write(BUILD, SITE)
    files = [path for path in SITE.rglob("*") if path.is_file()]
    megabytes = sum(path.stat().st_size for path in files) / 1e6
    print(
        f"Wrote {len(files)} files, {megabytes:.0f} MB, to build/site. Open build/site/index.html."
    )


if __name__ == "__main__":
    main()
