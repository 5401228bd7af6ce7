"""The game, played fairly: an attack is handed all that it may see, and nothing that gives membership away.

Membership can slip out in three ways beside the column itself. Rows in the order members, non-members; so the game
shuffles them. A record's number in a dataset that was split by number; so it is left out. And, with references of
which every record is in exactly half: how often a record is IN among the *other* models. So the model that was dealt
the target's complement leaves with the target, and a bank that still betrays it is refused. Then `agreement` and `risk`
say which records several attacks, or several plays, find. Introduced in notebook 05."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from mialib import metrics
from mialib.attacks.threshold import best_threshold
from mialib.bank import Bank
from mialib.errors import as_array, between, refuse
from mialib.estimates import Evaluation
from mialib.signals import Shadows, Signals

Attack = Callable[..., np.ndarray]  # attack(shadow, target, **settings) → scores (n,)


class Agreement(NamedTuple):
    """{(a, b): the share found by both among the members found by either}, and by how many each is found (members,)."""

    both: dict[tuple[str, str], float]
    by_how_many: np.ndarray


@dataclass(frozen=True, eq=False)
class Game:
    """`shadow` (signals, a list of them, or a bank of references) and `target` are what an attack is given."""

    shadow: Shadows | Bank
    target: Signals
    _order: np.ndarray
    _truth: np.ndarray

    def scores(self, attack: Attack, **settings) -> np.ndarray:
        """The attack's scores, in the order in which the records came: (n,)."""
        found, _ = metrics.check(attack(self.shadow, self.target, **settings), self._truth[self._order])
        return found[np.argsort(self._order)]

    def play(self, attack: Attack, **settings) -> Evaluation:
        """Every number of the attack."""
        return metrics.evaluate(self.scores(attack, **settings), self._truth)


def game(signals: Signals | Bank, *, shadow: Shadows | None = None, target: int = 0, seed: int = 0) -> Game:
    """Against one target with its `shadow` or shadows; or against the model number `target` of a bank."""
    order = np.random.default_rng(seed).permutation(signals.labels.size)
    if isinstance(signals, Signals):
        refuse(shadow is None, "Give the attacker a shadow: game(target, shadow=…).")
        return Game(shadow, replace(signals.take(order).public(), record=None), order, signals.truth())
    between(0, len(signals) - 1, whole=True, target=target)
    bank, truth = signals, signals.is_member[target]
    others = [k for k, held in enumerate(bank.is_member) if k != target and not np.array_equal(held, ~truth)]
    refuse(not others, "No reference model is left beside the target and its complement. Use a bank of 4 or more.")
    counts, pairs = bank.is_member[others].sum(axis=0), int(truth.sum()) * int((~truth).sum())
    if pairs and abs(metrics.auc(counts, truth) - 0.5) > 5 * np.sqrt((len(truth) + 1) / (12 * pairs)):
        fault = "Counting how many of the other models hold a record gives the target's membership away in this bank"
        raise ValueError(f"{fault}. Deal the records out in complementary pairs, as splits.in_out does.")
    return Game(bank.take(others, order), bank.take([target], order).signals(0).public(), order, truth)


def in_turn(bank: Bank, attack: Attack, *, targets: int | None = None, **settings) -> np.ndarray:
    """The attack's scores with each model as the target: (targets, n), beside `bank.is_member[:targets]`."""
    return np.stack([game(bank, target=k).scores(attack, **settings) for k in range(targets or len(bank))])


def fitted(attack: Attack, references: Bank, target: Signals, *, practice: int = 4, **settings) -> np.ndarray:
    """A reference attack's scores, shifted so that 0 is the threshold that was best on `practice` of the references.
    Each of them plays the target once against the others; their scores share one threshold."""
    practice = min(practice, len(references))
    scores = in_turn(references, attack, targets=practice, **settings)
    threshold = best_threshold(scores.ravel(), references.is_member[:practice].ravel())
    return attack(references, target, **settings) - threshold


def agreement(scores: dict[str, ArrayLike], is_member: ArrayLike) -> Agreement:
    """How far attacks find the same members, each at its own threshold 0; `scores` are (n,) by the attack's name."""
    refuse(not scores, "Give the scores of at least one attack.")
    checked = {name: metrics.check(one, is_member) for name, one in scores.items()}
    found, both = {name: values[truth] >= 0 for name, (values, truth) in checked.items()}, {}
    for a, b in combinations(found, 2):
        either = (found[a] | found[b]).sum()
        both[a, b] = float((found[a] & found[b]).sum() / either) if either else 1.0
    return Agreement(both, np.sum(list(found.values()), axis=0))


class Risk(NamedTuple):
    """For each record, over all models that played the target: the share of IN plays in which it was `caught`, the
    share of OUT plays in which it was `accused`, and its own `auc` of IN against OUT scores: each (n,)."""

    caught: np.ndarray
    accused: np.ndarray
    auc: np.ndarray

    def most_exposed(self, number: int = 10) -> np.ndarray:
        """Positions of the records that are caught most often for their false alarms, the worst first."""
        return np.lexsort((-self.auc, self.accused - self.caught))[:number]


def risk(scores: ArrayLike, is_member: ArrayLike, *, fpr: float = 0.01) -> Risk:
    """The risk of each record, from scores and membership (targets, n) and one threshold at this pooled FPR."""
    scores, is_member = as_array(scores, what="scores").astype(float), as_array(is_member, kind="b", what="is_member")
    found = f"found {scores.shape} and {is_member.shape}"
    refuse(scores.ndim != 2 or scores.shape != is_member.shape, f"Expected two arrays (targets, n), {found}.")
    between(0, 1, fpr=fpr)
    plays_in, plays_out = is_member.sum(axis=0), (~is_member).sum(axis=0)
    refuse(not (plays_in * plays_out).all(), "Each record must be both IN and OUT at least once. Use more targets.")
    curve = metrics.roc(scores.ravel(), is_member.ravel())
    called = scores >= curve.threshold[np.flatnonzero(curve.fpr <= fpr + 1e-12)[-1]]
    ranks = scipy.stats.rankdata(scores, axis=0)
    wins = (ranks * is_member).sum(axis=0) - plays_in * (plays_in + 1) / 2  # Mann and Whitney's U
    caught, accused = (called & is_member).sum(axis=0), (called & ~is_member).sum(axis=0)
    return Risk(caught / plays_in, accused / plays_out, wins / (plays_in * plays_out))
