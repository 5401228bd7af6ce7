"""Pages of the course that are Markdown files of the repository: the glossary, the ledger."""

from __future__ import annotations

import shutil
from pathlib import Path

from bs4 import BeautifulSoup
from nbconvert.filters import markdown2html

from pages import formulas, markup
from paths import ROOT

# Page and file; a file that the repository does not have is left out.
DOCUMENTS = {
    "glossary": ROOT / "notebooks" / "GLOSSARY.md",
    "how_we_know": ROOT / "notebooks" / "HOW_WE_KNOW.md",
    "responsible_use": ROOT / "notebooks" / "RESPONSIBLE_USE.md",
    "photographs": ROOT / "notebooks" / "PHOTOGRAPHS.md",
    "ledger": ROOT / "LEDGER.md",
}


def present() -> dict[str, Path]:
    return {page: path for page, path in DOCUMENTS.items() if path.exists()}


def body(path: Path, *, folder: Path) -> BeautifulSoup:
    """A Markdown file as HTML; its pictures are copied to `folder`."""
    text = markdown2html(path.read_text(encoding="utf-8"))
    page = BeautifulSoup(formulas.with_mathml(text), "html.parser")
    for mark in page.find_all(class_="anchor-link"):
        mark.decompose()
    for image in page.find_all("img"):
        source = path.parent / image["src"]
        if not source.is_file():
            raise FileNotFoundError(f"{path.name} shows {image['src']}, which is not there.")
        copy = folder / "pictures" / source.name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copy)
        shown = markup.picture(
            f"pictures/{copy.name}", alt=image.get("alt", ""), size=markup.size_of(copy)
        )
        image.replace_with(BeautifulSoup(shown, "html.parser"))
    return page
