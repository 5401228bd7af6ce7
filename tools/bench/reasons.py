"""Where the time goes in what cannot be made much faster: profiles, for the page.

python -m bench reasons         # from the folder tools/; some seconds
"""

from __future__ import annotations

import pstats
from collections.abc import Callable
from cProfile import Profile
from typing import NamedTuple

import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile

from bench.attacks import reference_arrays
from bench.timing import fastest
from mialib import data, models, progress, query
from mialib.attacks import lira_scores, rmia_scores
from mialib.attacks.lira import center_and_squares
from mialib.benchmarks.measuring import IMAGES, NETWORK
from mialib.benchmarks.training import bare_loop, noise_images
from mialib.benchmarks.writing import told_seconds
from mialib.course.costs import one_thread
from mialib.data import Records
from mialib.query import to_device
from mialib.signals import record_slices
from mialib.training import Recipe, fit

CPU = torch.device("cpu")
FIRST = 12  # epochs, after which a network on noise tells classes apart
LAST = 3  # epochs that are looked at


class Share(NamedTuple):
    """The seconds of some work by what the processor did: kernels of one kind, and the rest."""

    of_kind: float
    others: float

    @property
    def whole(self) -> float:
        return self.of_kind + self.others


def reasons() -> list[str]:
    """A sentence for each ratio that has a limit of its own."""
    return [fit_reason(), bfloat16_reason(), gradient_reason(), lira_reason(), rmia_reason()]


def kernel_share(work: Callable[[], object], *names: str) -> Share:
    """Of one turn of the work, by torch's profiler: kernels with one of these names, the rest."""
    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        work()
    of_kind = 0.0
    others = 0.0
    for event in profiled.key_averages():
        seconds = event.self_cpu_time_total / 1e6
        if any(name in event.key for name in names):
            of_kind += seconds
        else:
            others += seconds
    return Share(of_kind, others)


# fit


def fit_reason() -> str:
    of_images = _told_look(NETWORK, noise_images(IMAGES["cpu"]), "images")
    of_rows = _told_look("mlp", data.load("shoppers", size=4096), "rows")
    return (
        f"fit: of an epoch's {of_images}, and of {of_rows}, are the look at its end: whether the "
        "weights are finite and the answers of a few members differ, without which a ruined "
        "training would pass for a finished one. A longer epoch has one such look, too."
    )


def _told_look(network: str, records: Records, what: str) -> str:
    once = seconds_within("_epoch_entry", network, records)
    return (
        f"{told_seconds(once.whole)} ({network}, {len(records):,} {what}, float32) "
        f"{told_seconds(once.of_kind)}"
    )


def seconds_within(name: str, network_name: str, records: Records) -> Share:
    """Of the last epochs of `fit`, what one of its functions takes.

    By Python's profiler, which knows functions where torch's knows kernels. In the first epochs the
    network still names one class for all, and is looked at longer.
    """
    network = models.build(network_name, shape=records.x.shape[1:], classes=records.classes)
    profiler = Profile()
    with progress.silent():
        fit(network, records, Recipe(epochs=FIRST, lr=0.01), device=CPU)
        profiler.runcall(fit, network, records, Recipe(epochs=LAST, lr=0.01), device=CPU)
    calls = pstats.Stats(profiler).get_stats_profile().func_profiles
    within = calls[name].cumtime / LAST
    return Share(within, calls["_run_epoch"].cumtime / LAST - within)


# bfloat16


def bfloat16_reason(*, images: int = 512) -> str:
    narrow = training_share("bfloat16", images=images)
    wide = training_share("float32", images=images)
    return (
        f"bfloat16: on one thread, convolutions take {wide.of_kind / wide.whole:.0%} of a "
        f"ResNet-20's training in float32, and bfloat16 makes them "
        f"{wide.of_kind / narrow.of_kind:.2g} times as fast. The rest (batch "
        "normalisation, ReLU, sums, the optimizer) waits for memory and not for arithmetic, and "
        f"becomes {wide.others / narrow.others:.2g} times as fast; so the whole gains "
        f"{wide.whole / narrow.whole:.3g}."
    )


def training_share(precision: str, *, images: int) -> Share:
    """The bare loop on noise, convolutions and the rest; the first turn warms up."""
    recipe = Recipe(epochs=1, lr=0.01, precision=precision)
    records = noise_images(images)
    network = models.build("resnet20", shape=records.x.shape[1:], classes=records.classes)
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    x, y = to_device(records, CPU)
    with one_thread():
        bare_loop(network, x, y, recipe)
        return kernel_share(lambda: bare_loop(network, x, y, recipe), "convolution")


# Grad-x


def gradient_reason(*, size: int = 500) -> str:
    share = gradient_share(size)
    return (
        f"Grad-x, {size} records of an MLP: {share.of_kind / share.whole:.0%} of its "
        f"{told_seconds(share.whole)} are matrix products, which one record at a time needs as "
        "well; what a batch saves is the rest of each call."
    )


def gradient_share(size: int) -> Share:
    """Matrix products, which the processor does as fast as it can, and the rest."""
    records = data.load("shoppers", size=size)
    model = models.build("mlp", shape=records.x.shape[1:], classes=records.classes)

    def work() -> None:
        query.gradient_norms(model, records)

    work()
    return kernel_share(work, "addmm", "mm")


# LiRA


def lira_reason() -> str:
    phi, references, is_in = reference_arrays(10_000)
    whole, floor, plain = fastest(
        lambda: lira_scores(phi, references, is_in),
        passes(references, is_in),
        moments(references, is_in),
        rounds=50,
    )
    return (
        f"LiRA, 10k × 16: {told_seconds(floor)} of its {told_seconds(whole)} are eight passes over "
        "the arrays: for IN and for OUT the mask as numbers, the mean, the distances from it, and "
        f"their squares. PrivacyGuard begins with NumPy's nanmean and nanstd, which take "
        f"{told_seconds(plain)}: {plain / floor:.0f} times as long as these passes, so the whole "
        "cannot be much more than that ahead of it. Four passes would do for a formula that "
        "subtracts one large sum from another, but it loses digits where models agree, so it is "
        "not taken."
    )


def moments(references: np.ndarray, is_in: np.ndarray) -> Callable[[], object]:
    """Mean and deviation of both sides, as one writes them with NumPy."""

    def work() -> None:
        for mask in (is_in, ~is_in):
            chosen = np.where(mask, references, np.nan)
            np.nanmean(chosen, axis=0)
            np.nanstd(chosen, axis=0)

    return work


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
