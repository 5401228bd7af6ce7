"""Worlds to attack, every attack by name, and checks that an attack passes or fails. Used by several test files."""

from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mialib import attacks, metrics, splits
from mialib.attacks import neural
from mialib.bank import Bank
from mialib.signals import Signals

CLASSES = 4


def signals(seed, *, n=200, gap=2.0, classes=CLASSES):
    """Signals with every column; with `gap`, members are surer, steadier and flatter, without it nothing differs."""
    rng = np.random.default_rng(seed)
    labels, is_member = rng.integers(classes, size=n), rng.permutation(n) < n // 2
    logits = rng.normal(size=(n, classes))
    logits[np.arange(n), labels] += 1 + gap * is_member
    calm = 1 / (1 + gap * is_member)
    bits = {
        f"{name}s": rng.random((n, k)) < 1 - calm[:, None] ** 2 / 2
        for name, k in (("rotation", 3), ("shift", 5))
    }
    norms = {f"gradient_l{p}": rng.exponential(calm) for p in (1, 2)}
    more = {"noise": rng.exponential(calm[:, None], (n, classes)), **bits, **norms}
    others = Signals(rng.normal(size=(n // 2, classes)), rng.integers(classes, size=n // 2))
    return Signals(logits, labels, is_member, more=more, population=others)


def bank(seed, *, models=16, n=200, base=1.0, gap=2.0, views=0, mask=None):
    """Models in complementary pairs; their logits at the label are about `base`, for what they hold `gap` more."""
    rng = np.random.default_rng(seed)
    mask = splits.in_out_mask(n, models, seed=seed) if mask is None else mask
    labels, hard, few = rng.integers(CLASSES, size=n), rng.normal(size=n), n // 2
    own = np.arange(CLASSES) == labels[:, None]
    logits = rng.normal(size=(len(mask), n, CLASSES)) + own * (
        base + hard[:, None] + gap * mask[..., None]
    )
    others = Bank(
        rng.normal(size=(len(mask), few, CLASSES)),
        rng.integers(CLASSES, size=few),
        np.zeros((len(mask), few), bool),
        rng.normal(size=(len(mask), views, few)) if views else None,
    )
    more = rng.normal(size=(len(mask), views, n)) + hard + gap * mask[:, None] if views else None
    return Bank(logits, labels, mask, more, others)


def dealt(everything, target=0, *, fair=True):
    """References and target; dealt unfairly, the target's complement is among the references."""
    rest = [k for k in range(len(everything)) if k != target and not (fair and k == target ^ 1)]
    return everything.take(rest), everything.signals(target)


def flattened(table):
    """The same records under a model, or models, that answer every record alike."""
    population = replace(table.population, logits=np.zeros_like(table.population.logits))
    more = (
        {}
        if isinstance(table, Bank)
        else {"more": {k: np.ones_like(v) for k, v in table.more.items()}}
    )
    return replace(table, logits=np.zeros_like(table.logits), population=population, **more)


METRIC = {
    f"{name}{', per class' * per_class}": partial(
        attacks.threshold_attack, score=score, per_class=per_class
    )
    for name, score in attacks.METRICS.items()
    for per_class in (False, True)
} | {f"gradient {norm}": partial(attacks.gradient_attack, norm=norm) for norm in ("l1", "l2")}
LEARNED = {
    "neural": attacks.neural_attack,
    "neural, logits": partial(attacks.neural_attack, outputs="logits"),
    "neural, CRL": partial(attacks.neural_attack, form="crl"),
    "discriminator": attacks.discriminator_attack,
    "rotations": attacks.augmentation_attack,
    "shifts, PAST": partial(attacks.augmentation_attack, views="shifts", form="past"),
}
REFERENCE = {
    "LiRA": attacks.lira,
    "LiRA, median": partial(attacks.lira, center="median"),
    "LiRA, pooled": partial(attacks.lira, variance="pooled"),
    "LiRA, pooled, slips": partial(attacks.lira, variance="pooled", center="median", slips=True),
    "LiRA offline": partial(attacks.lira, online=False),
    "LiRA offline, pooled": partial(attacks.lira, online=False, variance="pooled"),
    "LiRA offline, slips": partial(attacks.lira, online=False, slips=True),
    "RMIA": attacks.rmia,
    "RMIA, γ = 2": partial(attacks.rmia, gamma=2.0),
    "RMIA online": partial(attacks.rmia, online=True),
    "attack R": attacks.attack_r,
    "attack P": attacks.attack_p,
}
ON_SIGNALS = METRIC | LEARNED
EVERY = ON_SIGNALS | REFERENCE


@cache
def world(name, gap=2.0):
    """What the attack is given, and the truth: (shadow or references, target with its membership)."""
    if name in REFERENCE:
        return dealt(bank(3, gap=gap))
    return signals(1, gap=gap), signals(2, gap=gap)


@cache
def scores(name, gap=2.0):
    given, target = world(name, gap)
    return EVERY[name](given, target.public())


@contextmanager
def fits_remembered():
    """A network that was fitted on the same shadow before is not fitted again; the learned attacks are slow."""
    fit, known = neural.perceptron, {}

    def remembered(x, is_member, **settings):
        key = (np.asarray(x).tobytes(), is_member.tobytes(), repr(settings))
        if key not in known:
            known[key] = fit(x, is_member, **settings)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neural, "perceptron", remembered)
        yield


def three_sigma(is_member):
    """Three standard deviations of the AUC of scores that know nothing."""
    members, others = is_member.sum(), (~is_member).sum()
    return 3 * np.sqrt((members + others + 1) / (12 * members * others))


# Checks: each takes an attack, what it is given and the target with its membership, and raises AssertionError.


def finds_members(attack, given, target):
    assert metrics.auc(attack(given, target.public()), target.is_member) > 0.5 + three_sigma(
        target.is_member
    )


def finds_nothing(attack, given, target):
    """For a world in which there is nothing to find."""
    found = metrics.auc(attack(given, target.public()), target.is_member)
    assert abs(found - 0.5) < three_sigma(target.is_member)


def is_blind_to_membership(attack, given, target):
    honest = attack(given, target)
    assert_allclose(attack(given, replace(target, is_member=~target.is_member)), honest)
    try:
        assert_allclose(attack(given, target.public()), honest)
    except (AttributeError, TypeError, ValueError) as error:
        raise AssertionError("The attack fails without the target's membership.") from error


def order_of_records_is_nothing(attack, given, target):
    order = np.random.default_rng(5).permutation(len(target))
    moved = given.take(range(len(given)), order) if isinstance(given, Bank) else given
    assert_allclose(
        attack(moved, target.take(order)), attack(given, target)[order], rtol=1e-4, atol=1e-5
    )


def each_record_is_judged_alone(attack, given, target):
    """A record's score depends on the shadow or the references, not on who else is asked about."""
    some = np.arange(0, len(target), 3)
    fewer = given.take(range(len(given)), some) if isinstance(given, Bank) else given
    assert_allclose(
        attack(fewer, target.take(some)), attack(given, target)[some], rtol=1e-4, atol=1e-5
    )


def order_of_models_is_nothing(attack, given, target):
    order = np.random.default_rng(6).permutation(len(given))
    assert_allclose(attack(given.take(order), target), attack(given, target), rtol=1e-9, atol=1e-9)


def needs_no_label(attack, given, target):
    relabelled = replace(target, labels=(target.labels + 1) % CLASSES)
    assert_allclose(attack(given, relabelled), attack(given, target))
