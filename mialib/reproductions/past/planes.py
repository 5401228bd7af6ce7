"""Accuracy against leakage: Fig. 3, 4, 5, 7 and 8, as curves of defenses by their strength."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isnan, log

from mialib.course import figures
from mialib.course.plots.picture import Picture
from mialib.estimates import Estimate
from mialib.reproductions import arms
from mialib.reproductions.comparing import over_trainings
from mialib.reproductions.items import Evidence, Item, Line, Made
from mialib.reproductions.past.common import (
    LESS_ACCURATE,
    Points,
    Strength,
    apart_at_best,
    apart_at_equal_accuracy,
    intact,
    is_intact,
    least_leak,
    numbers_first,
    told_ruined,
    tunings,
    usual_tuning,
)
from mialib.results import Results

# The attacks of Fig. 3, 4 and 7, by the names that the paper gives them. Its confidence is that of
# the true class, whose ranks are the loss's: what is drawn here is the largest class's.
PANELS = {
    "NN": "neural (PAST)",
    "correctness": "correctness",
    "loss": "loss",
    "confidence": "max confidence",
    "entropy": "entropy",
    "M-entropy": "modified entropy",
    "rotation": "rotation (PAST)",
    "translation": "translation (PAST)",
}
COMPARED = ("PAST", "uniform ℓ1", "RelaxLoss", "AdvReg", "Mixup+MMD")
SIMPLE = ("dropout", "label smoothing", "confidence penalty")
MEAN = "mean of all attacks"
ONE_PANEL = (6.0, 3.4)
WITH_SIMPLE_PLAN = "quick"  # There the simple defenses have a plan and records of their own.
# The plan that has PAST's settings by λ and α.
TUNINGS = {"quick": "past", "cpu": "photographs", "class": "past", "paper": "past"}


# Fig. 3 and 4: defenses side by side.


def fig_3(evidence: Evidence) -> Made:
    """Five defenses, a panel for each attack."""
    found = arms.all_defenses(evidence)
    return _planes(evidence, "past-fig-3", _chosen(found, evidence, COMPARED))


def fig_4(evidence: Evidence) -> Made:
    """The same with the simple defenses; where they have other members, the caption says so."""
    found = arms.all_defenses(evidence)
    chosen = _chosen(found, evidence, (*COMPARED, *SIMPLE))
    if evidence.profile != WITH_SIMPLE_PLAN:
        return _planes(evidence, "past-fig-4", chosen)
    simple = evidence.results("simple")
    others = _chosen(simple, evidence, SIMPLE)
    accuracy = arms.undefended(simple).accuracy()
    told = (
        f"{', '.join(others)}: trained on {int(simple.is_member.sum())} members in place of "
        f"{int(found.is_member.sum())}; without a defense those reach {accuracy.value:.2f}."
    )
    return _planes(evidence, "past-fig-4", chosen | others, told=told)


def _chosen(
    found: Results, evidence: Evidence, names: Iterable[str]
) -> dict[str, tuple[Results, list[Results]]]:
    """Of each family that is there its undefended model, and its settings."""
    there = arms.families(found)
    if "PAST" in there:
        there = at_usual_strength(there, evidence)
    plain = arms.undefended(found)
    return {name: (plain, there[name]) for name in names if there.get(name)}


def at_usual_strength(
    there: dict[str, list[Results]], evidence: Evidence
) -> dict[str, list[Results]]:
    """The families with PAST at the profile's own λ: the paper turns α alone."""
    lam = usual_tuning(evidence).lam
    chosen = [one for one in there["PAST"] if one.rows[0].settings["lam"] == lam]
    return there | {"PAST": chosen}


def _planes(
    evidence: Evidence,
    row: str,
    chosen: Mapping[str, tuple[Results, list[Results]]],
    *,
    told: str = "",
) -> Made:
    found = arms.all_defenses(evidence)
    plain = arms.undefended(found)
    picture = figures.attack_planes(
        {
            name: {panel: _points(settings, attack) for panel, attack in PANELS.items()}
            for name, (_, settings) in chosen.items()
        },
        undefended={panel: _point(plain, attack) for panel, attack in PANELS.items()},
        told=f"{_told_gaps(found, evidence)} {told}".strip(),
    )
    lines = [
        Line(row, f"{name} minus undefended: advantage of the loss", None, _change(*both))
        for name, both in chosen.items()
    ]
    return Made({row: picture}, tuple(lines))


def _change(plain: Results, settings: list[Results]) -> Estimate:
    """The paper's reading: at the undefended model's accuracy or above, who leaks least?"""
    best = least_leak(settings, plain, "advantage", "loss")
    return LESS_ACCURATE if best is None else best.paired(plain, "advantage", "loss")


def _points(settings: list[Results], attack: str) -> Points:
    return [_point(one, attack) for one in settings]


def _point(one: Results, attack: str) -> tuple[Estimate, Estimate]:
    return one.accuracy(), one.advantage(attack)


