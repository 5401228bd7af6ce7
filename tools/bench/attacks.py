"""Speed of the attacks against the loops that they replace."""

from __future__ import annotations

import numpy as np

from bench.timing import Row, fastest
from mialib import attacks, bank, data, models, query
from mialib.attacks import ATTACKS, best_threshold, lira_scores, rmia_scores
from mialib.splits import in_out_mask

rng = np.random.default_rng(0)


def rows() -> list[Row]:
    return [
        rmia_row(),
        lira_row(),
        threshold_row(),
        gradient_row("mlp", data.load("shoppers", size=500), 15),
        gradient_row("resnet20", data.load("letters", size=100), None),
    ]


def rmia_row() -> Row:
    ratio = rng.lognormal(size=10_000)
    population = rng.lognormal(size=5_000)

    def table() -> np.ndarray:
        """RMIA by its definition."""
        return (ratio[:, None] / population[None] >= 1).mean(axis=1)

    times = fastest(lambda: rmia_scores(ratio, population), table)
    return Row("RMIA, 10k × 5k, against the n×m table", *times, 500)


def lira_row() -> Row:
    phi, references, is_in = reference_arrays(10_000)

    def loop() -> list[float]:
        """LiRA one record at a time."""
        scores = []
        for own, column, held in zip(phi, references.T, is_in.T, strict=True):
            inside = column[held]
            outside = column[~held]
            distance_in = (own - inside.mean()) / inside.std()
            distance_out = (own - outside.mean()) / outside.std()
            widths = np.log(outside.std() / inside.std())
            scores.append(distance_out**2 / 2 - distance_in**2 / 2 + widths)
        return scores

    times = fastest(lambda: lira_scores(phi, references, is_in), loop)
    return Row("LiRA, 10k × 16, against a loop over records", *times, 100)


def threshold_row() -> Row:
    scores = rng.normal(size=20_000)
    is_member = np.arange(20_000) < 10_000

    def all_pairs() -> float:
        """Compare each candidate with every record."""
        inside = scores[is_member]
        outside = scores[~is_member]
        return max(scores, key=lambda t: (inside >= t).mean() - (outside >= t).mean())

    times = fastest(lambda: best_threshold(scores, is_member), all_pairs)
    return Row("best threshold, 10k + 10k, against all pairs", *times, 50)


def gradient_row(name: str, records: data.Records, aim: float | None) -> Row:
    model = models.build(name, shape=records.x.shape[1:], classes=records.classes)
    one_by_one = [records.take(np.array([i])) for i in range(len(records))]

    def loop() -> None:
        for record in one_by_one:
            query.gradient_norms(model, record)

    times = fastest(lambda: query.gradient_norms(model, records), loop)
    return Row(f"Grad-x, {len(records)} records, against one at a time, {name}", *times, aim)


def reference_arrays(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """φ of the target (n,), of 16 references (16, n), and who was in which."""
    return rng.normal(size=n), rng.normal(size=(16, n)), in_out_mask(n, 16)


def whole_suite() -> tuple[str, float]:
    """Seconds for every threshold and reference attack on 10,000 records and 64 models."""
    n = 10_000
    logits = rng.normal(size=(64, n, 10)).astype(np.float16)
    labels = rng.integers(10, size=n)
    nobody = np.zeros((64, 1000), bool)
    population = bank.Bank(logits[:, :1000], labels[:1000], nobody)
    models_of_records = bank.Bank(logits, labels, in_out_mask(n, 64), population=population)
    game = attacks.game(models_of_records)
    shadow = game.shadow.signals(0)
    thresholds = ("correctness", "loss", "max confidence", "entropy", "modified entropy")

    def work() -> None:
        for name in thresholds:
            ATTACKS[name].fit(shadow).score(game.target)
        for name in ("LiRA", "RMIA", "Attack R", "Attack P"):
            ATTACKS[name].fit(game.shadow).score(game.target)

    what = f"{len(thresholds)} threshold and 4 reference attacks, 10,000 records, 64 models"
    return what, fastest(work, rounds=5)[0]
