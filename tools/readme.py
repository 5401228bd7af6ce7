"""Keep the README true: the lessons come from executed notebooks, the badges from the address."""

import base64
import re

import nbformat

from paths import ROOT

PICTURE = ROOT / "data" / "figures" / "01_threshold.png"
PLACE = re.compile(r"(<!-- (\w+) -->\n).*?(<!-- end of \2 -->)", re.S)


def filled(text: str, **parts: str) -> str:
    """A page with these parts between the marks of their names; other marks keep what they hold."""

    def fill(match: re.Match) -> str:
        start, name, end = match.groups()
        return f"{start}{parts[name]}\n{end}" if name in parts else match[0]

    return PLACE.sub(fill, text)


def table(series: list) -> str:
    """Number, question, time to read and to run, figure reproduced."""
    rows = ["| lesson | question | read | run | reproduces |", "|---|---|---|---|---|"]
    for lesson in series:
        front = lesson.front
        cells = [
            f"[{lesson.number} {front['title']}](notebooks/{lesson.name}.ipynb)",
            front["question"],
            f"{front['read']} min",
            f"{seconds_to_run(lesson.name):.0f} s",
            front["reproduces"],
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def seconds_to_run(name: str) -> float:
    """What the committed notebook says; NaN if it was not built yet."""
    path = ROOT / "notebooks" / f"{name}.ipynb"
    if not path.exists():
        return float("nan")
    return nbformat.read(path, as_version=4).metadata["mialib"]["seconds"]


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
    """The README with the badges of the repository at `address` and of lesson 00 on Colab."""
    tests = f"{address}/actions/workflows/test.yml"
    colab_badge = "https://colab.research.google.com/assets/colab-badge.svg"
    badges = [
        f"[![The tests on GitHub]({tests}/badge.svg)]({tests})",
        f"[![Open lesson 00 in Colab]({colab_badge})]({colab})",
    ]
    return filled(text, badges="\n".join(badges))
