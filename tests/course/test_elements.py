"""Every lesson has the thirteen elements that a reader and a teacher count on.

Asked of the assembled notebooks, which are the sources in their template, so that a lesson is held
to it before it has been run. Alt text is made by a run, so it is asked of the committed notebook.
"""

import re
from collections.abc import Callable

import nbformat
import pytest

import notebooks
from paths import ROOT

SERIES = notebooks.lessons()
SLIDER = re.compile(r"widgets\.explore\(|TrainThisPoint\(")


def code(notebook: nbformat.NotebookNode) -> str:
    return "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")


def prose(notebook: nbformat.NotebookNode) -> str:
    return "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def row(notebook: nbformat.NotebookNode, name: str) -> str:
    """What the table *At a glance* says under a name; empty if it has no such row."""
    found = re.search(rf"(?m)^\| {name} \| (.+) \|$", notebook.cells[0].source)
    return found[1] if found else ""


def section(notebook: nbformat.NotebookNode, name: str) -> str:
    """The text between a heading of the second level and the next one."""
    return re.split(r"(?m)^## |^---$", prose(notebook).partition(f"\n## {name}")[2])[0]


def has_goals(notebook: nbformat.NotebookNode) -> bool:
    return row(notebook, "You will be able to").count("•") >= 3


def has_prerequisites(notebook: nbformat.NotebookNode) -> bool:
    return len(row(notebook, "You need")) > 10


def has_time(notebook: nbformat.NotebookNode) -> bool:
    read = re.fullmatch(r"(\d+) minutes", row(notebook, "Time to read"))
    run = row(notebook, "Time to run")
    return read is not None and 5 <= int(read[1]) <= 45 and "at profile" in run


def has_colab(notebook: nbformat.NotebookNode) -> bool:
    badge = "https://colab.research.google.com/github/" in notebook.cells[0].source
    return badge and "%pip install" in notebooks.cell_tagged(notebook, "setup").source


def has_seed(notebook: nbformat.NotebookNode) -> bool:
    return row(notebook, "Seed") != ""


def has_device_check(notebook: nbformat.NotebookNode) -> bool:
    cell = notebooks.cell_tagged(notebook, "setup").source
    return "doctor.require()" in cell and "print(doctor.device())" in cell


def has_exercise(notebook: nbformat.NotebookNode) -> bool:
    heading = r"(?m)^#{2,3} Exercise \d+\.\d.* · difficulty \d/5 · about \d+ minutes"
    return re.search(heading, prose(notebook)) is not None


def has_solution(notebook: nbformat.NotebookNode) -> bool:
    return "<details><summary>Solution" in prose(notebook)


def has_recap(notebook: nbformat.NotebookNode) -> bool:
    return section(notebook, "Recap").count("\n- ") >= 3


def has_references(notebook: nbformat.NotebookNode) -> bool:
    return section(notebook, "References").count("\n- ") >= 2


def has_widget(notebook: nbformat.NotebookNode) -> bool:
    return SLIDER.search(code(notebook)) is not None


def has_self_check(notebook: nbformat.NotebookNode) -> bool:
    return "checks.check_" in code(notebook)


def has_alt_text(notebook: nbformat.NotebookNode) -> bool:
    """Every picture of the committed notebook can be heard, and there is one."""
    heard = [alt for cell in notebook.cells for alt in alt_texts(cell)]
    return bool(heard) and all(len(alt) > 40 for alt in heard)


def alt_texts(cell: nbformat.NotebookNode) -> list[str]:
    """One for each picture in a cell's outputs, empty where it has none."""
    found = []
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        if "image/png" in data and "text/html" not in data:
            found.append(output.metadata.get("image/png", {}).get("alt", ""))
        for tag in re.findall(r"<img\b[^>]*>", data.get("text/html", "")):
            alt = re.search(r'\balt="([^"]*)"', tag)
            found.append(alt[1] if alt else "")
    return found


ELEMENTS: dict[str, Callable[[nbformat.NotebookNode], bool]] = {
    "goals": has_goals,
    "prerequisites": has_prerequisites,
    "time": has_time,
    "Colab": has_colab,
    "seed": has_seed,
    "device check": has_device_check,
    "exercise": has_exercise,
    "solution": has_solution,
    "recap": has_recap,
    "references": has_references,
    "widget": has_widget,
    "self-check": has_self_check,
    "alt text": has_alt_text,
}


@pytest.mark.parametrize("lesson", SERIES, ids=lambda lesson: lesson.name)
def test_a_lesson_has_the_thirteen_elements(lesson):
    assert len(ELEMENTS) == 13
    assembled = notebooks.assemble(lesson, SERIES)
    committed = nbformat.read(ROOT / "notebooks" / f"{lesson.name}.ipynb", as_version=4)
    missing = [
        name
        for name, is_there in ELEMENTS.items()
        if not is_there(committed if name == "alt text" else assembled)
    ]
    assert missing == []


@pytest.mark.parametrize("name", sorted(set(ELEMENTS) - {"alt text"}))
def test_an_element_is_missed_where_it_is_missing(name):
    """An empty lesson in an empty template has none of them."""
    empty = nbformat.v4.new_notebook()
    empty.cells = [
        nbformat.v4.new_markdown_cell("# 99 · Nothing"),
        nbformat.v4.new_code_cell("pass", metadata={"tags": ["setup"]}),
    ]
    assert not ELEMENTS[name](empty)


@pytest.mark.parametrize(
    "output",
    [
        nbformat.v4.new_output("display_data", {"image/png": "…"}),
        nbformat.v4.new_output("display_data", {"text/html": '<img src="data:…">'}),
        nbformat.v4.new_output("display_data", {"text/html": '<img src="data:…" alt="plot">'}),
    ],
)
def test_a_picture_without_a_description_is_noticed(output):
    cell = nbformat.v4.new_code_cell("", outputs=[output])
    assert not has_alt_text(nbformat.v4.new_notebook(cells=[cell]))
