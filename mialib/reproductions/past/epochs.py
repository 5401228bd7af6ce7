"""Through training and tuning, epoch by epoch: Fig. 1, 2 and 11."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp

import numpy as np
from scipy.stats import norm

from mialib.course import figures, plots
from mialib.course.plots.picture import Picture
from mialib.course.tunings import watched_arms
from mialib.estimates import Estimate
from mialib.reproductions.comparing import SHARE, over_trainings
from mialib.reproductions.items import Evidence, Item, Line, Made
from mialib.reproductions.past.common import (
    by_seed_and_epoch,
    rank_correlation,
)
from mialib.reproductions.past.printed import printed
from mialib.results import Results

CORRELATION = (-1.0, 1.0)
TOP = "share of the sensitivity in the top 20 % of the weights"
LOW = "share of the weights with a sensitivity below 0.1"
# What the largest 20 % of normal numbers carry of the sum of all absolute values.
NORMAL_SHARE = exp(-(norm.ppf(0.9) ** 2) / 2)
# The plan whose network is nearest to the paper's ResNet, of those that ship results.
NETWORK = {"quick": "modules", "cpu": "epochs", "class": "epochs", "paper": "epochs"}
EPOCHS = {profile: ("epochs",) for profile in NETWORK}


# Fig. 1: the loss gap as a proxy, and where its gradient lies.


def fig_1(evidence: Evidence) -> Made:
    """(a) Loss gap and advantage during training. (b) How concentrated the gap's gradient is."""
    training = watched_arms(evidence.results("epochs"))["training"]
    arms = watched_arms(evidence.results(NETWORK[evidence.profile]))
    pictures = {"past-fig-1a": _rise(training), "past-fig-1b": concentration_picture(arms)}
    return Made(pictures, (*_lines_of_rise(training), *lines_of_concentration("past-fig-1b", arms)))


def _rise(training: Sequence[Results]) -> Picture:
    panels = {
        "loss gap": {"training": [one.loss_gap() for one in training]},
        "advantage of the loss": {"training": [one.advantage("loss") for one in training]},
    }
    return figures.arm_curves(panels, x=range(len(training)), xlabel="epoch of training")


def _lines_of_rise(training: Sequence[Results]) -> list[Line]:
    half = len(training) // 2
    what = "rank correlation of loss gap and advantage of the loss over the epochs of training"
    return [
        Line("past-fig-1a", what, None, in_step(training, "loss")),
        Line("past-fig-1a", f"{what}, second half", None, in_step(training[half:], "loss")),
        Line("past-fig-1a", "loss gap after training", None, training[-1].loss_gap()),
        Line("past-fig-1a", "advantage of the loss", None, training[-1].advantage("loss")),
    ]


def in_step(moments: Sequence[Results], attack: str) -> Estimate:
    """How much loss gap and advantage go together from epoch to epoch, in each training."""
    gaps = by_seed_and_epoch(moments, lambda one: one.by_seed("loss_gap"))
    leaks = by_seed_and_epoch(moments, lambda one: one.by_seed("advantage", attack))
    pairs = zip(gaps, leaks, strict=True)
    return over_trainings((rank_correlation(gap, leak) for gap, leak in pairs), limits=CORRELATION)


def concentration_picture(arms: dict[str, list[Results]]) -> Picture:
    """What the top 20 % of all weights carry, at three moments, beside what was printed."""
    found = {name: _top(one) for name, one in _moments(arms).items()}
    value = printed(TOP)
    paper = {"after training": Estimate(value, note=f"{value:.3f}")}
    return plots.comparison(
        {"found here": found, "published": paper},
        label="share of the sensitivity in the top 20 % of the weights",
        chance=NORMAL_SHARE,
        dotted="normal numbers",
    )


def _moments(arms: dict[str, list[Results]]) -> dict[str, Results]:
    moments = {"before training": arms["training"][0], "after training": arms["training"][-1]}
    return moments | {"after tuning by PAST": arms["PAST"][-1]}


def _top(one: Results) -> Estimate:
    return over_trainings(one.fact("sensitivity", "top"), limits=SHARE)


def lines_of_concentration(row: str, arms: dict[str, list[Results]]) -> list[Line]:
    trained = arms["training"][-1]
    below = over_trainings(trained.fact("sensitivity", "below 0.1"), limits=SHARE)
    return [
        Line(row, TOP, printed(TOP), _top(trained)),
        Line(row, LOW, printed(LOW), below),
        Line(row, f"{TOP}, before training", None, _top(arms["training"][0])),
        Line(row, f"{TOP}, of normal numbers", None, exactly(NORMAL_SHARE)),
    ]


def exactly(value: float) -> Estimate:
    """A number that no training decides."""
    return Estimate(value, value, value)


# Fig. 2: what tuning does to the weights and to the gap.


def fig_2(evidence: Evidence) -> Made:
    """(a) Weights before and after. (b) Gini by epoch of tuning. (c) Loss gap by epoch."""
    arms = watched_arms(evidence.results("epochs"))
    tuned = {arm: moments for arm, moments in arms.items() if arm != "training"}
    pictures = {
        "past-fig-2a": _weights(arms),
        "past-fig-2b": _gini(tuned),
        "past-fig-2c": _gap(arms),
    }
    lines = (*_lines_of_weights(arms), *_lines_of_gini(tuned), *_lines_of_gap(arms))
    return Made(pictures, lines)


