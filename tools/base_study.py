"""Does a base model stand? Train it over seeds, and over roundings, and look at what differs.

    python tools/base_study.py images baskets resnet          # experiments of a profile

Another processor rounds in another way. That is as if every first weight were off by one part in
ten million: a training that is chaotic where it ends gives another model from there, and one that
has come to rest gives the same. So each experiment is trained, target and shadow, with ten seeds,
and ten times with one seed and first weights that are multiplied by 1 + 1e-7 · noise. It stands if
it memorised its members each time, and the advantage of the loss attack hardly differs.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from joblib import Parallel, delayed

from mialib import metrics, profiles, progress, query, runs
from mialib.attacks import ATTACKS
from mialib.configurations import Configuration
from mialib.models import Network

ROUNDING = 1e-7
MEMORISED = 0.995  # the least accuracy on members, of every training
STEADY = 0.03  # the most standard deviation of the advantage


class Outcome(NamedTuple):
    """What one training of the target gave, attacked by a threshold from one of the shadow."""

    train: float
    test: float
    advantage: float
    seconds: float  # of the processor, for one of the two models


def outcome(configuration: Configuration, rounding: int = 0) -> Outcome:
    """Train target and shadow, and attack; 0 leaves the first weights as they are."""
    torch.set_num_threads(configuration.threads)
    started = time.process_time()
    signals = {}
    with progress.silent():
        for side in ("target", "shadow"):
            one = configuration.but(side=side)
            signals[side] = query.collect(trained(one, rounding), one.side_records())
    target = signals["target"]
    attack = ATTACKS["loss"].fit(signals["shadow"])
    scores = attack.score(target.public())
    return Outcome(
        train=float(target.members().correct().mean()),
        test=float(target.non_members().correct().mean()),
        advantage=metrics.advantage(scores, target.is_member, threshold=attack.threshold),
        seconds=(time.process_time() - started) / 2,
    )


def trained(configuration: Configuration, rounding: int) -> Network:
    """The network after all trainings of the configuration."""
    if configuration.start is None:
        model = rounded(configuration.build_model(), rounding)
    else:
        model = trained(configuration.start, rounding)
    runs.fit_as_configured(configuration, model, configuration.side_records())
    return model


def rounded(model: Network, rounding: int) -> Network:
    """The model as another processor might have it: in place."""
    if rounding:
        generator = torch.Generator().manual_seed(rounding)
        for weight in model.parameters():
            noise = torch.randn(weight.shape, generator=generator)
            weight.data.mul_(1 + ROUNDING * noise)
    return model


def study(
    configurations: Sequence[Configuration], *, seeds: int, roundings: int, jobs: int
) -> list[tuple[list[Outcome], list[Outcome]]]:
    """For each configuration what came out over seeds, and over roundings."""
    work = []
    for configuration in configurations:
        work += [delayed(outcome)(configuration.but(seed=seed)) for seed in range(seeds)]
        work += [delayed(outcome)(configuration, number + 1) for number in range(roundings)]
    found = iter(Parallel(n_jobs=jobs)(work))
    return [
        ([next(found) for _ in range(seeds)], [next(found) for _ in range(roundings)])
        for _ in configurations
    ]


def row(name: str, over_seeds: Sequence[Outcome], over_roundings: Sequence[Outcome]) -> str:
    """One line of the table."""
    both = [*over_seeds, *over_roundings]
    lowest = min(one.train for one in both)
    cells = [name, f"{lowest:.3f}", _mean_and_deviation([one.test for one in over_seeds])]
    deviations = []
    for outcomes in (over_seeds, over_roundings):
        advantages = [one.advantage for one in outcomes]
        cells.append(_mean_and_deviation(advantages))
        deviations.append(np.std(advantages, ddof=1) if len(advantages) > 1 else 0.0)
    cells.append(f"{np.median([one.seconds for one in both]):.1f}")
    stands = lowest >= MEMORISED and max(deviations) <= STEADY
    cells.append("stands" if stands else "does not stand")
    return f"| {' | '.join(cells)} |"


def _mean_and_deviation(values: Sequence[float]) -> str:
    if len(values) < 2:
        return " ".join(f"{value:.3f}" for value in values)
    return f"{np.mean(values):.3f} ± {np.std(values, ddof=1):.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("experiments", nargs="+")
    parser.add_argument("--profile", default="quick")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--roundings", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    experiments = profiles.load(arguments.profile).experiments
    print("| experiment | lowest train | test | advantage: seeds | roundings | s a model | |")
    print("|---|---|---|---|---|---|---|")
    for name in arguments.experiments:
        [outcomes] = study(
            [experiments[name]],
            seeds=arguments.seeds,
            roundings=arguments.roundings,
            jobs=arguments.jobs,
        )
        print(row(name, *outcomes), flush=True)


if __name__ == "__main__":
    main()
