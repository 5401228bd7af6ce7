"""Attacks on large tables: slice by slice, to the bit what all records at once would give."""

import numpy as np
import pytest

from bench import memory
from mialib import signals
from mialib.attacks import (
    ATTACKS,
    RMIA,
    AttackR,
    LiRA,
    attack_r_scores,
    likelihood_ratios,
    lira_scores,
)
from mialib.bank import Bank
from mialib.signals import Signals, record_slices
from mialib.splits import in_out_mask

MODELS = 12
N = 3_001
CLASSES = 10
REFERENCE_ATTACKS = (
    LiRA(),
    LiRA(online=False),
    LiRA(variance="pooled"),
    LiRA(center="median"),
    LiRA(variance="pooled", as_published_code=True),
    RMIA(),
    RMIA(online=True),
    AttackR(),
)


@pytest.fixture(scope="module")
def bank() -> Bank:
    """A bank whose models were also asked about two views."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(MODELS, N, CLASSES)).astype(np.float16)
    labels = rng.integers(CLASSES, size=N)
    views = rng.normal(size=(MODELS, 2, N))
    nobody = np.zeros((MODELS, 900), bool)
    population = Bank(logits[:, :900], labels[:900], nobody, views=views[..., :900])
    return Bank(logits, labels, in_out_mask(N, MODELS), views=views, population=population)


@pytest.fixture(params=[2**10, 2**14])
def small_slices(request, monkeypatch):
    """A switch: from when it is called, work is done in slices of so many numbers."""

    def switch() -> None:
        monkeypatch.setattr(signals, "AT_A_TIME", request.param)
        monkeypatch.setattr(signals, "FEWEST_AT_A_TIME", 7)

    return switch


@pytest.mark.parametrize("attack", REFERENCE_ATTACKS, ids=repr)
def test_reference_attacks_score_to_the_bit_alike_in_slices(bank, attack, small_slices):
    references = bank.take(range(2, MODELS))
    target = bank.signals(0)
    whole = attack.fit(references).score(target)
    small_slices()
    assert np.array_equal(attack.fit(references).score(target), whole)


@pytest.mark.parametrize("name", memory.THRESHOLDS)
def test_threshold_attacks_score_to_the_bit_alike_in_slices(bank, name, small_slices):
    whole = ATTACKS[name].fit(bank.signals(1)).score(bank.signals(0))
    small_slices()
    assert np.array_equal(ATTACKS[name].fit(bank.signals(1)).score(bank.signals(0)), whole)


def test_phi_is_to_the_bit_alike_in_slices(bank, small_slices):
    small_slices()
    again = Bank(bank.logits, bank.labels, bank.is_member, views=bank.views)
    assert np.array_equal(again.phi, bank.phi)
    assert np.array_equal(again.phi[3], bank.signals(3).phi())


@pytest.mark.parametrize("function", [lira_scores, attack_r_scores, likelihood_ratios])
def test_references_in_fewer_bits_count_as_the_numbers_that_they_are(function):
    rng = np.random.default_rng(0)
    phi = np.abs(rng.normal(size=N))
    references = np.abs(rng.normal(size=(MODELS, N))).astype(np.float32)
    is_in = in_out_mask(N, MODELS)
    narrow = function(phi, references, is_in)
    assert narrow.dtype == np.float64
    assert np.array_equal(narrow, function(phi, references.astype(np.float64), is_in))


def test_the_ratios_of_rmia_are_those_of_its_formula():
    rng = np.random.default_rng(0)
    phi = rng.normal(size=5)
    references = rng.normal(size=(4, 5))
    is_in = np.array([[True] * 5, [False] * 5, [True] * 5, [False] * 5])
    p = 1 / (1 + np.exp(-references))
    own = 1 / (1 + np.exp(-phi))
    guessed = 0.5 * (1.3 * p[[1, 3]].mean(axis=0) + 0.7)
    assert np.allclose(likelihood_ratios(phi, references, is_in), own / guessed)
    assert np.allclose(likelihood_ratios(phi, references, is_in, online=True), own / p.mean(axis=0))
    of_population = 0.5 * (1.3 * p.mean(axis=0) + 0.7)
    assert np.allclose(likelihood_ratios(phi, references), own / of_population)


@pytest.mark.parametrize(("n", "width"), [(0, 1), (1, 10**9), (1500, 2**18), (10**6, 256)])
def test_slices_cover_every_record_once_and_are_alike(n, width):
    slices = list(record_slices(n, width=width))
    assert [part.start for part in slices] == [0] + [part.stop for part in slices[:-1]]
    assert slices[-1].stop == n
    lengths = [part.stop - part.start for part in slices]
    assert max(lengths) - min(lengths) <= 1
    assert max(lengths) * width <= signals.AT_A_TIME or max(lengths) <= signals.FEWEST_AT_A_TIME


# In float64, with a mask of numbers and the residuals, the references alone would be 368 MB more.
@pytest.mark.parametrize("case", ["LiRA", "RMIA", "Attack R", "modified entropy"])
def test_an_attack_needs_little_memory_beside_its_arrays(case):
    pytest.importorskip("resource")
    grown = memory.measure(case, 60_000, 256, 100).growth
    if grown is None:
        pytest.skip("only Linux counts what is added at the peak")
    assert grown < 60, f"{grown:.0f} MB"


def test_games_share_one_copy_of_the_logits(bank):
    order = np.random.default_rng(0).permutation(N)
    part = bank.take([4, 2], order)
    assert np.array_equal(part.logits, bank.logits[[4, 2]][:, order])
    assert np.array_equal(part.phi, bank.phi[[4, 2]][:, :, order])
    chosen = np.arange(MODELS) % 2 == 0
    assert np.array_equal(bank.take(chosen, order).logits, bank.logits[chosen][:, order])
    assert isinstance(part.signals(0), Signals)
