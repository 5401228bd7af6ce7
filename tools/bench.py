"""Speed as ratios, both sides measured in one run: `make bench`.

A ratio compares the two on the same arrays a few minutes apart at most, so a slow or shared machine moves both.
"""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional as F

import bench_attacks
import bench_defenses
import bench_past
import bench_sparsity
from bench_data import fastest
from bench_data import rows as data_rows
from mialib import data, metrics, models
from mialib.data import Records
from mialib.training import Recipe, fit, to_device
from paths import ROOT


def training_rows() -> list[tuple]:
    """`fit()` against the bare loop on the same tensors."""
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 255, (512, 3, 32, 32)).astype(np.uint8)
    images = Records("noise", noise, rng.integers(0, 10, 512), 10)
    return [_fit_row("mlp", data.load("shoppers", size=4096)), _fit_row("resnet20", images)]


def _fit_row(name: str, records: Records) -> tuple:
    recipe, layout = (
        Recipe(epochs=2, lr=0.01),
        torch.channels_last if records.x.ndim == 4 else torch.preserve_format,
    )
    trained, bare = (
        models.build(name, shape=records.x.shape[1:], classes=records.classes) for _ in range(2)
    )
    bare.to(memory_format=layout)
    tensors = to_device(records, torch.device("cpu"))
    times = fastest(
        lambda: fit(trained, records, recipe, device="cpu"),
        lambda: _bare_loop(bare, tensors, recipe),
        rounds=12,
    )
    return (f"fit() against the bare loop, {name}", *times, 0.97)


def _bare_loop(
    model: torch.nn.Module, tensors: tuple[torch.Tensor, torch.Tensor], recipe: Recipe
) -> None:
    x, y = tensors
    optimizer = torch.optim.SGD(
        model.parameters(), recipe.lr, recipe.momentum, weight_decay=recipe.weight_decay
    )
    model.train()
    for _ in range(recipe.epochs):
        for inputs, labels in zip(
            x.split(recipe.batch_size), y.split(recipe.batch_size), strict=True
        ):
            optimizer.zero_grad()
            F.cross_entropy(model(inputs), labels).backward()
            optimizer.step()


def array_rows() -> list[tuple]:
    """The bootstrap against the loop that it replaces."""
    rng = np.random.default_rng(0)
    scores, is_member = rng.normal(size=4000), rng.random(4000) < 0.5

    def naive_bootstrap(draws=100):
        for _ in range(draws):
            rows = rng.integers(len(scores), size=len(scores))
            metrics.auc(scores[rows], is_member[rows])

    def area(fpr, tpr, threshold):
        return np.trapezoid(tpr, fpr)

    return [
        (
            "bootstrap of the AUC, 100 draws, against a loop",
            *fastest(
                lambda: metrics.bootstrap(scores, is_member, area, draws=100), naive_bootstrap
            ),
            1,
        ),
    ]


def main() -> None:
    print(f"{'what':<72}{'ours':>10}{'theirs':>10}{'ratio':>8}{'aim':>7}")
    loops = [
        (what, ours, theirs, theirs / ours, aim)
        for what, ours, theirs, aim in [*training_rows(), *array_rows()]
    ]
    defenses, sparse = [*bench_past.rows(), *bench_defenses.rows()], bench_sparsity.rows()
    for what, ours, theirs, ratio, aim in [
        *loops,
        *defenses,
        *sparse,
        *bench_attacks.rows(),
        *data_rows(),
    ]:
        missed = "  missed" if aim and ratio < aim else ""
        print(f"{what:<72}{ours:>9.4f}s{theirs:>9.4f}s{ratio:>8.2f}{aim:>7}{missed}")
    for layer, power in bench_sparsity.exponents(sparse).items():
        print(f"{f'butterflies, {layer}: seconds grow with N to the power of':<72}{power:>9.2f}")
    what, seconds = bench_attacks.everything()
    print(f"{what:<72}{seconds:>9.4f}s")
    bench_attacks.growth(ROOT / "data" / "figures" / "attack_cost.png")


if __name__ == "__main__":
    main()
