"""The lessons: what is committed is what the sources say, every lesson runs, sliders answer."""

import html
import itertools
import re
from importlib import import_module
from statistics import median

import nbformat
import numpy as np
import pytest

import notebooks
import readme
import sliders
from paths import ROOT

SERIES = notebooks.lessons()
each_lesson = pytest.mark.parametrize("lesson", SERIES, ids=lambda lesson: lesson.name)


def committed(lesson) -> nbformat.NotebookNode:
    return nbformat.read(ROOT / "notebooks" / f"{lesson.name}.ipynb", as_version=4)


def prose(notebook) -> str:
    return "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


@each_lesson
def test_the_committed_notebook_is_its_source(lesson):
    assembled, found = notebooks.assemble(lesson, SERIES), committed(lesson)
    assert [cell.cell_type for cell in found.cells] == [cell.cell_type for cell in assembled.cells]
    for expected, cell in zip(assembled.cells, found.cells, strict=True):
        # A filled brace may hold anything; all else must be the same to the letter.
        pattern = "(.+?)".join(
            re.escape(text) for text in notebooks.BRACES.split(expected.source)[::2]
        )
        assert re.fullmatch(pattern, cell.source, re.S), (
            f"{cell.id} differs: run `make notebooks ONLY={lesson.number}`"
        )


@each_lesson
def test_the_committed_notebook_is_fit_to_publish(lesson):
    found = committed(lesson)
    text = nbformat.writes(found)
    assert len(text.encode()) < 1_000_000
    assert "widgets" not in found.metadata
    assert found.metadata.kernelspec.name == "python3"
    assert not re.search(r"(/home/|/root/|/tmp/|/Users/|[A-Z]:\\\\)", text), "an absolute path"
    assert all(cell.execution_count for cell in found.cells if cell.cell_type == "code")
    assert not notebooks.BRACES.search(prose(found))
    assert re.search(r"Last verified \| 20\d\d-\d\d-\d\d", found.cells[0].source)


@each_lesson
def test_every_figure_has_alt_text_and_is_read_aloud_below(lesson):
    cells = committed(lesson).cells
    figures = 0
    for cell, following in itertools.pairwise(cells):
        for output in cell.get("outputs", []):
            if "image/png" in output.get("data", {}):
                figures += 1
                spoken = output.metadata["image/png"]["alt"]
                assert len(spoken) > 40
                # JupyterLab, which ignores that, shows the HTML.
                assert f'alt="{html.escape(spoken)}"' in output.data["text/html"]
                assert "What to see" in following.source, f"{cell.id}: a figure without a reading"
                assert re.search(r"\d", following.source), f"{cell.id}: a reading without a number"
    assert figures


@each_lesson
def test_headings_are_one_h1_and_then_in_order(lesson):
    text = re.sub(r"```.*?```", "", prose(committed(lesson)), flags=re.S)
    levels = [len(mark) for mark in re.findall(r"^(#+) ", text, re.M)]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


@each_lesson
def test_a_lesson_is_a_lesson(lesson):
    # Nobody reads addresses aloud, or the references from one end to the other; a solution's code
    # is no prose.
    text = re.sub(r"```.*?```", "", prose(committed(lesson)), flags=re.S)
    text = re.sub(r"\]\(\S+?\)", "]", text.partition("## References")[0])
    words = len(re.findall(r"\w+", text))
    assert 800 <= words <= 2500, words
    lines = sorted(cell.source.count("\n") + 1 for cell in lesson.cells if cell.cell_type == "code")
    assert lines[-1] <= 20, "a cell that fills the screen is two cells"
    assert median(lines) <= 8
    code = [
        line
        for cell in lesson.cells
        if cell.cell_type == "code"
        for line in cell.source.splitlines()
    ]
    assert [line for line in code if len(line) > 100] == [], "a page shows 100 columns"
    for part in (
        "## Recap",
        "## What this does not show",
        "## References",
        "Exercise",
        "<details>",
    ):
        assert part in prose(committed(lesson)), part


@each_lesson
def test_from_scratch_means_from_scratch(lesson):
    """No cell of a *from scratch* section may import from mialib.attacks."""
    section = ""
    for cell in lesson.cells:
        if cell.cell_type == "markdown" and (
            headings := re.findall(r"^#+ (.+)$", cell.source, re.M)
        ):
            section = headings[-1]
        if "def " in cell.source and "from scratch" in section:
            assert "attacks" not in cell.source


@each_lesson
def test_solutions_are_right_and_stubs_are_not_done(lesson):
    code = [cell.source for cell in lesson.cells if cell.cell_type == "code"]
    stubs = [source for source in code if "raise NotImplementedError" in source]
    solutions = re.findall(r"<summary>Solution.*?```python\n(.*?)```", prose(lesson), re.S)
    assert len(stubs) == len(solutions) >= 1
    checks = import_module(f"mialib.course.exercises.lesson_{lesson.number}")
    space = {"np": np, "checks": checks}
    for stub, solution in zip(stubs, solutions, strict=True):
        call = stub.strip().splitlines()[-1]
        exec(stub.rsplit("\n", 1)[0], space)
        assert "Not done yet" in eval(call, space).text
        exec(solution, space)
        assert eval(call, space).right, call


@each_lesson
def test_the_lesson_runs_and_its_sliders_answer(lesson, lessons_home):
    notebook = notebooks.assemble(lesson, SERIES)
    with notebooks.executed(notebook, title=lesson.name, home=lessons_home) as client:
        views = re.compile(r"widgets\.explore\(|TrainThisPoint\(")
        written = sum(len(views.findall(cell.source)) for cell in lesson.cells)
        assert sliders.move(client) == written
    assert not notebooks.BRACES.search(prose(notebook))


def test_lessons_are_chosen_by_the_start_of_their_names():
    assert notebooks.chosen_of(SERIES, []) == SERIES
    assert [one.number for one in notebooks.chosen_of(SERIES, ["16", "00"])] == ["00", "16"]
    with pytest.raises(SystemExit, match="starts with '99'"):
        notebooks.chosen_of(SERIES, ["00", "99"])


def test_the_map_of_lesson_00_links_every_other_lesson():
    for lesson in SERIES[1:]:
        assert f"({lesson.name}.ipynb)" in prose(committed(SERIES[0]))


def test_the_readme_lists_every_lesson_with_its_measured_time():
    assert readme.table(SERIES) in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_set_up_cell_is_short():
    assert notebooks.SETUP.count("\n") + 1 <= 12
