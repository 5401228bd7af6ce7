"""Slides for every lesson, made from the committed notebook: one idea a slide, one file a lesson.

    python tools/slides.py [NN …]       writes build/slides/NN.html and build/slides/index.html

A talk opens with the lesson's question and its goals. Then comes each figure, under the heading of
its section, with the first sentences that say what to see. *Predict* questions have slides of their
own, before the figure that answers them. The recap ends it. A file holds its pictures and its
style: it needs no network and no script. With scripts the arrow keys turn the slides; without them
they scroll. Printed, a slide is a page.
"""

from __future__ import annotations

import base64
import html
import re
import struct
import sys
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbconvert.filters import markdown2html
from nbformat import NotebookNode

from pages.formulas import with_mathml
from paths import ROOT

NOTEBOOKS = ROOT / "notebooks"
OUT = ROOT / "build" / "slides"
STYLE = Path(__file__).with_name("slides.css").read_text(encoding="utf-8")
SCRIPT = Path(__file__).with_name("slides.js").read_text(encoding="utf-8")
PAGE = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\
<meta name="viewport" content="width=device-width, initial-scale=1">\
<style>{style}</style></head><body>{body}<script>{script}</script></body></html>
"""
SLIDE = """\
<section id="{number}" class="{kind}" aria-label="Slide {number} of {count}" tabindex="-1">\
<div>{content}</div><footer>{lesson} · {number} of {count}</footer></section>"""
TO_SEE = re.compile(r"^\*\*What to see\.\*\* ?(.*?)(?=\n\s*\n|\Z)", re.S | re.M)
PREDICT = re.compile(r"\*\*(?:Predict|Stop and think)\*\*")
HEADING = re.compile(r"^#{2,3} (.+)$", re.M)
SENTENCE = re.compile(r"(?<=[.?!])\s+(?=[A-Z*`“‘$])")
IMAGE = re.compile(r"<img\b[^>]*>")
ENDS = ("Exercise", "Recap", "What this does not show", "References")
MOST_SENTENCES = 3
LEADING = 2  # sentences before one that asks for a prediction
TALL = 1.45  # A picture that is not so many times as wide as high stands beside its words.


@dataclass(frozen=True)
class Slide:
    """One slide: its kind, which the style knows, and its content as HTML."""

    kind: str  # "title", "goals", "question", "figure" or "recap"
    content: str


def slides_of(notebook: NotebookNode) -> list[Slide]:
    """All slides of a lesson, in order."""
    header = notebook.cells[0].source
    slides = [_title(header), _goals(header)]
    section = ""
    for position, cell in enumerate(notebook.cells[1:], 1):
        if cell.cell_type == "markdown":
            headings = HEADING.findall(cell.source)
            section = headings[-1] if headings else section
            if section.startswith("Exercise"):
                continue
            slides += [_question(section, asked) for asked in _predictions(cell.source)]
        elif not section.startswith(ENDS):
            seen = _what_to_see(notebook.cells[position + 1 :])
            slides += [_figure(section, image, seen) for image in _images(cell)]
    return [*slides, *_recap(notebook)]


def _title(header: str) -> Slide:
    title = re.search(r"^# (.+)$", header, re.M)
    question = re.search(r"^\*\*(.+?)\*\*$", header, re.M)
    assert title is not None
    assert question is not None
    return Slide("title", f"<h1>{_text(title[1])}</h1><p>{_text(question[1])}</p>")


def _goals(header: str) -> Slide:
    found = re.search(r"^\| You will be able to \| (.+?) \|$", header, re.M)
    assert found is not None
    goals = [goal.strip(" •") for goal in found[1].split("<br>")]
    listed = "".join(f"<li>{_text(goal)}</li>" for goal in goals)
    return Slide("goals", f"<h2>You will be able to</h2><ul>{listed}</ul>")


def _predictions(text: str) -> list[str]:
    """The sentences of a text that ask for a prediction, after those that lead to them."""
    found = []
    for paragraph in re.split(r"\n\s*\n", HEADING.sub("", text)):
        sentences = SENTENCE.split(paragraph.strip())
        asking = [at for at, one in enumerate(sentences) if PREDICT.search(one)]
        for at in asking[:1]:
            found.append(" ".join(sentences[max(0, at - LEADING) : asking[-1] + 1]))
    return found


def _question(section: str, asked: str) -> Slide:
    return Slide("question", f"<h2>{_text(section)}</h2>{_markdown(asked)}")


def _images(cell: NotebookNode) -> list[str]:
    """The pictures that a cell shows, as <img> elements with their alt text."""
    found = []
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        in_html = IMAGE.findall(data.get("text/html", ""))
        if len(in_html) == 1:  # A slider has a picture for each position, too many for a talk.
            found += in_html
        elif "image/png" in data:
            alt = html.escape(output.metadata["image/png"]["alt"])
            found.append(f'<img alt="{alt}" src="data:image/png;base64,{data["image/png"]}">')
    return found


def _what_to_see(cells: list[NotebookNode]) -> str:
    """The sentences on a figure: in the next text cell, or, for a slider, in the one after it."""
    for cell in cells[:3]:
        if cell.cell_type == "markdown":
            found = TO_SEE.search(cell.source)
            if found or HEADING.search(cell.source):
                return _shortened(found[1]) if found else ""
    return ""


def _shortened(text: str) -> str:
    """The first sentences; one that ends in a colon leads to a table, which a slide has not."""
    sentences = SENTENCE.split(text.strip())[:MOST_SENTENCES]
    return " ".join(one for one in sentences if not one.endswith(":"))


def _figure(section: str, image: str, seen: str) -> Slide:
    picture = re.sub(r'\s(?:width|style)="[^"]*"', "", image)
    kind = "figure tall" if _proportion(image) < TALL else "figure"
    return Slide(kind, f"<h2>{_text(section)}</h2>{picture}<div>{_markdown(seen)}</div>")


def _proportion(image: str) -> float:
    """Width over height of a picture, which stand at the start of a PNG file."""
    encoded = re.search(r"base64,([^\"]+)", image)
    assert encoded is not None
    start = base64.b64decode("".join(encoded[1].split())[:64])
    width, height = struct.unpack(">II", start[16:24])
    return width / height


def _recap(notebook: NotebookNode) -> list[Slide]:
    for cell in notebook.cells:
        found = re.search(r"^## Recap\n(.*?)(?=^## |\Z)", cell.source, re.S | re.M)
        if found:
            return [Slide("recap", f"<h2>Recap</h2>{_markdown(found[1])}")]
    return []


def _markdown(text: str) -> str:
    """Markdown as HTML, with formulas that a browser draws without any script."""
    return with_mathml(markdown2html(text)) if text else ""


def _text(text: str) -> str:
    """A line of Markdown without the paragraph around it."""
    return _markdown(text).strip().removeprefix("<p>").removesuffix("</p>")


def page(notebook: NotebookNode, number: str) -> str:
    """The file of one lesson."""
    slides = slides_of(notebook)
    body = "".join(
        SLIDE.format(
            number=at, count=len(slides), kind=one.kind, content=one.content, lesson=number
        )
        for at, one in enumerate(slides, 1)
    )
    title = re.search(r"^# (.+)$", notebook.cells[0].source, re.M)
    assert title is not None
    return PAGE.format(title=html.escape(title[1]), style=STYLE, body=body, script=SCRIPT)


def write(out: Path = OUT, only: tuple[str, ...] = ()) -> list[Path]:
    """Write the slides of all lessons, or of some, and a page that lists what is there."""
    out.mkdir(parents=True, exist_ok=True)
    written = []
    for path in sorted(NOTEBOOKS.glob("[0-9][0-9]_*.ipynb")):
        if not only or path.name.startswith(only):
            number = path.name[:2]
            content = page(nbformat.read(path, as_version=4), number)
            written.append(out / f"{number}.html")
            written[-1].write_text(content, encoding="utf-8")
    _index(out)
    return written


def _index(out: Path) -> None:
    items = ""
    for path in sorted(out.glob("[0-9][0-9].html")):
        title = re.search("<title>(.+?)</title>", path.read_text(encoding="utf-8"))
        assert title is not None
        items += f'<li><a href="{path.name}">{title[1]}</a></li>'
    body = f'<main><h1>Slides</h1><ul class="plain">{items}</ul></main>'
    content = PAGE.format(title="Slides", style=STYLE, body=body, script="")
    (out / "index.html").write_text(content, encoding="utf-8")


if __name__ == "__main__":
    made = write(only=tuple(sys.argv[1:]))
    if not made:
        sys.exit(f"No lesson's name starts with {' or '.join(sys.argv[1:])}.")
    print(f"Wrote the slides of {len(made)} lessons; open {OUT / 'index.html'} in a browser.")
