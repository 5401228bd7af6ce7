"""What lesson 14 says in fixed words."""

from __future__ import annotations

from claims import Claim, minus, over_trainings
from mialib.estimates import Estimate
from mialib.results import Results


def little_learned_leaks_little(table: Results) -> Estimate:
    """By how much DP-SGD at σ = 3 leaks less than the undefended model."""
    private = table.find(defense="DPSGD", sigma=3.0)
    return minus(private.paired(table.find(defense="Plain"), "highest"))


def loss_gap_gives_away(table: Results) -> Estimate:
    """Its accuracy on the records it tunes on, less that on test records, beyond plain training."""
    exposed = []
    for defense in ({"defense": "LossGap", "a": 0.3}, {"defense": "Plain"}):
        rows = table.find(**defense).rows
        exposed.append({r.seed: r.accuracy["inference"] - r.accuracy["test"] for r in rows})
    tuned, plain = exposed
    return over_trainings([tuned[seed] - plain[seed] for seed in tuned.keys() & plain.keys()])


CLAIMS = [
    Claim(
        "14",
        "models that have learned little leak little",
        "learned",
        little_learned_leaks_little,
    ),
    Claim(
        "14",
        "loss gap learns the labels of non-members",
        "past",
        loss_gap_gives_away,
    ),
]