def _told_gaps(found: Results, evidence: Evidence) -> str:
    """Settings of PAST that have no point, and why: never a zero."""
    lam = usual_tuning(evidence).lam
    missing = [
        f"PAST, α = {at.alpha:g}"
        for at, one in tunings(found).items()
        if at.lam == lam and all(row.failure for row in one.rows)
    ]
    if not missing:
        return ""
    return f"Not drawn, because every training diverged: {'; '.join(missing)}."


# Fig. 5 and 7: ℓ1 and ℓ2, with and without γ.


def fig_5(evidence: Evidence) -> Made:
    """(a) Four penalties by strength. (b) PAST over α, a curve for each λ."""
    found = evidence.results(TUNINGS[evidence.profile])
    pictures = {"past-fig-5a": _penalty_plane(found), "past-fig-5b": _lambda_plane(found)}
    return Made(pictures, (*_lines_of_penalties(found), *_lines_of_lambdas(found, evidence)))


def ways(found: Results) -> dict[str, list[Results]]:
    """The four penalties of Fig. 5a, as far as they were tried; settings by their strength."""
    plain = arms.undefended(found)
    there: dict[str, list[Results]] = {}
    for penalty, sign in (("l1", "ℓ1"), ("l2", "ℓ2")):
        for at, one in intact(tunings(found, penalty=penalty), plain).items():
            there.setdefault(f"{sign} + γ" if at.alpha > 0 else sign, []).append(one)
    order = ("ℓ1 + γ", "ℓ1", "ℓ2 + γ", "ℓ2")
    return {name: _by_accuracy(there[name]) for name in order if name in there}


def _by_accuracy(settings: list[Results]) -> list[Results]:
    return sorted(settings, key=lambda one: one.by_seed("accuracy").mean(), reverse=True)


def _mean_point(one: Results) -> tuple[Estimate, Estimate]:
    return one.accuracy(), one.mean()


def _penalty_plane(found: Results) -> Picture:
    there = ways(found)
    plain = arms.undefended(found)
    missing = "" if "ℓ2" in there else "Tuning with ℓ2 is not part of these results."
    ruined = told_ruined(tunings(found) | tunings(found, penalty="l2"), plain)
    return figures.attack_planes(
        {name: {MEAN: [_mean_point(one) for one in some]} for name, some in there.items()},
        undefended={MEAN: _mean_point(plain)},
        ylabel="mean advantage",
        panel=ONE_PANEL,
        columns=1,
        joined=False,
        told=f"{ruined} {missing}".strip(),
    )


def _lines_of_penalties(found: Results) -> tuple[Line, ...]:
    there = ways(found)
    others = [name for name in ("ℓ1", "ℓ2 + γ", "ℓ2") if name in there]
    by_way = [
        _against("past-fig-5a", f"PAST minus {name}: mean advantage", found, there[name], "mean")
        for name in others
    ]
    return tuple(line for lines in by_way for line in lines)


def _against(
    row: str, what: str, found: Results, controls: list[Results], *number: str
) -> list[Line]:
    """PAST against others in the two ways that are fair to both, as far as each can be had."""
    past = ways(found)["ℓ1 + γ"]
    plain = arms.undefended(found)
    near = apart_at_equal_accuracy(past, controls, *number)
    best = apart_at_best(past, controls, plain, *number)
    lines = [
        Line(row, f"{what}, at equal accuracy", None, near),
        Line(row, f"{what}, each at its best that is as accurate as undefended", None, best),
    ]
    known = [line for line in lines if not isnan(line.own.value)]
    return known or lines[:1]


def _lambda_plane(found: Results) -> Picture:
    plain = arms.undefended(found)
    settings = {at: one for at, one in tunings(found).items() if at.alpha > 0}
    curves: dict[str, dict[str, Points]] = {}
    for at, one in intact(settings, plain).items():
        curves.setdefault(f"λ = {at.lam:g}", {MEAN: []})[MEAN].append(_mean_point(one))
    return figures.attack_planes(
        curves,
        undefended={MEAN: _mean_point(plain)},
        ylabel="mean advantage",
        panel=ONE_PANEL,
        columns=1,
        told=f"Along a curve α grows. {told_ruined(settings, plain)}".strip(),
    )


def _lines_of_lambdas(found: Results, evidence: Evidence) -> tuple[Line, ...]:
    """Within a certain range of λ, the paper says, the curve remains: so at equal accuracy two λ
    leak alike."""
    plain = arms.undefended(found)
    usual = usual_tuning(evidence)
    there = {at: one for at, one in intact(tunings(found), plain).items() if at.alpha > 0}
    lambdas = sorted({at.lam for at in there} - {usual.lam}, key=lambda lam: _far(lam, usual.lam))
    curve = [one for at, one in there.items() if at.lam == usual.lam]
    standard = there.get(Strength(usual.lam, usual.alpha))
    lines = []
    for lam in lambdas:
        what = f"λ = {lam:g} minus λ = {usual.lam:g}: mean advantage"
        settings = [one for at, one in there.items() if at.lam == lam]
        near = apart_at_equal_accuracy(settings, curve, "mean")
        lines.append(Line("past-fig-5b", f"{what}, at equal accuracy", None, near))
        alike = there.get(Strength(lam, usual.alpha))
        if alike is not None and standard is not None:
            apart = alike.paired(standard, "mean")
            lines.append(Line("past-fig-5b", f"{what}, at α = {usual.alpha:g}", None, apart))
    return tuple(numbers_first(lines))


