"""What trained networks say: Fig. 1, the numbers of the text, and WeMem's opposite claim.

IMP has a setting for each round, of which round 0 is the dense network. Butterflies and dense
networks that were stopped early have the same members, so all of them can be compared record by
record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mialib import metrics, papers, profiles
from mialib.course import figures
from mialib.course.plots.picture import Picture
from mialib.course.statistics import mean_difference, spread
from mialib.estimates import Estimate
from mialib.reproductions.comparing import (
    absent,
    aside_accuracy,
    exact,
    is_as_accurate,
    nearest,
    over_trainings,
)
from mialib.reproductions.items import Evidence, Item, Line, Made, MissingEvidenceError
from mialib.reproductions.sparsity.exact import FEWEST, MOST, Butterfly
from mialib.results import Results

Point = tuple[Estimate, Estimate]  # test accuracy, a share, and defense level
PRUNED: dict[str, tuple[str, ...]] = dict.fromkeys(("quick", "cpu", "class", "paper"), ("pruned",))
BOTH = {profile: (*plans, "butterflies") for profile, plans in PRUNED.items()}
BOTH["class"] = ("pruned",)  # That profile trains no butterflies.
SHORT = {"paper": "pruned-short"}
SLOPE = "slope of defense against accuracy"
GAIN = "relative gain of defense by relative loss of accuracy"
SIGNIFICANT = "most nonzero weights of the range with a significant change of defense"
FACTORS = (2, 3)  # of butterflies, as a series each
# In shares of the points' plane: the size of a label, and where its middle lies beside its point,
# of the first series below at the left, of the second above at the right.
LABEL = np.array([0.11, 0.06])
BESIDE = np.array([[-0.06, -0.03], [0.06, 0.04]])
# What WeMem's claim is judged by; a TPR is at 1 % FPR unless told.
LEAKS = {
    "highest advantage": ("highest",),
    "the discriminator's TPR at 1 % FPR": ("tpr", "discriminator"),
    "test accuracy": ("accuracy",),
}


class Networks(NamedTuple):
    """Networks of the same members: the rounds of IMP from the dense one on, and others."""

    rounds: list[Results]
    butterflies: dict[Butterfly, Results]
    stopped: list[Results]

    @property
    def dense(self) -> Results:
        return self.rounds[0]


def networks(evidence: Evidence, plans: Mapping[str, tuple[str, ...]] = BOTH) -> Networks:
    """Those of an item's plans; where the whole pruning is not there, its short variant."""
    pruned = _pruned(evidence)
    settings = [one.finished() for one in pruned.settings() if _has_scores(one)]
    rounds = [one for one in settings if _setting(one, "round") is not None]
    stopped = [one for one in settings if _setting(one, "defense") == "Stop"]
    return Networks(
        sorted(rounds, key=lambda one: _setting(one, "round")),
        _butterflies(evidence) if "butterflies" in plans[evidence.profile] else {},
        stopped,
    )


def _pruned(evidence: Evidence) -> Results:
    try:
        return evidence.results("pruned")
    except MissingEvidenceError:
        if evidence.profile not in SHORT:
            raise
        return evidence.results(SHORT[evidence.profile])


def _butterflies(evidence: Evidence) -> dict[Butterfly, Results]:
    """By S and L, without the dense network among them."""
    experiments = profiles.load(evidence.profile).experiments
    found = {}
    for one in evidence.results("butterflies").settings():
        settings = one.rows[0].settings
        options = experiments[settings["experiment"]].options | settings
        if options.get("segments") and _has_scores(one):
            found[Butterfly(options["segments"], options["factors"])] = one.finished()
    return found


def _has_scores(one: Results) -> bool:
    return not all(row.failure for row in one.rows)


def _setting(one: Results, name: str) -> Any:
    return one.rows[0].settings.get(name)


def remaining(one: Results) -> float:
    """Non-zero parameters in percent of the dense network's."""
    return float(np.mean(one.fact("sparsity", "remaining")))


# Fig. 1.


