"""The built course as web pages that need no network: one page a lesson and an index."""

from __future__ import annotations

import html
import re
from pathlib import Path

from latex2mathml.converter import convert
from nbconvert import HTMLExporter
from nbformat import NotebookNode
from pygments.formatters import HtmlFormatter

CODE_STYLE = HtmlFormatter(style="xcode").get_style_defs("pre")
STYLE = Path(__file__).with_name("style.css").read_text(encoding="utf-8") + CODE_STYLE
TITLE = "Membership inference, from scratch"
LEAD = (
    "Can an attacker tell whether a record was in a model’s training set, and what can training do "
    "about it? Each lesson answers one question with code to read, figures that the code draws, "
    "and numbers with intervals."
)
PAGE = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\
<meta name="viewport" content="width=device-width, initial-scale=1">\
<style>{style}</style></head><body>{body}</body></html>
"""
NAVIGATION = """\
<nav><a href="index.html">All lessons</a> · <a href="{name}.ipynb">the notebook</a></nav>"""
CARD = """\
<a class="card" href="{name}.html">{image}<div><h2>{title}</h2><p>{question}</p>\
<span class="facts">{read} min to read · {seconds:.0f} s to run</span></div></a>"""


def write(notebooks: dict[str, NotebookNode], lessons: dict, folder: Path) -> None:
    """Write NAME.html for each notebook, and index.html."""
    for name, notebook in notebooks.items():
        body = NAVIGATION.format(name=name) + _body(notebook)
        _page(folder / f"{name}.html", lessons[name].front["title"], f"<main>{body}</main>")
    cards = [_card(lessons[name], notebook, folder) for name, notebook in notebooks.items()]
    top = f'<h1>{TITLE}</h1><p class="lead">{LEAD}</p>'
    index = f'<main class="wide">{top}<div class="cards">{"".join(cards)}</div></main>'
    _page(folder / "index.html", TITLE, index)


def _body(notebook: NotebookNode) -> str:
    """The notebook as HTML, with links to the pages of other lessons."""
    exporter = HTMLExporter(template_name="basic", exclude_anchor_links=True)
    body, _ = exporter.from_notebook_node(notebook)
    return re.sub(r'href="(\d\d_\w+)\.ipynb"', r'href="\1.html"', _mathml(body))


def _card(lesson, notebook: NotebookNode, folder: Path) -> str:
    """A lesson's card: its cover figure, question and time."""
    cover = f"figures/{lesson.front.get('cover')}.png"
    return CARD.format(
        name=lesson.name,
        image=f'<img src="{cover}" alt="">' if (folder / cover).exists() else "",
        title=html.escape(f"{lesson.number} · {lesson.front['title']}"),
        question=html.escape(lesson.front["question"]),
        read=lesson.front["read"],
        seconds=notebook.metadata["mialib"]["seconds"],
    )


def _page(path: Path, title: str, body: str) -> None:
    page = PAGE.format(title=html.escape(title), style=STYLE, body=body)
    path.write_text(page, encoding="utf-8")


def _mathml(body: str) -> str:
    """Turn $…$ and $$…$$ outside code into MathML, which browsers draw without any script."""
    pieces = re.split(r"(<pre.*?</pre>|<code.*?</code>|<img[^>]*>)", body, flags=re.S)
    for at in range(0, len(pieces), 2):  # The odd pieces are code and images.
        text = re.sub(r"\$\$(.+?)\$\$", _displayed, pieces[at], flags=re.S)
        pieces[at] = re.sub(r"\$([^$\n]+?)\$", _inline, text)
    return "".join(pieces)


def _displayed(match: re.Match) -> str:
    return convert(html.unescape(match[1]), display="block")


def _inline(match: re.Match) -> str:
    return convert(html.unescape(match[1]))
