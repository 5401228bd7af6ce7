"""Results of made-up attacks, and plans of trainings that take a second."""

import numpy as np

from mialib.configurations import Configuration
from mialib.defenses import L1
from mialib.experiments.plans import Plan, PlannedRow
from mialib.results.tables import Results, Row, as_ranks
from mialib.training import Recipe

ATTACKS = ("loss", "entropy")
TINY = Configuration(
    data="digits",
    size=360,
    model="mlp",
    options={"widths": (16,)},
    recipe=Recipe(epochs=2, batch_size=32, lr=0.05),
)


def ranked(scores, thresholds=0.5):
    """What `Results` keeps of scores (rows, attacks, n)."""
    found = [[as_ranks(one, thresholds) for one in row] for row in scores]
    return {
        "ranks": np.array([[ranks for ranks, _ in row] for row in found]),
        "thresholds": np.array([[threshold for _, threshold in row] for row in found]),
    }


def results(scores, is_member, *, thresholds=0.5, settings=None, correct=None, losses=None):
    """Rows from scores (rows, attacks, n); a row's settings are those given, and its seed its place
    among rows of equal settings."""
    scores = np.asarray(scores, float)
    rows, attacks, n = scores.shape
    settings = settings or [{"defense": "Plain"}] * rows
    return Results(
        rows=tuple(
            Row(setting, settings[:place].count(setting), {"test": 0.5}, 0.1, 1.0, {})
            for place, setting in enumerate(settings)
        ),
        attacks=ATTACKS[:attacks],
        **ranked(scores, thresholds),
        losses=np.zeros((rows, n), np.float16) if losses is None else np.float16(losses),
        correct=np.ones((rows, n), bool) if correct is None else correct,
        is_member=np.asarray(is_member),
        about={"plan": "made up", "profile": "quick"},
    )


class TinyPlan(Plan):
    """Two settings of a small perceptron on digits."""

    def rows(self, *, seeds=None, data=None):
        settings = {"Plain": TINY, "L1": TINY.defended(L1(1e-3))}
        return [
            PlannedRow(configuration.but(seed=seed), {"defense": name})
            for seed in range(seeds or 2)
            for name, configuration in settings.items()
        ]


def tiny_plan(**changes):
    settings = {
        "name": "tiny",
        "profile": "quick",
        "about": "two settings of a small perceptron",
        "seeds": (0, 1),
        "attacks": ATTACKS,
        "facts": (),
        "settings": (),
    }
    return TinyPlan(**settings | changes)