def fig_1(evidence: Evidence) -> Made:
    """Defense against accuracy: means and standard deviations, and a line."""
    row = "sparsity-fig-1"
    found = networks(evidence)
    lines = []
    if found.butterflies:
        sparse = found.rounds[1:]
        pairs = [(one, nearest(one, sparse, aside_accuracy)) for one in found.butterflies.values()]
        beside = "butterflies minus IMP, nearest in accuracy"
        level = mean_difference(pairs, "defense_level")
        lines.append(Line(row, f"{beside}: defense level D", None, level))
        accuracy = mean_difference(pairs, "accuracy")
        lines.append(Line(row, f"{beside}: test accuracy", None, accuracy))
    lines.append(_slope_line(row, found))
    sparsest = found.rounds[-1]
    what = f"IMP, {remaining(sparsest):.1f} % non-zero, minus dense"
    for name, number in (("defense level D", "defense_level"), ("test accuracy", "accuracy")):
        change = sparsest.paired(found.dense, number)
        lines.append(Line(row, f"{what}: {name}", None, change))
    return Made({row: _plane(found)}, tuple(lines))


def _plane(found: Networks) -> Picture:
    series = {"IMP": found.rounds[1:]}
    for factors in FACTORS:
        some = [one for one in found.butterflies if one.factors == factors]
        if some:
            name = f"butterfly, L = {factors}"
            series[name] = [found.butterflies[one] for one in sorted(some)]
    points = {name: [_point(one) for one in some] for name, some in series.items()}
    picture = figures.defense_plane(
        points,
        star=_point(found.dense),
        labels=_labels(series, points),
        slopes=_drawn_slopes(found),
    )
    return replace(picture, caption=f"{_told_crosses(found)} {_told_percentages(series)}")


def _drawn_slopes(found: Networks) -> dict[str, tuple[float, float, float]]:
    """Lines through the middle of the rounds."""
    middle = _middle(found.rounds)
    slopes = {"IMP here": slope(found.rounds).value, "printed": printed(SLOPE)}
    return {
        f"{name}, slope {value:.2f}".replace("-", "−"): (value, *middle)
        for name, value in slopes.items()
    }


def _labels(
    series: Mapping[str, Sequence[Results]], points: Mapping[str, Sequence[Point]]
) -> dict[str, list[str]]:
    """The percentage beside a point, from the sparsest on, where it does not cover another."""
    places = {
        name: np.array([(100 * accuracy.value, level.value) for accuracy, level in some])
        for name, some in points.items()
    }
    reach = np.maximum(np.ptp(np.concatenate(list(places.values())), axis=0), 1e-9)
    written: list[np.ndarray] = []
    labels = {name: [""] * len(some) for name, some in series.items()}
    for number, (name, some) in enumerate(series.items()):
        for k in reversed(range(len(some))):
            middle = places[name][k] / reach + BESIDE[number % 2]
            if not any((np.abs(middle - other) < LABEL).all() for other in written):
                labels[name][k] = f"{remaining(some[k]):.1f} %"
                written.append(middle)
    return labels


def _told_crosses(found: Networks) -> str:
    trainings = len(found.dense)
    if trainings == 1:
        return "One training of each network, so without deviations. The upper right is best."
    return (
        f"Crosses: mean ± standard deviation of {trainings} trainings, as in the paper. "
        "The upper right is best."
    )


def _told_percentages(series: Mapping[str, Sequence[Results]]) -> str:
    told = [
        f"{name} {', '.join(f'{remaining(one):.1f}' for one in some)}"
        for name, some in series.items()
    ]
    return f"Non-zero parameters in percent, along the lines: {'; '.join(told)}."


def _point(one: Results) -> Point:
    """Accuracy and defense level, mean ± standard deviation."""
    return _spread(one, "accuracy"), _spread(one, "defense_level")


def _spread(one: Results, what: str) -> Estimate:
    values = one.by_seed(what).tolist()
    if len(values) == 1:
        return Estimate(values[0], values[0], values[0])
    return spread(values)


def _middle(settings: Sequence[Results]) -> tuple[float, float]:
    """Mean accuracy in percent, and mean defense level."""
    accuracy = 100 * np.mean([one.by_seed("accuracy").mean() for one in settings])
    level = np.mean([one.by_seed("defense_level").mean() for one in settings])
    return float(accuracy), float(level)


