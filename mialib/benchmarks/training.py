"""`fit` beside the bare loop on the same tensors, and how many models a minute a profile trains.

fit_row("resnet20", noise_images(512), device=device, precision="float32")
training_speeds(device)     # estimates, from a few batches of noise in each profile's shapes
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mialib import models, profiles, progress
from mialib.benchmarks.timing import Row, fastest
from mialib.data import Records
from mialib.experiments import rehearsal
from mialib.precision import has_bfloat16, loss_scaler
from mialib.query import to_device
from mialib.training import Recipe, fit

AIM = 0.97  # of the bare loop's speed
EPOCHS = 2  # that both train


class Speed(NamedTuple):
    """How fast a profile's networks train here, by a few batches: an estimate."""

    profile: str
    network: str
    images_per_second: float
    models_per_minute: float


def noise_images(n: int) -> Records:
    """Random pixels in CIFAR's shape."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 255, (n, 3, 32, 32)).astype(np.uint8)
    y = rng.integers(0, 10, n)
    return Records("noise", x, y, 10, scale=(255.0,))


def precisions(device: torch.device) -> dict[str, str]:
    """Each precision, with the reason why it is left out on this device, or nothing."""
    no_bfloat16 = "" if has_bfloat16(device) else "the device has none of its own"
    no_float16 = "" if device.type == "cuda" else "only CUDA devices are fast in it"
    return {"float32": "", "bfloat16": no_bfloat16, "float16": no_float16}


def fit_row(
    name: str,
    records: Records,
    *,
    device: torch.device,
    precision: str = "float32",
    rounds: int = 12,
) -> Row:
    """A few epochs of `fit` beside as many of the bare loop."""
    recipe = Recipe(epochs=EPOCHS, lr=0.01, precision=precision)
    shape = {"shape": records.x.shape[1:], "classes": records.classes}
    trained = models.build(name, **shape)
    bare = models.build(name, **shape).to(device)
    if records.x.ndim == 4:
        bare.to(memory_format=torch.channels_last)
    x, y = to_device(records, device)
    with progress.silent():
        seconds, baseline = fastest(
            lambda: fit(trained, records, recipe, device=device),
            lambda: bare_loop(bare, x, y, recipe),
            rounds=rounds,
            device=device,
        )
    return Row(f"fit() against the bare loop, {name}, {precision}", seconds, baseline, AIM)


def bare_loop(model: nn.Module, x: Tensor, y: Tensor, recipe: Recipe) -> None:
    """What one would write by hand, in shuffled batches."""
    optimizer = torch.optim.SGD(
        model.parameters(), recipe.lr, recipe.momentum, weight_decay=recipe.weight_decay
    )
    scaler = loss_scaler(recipe.precision, x.device)
    is_narrow = recipe.precision != "float32"
    dtype = getattr(torch, recipe.precision) if is_narrow else None
    model.train()
    for _ in range(recipe.epochs):
        order = torch.randperm(len(y)).to(y.device)
        for chosen in order.split(recipe.batch_size):
            optimizer.zero_grad()
            with torch.autocast(x.device.type, dtype, enabled=is_narrow):
                logits = model(x[chosen])
            scaler.scale(F.cross_entropy(logits.float(), y[chosen])).backward()
            scaler.step(optimizer)
            scaler.update()


def training_speeds(
    device: torch.device, *, names: tuple[str, ...] = profiles.NAMES
) -> Iterator[Speed]:
    """The images of each profile, one training at a time, by a few batches of noise."""
    for name in names:
        configuration = profiles.load(name).images.but(device=device.type)
        seconds = rehearsal.seconds_per_epoch(configuration)
        dataset = rehearsal.dataset_of(configuration)
        members = rehearsal.part_sizes(configuration, dataset)["train"]
        whole = seconds * configuration.recipe.epochs
        yield Speed(name, configuration.model, members / seconds, 60 / whole)
