"""Exercises as assignments: the solution gets every point, the stub none, in both formats."""

import re
from textwrap import dedent

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell

import exercises
import teaching

FORMATS = sorted(teaching.FORMATS)


@pytest.fixture(scope="module", params=FORMATS)
def exported(request, tmp_path_factory):
    """The format and every assignment in it."""
    out = tmp_path_factory.mktemp(request.param)
    paths = teaching.export(request.param, out)
    return request.param, [nbformat.read(path, as_version=4) for path in paths]


def student_version(notebook, to):
    """What the students get: as nbgrader and Otter document what they do with a solution."""
    stub = {
        "nbgrader": "# YOUR CODE HERE\n    raise NotImplementedError()\n",
        "otter": "...\n",
    }[to]
    begin, end = ("### ", "### ") if to == "nbgrader" else ("# ", "# ")
    region = re.compile(f"{begin}BEGIN SOLUTION\n.*?{end}END SOLUTION\n?", re.S)
    copy = nbformat.from_dict(notebook)
    for cell in copy.cells:
        if cell.cell_type == "code":
            cell.source = region.sub(stub, cell.source)
    return copy


def marks(notebook):
    """Run a notebook's code from top to bottom; which of its tests passed."""
    space, passed = {"PROFILE": "quick"}, []
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        is_test = cell.source.startswith("verdict = ")
        try:
            exec(compile(cell.source, "cell", "exec"), space)
        except AssertionError:
            assert is_test
        if is_test:
            passed.append(space["verdict"].right)
    return passed


def test_the_solution_gets_every_point_and_the_stub_none(exported):
    to, notebooks = exported
    assert len(notebooks) == len(list(teaching.NOTEBOOKS.glob("[0-9][0-9]_*.ipynb")))
    for notebook in notebooks:
        solved = marks(notebook)
        assert solved, "no exercise of this lesson is checked"
        assert all(solved)
        assert not any(marks(student_version(notebook, to)))


def test_the_students_see_no_solution(exported):
    to, notebooks = exported
    for notebook in notebooks:
        hidden = student_version(notebook, to)
        assert not any(
            "SOLUTION" in cell.source for cell in hidden.cells if cell.cell_type == "code"
        )


def test_nbgraders_metadata():
    exercise = exercises.of_lesson(example("checked"))[0]
    text, answer, test = teaching.nbgrader_cells(exercise)
    assert text.metadata.nbgrader["locked"]
    assert answer.metadata.nbgrader["solution"]
    assert not answer.metadata.nbgrader["grade"]
    assert test.metadata.nbgrader["points"] == 2
    ids = [cell.metadata.nbgrader["grade_id"] for cell in (text, answer, test)]
    assert len(set(ids)) == 3


def test_otters_marks_are_paired(exported):
    to, notebooks = exported
    if to == "nbgrader":
        assert not any(cell.cell_type == "raw" for one in notebooks for cell in one.cells)
        return
    for notebook in notebooks:
        opened = []
        for cell in notebook.cells:
            mark = cell.source.split("\n")[0].split() if cell.cell_type == "raw" else []
            if "BEGIN" in mark:
                opened.append(mark[2])
            elif "END" in mark:
                assert opened.pop() == mark[2]
        assert not opened


# ---------------------------------------------------------------- what lessons may hold


def example(kind):
    """Cells of a lesson with one exercise."""
    title = "## Exercise 7.3: think · difficulty 2/5 · about 15 minutes\nWhat is seen?"
    stub = dedent("""\
        def doubled(x: int) -> int:
            \"""Twice x.\"""
            raise NotImplementedError


        checks.check_doubled(doubled)""")
    fold = (
        "<details><summary>Hint</summary>Twice.</details>\n<details><summary>Solution</summary>\n"
    )
    code = (
        "\n```python\nfrom operator import mul\n\n\ndef doubled(x):\n    return mul(x, TWO)\n```\n"
    )
    lesson = [new_code_cell("ONE = 1\nTWO = ONE\nfor _ in [1]:\n    TWO += 1\nTHREE = 3")]
    if kind == "checked":
        return [
            *lesson,
            new_markdown_cell(title),
            new_code_cell(stub),
            new_markdown_cell(f"{fold}{code}</details>"),
            new_code_cell("after = 1"),
            new_markdown_cell("## Recap"),
        ]
    judged = new_markdown_cell(f"{fold}It depends.</details>")
    return [*lesson, new_markdown_cell(title), new_code_cell("print(TWO)"), judged]


def test_an_exercise_carries_what_it_needs_of_its_lesson():
    exercise = exercises.of_lesson(example("checked"))[0]
    assert (exercise.number, exercise.title, exercise.minutes) == ("7.3", "think", 15)
    assert exercise.text == "What is seen?"
    assert "after" not in exercise.code
    assert exercise.context[0] == "ONE = 1"
    assert "THREE = 3" not in exercise.context
    space = {}
    exec("\n".join([*exercise.context, exercise.solved("# <", "# >")]), space)
    assert space["doubled"](4) == 8
    assert '"""Twice x."""\n    # <\n    from operator import mul' in exercise.solved("# <", "# >")


def test_an_exercise_may_begin_inside_a_cell_and_under_another_heading():
    first, second = (f"### Exercise 7.{k} · difficulty 1/5 · about {k} minutes" for k in (1, 2))
    text = f"## Exercises\nTwo of them.\n\n{first}\nOne?\n\n{second}\nTwo?"
    found = exercises.of_lesson([new_markdown_cell(text), new_markdown_cell("## Recap")])
    assert [one.number for one in found] == ["7.1", "7.2"]
    assert [one.text for one in found] == ["One?", "Two?"]
    assert [one.minutes for one in found] == [1, 2]


@pytest.mark.parametrize("to", FORMATS)
def test_a_judgement_is_marked_by_a_person(to):
    (exercise,) = exercises.of_lesson(example("judged"))
    assert not exercise.is_checked
    cells = {"nbgrader": teaching.nbgrader_cells, "otter": teaching.otter_cells}[to](exercise)
    if to == "nbgrader":
        written = cells[-1].metadata.nbgrader
        assert written["grade"]
        assert written["solution"]
        assert "It depends." not in "".join(cell.source for cell in cells)
    else:
        assert "manual: true" in cells[0].source
