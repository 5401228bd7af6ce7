"""Where the time goes in what cannot be made much faster: profiles, for the page.

python -m bench reasons         # from the folder tools/; some seconds
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile

from bench.attacks import reference_arrays
from bench.timing import fastest
from mialib import models
from mialib.attacks import lira_scores, rmia_scores
from mialib.attacks.lira import center_and_squares
from mialib.benchmarks.training import bare_loop, noise_images
from mialib.benchmarks.writing import told_seconds
from mialib.course.costs import one_thread
from mialib.query import to_device
from mialib.signals import record_slices
from mialib.training import Recipe

CPU = torch.device("cpu")


class Share(NamedTuple):
    """The seconds of a network's training by what its processor did."""

    convolutions: float
    others: float

    @property
    def whole(self) -> float:
        return self.convolutions + self.others


def reasons() -> list[str]:
    """A sentence for each ratio that has a limit of its own."""
    return [bfloat16_reason(), lira_reason(), rmia_reason()]


# bfloat16


def bfloat16_reason(*, images: int = 512) -> str:
    narrow = training_share("bfloat16", images=images)
    wide = training_share("float32", images=images)
    return (
        f"bfloat16: on one thread, convolutions take {wide.convolutions / wide.whole:.0%} of a "
        f"ResNet-20's training in float32, and bfloat16 makes them "
        f"{wide.convolutions / narrow.convolutions:.2g} times as fast. The rest (batch "
        "normalisation, ReLU, sums, the optimizer) waits for memory and not for arithmetic, and "
        f"becomes {wide.others / narrow.others:.2g} times as fast; so the whole gains "
        f"{wide.whole / narrow.whole:.3g}."
    )


def training_share(precision: str, *, images: int) -> Share:
    """The bare loop on noise, under torch's profiler; the first turn warms up."""
    recipe = Recipe(epochs=1, lr=0.01, precision=precision)
    records = noise_images(images)
    network = models.build("resnet20", shape=records.x.shape[1:], classes=records.classes)
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    x, y = to_device(records, CPU)
    with one_thread():
        bare_loop(network, x, y, recipe)
        with profile(activities=[ProfilerActivity.CPU]) as profiled:
            bare_loop(network, x, y, recipe)
    convolutions = 0.0
    others = 0.0
    for event in profiled.key_averages():
        seconds = event.self_cpu_time_total / 1e6
        if "convolution" in event.key:
            convolutions += seconds
        else:
            others += seconds
    return Share(convolutions, others)


# LiRA


def lira_reason() -> str:
    phi, references, is_in = reference_arrays(10_000)
    whole, floor = fastest(
        lambda: lira_scores(phi, references, is_in), passes(references, is_in), rounds=50
    )
    return (
        f"LiRA, 10k × 16: {told_seconds(floor)} of its {told_seconds(whole)} are eight passes over "
        "the arrays: for IN and for OUT the mask as numbers, the mean, the distances from it, and "
        "their squares. A toolkit that leaves its passes to NumPy, as PrivacyGuard does, cannot be "
        "far behind. Four passes would do for a formula that subtracts one large sum from another, "
        "but it loses digits where models agree, so it is not taken."
    )


def passes(references: np.ndarray, is_in: np.ndarray) -> Callable[[], object]:
    """What LiRA cannot do without: the moments of both sides, slice by slice."""
    models, n = references.shape
    half = np.full(n, models // 2)

    def work() -> None:
        for records in record_slices(n, width=models):
            part = references[:, None, records]
            for mask in (is_in[:, records], ~is_in[:, records]):
                center_and_squares(part, mask, half[records], center="mean")

    return work


# RMIA


def rmia_reason() -> str:
    rng = np.random.default_rng(0)
    ratio = rng.lognormal(size=10_000)
    population = rng.lognormal(size=5_000)
    whole, floor = fastest(
        lambda: rmia_scores(ratio, population), sorting(ratio, population), rounds=50
    )
    return (
        f"RMIA, 10k × 5k: {told_seconds(floor)} of its {told_seconds(whole)} are NumPy's, which "
        "sorts both sides and looks one up in the other; without a table of pairs nothing less "
        "is known."
    )


def sorting(ratio: np.ndarray, population: np.ndarray) -> Callable[[], object]:
    """What RMIA cannot do without."""

    def work() -> np.ndarray:
        order = np.argsort(ratio)
        return np.searchsorted(ratio[order], np.sort(population))

    return work
