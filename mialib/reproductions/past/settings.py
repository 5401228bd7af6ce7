"""One thing turned at a time: Fig. 6 and 9 (α, epochs, seconds), and P1 in Tables 1 and 2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from mialib.course import figures, plots, statistics
from mialib.course.plots.picture import Picture
from mialib.course.tunings import watched_arms
from mialib.defenses import CRL, AdvReg, MixupMMD, RelaxLoss
from mialib.estimates import Estimate
from mialib.reproductions import arms
from mialib.reproductions.comparing import over_trainings, ratio_over_trainings
from mialib.reproductions.items import Evidence, Item, Line, Made
from mialib.reproductions.past.common import (
    Strength,
    by_seed_and_epoch,
    intact,
    told_ruined,
    tuned_for,
    tunings,
    usual_tuning,
)
from mialib.reproductions.past.planes import TUNINGS
from mialib.reproductions.past.printed import printed
from mialib.results import Results
from mialib.training import Defense

PANELS = {
    "test accuracy": lambda one: one.accuracy(),
    "mean advantage": lambda one: one.mean(),
}
FIRST_EPOCHS = 5  # after which, the paper says, the loss gap is nearly at its minimum
PRINTED_ALPHA = 2.5  # of Table 1


# Fig. 6: α, the length of the tuning, seconds.


def fig_6(evidence: Evidence) -> Made:
    """(a) α. (b) Epochs of tuning. (c) Seconds of every method, plain training = 1."""
    found = evidence.results(TUNINGS[evidence.profile])
    by_alpha = alphas(found, evidence)
    lengths = _lengths(found, evidence)
    seconds = relative_seconds(evidence)
    plain = arms.undefended(found)
    pictures = {
        "past-fig-6a": told(_curves(by_alpha, plain, "α"), _told_alphas(found, evidence)),
        "past-fig-6b": told(_curves(lengths.settings, lengths.plain, lengths.label), lengths.told),
        "past-fig-6c": _seconds_picture(seconds),
    }
    lines = (
        *_ends("past-fig-6a", by_alpha, plain, "α", "mean", "accuracy"),
        *_ends("past-fig-6b", lengths.settings, lengths.plain, lengths.label, "mean", "accuracy"),
        *_lines_of_seconds(seconds),
    )
    return Made(pictures, lines)


def told(picture: Picture, sentence: str) -> Picture:
    """The same picture with one more sentence in its caption."""
    caption = f"{picture.caption} {sentence}".strip()
    return Picture(picture.draw, picture.alt, caption, picture.size, picture.numbers)


def alphas(found: Results, evidence: Evidence) -> dict[float, Results]:
    """PAST at the profile's λ by its α, where no training was ruined."""
    there = intact(_of_usual_lam(found, evidence), arms.undefended(found))
    return {at.alpha: one for at, one in there.items()}


def _of_usual_lam(found: Results, evidence: Evidence) -> dict[Strength, Results]:
    lam = usual_tuning(evidence).lam
    return {at: one for at, one in tunings(found).items() if at.lam == lam}


def _told_alphas(found: Results, evidence: Evidence) -> str:
    """Which λ it is, how many α were tried, and which of them have no point."""
    tried = _of_usual_lam(found, evidence)
    lam = usual_tuning(evidence).lam
    ruined = told_ruined(tried, arms.undefended(found))
    return f"λ = {lam:g}; values of α that were tried: {len(tried)}. {ruined}".strip()


class Lengths(NamedTuple):
    """PAST by how long it was tuned, and what it is compared with: asked by the same attacks."""

    settings: dict[float, Results]
    plain: Results
    label: str
    told: str


def _lengths(found: Results, evidence: Evidence) -> Lengths:
    """Tunings that were planned to last so long; where there is one length, its single epochs."""
    usual = usual_tuning(evidence)
    planned = tuned_for(found, Strength(usual.lam, usual.alpha))
    if len(planned) > 1:
        sentence = "Every run was planned to end there."
        return Lengths(planned, arms.undefended(found), "epochs of tuning", sentence)
    moments = watched_arms(evidence.results("epochs"))
    by_epoch = {float(epoch): one for epoch, one in enumerate(moments["PAST"])}
    attacks = len(moments["PAST"][0].attacks)
    sentence = f"One tuning, asked by {attacks} attacks after each of its epochs."
    return Lengths(by_epoch, moments["training"][-1], "epoch of tuning", sentence)


