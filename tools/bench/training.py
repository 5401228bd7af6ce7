"""`fit()` against the bare loop on the same tensors, and bfloat16 against float32.

And the bootstrap against the loop that it replaces.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from bench.timing import Row, fastest
from mialib import data, metrics, models, progress
from mialib.benchmarks.training import fit_row, noise_images
from mialib.course.costs import one_thread
from mialib.data import Records
from mialib.training import Recipe, fit

CPU = torch.device("cpu")


def rows() -> list[Row]:
    return [
        fit_row("mlp", data.load("shoppers", size=4096), device=CPU, rounds=12),
        precision_row(noise_images(512)),
        bootstrap_row(),
    ]


def precision_row(records: Records) -> Row:
    """Where the processor has no bfloat16, the aim cannot be met."""
    network = models.build("resnet20", shape=records.x.shape[1:], classes=records.classes)
    fewer = Recipe(epochs=2, lr=0.01, precision="bfloat16")
    with one_thread(), progress.silent():
        seconds, baseline = fastest(
            lambda: fit(network, records, fewer, device="cpu"),
            lambda: fit(network, records, replace(fewer, precision="float32"), device="cpu"),
        )
    return Row("fit() in bfloat16 against float32, resnet20, one thread", seconds, baseline, 1.7)


def bootstrap_row() -> Row:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=4000)
    is_member = rng.random(4000) < 0.5

    def loop(draws: int = 100) -> None:
        for _ in range(draws):
            chosen = rng.integers(len(scores), size=len(scores))
            metrics.auc(scores[chosen], is_member[chosen])

    def area(fpr: np.ndarray, tpr: np.ndarray, threshold: np.ndarray) -> np.ndarray:
        return metrics.area(fpr, tpr)

    seconds, baseline = fastest(lambda: metrics.bootstrap(scores, is_member, area, draws=100), loop)
    return Row("bootstrap of the AUC, 100 draws, against a loop", seconds, baseline, 1)
