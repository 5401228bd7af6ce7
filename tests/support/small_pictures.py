"""A small picture of every kind that the course draws, and what was handed in to draw it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from mialib.course import differences, figures, plots
from mialib.course.arena import Arena, Contender
from mialib.course.figures.privacy import FPRS
from mialib.course.plots import Picture
from mialib.course.statistics import FeaturePlane
from mialib.epsilon import dp_sgd
from mialib.estimates import Estimate
from mialib.experiments import Results
from mialib.results.edges import EDGES, MARGINS
from mialib.sparsity import chains
from small_results import results

rng = np.random.default_rng(0)
MEMBER = rng.lognormal(-3, 1, 300)
NON_MEMBER = rng.lognormal(-1, 1.5, 200)
SCORES = -np.r_[MEMBER, NON_MEMBER]
IS_MEMBER = np.arange(500) < 300
IMAGES = rng.integers(0, 255, (7, 3, 8, 8))

HALF = Estimate(0.5, 0.4, 0.6)
LESS = Estimate(0.3, 0.2, 0.4)
ROW = [Estimate(0.1, 0.0, 0.2), Estimate(0.3, 0.2, 0.5)]
NOTHING = float("nan")
ACCURACY_AND_ADVANTAGE = {"xlabel": "test accuracy", "ylabel": "advantage"}
POINTS = {
    "letters": {"ℓ1": [(0.6, 0.2), (HALF, HALF)]},
    "paper": {"ℓ1": [(0.3, 0.1)], "ℓ2": [(0.4, 0.2)]},
}

STANDING = {
    "accuracy": 0.5,
    "loss gap": 1.2,
    "loss": 0.6,
    "mean": -0.001,
    "highest": 0.6,
    "AUC": 0.7,
    "TPR at 1 %": 0.02,
    "P1": 0.4,
}
STANDINGS = {"undefended": STANDING, "ℓ1": STANDING | {"highest": 0.3}}
MOVE = figures.Move((HALF, HALF), {"λ = 0": (HALF, LESS), "λ = 1": (LESS, LESS)})

MODULES = {
    "features.0": {"kind": "convolution", "mean": 4.0, "size": 10, "top": 0.4},
    "features.1": {"kind": "normalisation", "mean": 2.0, "size": 5, "top": 0.5},
    "features.3.conv1": {"kind": "convolution", "mean": 1.0, "size": 400, "top": 0.6},
    "features.3.norm1": {"kind": "normalisation", "mean": 1.0, "size": 5, "top": 0.3},
    "classify": {"kind": "linear", "mean": 0.5, "size": 30, "top": 0.45},
}
COUNTS = np.arange(len(EDGES) - 1)

PLACES = np.array([[0.5, 0.0], [0.0, 0.8], [0.0, 0.6]])
LABELS = np.array([0, 1, 1])
CENTERS = np.array([[0.2, 0.0], [0.0, 0.2]])
PULLS = {"in": CENTERS[LABELS] - PLACES, "out": PLACES - CENTERS[LABELS]}
PHASE = figures.Phase(loss=[2.0, 1.2, 0.8, 1.1], below=[0.0, 0.0, 1.0, 0.5], alpha=1.0)
JOINT = {
    figures.Knobs(0.1, 1.0, 0.3): {"test accuracy": 0.6, "L_ct": 0.4},
    figures.Knobs(0.5, 1.0, 1.0): {"test accuracy": 0.5, "L_ct": -0.001},
}
PLANE = FeaturePlane(
    {"member": np.array([[3.0, 4.0]] * 4), "non_member": np.array([[0.6, 0.8]] * 4)},
    {"member": np.array([1.0, 2.0, 3.0, 4.0]), "non_member": np.array([-1.0, 1.0, 2.0, 3.0])},
)
MARGIN_COUNTS = np.histogram([-1.1, 0.1, 2.1, 2.2], MARGINS)[0].tolist()
FAR_OUT = [0] * (len(MARGINS) - 2) + [9]

CURVE = differences.Curves({"as coded": (np.arange(3), np.ones(3))}, "epoch", "loss")
VERSUS = [
    differences.Difference(
        differences.SOURCES["ties"],
        {"as coded": np.full((2, 3), 0.3), "as it should be": np.array([[0.6] * 3, [0.7] * 3])},
        differences.Curves({"as coded": (np.arange(2), np.arange(2))}, "FPR", "TPR", is_roc=True),
    ),
    differences.Difference(
        differences.SOURCES["clamp"],
        {"as printed": np.full((2, 3), 0.2), "as coded": np.array([[0.1] * 3, [0.2] * 3])},
        CURVE,
    ),
    differences.Difference(
        differences.SOURCES["yeom"],
        dict.fromkeys(differences.VARIANTS, np.array([[0.5] * 3, [0.4] * 3])),
        differences.Losses(MEMBER, NON_MEMBER, {"as printed": 0.1, "as coded": 0.5}),
    ),
    differences.Difference(
        differences.SOURCES["twice"],
        dict.fromkeys(differences.VARIANTS, np.array([[0.5] * 3, [0.4] * 3])),
        differences.Dots({"loss": HALF, "entropy\nper class": LESS}, "advantage"),
    ),
]


def with_margins(non_members: list[int]) -> Results:
    """Two trainings, and how far their records lie from the boundary."""
    made = results(np.zeros((2, 1, 2)), [True, False])
    facts = {"margins": {"members": MARGIN_COUNTS, "non_members": non_members}}
    return replace(made, rows=tuple(replace(row, facts=facts) for row in made.rows))


REACHED = {
    "undefended": figures.reach(np.stack([FPRS, FPRS**0.3]), members=1000, non_members=1000),
    "private": figures.reach(FPRS[None], members=1000, non_members=1000),
}
GUARANTEES = {name: dp_sgd(sigma=1.0, sample_rate=0.01, steps=1000) for name in REACHED}
PERCENT = {"counted": [30.1, 20.2, 10.3], "paper": [30.1, 20.0, 10.3]}
LEVEL = (Estimate(0.56, 0.55, 0.57), Estimate(50.0, 46.0, 54.0))
FACTORS = [factor.support().astype(float) for factor in chains.smallest(16, 36, 2)]
PRODUCT = {"R2": FACTORS[1], "R1": FACTORS[0], "W": FACTORS[1] @ FACTORS[0]}


def one_record(loss: float, *, is_member: bool = True) -> Picture:
    return figures.one_record(
        IMAGES[0],
        loss,
        is_member=is_member,
        threshold=0.2,
        member=MEMBER,
        non_member=NON_MEMBER,
        name="an A",
    )


def threshold_view(threshold: float) -> Picture:
    return figures.threshold_view(MEMBER, NON_MEMBER, threshold=threshold)


POINT = figures.Point("λ = 1", results([[SCORES, SCORES]], IS_MEMBER, thresholds=-0.2))


def point_among(*points: figures.Point) -> Picture:
    table = {"λ = 1": (HALF, HALF), "λ = 2": (LESS, LESS)}
    return figures.point_among(points, table, undefended=(HALF, LESS), chosen="λ = 2")


def setting_view(highest: float) -> Picture:
    numbers = {"AUC": 0.7, "TPR at 1 %": 0.02}
    undefended = STANDING | numbers
    standing = undefended | {"loss": highest, "highest": highest}
    weights = {"undefended": COUNTS, "PAST": COUNTS}
    return figures.setting_view(standing, undefended, weights, title="λ = 0.002, α = 1.5")


def epoch_view(epoch: int) -> Picture:
    curves = {"test accuracy": {"PAST": [0.5, 0.3], "λ = 0": [0.5, 0.5]}}
    finished = {"test accuracy": {1: 0.4, 40: 0.6}}
    return figures.epoch_view(curves, epoch=epoch, rate=[0.1, 0.0], finished=finished)


class Part(list):
    """Records, or a parameter, of which only the number counts."""

    def numel(self) -> int:
        return len(self)


def pipeline() -> Picture:
    parts = {"train": Part("abc"), "validation": Part("d"), "test": Part("ef")}
    side = SimpleNamespace(**parts, parts=lambda: parts)
    network = SimpleNamespace(parameters=lambda: [Part("1234567"), Part("12345")])
    sides = {"target": side, "shadow": side}
    return figures.pipeline(sides, {"target": network, "shadow": network}, "discriminator")


def round_view(kept: int) -> Picture:
    mask = np.arange(72).reshape(8, 1, 3, 3) < kept
    shares = {"features.0": float(mask.mean()), "classify": 1.0}
    return figures.round_view(shares, mask, layer="features.0", overall=0.75, title=f"round {kept}")


def defense_plane(**more) -> Picture:
    series = {"IMP": [LEVEL, LEVEL], "narrow": [LEVEL]}
    return figures.defense_plane(series, star=LEVEL, **more)


def network_parameters(at: int, percent: dict = PERCENT) -> Picture:
    layers = ([100, 400, 1600], [100, 200, 300])
    return figures.network_parameters(*layers, percent, at=at, title=f"S = {at}")


# Each entry begins with the name of the function that draws it; what follows says which way.
def small_arena() -> Arena:
    """Three settings of three seeds each: the stronger, the lower the members' scores."""
    is_member = np.arange(200) < 100
    contenders = []
    for place, (defense, strength) in enumerate(
        {"undefended": "", "ℓ1": "λ 1", "ℓ2": "λ 2"}.items()
    ):
        draw = np.random.default_rng(place)
        scores = draw.normal(size=(3, 2, 200)) + is_member * (2 - place / 2)
        correct = draw.random((3, 200)) < 0.6
        trainings = results(scores, is_member, correct=correct)
        details = {"failed": 0, "times": 1.5, "extra": "none", "is_later": False}
        contenders.append(Contender(defense, strength, "small", trainings, **details))
    return Arena("small", tuple(contenders), {}, ())