# The numbers of the text.


def quoted(evidence: Evidence) -> Made:
    """Accuracy of the dense network, gain by loss, slope, and where changes are significant."""
    found = networks(evidence)
    lines = (
        _accuracy_line(found),
        *_gain_lines(found),
        _slope_line("sparsity-quoted-slope", found),
        *_significance_lines(found),
    )
    return Made({"sparsity-quoted": _plane(found)}, lines)


def printed(metric: str) -> float:
    value = papers.find("sparsity", item="sparsity-quoted", metric=metric).value
    assert value is not None  # The text has no empty cell.
    return value


def _accuracy_line(found: Networks) -> Line:
    published = papers.find("sparsity", item="sparsity-quoted", metric="test accuracy").share
    what = "test accuracy of the dense network"
    return Line("sparsity-quoted-accuracy", what, published, found.dense.accuracy())


def _slope_line(row: str, found: Networks) -> Line:
    what = "slope of defense level on accuracy, both in percent, over the rounds of IMP"
    return Line(row, what, printed(SLOPE), slope(found.rounds))


def slope(rounds: Sequence[Results]) -> Estimate:
    """Of the least-squares line of defense level on accuracy: one per training, then their mean."""
    seeds = common_seeds(rounds)
    accuracy = 100 * _by_seed(rounds, seeds, "accuracy")
    level = _by_seed(rounds, seeds, "defense_level")
    return over_trainings(
        [float(np.polyfit(*line, 1)[0]) for line in zip(accuracy, level, strict=True)]
    )


def common_seeds(settings: Sequence[Results]) -> list[int]:
    seeds = [{row.seed for row in one.rows} for one in settings]
    return sorted(set.intersection(*seeds))


def _by_seed(settings: Sequence[Results], seeds: Sequence[int], what: str) -> np.ndarray:
    """A number of every setting: (seeds, settings)."""
    return np.stack([one.seeds(seeds).by_seed(what) for one in settings], axis=1)


def _gain_lines(found: Networks) -> list[Line]:
    row = "sparsity-quoted-gain"
    low, high = printed(FEWEST), printed(MOST)
    chosen = [one for one in found.rounds[1:] if low - 0.05 <= remaining(one) <= high + 0.05]
    what = f"relative gain of D by relative loss of accuracy, IMP with {low:g} to {high:g} %"
    if not chosen:
        return [Line(row, what, printed(GAIN), absent(f"no round has {low:g} to {high:g} %"))]
    changes = relative_changes(chosen, found.dense)
    return [
        Line(row, what, printed(GAIN), changes.ratio()),
        Line(row, "relative gain of D, mean of these rounds", None, over_trainings(changes.gain)),
        Line(row, "relative loss of accuracy, the same", None, over_trainings(changes.loss)),
    ]


class RelativeChanges(NamedTuple):
    """By training: how much defense was gained and accuracy lost, as shares of the dense one's."""

    gain: list[float]
    loss: list[float]

    def ratio(self) -> Estimate:
        """Gain by loss; where some training lost no accuracy, of the means and without interval."""
        if min(self.loss) > 0:
            pairs = zip(self.gain, self.loss, strict=True)
            return over_trainings([gain / loss for gain, loss in pairs])
        mean_loss = float(np.mean(self.loss))
        if mean_loss <= 0:
            return absent("no ratio: on average no accuracy was lost")
        ratio = float(np.mean(self.gain)) / mean_loss
        why = "not every training lost accuracy, so without an interval"
        return Estimate(ratio, note=f"{ratio:z.1f} ({why})")


def relative_changes(settings: Sequence[Results], dense: Results) -> RelativeChanges:
    """Means over the settings, for each training."""
    seeds = common_seeds([*settings, dense])
    shares = {}
    for what in ("defense_level", "accuracy"):
        before = _by_seed([dense], seeds, what)  # (seeds, 1)
        after = _by_seed(settings, seeds, what)
        shares[what] = (after / before - 1).mean(axis=1)
    return RelativeChanges(shares["defense_level"].tolist(), (-shares["accuracy"]).tolist())


