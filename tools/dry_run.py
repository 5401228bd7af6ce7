"""Every configuration of a profile builds, splits and takes two steps on random tensors.

    python tools/dry_run.py paper

Nothing is downloaded: records are noise in the dataset's shape, and pretrained weights are left
out. Batches hold four records, so that the large networks fit on a laptop.
"""

from __future__ import annotations

import dataclasses
import sys
import time
from typing import NamedTuple

import numpy as np
from torch import nn

from mialib import metrics, models, profiles, query, splits
from mialib.attacks import ATTACKS
from mialib.configurations import Configuration
from mialib.data import Records
from mialib.splits import Side
from mialib.training import fit

BATCH = 4


class Dataset(NamedTuple):
    """What a dataset holds."""

    records: int
    shape: tuple[int, ...]
    classes: int


DATASETS = {
    "letters": Dataset(4_200, (1, 16, 16), 10),
    "shoppers": Dataset(24_000, (600,), 100),
    "digits": Dataset(1_797, (1, 8, 8), 10),
    "cifar10": Dataset(60_000, (3, 32, 32), 10),
    "cifar10_past": Dataset(60_000, (3, 32, 32), 10),
    "cifar100": Dataset(60_000, (3, 32, 32), 100),
    "cifar100_past": Dataset(60_000, (3, 32, 32), 100),
    "svhn": Dataset(99_289, (3, 32, 32), 10),
    "imagenet": Dataset(60_000, (3, 224, 224), 1000),
    "purchase100": Dataset(197_324, (600,), 100),
    "texas100": Dataset(67_330, (6_169,), 100),
}


def dry_run(configuration: Configuration) -> dict[str, int]:
    """Take two steps and attack the result; return how many records each part would have."""
    dataset = DATASETS[configuration.data]
    sizes = part_sizes(configuration, dataset)
    side = noise_side(dataset)
    model = build_from_scratch(configuration, dataset)
    for stage in (*configuration.before, configuration):
        recipe = dataclasses.replace(stage.recipe, epochs=1, batch_size=BATCH)
        fit(
            model,
            side.train,
            recipe,
            defense=stage.defense,
            inference=side.inference,
            validation=side.validation,
            device="cpu",
        )
    signals = query.collect(model, side)
    scores = ATTACKS["loss"].fit(signals).score(signals.public())
    metrics.evaluate(scores, signals.is_member, draws=10)
    return sizes


def part_sizes(configuration: Configuration, dataset: Dataset) -> dict[str, int]:
    """The parts are chosen as in earnest; one pixel stands for all of them, and none is stored."""
    n = configuration.size or dataset.records
    labels = np.random.default_rng(0).integers(dataset.classes, size=n)
    pixels = np.broadcast_to(np.uint8(0), (n, *dataset.shape))
    full = Records("noise", pixels, labels, dataset.classes)
    options = {"validation": configuration.validation, **configuration.split_options}
    sides = splits.split(configuration.split, full, seed=configuration.split_seed, **options)
    return {name: len(part) for name, part in sides[configuration.side].parts().items()}


def noise_side(dataset: Dataset) -> Side:
    """Train, test, inference and validation records, two batches each."""
    n = 8 * BATCH
    x = np.random.default_rng(0).integers(0, 2, (n, *dataset.shape), np.uint8)
    noise = Records("noise", x, np.arange(n) % dataset.classes, dataset.classes)
    train, test, inference, validation = (noise.take(rows) for rows in np.split(np.arange(n), 4))
    return Side(train, test, inference=inference, validation=validation)


def build_from_scratch(configuration: Configuration, dataset: Dataset) -> nn.Module:
    options = {k: value for k, value in configuration.options.items() if k != "pretrained"}
    return models.build(
        configuration.model, shape=dataset.shape, classes=dataset.classes, **options
    )


def main(name: str) -> None:
    for title, configuration in profiles.load(name).experiments.items():
        started = time.perf_counter()
        sizes = dry_run(configuration)
        seconds = time.perf_counter() - started
        parts = ", ".join(f"{part} {size:,}" for part, size in sizes.items())
        print(f"{title:<28}{configuration.model:<14}{seconds:>6.1f} s   {parts}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "quick")
