"""`fit()` against the bare loop on the same tensors, and bfloat16 against float32.

And the bootstrap against the loop that it replaces.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bench.timing import Row, fastest
from mialib import data, metrics, models
from mialib.course.costs import one_thread
from mialib.data import Records
from mialib.query import to_device
from mialib.training import Recipe, fit


def rows() -> list[Row]:
    return [
        fit_row("mlp", data.load("shoppers", size=4096)),
        fit_row("resnet20", noise_images(512)),
        fit_row("resnet20", noise_images(512), precision="bfloat16"),
        precision_row(noise_images(512)),
        bootstrap_row(),
    ]


def noise_images(n: int) -> Records:
    """Random pixels in CIFAR's shape."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 255, (n, 3, 32, 32)).astype(np.uint8)
    y = rng.integers(0, 10, n)
    return Records("noise", x, y, 10)


def fit_row(name: str, records: Records, *, precision: str = "float32") -> Row:
    recipe = Recipe(epochs=2, lr=0.01, precision=precision)
    shape = {"shape": records.x.shape[1:], "classes": records.classes}
    trained = models.build(name, **shape)
    bare = models.build(name, **shape)
    if records.x.ndim == 4:
        bare.to(memory_format=torch.channels_last)
    x, y = to_device(records, torch.device("cpu"))
    seconds, baseline = fastest(
        lambda: fit(trained, records, recipe, device="cpu"),
        lambda: bare_loop(bare, x, y, recipe),
        rounds=12,
    )
    return Row(f"fit() against the bare loop, {name}, {precision}", seconds, baseline, 0.97)


def precision_row(records: Records) -> Row:
    """Where the processor has no bfloat16, the aim cannot be met."""
    network = models.build("resnet20", shape=records.x.shape[1:], classes=records.classes)
    fewer = Recipe(epochs=2, lr=0.01, precision="bfloat16")
    with one_thread():
        seconds, baseline = fastest(
            lambda: fit(network, records, fewer, device="cpu"),
            lambda: fit(network, records, replace(fewer, precision="float32"), device="cpu"),
        )
    return Row("fit() in bfloat16 against float32, resnet20, one thread", seconds, baseline, 1.7)


def bare_loop(model: nn.Module, x: Tensor, y: Tensor, recipe: Recipe) -> None:
    optimizer = torch.optim.SGD(
        model.parameters(), recipe.lr, recipe.momentum, weight_decay=recipe.weight_decay
    )
    model.train()
    for _ in range(recipe.epochs):
        batches = zip(x.split(recipe.batch_size), y.split(recipe.batch_size), strict=True)
        for inputs, labels in batches:
            optimizer.zero_grad()
            with torch.autocast("cpu", torch.bfloat16, enabled=recipe.precision == "bfloat16"):
                logits = model(inputs)
            F.cross_entropy(logits.float(), labels).backward()
            optimizer.step()


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
