"""The course as web pages that need no network: an index with a search, and one page a lesson.

    write(notebooks, lessons, folder)

writes NAME.html for each executed notebook, index.html with search.js, and the pages of the
`DOCUMENTS` that the repository has. Sliders stand still, at the frames that `folder/frames` has of
them (`mialib.course.frozen`). Everything can be read with scripts off; a script makes ranges of
the frozen sliders' radio buttons, and searches.

    lesson      a notebook → HTML: pictures as files, captions, sliders
    formulas    LaTeX → MathML, and the words for it
    sliders     frozen frames → a group of radio buttons and the rules that show one frame
    documents   a Markdown file → HTML
    markup      what every page needs: scroll areas, links, headings that can be linked to
    ears        words for what a speech program would spell out or lose
    search      the sections of all pages, for the script that searches them
    frame       the page around all this: title, description, style, script, navigation
"""

from __future__ import annotations

import html
import re
import shutil
from pathlib import Path

from bs4 import BeautifulSoup
from nbformat import NotebookNode

from pages import documents, ears, frame, lesson, markup, search
from paths import ROOT

LEAD = (
    "Can an attacker tell whether a record was in a model’s training set, and what can training do "
    "about it? Each lesson answers one question with code to read, figures that the code draws, "
    "and numbers with intervals."
)
CARD = """\
<li class="card">{image}<div><h2><a href="{name}.html">{title}</a></h2><p>{question}</p>\
<p class="facts">{read} min to read · {seconds:.0f} s to run</p></div></li>"""
SEARCH = """\
<form id="search" role="search" hidden><label for="words">Search the lessons</label>\
<input id="words" type="search" autocomplete="off" spellcheck="false">\
<p role="status" id="found"></p><ol id="results"></ol></form>"""
HERO = """\
<figure class="hero"><img src="pictures/{name}" alt="{alt}" width="{width}" height="{height}" \
loading="lazy"></figure>"""
LOCAL_PICTURE = re.compile(r"!\[([^\]]*)\]\((?!https?:)([^)\s]+)\)")


def write(notebooks: dict[str, NotebookNode], lessons: dict, folder: Path) -> None:
    """Write a page for each notebook and document, the index, and what the search needs."""
    bodies = {
        name: lesson.body(notebook, name=name, folder=folder)
        for name, notebook in notebooks.items()
    }
    texts = documents.present()
    bodies |= {page: documents.body(path, folder=folder) for page, path in texts.items()}
    links = markup.Links(pages=set(bodies), documents=texts)
    sections = []
    for name, body in bodies.items():
        markup.finish(body, links)
        title = _title(name, lessons, body)
        sections += search.sections(body, page=name, title=title)
        ears.mend(body)
        markup.keep_together(body)
        _write_page(
            folder / f"{name}.html", body, title=title, texts=texts, about=lessons.get(name)
        )
    _write_index(notebooks, lessons, folder, texts)
    (folder / "search.js").write_text(search.script(sections), encoding="utf-8")


def _title(name: str, lessons: dict, body: BeautifulSoup) -> str:
    if name in lessons:
        return f"{lessons[name].number} · {lessons[name].front['title']}"
    return body.h1.get_text(" ", strip=True)


def _write_page(path: Path, body: BeautifulSoup, *, title: str, texts: dict, about) -> None:
    """`about` is the lesson, or None for a document."""
    description = about.front["question"] if about else f"{title}. {LEAD}"
    frame.write(
        path,
        title=f"{title} · {frame.COURSE}",
        description=description,
        top=frame.navigation(notebook=path.stem if about else "", documents=texts),
        main=frame.contents(body) + str(body),
        rules=lesson.rules(body),
    )


def _write_index(
    notebooks: dict[str, NotebookNode], lessons: dict, folder: Path, texts: dict[str, Path]
) -> None:
    cards = [_card(lessons[name], notebook, folder) for name, notebook in notebooks.items()]
    listed = f'<ol class="cards">{"".join(cards)}</ol>'
    hello = f'<h1>{frame.COURSE}</h1><p class="lead">{LEAD}</p>'
    frame.write(
        folder / "index.html",
        title=frame.COURSE,
        description=LEAD,
        top=frame.navigation(documents=texts),
        main=f"{hello}{SEARCH}{_picture(folder)}{listed}",
        wide=True,
        searching=True,
    )


def _card(one, notebook: NotebookNode, folder: Path) -> str:
    """A lesson's card: its cover figure, question and time."""
    cover = f"figures/{one.front.get('cover')}.png"
    image = f'<img src="{cover}" alt="" loading="lazy">' if (folder / cover).exists() else ""
    return CARD.format(
        name=one.name,
        image=image,
        title=html.escape(f"{one.number} · {one.front['title']}"),
        question=html.escape(one.front["question"]),
        read=one.front["read"],
        seconds=notebook.metadata["mialib"]["seconds"],
    )


def _picture(folder: Path) -> str:
    """The README's first picture, which a visitor sees first here, too."""
    shown = LOCAL_PICTURE.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    pictures = [(alt, ROOT / path) for alt, path in shown if (ROOT / path).is_file()]
    if not pictures:
        return ""
    alt, source = pictures[0]
    copy = folder / "pictures" / source.name
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, copy)
    width, height = markup.size_of(copy)
    return HERO.format(name=copy.name, alt=html.escape(alt), width=width, height=height)
