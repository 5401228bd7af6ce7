"""No alt text, caption, table or sentence of the committed lessons says "nan".

A figure that is told with "nan" was drawn from a number that is not there. What a cell prints is
left alone: lesson 08 prints one on purpose.
"""

import re

import nbformat
import pytest

import notebooks

SERIES = notebooks.lessons()
NOT_A_NUMBER = re.compile(r"\bnan\b", re.I)
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.S)  # an exercise may speak of NaN


def told(cell) -> list[str]:
    """What a reader sees or hears of a cell, without its code and what that prints."""
    if cell.cell_type == "markdown":
        return [CODE.sub("", cell.source)]
    found = []
    for output in cell.outputs:
        data = output.get("data", {})
        found.append(str(output.get("metadata", {})))
        found += [data.get(kind, "") for kind in ("text/plain", "text/markdown")]
        found += re.findall(r'alt="([^"]*)"', data.get("text/html", ""))
    return found


@pytest.mark.parametrize("lesson", SERIES, ids=lambda lesson: lesson.name)
def test_nothing_is_told_that_is_not_a_number(lesson):
    notebook = nbformat.read(notebooks.NOTEBOOKS / f"{lesson.name}.ipynb", as_version=4)
    for cell in notebook.cells:
        for text in told(cell):
            match = NOT_A_NUMBER.search(text)
            assert match is None, f"{cell.id}: …{text[max(0, match.start() - 60) :][:120]}…"


def test_the_search_sees_alt_texts_wherever_they_stand():
    cell = nbformat.v4.new_code_cell(
        outputs=[
            nbformat.v4.new_output("display_data", {"text/html": '<img alt="from nan to 1">'}),
            nbformat.v4.new_output(
                "display_data", {}, metadata={"image/png": {"alt": "mean nan, finance"}}
            ),
        ]
    )
    assert sum(bool(NOT_A_NUMBER.search(text)) for text in told(cell)) == 2