def _far(lam: float, other: float) -> float:
    return abs(log(lam / other))


def fig_7(evidence: Evidence) -> Made:
    """Fig. 5a, a panel for each attack."""
    found = evidence.results(TUNINGS[evidence.profile])
    there = ways(found)
    plain = arms.undefended(found)
    attacks = {panel: attack for panel, attack in PANELS.items() if attack in found.attacks}
    picture = figures.attack_planes(
        {
            name: {panel: _points(some, attack) for panel, attack in attacks.items()}
            for name, some in there.items()
        },
        undefended={panel: _point(plain, attack) for panel, attack in attacks.items()},
        joined=False,
        told="" if "ℓ2" in there else "Tuning with ℓ2 is not part of these results.",
    )
    first = {"loss": attacks["loss"]}
    lines = [
        line
        for panel, attack in (first | attacks).items()
        for line in _against(
            "past-fig-7", f"{panel}: PAST minus ℓ1", found, there["ℓ1"], "advantage", attack
        )
    ]
    return Made({"past-fig-7": picture}, tuple(lines))


# Fig. 8: the loss gap as a penalty.


def fig_8(evidence: Evidence) -> Made:
    """PAST against training on the loss gap itself; also what leaks of the inference set."""
    found = evidence.results("past")
    plain = arms.undefended(found)
    lam = usual_tuning(evidence).lam
    of_past = [
        one for at, one in intact(tunings(found), plain).items() if at.lam == lam and at.alpha > 0
    ]
    of_gap = [one for one in found.where(defense="LossGap").settings() if is_intact(one, plain)]
    both = {"PAST": of_past, "LossGap": of_gap}
    picture = figures.attack_planes(
        {name: _leaks(settings) for name, settings in both.items()},
        undefended={panel: points[0] for panel, points in _leaks([plain]).items()},
        ylabel="advantage",
        panel=(4.0, 3.0),
        columns=2,
        told="Right: how much more often the model is right on the inference set, which both "
        "defenses see in training, than on records that it never saw.",
    )
    apart = apart_at_best(of_past, of_gap, plain, "mean")
    lines = [
        Line(
            "past-fig-8",
            "PAST minus LossGap: mean advantage, each at its best that is as accurate as "
            "undefended",
            None,
            apart,
        )
    ]
    for name, settings in both.items():
        worst = max((inference_leak(one) for one in settings), key=lambda leak: leak.value)
        what = f"{name}: highest advantage of correctness on the inference set"
        lines.append(Line("past-fig-8", what, None, worst))
    return Made({"past-fig-8": picture}, tuple(lines))


def _leaks(settings: list[Results]) -> dict[str, Points]:
    return {
        f"members, {MEAN}": [_mean_point(one) for one in settings],
        "inference set, correctness": [(one.accuracy(), inference_leak(one)) for one in settings],
    }


def inference_leak(one: Results) -> Estimate:
    """The advantage of the correctness attack on the records that a defense may see."""
    parts = [row.accuracy for row in one.rows]
    return over_trainings(accuracy["inference"] - accuracy["test"] for accuracy in parts)


ITEMS = (
    Item(
        name="past-fig-3",
        paper="PAST",
        shows="Five defenses by strength: accuracy against the advantage of each attack",
        data="cifar10",
        plans=arms.PLANS,
        make=fig_3,
    ),
    Item(
        name="past-fig-4",
        paper="PAST",
        shows="Seven defenses and more by strength, on another dataset and a DenseNet",
        data="cifar100_past",
        plans=arms.PLANS | {"quick": (*arms.PLANS["quick"], "simple")},
        make=fig_4,
    ),
    Item(
        name="past-fig-5",
        paper="PAST",
        shows="(a) ℓ1 and ℓ2, with and without adaptive weights; (b) α by λ",
        data="cifar100_past",
        plans={profile: (plan,) for profile, plan in TUNINGS.items()},
        make=fig_5,
    ),
    Item(
        name="past-fig-7",
        paper="PAST",
        shows="ℓ1 and ℓ2, with and without adaptive weights, a panel for each attack",
        data="cifar100_past",
        plans={profile: (plan,) for profile, plan in TUNINGS.items()},
        make=fig_7,
    ),
    Item(
        name="past-fig-8",
        paper="PAST",
        shows="PAST against training on the loss gap; what leaks of the inference set",
        data="cifar10",
        plans={profile: ("past",) for profile in TUNINGS},
        make=fig_8,
    ),
)