def _weights(arms: dict[str, list[Results]]) -> Picture:
    ends = {"undefended": arms["training"][-1], "PAST": arms["PAST"][-1]}
    counts = {
        name: np.mean(one.fact("weights", "histogram"), axis=0).tolist()
        for name, one in ends.items()
    }
    return figures.weight_histograms(counts)


def _lines_of_weights(arms: dict[str, list[Results]]) -> list[Line]:
    after = arms["PAST"][-1].fact("weights", "near zero")
    before = arms["PAST"][0].fact("weights", "near zero")
    what = "share of the weights within 0.001 of zero"
    return [
        Line("past-fig-2a", f"{what}: after minus before tuning", None, _change(before, after)),
        Line("past-fig-2a", f"{what}, before", None, over_trainings(before, limits=SHARE)),
        Line("past-fig-2a", f"{what}, after", None, over_trainings(after, limits=SHARE)),
    ]


def _change(before: Sequence[float], after: Sequence[float]) -> Estimate:
    """Of each training, then over trainings."""
    return over_trainings(end - start for start, end in zip(before, after, strict=True))


GINIS = {"Gini, weights shifted by their minimum": "shifted gini", "Gini of |w|": "gini"}


def _gini(tuned: dict[str, list[Results]]) -> Picture:
    panels = {
        title: {arm: _facts(moments, name) for arm, moments in tuned.items()}
        for title, name in GINIS.items()
    }
    steps = range(len(tuned["PAST"]))
    return figures.arm_curves(panels, x=steps, xlabel="epoch of tuning")


def _facts(moments: Sequence[Results], name: str) -> list[Estimate]:
    return [over_trainings(one.fact("weights", name)) for one in moments]


def _lines_of_gini(tuned: dict[str, list[Results]]) -> list[Line]:
    ends = tuned["PAST"][0], tuned["PAST"][-1]
    return [
        Line("past-fig-2b", f"{title}: after minus before tuning", None, _change(*both))
        for title, name in GINIS.items()
        for both in [[one.fact("weights", name) for one in ends]]
    ]


def _gap(arms: dict[str, list[Results]]) -> Picture:
    """Training, then each tuning from where it ended."""
    gaps = {arm: [one.loss_gap() for one in moments] for arm, moments in arms.items()}
    start = len(gaps["training"]) - 1
    x = {arm: np.arange(len(row)) + start * (arm != "training") for arm, row in gaps.items()}
    return figures.arm_curves({"loss gap": gaps}, x=x, xlabel="epoch")


def _lines_of_gap(arms: dict[str, list[Results]]) -> list[Line]:
    trained = arms["training"][-1]
    lines = [
        Line(
            "past-fig-2c",
            f"loss gap: tuned ({arm}) minus trained",
            None,
            arms[arm][-1].paired(trained, "loss_gap"),
        )
        for arm in ("PAST", "uniform ℓ1", "λ = 0")
        if arm in arms
    ]
    return [*lines, Line("past-fig-2c", "loss gap after training", None, trained.loss_gap())]


# Fig. 11: every attack.


def fig_11(evidence: Evidence) -> Made:
    """Loss gap and advantage of every attack during training."""
    training = watched_arms(evidence.results("epochs"))["training"]
    attacks = training[0].attacks
    gaps = np.array([one.by_seed("loss_gap").mean() for one in training])
    panels = {
        attack: {
            "advantage": [one.advantage(attack) for one in training],
            "loss gap / its largest": (gaps / gaps.max()).tolist(),
        }
        for attack in attacks
    }
    picture = plots.panels(
        range(len(training)), panels, columns=3, xlabel="epoch of training", ylabel="value"
    )
    by_attack = {attack: in_step(training, attack) for attack in attacks}
    what = "rank correlation with the loss gap over the epochs"
    lowest = min(by_attack, key=lambda attack: by_attack[attack].value)
    mean = _mean_in_step(training)
    lines = [
        Line("past-fig-11", f"{what}, mean over {len(attacks)} attacks", None, mean),
        Line("past-fig-11", f"{what}, lowest: {lowest}", None, by_attack[lowest]),
    ]
    lines += [
        Line("past-fig-11", f"{what}: {attack}", None, value) for attack, value in by_attack.items()
    ]
    return Made({"past-fig-11": picture}, tuple(lines))


def _mean_in_step(training: Sequence[Results]) -> Estimate:
    """The mean over attacks in each training, then over trainings."""
    gaps = by_seed_and_epoch(training, lambda one: one.by_seed("loss_gap"))
    correlations = []
    for attack in training[0].attacks:
        leaks = by_seed_and_epoch(training, lambda one, name=attack: one.by_seed("advantage", name))
        pairs = zip(gaps, leaks, strict=True)
        correlations.append([rank_correlation(gap, leak) for gap, leak in pairs])
    return over_trainings(np.mean(correlations, axis=0), limits=CORRELATION)


ITEMS = (
    Item(
        name="past-fig-1",
        paper="PAST",
        shows="(a) Loss gap and advantage during training; (b) where the gap's gradient lies",
        data="cifar10",
        plans=EPOCHS | {"quick": ("epochs", "modules")},
        make=fig_1,
    ),
    Item(
        name="past-fig-2",
        paper="PAST",
        shows="(a) Weights before and after tuning; (b) Gini index; (c) loss gap by epoch",
        data="cifar10",
        plans=EPOCHS,
        make=fig_2,
    ),
    Item(
        name="past-fig-11",
        paper="PAST",
        shows="Loss gap and advantage of every attack during training",
        data="cifar10",
        plans=EPOCHS,
        make=fig_11,
    ),
)
