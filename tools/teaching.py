"""Write the exercises of every lesson as assignments for nbgrader or Otter.

    python tools/teaching.py --to nbgrader --out course/source    then: nbgrader generate_assignment
    python tools/teaching.py --to otter --out assignments         then: otter assign NN.ipynb dist

Neither program is needed here. What is written is the teacher's version, solutions included; both
programs make the students' version of it, and there a stub stands where the solution was. An
exercise is worth as many points as its difficulty. Its self-check marks it; where a lesson asks for
a judgement, a person does. The tests run both versions: the solution gets all points of the
self-checks, the stub none.
"""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Callable
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_raw_cell

import exercises
from exercises import Exercise
from paths import ROOT

NOTEBOOKS = ROOT / "notebooks"
TITLE = """\
# Lesson {number}: exercises

Read lesson {number} first: its exercises are these. Where one asks for an experiment, do it in the
lesson's own notebook, which has the results at hand, and write your answer here."""
# A grader's container has nothing but what is required.
OTTER_CONFIG = """\
# ASSIGNMENT CONFIG
init_cell: true
check_all_cell: true
requirements:
  - mialib @ git+{address}"""
WRITE_HERE = "*Write your answer here.*"


def check_cell(exercise: Exercise) -> str:
    """Code that fails unless every self-check says *right*."""
    lines = []
    for call in exercise.checks:
        lines += [f"verdict = {call}", "assert verdict.right, verdict.text"]
    return "\n".join(lines)


def heading(exercise: Exercise) -> str:
    title = f": {exercise.title}" if exercise.title else ""
    points = f"{exercise.difficulty} point{'s' if exercise.difficulty > 1 else ''}"
    facts = f"{points} · about {exercise.minutes} minutes"
    return f"## Exercise {exercise.number}{title} · {facts}\n\n{exercise.text}"


def preparation(found: list[Exercise]) -> str:
    """The lines of the lesson that the exercises rely on, each once."""
    lines = []
    for exercise in found:
        lines += [line for line in exercise.context if line not in lines]
    return "\n".join(lines)


# ---------------------------------------------------------------- nbgrader


def nbgrader_cells(exercise: Exercise) -> list[NotebookNode]:
    """Text, answer and test, with the metadata that nbgrader reads (its schema 3)."""
    name = f"exercise-{exercise.number.replace('.', '-')}"
    points = exercise.difficulty
    text = new_markdown_cell(heading(exercise), metadata=_nbgrader(f"{name}-text", locked=True))
    if not exercise.is_checked:
        metadata = _nbgrader(name, grade=True, solution=True, points=points)
        return [text, *_given_code(exercise), new_markdown_cell(WRITE_HERE, metadata=metadata)]
    solved = exercise.solved("### BEGIN SOLUTION", "### END SOLUTION")
    tested = _nbgrader(f"{name}-test", grade=True, locked=True, points=points)
    return [
        text,
        new_code_cell(solved, metadata=_nbgrader(name, solution=True)),
        new_code_cell(check_cell(exercise), metadata=tested),
    ]


def _nbgrader(name: str, *, points: int | None = None, **flags: bool) -> dict:
    metadata = {"grade_id": name, "schema_version": 3, "task": False}
    metadata |= {"grade": False, "solution": False, "locked": False} | flags
    if points is not None:
        metadata["points"] = points
    return {"nbgrader": metadata}


def nbgrader_notebook(number: str, found: list[Exercise]) -> NotebookNode:
    prepared = new_code_cell(preparation(found), metadata=_nbgrader("preparation", locked=True))
    cells = [new_markdown_cell(TITLE.format(number=number)), prepared]
    for exercise in found:
        cells += nbgrader_cells(exercise)
    return _notebook(cells)


# ---------------------------------------------------------------- Otter


def otter_cells(exercise: Exercise) -> list[NotebookNode]:
    """A question between Otter's marks, which are raw cells."""
    name = f"e{exercise.number.replace('.', '_')}"
    facts = [f"name: {name}", f"points: {exercise.difficulty}"]
    if not exercise.is_checked:
        facts.append("manual: true")
    opened = new_raw_cell("\n".join(["# BEGIN QUESTION", *facts]))
    return [
        opened,
        new_markdown_cell(heading(exercise)),
        *_otter_answer(exercise),
        new_raw_cell("# END QUESTION"),
    ]


def _otter_answer(exercise: Exercise) -> list[NotebookNode]:
    if not exercise.is_checked:
        answer = new_markdown_cell(exercise.answer or WRITE_HERE)
        return [*_given_code(exercise), *_between("SOLUTION", answer)]
    solution = new_code_cell(exercise.solved("# BEGIN SOLUTION", "# END SOLUTION"))
    test = new_code_cell(check_cell(exercise))
    return [*_between("SOLUTION", solution), *_between("TESTS", test)]


def _between(mark: str, cell: NotebookNode) -> list[NotebookNode]:
    return [new_raw_cell(f"# BEGIN {mark}"), cell, new_raw_cell(f"# END {mark}")]


def otter_notebook(number: str, found: list[Exercise]) -> NotebookNode:
    cells = [
        new_raw_cell(OTTER_CONFIG.format(address=address())),
        new_markdown_cell(TITLE.format(number=number)),
        new_code_cell(preparation(found)),
    ]
    for exercise in found:
        cells += otter_cells(exercise)
    return _notebook(cells)


# ---------------------------------------------------------------- both


FORMATS: dict[str, Callable[[str, list[Exercise]], NotebookNode]] = {
    "nbgrader": nbgrader_notebook,
    "otter": otter_notebook,
}


def _given_code(exercise: Exercise) -> list[NotebookNode]:
    """The code that a judgement starts from, if there is any."""
    return [new_code_cell(exercise.code)] if exercise.code else []


def _notebook(cells: list[NotebookNode]) -> NotebookNode:
    for position, cell in enumerate(cells):
        cell.id = f"cell-{position:03d}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel})


def address() -> str:
    """The project's address, kept in pyproject.toml alone."""
    written = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return written["project"]["urls"]["repository"]


def export(to: str, out: Path) -> list[Path]:
    """Write one assignment a lesson: NN/NN.ipynb for nbgrader, NN.ipynb for Otter."""
    written = []
    for path in sorted(NOTEBOOKS.glob("[0-9][0-9]_*.ipynb")):
        number = path.name[:2]
        found = exercises.of_lesson(nbformat.read(path, as_version=4).cells)
        if not found:
            continue
        folder = out / number if to == "nbgrader" else out
        folder.mkdir(parents=True, exist_ok=True)
        written.append(folder / f"{number}.ipynb")
        nbformat.write(FORMATS[to](number, found), written[-1])
    return written


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--to", choices=sorted(FORMATS), required=True)
    parser.add_argument("--out", type=Path, required=True, help="the folder to write to")
    chosen = parser.parse_args()
    written = export(chosen.to, chosen.out)
    print(f"Wrote {len(written)} assignments for {chosen.to} to {chosen.out}.")


if __name__ == "__main__":
    main()
