"""Every configuration of a profile builds, splits and takes two steps on random tensors of its shapes.

    python tools/dry_run.py paper

Nothing is downloaded: records are noise in the dataset's shape, and pretrained weights are left out. Batches hold
four records, so that the large networks fit on a laptop.
"""

from __future__ import annotations

import dataclasses
import sys
import time

import numpy as np

from mialib import metrics, models, profiles, splits
from mialib.attacks import threshold_attack
from mialib.configurations import Configuration
from mialib.data import Records
from mialib.signals import collect
from mialib.splits import Side
from mialib.training import fit

# What each dataset holds: records, shape, classes.
SHAPES = {
    "letters": (4_200, (1, 16, 16), 10),
    "shoppers": (24_000, (600,), 100),
    "cifar10": (60_000, (3, 32, 32), 10),
    "cifar10_past": (60_000, (3, 32, 32), 10),
    "cifar100": (60_000, (3, 32, 32), 100),
    "cifar100_past": (60_000, (3, 32, 32), 100),
    "svhn": (99_289, (3, 32, 32), 10),
    "imagenet": (60_000, (3, 224, 224), 1000),
    "purchase100": (197_324, (600,), 100),
    "texas100": (67_330, (6_169,), 100),
}
BATCH = 4


def dry_run(configuration: Configuration) -> dict[str, int]:
    """Take two steps and attack the result; return how many records each part would have."""
    n, shape, classes = SHAPES[configuration.data]
    rng = np.random.default_rng(0)
    n = configuration.size or n
    # One pixel stands for all of them: the parts are chosen as in earnest, and nothing is allocated.
    full = Records(
        "noise", np.broadcast_to(np.uint8(0), (n, *shape)), rng.integers(classes, size=n), classes
    )
    options = {"validation": configuration.validation, **configuration.split_options}
    sides = splits.split(configuration.split, full, seed=configuration.split_seed, **options)
    sizes = {name: len(part) for name, part in sides[configuration.side].parts().items()}
    noise = Records(
        "noise",
        rng.integers(0, 2, (8 * BATCH, *shape), np.uint8),
        np.arange(8 * BATCH) % classes,
        classes,
    )
    side = Side(
        *(
            noise.take(np.arange(start, start + 2 * BATCH))
            for start in range(0, 8 * BATCH, 2 * BATCH)
        )
    )
    from_scratch = {
        name: value for name, value in configuration.options.items() if name != "pretrained"
    }
    model = models.build(configuration.model, shape=shape, classes=classes, **from_scratch)
    for stage in (*configuration.before, configuration):
        recipe = dataclasses.replace(stage.recipe, epochs=1, batch_size=BATCH)
        parts = {"reference": side.inference, "validation": side.validation}
        fit(model, side.train, recipe, defense=stage.defense, **parts, device="cpu")
    signals = collect(model, side)
    metrics.evaluate(threshold_attack(signals, signals.public()), signals.is_member, draws=10)
    return sizes


def main(name: str) -> None:
    for title, configuration in profiles.load(name).experiments.items():
        started = time.perf_counter()
        sizes = dry_run(configuration)
        parts = ", ".join(f"{part} {size:,}" for part, size in sizes.items())
        print(
            f"{title:<28}{configuration.model:<14}{time.perf_counter() - started:>6.1f} s   {parts}"
        )


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "quick")
