"""A lesson that nobody teaches: sliders of every kind, a wide figure, a table and a formula.

    made = build(folder)            # its frames and page, and those of the committed lessons

Nothing trains, so that a page with frozen sliders is there in seconds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

import notebooks
import pages
from mialib.course import frozen, widgets
from mialib.course.plots.picture import Picture
from mialib.course.widgets import Explorer

NAME = "99_made_up"
PROSE = """\
# 99 · Made up

**How does a page look?**

[Open in Colab]\
(https://colab.research.google.com/github/ada/mialib/blob/main/notebooks/99_made_up.ipynb)

| | second | third | fourth | fifth | sixth | seventh | eighth |
|---|---|---|---|---|---|---|---|
| unbreakable_word | unbreakable_word | unbreakable_word | unbreakable_word | unbreakable_word | \
unbreakable_word | unbreakable_word | unbreakable_word |

## A long formula

$$\\sum_{i=1}^{n} x_i^2 + \\sum_{i=1}^{n} y_i^2 + \\sum_{i=1}^{n} z_i^2 + a + b + c + d + e + f$$

And lesson [00](00_start_here.ipynb), then one that is [not there](98_not_there.ipynb)."""


def picture(**position: Any) -> Picture:
    """A bar for each argument; other arguments give other bytes and other words."""
    said = ", ".join(f"{name} = {value}" for name, value in position.items())
    heights = [len(str(value)) + hash_of(value) for value in position.values()]

    def draw(figure) -> None:
        figure.subplots().bar(list(position), heights)
        figure.suptitle(said)

    return Picture(draw, alt=f"Bars at {said}.", caption=f"At {said}, with <b> & quotes.")


def hash_of(value: Any) -> float:
    """A number between 0 and 1 that is the same in every session."""
    return sum(str(value).encode()) % 97 / 97


def wide_picture() -> Picture:
    return Picture(
        lambda figure: figure.subplots().plot([0, 1]),
        alt="A line from 0 to 1, drawn on a figure that is twelve inches wide.",
        caption="A wide figure.",
        size=(12, 3),
    )


def explorers() -> list[Explorer]:
    """One slider, two with all combinations, and three of which one moves at a time."""
    letters = widgets.choice(["a", "ℓ1", *"cdefgh"], label="letter")
    return [
        Explorer(picture, threshold=widgets.log_slider(1e-3, 10, start=0.5, label="threshold")),
        Explorer(
            picture,
            lam=widgets.steps([0.1, 0.2, 0.5], start=0.2, label="λ"),
            alpha=widgets.steps([0, 1], start=1, label="α"),
        ),
        Explorer(
            picture,
            record=widgets.slider(0, 2399, start=929, step=1, label="record"),
            letter=letters,
            share=widgets.slider(0.0, 1.0, start=0.5, step=0.05, label="share"),
        ),
    ]


def lesson() -> notebooks.Lesson:
    front = {"title": "Made up", "question": "How does a page look?", "read": 1}
    return notebooks.Lesson(NAME, front, [])


def notebook(shown: list[Explorer]) -> nbformat.NotebookNode:
    """As the builder leaves it after a run."""
    figure, metadata = wide_picture()._repr_mimebundle_()
    caption = {"text/markdown": "*A wide figure.*"}
    drawn = [
        new_output("display_data", data=figure, metadata=metadata),
        new_output("display_data", data=caption),
    ]
    cells = [new_markdown_cell(PROSE), new_code_cell("show(wide)", outputs=drawn)]
    for number, explorer in enumerate(shown, 1):
        said = new_output("execute_result", data={"text/plain": explorer.without_kernel})
        cells += [
            new_markdown_cell(f"## Slider {number}"),
            new_code_cell("widgets.explore(picture)  # " + "x" * 90, outputs=[said]),
        ]
    return new_notebook(cells=cells, metadata={"mialib": {"seconds": 1.0, "profile": "quick"}})


def build(folder: Path, *, committed: bool) -> list[Explorer]:
    """Write the frames and the page; with all committed lessons beside it, if asked."""
    shown = explorers()
    frozen.write_all(folder / "frames" / NAME)
    series = notebooks.lessons() if committed else []
    executed = {
        one.name: nbformat.read(notebooks.NOTEBOOKS / f"{one.name}.ipynb", as_version=4)
        for one in series
    }
    for name, one in executed.items():
        nbformat.write(one, folder / f"{name}.ipynb")
    made_up = notebook(shown)
    nbformat.write(made_up, folder / f"{NAME}.ipynb")
    by_name = {one.name: one for one in [*series, lesson()]}
    pages.write({**executed, NAME: made_up}, by_name, folder)
    return shown