PICTURES: dict[str, Callable[[], Picture]] = {
    "histograms": lambda: plots.histograms(MEMBER, NON_MEMBER),
    "roc": lambda: plots.roc({"loss": (SCORES, IS_MEMBER)}),
    "comparison": lambda: plots.comparison(
        {"one": {"loss": HALF}, "two": {"loss": HALF, "R": LESS}}, label="AUC", mark="R"
    ),
    "comparison of differences": lambda: plots.comparison(
        {"one": {"loss": Estimate(-1e-9, -0.1, 0.1)}}, label="change", dotted="no difference"
    ),
    "comparison of ratios": lambda: plots.comparison(
        {"one": {"PAST": Estimate(2.2, 1.1, 4.8)}}, label="ratio", chance=1.0, log=True
    ),
    "comparison by role": lambda: plots.comparison(
        {"caught": {"A": HALF}, "accused": {"A": LESS}},
        label="share",
        roles={"caught": "member", "accused": "non_member"},
    ),
    "lines with a mark": lambda: plots.lines(
        [0.01, 0.1, 1], {"PPV": [0.1, 0.2, 0.4]}, xlabel="prior", ylabel="PPV", mark=0.1, log="x"
    ),
    "lines": lambda: plots.lines(
        [1, 2, 3], {"a": [0.1, 0.5, 1.0], "b": [HALF] * 3}, xlabel="epoch", ylabel="gap"
    ),
    "lines with gaps": lambda: plots.lines(
        [1, 2, 3],
        {"late": [NOTHING, 0.5, -1e-9], "never": [NOTHING] * 3},
        xlabel="epoch",
        ylabel="gap",
    ),
    "lines by role": lambda: plots.lines(
        [1, 2, 4],
        {"member": [1, 2, 3], "non_member": [3, 2, 1]},
        xlabel="degrees",
        ylabel="share",
        roles=True,
        log="xy",
        mark=2,
    ),
    "panels": lambda: plots.panels(
        [1, 2],
        {"a": {"one": ROW, "two": [1, 2]}, "b": {"one": ROW}, "c": {"one": [NOTHING, 1]}},
        columns=2,
        xlabel="epoch",
        ylabel="share",
    ),
    "scatter": lambda: plots.scatter(
        POINTS, **ACCURACY_AND_ADVANTAGE, stars={"letters": (HALF, 0.7)}
    ),
    "scatter log": lambda: plots.scatter(
        POINTS, xlabel="pull", ylabel={"letters": "a", "paper": "b"}, log=True
    ),
    "scatter shared": lambda: plots.scatter(
        POINTS, **ACCURACY_AND_ADVANTAGE, columns=3, share=True
    ),
    "tradeoff": lambda: plots.tradeoff(
        {"ℓ1": [(HALF, HALF), (LESS, LESS)]},
        undefended=(HALF, LESS),
        labels={"ℓ1": ["weak", "strong"]},
    ),
    "tradeoff in panels": lambda: plots.tradeoff(
        {"ℓ1": [(HALF, HALF), (LESS, LESS)], "ℓ2": [(LESS, HALF)]},
        undefended=(HALF, LESS),
        labels={"ℓ1": ["weak", "strong"]},
        columns=2,
    ),
    "small_multiples": lambda: plots.small_multiples(threshold_view, threshold=[0.01, 1.0]),
    "images": lambda: figures.images(IMAGES, list("ABCDEFG"), columns=4),
    "images with a caption": lambda: figures.images(
        IMAGES, list("ABCDEFG"), columns=4, caption="Above each image: who drew it."
    ),
    "one_record": lambda: one_record(0.1),
    "one_record of loss 0": lambda: one_record(0.0),
    "threshold_view": lambda: threshold_view(0.2),
    "threshold_view at 0": lambda: threshold_view(0.0),
    "point_among": lambda: point_among(POINT),
    "point_among of nobody": point_among,
    "point_calls": lambda: figures.point_calls(POINT, "loss", quantile=0.9),
    "point_view": lambda: figures.point_view(
        POINT, point_among(POINT), attack="loss", quantile=0.0
    ),
    "point_view of nobody": lambda: figures.point_view(
        "λ = 3", point_among(), attack="loss", quantile=0.5
    ),
    "worlds": lambda: figures.worlds(MEMBER[:20], NON_MEMBER[:20], 0.5, label="scaled score φ"),
    "plane": lambda: figures.plane(small_arena()),
    "plane picked": lambda: figures.plane(small_arena(), number="AUC", defense="ℓ1", strength=0.0),
    "plane without the attack": lambda: figures.plane(small_arena(), attack="LiRA"),
    "accusations": lambda: figures.accusations(MEMBER, NON_MEMBER, threshold=0.1, prior=0.01),
    "duel": lambda: figures.duel(small_arena(), "ℓ1", "ℓ2"),
    "board": lambda: figures.board(STANDINGS),
    "p1_map": lambda: figures.p1_map(
        {"ℓ1": [(0.5, 0.4), (0.6, 0.2)]}, undefended=(0.5, 0.6), labels={"ℓ1": ["0.1", "0.2"]}
    ),
    "moves": lambda: figures.moves({"undefended": MOVE, "AdvReg": MOVE}),
    "sensitivity_by_depth": lambda: figures.sensitivity_by_depth([MODULES], title="After epoch 3"),
    "sensitivity_by_depth of two": lambda: figures.sensitivity_by_depth(
        [MODULES, MODULES], title="At the end", chance=0.44
    ),
    "attack_planes": lambda: figures.attack_planes(
        {"PAST": {"loss": [(HALF, LESS), (Estimate(0.1), LESS)]}, "ℓ1": {"loss": [(LESS, LESS)]}},
        undefended={"loss": (HALF, HALF)},
    ),
    "attack_planes unjoined": lambda: figures.attack_planes(
        {"PAST": {"mean": [(HALF, LESS), (LESS, HALF)]}},
        undefended={"mean": (HALF, HALF)},
        panel=(6.0, 3.0),
        columns=1,
        joined=False,
    ),
    "sensitivity_by_index": lambda: figures.sensitivity_by_index(
        {"epoch 1": [0.1, 0.5, 0.2, 0.0, 0.3], "epoch 9": [0.0, 0.1, 0.4, 0.1, 0.1]}
    ),
    "sensitivity_histograms": lambda: figures.sensitivity_histograms(
        {"normal": [0.1, 0.5, 0.2, 0.0, 0.3], "PAST": [0.0, 0.1, 0.4, 0.1, 0.1]}
    ),
    "batch_spread": lambda: figures.batch_spread(
        {"top 20 %": {"true": [0.5, 0.6], "shuffled": [0.4, 0.5]}}, {"top 20 %": ("all", 0.45)}
    ),
    "gap_paths": lambda: figures.gap_paths(
        {"PAST": [(1.0, 0.5), (0.5, 0.1)], "training": [(0.0, -0.001), (1.2, 0.4), (1.0, 0.5)]}
    ),
    "two_normals": lambda: figures.two_normals(gap=1.0, member=0.5, non_member=1.5, fpr=0.1),
    "fitted_normals": lambda: figures.fitted_normals(np.linspace(0, 1, 50), np.linspace(0, 9, 50)),
    "weight_histograms": lambda: figures.weight_histograms({"undefended": COUNTS, "PAST": COUNTS}),
    "arm_curves": lambda: figures.arm_curves(
        {"Gini": {"PAST": [0.4, 0.5], "λ = 0": [HALF, LESS]}}, x=[0, 1], xlabel="tuning epoch"
    ),
    "setting_view": lambda: setting_view(0.3),
    "epoch_view": lambda: epoch_view(0),
    "labelled_planes": lambda: figures.labelled_planes(
        {
            "letters": {"γ, α = 1": {"0.1": (0.6, 0.2), "0.2": (HALF, HALF), "0.3": (0.5, 0.5)}},
            "paper": {"γ, α as written": {"α = 2": (0.3, 0.1)}, "without γ": [(0.4, 0.2)]},
        },
        xlabel="test accuracy",
        ylabel={"letters": "advantage", "paper": "gap"},
        stars={"letters": (HALF, 0.7)},
        told="Beside the points: λ.",
    ),
    "setting_tables": lambda: figures.setting_tables(
        {
            "gap": {(1e-3, 0.0): 1.0, (1e-3, 1.5): 0.5, (2e-3, 0.0): 0.7},
            "change": {(1e-3, 1.5): Estimate(-0.2, -0.3, -0.1), (2e-3, 0.0): HALF},
            "little": {(1e-3, 1.5): Estimate(-1e-9, -0.1, 0.1)},
        },
        told="Bold: sure.",
    ),
    "scenarios": lambda: figures.scenarios(PLACES, LABELS, CENTERS, PULLS, radius=0.45),
    "phases": lambda: figures.phases({"center loss": PHASE}),
    "joint_sweep": lambda: figures.joint_sweep(JOINT),
    "features": lambda: figures.features({"one": PLANE, "other": PLANE}),
    "margins": lambda: figures.margins(
        {"one": with_margins(MARGIN_COUNTS), "other": with_margins(FAR_OUT)}, columns=3
    ),
    "ceilings": lambda: figures.ceilings(REACHED, GUARANTEES, delta=1e-5),
    "promise": lambda: figures.promise(REACHED, epsilon=1.0, delta=1e-5),
    "pipeline": pipeline,
    "round_view": lambda: round_view(36),
    "defense_plane": defense_plane,
    "defense_plane with slopes": lambda: defense_plane(
        labels={"IMP": ["64 %", "41 %"]}, slopes={"fitted": (-1.0, 56.0, 50.0)}
    ),
    "defense_panels": lambda: figures.defense_panels(
        {"pruned (IMP)": [LEVEL, LEVEL], "dense, narrow": [LEVEL]},
        star=LEVEL,
        labels={"dense, narrow": ["width 2"]},
        columns=2,
    ),
    "slope_fan": lambda: figures.slope_fan(
        [LEVEL, LEVEL],
        star=LEVEL,
        labels=["64 %", ""],
        measured=Estimate(-2.0, -3.0, -1.0),
        printed=-3.25,
    ),
    "labelled_factor": lambda: figures.labelled_factor(chains.Factor(16, 24, 2, 3, 4)),
    "matched_trainings": lambda: figures.matched_trainings(
        {
            "S = 1": {"butterfly": [0.6, 0.7], "dense": [0.2, 0.3]},
            "S = 2\nof 3": {"butterfly": [0.5]},
        },
        label="highest advantage",
        dotted=0.64,
    ),
    "matrix_product": lambda: figures.matrix_product(PRODUCT),
    "matrix_product ruled": lambda: figures.matrix_product(
        PRODUCT, grid=4, title="Sixteen by 36.", height=2.0
    ),
    "network_parameters": lambda: network_parameters(1),
    "network_parameters alone": lambda: network_parameters(3, {"counted": [100.0, 100.0, 100.0]}),
    "effects": lambda: figures.effects(VERSUS),
    "difference_view": lambda: figures.difference_view(VERSUS[0]),
    "difference_view of losses": lambda: figures.difference_view(VERSUS[2], "as coded"),
    "difference_view of dots": lambda: figures.difference_view(VERSUS[3], "as printed"),
    "difference_view of curves": lambda: figures.difference_view(VERSUS[1], "as it should be"),
}
