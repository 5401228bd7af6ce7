"""What PAST costs beside plain training, and measuring sensitivity beside two gradient passes.

The ratio is plain over PAST, so 0.91 means 1.10 times the time.
"""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional as F

from bench.timing import Row, fastest
from mialib import data, models, sensitivity
from mialib.benchmarks.training import noise_images
from mialib.data import Records
from mialib.defenses import Past
from mialib.query import to_device
from mialib.training import Defense, Plain, Recipe, fit


def rows() -> list[Row]:
    return [
        *tuning_rows("mlp", data.load("shoppers", size=8192)),
        *tuning_rows("resnet20", noise_images(1536)),
        sensitivity_row(data.load("letters", size=20_000)),
    ]


def tuning_rows(name: str, records: Records) -> list[Row]:
    """An epoch of tuning beside a plain one.

    From them follows the whole run of Fig. 6c: 100 + 20 epochs over 120.
    """
    half = len(records) // 2
    members = records.take(np.arange(half))
    inference = records.take(np.arange(half, 2 * half))
    model = models.build(name, shape=records.x.shape[1:], classes=records.classes)

    def epoch(defense: Defense) -> None:
        recipe = Recipe(epochs=1, lr=1e-4)
        fit(model, members, recipe, defense=defense, inference=inference, device="cpu")

    rows = []
    for per, aim in (("batch", 0.45), ("epoch", None)):
        # γ once an epoch from an eighth of the records: the 1,024 of the default are a tenth of the
        # paper's 10,000.
        tuning = Past(per=per, sample=half // 8)
        seconds, plain = fastest(lambda t=tuning: epoch(t), lambda: epoch(Plain()), rounds=5)
        whole = (100 * plain + 20 * seconds) / 120
        what = f"a tuning epoch of PAST per {per}, {name}, {half:,} records"
        rows.append(Row(what, seconds, plain, aim))
        rows.append(Row("   and its 100 + 20 epochs against 120 plain ones", whole, plain, 0.91))
    return rows


def sensitivity_row(records: Records) -> Row:
    """The gap's gradient over 10,000 + 10,000 records beside two plain passes over them."""
    shape = records.x.shape[1:]
    model = models.build("resnet20", shape=shape, classes=records.classes, width=8).eval()
    members = records.take(np.arange(10_000))
    others = records.take(np.arange(10_000, 20_000))

    def two_passes() -> None:
        for part in (members, others):
            model.zero_grad()
            x, y = to_device(part, torch.device("cpu"))
            for inputs, labels in zip(x.split(500), y.split(500), strict=True):
                F.cross_entropy(model(inputs), labels).backward()

    seconds, plain = fastest(
        lambda: sensitivity.gap_gradient(model, members, others), two_passes, rounds=2
    )
    what = "sensitivity of a ResNet-20 on 10,000 + 10,000 letters against two passes"
    return Row(what, seconds, plain, 0.83)
