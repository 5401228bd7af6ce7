"""Keep the README true: its table of lessons is written from the executed notebooks, its badges from the address."""

import base64
import re

import nbformat

from paths import ROOT

PICTURE = ROOT / "data" / "figures" / "01_threshold.png"
PLACE = re.compile(r"(<!-- (\w+) -->\n).*?(<!-- end of \2 -->)", re.S)


def filled(text: str, **parts: str) -> str:
    """A page with these parts between the marks of their names; what is between other marks stays."""
    return PLACE.sub(lambda m: f"{m[1]}{parts[m[2]]}\n{m[3]}" if m[2] in parts else m[0], text)


def table(series: list) -> str:
    """Number, question, time to read and to run, figure reproduced."""
    rows = ["| lesson | question | read | run | reproduces |", "|---|---|---|---|---|"]
    for lesson in series:
        path = ROOT / "notebooks" / f"{lesson.name}.ipynb"
        seconds = (
            nbformat.read(path, as_version=4).metadata["mialib"]["seconds"]
            if path.exists()
            else float("nan")
        )
        front = lesson.front
        rows.append(
            f"| [{lesson.number} {front['title']}](notebooks/{lesson.name}.ipynb) | {front['question']} "
            f"| {front['read']} min | {seconds:.0f} s | {front['reproduces']} |"
        )
    return "\n".join(rows)


def update(series: list) -> None:
    """Write the table between its two marks."""
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    readme.write_text(filled(text, lessons=table(series)), encoding="utf-8")


def keep_picture(notebook: nbformat.NotebookNode) -> None:
    """Copy the README's picture out of the lesson that draws it."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if f'name="{PICTURE.stem}"' in cell.source and "image/png" in output.get("data", {}):
                PICTURE.write_bytes(base64.b64decode(output.data["image/png"]))


def with_badges(text: str, *, address: str, colab: str) -> str:
    """The README's text with the badges of the repository at `address` and of lesson 00 on Colab."""
    tests = f"{address}/actions/workflows/test.yml"
    badges = (
        f"[![The tests on GitHub]({tests}/badge.svg)]({tests})\n"
        f"[![Open lesson 00 in Colab](https://colab.research.google.com/assets/colab-badge.svg)]({colab})"
    )
    return filled(text, badges=badges)
