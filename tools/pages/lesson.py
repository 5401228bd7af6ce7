"""An executed notebook as HTML: pictures become files, sliders their frozen frames."""

from __future__ import annotations

import base64
import copy
import html
import json
import re
from functools import cache
from pathlib import Path

from bs4 import BeautifulSoup, Tag
from nbconvert import HTMLExporter
from nbconvert.filters import markdown2html
from nbformat import NotebookNode
from nbformat.v4 import new_output

from pages import formulas, markup, sliders

SLIDER = "A slider"  # so begins what a slider leaves in a notebook that nobody runs
INDEX = "frozen.json"  # as `mialib.course.frozen` calls it, which would load torch
DATA = re.compile(r"data:image/png;base64,")


def body(notebook: NotebookNode, *, name: str, folder: Path) -> BeautifulSoup:
    """The lesson's page, all but its frame; pictures are written to `folder`."""
    notebook = copy.deepcopy(notebook)
    frozen = _frozen(folder / "frames" / name)
    _put_frames(notebook, frozen, place=f"frames/{name}")
    for cell in notebook.cells:
        if "outputs" in cell:
            cell.outputs = _with_captions(cell.outputs)
    exported, _ = _exporter().from_notebook_node(notebook)
    page = BeautifulSoup(formulas.with_mathml(exported), "html.parser")
    _pictures_to_files(page, folder / "pictures", name)
    for prompt in page.find_all(class_="prompt"):
        prompt.decompose()
    for cell in page.find_all(class_="celltag_setup"):
        _fold(page, cell, "Set-up, the same in every lesson")
    return page


@cache
def _exporter() -> HTMLExporter:
    """One for all lessons, because it reads its templates anew each time that it is made."""
    return HTMLExporter(template_name="basic", exclude_anchor_links=True)


def _fold(page: BeautifulSoup, cell: Tag, summary: str) -> None:
    """Put a cell away that a reader of the page need not read."""
    fold = cell.wrap(page.new_tag("details"))
    title = page.new_tag("summary")
    title.string = summary
    fold.insert(0, title)


def rules(page: BeautifulSoup) -> str:
    """The style rules that show one frame of each frozen slider of the page."""
    return "".join(sliders.rules(group) for group in page.find_all(class_="explore"))


# Sliders.


def _frozen(folder: Path) -> list[dict]:
    """What `mialib.course.frozen` wrote of a lesson, if it did."""
    if not (folder / INDEX).exists():
        return []
    return json.loads((folder / INDEX).read_text(encoding="utf-8"))


def _put_frames(notebook: NotebookNode, frozen: list[dict], *, place: str) -> None:
    """Put frozen frames where sliders were; without frames, the sentence stays."""
    outputs = [
        output
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if "".join(output.get("data", {}).get("text/plain", "")).startswith(SLIDER)
    ]
    if frozen and len(frozen) != len(outputs):
        raise ValueError(
            f"{place} has the frames of {len(frozen)} sliders, but the notebook shows "
            f"{len(outputs)}. Run the lesson again: tools/notebooks.py run --only {place[7:9]}"
        )
    for number, output in enumerate(outputs):
        said = html.escape("".join(output.data["text/plain"]))
        standing = f'<p class="standing">{said}</p>'
        if frozen:
            standing = sliders.as_html(frozen[number], name=f"slider-{number + 1}", place=place)
        output.data = {"text/html": standing}


# Pictures.


def _with_captions(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """A picture and the caption after it become one figure."""
    found: list[NotebookNode] = []
    for output in outputs:
        said = "".join(output.get("data", {}).get("text/markdown", ""))
        if said.startswith("*") and found and "image/png" in found[-1].get("data", {}):
            found[-1] = _figure(found[-1], said.strip().strip("*"))
        else:
            found.append(output)
    return found


def _figure(picture: NotebookNode, caption: str) -> NotebookNode:
    alt = html.escape(picture.metadata.get("image/png", {}).get("alt", ""))
    source = f"data:image/png;base64,{''.join(picture.data['image/png']).strip()}"
    said = markdown2html(caption).strip().removeprefix("<p>").removesuffix("</p>")
    whole = f'<figure><img alt="{alt}" src="{source}"><figcaption>{said}</figcaption></figure>'
    return new_output("display_data", data={"text/html": whole})


def _pictures_to_files(page: BeautifulSoup, folder: Path, name: str) -> None:
    """Write every picture beside the page, which so stays small and loads what is looked at."""
    for number, image in enumerate(page.find_all("img", src=DATA), 1):
        path = folder / f"{name[:2]}-{number:02d}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(DATA.sub("", image["src"])))
        source = f"pictures/{path.name}"
        shown = markup.picture(source, alt=image.get("alt", ""), size=markup.size_of(path))
        image.replace_with(BeautifulSoup(shown, "html.parser"))