def _significance_lines(found: Networks) -> list[Line]:
    row = "sparsity-quoted-significance"
    sparse = [*found.rounds[1:], *found.butterflies.values()]
    what = "largest percentage of non-zero parameters with a significant change of D"
    if len(found.dense) < 2:
        why = absent("one training has no standard deviation")
        return [Line(row, what, printed(SIGNIFICANT), why)]
    dense = found.dense.by_seed("defense_level")
    gained = [one for one in sparse if metrics.significant(one.by_seed("defense_level"), dense)]
    largest = absent(f"none of {len(sparse)} sparse networks changes significantly")
    if gained:
        most = max(remaining(one) for one in gained)
        largest = exact(most)
    told = f"sparse networks with a significant change of D, of {len(sparse)}"
    return [
        Line(row, what, printed(SIGNIFICANT), largest),
        Line(row, told, None, exact(len(gained))),
    ]


# WeMem.


def wemem(evidence: Evidence) -> Made:
    """Does iterative pruning make members easier to find?"""
    row = "wemem"
    found = networks(evidence, PRUNED)
    accurate = sparsest_accurate(found)
    called = f"IMP, {remaining(accurate):.1f} % non-zero"
    lines = [
        Line(row, f"{called}, minus dense: {what}", None, change)
        for what, change in _changes(accurate, found.dense).items()
    ]
    pairs = matched(found)
    for what, change in _mean_changes(list(pairs.values())).items():
        told = f"all rounds minus dense networks stopped early, nearest in accuracy: {what}"
        lines.append(Line(row, told, None, change))
    return Made({row: _matched_picture(pairs, found.dense)}, tuple(lines))


def sparsest_accurate(found: Networks) -> Results:
    """The last round that is not less accurate than the dense network; if none, the first."""
    accurate = [one for one in found.rounds[1:] if is_as_accurate(one, found.dense)]
    return accurate[-1] if accurate else found.rounds[1]


def matched(found: Networks) -> dict[str, tuple[Results, Results]]:
    """Each round with the dense network, stopped or not, that is nearest in accuracy."""
    pool = [found.dense, *found.stopped]
    return {
        f"IMP, {remaining(one):.1f} %": (one, nearest(one, pool, aside_accuracy))
        for one in found.rounds[1:]
    }


def _changes(one: Results, other: Results) -> dict[str, Estimate]:
    return {name: one.paired(other, *number) for name, number in LEAKS.items()}


def _mean_changes(pairs: Sequence[tuple[Results, Results]]) -> dict[str, Estimate]:
    return {name: mean_difference(pairs, *number) for name, number in LEAKS.items()}


def _matched_picture(pairs: Mapping[str, tuple[Results, Results]], dense: Results) -> Picture:
    rows = {
        f"{name}\n{_called(other)}": {
            "pruned": one.by_seed("highest").tolist(),
            "nearest dense network": other.by_seed("highest").tolist(),
        }
        for name, (one, other) in pairs.items()
    }
    return figures.matched_trainings(
        rows, label="highest advantage", dotted=float(dense.by_seed("highest").mean())
    )


def _called(one: Results) -> str:
    after = _setting(one, "after")
    return "dense" if after is None else f"stopped after {after}"


FIG_1 = (
    Item(
        name="sparsity-fig-1",
        paper="sparsity",
        shows="Defense against accuracy of pruned networks, butterflies and the dense one",
        data="cifar10",
        plans=BOTH,
        make=fig_1,
        variants=SHORT,
    ),
)
ITEMS = (
    Item(
        name="sparsity-quoted",
        paper="sparsity",
        shows="The text's accuracy, gain by loss, slope and significant proportions",
        data="cifar10",
        plans=BOTH,
        make=quoted,
        variants=SHORT,
    ),
    Item(
        name="wemem",
        paper="WeMem",
        shows="Whether iterative pruning makes members easier to find",
        data="cifar10",
        plans=PRUNED,
        make=wemem,
        variants=SHORT,
    ),
)
