"""How much memory the attacks take beside the arrays that they are given, each in a fresh process.

    python -m bench.memory LiRA 200000 256 100      # one attack: records, references, classes

The references are handed in as φ in float32, as whoever has 256 of them keeps them: 200,000 records
are 205 MB, where their logits in 100 classes would be 20 GB. The peak is that of the process;
`growth` is what the attack adds to its arrays, which are filled in place, so that no copy that was
given back hides it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bench.peer_process import Memory
from mialib.attacks import (
    ATTACKS,
    attack_r_scores,
    likelihood_ratios,
    lira_scores,
    rmia_scores,
)
from mialib.attacks.percentile import loss_of_phi
from mialib.bank import Bank
from mialib.signals import Signals
from paths import ROOT

THRESHOLDS = ("correctness", "loss", "max confidence", "entropy", "modified entropy")
LARGE = (200_000, 256, 100)  # records, references, classes
BANK = (100_000, 256, 10)  # a bank of logits that fits: 512 MB in float16
LIMIT = 2000.0  # megabytes
SECONDS = 10.0  # for LiRA and RMIA from the logits of the bank
POPULATION = 5_000
Work = Callable[[], object]
rng = np.random.default_rng(0)


class Peak(NamedTuple):
    """What a process took."""

    case: str
    seconds: float
    peak: float  # megabytes of the whole process
    growth: float | None  # megabytes beyond the arrays and the imports, where Linux counts them

    @property
    def is_too_large(self) -> bool:
        return self.peak > LIMIT

    @property
    def is_too_slow(self) -> bool:
        return self.case == "bank" and self.seconds > SECONDS


def phi(models: int, n: int) -> np.ndarray:
    table = np.empty((models, n), np.float32)
    for row in table:
        rng.standard_normal(out=row, dtype=np.float32)
    return table


def half_of(models: int, n: int) -> np.ndarray:
    """Which model holds which record: every record is in half of them, by pairs of models."""
    holds = np.empty((models, n), bool)
    for first, second in zip(holds[::2], holds[1::2], strict=True):
        np.less(rng.random(n, dtype=np.float32), 0.5, out=first)
        np.logical_not(first, out=second)
    return holds


def logits(n: int, classes: int) -> np.ndarray:
    return rng.standard_normal((n, classes), dtype=np.float32)


def lira(n: int, models: int, classes: int) -> Work:
    target, references, is_in = phi(1, n)[0], phi(models, n), half_of(models, n)
    return lambda: lira_scores(target, references, is_in)


def lira_offline(n: int, models: int, classes: int) -> Work:
    target, references, is_in = phi(1, n)[0], phi(models, n), half_of(models, n)
    return lambda: lira_scores(target, references, is_in, online=False)


def rmia(n: int, models: int, classes: int) -> Work:
    target, references, is_in = phi(1, n)[0], phi(models, n), half_of(models, n)
    z, z_references = phi(1, POPULATION)[0], phi(models, POPULATION)

    def work() -> np.ndarray:
        ratio = likelihood_ratios(target, references, is_in)
        return rmia_scores(ratio, likelihood_ratios(z, z_references))

    return work


def attack_r(n: int, models: int, classes: int) -> Work:
    loss = loss_of_phi(phi(1, n)[0])
    losses = phi(models, n)
    np.abs(losses, out=losses)
    is_in = half_of(models, n)
    return lambda: attack_r_scores(loss, losses, is_in)


def threshold(name: str) -> Callable[[int, int, int], Work]:
    def prepare(n: int, models: int, classes: int) -> Work:
        labels = rng.integers(classes, size=n)
        table = Signals(logits(n, classes), labels, rng.random(n) < 0.5)
        return lambda: ATTACKS[name].fit(table).score(table)

    return prepare


def whole_bank(n: int, models: int, classes: int) -> Work:
    """LiRA and RMIA from logits: checks, φ and both attacks."""
    answers = np.empty((models, n, classes), np.float16)
    for one in answers:
        one[:] = logits(n, classes)
    labels = rng.integers(classes, size=n)
    is_in = half_of(models, n)
    nobody = np.zeros((models, 1000), bool)
    own = logits(n, classes)

    def work() -> None:
        population = Bank(answers[:, :1000], labels[:1000], nobody)
        references = Bank(answers, labels, is_in, population=population)
        target = Signals(own, labels, population=Signals(own[:1000], labels[:1000]))
        for name in ("LiRA", "RMIA"):
            ATTACKS[name].fit(references).score(target)

    return work


CASES: dict[str, Callable[[int, int, int], Work]] = {
    "LiRA": lira,
    "LiRA offline": lira_offline,
    "RMIA": rmia,
    "Attack R": attack_r,
    **{name: threshold(name) for name in THRESHOLDS},
    "bank": whole_bank,
}


def measure(case: str, n: int, models: int, classes: int) -> Peak:
    """One case in a process of its own."""
    # A process inherits the peak of the one that starts it, so a small shell stands between this
    # large one and it.
    sizes = map(str, (n, models, classes))
    program = [sys.executable, "-m", "bench.memory", case, *sizes]
    command = ["sh", "-c", '"$@"; exit $?', "sh", *program]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tools'}"}
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return Peak(case, **json.loads(done.stdout))


def table() -> list[Peak]:
    """Every case at full size; the bank of logits at the size that fits."""
    return [measure(case, *(BANK if case == "bank" else LARGE)) for case in CASES]


def peak() -> float:
    """The most megabytes that this process has had."""
    import resource  # Windows has none.

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def main(arguments: list[str]) -> None:
    case, *sizes = arguments
    work = CASES[case](*map(int, sizes))
    of_arrays = peak()
    memory = Memory()
    started = time.perf_counter()
    work()
    seconds = time.perf_counter() - started
    highest = max(of_arrays, peak())
    print(json.dumps({"seconds": seconds, "peak": highest, "growth": memory.growth()}))


if __name__ == "__main__":
    main(sys.argv[1:])
