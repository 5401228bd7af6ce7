"""A small picture of every kind that the course draws, and what was handed in to draw it."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np

from mialib.course import figures, plots
from mialib.course.plots import Picture
from mialib.course.statistics import FeaturePlane
from mialib.course.sweeps import EDGES, FPRS, MARGINS, Sweep
from mialib.estimates import Estimate
from mialib.sparsity import chains

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
    "P1": 0.4,
}
STANDINGS = {"undefended": STANDING, "ℓ1": STANDING | {"highest": 0.3}}
CHANGES = {"ℓ1": {"loss": Estimate(0.2, 0.1, 0.3), "entropy": Estimate(-0.1, -0.3, 0.1)}}
TRIO = ((HALF, HALF), (HALF, LESS), (LESS, LESS))

MODULES = {
    "features.0": {"kind": "convolution", "mean": 4.0, "size": 10, "top": 0.4},
    "features.1": {"kind": "normalisation", "mean": 2.0, "size": 5, "top": 0.5},
    "features.3.conv1": {"kind": "convolution", "mean": 1.0, "size": 40, "top": 0.6},
    "features.3.norm1": {"kind": "normalisation", "mean": 1.0, "size": 5, "top": 0.3},
    "classify": {"kind": "linear", "mean": 0.5, "size": 30, "top": 0.45},
}
COUNTS = np.arange(len(EDGES) - 1)

PLACES = np.array([[0.5, 0.0], [0.0, 0.8], [0.0, 0.6]])
LABELS = np.array([0, 1, 1])
CENTERS = np.array([[0.2, 0.0], [0.0, 0.2]])
PULLS = {"in": CENTERS[LABELS] - PLACES, "out": PLACES - CENTERS[LABELS]}
PHASE = figures.Phase(loss=[2.0, 1.2, 0.8, 1.1], below=[0.0, 0.0, 1.0, 0.5], alpha=1.0)
CELLS = {"λ": {(0.5, 0.0): (0.6, 0.4), (1.0, 0.1): (0.5, 0.2)}, "τ": {(0.5, 0.0): (0.6, -0.001)}}
PLANE = FeaturePlane(
    {"member": np.array([[3.0, 4.0]] * 4), "non_member": np.array([[0.6, 0.8]] * 4)},
    {"member": np.array([1.0, 2.0, 3.0, 4.0]), "non_member": np.array([-1.0, 1.0, 2.0, 3.0])},
)
MARGIN_COUNTS = np.histogram([-1.1, 0.1, 2.1, 2.2], MARGINS)[0].tolist()
FAR_OUT = [0] * (len(MARGINS) - 2) + [9]

CURVES = {"undefended": np.sqrt(FPRS), "private": FPRS}
DOTS = {"undefended": [(0.1, 0.5), (0.3, 0.4), (0.2, 0.9)], "private": [(0.1, 0.1), (0.5, 0.6)]}
PERCENT = {"counted": [30.1, 20.2, 10.3], "paper": [30.1, 20.0, 10.3]}
LEVEL = (Estimate(56.0, 55.0, 57.0), Estimate(50.0, 46.0, 54.0))
FACTORS = [factor.support().astype(float) for factor in chains.smallest(16, 36, 2)]
PRODUCT = {"R2": FACTORS[1], "R1": FACTORS[0], "W": FACTORS[1] @ FACTORS[0]}


def threshold_view(threshold: float) -> Picture:
    return figures.threshold_view(MEMBER, NON_MEMBER, threshold=threshold)


def small_sweep() -> Sweep:
    """Two rows, an undefended model and one that PAST tuned, and what two attacks decided."""
    draws = np.random.default_rng(1)
    common = {"loss_gap": 1.0, "weights": {"histogram": COUNTS.tolist()}}
    rows = [
        {"defense": "Plain", **common},
        {"defense": "Past", "lam": 2e-3, "alpha": 1.5, **common},
    ]
    votes = draws.random((2, 2, 60)) < 0.5
    correct = draws.random((2, 60)) < 0.6
    return Sweep(rows, ["loss", "entropy"], votes, correct, np.arange(60) < 30)


def epoch_view(epoch: int) -> Picture:
    curves = {"test accuracy": {"PAST": [HALF, LESS], "λ = 0": [HALF, HALF]}}
    attacks = {arm: {"loss": HALF, "entropy": HALF} for arm in ("PAST", "λ = 0")}
    gaps = {"PAST": 0.7, "λ = 0": 1.1}
    runs = {"rate": [0.1, 0.0], "finished": {"test accuracy": {1: 0.4, 40: 0.6}}}
    return figures.epoch_view(curves, attacks, gaps, epoch=epoch, **runs)


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
    masks = {"features.0": np.arange(72).reshape(8, 1, 3, 3) < kept, "classify": np.ones((10, 32))}
    counts = np.full(len(EDGES) - 1, kept)
    attacks = {"dense": {"loss": HALF}, "round 1": {"loss": Estimate(kept / 100, 0.0, 1.0)}}
    histograms = {"dense": counts, "round 1": counts}
    return figures.round_view(masks, histograms, attacks, title=f"round {kept}")


def defense_plane(**more) -> Picture:
    series = {"IMP": [LEVEL, LEVEL], "narrow": [LEVEL]}
    return figures.defense_plane(series, star=LEVEL, **more)


def network_parameters(at: int, percent: dict = PERCENT) -> Picture:
    layers = ([100, 400, 1600], [100, 200, 300])
    return figures.network_parameters(*layers, percent, at=at, title=f"S = {at}")


# Each entry begins with the name of the function that draws it; what follows says which way.
PICTURES: dict[str, Callable[[], Picture]] = {
    "histograms": lambda: plots.histograms(MEMBER, NON_MEMBER),
    "roc": lambda: plots.roc({"loss": (SCORES, IS_MEMBER)}),
    "comparison": lambda: plots.comparison(
        {"one": {"loss": HALF}, "two": {"loss": HALF, "R": LESS}}, label="AUC", mark="R"
    ),
    "comparison of differences": lambda: plots.comparison(
        {"one": {"loss": Estimate(-1e-9, -0.1, 0.1)}}, label="change", dotted="no difference"
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
    "small_multiples": lambda: plots.small_multiples(threshold_view, threshold=[0.01, 1.0]),
    "images": lambda: figures.images(IMAGES, list("ABCDEFG"), columns=4),
    "threshold_view": lambda: threshold_view(0.2),
    "threshold_view at 0": lambda: threshold_view(0.0),
    "worlds": lambda: figures.worlds(MEMBER[:20], NON_MEMBER[:20], 0.5, label="scaled score φ"),
    "board": lambda: figures.board(STANDINGS),
    "changes": lambda: figures.changes(CHANGES),
    "p1_map": lambda: figures.p1_map(
        {"ℓ1": [(0.5, 0.4), (0.6, 0.2)]}, undefended=(0.5, 0.6), labels={"ℓ1": ["0.1", "0.2"]}
    ),
    "moves": lambda: figures.moves({"undefended": TRIO, "AdvReg": TRIO[::-1]}),
    "sensitivity_by_module": lambda: figures.sensitivity_by_module(MODULES, title="After epoch 3"),
    "sensitivity_by_module inside": lambda: figures.sensitivity_by_module(
        MODULES, title="At the end", inside=0.44
    ),
    "sensitivity_by_parameter": lambda: figures.sensitivity_by_parameter(
        {"before": MEMBER[:40], "after": NON_MEMBER[:40]}
    ),
    "two_normals": lambda: figures.two_normals(gap=1.0, member=0.5, non_member=1.5, fpr=0.1),
    "fitted_normals": lambda: figures.fitted_normals(np.linspace(0, 1, 50), np.linspace(0, 9, 50)),
    "weight_histograms": lambda: figures.weight_histograms({"before": COUNTS, "after": COUNTS}),
    "setting_view": lambda: figures.setting_view(small_sweep(), 1, 0),
    "epoch_view": lambda: epoch_view(0),
    "scenarios": lambda: figures.scenarios(PLACES, LABELS, CENTERS, PULLS, radius=0.45),
    "phases": lambda: figures.phases({"center loss": PHASE}),
    "surface": lambda: figures.surface(CELLS, ylabel="α"),
    "features": lambda: figures.features({"one": PLANE, "other": PLANE}),
    "margins": lambda: figures.margins(
        {"one": (MARGIN_COUNTS, MARGIN_COUNTS), "other": (MARGIN_COUNTS, FAR_OUT)}, columns=3
    ),
    "promise": lambda: figures.promise(CURVES, DOTS, epsilon=1.0, delta=1e-5),
    "pipeline": pipeline,
    "round_view": lambda: round_view(36),
    "defense_plane": defense_plane,
    "defense_plane with slopes": lambda: defense_plane(
        labels={"IMP": ["64 %", "41 %"]}, slopes={"fitted": (-1.0, 56.0, 50.0)}
    ),
    "matrix_product": lambda: figures.matrix_product(PRODUCT),
    "matrix_product ruled": lambda: figures.matrix_product(
        PRODUCT, grid=4, title="Sixteen by 36.", height=2.0
    ),
    "network_parameters": lambda: network_parameters(1),
    "network_parameters alone": lambda: network_parameters(3, {"counted": [100.0, 100.0, 100.0]}),
}
