"""The built course as web pages that need no network: one page a lesson and an index."""

from __future__ import annotations

import html
import re
from pathlib import Path

from latex2mathml.converter import convert
from nbconvert import HTMLExporter
from nbformat import NotebookNode
from pygments.formatters import HtmlFormatter

STYLE = Path(__file__).with_name("style.css").read_text(encoding="utf-8") + HtmlFormatter(
    style="xcode"
).get_style_defs("pre")


def write(notebooks: dict[str, NotebookNode], lessons: dict, folder: Path) -> None:
    """Write NAME.html for each notebook, and index.html."""
    for name, notebook in notebooks.items():
        body = _mathml(
            HTMLExporter(template_name="basic", exclude_anchor_links=True).from_notebook_node(
                notebook
            )[0]
        )
        body = re.sub(r'href="(\d\d_\w+)\.ipynb"', r'href="\1.html"', body)
        nav = f'<nav><a href="index.html">All lessons</a> · <a href="{name}.ipynb">the notebook</a></nav>'
        _page(folder / f"{name}.html", lessons[name].front["title"], f"<main>{nav}{body}</main>")
    cards = "".join(
        _card(name, lessons[name], notebook, folder) for name, notebook in notebooks.items()
    )
    lead = (
        "Can an attacker tell whether a record was in a model’s training set, and what can training do about it? "
        "Each lesson answers one question with code to read, figures that the code draws, and numbers with intervals."
    )
    title = "Membership inference, from scratch"
    top = f'<h1>{title}</h1><p class="lead">{lead}</p>'
    _page(
        folder / "index.html",
        title,
        f'<main class="wide">{top}<div class="cards">{cards}</div></main>',
    )


def _card(name: str, lesson, notebook: NotebookNode, folder: Path) -> str:
    """A lesson's card: its cover figure, question and time."""
    cover = f"figures/{lesson.front['cover']}.png" if "cover" in lesson.front else ""
    image = f'<img src="{cover}" alt="">' if cover and (folder / cover).exists() else ""
    facts = f"{lesson.front['read']} min to read · {notebook.metadata['mialib']['seconds']:.0f} s to run"
    title = html.escape(f"{lesson.number} · {lesson.front['title']}")
    return (
        f'<a class="card" href="{name}.html">{image}<div><h2>{title}</h2>'
        f'<p>{html.escape(lesson.front["question"])}</p><span class="facts">{facts}</span></div></a>'
    )


def _page(path: Path, title: str, body: str) -> None:
    path.write_text(
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>'
        f"<body>{body}</body></html>\n",
        encoding="utf-8",
    )


def _mathml(body: str) -> str:
    """Turn $…$ and $$…$$ outside code into MathML, which browsers draw without any script."""
    pieces = re.split(r"(<pre.*?</pre>|<code.*?</code>|<img[^>]*>)", body, flags=re.S)
    for at in range(0, len(pieces), 2):
        text = re.sub(
            r"\$\$(.+?)\$\$",
            lambda m: convert(html.unescape(m[1]), display="block"),
            pieces[at],
            flags=re.S,
        )
        pieces[at] = re.sub(r"\$([^$\n]+?)\$", lambda m: convert(html.unescape(m[1])), text)
    return "".join(pieces)
