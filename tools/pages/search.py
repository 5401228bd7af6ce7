"""The sections of all pages, as a script file that a page can load without a server.

Browsers do not let a page on the disk read a JSON file beside it; a script they do.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from bs4 import BeautifulSoup, Tag

SCRIPT = Path(__file__).with_name("search.js").read_text(encoding="utf-8")
HEADINGS = ["h1", "h2", "h3"]
SAYING = [*HEADINGS, "p", "li", "td", "th", "figcaption"]


def sections(body: BeautifulSoup, *, page: str, title: str) -> list[dict[str, str]]:
    """The page cut at its headings: where each section is, its heading, and what it says."""
    found: list[dict[str, str]] = []
    for tag in body.find_all(SAYING):
        if tag.name in HEADINGS:
            found.append(
                {"at": f"{page}.html#{tag['id']}", "page": title, "head": _plain(tag), "text": ""}
            )
        elif found and _says_it_first(tag):
            found[-1]["text"] += f" {_plain(tag)}"
    for section in found:
        section["text"] = section["text"].strip()
    return found


def script(found: list[dict[str, str]]) -> str:
    """search.js: the sections, then the code that searches them."""
    data = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    return f"const SECTIONS = {data};\n{SCRIPT}"


def _says_it_first(tag: Tag) -> bool:
    """A list item's paragraphs are the item's words; frames of a slider repeat each other."""
    inner = tag.find_parent(SAYING) is not None
    return not inner and tag.find_parent(class_="explore") is None


def _plain(tag: Tag) -> str:
    return re.sub(r"\s+", " ", tag.get_text(" ", strip=True))
