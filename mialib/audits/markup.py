"""Pieces of a page. Each escapes the text that it is given; `parts` are pages' pieces already.

section("Utility", definitions([("accuracy", "61 %")]))
document(title="…", body=…, positions=7)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from mialib.audits.style import STYLE, position_style

GENERATOR = '<meta name="generator" content="mialib audit">'
# Nothing is fetched and nothing runs, even if something slipped through.
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def said(text: str) -> str:
    """Text as it may stand in a page; a number and its % do not part.

    >>> said("<b> has 5 %")
    '&lt;b&gt; has 5&nbsp;%'
    """
    return escape(text).replace(" %", "&nbsp;%")


def document(*, title: str, body: str, positions: int) -> str:
    """A whole page."""
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            GENERATOR,
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{said(title)}</title>",
            f"<style>{STYLE}{position_style(positions)}body{{margin:0}}</style></head>",
            f'<body><main class="mialib-audit">{body}</main></body></html>',
            "",
        ]
    )


def wrapped(body: str) -> str:
    """A part of a page that brings its style along, for a notebook."""
    return f'<style>{STYLE}</style><div class="mialib-audit part">{body}</div>'


def joined(*parts: str) -> str:
    return "\n".join(part for part in parts if part)


def section(heading: str, *parts: str, level: int = 2) -> str:
    """A heading and its parts."""
    title = f"<h{level}>{said(heading)}</h{level}>"
    return joined("<section>", title, *parts, "</section>")


def pair(left: str, right: str) -> str:
    """Two parts side by side, where there is room."""
    return f'<div class="pair"><div>{left}</div><div>{right}</div></div>'


def paragraph(text: str) -> str:
    return f"<p>{said(text)}</p>"


def aside(text: str) -> str:
    """What must not be overlooked."""
    return f'<p class="aside" role="note"><strong>{said(text)}</strong></p>'


def bullets(lines: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{said(line)}</li>" for line in lines) + "</ul>"


def definitions(pairs: Iterable[tuple[str, str]]) -> str:
    """Names and what stands beside each."""
    rows = "".join(f"<div><dt>{said(name)}</dt><dd>{said(told)}</dd></div>" for name, told in pairs)
    return f"<dl>{rows}</dl>"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, wide: bool = False) -> str:
    """A table; a wide one becomes a card for each row on a narrow screen.

    What follows a line break in a cell is small print, and so is an interval in brackets.
    """
    head = "".join(f'<th scope="col">{said(name)}</th>' for name in columns)
    body = "".join(_row(columns, row) for row in rows)
    kind = ' class="wide"' if wide else ""
    return f"<table{kind}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _row(columns: Sequence[str], cells: Sequence[str]) -> str:
    name, _, small = cells[0].partition("\n")
    print_small = f"<small>{said(small)}</small>" if small else ""
    first = f'<th scope="row">{said(name)}{print_small}</th>'
    rest = "".join(
        f'<td data-label="{escape(column)}">{_value(cell)}</td>'
        for column, cell in zip(columns[1:], cells[1:], strict=True)
    )
    return f"<tr>{first}{rest}</tr>"


def _value(cell: str) -> str:
    """A number, below it its interval, and below that what follows a line break."""
    told, _, note = cell.partition("\n")
    value, bracket, interval = told.partition(" [")
    small = f" <small>[{said(interval)}</small>" if bracket else ""
    remark = f" <small>{said(note)}</small>" if note else ""
    return f"<span>{said(value)}{small}{remark}</span>"


def figure(drawing: str, caption: str, *, legend: Sequence[tuple[str, str]] = ()) -> str:
    """A drawing with its words; the legend has a sample of each line's class."""
    entries = "".join(f"<li>{_sample(kind)}{said(name)}</li>" for kind, name in legend)
    listed = f'<ul class="legend">{entries}</ul>' if entries else ""
    return f"<figure>{drawing}<figcaption>{listed}{said(caption)}</figcaption></figure>"


def _sample(kind: str) -> str:
    """A short line, or a patch, that looks like what it stands for."""
    if kind in ("band", "null"):
        drawn = f'<rect class="{kind}" width="28" height="12"/>'
    else:
        shown = f"curve {kind}" if kind.startswith("c") and kind[1:].isdigit() else kind
        drawn = f'<path class="{shown}" d="M0 6H28"/>'
    return f'<svg class="sample" viewBox="0 0 28 12" aria-hidden="true">{drawn}</svg>'


def folded(heading: str, part: str) -> str:
    """What opens on demand."""
    return f"<details><summary>{said(heading)}</summary>{part}</details>"
