"""One training as a point: among the settings of a table, and under a threshold that moves.

    point = Point("λ = 0.001, α = 1.5", found)      # `Results` of one row: one target, one shadow
    point.accuracy, point.highest(), point.evaluation("loss")
    point_among([point], table, undefended=star)    # accuracy against highest advantage
    point_calls(point, "loss", quantile=0.9)        # whom a threshold calls a member
    point_view(point, among, attack="loss", quantile=0.9)       # both, one above the other

Attacks score on scales of their own, so records are drawn by the rank of their score: the share of
all records that score lower. Every rate and every ROC depends on ranks alone, and an attack that
tells nothing gives two flat histograms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase

from mialib import metrics
from mialib.course.figures.records import draw_rates, fill_confusion, frame_confusion
from mialib.course.plots.game import roc_axes, roc_floor
from mialib.course.plots.layers import Layers, axes_of, keep_room_for_titles, moving_title
from mialib.course.plots.palette import COLOR, HATCH, LINE, group
from mialib.course.plots.picture import Picture
from mialib.course.plots.spoken import capital, listed, spoken_points
from mialib.course.plots.tradeoff import Point as Place
from mialib.course.plots.tradeoff import tradeoff
from mialib.errors import check_choice, check_range
from mialib.estimates import Estimate, Evaluation
from mialib.results import Results

YOURS = "yours: one training"
CHOSEN = "chosen, in the table"
# Places in the palette; the second colour is the shadow's, whose threshold is drawn below.
LOOKS = {YOURS: 2, CHOSEN: 3}
BARS = 20
ROOM = 1.7  # height of the axes over the tallest bar: the legend stands above bars and thresholds
WIDTH = 8.3  # of both pictures, in inches
HIGH = 3.4  # the upper one
LOW = 2.9  # the lower one
HIGHEST = {"advantage": "highest advantage", "auc": "highest AUC"}


@dataclass(frozen=True, eq=False)
class Point:
    """One training: what it is called, and what every attack found in it.

    `found` has one row. Scores are its ranks, and a threshold is one of them, found on the shadow.
    """

    name: str
    found: Results
    is_yours: bool = True

    def __post_init__(self):
        if not isinstance(self.found, Results) or len(self.found) != 1:
            raise ValueError("A point is one training: give it Results of one row.")
        if self.found.rows[0].failure:
            raise ValueError(f"A point needs a training that came to an end: {self.failure}")

    @classmethod
    def first_of(cls, name: str, trainings: Results) -> Point:
        """The first training of a setting in a table."""
        finished = trainings.finished()
        return cls(name, finished.seeds([finished.rows[0].seed]), is_yours=False)

    @property
    def failure(self) -> str:
        return self.found.rows[0].failure

    @property
    def origin(self) -> str:
        """Whose training it is, as a title says it."""
        return YOURS if self.is_yours else f"the table's training, seed {self.found.rows[0].seed}"

    @property
    def is_member(self) -> np.ndarray:
        return self.found.is_member

    @cached_property
    def accuracy(self) -> float:
        """On the non-members."""
        return float(self.found.by_seed("accuracy")[0])

    def highest(self, number: str = "advantage") -> float:
        """The highest advantage (or "auc") of any attack."""
        return float(self.found.by_seed("highest", number)[0])

    def scores(self, attack: str) -> np.ndarray:
        """Each record's score, as a rank: (n,), higher = member."""
        return self.found.ranks[0, self._place(attack)]

    def threshold(self, attack: str) -> int:
        """The rank from which on the attack calls a record a member; its shadow chose it."""
        return int(self.found.thresholds[0, self._place(attack)])

    def evaluation(self, attack: str) -> Evaluation:
        """Every number of one attack; the intervals are over records, this training being given."""
        return metrics.evaluate(
            self.scores(attack), self.is_member, threshold=self.threshold(attack)
        )

    def _place(self, attack: str) -> int:
        return self.found.attacks.index(check_choice("attack", attack, self.found.attacks))


class Calls(NamedTuple):
    """Whom a threshold calls members."""

    members: int  # that are called so
    non_members: int
    tpr: float
    fpr: float
    share: float  # of all records that are called so

    @property
    def ppv(self) -> float:
        """The share of members among those that are called so; NaN where nobody is."""
        called = self.members + self.non_members
        return self.members / called if called else float("nan")

    @property
    def advantage(self) -> float:
        return self.tpr - self.fpr

    def spoken(self) -> str:
        return (
            f"TPR {self.tpr:.3f}, FPR {self.fpr:.3f}, PPV {self.ppv:.3f}, "
            f"advantage {self.advantage:z.3f}"
        )


