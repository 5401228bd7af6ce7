"""The arena as a plane: every setting by accuracy and leak, who leads, and two side by side.

show(plane(ring, number="AUC", defense="PAST", strength=1.0))
show(duel(ring, "PAST", "RelaxLoss", strength=0.5))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase
from matplotlib.lines import Line2D

from mialib.course import arena as arenas
from mialib.course.arena import Arena, Contender, Match
from mialib.course.plots.charts import comparison
from mialib.course.plots.layers import Layers, axes_of
from mialib.course.plots.palette import COLOR, COLORS
from mialib.course.plots.picture import Picture
from mialib.course.plots.pieces import band_of, draw_dotted_cross, skip_texts_in_layout
from mialib.course.plots.spoken import brief, capital, listed
from mialib.course.plots.tradeoff import write_labels
from mialib.errors import check_range
from mialib.estimates import Estimate

ALL = "all"  # in place of a defense: none is picked out
LEADER = COLORS[0]
PICKED = COLORS[7]
BEHIND = "#9a9a9a"
MARKERS = {  # by the records that a defense needs beside the members
    arenas.NOTHING: "o",
    arenas.NON_MEMBERS: "s",
    arenas.VALIDATION: "^",
    arenas.FURTHER_MEMBERS: "D",
}
EXTRA_WORDS = {
    arenas.NOTHING: "no extra records",
    arenas.NON_MEMBERS: "needs non-members",
    arenas.VALIDATION: "needs validation records",
    arenas.FURTHER_MEMBERS: "learns from non-members",
}
SIZE = (8.2, 5.6)
PLANE_POINTS = (300, 280)  # about the size of the plane, in printer's points
LINE = 0.052  # of the height, for a line of the list
LISTED = 10  # leaders at most, beside the facts of who is picked
LISTED_ALONE = 15
STATE_STYLE = {
    arenas.FRONT: {"color": LEADER, "markersize": 7, "zorder": 4},
    arenas.OPEN: {"markerfacecolor": "white", "markeredgecolor": LEADER},
    arenas.UNSTEADY: {"color": BEHIND, "marker": "x"},
}
STATE_WORDS = {
    arenas.FRONT: "on the front",
    arenas.OPEN: "behind, not clearly",
    arenas.BEATEN: "clearly behind",
    arenas.BEHIND: "behind the front",
    arenas.UNSTEADY: "a training failed",
    arenas.APART: "apart from the rest",
}
OTHER_STYLE = {"color": BEHIND, "alpha": 0.75, "markeredgewidth": 0}


def plane(
    ring: Arena,
    *,
    number: str = "advantage",
    attack: str = arenas.STRONGEST,
    defense: str = ALL,
    strength: float = 1.0,
    states: Mapping[str, str] | None = None,
) -> Picture:
    """Test accuracy (right is better) against a leak (down is better), with the front.

    `defense` picks one out, and `strength` one of its settings, from 0 (the weakest) to 1. `states`
    are those of `arena.front`, which knows the intervals; otherwise the means decide.
    """
    if attack not in (arenas.STRONGEST, *ring.attacks):
        return _nothing(f"{attack} was not asked in {ring.name}.")
    standing = states or arenas.leaders(ring, number, attack)
    leaders = [one for one in ring.contenders if standing[one.name] == arenas.FRONT]
    leaders.sort(key=lambda one: -one.mean())
    family = ring.defenses.get(defense, ())
    picked = _of_strength(family, strength)

    def still(figure: FigureBase) -> None:
        axes, side = figure.subplots(1, 2, width_ratios=(1.45, 1))
        _draw_everyone(axes, ring, standing, number, attack)
        _draw_front(axes, leaders, number, attack)
        axes.set(xlabel="test accuracy", ylabel=_axis_name(number, attack))
        axes.locator_params(nbins=6)
        _list_leaders(side, leaders[: LISTED if family else LISTED_ALONE], len(leaders))
        _explain(figure, ring, standing)
        skip_texts_in_layout(side)
        axes.set_title(f"{ring.name} members")

    def moving(figure: FigureBase) -> None:
        axes, side = axes_of(figure)
        _draw_family(axes, family, picked, number, attack)
        _tell_picked(side, _picked_lines(ring, defense, picked, standing, number, attack))
        skip_texts_in_layout(side)

    places = tuple(_at(one, number, attack) for one in ring.contenders)
    key = (ring.name, number, attack, bool(family), *standing.items(), *places)
    layers = Layers("plane", still, moving, key=key)
    return Picture(
        layers.draw,
        alt=_plane_alt(ring, leaders, picked, number, attack),
        caption=f"Every setting of {ring.name} members by test accuracy and "
        f"{_axis_name(number, attack)}. The line is the front, the star the undefended model; the "
        f"lower right is best.{_crosses(number)}",
        size=SIZE,
        numbers=_plane_numbers(ring, leaders, picked, number, attack),
        layers=layers,
    )


def _of_strength(family: Sequence[Contender], strength: float) -> Contender | None:
    """From 0, the weakest setting, to 1; None where the defense is not there."""
    check_range(0, 1, strength=strength)
    return family[round(strength * (len(family) - 1))] if family else None


def _nothing(sentence: str) -> Picture:
    def draw(figure: FigureBase) -> None:
        axes = figure.subplots()
        axes.set_axis_off()
        axes.text(0.5, 0.5, sentence, ha="center", va="center")

    return Picture(draw, alt=f"An empty plane: {sentence}", caption=sentence, size=SIZE)


def _axis_name(number: str, attack: str) -> str:
    return f"highest {number}" if attack == arenas.STRONGEST else f"{number} of {attack}"


def _at(one: Contender, number: str, attack: str) -> tuple[float, float]:
    return one.mean(), one.mean(number, attack)


def _draw_everyone(
    axes: Axes, ring: Arena, standing: Mapping[str, str], number: str, attack: str
) -> None:
    """Leaders are full and green, beaten ones pale; what is not decided is hollow."""
    groups: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for one in ring.contenders[1:]:
        look = (standing[one.name], one.extra)
        groups.setdefault(look, []).append(_at(one, number, attack))
    for (state, extra), points in groups.items():
        style = {"marker": MARKERS[extra], "markersize": 5.5, "linestyle": "none"}
        axes.plot(*np.transpose(points), **style | STATE_STYLE.get(state, OTHER_STYLE))
    x, y = _at(ring.undefended, number, attack)
    axes.plot(x, y, "*", color=COLOR["mark"], markersize=13, zorder=5)
    draw_dotted_cross(axes, x, y)


def _draw_front(axes: Axes, leaders: Sequence[Contender], number: str, attack: str) -> None:
    """Steps: to the right of a leader's accuracy only the next leader's leak can be had."""
    points = sorted(_at(one, number, attack) for one in leaders)
    x, y = np.transpose(points)
    axes.plot(x, y, color=LEADER, linewidth=1.2, drawstyle="steps-pre", zorder=2)
    places = []
    for one in leaders:
        along, up = _at(one, number, attack)
        places.append((Estimate(along), Estimate(up)))
    axes.margins(0.08)
    axes.autoscale_view()
    texts = [str(place + 1) for place in range(len(leaders))]
    write_labels(axes, texts, places, places, size=PLANE_POINTS)
    if number == "advantage":
        _draw_intervals(axes, leaders, attack)


def _crosses(number: str) -> str:
    """What the caption says of the intervals, which only the advantage has."""
    return " Thin crosses are 95 % intervals of the leaders." if number == "advantage" else ""


def _draw_intervals(axes: Axes, leaders: Sequence[Contender], attack: str) -> None:
    """Thin crosses; where there are few trainings, one may reach beyond the frame."""
    axes.set(xlim=axes.get_xlim(), ylim=axes.get_ylim())
    style = {"color": LEADER, "linewidth": 0.7, "alpha": 0.7, "zorder": 1}
    accuracy = band_of(one.estimate() for one in leaders)
    leak = band_of(one.estimate("advantage", attack) for one in leaders)
    axes.hlines(leak.value, accuracy.low, accuracy.high, **style)
    axes.vlines(accuracy.value, leak.low, leak.high, **style)


def _draw_family(
    axes: Axes, family: Sequence[Contender], picked: Contender | None, number: str, attack: str
) -> None:
    if picked is None:
        return
    rings = {"markerfacecolor": "none", "markeredgecolor": PICKED, "linestyle": "none", "zorder": 6}
    points = [_at(one, number, attack) for one in family]
    axes.plot(*np.transpose(points), "o", markersize=10, **rings)
    axes.plot(*_at(picked, number, attack), "o", markersize=15, markeredgewidth=2.4, **rings)


def _list_leaders(side: Axes, leaders: Sequence[Contender], count: int) -> None:
    """Who they are, and what they cost, from the most accurate on."""
    side.set_axis_off()
    side.set(xlim=(0, 1), ylim=(0, 1), xticks=[], yticks=[])  # Unseen ticks take time too.
    side.text(0, 1, "on the front · times the training", va="top", fontweight="bold", fontsize=9)
    heights: dict[str, list[float]] = {}  # by marker; few calls are quick
    for place, one in enumerate(leaders):
        height = 1 - LINE * (place + 1.3)
        marker = "*" if one.name == arenas.UNDEFENDED else MARKERS[one.extra]
        heights.setdefault(marker, []).append(height - 0.016)
        told = f"{place + 1}  {one.name} · {one.times:.1f}×"
        side.text(0.06, height, told, va="top", fontsize=9)
    for marker, some in heights.items():
        side.plot([0.02] * len(some), some, marker, color=LEADER, markersize=5)
    if count > len(leaders):
        height = 1 - LINE * (len(leaders) + 1.3)
        side.text(0.06, height, f"… and {count - len(leaders)} more", va="top", fontsize=9)


def _picked_lines(
    ring: Arena,
    defense: str,
    picked: Contender | None,
    standing: Mapping[str, str],
    number: str,
    attack: str,
) -> list[str]:
    if defense == ALL:
        return []
    if picked is None:
        return [f"{defense}: not trained here"]
    count = len(picked.trainings)
    ended = f"{count} training{'s' if count > 1 else ''}"
    if picked.failed:
        ended += f", {picked.failed} more failed"
    return [
        picked.name,
        f"accuracy {_told(picked, arenas.ACCURACY, attack)}",
        f"{number} {_told(picked, number, attack)}",
        f"{picked.times:.1f}× the training, {EXTRA_WORDS[picked.extra]}",
        f"{ended}; {STATE_WORDS[standing[picked.name]]}",
    ]


def _told(one: Contender, number: str, attack: str) -> str:
    """With an interval where it is quick to have: that of a curve takes long."""
    if number in (arenas.ACCURACY, "advantage"):
        return brief(one.estimate(number, attack))
    return f"{one.mean(number, attack):.3f}"


def _tell_picked(side: Axes, lines: Sequence[str]) -> None:
    if not lines:
        return
    for place, line in enumerate(lines):
        weight = "normal" if place else "bold"
        height = LINE * (len(lines) - place)
        side.text(0, height, line, va="top", fontsize=9, color=PICKED, fontweight=weight)


def _explain(figure: FigureBase, ring: Arena, standing: Mapping[str, str]) -> None:
    """What markers and fillings mean, of those that are there."""
    handles = []
    for state, words in STATE_WORDS.items():
        if state in standing.values() and state != arenas.APART:
            style = {"marker": "o", "markersize": 6} | STATE_STYLE.get(state, OTHER_STYLE)
            handles.append(Line2D([], [], linestyle="none", label=words, **style))
    there = {one.extra for one in ring.contenders}
    for extra, marker in MARKERS.items():
        if extra in there:
            style = {"marker": marker, "color": COLOR["mark"], "markersize": 5}
            handles.append(Line2D([], [], linestyle="none", label=EXTRA_WORDS[extra], **style))
    style = {"fontsize": 9, "handletextpad": 0.2, "columnspacing": 1.0}
    figure.legend(handles=handles, loc="outside lower center", ncols=4, **style)


def _plane_alt(
    ring: Arena,
    leaders: Sequence[Contender],
    picked: Contender | None,
    number: str,
    attack: str,
) -> str:
    named = {"undefended": ring.undefended} | {one.name: one for one in leaders}
    if picked is not None:
        named[f"picked, {picked.name}"] = picked
    told = []
    for name, one in named.items():
        x, y = _at(one, number, attack)
        told.append(f"{name} ({x:.2f}, {y:.2f}), {one.times:.1f} times the training")
    return (
        f"Scatter plot of {_axis_name(number, attack)} (up) against test accuracy (right) of "
        f"{len(ring.contenders)} settings in {ring.name}, with a stepped line through the front: "
        f"{listed(told)}."
    )


def _plane_numbers(
    ring: Arena,
    leaders: Sequence[Contender],
    picked: Contender | None,
    number: str,
    attack: str,
) -> dict[str, float]:
    named = {"undefended": ring.undefended} | {one.name: one for one in leaders}
    if picked is not None:
        named["picked"] = picked
    numbers: dict[str, float] = {"leaders": len(leaders)}
    for name, one in named.items():
        accuracy, leak = _at(one, number, attack)
        numbers |= {f"{name} accuracy": accuracy, f"{name} leak": leak}
    return numbers


def duel(ring: Arena, first: str, second: str, *, strength: float = 0.5) -> Picture:
    """A setting of the first defense beside the second defense at about the same accuracy."""
    one = _of_strength(ring.defenses.get(first, ()), strength)
    rivals = [other for other in ring.defenses.get(second, ()) if other is not one]
    if one is None or not rivals:
        return _nothing(f"{first} and {second} did not meet in {ring.name}.")
    return match_view(arenas.matched(ring, one.name, second))


def match_view(match: Match) -> Picture:
    """One minus the other, at about the same accuracy: by accuracy and by every attack."""
    rows = {
        "test accuracy": match.minus(arenas.ACCURACY),
        "highest advantage": match.minus("advantage"),
    }
    for attack in match.one.trainings.attacks:
        rows[attack] = match.minus("advantage", attack)
    names = f"{match.one.name}  minus  {match.other.name}"
    how = f"accuracies {abs(match.gap):.3f} apart on the records that matched them"
    if match.trainings == 1:
        how += "; one training, so no intervals"
    if not match.is_close:
        how = f"not well matched: {how}"
    picture = comparison(
        {names: rows},
        label="difference",
        dotted="no difference",
        mark="highest advantage",
        title=f"{names}\n{how}",
    )
    return replace(
        picture,
        alt=f"{capital(how)}. {picture.alt}",
        caption=f"Differences, {names}: accuracy, highest advantage and the advantage of every "
        f"attack, with 95 % intervals; {how}. Left of the dotted line the first has less.",
        numbers=dict(picture.numbers) | {"gap": match.gap},
    )
