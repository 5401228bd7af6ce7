"""The course's trainings on real photographs: a sweep like the others, whose rows have names.

    table("undefended", "CRL, α_rce = 1")                         # a table that a notebook shows
    accuracy, highest = point("CRL, α_rce = 1")                   # with their intervals
    difference("CRL, α_rce = 1", "RelaxLoss, α = 1", "highest")   # paired

The table is made by `tools/measured.py` from the runs in data/measured/. Introduced in notebook 10.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from IPython.display import Markdown

from mialib.course import sweeps
from mialib.course.plots.spoken import brief
from mialib.course.sweeps import Sweep
from mialib.estimates import Estimate


class Point(NamedTuple):
    """Where a training stands between accuracy and privacy."""

    accuracy: Estimate
    highest: Estimate  # the highest advantage of any attack


@cache
def sweep() -> Sweep:
    """All real runs; `rows[k]["name"]` is what the functions below ask for."""
    return sweeps.load("photographs")


def point(name: str) -> Point:
    """Test accuracy and highest advantage of the training with this name."""
    row = sweep().find(name=name)
    return Point(sweep().accuracy(row), sweep().highest(row))


def difference(name: str, other: str, what: str) -> Estimate:
    """`Sweep.difference` of two trainings by name."""
    return sweep().difference(sweep().find(name=name), sweep().find(name=other), what)


def table(*names: str, level: bool = False) -> Markdown:
    """The trainings with these names, or all, as a table that a notebook shows.

    With `level` it has the sparsity paper's two numbers: the defense level D, and how many
    parameters remain.
    """
    return Markdown(as_text(sweep(), *names, level=level))


def as_text(trainings: Sweep, *names: str, level: bool = False) -> str:
    """The table in Markdown."""
    rows = [trainings.find(name=name) for name in names] or range(len(trainings.rows))
    lines = [_cells(trainings, row, level=level) for row in rows]
    header = list(lines[0])
    body = [list(cells.values()) for cells in lines]
    rule = ["---"] * len(header)
    return "\n".join(_line(cells) for cells in (header, rule, *body))


def _cells(trainings: Sweep, row: int, *, level: bool) -> dict[str, str]:
    """A training's cells by the heading of their column."""
    about = trainings.rows[row]
    advantages = {name: trainings.advantage(row, name).value for name in trainings.attacks}
    cells = {
        "training": about["name"],
        "test accuracy": brief(trainings.accuracy(row)),
        "loss gap": f"{about['loss_gap']:.2f}",
        "highest advantage": brief(trainings.highest(row)),
        "by": max(advantages, key=advantages.__getitem__),
    }
    if level:
        cells["defense level"] = brief(Estimate(**about["defense_level"]), digits=1)
        cells["parameters"] = f"{about['remaining']:.1f} %"
    return cells


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