def calls_at(scores: np.ndarray, is_member: np.ndarray, threshold: float) -> Calls:
    """Whom the decision score ≥ threshold calls a member.

    >>> calls_at(np.array([3, 1, 2, 0]), np.array([True, True, False, False]), 2)
    Calls(members=1, non_members=1, tpr=0.5, fpr=0.5, share=0.5)
    """
    tpr, fpr = metrics.rates(scores, is_member, threshold=threshold)
    called = scores >= threshold
    return Calls(
        members=int((called & is_member).sum()),
        non_members=int((called & ~is_member).sum()),
        tpr=tpr,
        fpr=fpr,
        share=float(called.mean()),
    )


def threshold_at(scores: np.ndarray, quantile: float) -> float:
    """The score at this quantile; between two records it is that of the higher one.

    >>> threshold_at(np.array([3, 1, 2, 0]), 0.5)
    2.0
    """
    check_range(0, 1, quantile=quantile)
    return float(np.quantile(scores, quantile, method="higher"))


def quantile_of(scores: np.ndarray, threshold: float) -> float:
    """The share of records that a threshold leaves out."""
    return float((scores < threshold).mean())


def shares_below(scores: np.ndarray) -> np.ndarray:
    """For each record the share of all that score lower, ties counting half: (n,).

    >>> shares_below(np.array([5, 7, 7, 9]))
    array([0.125, 0.5  , 0.5  , 0.875])
    """
    ordered = np.sort(scores)
    lower = np.searchsorted(ordered, scores, side="left")
    not_higher = np.searchsorted(ordered, scores, side="right")
    return (lower + not_higher) / (2 * len(scores))


# Among the others.


def standing_of(trainings: Results, number: str = "advantage") -> Place:
    """Accuracy and highest advantage (or "auc") of one setting, over its trainings."""
    check_choice("number", number, HIGHEST)
    return trainings.accuracy(), trainings.highest(number)


def point_among(
    points: Sequence[Point],
    table: Mapping[str, Place],
    *,
    undefended: Place,
    chosen: str = "",
    number: str = "advantage",
) -> Picture:
    """Test accuracy against highest advantage (or "auc"): a table's settings, and one's own points.

    `table` has `standing_of` each setting by its name; `chosen` is the one that is named in the
    picture. A point has no interval: one training knows nothing of the next.
    """
    check_choice("number", number, HIGHEST)
    series = {"settings of the table": [at for name, at in table.items() if name != chosen]}
    labels = {}
    if chosen in table:
        series[CHOSEN] = [table[chosen]]
        labels[CHOSEN] = [chosen]
    if points:
        series[YOURS] = [
            (Estimate(point.accuracy), Estimate(point.highest(number))) for point in points
        ]
        labels[YOURS] = ["" if point.name == chosen else point.name for point in points]
    series = {name: places for name, places in series.items() if places}
    drawn = tradeoff(
        series,
        undefended=undefended,
        labels=labels,
        unjoined=tuple(series),
        up=HIGHEST[number],
        looks={name: look for name, look in LOOKS.items() if name in series},
    )
    told = {"undefended": undefended} | ({chosen: table[chosen]} if chosen in table else {})
    facts = [f"{name} {spoken_points([at])}" for name, at in told.items()]
    facts += [f"yours, {point.name} ({_spoken_place(point, number)})" for point in points]
    return replace(
        drawn,
        alt=f"Scatter plot of {HIGHEST[number]} (up) against test accuracy (right): "
        f"{len(table)} settings of a table with 95 % intervals; {listed(facts)}.",
        caption=f"{len(table)} settings of the table with 95 % intervals; the star is the "
        "undefended model, and the lower right is best. Your points are one training each.",
        size=(WIDTH, HIGH),
        numbers=_numbers(points, number),
        steady=("point_among", number, bool(points)),
    )


def _spoken_place(point: Point, number: str) -> str:
    return f"{point.accuracy:.2f}, {point.highest(number):z.2f}"


def _numbers(points: Sequence[Point], number: str) -> dict[str, float]:
    numbers = {}
    for point in points:
        numbers[f"{point.name} accuracy"] = point.accuracy
        numbers[f"{point.name} {number}"] = point.highest(number)
    return numbers


# Under a threshold.


