"""Processor seconds for an epoch of a defense beside a plain epoch, measured in one run.

    costs = epoch_costs(configuration, [RelaxLoss(), DPSGD()])
    costs["RelaxLoss"].seconds, costs["RelaxLoss"].ratio         # 0.14, and 1.07 times a plain one
    fastest(dense, butterfly)       # seconds of any jobs, taken in turns

Lesson 11 shows the first, lesson 13 the second, and `make bench` prints them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor

from mialib.configurations import Configuration
from mialib.runs import threads
from mialib.training import Defense, Plain, fit

FIRST = 2  # epochs that do not count


class EpochCost(NamedTuple):
    """What an epoch of a defense costs."""

    seconds: float  # of its fastest epoch
    ratio: float  # over those of a plain one


def epoch_costs(
    configuration: Configuration, defenses: Iterable[Defense], *, rounds: int = 2
) -> dict[str, EpochCost]:
    """What an epoch costs, by the defense's name.

    The first two epochs do not count: in them AdvReg's attacker does not learn yet, or learns for
    longer. Nor do slow ones, in which a fresh student still names one class for all, and `fit`
    looks at every member to see it. All start from one model that was trained a little, as a
    distillation asks for. One thread, and the time that it had a processor, so that a busy machine
    moves the ratios little.
    """
    named = {type(defense).__name__: defense for defense in (Plain(), *defenses)}
    seconds: dict[str, float] = {}
    with one_thread(), torch.random.fork_rng(devices=[]):
        started = _trained_a_little(configuration)
        for _ in range(rounds):
            # Plain comes first and last, because all depends on it.
            for name, defense in (*named.items(), ("Plain", Plain())):
                found = _fastest_epoch(configuration, defense, started)
                seconds[name] = min(found, seconds.get(name, found))
    return {name: EpochCost(one, one / seconds["Plain"]) for name, one in seconds.items()}


def _trained_a_little(configuration: Configuration) -> dict[str, Tensor]:
    """Weights to start from."""
    model = configuration.build_model()
    recipe = replace(configuration.recipe, epochs=10, batch_size=32)
    fit(model, configuration.side_records().train, recipe, device=configuration.device)
    return model.state_dict()


def _fastest_epoch(
    configuration: Configuration, defense: Defense, started: dict[str, Tensor]
) -> float:
    """Seconds of the fastest epoch that counts."""
    side = configuration.side_records()
    options = configuration.but(defense=Plain()).defended(defense).options
    model = configuration.but(options=options).build_model()
    if options == configuration.options:
        model.load_state_dict(started)  # Another normalisation cannot start from these weights.
    ends: list[float] = []
    fit(
        model,
        side.train,
        replace(configuration.recipe, epochs=FIRST + 5),
        defense=defense,
        inference=side.inference,
        device=configuration.device,
        on_epoch=lambda *_: ends.append(time.process_time()),
    )
    counted = ends[FIRST - 1 :]
    return min(after - before for before, after in pairwise(counted))


def fastest(*jobs: Callable[[], object], rounds: int = 7) -> list[float]:
    """The shortest time of each job in seconds; they take turns, and the first turn warms up.

    The processor's time does not count what a busy machine does meanwhile. Where it is too coarse,
    as on Windows, the clock on the wall stands in.
    """
    is_fine = time.get_clock_info("process_time").resolution < 1e-5
    clock = time.process_time if is_fine else time.perf_counter
    times: list[list[float]] = [[] for _ in jobs]
    for _ in range(rounds + 1):
        for job, seen in zip(jobs, times, strict=True):
            start = clock()
            job()
            seen.append(clock() - start)
    return [min(seen[1:]) for seen in times]


def one_thread() -> AbstractContextManager[None]:
    """Torch on one thread, as a run has it unless told otherwise."""
    return threads(1)
