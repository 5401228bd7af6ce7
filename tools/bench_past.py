"""What PAST costs beside plain training, and what measuring sensitivity costs beside two gradient passes."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional as F

from bench_data import fastest
from mialib import data, models, sensitivity
from mialib.data import Records
from mialib.defenses import Past, Plain
from mialib.training import Recipe, fit, to_device


def rows() -> list[tuple]:
    """(what, ours, theirs, ratio, aim): the ratio is plain over ours, so 0.91 means 1.10 times the time."""
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 255, (1536, 3, 32, 32)).astype(np.uint8)
    images = Records("noise", noise, rng.integers(0, 10, len(noise)), 10)
    return [
        *_tuning("mlp", data.load("shoppers", size=8192)),
        *_tuning("resnet20", images),
        _sensitivity(data.load("letters", size=20_000)),
    ]


def _tuning(name: str, records: Records) -> list[tuple]:
    """An epoch of tuning beside a plain one, and from them the whole run of Fig. 6c: 100 + 20 epochs over 120."""
    half = len(records) // 2
    members, others = (records.take(np.arange(start, start + half)) for start in (0, half))
    model = models.build(name, shape=records.x.shape[1:], classes=records.classes)

    def epoch(defense: Plain) -> None:
        fit(
            model,
            members,
            Recipe(epochs=1, lr=1e-4),
            defense=defense,
            reference=others,
            device="cpu",
        )

    found = []
    for per, aim in (("batch", 0.45), ("epoch", "")):
        # γ once an epoch from an eighth of the records: the 1,024 of the default are a tenth of the paper's 10,000.
        tuning = Past(per=per, sample=half // 8)
        ours, plain = fastest(lambda tuning=tuning: epoch(tuning), lambda: epoch(Plain()), rounds=5)
        whole = (100 * plain + 20 * ours) / 120
        found.append(
            (
                f"a tuning epoch of PAST per {per}, {name}, {half:,} records",
                ours,
                plain,
                plain / ours,
                aim,
            )
        )
        found.append(
            ("   and its 100 + 20 epochs against 120 plain ones", whole, plain, plain / whole, 0.91)
        )
    return found


def _sensitivity(records: Records) -> tuple:
    """The gap's gradient over 10,000 + 10,000 records beside two plain passes over them."""
    model = models.build(
        "resnet20", shape=records.x.shape[1:], classes=records.classes, width=8
    ).eval()
    sides = [records.take(np.arange(start, start + 10_000)) for start in (0, 10_000)]

    def two_passes() -> None:
        for side in sides:
            model.zero_grad()
            x, y = to_device(side, torch.device("cpu"))
            for inputs, labels in zip(x.split(500), y.split(500), strict=True):
                F.cross_entropy(model(inputs), labels).backward()

    ours, plain = fastest(lambda: sensitivity.gap_gradient(model, *sides), two_passes, rounds=2)
    return (
        "sensitivity of a ResNet-20 on 10,000 + 10,000 letters against two passes",
        ours,
        plain,
        plain / ours,
        0.83,
    )
