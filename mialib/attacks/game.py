"""The game, played fairly: an attack is handed all that it may see, and nothing that gives membership away.

Membership can slip out in three ways beside the column itself. Rows in the order members, non-members; so the game
shuffles them. A record's number in a dataset that was split by number; so it is left out. And, with references of
which every record is in exactly half: how often a record is IN among the *other* models. So the model that was dealt
the target's complement leaves with the target; a bank that still betrays it is refused. Introduced in notebook 05."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from mialib import metrics
from mialib.attacks.threshold import best_threshold
from mialib.bank import Bank
from mialib.errors import check_range, refuse
from mialib.estimates import Evaluation
from mialib.signals import Shadows, Signals

Attack = Callable[..., np.ndarray]  # attack(shadow, target, **settings) → scores (n,)


@dataclass(frozen=True, eq=False)
class Game:
    """`shadow` (signals, a list of them, or a bank of references) and `target` are what an attack is given."""

    shadow: Shadows | Bank
    target: Signals
    _order: np.ndarray
    _truth: np.ndarray

    def scores(self, attack: Attack, **settings) -> np.ndarray:
        """The attack's scores, in the order in which the records came: (n,)."""
        found, _ = metrics.check(
            attack(self.shadow, self.target, **settings), self._truth[self._order]
        )
        return found[np.argsort(self._order)]

    def play(self, attack: Attack, **settings) -> Evaluation:
        """Every number of the attack."""
        return metrics.evaluate(self.scores(attack, **settings), self._truth)


def game(
    signals: Signals | Bank, *, shadow: Shadows | None = None, target: int = 0, seed: int = 0
) -> Game:
    """Against one target with its `shadow` or shadows; or against the model number `target` of a bank."""
    order = np.random.default_rng(seed).permutation(signals.labels.size)
    if isinstance(signals, Signals):
        refuse(shadow is None, "Give the attacker a shadow: game(target, shadow=…).")
        return Game(
            shadow, replace(signals.take(order).public(), record=None), order, signals.truth()
        )
    check_range(0, len(signals) - 1, whole=True, target=target)
    bank, truth = signals, signals.is_member[target]
    others = [
        k
        for k, held in enumerate(bank.is_member)
        if k != target and not np.array_equal(held, ~truth)
    ]
    refuse(
        not others,
        "No reference model is left beside the target and its complement. Use a bank of 4 or more.",
    )
    counts, pairs = bank.is_member[others].sum(axis=0), int(truth.sum()) * int((~truth).sum())
    if pairs and abs(metrics.auc(counts, truth) - 0.5) > 5 * np.sqrt(
        (len(truth) + 1) / (12 * pairs)
    ):
        fault = "Counting how many of the other models hold a record gives the target's membership away in this bank"
        raise ValueError(
            f"{fault}. Deal the records out in complementary pairs, as splits.in_out does."
        )
    return Game(
        bank.take(others, order), bank.take([target], order).signals(0).public(), order, truth
    )


def in_turn(bank: Bank, attack: Attack, *, targets: int | None = None, **settings) -> np.ndarray:
    """The attack's scores with each model as the target: (targets, n), beside `bank.is_member[:targets]`."""
    return np.stack(
        [game(bank, target=k).scores(attack, **settings) for k in range(targets or len(bank))]
    )


def fitted(
    attack: Attack, references: Bank, target: Signals, *, practice: int = 4, **settings
) -> np.ndarray:
    """A reference attack's scores, shifted so that 0 is the threshold that was best on `practice` of the references.
    Each of them plays the target once against the others; their scores share one threshold."""
    practice = min(practice, len(references))
    scores = in_turn(references, attack, targets=practice, **settings)
    threshold = best_threshold(scores.ravel(), references.is_member[:practice].ravel())
    return attack(references, target, **settings) - threshold
