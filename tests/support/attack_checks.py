"""Worlds to attack, every attack by name, and checks that an attack passes or fails."""

from dataclasses import replace
from functools import cache

import numpy as np
from numpy.testing import assert_allclose

from mialib import metrics, splits
from mialib.attacks import ATTACKS, METRICS, RMIA, LiRA, MetricThreshold, NeuralPast
from mialib.bank import Bank
from mialib.signals import Signals

CLASSES = 4


def signals(seed, *, n=200, gap=2.0, classes=CLASSES):
    """Signals with every column; with `gap`, members are surer, steadier and flatter."""
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
    extra = {"noise": rng.exponential(calm[:, None], (n, classes)), **bits, **norms}
    others = Signals(rng.normal(size=(n // 2, classes)), rng.integers(classes, size=n // 2))
    extra["inputs"] = rng.normal(size=(n, 3))
    extra["boundary"] = rng.exponential(1 + gap * is_member)
    extra["trajectory"] = rng.exponential(calm[:, None], (n, 4))
    others = replace(others, extra={"inputs": rng.normal(size=(n // 2, 3))})
    return Signals(logits, labels, is_member, extra=extra, population=others)


def bank(seed, *, models=16, n=200, base=1.0, gap=2.0, views=0, mask=None):
    """Models in complementary pairs; logits at the label are about `base`, IN about `gap` more."""
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
    """The same records under a model, or models, that answer every record alike.

    Each model has a constant of its own in all logits, which changes no probability: two models
    that answer alike to the last bit would be one.
    """

    def constant(logits):
        own = np.arange(len(logits))[:, None, None] if logits.ndim == 3 else len(logits)
        return np.zeros_like(logits) + 64 * own

    population = replace(table.population, logits=constant(table.population.logits))
    flat = replace(table, logits=constant(table.logits), population=population)
    if isinstance(flat, Signals):
        flat = replace(flat, extra={name: np.ones_like(c) for name, c in flat.extra.items()})
    return flat


METRIC = (
    {name: MetricThreshold(name) for name in METRICS}
    | {f"{name} per class": MetricThreshold(name, per_class=True) for name in METRICS}
    | {name: ATTACKS[name] for name in ("boundary", "gradient ℓ1", "gradient ℓ2")}
)
LEARNED = {
    name: ATTACKS[name]
    for name in (
        "neural (PAST)",
        "neural (CRL)",
        "discriminator",
        "rotation",
        "rotation (PAST)",
        "translation (PAST)",
        "trajectory",
    )
} | {"neural (PAST), logits": NeuralPast(outputs="logits")}
REFERENCE = {
    name: ATTACKS[name] for name in ("LiRA", "LiRA offline", "RMIA", "Attack R", "Attack P")
} | {
    "LiRA, median": LiRA(center="median"),
    "LiRA, pooled": LiRA(variance="pooled"),
    "LiRA, pooled, as published": LiRA(variance="pooled", center="median", as_published_code=True),
    "LiRA offline, pooled": LiRA(online=False, variance="pooled"),
    "LiRA offline, as published": LiRA(online=False, as_published_code=True),
    "RMIA, γ = 2": RMIA(gamma=2.0),
    "RMIA online": RMIA(online=True),
}
ON_POPULATION = {"QMIA": ATTACKS["QMIA"]}
ON_SIGNALS = METRIC | LEARNED | ON_POPULATION
EVERY = ON_SIGNALS | REFERENCE


@cache
def world(name, gap=2.0):
    """What the attack is given, and the truth: (shadow or references, target with membership)."""
    if name in REFERENCE:
        return dealt(bank(3, gap=gap))
    return signals(1, gap=gap), signals(2, gap=gap)


@cache
def fitted(name, gap=2.0):
    """The attack on its world's shadow: the learned ones are slow, so all tests share one fit."""
    return EVERY[name].fit(world(name, gap)[0])


@cache
def scores(name, gap=2.0):
    return fitted(name, gap).score(world(name, gap)[1].public())


def by_function(attack):
    """The attack as a function (shadow, target) → scores; a fit on the same shadow is kept."""
    kept = {}

    def score(given, target):
        if id(given) not in kept:
            kept[id(given)] = (given, attack.fit(given))  # with `given`, so that no id comes back
        return kept[id(given)][1].score(target)

    return score


@cache
def shared(name):
    """`by_function` of a named attack, that starts from the fit on its world's shadow."""
    given = world(name)[0]
    function = by_function(EVERY[name])
    beforehand = fitted(name)

    def score(of, target):
        return beforehand.score(target) if of is given else function(of, target)

    return score


def three_sigma(is_member):
    """Three standard deviations of the AUC of scores that know nothing."""
    members, others = is_member.sum(), (~is_member).sum()
    return 3 * np.sqrt((members + others + 1) / (12 * members * others))


# Checks: each takes a function (shadow, target) → scores, what it is given and the target with its
# membership, and raises AssertionError.


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
