"""The page around the content: title, description, style, script, navigation."""

from __future__ import annotations

import html
from pathlib import Path
from urllib.parse import quote

from bs4 import BeautifulSoup
from pygments.formatters import HtmlFormatter

COURSE = "Membership inference, from scratch"
BESIDE = Path(__file__).parent
LIGHT_CODE = HtmlFormatter(style="xcode", nobackground=True).get_style_defs("pre")
DARK_CODE = HtmlFormatter(style="github-dark", nobackground=True).get_style_defs("pre")
STYLE = "\n".join(
    [
        (BESIDE / "style.css").read_text(encoding="utf-8"),
        f"@media (prefers-color-scheme: light), print {{ {LIGHT_CODE} }}",
        f"@media screen and (prefers-color-scheme: dark) {{ {DARK_CODE} }}",
    ]
)
SCRIPT = (BESIDE / "page.js").read_text(encoding="utf-8")
# Two histograms that overlap, in the colours of members and non-members.
ICON = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">\
<path fill="#0072B2" d="M1 14V8h2V3h2v2h2v9z"/>\
<path fill="#E69F00" fill-opacity=".8" d="M6 14V9h2V5h2v2h2v4h3v3z"/></svg>"""
PAGE = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\
<meta name="viewport" content="width=device-width, initial-scale=1">\
<meta name="description" content="{description}">\
<meta name="color-scheme" content="light dark">\
<link rel="icon" href="data:image/svg+xml,{icon}">\
<style>{style}{rules}</style></head>
<body{wide}><a class="skip" href="#content">Skip to the content</a>
<header>{top}</header>
<main id="content">{main}</main>
<script>{script}</script>{searching}</body></html>
"""


def write(
    path: Path,
    *,
    title: str,
    description: str,
    top: str,
    main: str,
    rules: str = "",
    wide: bool = False,
    searching: bool = False,
) -> None:
    """Write a whole page; `rules` are style rules of its own."""
    page = PAGE.format(
        title=html.escape(title),
        description=html.escape(description),
        icon=quote(ICON),
        style=STYLE,
        rules=rules,
        top=top,
        wide=' class="wide"' if wide else "",
        main=main,
        script=SCRIPT,
        searching='<script src="search.js"></script>' if searching else "",
    )
    path.write_text(page, encoding="utf-8")


def navigation(*, notebook: str = "", documents: dict[str, Path]) -> str:
    """Links to what belongs to every page; a lesson's page has one to its notebook."""
    links = ['<a href="index.html">All lessons</a>', '<a href="index.html#search">Search</a>']
    names = {page: page.replace("_", " ").capitalize() for page in documents}
    links += [f'<a href="{page}.html">{name}</a>' for page, name in names.items()]
    if notebook:
        links.append(f'<a href="{notebook}.ipynb" download>This notebook</a>')
    return f'<nav aria-label="Course">{" ".join(links)}</nav>'


def contents(body: BeautifulSoup) -> str:
    """A fold with the sections of a page."""
    headings = body.find_all("h2")
    if not headings:
        return ""
    items = [f'<li><a href="#{one["id"]}">{one.decode_contents()}</a></li>' for one in headings]
    listed = f"<ol>{''.join(items)}</ol>"
    return f'<details class="contents"><summary>On this page</summary>{listed}</details>'