def _curves(settings: Mapping[float, Results], plain: Results, xlabel: str) -> Picture:
    panels = {
        title: {
            "undefended": [ask(plain)] * len(settings),
            "PAST": [ask(one) for one in settings.values()],
        }
        for title, ask in PANELS.items()
    }
    return figures.arm_curves(panels, x=list(settings), xlabel=xlabel)


SPOKEN = {"mean": "mean advantage", "accuracy": "test accuracy", "loss_gap": "loss gap"}


def _ends(
    row: str, settings: Mapping[float, Results], plain: Results, label: str, *numbers: str
) -> list[Line]:
    """The last setting minus the first; where there is one alone, minus the undefended model."""
    first = min(settings)
    last = max(settings)
    start = settings[first] if first != last else plain
    named = f"{label} {first:g}" if first != last else "undefended"
    return [
        Line(
            row,
            f"{SPOKEN[what]}: {label} {last:g} minus {named}",
            None,
            settings[last].paired(start, what),
        )
        for what in numbers
    ]


def relative_seconds(evidence: Evidence) -> dict[str, Estimate]:
    """What each defense took to train over what plain training took, seed by seed."""
    found = arms.all_defenses(evidence)
    plain = {row.seed: row.seconds for row in arms.undefended(found).rows}
    return {
        name: ratio_over_trainings(_ratios(settings, plain).values())
        for name, settings in arms.families(found).items()
    }


def _ratios(settings: Sequence[Results], plain: Mapping[int, float]) -> dict[int, float]:
    """The mean over the strengths of a defense, by seed."""
    by_seed: dict[int, list[float]] = {}
    for one in settings:
        for row in one.rows:
            by_seed.setdefault(row.seed, []).append(row.seconds / plain[row.seed])
    return {seed: float(np.mean(ratios)) for seed, ratios in by_seed.items()}


def _seconds_picture(seconds: Mapping[str, Estimate]) -> Picture:
    picture = plots.comparison(
        {"found here": seconds},
        label="seconds of training, plain training = 1",
        chance=1.0,
        dotted="plain training",
        log=True,
    )
    return told(
        picture,
        "Means over the strengths of a defense. PAST and uniform ℓ1 have the training before the "
        "tuning in it. Other work on the same machine makes the intervals wide.",
    )


def _lines_of_seconds(seconds: Mapping[str, Estimate]) -> list[Line]:
    names = {"item": "past-fig-6", "metric": "training time"}
    paper = printed(**names, method="Past") / printed(**names, method="Plain")
    return [
        Line(
            "past-fig-6c",
            f"{name}: seconds over those of plain training",
            paper if name == "PAST" else None,
            value,
        )
        for name, value in seconds.items()
    ]


# Fig. 9: the loss gap.


def fig_9(evidence: Evidence) -> Made:
    """(a) The loss gap by α. (b) The loss gap by epoch of tuning."""
    found = evidence.results(TUNINGS[evidence.profile])
    plain = arms.undefended(found)
    by_alpha = alphas(found, evidence)
    moments = {
        arm: some
        for arm, some in watched_arms(evidence.results("epochs")).items()
        if arm != "training"
    }
    gaps = {
        "undefended": [plain.loss_gap()] * len(by_alpha),
        "PAST": [one.loss_gap() for one in by_alpha.values()],
    }
    by_alpha_picture = figures.arm_curves({"loss gap": gaps}, x=list(by_alpha), xlabel="α")
    by_epoch = {arm: [one.loss_gap() for one in some] for arm, some in moments.items()}
    steps = range(len(moments["PAST"]))
    pictures = {
        "past-fig-9a": told(by_alpha_picture, _told_alphas(found, evidence)),
        "past-fig-9b": figures.arm_curves(
            {"loss gap": by_epoch}, x=steps, xlabel="epoch of tuning"
        ),
    }
    lines = (
        *_ends("past-fig-9a", by_alpha, plain, "α", "loss_gap"),
        *_lines_of_fall(moments["PAST"]),
    )
    return Made(pictures, lines)


