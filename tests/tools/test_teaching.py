"""Exercises as assignments: the solution gets every point, the stub none, in both formats."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import nbformat
import pytest
import yaml
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


def test_nbgrader_finds_its_metadata_whole(exported):
    """As its schema 3 asks: every key, and names that are unique in a notebook."""
    to, notebooks = exported
    if to != "nbgrader":
        return
    keys = {"grade", "grade_id", "locked", "schema_version", "solution", "task"}
    for notebook in notebooks:
        told = [cell.metadata.nbgrader for cell in notebook.cells if "nbgrader" in cell.metadata]
        names = [one["grade_id"] for one in told]
        assert len(set(names)) == len(names)
        assert all(re.fullmatch(r"[\w-]+", name) for name in names)
        for one in told:
            assert set(one) - {"points"} == keys
            assert ("points" in one) == one["grade"]


def test_otter_finds_its_settings(exported):
    """Its raw cells are YAML; a question has a name of its own, which becomes a file's."""
    to, notebooks = exported
    if to != "otter":
        return
    for notebook in notebooks:
        raw = [cell.source for cell in notebook.cells if cell.cell_type == "raw"]
        settings = yaml.safe_load(raw[0])
        assert raw[0].startswith("# ASSIGNMENT CONFIG\n")
        assert settings["requirements"] == [f"mialib @ git+{teaching.address()}"]
        asked = [yaml.safe_load(one) for one in raw if one.startswith("# BEGIN QUESTION\n")]
        names = [one["name"] for one in asked]
        assert names
        assert len(set(names)) == len(names)
        assert all(name.isidentifier() for name in names)
        assert all(one["points"] > 0 for one in asked)


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


# ---------------------------------------------------------------- the programs themselves


def with_solutions(notebook, is_answer, solved):
    """A student's version, filled in with the teacher's answers in their order."""
    copy = nbformat.from_dict(notebook)
    answers = iter(solved)
    for cell in copy.cells:
        if is_answer(cell):
            cell.source = "\n".join(
                line for line in next(answers).splitlines() if "SOLUTION" not in line
            )
    assert next(answers, None) is None
    return copy


def teachers_answers(path):
    cells = nbformat.read(path, as_version=4).cells
    return [one.source for one in cells if one.cell_type == "code" and "SOLUTION" in one.source]


def run(*command, folder):
    """Run a program that belongs to this interpreter; what it said, where it failed."""
    whole = [sys.executable, "-m", *map(str, command)]
    done = subprocess.run(whole, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_nbgrader_itself_gives_the_solution_every_point_and_the_stub_none(tmp_path, monkeypatch):
    pytest.importorskip("nbgrader", reason="nbgrader is not installed")
    from nbgrader.api import Gradebook

    # It calls alembic, which lies beside an interpreter whose environment may not be active.
    beside = Path(sys.executable).parent
    monkeypatch.setenv("PATH", f"{beside}{os.pathsep}{os.environ['PATH']}")
    teaching.export("nbgrader", tmp_path / "source")
    run("nbgrader", "generate_assignment", "01", folder=tmp_path)
    stub = nbformat.read(tmp_path / "release" / "01" / "01.ipynb", as_version=4)
    solution = with_solutions(
        stub,
        lambda cell: cell.metadata.get("nbgrader", {}).get("solution"),
        teachers_answers(tmp_path / "source" / "01" / "01.ipynb"),
    )
    for name, notebook in {"stub": stub, "solution": solution}.items():
        folder = tmp_path / "submitted" / name / "01"
        folder.mkdir(parents=True)
        nbformat.write(notebook, folder / "01.ipynb")
    run("nbgrader", "autograde", "01", folder=tmp_path)
    with Gradebook(f"sqlite:///{tmp_path / 'gradebook.db'}") as book:
        given = {one.student.id: one for one in book.assignment_submissions("01")}
        assert given["stub"].score == 0
        assert given["solution"].score == given["solution"].max_score == 5


def test_otter_itself_gives_the_solution_every_point_and_the_stub_none(tmp_path):
    pytest.importorskip("otter", reason="otter-grader is not installed")
    teaching.export("otter", tmp_path)
    run("otter", "assign", "01.ipynb", "dist", folder=tmp_path)
    stub = nbformat.read(tmp_path / "dist" / "student" / "01.ipynb", as_version=4)
    solution = with_solutions(
        stub,
        lambda cell: "otter_answer_cell" in cell.metadata.get("tags", []),
        teachers_answers(tmp_path / "01.ipynb"),
    )
    (archive,) = (tmp_path / "dist" / "autograder").glob("*.zip")
    given = {}
    for name, notebook in {"stub": stub, "solution": solution}.items():
        folder = tmp_path / name
        folder.mkdir()
        nbformat.write(notebook, folder / "01.ipynb")
        run("otter", "run", "-a", archive, "01.ipynb", folder=folder)
        tests = json.loads((folder / "results.json").read_text(encoding="utf-8"))["tests"]
        given[name] = sum(one.get("score", 0) for one in tests)
    assert given == {"stub": 0, "solution": 5}


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
