"""How the time of every attack, metric, sparse layer and audit grows with its size.

The exponent is the slope of log seconds over log size, from the third-smallest size on where there
are enough: 1 is linear, n log n is about 1.1, 2 is quadratic. Sizes grow until a call would take
longer than `BUDGET`, so learned attacks are measured at fewer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from mialib import metrics
from mialib.attacks import ATTACKS
from mialib.attacks.reference import ReferenceAttack
from mialib.audits import audit
from mialib.bank import Bank
from mialib.signals import Signals
from mialib.splits import in_out_mask

SIZES = (300, 1_000, 3_000, 10_000, 30_000, 100_000)
MODELS = 16
CLASSES = 10
BUDGET = 4.0  # processor seconds that one call may take
MOST = 1.3  # an exponent that n log n does not reach
DRAWS = 20  # of a bootstrap, whose time is theirs times that of one
Job = Callable[[int], Callable[[], object]]  # size → the work at that size


class Growth(NamedTuple):
    """The seconds of one piece of work by its size."""

    what: str
    sizes: tuple[int, ...]
    seconds: tuple[float, ...]
    expected: str = "n log n"
    most: float = MOST

    @property
    def exponent(self) -> float:
        """The slope of the larger sizes, of which there must be two."""
        start = max(min(2, len(self.sizes) - 3), 0)
        sizes = np.log(self.sizes[start:])
        seconds = np.log(np.maximum(self.seconds[start:], 1e-9))
        return float(np.polyfit(sizes, seconds, 1)[0])

    @property
    def is_too_steep(self) -> bool:
        return self.exponent > self.most


def signals(n: int, *, seed: int = 0) -> Signals:
    """Signals with every column that an attack may ask for; members are surer."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(CLASSES, size=n)
    is_member = np.arange(n) % 2 == 0
    logits = rng.normal(size=(n, CLASSES)).astype(np.float32)
    logits[np.arange(n), labels] += 1 + is_member
    extra = {
        "noise": rng.exponential(size=(n, CLASSES)),
        "rotations": rng.random((n, 3)) < 0.8,
        "shifts": rng.random((n, 5)) < 0.8,
        "gradient_l1": rng.exponential(size=n),
        "gradient_l2": rng.exponential(size=n),
        "boundary": rng.exponential(1.0 + is_member),
        "trajectory": rng.exponential(size=(n, 4)),
        "inputs": rng.normal(size=(n, 8)),
    }
    some = n // 2
    others = Signals(
        rng.normal(size=(some, CLASSES)).astype(np.float32),
        rng.integers(CLASSES, size=some),
        extra={"inputs": rng.normal(size=(some, 8))},
    )
    return Signals(logits, labels, is_member, extra=extra, population=others)


def references(n: int) -> Bank:
    """The answers of reference models on the records of `signals(n)`, and on its population."""
    rng = np.random.default_rng(1)
    target = signals(n)
    logits = rng.normal(size=(MODELS, n, CLASSES)).astype(np.float16)
    others = rng.normal(size=(MODELS, n // 2, CLASSES)).astype(np.float16)
    nobody = np.zeros((MODELS, n // 2), bool)
    population = Bank(others, target.population.labels, nobody)
    return Bank(logits, target.labels, in_out_mask(n, MODELS), population=population)


def attack_job(name: str) -> Job:
    """Fitting an attack of the registry and scoring n records."""
    attack = ATTACKS[name]

    def prepare(n: int) -> Callable[[], object]:
        target = signals(n)
        is_reference = isinstance(attack, ReferenceAttack)
        learned_from = references(n) if is_reference else signals(n, seed=1)
        return lambda: attack.fit(learned_from).score(target)

    return prepare


def scored(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    is_member = np.arange(n) % 2 == 0
    return rng.normal(size=n) + is_member, is_member


def metric_job(name: str, **options: object) -> Job:
    return lambda n: partial(getattr(metrics, name), *scored(n), **options)


def weighted_job(n: int) -> Callable[[], object]:
    scores, is_member = scored(n)
    members = np.tile(is_member, (DRAWS, 1)).astype(np.int32)
    return partial(metrics.weighted_roc, scores, members, 1 - members)


def bootstrap_job(n: int) -> Callable[[], object]:
    def area(fpr: np.ndarray, tpr: np.ndarray, threshold: np.ndarray) -> np.ndarray:
        return metrics.area(fpr, tpr)

    return partial(metrics.bootstrap, *scored(n), area, draws=DRAWS)


def audit_job(n: int) -> Callable[[], object]:
    given = signals(n)
    arrays = {"logits": given.logits, "labels": given.labels, "is_member": given.is_member}
    return partial(audit.from_outputs, **arrays)


METRICS: dict[str, Job] = {
    "check": metric_job("check"),
    "roc": metric_job("roc"),
    "weighted_roc": weighted_job,
    "auc": metric_job("auc"),
    "rates": metric_job("rates", threshold=0.5),
    "advantage": metric_job("advantage", threshold=0.5),
    "best_advantage": metric_job("best_advantage"),
    "tpr_at_fpr": metric_job("tpr_at_fpr", fpr=0.1, draws=DRAWS),
    "evaluate": metric_job("evaluate", threshold=0.5, draws=DRAWS),
    "bootstrap": bootstrap_job,
}
# The other functions of `metrics` take numbers, or a curve, and no records.
WITHOUT_RECORDS = frozenset(
    "resolvable area largest_tpr clopper_pearson ppv p1 defense_level significant".split()
)


def jobs() -> dict[str, Job]:
    """Every attack of the registry, every metric of records, and an audit of outputs."""
    attacks = {f"attack: {name}": attack_job(name) for name in ATTACKS}
    measures = {f"metric: {name}": job for name, job in METRICS.items()}
    return {**attacks, **measures, "audit of outputs": audit_job}


def grown(
    what: str, job: Job, *, sizes: Sequence[int] = SIZES, budget: float = BUDGET, rounds: int = 3
) -> Growth:
    """Processor seconds at each size, until the next one would cost more than the budget."""
    seconds: list[float] = []
    for place, n in enumerate(sizes):
        if place >= 2 and seconds[-1] * n / sizes[place - 1] > budget:
            break
        work = job(n)
        turns = 1 if seconds and seconds[-1] > budget / 8 else rounds
        seconds.append(min(processor_seconds(work) for _ in range(turns)))
    return Growth(what, tuple(sizes[: len(seconds)]), tuple(seconds))


def processor_seconds(work: Callable[[], object]) -> float:
    """A busy machine hardly moves them."""
    started = time.process_time()
    work()
    return time.process_time() - started


def all_growth() -> list[Growth]:
    return [grown(what, job) for what, job in jobs().items()]


def as_line(growth: Growth) -> str:
    largest = f"{growth.seconds[-1]:.4f} s at {growth.sizes[-1]:,}"
    steep = "  too steep" if growth.is_too_steep else ""
    return f"{growth.what:<40}{largest:>24}{growth.exponent:>8.2f}  {growth.expected}{steep}"
