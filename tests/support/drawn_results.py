"""Results of a plan that nobody trained: its own settings, with scores and facts that are drawn.

made_up("crl", "paper")             # every setting of the plan, two seeds each
"""

import numpy as np

from mialib.experiments import plans
from mialib.results.edges import MARGINS
from mialib.results.tables import Results, Row
from small_results import ranked

EPOCHS = 12


def made_up(name, profile, *, seeds=2, n=120, failed=()):
    """`failed` names defenses of which every training diverged."""
    plan = plans.load(name, profile)
    planned = plan.rows(seeds=seeds)
    rng = np.random.default_rng(len(name))
    is_member = np.arange(2 * n) < n
    # A setting has a strength of its own, so that they differ.
    lifts = {_words(row): 0.2 + rng.random() for row in planned}
    scores = [
        [_scores(rng, is_member, lifts[_words(row)]) for _ in plan.attacks] for row in planned
    ]
    correct = rng.random((len(planned), 2 * n)) < np.where(is_member, 0.95, 0.6)
    return Results(
        rows=tuple(_row(row, rng, failed) for row in planned),
        attacks=plan.attacks,
        **ranked(scores),
        losses=rng.random((len(planned), 2 * n)).astype(np.float16),
        correct=correct,
        is_member=is_member,
        about={
            "plan": name,
            "profile": profile,
            "data": planned[0].configuration.data,
            "records": "made up",
        },
    )


def _words(row):
    return repr(row.settings)


def _scores(rng, is_member, lift):
    return rng.normal(size=len(is_member)) + lift * is_member


def _row(planned, rng, failed):
    defense = planned.settings["defense"]
    accuracy = {"train": 0.95, "test": 0.6, "inference": 0.5 + 0.2 * rng.random()}
    failure = "diverged" if defense in failed else ""
    return Row(planned.settings, planned.seed, accuracy, 0.3, 1.0, _facts(planned, rng), failure)


def _facts(planned, rng):
    epoch = {"loss_rce": 1.0, "below_rce": 0.5, "loss_rcl": 0.2, "below_rcl": rng.random()}
    bins = len(MARGINS) - 1
    places = {
        "origin": rng.random(9).tolist(),
        "boundary": rng.normal(size=9).tolist(),
        "origin, median": rng.random(),
        "boundary, median": rng.normal(),
    }
    pruned = 0.8 ** planned.settings.get("round", 0)
    return {
        "history": [epoch] * EPOCHS,
        "margins": {part: rng.integers(1, 9, bins).tolist() for part in ("members", "non_members")},
        "distances": {"AUC": rng.random(), "members": places, "non_members": places},
        "sparsity": {"remaining": 100 * pruned, "parameters": 1000},
    }
