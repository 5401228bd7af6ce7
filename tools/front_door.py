"""Draw the README's picture from shipped results, and write its words beside it.

    python tools/front_door.py

Three panels, one story: a model remembers its members, some records pay for it, and defenses
differ in what they cost. The first two come from the shipped bank of letters, the third from the
shipped trainings on photographs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase

from mialib import attacks, bank, exposure
from mialib.course import headlines
from mialib.course.plots import COLOR, Picture
from mialib.course.plots.palette import HATCH, group
from mialib.estimates import Estimate
from mialib.experiments import results
from mialib.results.tables import Results
from paths import ROOT
from readme import filled

PICTURE = ROOT / "data" / "figures" / "front_door.png"
README = ROOT / "README.md"
TARGET = 0  # the model of the bank whose losses are drawn
FEW = 8  # letters in a row
LETTERS = "ABCDEFGHIJ"
SMALLEST_LOSS = 1e-8  # smaller ones are drawn there
# What is drawn of the photographs, and the name beside the point; the others are grey dots.
SMOOTHED = "label smoothing, ε = 0.3"
DISTILLED = "DMP, τ = 1"
NAMED = {
    "undefended": "undefended",
    SMOOTHED: "label smoothing",
    "RelaxLoss, α = 1": "RelaxLoss",
    "CRL (active), α_rce = 1": "CRL",
    "PAST, α = 1.5, λ = 0.0005": "PAST",
    "uniform ℓ1, λ = 0.004": "uniform ℓ1",
    DISTILLED: "DMP",
}
UNDEFENDED = "undefended"
ACCURACIES = (0.3, 0.68)  # where the plane is cut, so that names have room


Points = dict[str, tuple[Estimate, Estimate]]  # accuracy and highest advantage, by setting


@dataclass(frozen=True, eq=False)
class Exposed:
    """Letters of the bank, and how often each is caught where a model holds it."""

    images: np.ndarray
    labels: np.ndarray
    caught: np.ndarray


@cache
def losses() -> tuple[np.ndarray, np.ndarray]:
    """One model's losses on its members and on non-members."""
    signals = bank.load("letters").signals(TARGET)
    loss = np.maximum(signals.loss(), SMALLEST_LOSS)
    return loss[signals.truth()], loss[~signals.truth()]


@cache
def exposed() -> tuple[Exposed, Exposed]:
    """The most exposed letters, and as many that no model gives away.

    They are picked on one half of the models, and how often they are caught is read on the other.
    """
    letters = bank.load("letters")
    scores = attacks.scores_per_target(letters, attacks.LiRA())
    half = len(letters) // 2
    picked = exposure.risk(scores[:half], letters.is_member[:half])
    read = exposure.risk(scores[half:], letters.is_member[half:])
    never = np.flatnonzero((picked.caught == 0) & (read.caught == 0))
    rows = (picked.most_exposed(FEW), np.random.default_rng(0).choice(never, FEW, replace=False))
    most, none = (Exposed(letters.x[i], letters.labels[i], read.caught[i]) for i in rows)
    return most, none


def picture(trainings: Results) -> Picture:
    """The three panels."""
    member, non_member = losses()
    most, none = exposed()
    named = headlines.by_name(trainings)
    points = {name: (one.accuracy(), one.highest()) for name, one in named.items()}

    def draw(figure: FigureBase) -> None:
        left, middle, right = figure.subfigures(1, 3, width_ratios=[1, 1.05, 1.15])
        draw_losses(left.subplots(), member, non_member)
        draw_letters(middle, most, none)
        draw_plane(right.subplots(), points, attacks=len(trainings.attacks))

    words = Words.of(trainings)
    return Picture(draw, alt=words.alt, caption=words.caption, size=(12.6, 4.1))


class Words(NamedTuple):
    """What is said of the picture; to find it takes less time than to draw it."""

    alt: str
    caption: str

    @classmethod
    def of(cls, trainings: Results) -> Words:
        letters = f"{alt_of_losses()} {alt_of_letters()}"
        alt = f"Three panels. {letters} {alt_of_photographs(trainings)}"
        return cls(alt, f"{caption_of_letters()} {caption_of_photographs(trainings)}")


def alt_of_losses() -> str:
    member, non_member = (np.median(values) for values in losses())
    return (
        f"Left, histograms of one model's loss: members have a median of {member:.4f}, "
        f"non-members of {non_member:.2f}."
    )


def alt_of_letters() -> str:
    most, _ = exposed()
    return (
        f"Middle, {FEW} odd and smudged letters that are caught {most.caught.mean():.0%} of the "
        f"time on average, above {FEW} that are never caught."
    )


