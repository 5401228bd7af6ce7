"""The numbers of PAST's text: the sensitivity's concentration, the advantage, the migration."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

from mialib.course import plots
from mialib.course.plots.picture import Picture
from mialib.course.tunings import watched_arms
from mialib.estimates import Estimate
from mialib.reproductions import arms
from mialib.reproductions.items import Evidence, Item, Line, Made
from mialib.reproductions.past.common import (
    LESS_ACCURATE,
    apart_at_best,
    least_leak,
    numbers_first,
)
from mialib.reproductions.past.epochs import LOW, NETWORK, TOP, lines_of_concentration
from mialib.reproductions.past.planes import at_usual_strength
from mialib.reproductions.past.printed import printed
from mialib.reproductions.past.sensitivity import LAST, lines_of_means
from mialib.results import Results

ADVANTAGE = "advantage of loss"
AT = "at the undefended accuracy"
# Short names of the lines that have a published number, for the picture.
SHOWN = {
    "carried by the top 20 %": TOP,
    "weights below 0.1": LOW,
    "advantage, PAST": f"advantage of the loss: PAST, {AT}",
    "advantage, Mixup+MMD": f"advantage of the loss: Mixup+MMD, {AT}",
    "last layer, PAST / normal": f"{LAST}: PAST over normal",
}
METHODS = {"PAST": "Past", "Mixup+MMD": "MixupMMD"}  # by the names that the numbers have


def quoted(evidence: Evidence) -> Made:
    """What the text says, beside what was found here."""
    moments = watched_arms(evidence.results(NETWORK[evidence.profile]))
    lines = (
        *lines_of_concentration("past-quoted-concentration", moments),
        *_lines_of_advantage(evidence),
        *lines_of_means("past-quoted-sensitivity", moments),
    )
    return Made({"past-quoted": _picture(lines)}, lines)


def _picture(lines: Sequence[Line]) -> Picture:
    """What was printed beside what was found; the lines that have no number are left out."""
    by_what = {line.what: line for line in lines}
    shown = {label: by_what[what] for label, what in SHOWN.items()}
    known = {label: line for label, line in shown.items() if not isnan(line.own.value)}
    return plots.comparison(
        {
            "found here": {label: line.own for label, line in known.items()},
            "published": {label: _as_printed(line.published) for label, line in known.items()},
        },
        label="share, advantage or ratio",
        dotted="zero",
    )


def _as_printed(value: float | None) -> Estimate:
    assert value is not None
    return Estimate(value, note=f"{value:.3g}")


def _lines_of_advantage(evidence: Evidence) -> list[Line]:
    """PAST against Mixup+MMD, each where it leaks least at the undefended model's accuracy."""
    found = arms.all_defenses(evidence)
    plain = arms.undefended(found)
    there = at_usual_strength(arms.families(found), evidence)
    past = there["PAST"]
    other = there["Mixup+MMD"]
    paper = {name: printed(ADVANTAGE, method=method) for name, method in METHODS.items()}
    row = "past-quoted-advantage"
    lines = [
        Line(
            row,
            f"advantage of the loss, PAST minus Mixup+MMD, {AT}",
            paper["PAST"] - paper["Mixup+MMD"],
            apart_at_best(past, other, plain, "advantage", "loss"),
        ),
        Line(row, f"advantage of the loss: PAST, {AT}", paper["PAST"], _least(past, plain)),
        Line(
            row,
            f"advantage of the loss: Mixup+MMD, {AT}",
            paper["Mixup+MMD"],
            _least(other, plain),
        ),
        Line(row, "advantage of the loss: undefended", None, plain.advantage("loss")),
    ]
    return numbers_first(lines)


def _least(settings: list[Results], plain: Results) -> Estimate:
    best = least_leak(settings, plain, "advantage", "loss")
    return LESS_ACCURATE if best is None else best.advantage("loss")


def _plans() -> dict[str, tuple[str, ...]]:
    return {
        profile: tuple(dict.fromkeys((plan, *arms.PLANS[profile])))
        for profile, plan in NETWORK.items()
    }


ITEMS = (
    Item(
        name="past-quoted",
        paper="PAST",
        shows="The numbers of the text: 89.27 %, 97 %, 14.8 % to 5.2 %, 0.0223 to 0.0088",
        data="cifar10",
        plans=_plans(),
        make=quoted,
    ),
)
