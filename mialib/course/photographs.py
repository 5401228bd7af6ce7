"""The course's trainings on real photographs: a sweep like the others, whose rows have names.

    table("undefended", "CRL, α_rce = 1")                         # a table that a notebook shows
    accuracy, highest = point("CRL, α_rce = 1")                   # with intervals, n = 3,000 + 3,000
    difference("CRL, α_rce = 1", "RelaxLoss, α = 1", "highest")   # paired

The table is made by `tools/measured.py` from the runs in data/measured/. Introduced in notebook 10.
"""

from __future__ import annotations

from functools import cache

from mialib.course import sweeps
from mialib.course.sweeps import Sweep
from mialib.estimates import Estimate


@cache
def photographs() -> Sweep:
    return sweeps.load("photographs")


def point(name: str) -> tuple[Estimate, Estimate]:
    """Test accuracy and highest advantage of the training with this name."""
    row = photographs().find(name=name)
    return photographs().accuracy(row), photographs().highest(row)


def difference(name: str, other: str, what: str) -> Estimate:
    """`Sweep.difference` of two trainings by name."""
    return photographs().difference(
        *(photographs().find(name=each) for each in (name, other)), what
    )


def table(*names: str, level: bool = False) -> object:
    """The trainings with these names, or all, as a table that a notebook shows; with the defense `level` if asked."""
    from IPython.display import Markdown

    return Markdown(as_text(photographs(), *names, level=level))


def as_text(sweep: Sweep, *names: str, level: bool = False) -> str:
    """In Markdown. With `level` the sparsity paper's two numbers: how many parameters remain, and D."""
    lines = []
    for row in [sweep.find(name=name) for name in names] or range(len(sweep.rows)):
        facts, said = (
            sweep.rows[row],
            [sweep.advantage(row, attack).value for attack in sweep.attacks],
        )
        cells = {"training": facts["name"], "test accuracy": brief(sweep.accuracy(row))}
        cells |= {
            "loss gap": f"{facts['loss_gap']:.2f}",
            "highest advantage": brief(sweep.highest(row)),
        }
        cells["by"] = sweep.attacks[said.index(max(said))]
        if level:
            cells["defense level"] = brief(Estimate(**facts["defense_level"]), digits=1)
            cells["parameters"] = f"{facts['remaining']:.1f} %"
        lines.append(cells.values())
    return "\n".join(f"| {' | '.join(line)} |" for line in (cells, ["---"] * len(cells), *lines))


def brief(estimate: Estimate, digits: int = 2) -> str:
    return "{:.{d}f} [{:.{d}f}, {:.{d}f}]".format(
        estimate.value, estimate.low, estimate.high, d=digits
    )
