"""The game, played fairly: an attack sees all that it may, and nothing that betrays membership.

    played = game(bank, target=7)      # the other models are its references
    played.play(RMIA())                # every number of the attack, at its own threshold
    played.scores(RMIA())              # its scores, in the order in which the records came
    game(target, shadow=shadow)        # or one model, and what the attacker learns from

Membership can slip out in three ways beside the column itself. Rows in the order members,
non-members; so the game shuffles them. A record's number in a dataset that was split by number; so
it is left out. And, with references of which every record is in exactly half: how often a record is
IN among the *other* models. So the model that was dealt the target's complement leaves with the
target; a bank that still betrays it is refused. Introduced in notebook 05.
"""

from dataclasses import dataclass, replace

import numpy as np

from mialib import metrics
from mialib.attacks.base import Attack, FittedAttack, UnplayableError
from mialib.bank import Bank
from mialib.errors import check_range
from mialib.estimates import Evaluation
from mialib.signals import Shadows, Signals


@dataclass(frozen=True, eq=False)
class Game:
    """What an attack is given: `target`, and as `shadow` signals, a list of them, or a bank."""

    shadow: Shadows | Bank
    target: Signals
    _order: np.ndarray
    _truth: np.ndarray

    def fit(self, attack: Attack | FittedAttack) -> FittedAttack:
        """The attack, fitted on this game's shadow; one that was fitted before stays as it is."""
        if isinstance(attack, FittedAttack):
            return attack
        check_attack(attack)
        return attack.fit(self.shadow)

    def scores(self, attack: Attack | FittedAttack) -> np.ndarray:
        """The attack's scores, in the order in which the records came: (n,)."""
        shuffled = self.fit(attack).score(self.target)
        checked, _ = metrics.check(shuffled, self._truth[self._order])
        return self._in_callers_order(checked)

    def calls(self, attack: Attack | FittedAttack) -> np.ndarray:
        """Whom the attack calls a member, in the order in which the records came: (n,) bool."""
        return self._in_callers_order(self.fit(attack).calls(self.target))

    def play(self, attack: Attack | FittedAttack) -> Evaluation:
        """Every number of the attack, at the threshold that it found on shadow or references."""
        fitted = self.fit(attack)
        scores = self.scores(fitted)
        return metrics.evaluate(scores, self._truth, threshold=fitted.threshold)

    def _in_callers_order(self, shuffled: np.ndarray) -> np.ndarray:
        values = np.empty_like(shuffled)
        values[self._order] = shuffled
        return values


def game(
    signals: Signals | Bank,
    *,
    shadow: Shadows | Bank | None = None,
    target: int = 0,
    seed: int = 0,
) -> Game:
    """Against one target with its shadow, shadows or bank; or against model `target` of a bank."""
    if not isinstance(signals, Signals | Bank):
        raise ValueError(
            f"A game is played on Signals or on a Bank, found {type(signals).__name__}. "
            "Write game(target, shadow=…) or game(bank, target=7)."
        )
    check_range(0, np.inf, whole=True, seed=seed)
    order = np.random.default_rng(seed).permutation(signals.labels.size)
    if isinstance(signals, Bank):
        if shadow is not None:
            raise ValueError(
                "The other models of a bank are the references, so it takes no shadow. "
                "Write game(bank, target=7), or game(bank.signals(7), shadow=…)."
            )
        return _game_in_bank(signals, target, order)
    if shadow is None:
        raise ValueError("Give the attacker a shadow: game(target, shadow=…).")
    if isinstance(shadow, Bank):
        if not np.array_equal(shadow.labels, signals.labels):
            raise ValueError(
                "References and target must be about the same records in the same order; "
                "the labels differ."
            )
        shadow = shadow.take(np.arange(len(shadow)), order)
    public = replace(signals.take(order).public(), record_index=None)
    return Game(shadow, public, order, signals.truth())


def _game_in_bank(bank: Bank, target: int, order: np.ndarray) -> Game:
    """The model number `target` against all that do not give its membership away."""
    check_range(0, len(bank) - 1, whole=True, target=target)
    truth = bank.is_member[target]
    references = [
        model
        for model, is_member in enumerate(bank.is_member)
        if model != target and not np.array_equal(is_member, ~truth)
    ]
    if not references:
        raise UnplayableError(
            "No reference model is left beside the target and its complement. "
            "Use a bank of 4 or more."
        )
    if counting_betrays(bank.is_member[references], truth):
        raise UnplayableError(
            "Counting how many of the other models hold a record gives the target's membership "
            "away in this bank. Deal the records out in complementary pairs, as splits.in_out does."
        )
    shuffled_target = bank.take([target], order).signals(0).public()
    return Game(bank.take(references, order), shuffled_target, order, truth)


def counting_betrays(is_in: np.ndarray, truth: np.ndarray) -> bool:
    """Whether the number of references that hold a record tells more than chance, by 5 σ."""
    members = int(truth.sum())
    non_members = int((~truth).sum())
    if members == 0 or non_members == 0:
        return False
    variance_by_chance = (len(truth) + 1) / (12 * members * non_members)
    counts = is_in.sum(axis=0)
    distance_from_chance = abs(metrics.auc(counts, truth) - 0.5)
    return bool(distance_from_chance > 5 * np.sqrt(variance_by_chance))


def scores_per_target(bank: Bank, attack: Attack, *, targets: int | None = None) -> np.ndarray:
    """The attack's scores with each model as the target: (targets, n).

    The truth about them is `bank.is_member[:targets]`.
    """
    if not isinstance(bank, Bank):
        raise ValueError(f"Expected a Bank of models, found {type(bank).__name__}.")
    check_attack(attack)
    if targets is None:
        targets = len(bank)
    check_range(1, len(bank), whole=True, targets=targets)
    return np.stack([game(bank, target=model).scores(attack) for model in range(targets)])


def check_attack(attack: Attack) -> None:
    """Refuse what is no attack, and say how to make it one."""
    if isinstance(attack, Attack):
        return
    if isinstance(attack, type) and issubclass(attack, Attack):
        raise ValueError(f"{attack.__name__} is a class of attacks. Write {attack.__name__}().")
    if isinstance(attack, str):
        raise ValueError(f"Expected an attack, found its name. Write ATTACKS[{attack!r}].")
    raise ValueError(
        f"Expected an attack such as RMIA(), found {type(attack).__name__}. "
        "A function (shadow, target) → scores becomes one by FromFunction(function)."
    )