def _lines_of_fall(moments: Sequence[Results]) -> list[Line]:
    """How much of the fall is over after a few epochs: 1 where the gap is at its minimum."""
    gaps = by_seed_and_epoch(moments, lambda one: one.by_seed("loss_gap"))
    fall = gaps[:, 0] - gaps.min(axis=1)
    early = gaps[:, 0] - gaps[:, FIRST_EPOCHS]
    return [
        Line(
            "past-fig-9b",
            f"share of the loss gap's largest fall that is reached after {FIRST_EPOCHS} epochs",
            None,
            over_trainings(early / fall),
        ),
        Line(
            "past-fig-9b",
            "epoch of tuning at which the loss gap is lowest",
            printed("tuning epochs until the loss gap is nearly at its minimum", item="past-fig-9"),
            over_trainings(gaps.argmin(axis=1)),
        ),
    ]


# Table 1: P1 by dataset.


class Compared(NamedTuple):
    """A dataset's undefended model and its PAST; `ruined` has the λ at which the paper's α
    ruins a training."""

    plain: Results
    past: Results
    strength: Strength
    ruined: list[float]


# The experiment that says how a dataset is tuned, by the plan that has its results.
TUNED = {"past": "images tuned", "photographs": "images tuned", "baskets": "baskets tuned"}
TABLE_1 = {
    "quick": ("past", "baskets"),
    "cpu": ("photographs",),
    "class": ("past", "baskets"),
    "paper": ("past", "baskets"),
}
# What the paper calls the datasets, and what they stand in for.
PAPER_DATASETS = {"images tuned": "cifar10", "baskets tuned": "purchase100"}


def table_1(evidence: Evidence) -> Made:
    """P1 of PAST and of the undefended model, by dataset."""
    datasets = {}
    for plan in TABLE_1[evidence.profile]:
        found = evidence.results(plan)
        datasets[TUNED[plan]] = _compared(found, usual_tuning(evidence, TUNED[plan]).lam)
    series = {
        "undefended": {_dataset(one): one.plain.p1() for one in datasets.values()},
        "PAST": {_dataset(one): one.past.p1() for one in datasets.values()},
    }
    picture = plots.comparison(series, label="P1", dotted="the worst P1")
    lines = [line for name, one in datasets.items() for line in _lines_of_dataset(name, one)]
    return Made({"past-table-1": picture}, tuple(lines))


def _compared(found: Results, lam: float) -> Compared:
    """PAST at this λ and the paper's α, or at the nearest α that ruins no training."""
    plain = arms.undefended(found)
    tried = tunings(found)
    there = {at: one for at, one in intact(tried, plain).items() if at.lam == lam}
    strength = min(there, key=lambda at: abs(at.alpha - PRINTED_ALPHA))
    as_printed = {at: one for at, one in tried.items() if at.alpha == PRINTED_ALPHA}
    ruined = [at.lam for at in as_printed if at not in intact(as_printed, plain)]
    return Compared(plain, there[strength], strength, ruined)


def _dataset(one: Compared) -> str:
    return one.plain.about["data"]


def _lines_of_dataset(name: str, one: Compared) -> list[Line]:
    names = {"item": "past-table-1", "metric": "P1 score", "dataset": PAPER_DATASETS[name]}
    past = printed(**names, method="Past")
    plain = printed(**names, method="Plain")
    at = f"λ = {one.strength.lam:g}, α = {one.strength.alpha:g}"
    if one.strength.alpha != PRINTED_ALPHA:
        strengths = ", ".join(f"{lam:g}" for lam in one.ruined)
        ruined = f"λ = {strengths}" if strengths else "no λ that was tried"
        at += f"; α = {PRINTED_ALPHA:g} ruins a training at {ruined}"
    data = _dataset(one)
    change = one.past.paired(one.plain, "p1")
    return [
        Line("past-table-1", f"{data}: P1 of PAST minus undefended ({at})", past - plain, change),
        Line("past-table-1", f"{data}: P1 undefended", plain, one.plain.p1()),
        Line("past-table-1", f"{data}: P1 of PAST", past, one.past.p1()),
    ]


# Table 2: PAST on top of defended models.

