"""What every page needs after its content: scroll areas, links that work, headings with names."""

from __future__ import annotations

import html
import itertools
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from bs4 import BeautifulSoup, NavigableString, Tag
from PIL import Image

WIDE = 700  # pixels; a wider picture scrolls on a phone instead of shrinking until nobody reads it
COLUMNS = 100  # printed lines that are longer are sentences, which wrap; others may be a table
LONG_FORMULA = 28  # children of an inline formula that a phone may not have room for
# Spaces at which no line may end: within an interval, before %, and around the = of a setting.
TOGETHER = [
    (re.compile(r"(\[[−+-]?[\d.,]+%?,) (?=[−+-]?[\d.,]+%?\])"), "\\1\u00a0"),
    (re.compile(r"(?<=\d) %"), "\u00a0%"),
    (re.compile(r"\b([A-Za-zα-ω]) = (?=[−\d])"), "\\1\u00a0=\u00a0"),
]
AS_WRITTEN = ["code", "math", "pre", "script", "style"]
HEADINGS = ["h1", "h2", "h3", "h4"]
COLAB = "Open in Colab"
PICTURE = """\
<div class="picture{wide}"><img alt="{alt}" src="{source}" width="{width}" height="{height}" \
loading="lazy"></div>"""


@dataclass(frozen=True)
class Links:
    """Where links may lead: pages by name, and the files that pages were made of."""

    pages: set[str]
    documents: dict[str, Path]

    def resolved(self, address: str) -> str | None:
        """A link of a notebook or a document as a link of a page; None if it leads nowhere."""
        if re.match(r"[a-z]+:", address) or address.startswith("#"):
            return None if "/OWNER/" in address else address
        path, mark, part = address.partition("#")
        name = Path(unquote(path)).name
        by_file = {file.name: page for page, file in self.documents.items()}
        page = by_file.get(name, name.removesuffix(".ipynb"))
        return f"{page}.html{mark}{part}" if page in self.pages else None


def picture(source: str, *, alt: str, size: tuple[int, int]) -> str:
    """An image in a box of its own, which keeps its place while it loads."""
    width, height = size
    return PICTURE.format(
        wide=" wide" if width > WIDE else "",
        alt=html.escape(alt),
        source=html.escape(source),
        width=width,
        height=height,
    )


def size_of(path: Path) -> tuple[int, int]:
    with Image.open(path) as image:
        return image.size


def finish(page: BeautifulSoup, links: Links) -> None:
    """Change a page in place until it can be read on a phone, by keyboard and by ear."""
    _leave_out_dead_invitations(page, links)
    _relink(page, links)
    _name_headings(page)
    _name_header_cells(page)
    _add_areas(page)


def keep_together(page: BeautifulSoup) -> None:
    """No line ends within "[0.57, 0.63]", "1 %" or "λ = 0"."""
    for text in page.find_all(string=True):
        if type(text) is not NavigableString or text.find_parent(AS_WRITTEN):
            continue
        kept = str(text)
        for apart, together in TOGETHER:
            kept = apart.sub(together, kept)
        if kept != text:
            text.replace_with(kept)


def _leave_out_dead_invitations(page: BeautifulSoup, links: Links) -> None:
    """Words that invite to Colab mean nothing where they lead nowhere."""
    for link in page.find_all("a", href=True, string=COLAB):
        if links.resolved(link["href"]) is None:
            link.find_parent("p").decompose()


def _relink(page: BeautifulSoup, links: Links) -> None:
    for anchor in page.find_all("a", href=True):
        address = links.resolved(anchor["href"])
        if address is None:
            anchor.unwrap()
        else:
            anchor["href"] = address


def _name_headings(page: BeautifulSoup) -> None:
    """Give each heading an id that says what it is about, and that nothing else has."""
    others = [tag for tag in page.find_all(id=True) if tag.name not in HEADINGS]
    taken = {"content", *(tag["id"] for tag in others)}
    for heading in page.find_all(HEADINGS):
        slug = _slug(heading.get_text())
        free = (slug if k == 1 else f"{slug}-{k}" for k in itertools.count(1))
        heading["id"] = next(one for one in free if one not in taken)
        taken.add(heading["id"])


def _slug(heading: str) -> str:
    """A heading as GitHub names it in an address, so that a link works there and here."""
    plain = re.sub(r"[^\w\- ]", "", heading.lower().strip())
    return plain.replace(" ", "-") or "section"


def _name_header_cells(page: BeautifulSoup) -> None:
    for cell in page.find_all("th"):
        if cell.get_text(strip=True):
            cell["scope"] = "col"
        else:
            cell.name = "td"


def _add_areas(page: BeautifulSoup) -> None:
    """What may be wider than a phone scrolls by itself, by keyboard too, and says what it is."""
    for number, pre in enumerate(page.find_all("pre"), 1):
        is_code = pre.find_parent(class_="highlight") is not None
        _make_area(pre, f"{'Code' if is_code else 'Output'} {number}", role="group")
        longest = max(len(line) for line in pre.get_text().splitlines() or [""])
        if not is_code and longest > COLUMNS:
            pre["class"] = [*pre["class"], "sentences"]
    for number, table in enumerate(page.find_all("table"), 1):
        _make_area(table.wrap(page.new_tag("div")), f"Table {number}")
    for number, box in enumerate(page.find_all(class_="wide"), 1):
        _make_area(box, f"Wide picture {number}")
    for number, formula in enumerate(_wide_formulas(page), 1):
        area = formula.wrap(page.new_tag("span"))
        _make_area(area, f"Formula {number}")
        area["class"] = [*area["class"], formula["display"]]


def _wide_formulas(page: BeautifulSoup) -> list[Tag]:
    found = page.find_all("math")
    return [
        one for one in found if one["display"] == "block" or len(one.find_all(True)) > LONG_FORMULA
    ]


def _make_area(tag: Tag, label: str, *, role: str = "region") -> None:
    tag["class"] = [*tag.get("class", []), "area"]
    tag["role"] = role
    tag["aria-label"] = f"{label}, may scroll sideways"
    tag["tabindex"] = "0"
