"""Processor seconds for an epoch of a defense beside a plain epoch, measured in one run.

    epoch_costs(configuration, [RelaxLoss(), DPSGD()])    # {"Plain": (0.13, 1.0), "RelaxLoss": (0.14, 1.07), …}

Lesson 11 shows them, and `tools/bench_defenses.py` prints them.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mialib.configurations import Configuration
    from mialib.training import Plain


def epoch_costs(
    configuration: Configuration, defenses: Iterable[Plain], *, rounds: int = 2
) -> dict[str, tuple[float, float]]:
    """By the defense's name: the seconds of its fastest epoch, and that over a plain one's.

    The first two epochs do not count: in them AdvReg's attacker does not learn yet, or learns for longer. Nor do slow
    ones, in which a fresh student still names one class for all, and `fit` looks at every member to see it. All start
    from one model that was trained a little, as a distillation asks for. One thread, and the time that it had a
    processor, so that a busy machine moves the ratios little.
    """
    import torch

    from mialib.defenses import DPSGD
    from mialib.training import Plain, fit

    side, recipe = configuration.side_records(), replace(configuration.recipe, epochs=7)
    grouped = configuration.but(options=configuration.options | {"norm": "group"})
    arms, seconds = {type(one).__name__: one for one in (Plain(), *defenses)}, {}
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.random.fork_rng(devices=[]):
        started = configuration.build_model()
        fit(
            started,
            side.train,
            replace(recipe, epochs=10, batch_size=32),
            device=configuration.device,
        )
        for _ in range(rounds):
            for name, defense in (
                *arms.items(),
                ("Plain", Plain()),
            ):  # Plain first and last: all depends on it.
                private = isinstance(defense, DPSGD) and configuration.model != "mlp"
                model = (grouped if private else configuration).build_model()
                if not private:
                    model.load_state_dict(started.state_dict())
                ends = []
                about = {
                    "defense": defense,
                    "reference": side.inference,
                    "device": configuration.device,
                }
                fit(
                    model,
                    side.train,
                    recipe,
                    **about,
                    on_epoch=lambda *_, e=ends: e.append(time.process_time()),
                )
                fastest = min(after - before for before, after in pairwise(ends[1:]))
                seconds[name] = min(fastest, seconds.get(name, fastest))
    torch.set_num_threads(threads)
    return {name: (one, one / seconds["Plain"]) for name, one in seconds.items()}
