"""Speed of the attacks: against the loops that they replace, and by the number of records."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from bench_data import fastest
from mialib import attacks, bank, data, models, observe
from mialib.attacks.reference import attack_r_scores, lira_scores, rmia_scores
from mialib.attacks.threshold import best_threshold
from mialib.course import plots
from mialib.splits import in_out_mask

rng = np.random.default_rng(0)


def rows() -> list[tuple]:
    """(what, ours, theirs, ratio, aim) on the same arrays."""
    ratio, z = rng.lognormal(size=10_000), rng.lognormal(size=5_000)
    phi, references, mask = (
        rng.normal(size=10_000),
        rng.normal(size=(16, 10_000)),
        in_out_mask(10_000, 16),
    )
    scores, is_member = rng.normal(size=20_000), np.arange(20_000) < 10_000
    pairs = [
        (
            "RMIA, 10k × 5k, against the n×m table",
            lambda: rmia_scores(ratio, z),
            lambda: table(ratio, z),
            500,
        ),
        (
            "LiRA, 10k × 16, against a loop over records",
            lambda: lira_scores(phi, references, mask),
            lambda: lira_loop(phi, references, mask),
            100,
        ),
        (
            "best threshold, 10k + 10k, against all pairs",
            lambda: best_threshold(scores, is_member),
            lambda: all_pairs(scores, is_member),
            50,
        ),
    ]
    found = [(what, *fastest(ours, theirs), aim) for what, ours, theirs, aim in pairs]
    found += [_gradient_row("mlp", data.load("shoppers", size=500), 15)]
    found += [_gradient_row("resnet20", data.load("letters", size=100), "–")]
    return [(what, ours, theirs, theirs / ours, aim) for what, ours, theirs, aim in found]


def table(ratio: np.ndarray, z: np.ndarray) -> np.ndarray:
    """RMIA by its definition."""
    return (ratio[:, None] / z[None] >= 1).mean(axis=1)


def lira_loop(phi: np.ndarray, references: np.ndarray, mask: np.ndarray) -> list[float]:
    """LiRA one record at a time."""
    scores = []
    for at, column, held in zip(phi, references.T, mask.T, strict=True):
        (a, s), (b, t) = ((column[side].mean(), column[side].std()) for side in (held, ~held))
        scores.append(((at - b) / t) ** 2 / 2 - ((at - a) / s) ** 2 / 2 + np.log(t / s))
    return scores


def all_pairs(scores: np.ndarray, is_member: np.ndarray) -> float:
    """The best threshold by comparing each candidate with every record."""
    inside, outside = scores[is_member], scores[~is_member]
    return max(scores, key=lambda t: (inside >= t).mean() - (outside >= t).mean())


def _gradient_row(name: str, records: data.Records, aim: object) -> tuple:
    model = models.build(name, shape=records.x.shape[1:], classes=records.classes)
    one_by_one = [records.take(np.array([i])) for i in range(len(records))]

    def loop():
        for record in one_by_one:
            observe.gradient_norms(model, record)

    times = fastest(lambda: observe.gradient_norms(model, records), loop)
    return (f"Grad-x, {len(records)} records, against one at a time, {name}", *times, aim)


def growth(path: Path | None = None) -> None:
    """Print the seconds of each attack from 1k to 100k records with the fitted exponent, and draw them."""
    sizes = [1_000, 3_000, 10_000, 30_000, 100_000]
    jobs = {
        "threshold": lambda n: partial(best_threshold, rng.normal(size=n), np.arange(n) % 2 == 0),
        "LiRA, 16 models": lambda n: partial(lira_scores, *_arrays(n)),
        "Attack R, 16 models": lambda n: partial(attack_r_scores, *_arrays(n)),
        "RMIA, n / 2 others": lambda n: partial(
            rmia_scores, rng.lognormal(size=n), rng.lognormal(size=n // 2)
        ),
    }
    seconds = {name: [fastest(job(n), rounds=5)[0] for n in sizes] for name, job in jobs.items()}
    print(
        f"\n{'seconds by number of records':<32}"
        + "".join(f"{n:>10,}" for n in sizes)
        + f"{'exponent':>10}"
    )
    for name, times in seconds.items():
        exponent = np.polyfit(np.log(sizes[1:]), np.log(times[1:]), 1)[0]
        print(f"{name:<32}" + "".join(f"{t:>10.5f}" for t in times) + f"{exponent:>10.2f}")
    if path:
        reference = (
            seconds["threshold"][2] * np.array([n * np.log(n) for n in sizes]) / (1e4 * np.log(1e4))
        )
        picture = plots.lines(
            sizes, {**seconds, "n log n": reference}, xlabel="records", ylabel="seconds", log="xy"
        )
        path.write_bytes(picture.png)


def everything() -> tuple[str, float]:
    """Seconds for every threshold and reference attack on 10,000 records and 64 models."""
    n, mask = 10_000, in_out_mask(10_000, 64)
    logits, labels = rng.normal(size=(64, n, 10)).astype(np.float16), rng.integers(10, size=n)
    population = bank.Bank(logits[:, :1000], labels[:1000], np.zeros((64, 1000), bool))
    made = bank.Bank(logits, labels, mask, population=population)
    game = attacks.game(made)
    shadow = game.shadow.signals(0)
    references = (attacks.lira, attacks.rmia, attacks.attack_r, attacks.attack_p)

    def work():
        for score in attacks.METRICS.values():
            attacks.threshold_attack(shadow, game.target, score=score)
        for attack in references:
            attack(game.shadow, game.target)

    return "6 threshold and 4 reference attacks, 10,000 records, 64 models", fastest(
        work, rounds=5
    )[0]


def _arrays(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return rng.normal(size=n), rng.normal(size=(16, n)), in_out_mask(n, 16)
