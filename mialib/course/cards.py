"""Threat-model cards: what each attack sees of the target, what it must have, what it costs.

>>> print(cards("loss").data.splitlines()[-1])
| loss | outputs, label | a shadow | 1 query per record, 1 training run | a threshold |
"""

from __future__ import annotations

from typing import NamedTuple

from IPython.display import Markdown

from mialib.errors import check_choice
from mialib.markdown import table

HEAD = ("attack", "sees of the target", "needs", "costs", "fits")


class Card(NamedTuple):
    """What an attack demands, in words."""

    sees: str  # of the target
    needs: str  # beside the target
    costs: str
    fits: str  # what is fitted before the target is asked


_ONE_QUERY = "1 query per record"
_ONE_RUN = "1 query per record, 1 training run"
_LABELS = "predicted labels, label"
_ONE_GRADIENT = "1 forward and 1 backward pass per record, 1 training run"
_MANY_RUNS = "tens of training runs"
_MANY_RUNS_ONCE = "tens of training runs, once"

# By the attack's name in `mialib.attacks.ATTACKS`.
CARDS = {
    "correctness": Card("predicted label, label", "nothing", _ONE_QUERY, "nothing: right or wrong"),
    "loss": Card("outputs, label", "a shadow", _ONE_RUN, "a threshold"),
    "max confidence": Card("outputs", "a shadow", _ONE_RUN, "a threshold"),
    "entropy": Card("outputs", "a shadow", _ONE_RUN, "a threshold"),
    "modified entropy": Card("outputs, label", "a shadow", _ONE_RUN, "a threshold"),
    "loss per class": Card("outputs, label", "a shadow", _ONE_RUN, "a threshold per class"),
    "neural (PAST)": Card("outputs", "a shadow", _ONE_RUN, "a network"),
    "neural (CRL)": Card(
        "outputs, label", "1 to 5 shadows", "1 query per record, 1 to 5 training runs", "a network"
    ),
    "discriminator": Card(
        "outputs, label",
        "a shadow",
        "6 queries per record, 1 training run",
        "9 networks, one chosen",
    ),
    "rotation (PAST)": Card(
        _LABELS, "a shadow", "3 queries per record, 1 training run", "a network"
    ),
    "translation (PAST)": Card(
        _LABELS, "a shadow", "5 queries per record, 1 training run", "a network"
    ),
    "rotation": Card(
        _LABELS, "a shadow", "2r + 1 queries per record, 1 training run", "a network per class"
    ),
    "translation": Card(
        _LABELS, "a shadow", "4d + 1 queries per record, 1 training run", "a network per class"
    ),
    "boundary": Card(
        _LABELS, "a shadow", "hundreds of queries per record, 1 training run", "a threshold"
    ),
    "gradient ℓ1": Card("weights, label", "a shadow", _ONE_GRADIENT, "a threshold"),
    "gradient ℓ2": Card("weights, label", "a shadow", _ONE_GRADIENT, "a threshold"),
    "trajectory": Card(
        "outputs of every checkpoint, label",
        "a shadow with its checkpoints",
        "1 query per record and checkpoint, 1 training run",
        "a network",
    ),
    "LiRA": Card("outputs, label", "references IN and OUT", _MANY_RUNS, "two Gaussians per record"),
    "LiRA offline": Card(
        "outputs, label", "references OUT", _MANY_RUNS_ONCE, "a Gaussian per record"
    ),
    "RMIA": Card(
        "outputs, label",
        "1 or more references, a population",
        "few training runs",
        "nothing: γ and a are set",
    ),
    "Attack R": Card("outputs, label", "references OUT", _MANY_RUNS_ONCE, "nothing: a percentile"),
    "Attack P": Card("outputs, label", "a population", _ONE_QUERY, "nothing: a percentile"),
    "QMIA": Card(
        "outputs, label", "a population, the inputs", _ONE_QUERY, "two regressions on the inputs"
    ),
}


def cards(*names: str) -> Markdown:
    """The cards of these attacks as a table that a notebook shows."""
    lines = [(name, *CARDS[check_choice("card", name, CARDS)]) for name in names]
    return Markdown(table(HEAD, lines))
