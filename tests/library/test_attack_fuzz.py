"""Anything at all, and tensors: a right answer or a ValueError that is a sentence, nothing else."""

from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from test_bad_input import ARRAYS, NUMBERS

from junk import refused
from mialib import exposure, metrics
from mialib.attacks import attack_r_scores, lira_scores, rmia_scores
from mialib.bank import Bank
from mialib.signals import Signals

a_hundred = settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])


@a_hundred
@given(
    target=ARRAYS,
    references=ARRAYS,
    is_in=ARRAYS,
    online=st.booleans(),
    variance=st.sampled_from(["record", "pooled"]),
)
def test_lira_of_anything(target, references, is_in, online, variance):
    refused(lambda: lira_scores(target, references, is_in, online=online, variance=variance))


@a_hundred
@given(ratio=ARRAYS, population=ARRAYS, gamma=NUMBERS)
def test_rmia_of_anything(ratio, population, gamma):
    def work():
        scores = rmia_scores(ratio, population, gamma=gamma)
        assert ((scores >= 0) & (scores <= 1)).all()
        assert not np.isnan(ratio).any()
        assert not np.isnan(population).any()

    refused(work)


@a_hundred
@given(loss=ARRAYS, references=ARRAYS, is_in=ARRAYS)
def test_attack_r_of_anything(loss, references, is_in):
    refused(lambda: attack_r_scores(loss, references, is_in))


@a_hundred
@given(logits=ARRAYS, labels=ARRAYS, is_member=ARRAYS, views=st.one_of(st.none(), ARRAYS))
def test_banks_of_anything(logits, labels, is_member, views):
    def work():
        bank = Bank(logits, labels, is_member, views)
        assert np.isfinite(bank.phi).all()

    refused(work)


@a_hundred
@given(logits=ARRAYS, labels=ARRAYS, views=ARRAYS)
def test_signals_of_anything(logits, labels, views):
    def work():
        signals = Signals(logits, labels, extra={"views": views})
        assert np.isfinite(signals.phi()).all()

    refused(work)


@a_hundred
@given(st.data(), st.integers(1, 6), st.integers(1, 2), st.integers(1, 4))
def test_well_shaped_tables_give_a_number_for_each_record_or_a_sentence(data, models, queries, n):
    values = st.one_of(
        st.floats(-1e4, 1e4), st.sampled_from([0.0, 1.0, np.inf, -np.inf, np.nan, 1e9])
    )
    draw = partial(hnp.arrays, np.float64, elements=values)
    target, references = data.draw(draw((queries, n))), data.draw(draw((models, queries, n)))
    is_in = data.draw(hnp.arrays(bool, (models, n)))

    def numbers(scores):
        assert scores.shape == (n,)
        assert np.isfinite(scores).all()

    for online in (True, False):
        for variance in ("record", "pooled"):
            how = {"online": online, "variance": variance}
            refused(lambda how=how: numbers(lira_scores(target, references, is_in, **how)))
    refused(lambda: numbers(attack_r_scores(target[0], references[:, 0], is_in)))
    refused(lambda: numbers(rmia_scores(target[0], references[:, 0, 0])))


# ---------------------------------------------------------------- tensors and whole floats


def tensor(array, dtype=torch.float32):
    return torch.tensor(np.asarray(array), dtype=dtype).requires_grad_()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_tensors_serve_as_arrays(dtype, rng):
    logits, labels, mask = (
        rng.integers(-3, 4, (4, 6, 3)),
        np.arange(6) % 3,
        np.arange(4)[:, None] % 2 == np.arange(6) % 2,
    )
    bank = Bank(tensor(logits, dtype), torch.tensor(labels), torch.tensor(mask))
    assert_allclose(bank.phi, Bank(logits.astype(float), labels, mask).phi)
    signals = Signals(tensor(logits[0], dtype), torch.tensor(labels), torch.tensor(mask[0]))
    assert_allclose(signals.loss(), Signals(logits[0], labels).loss())
    scores = tensor(logits[0, :, 0], dtype)
    assert metrics.auc(scores, torch.tensor(mask[0])) == metrics.auc(logits[0, :, 0], mask[0])
    assert (
        metrics.evaluate(scores, torch.tensor(mask[0]), draws=5, groups=torch.arange(6)).members
        == 3
    )
    assert metrics.tpr_at_fpr(scores, torch.tensor(mask[0]), 0.5, draws=5).value >= 0
    phi = tensor(logits[..., 0], dtype)
    assert_allclose(
        lira_scores(phi[0], phi, torch.tensor(mask)),
        lira_scores(logits[0, :, 0], logits[..., 0], mask),
    )
    assert_allclose(
        attack_r_scores(phi[0], phi, torch.tensor(mask)),
        attack_r_scores(phi[0], logits[..., 0], mask),
    )
    assert_allclose(rmia_scores(phi[0], phi[1]), rmia_scores(logits[0, :, 0], logits[1, :, 0]))


def test_tensors_serve_for_risk_and_agreement(rng):
    scores, mask = rng.normal(size=(4, 6)), np.arange(4)[:, None] % 2 == np.arange(6) % 2
    plain, from_tensors = (
        exposure.risk(scores, mask),
        exposure.risk(tensor(scores, torch.float64), torch.tensor(mask)),
    )
    assert_allclose(plain.auc, from_tensors.auc)
    found = exposure.agreement(
        {"a": tensor(scores[0]) >= 0, "b": tensor(scores[1]) >= 0}, torch.tensor(mask[0])
    )
    assert_array_equal(
        found.by_how_many,
        exposure.agreement({"a": scores[0] >= 0, "b": scores[1] >= 0}, mask[0]).by_how_many,
    )


def test_risk_refuses_membership_that_is_neither_true_nor_false():
    with pytest.raises(ValueError, match="True or False"):
        exposure.risk([[1.0], [0.0]], [[0.4], [0.0]])


def test_whole_floats_are_labels_and_others_are_not():
    assert Signals(np.zeros((2, 3)), [0.0, 2.0]).labels.tolist() == [0, 2]
    for wrong in ([0.0, 1.5], [np.nan, 0.0], [np.inf, 0.0], [1e300, 0.0]):
        with pytest.raises(ValueError, match="must be integers"):
            Signals(np.zeros((2, 3)), wrong)
