"""Point every badge and set-up cell at a repository: `make badges REPO=owner/name`.

The address is kept in pyproject.toml; the README's badges, the notebooks' badges, their set-up
cells and CITATION.cff are written again from it. Nothing is executed, so the notebooks' outputs
stay as they are.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import nbformat

import notebooks
import readme
from paths import ROOT

# As GitHub allows them.
OWNER = r"[A-Za-z0-9](?:-?[A-Za-z0-9]){0,38}"
NAME = r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}"
REPO = re.compile(f"{OWNER}/{NAME}")
ADDRESS = re.compile(r'(?m)^repository = ".*"$')
CITED = re.compile(r'(?m)^repository-code: ".*"$')
COLAB = re.compile(r"https://colab\.research\.google\.com/github/\S+?\.ipynb")


def address_of(repo: str) -> str:
    """The address of `owner/name`; anything else is refused."""
    if not REPO.fullmatch(repo) or repo.endswith(".git"):
        raise SystemExit(
            "REPO must be owner/name, as in the address of the repository on GitHub, "
            f"but it is {repo!r}.\n"
            "Example: make badges REPO=ada/mialib"
        )
    return f"https://github.com/{repo}"


def with_address(pyproject: str, address: str) -> str:
    """pyproject.toml with another address."""
    if len(ADDRESS.findall(pyproject)) != 1:
        raise SystemExit(
            'pyproject.toml must have exactly one line `repository = "…"`, under [project.urls].'
        )
    return ADDRESS.sub(f'repository = "{address}"', pyproject)


def with_badge(text: str, name: str, address: str) -> str:
    """A notebook's file with another badge and set-up cell."""
    notebook = nbformat.reads(text, as_version=4)
    header = notebook.cells[0]
    header.source = COLAB.sub(notebooks.colab_address(address, name), header.source)
    notebooks.cell_tagged(notebook, "setup").source = notebooks.SETUP.format(address=address)
    return nbformat.writes(notebook) + "\n"


def renewed(path: Path, address: str) -> str:
    """The text of one of the files that carry the address, with another address."""
    text = path.read_text(encoding="utf-8")
    if path.name == "pyproject.toml":
        return with_address(text, address)
    if path.name == "CITATION.cff":
        return CITED.sub(f'repository-code: "{address}"', text)
    if path.name == "README.md":
        return readme.with_address(
            text, address=address, colab=notebooks.colab_address(address, "00_start_here")
        )
    return with_badge(text, path.stem, address)


def main(repo: str) -> None:
    address = address_of(repo)
    files = [
        ROOT / "pyproject.toml",
        ROOT / "README.md",
        ROOT / "CITATION.cff",
        *sorted((ROOT / "notebooks").glob("*.ipynb")),
    ]
    # Every new text is computed before the first file is written, so that an error changes nothing.
    texts = {path: renewed(path, address) for path in files}
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8", newline="\n")
    print(f"{len(texts)} files now point at {address}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) == 2 else "")
