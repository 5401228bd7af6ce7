"""A configuration rehearsed: it builds, splits and takes two steps on random tensors.

    sizes = rehearse(configuration)         # how many records each part would have
    rehearse_all(plan.rows())               # each network and each defense of a plan once
    seconds_per_epoch(configuration)        # measured on this device, on a few steps of noise

Nothing is downloaded: records are noise in the dataset's shape, and pretrained weights are left
out. Batches of a rehearsal hold four records, so that the large networks fit on a laptop.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from torch import nn

from mialib import metrics, models, progress, query, splits
from mialib.attacks import ATTACKS
from mialib.configurations import Configuration, Stage
from mialib.data import Records, short_name
from mialib.defenses import Distillation
from mialib.errors import check_choice
from mialib.experiments.plans import PlannedRow
from mialib.query import pick_device
from mialib.splits import Side
from mialib.training import Defense, Recipe, fit

BATCH = 4
# All records at once, until they are known: a student is refused a teacher that knows nothing.
TEACHER = {"epochs": 60, "batch_size": 2 * BATCH}


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


def rehearse(configuration: Configuration) -> dict[str, int]:
    """Take two steps and attack the result; return how many records each part would have."""
    dataset = dataset_of(configuration)
    sizes = part_sizes(configuration, dataset)
    side = noise_side(dataset, batch=BATCH)
    model = build_from_scratch(configuration, dataset)
    for stage, following in pairwise([*configuration.before, configuration, None]):
        assert stage is not None
        recipe = replace(stage.recipe, epochs=1, batch_size=BATCH)
        if _is_distilled(following):
            recipe = replace(recipe, augment=False, **TEACHER)
        _fit(model, side, stage.defense, recipe, device="cpu")
    signals = query.collect(model, side)
    scores = ATTACKS["loss"].fit(signals).score(signals.public())
    metrics.evaluate(scores, signals.truth(), draws=10)
    return sizes


def _is_distilled(following: Stage | Configuration | None) -> bool:
    """Whether what comes next takes this model for its teacher, which must have learned."""
    return following is not None and isinstance(following.defense, Distillation)


def rehearse_all(planned: Iterable[PlannedRow]) -> int:
    """Every row's configuration, those that differ only in strength, seed or side once.

    Returns how many were rehearsed.
    """
    different = kinds(planned)
    with progress.bar("rehearsing", total=len(different), unit="setting") as step:
        for configuration in different.values():
            rehearse(configuration)
            step()
    return len(different)


def kinds(planned: Iterable[PlannedRow]) -> dict[tuple[str, ...], Configuration]:
    """One configuration for each kind of training: other strengths run through the same code."""
    return {_kind(row.configuration): row.configuration for row in planned}


def _kind(configuration: Configuration) -> tuple[str, ...]:
    """What decides which code a configuration runs through."""
    stages = (*configuration.before, configuration)
    defenses = [type(stage.defense).__name__ for stage in stages]
    network = f"{configuration.model} {sorted(configuration.options.items())}"
    return short_name(configuration.data), network, configuration.split, *defenses


def seconds_per_epoch(
    configuration: Configuration, *, clock: Callable[[], float] = time.perf_counter
) -> float:
    """Measured on this device: a few whole batches of noise, times the batches of an epoch.

    On a CPU that others use too, `clock=time.process_time` counts what this process was given.
    """
    dataset = dataset_of(configuration)
    members = part_sizes(configuration, dataset)["train"]
    batch = min(configuration.recipe.batch_size, members)
    side = noise_side(dataset, batch=batch)
    model = build_from_scratch(configuration, dataset)
    device = str(pick_device(configuration.device))
    recipe = replace(configuration.recipe, epochs=1, batch_size=batch)
    with progress.silent():
        _fit(model, side, configuration.defense, recipe, device=device)  # What is first is slow.
        started = clock()
        _fit(model, side, configuration.defense, recipe, device=device)
    steps = -(-len(side.train) // batch)
    return (clock() - started) / steps * -(-members // batch)


def _fit(model: nn.Module, side: Side, defense: Defense, recipe: Recipe, *, device: str) -> None:
    fit(
        model,
        side.train,
        recipe,
        defense=defense,
        inference=side.inference,
        validation=side.validation,
        device=device,
    )


def dataset_of(configuration: Configuration) -> Dataset:
    """The shape of the configuration's records; that of a file of one's own is not known here."""
    return DATASETS[check_choice("dataset", short_name(configuration.data), DATASETS)]


def part_sizes(configuration: Configuration, dataset: Dataset) -> dict[str, int]:
    """The parts are chosen as in earnest; one pixel stands for all of them, and none is stored."""
    n = configuration.size or dataset.records
    labels = np.random.default_rng(0).integers(dataset.classes, size=n)
    pixels = np.broadcast_to(np.uint8(0), (n, *dataset.shape))
    full = Records("noise", pixels, labels, dataset.classes)
    options = {"validation": configuration.validation, **configuration.split_options}
    sides = splits.split(configuration.split, full, seed=configuration.split_seed, **options)
    return {name: len(part) for name, part in sides[configuration.side].parts().items()}


def noise_side(dataset: Dataset, *, batch: int) -> Side:
    """Train, test, inference and validation records, two batches each."""
    n = 8 * batch
    x = np.random.default_rng(0).integers(0, 2, (n, *dataset.shape), np.uint8)
    # Every part has the same classes: MMD compares records of one class.
    labels = np.tile(np.arange(2 * batch) % dataset.classes, 4)
    noise = Records("noise", x, labels, dataset.classes)
    train, test, inference, validation = (noise.take(rows) for rows in np.split(np.arange(n), 4))
    return Side(train, test, inference=inference, validation=validation)


def build_from_scratch(configuration: Configuration, dataset: Dataset) -> nn.Module:
    options = {k: value for k, value in configuration.options.items() if k != "pretrained"}
    return models.build(
        configuration.model, shape=dataset.shape, classes=dataset.classes, **options
    )