def alt_of_photographs(trainings: Results) -> str:
    named = headlines.by_name(trainings)
    plain, smooth, dmp = (named[name].highest().value for name in (UNDEFENDED, SMOOTHED, DISTILLED))
    return (
        "Right, the strongest attack's advantage against accuracy on photographs: undefended "
        f"{plain:.2f}, with label smoothing {smooth:.2f}, with DMP {dmp:.2f}."
    )


def caption_of_letters() -> str:
    models = len(bank.load("letters"))
    return (
        f"Left: how surprised one model is by its {len(losses()[0]):,} letters and by as many "
        f"others (losses below {SMALLEST_LOSS:g} stand at the edge). Middle: whom the attack LiRA "
        f"catches at 1 % false alarms, picked on {models // 2} models and counted on the others."
    )


def caption_of_photographs(trainings: Results) -> str:
    members = int(trainings.is_member.sum())
    others = len(trainings.is_member) - members
    named = headlines.by_name(trainings)
    accuracies = [one.accuracy().value for one in named.values()]
    outside = sum(not ACCURACIES[0] < one < ACCURACIES[1] for one in accuracies)
    failed = sum(bool(row.failure) for row in trainings.rows)
    diverged = f", of which {failed} diverged" if failed else ""
    return (
        f"Right: a small network on CIFAR-10 (n = {members:,} + {others:,}, "
        f"{len(named[UNDEFENDED])} trainings of each setting{diverged}; 95 % intervals over "
        "trainings and records; down is more private, right more accurate; "
        f"{outside} settings lie further left)."
    )


def draw_losses(axes: Axes, member: np.ndarray, non_member: np.ndarray) -> None:
    bins = np.geomspace(SMALLEST_LOSS, 30, 40)
    for name, values in (("member", member), ("non_member", non_member)):
        style = {"color": COLOR[name], "hatch": HATCH[name], "alpha": 0.55}
        axes.hist(values, bins, label=group(name), edgecolor="white", linewidth=0.3, **style)
    axes.set_xscale("log")
    axes.set_xlabel("loss: how surprised is the model?", fontsize=12)
    axes.set_ylabel("records", fontsize=12)
    axes.set_title("It remembers …", fontsize=15, fontweight="bold")
    axes.legend(fontsize=12, loc="upper center")
    axes.tick_params(labelsize=11)


def draw_letters(figure: FigureBase, most: Exposed, none: Exposed) -> None:
    figure.suptitle("… some more than others …", fontsize=15, fontweight="bold")
    rows = figure.subfigures(2, 1)
    words = (f"caught {most.caught.mean():.0%} of the time", "never caught")
    for row, letters, word in zip(rows, (most, none), words, strict=True):
        row.suptitle(word, fontsize=13)
        for axes, image in zip(row.subplots(2, FEW // 2).flat, letters.images, strict=True):
            axes.imshow(image[0], cmap="gray_r")
            axes.set_axis_off()


def draw_plane(axes: Axes, points: Points, *, attacks: int) -> None:
    accuracy, advantage = points[UNDEFENDED]
    axes.axhline(advantage.value, color=COLOR["chance"], linestyle=":", linewidth=1)
    axes.axvline(accuracy.value, color=COLOR["chance"], linestyle=":", linewidth=1)
    for name, (x, y) in points.items():
        if name not in NAMED:
            axes.plot(x.value, y.value, "o", color="#bbbbbb", markersize=5)
            continue
        marker, color = ("*", COLOR["mark"]) if name == UNDEFENDED else ("o", COLOR["target"])
        axes.plot([x.low, x.high], [y.value, y.value], color=color, linewidth=1)
        axes.plot([x.value, x.value], [y.low, y.high], color=color, linewidth=1)
        axes.plot(x.value, y.value, marker, color=color, markersize=16 if marker == "*" else 8)
        to_the_left = x.value <= accuracy.value
        axes.annotate(
            NAMED[name],
            (x.value, y.value),
            xytext=(-12 if to_the_left else 12, 5),
            textcoords="offset points",
            ha="right" if to_the_left else "left",
            fontsize=12,
        )
    axes.set_xlabel("accuracy on new photographs", fontsize=12)
    axes.set_ylabel(f"strongest of {attacks} attacks (advantage)", fontsize=12)
    axes.set(xlim=ACCURACIES, ylim=(-0.02, 1.05))
    axes.set_title("… and defenses differ.", fontsize=15, fontweight="bold")
    axes.tick_params(labelsize=11)


def part(words: Words) -> str:
    """What stands between the README's marks."""
    return f"![{words.alt}]({PICTURE.relative_to(ROOT).as_posix()})\n\n*{words.caption}*"


def main() -> None:
    trainings = results("photographs", "cpu")
    PICTURE.write_bytes(picture(trainings).png)
    text = README.read_text(encoding="utf-8")
    README.write_text(filled(text, door=part(Words.of(trainings))), encoding="utf-8")


if __name__ == "__main__":
    main()
