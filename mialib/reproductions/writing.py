"""An item's files: the figure, the table, and where both come from.

    folder = write(item, evidence, made, Path("reproduced"))
    # reproduced/past-fig-3/cpu/past-fig-3.png, .svg, table.csv, table.md, provenance.json

Every file is whole or not there. A folder that holds something else is left alone.
"""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Sequence
from math import isnan
from pathlib import Path
from typing import Any

from mialib import __version__
from mialib.errors import as_path
from mialib.foreign import atomically, in_sentence, in_spreadsheet
from mialib.markdown import table
from mialib.reproductions.items import Evidence, Item, Line, Made
from mialib.store import write_json

HEADER = ("row", "what", "published", "own", "low", "high", "note")


def write(item: Item, evidence: Evidence, made: Made, out: Path) -> Path:
    """Write everything of an item at one profile; return the folder."""
    folder = as_path(out) / item.name / evidence.profile
    folder.mkdir(parents=True, exist_ok=True)
    for name, picture in made.pictures.items():
        _write(folder / f"{name}.png", picture.png)
        _write(folder / f"{name}.svg", picture.render("svg"))
    _write(folder / "table.csv", as_csv(made.lines).encode())
    _write(folder / "table.md", as_markdown(made.lines).encode())
    write_json(folder / "provenance.json", provenance(item, evidence, made))
    return folder


def as_csv(lines: Sequence[Line]) -> str:
    """The table for a program."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADER)
    for line in lines:
        own = line.own
        cells = [_number(value) for value in (line.published, *own.triple)]
        told = [in_spreadsheet(line.row), in_spreadsheet(line.what)]
        writer.writerow([*told, *cells, in_spreadsheet(own.note)])
    return text.getvalue()


def as_markdown(lines: Sequence[Line]) -> str:
    """The table for a reader: published and own values side by side."""
    rows = [
        (in_sentence(line.what), _published(line), in_sentence(str(line.own))) for line in lines
    ]
    return table(["", "published", "found here [95 % interval]"], rows) + "\n"


def as_text(lines: Sequence[Line]) -> str:
    """The table for a terminal."""
    width = max((len(line.what) for line in lines), default=0)
    rows = [f"{'':<{width}}  published  found here [95 % interval]"]
    rows += [f"{line.what:<{width}}  {_published(line):>9}  {line.own}" for line in lines]
    return "\n".join(rows)


def _published(line: Line) -> str:
    return "" if line.published is None else f"{line.published:g}"


def provenance(item: Item, evidence: Evidence, made: Made) -> dict[str, Any]:
    """What everything was made of; a path of the machine is nowhere in it."""
    return {
        "item": item.name,
        "paper": item.paper,
        "profile": evidence.profile,
        "state": item.state(evidence),
        "results": {name: one.about for name, one in evidence.read.items()},
        "banks": {name: one.source for name, one in evidence.banks_read.items()},
        "alt": {name: picture.alt for name, picture in made.pictures.items()},
        "captions": {name: picture.caption for name, picture in made.pictures.items()},
        "mialib": __version__,
        "written": time.strftime("%Y-%m-%d", time.gmtime()),
    }


def _number(value: float | None) -> str:
    return "" if value is None or isnan(value) else f"{value:.6g}"


def _write(path: Path, content: bytes) -> None:
    """The file is there whole or not at all."""
    with atomically(path) as unfinished:
        unfinished.write_bytes(content)