# The plan of the models that PAST starts from, then the plan of the tunings.
ON_TOP = {"quick": ("relaxed", "learned")} | dict.fromkeys(
    ("cpu", "class", "paper"), ("photographs", "ontop")
)
STARTS_OF_PHOTOGRAPHS = (
    RelaxLoss(alpha=1.0),
    CRL(alpha_rce=1.0, lam=0.3, center_lr=0.5),
    AdvReg(alpha=1.0),
)
STARTS: Mapping[str, tuple[Defense, ...]] = {
    "quick": (
        RelaxLoss(alpha=0.5),
        CRL(alpha_rce=0.5),
        AdvReg(alpha=1.0),
        MixupMMD(lam=3.0),
    ),
} | dict.fromkeys(("cpu", "class", "paper"), STARTS_OF_PHOTOGRAPHS)


def table_2(evidence: Evidence) -> Made:
    """P1 before and after tuning models that were trained with another defense."""
    starts = _starts(evidence)
    on_top = evidence.results(ON_TOP[evidence.profile][-1])
    tuned = {
        name: {
            one.rows[0].settings["lam"]: one.finished()
            for one in on_top.where(defense="Past", after=name).settings()
        }
        for name in starts
    }
    picture = figures.moves(
        {
            name: figures.Move(
                _leak(start), {f"λ = {lam:g}": _leak(one) for lam, one in tuned[name].items()}
            )
            for name, start in starts.items()
        }
    )
    return Made({"past-table-2": picture}, tuple(_lines_of_starts(starts, tuned)))


def _starts(evidence: Evidence) -> dict[str, Results]:
    """The defended models that the plan tunes on, by the name of their defense."""
    first, second = (evidence.results(plan) for plan in ON_TOP[evidence.profile])
    found = first.joined(second)
    return {
        type(defense).__name__: found.find(defense=type(defense).__name__, **vars(defense))
        for defense in STARTS[evidence.profile]
    }


def _leak(one: Results) -> tuple[Estimate, Estimate]:
    return one.accuracy(), one.highest()


def _lines_of_starts(
    starts: Mapping[str, Results], tuned: Mapping[str, Mapping[float, Results]]
) -> list[Line]:
    lines = []
    strengths = sorted(next(iter(tuned.values())), reverse=True)
    for lam in strengths:
        pairs = [(tuned[name][lam], start) for name, start in starts.items()]
        what = f"P1 after tuning (λ = {lam:g}) minus before, mean over {len(pairs)} defenses"
        lines.append(Line("past-table-2", what, None, statistics.mean_difference(pairs, "p1")))
    for name, start in starts.items():
        for lam in strengths:
            what = f"{name}: P1 after tuning (λ = {lam:g}) minus before"
            change = tuned[name][lam].paired(start, "p1")
            lines.append(Line("past-table-2", what, None, change))
    return lines


def _joined(first: Mapping[str, tuple[str, ...]], *others: str) -> dict[str, tuple[str, ...]]:
    """The plans of each profile and these, each once."""
    return {profile: tuple(dict.fromkeys((*plans, *others))) for profile, plans in first.items()}


ITEMS = (
    Item(
        name="past-fig-6",
        paper="PAST",
        shows="(a) α; (b) epochs of tuning; (c) seconds of each method",
        data="cifar100_past",
        plans={
            "quick": arms.PLANS["quick"],
            "cpu": ("photographs", "epochs"),
            "class": ("photographs", "past"),
            "paper": ("photographs", "past"),
        },
        make=fig_6,
    ),
    Item(
        name="past-fig-9",
        paper="PAST",
        shows="The loss gap by (a) α and (b) epoch of tuning",
        data="cifar10",
        plans=_joined({profile: (plan,) for profile, plan in TUNINGS.items()}, "epochs"),
        make=fig_9,
    ),
    Item(
        name="past-table-1",
        paper="PAST",
        shows="P1 of PAST and of the undefended model, by dataset",
        data="cifar10",
        plans=TABLE_1,
        make=table_1,
    ),
    Item(
        name="past-table-2",
        paper="PAST",
        shows="P1 of PAST on top of defended models",
        data="cifar10",
        plans=ON_TOP,
        make=table_2,
    ),
)