def point_calls(point: Point, attack: str, *, quantile: float) -> Picture:
    """What a threshold does to one model, at a quantile of the attack's scores.

    From left to right: members and non-members by rank, the confusion matrix, the ROC on
    logarithmic axes. The threshold that the shadow chose is dashed, and open on the ROC.
    """
    scores = point.scores(attack)
    is_member = point.is_member
    calls = calls_at(scores, is_member, threshold_at(scores, quantile))
    fitted = calls_at(scores, is_member, point.threshold(attack))
    members = int(is_member.sum())
    non_members = len(is_member) - members
    curve = metrics.roc(scores, is_member)
    floor = roc_floor(non_members)

    def still(figure: FigureBase) -> None:
        histogram, table, log = figure.subplots(1, 3, width_ratios=[1.7, 1, 1])
        _draw_ranks(histogram, shares_below(scores), is_member)
        shadow = {"color": COLOR["shadow"], "linestyle": LINE["shadow"]}
        histogram.axvline(1 - fitted.share, ymax=1 / ROOM, **shadow, label="shadow's threshold")
        histogram.legend(loc="upper left", fontsize=9)
        keep_room_for_titles(histogram, lines=2)
        frame_confusion(table)
        log.plot(curve.fpr, curve.tpr, color=COLOR["target"], linestyle=LINE["target"])
        roc_axes(log, True, floor)
        draw_rates(log, max(fitted.fpr, floor), max(fitted.tpr, floor), fitted=True)
        log.set_title("ROC, log axes")

    def moving(figure: FigureBase) -> None:
        histogram, table, log = axes_of(figure)
        histogram.axvline(1 - calls.share, ymax=1 / ROOM, color=COLOR["mark"])
        title = f"{point.name} ({point.origin}), attack: {attack}\n{calls.spoken()}"
        moving_title(histogram, title, fontsize=9)
        fill_confusion(table, calls.tpr, calls.fpr, members, non_members)
        draw_rates(log, max(calls.fpr, floor), max(calls.tpr, floor))

    key = (point.threshold(attack), scores.tobytes())
    layers = Layers("point_calls", still, moving, key=key)
    return Picture(
        layers.draw,
        alt=f"{point.name}, {point.origin}, the attack {attack} at the {quantile:.1%} quantile of "
        "its scores: histograms of members and non-members by rank of their score with the "
        f"threshold as a vertical line, a confusion matrix, and a ROC on logarithmic axes with the "
        f"point {calls.spoken()}. The shadow's own threshold: {fitted.spoken()}.",
        caption=f"{capital(attack)}, {members:,} + {non_members:,} records: of {calls.members:,} + "
        f"{calls.non_members:,} called members, {calls.members:,} are. {calls.spoken()}. Members "
        "blue, non-members orange and hatched; dashed, and open on the ROC: the shadow's own "
        f"threshold ({fitted.spoken()}); dotted: bars of an attack that tells nothing.",
        size=(WIDTH, LOW),
        numbers={
            "tpr": calls.tpr,
            "fpr": calls.fpr,
            "ppv": calls.ppv,
            "advantage": calls.advantage,
            "quantile": quantile,
        },
        layers=layers,
    )


def _draw_ranks(axes: Axes, shares: np.ndarray, is_member: np.ndarray) -> None:
    """Both histograms; the dotted line is where an attack that tells nothing has its bars."""
    edges = np.linspace(0, 1, BARS + 1).tolist()
    for role, chosen in (("member", is_member), ("non_member", ~is_member)):
        style = {"color": COLOR[role], "hatch": HATCH[role], "alpha": 0.55, "edgecolor": "white"}
        some = shares[chosen]
        axes.hist(some, edges, histtype="stepfilled", linewidth=0.3, label=group(role), **style)
    chance = {"color": COLOR["chance"], "linestyle": LINE["chance"], "linewidth": 1.2}
    axes.axhline(is_member.sum() / BARS, **chance)
    _, tallest = axes.get_ylim()
    axes.set(xlim=(0, 1), ylim=(0, ROOM * tallest))
    axes.set(xlabel="share of records that score lower", ylabel="records")


# Both.


@dataclass(frozen=True, eq=False)
class Stacked(Picture):
    """Two pictures, one above the other; on a page two images, so that each is drawn when new."""

    above: Picture = field(kw_only=True)
    below: Picture = field(kw_only=True)

    def as_html(self) -> str:
        return f"{self.above.as_html()}<br>{self.below.as_html()}"

    def as_figure(self) -> str:
        return self.above.as_figure() + self.below.as_figure()


def point_view(point: Point | str, among: Picture, *, attack: str, quantile: float) -> Picture:
    """Above where a setting stands, below what a threshold does to it.

    `among` is a `point_among`. Of a setting that is not trained, give the name in place of a point.
    """
    if isinstance(point, str):
        below = _not_trained(point)
    else:
        below = point_calls(point, attack, quantile=quantile)

    def draw(figure: FigureBase) -> None:
        heights = [among.size[1], below.size[1]]
        upper, lower = figure.subfigures(2, 1, squeeze=False, height_ratios=heights).flat
        among.draw(upper)
        below.draw(lower)

    return Stacked(
        draw,
        alt=f"Above: {among.alt} Below: {below.alt}",
        caption=f"Above: {among.caption} Below: {below.caption}",
        size=(WIDTH, among.size[1] + below.size[1]),
        numbers={**among.numbers, **below.numbers},
        above=among,
        below=below,
    )


def _not_trained(name: str) -> Picture:
    """The place of a model that is not there."""
    sentence = f"Neither the table nor you have trained {name}: press “Train this point”."

    def draw(figure: FigureBase) -> None:
        axes = figure.subplots()
        axes.set_axis_off()
        axes.text(0.5, 0.5, sentence, ha="center", va="center")

    return Picture(draw, alt=sentence, caption=sentence, size=(WIDTH, LOW))
