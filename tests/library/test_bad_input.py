"""Bad input by the hundred: a clear error or a right answer, never a silent wrong one."""

import math

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from junk import JUNK, refused
from mialib import bank, data, exposure, metrics, models, shipped, splits
from mialib.attacks import MetricThreshold
from mialib.course import plots, widgets
from mialib.course.figures.records import threshold_view
from mialib.data import Records
from mialib.errors import (
    as_array,
    check_choice,
    check_flag,
    check_range,
    plain_number,
    plain_tuple,
)
from mialib.metrics import clopper_pearson
from mialib.signals import Signals, loss_gap, phi_from_logits, pool
from mialib.store import Store
from mialib.training import Recipe

NUMBERS = st.one_of(
    st.integers(-3, 40), st.floats(width=32), st.sampled_from([0.5, 1e-30, 1e30, True, None, "7"])
)
SHAPES = hnp.array_shapes(min_dims=0, max_dims=5, min_side=0, max_side=5)
DTYPES = st.sampled_from([np.float32, np.float64, np.int64, np.uint8, bool, complex, "U2"])
ARRAYS = DTYPES.flatmap(lambda dtype: hnp.arrays(dtype, SHAPES))
hundreds = settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])


@hundreds
@given(x=ARRAYS, y=ARRAYS, classes=st.integers(-1, 6))
def test_records(x, y, classes):
    def work():
        records = Records("junk", x, y, classes)
        assert records.scaled().shape == x.shape
        assert np.isfinite(records.scaled()).all()
        assert set(records.y) <= set(range(classes))
        assert len(records) == len(x) > 0

    refused(work)


@hundreds
@given(logits=ARRAYS, labels=ARRAYS, is_member=ARRAYS)
def test_signals(logits, labels, is_member):
    def work():
        signals = Signals(logits, labels, is_member)
        assert (signals.loss() >= 0).all()
        assert len(signals.members()) + len(signals.non_members()) == len(signals)
        assert math.isfinite(loss_gap(signals))
        assert np.isfinite(MetricThreshold().fit(signals).score(signals.public())).all()

    refused(work)


@hundreds
@given(
    st.dictionaries(
        st.sampled_from(["epochs", "batch_size", "lr", "momentum", "weight_decay"]),
        NUMBERS,
        min_size=1,
    )
)
def test_recipes(settings):
    def work():
        recipe = Recipe(**settings)
        assert isinstance(recipe.epochs, int)
        assert recipe.epochs >= 1
        assert recipe.batch_size >= 1
        assert 0 <= recipe.lr < math.inf
        assert 0 <= recipe.momentum <= 1
        assert 0 <= recipe.weight_decay < math.inf

    refused(work)


@hundreds
@given(
    name=st.sampled_from(["mlp", "resnet20", "x"]),
    shape=st.lists(st.integers(-1, 9), max_size=4),
    classes=st.integers(-1, 5),
    options=st.dictionaries(st.sampled_from(["width", "norm", "colour"]), NUMBERS, max_size=2),
)
def test_networks(name, shape, classes, options):
    def work():
        network = models.build(name, shape=tuple(shape), classes=classes, **options).eval()
        assert network(torch.zeros(2, *shape)).shape == (2, classes)

    refused(work)


@hundreds
@given(
    name=st.sampled_from([*splits.SPLITS, "sixparts"]),
    n=st.integers(1, 200),
    validation=NUMBERS,
    options=st.dictionaries(
        st.sampled_from(["shadows", "inference", "models", "k"]), NUMBERS, max_size=2
    ),
)
def test_splits(name, n, validation, options):
    records = Records("few", np.zeros((n, 1), np.uint8), np.arange(n) % 3, 3)

    def work():
        for side in splits.split(name, records, validation=validation, **options).values():
            indices = np.concatenate([part.index for part in side.parts().values()])
            assert len(indices) == len(set(indices)) <= n

    refused(work)


@hundreds
@given(
    name=st.one_of(
        st.text("abdegilorst", min_size=1), st.sampled_from(["letters", "digits", "shoppers"])
    ),
    size=NUMBERS,
    seed=NUMBERS,
)
def test_loading(name, size, seed):
    def work():
        if size is not None:
            assert len(data.load(name, size=size, seed=seed)) == size

    refused(work)


@hundreds
@given(tpr=NUMBERS, fpr=NUMBERS, prior=NUMBERS)
def test_shares(tpr, fpr, prior):
    def work():
        value = float(metrics.ppv(tpr, fpr, prior))
        assert math.isnan(value) or 0 <= value <= 1
        assert 0 <= metrics.p1(tpr, fpr) <= 1

    refused(work)


@hundreds
@given(hits=NUMBERS, n=NUMBERS)
def test_intervals(hits, n):
    def work():
        low, high = clopper_pearson(hits, n)
        assert 0 <= low <= hits / n <= high <= 1

    refused(work)


@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
@given(member=ARRAYS, non_member=ARRAYS)
def test_figures(member, non_member):
    for figure in (plots.histograms, lambda *pair: threshold_view(*pair, threshold=0.5)):
        assert (
            refused(lambda figure=figure: figure(member, non_member))
            or figure(member, non_member).png
        )


@hundreds
@given(low=NUMBERS, high=NUMBERS, start=NUMBERS)
def test_sliders(low, high, start):
    def work():
        slider = widgets.log_slider(low, high, start=start, label="strength")
        assert low * 0.999 <= slider.value <= high * 1.001

    refused(work)


@pytest.mark.parametrize("key", ["", ".", "..", "../out", "a/b", "/tmp/x", ".hidden", "a\0b"])
def test_a_key_is_a_plain_name(tmp_path, key):
    with pytest.raises(ValueError, match="plain name"):
        Store(tmp_path / "store").get(key, lambda folder: None)
    assert not (tmp_path / "out").exists()


# ---------------------------------------------------------------- junk for the array layer

RNG = np.random.default_rng(0)
N = 12
IS_MEMBER = np.arange(N) < N // 2
SCORES = RNG.normal(size=N) + IS_MEMBER
LABELS = np.arange(N) % 3
LOGITS = RNG.normal(size=(N, 3))
SIGNALS = Signals(LOGITS, LABELS, IS_MEMBER, extra={"noise": LOGITS})
HOLDS = RNG.permuted(np.arange(4)[:, None] < np.full(N, 2), axis=0)  # (models, records)
BANK = bank.Bank(RNG.normal(size=(4, N, 3)), LABELS, HOLDS)
TABLE = {"scores": SCORES, "is_member": IS_MEMBER}
RESAMPLING = {"groups": np.arange(N), "draws": 9, "seed": 0}


def last_tpr(fpr, tpr, threshold):
    return tpr[:, -1]


def phi_of_views(views):
    return Signals(LOGITS, LABELS, extra={"views": views}).phi()


def agreement_of_one(calls):
    return exposure.agreement({"loss": calls}, IS_MEMBER)


# A call that works; each of its arguments is replaced by junk in turn.
CALLS = [
    (metrics.roc, TABLE),
    (metrics.auc, TABLE),
    (metrics.best_advantage, TABLE),
    (metrics.rates, TABLE | {"threshold": 0.0}),
    (metrics.advantage, TABLE | {"threshold": 0.0}),
    (metrics.tpr_at_fpr, TABLE | {"fpr": 0.5} | RESAMPLING),
    (metrics.evaluate, TABLE | {"threshold": 0.0} | RESAMPLING),
    (metrics.bootstrap, TABLE | {"statistic": last_tpr} | RESAMPLING),
    (metrics.resolvable, {"fpr": 0.1, "non_members": 9}),
    (metrics.ppv, {"tpr": 0.1, "fpr": 0.1, "prior": 0.1}),
    (metrics.p1, {"accuracy": 0.1, "advantage": 0.1}),
    (metrics.defense_level, {"attack_accuracy": 60}),
    (metrics.significant, {"values": [1, 2], "dense": [1, 2]}),
    (metrics.clopper_pearson, {"hits": 2, "n": 4, "confidence": 0.9}),
    (
        Signals,
        {
            "logits": LOGITS,
            "labels": LABELS,
            "is_member": IS_MEMBER,
            "record_index": LABELS,
            "extra": {},
            "population": SIGNALS,
        },
    ),
    (
        Signals.from_probabilities,
        {"probabilities": SIGNALS.probabilities(), "labels": LABELS, "is_member": IS_MEMBER},
    ),
    (phi_from_logits, {"logits": LOGITS, "labels": LABELS}),
    (phi_of_views, {"views": np.zeros((N, 1))}),
    (pool, {"shadows": [SIGNALS, SIGNALS]}),
    (loss_gap, {"signals": SIGNALS}),
    (SIGNALS.take, {"rows": IS_MEMBER}),
    (SIGNALS.column, {"name": "noise"}),
    (
        bank.Bank,
        {
            "logits": BANK.logits,
            "labels": LABELS,
            "is_member": HOLDS,
            "views": np.zeros((4, 2, N)),
            "population": BANK,
            "x": np.zeros((N, 2)),
        },
    ),
    (BANK.take, {"models": [0, 1], "records": IS_MEMBER}),
    (BANK.signals, {"model": 1}),
    (bank.load, {"name": "letters"}),
    (shipped.find, {"kind": "bank", "folder": "bank", "name": "letters"}),
    (exposure.agreement, {"calls": {"loss": IS_MEMBER}, "is_member": IS_MEMBER}),
    (agreement_of_one, {"calls": IS_MEMBER}),
    (exposure.risk, {"scores": BANK.phi[:, 0], "is_member": HOLDS, "fpr": 0.1}),
    (exposure.Risk(SCORES, SCORES, SCORES).most_exposed, {"number": 3}),
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("function", "arguments", "name"),
    [
        pytest.param(function, arguments, name, id=f"{function.__qualname__}-{name}")
        for function, arguments in CALLS
        for name in arguments
    ],
)
def test_junk_in_any_place_is_answered_or_refused_within_a_second(function, arguments, name):
    function(**arguments)
    refusals = 0
    for value in JUNK.values():
        junk = arguments | {name: value}
        refusals += refused(lambda junk=junk: function(**junk), seconds=1)
    assert refusals > len(JUNK) / 2 or name == "kind"


# ---------------------------------------------------------------- what the other modules check with


@pytest.mark.parametrize("value", [True, False, np.True_, np.array([True])[0]])
def test_flags_are_true_or_false(value):
    check_flag(online=value)


@pytest.mark.parametrize("value", ["False", "True", 0, 1, None, 1.0, [True], np.array([True])])
def test_what_is_no_flag_is_refused(value):
    with pytest.raises(ValueError, match="online must be True or False, found "):
        check_flag(offline=True, online=value)


@pytest.mark.parametrize(
    "value", [True, "2", None, 1j, [2], (2,), np.array([2]), 2**70, math.nan, math.inf, 11, 0]
)
def test_what_is_not_one_number_in_the_range_is_refused(value):
    with pytest.raises(ValueError, match=r"epochs must be a number in 1 … 10, found "):
        check_range(1, 10, epochs=value)


@pytest.mark.parametrize("value", [1, 10, 2.5, np.float32(2), np.array(3), torch.tensor(4)])
def test_one_number_in_the_range_passes(value):
    check_range(1, 10, epochs=value)


def test_many_numbers_pass_where_many_are_meant():
    check_range(0, 1, many=True, milestones=(0.5, 0.75), none=(), momentum=0.9)
    with pytest.raises(ValueError, match=r"milestones must be a number in 0 … 1, found 1\.5"):
        check_range(0, 1, many=True, milestones=(0.5, 1.5))
    with pytest.raises(ValueError, match="milestones must be a number"):
        check_range(0, 1, many=True, milestones=[[0.5], [0.5, 0.6]])


def test_whole_numbers_are_asked_for_in_words():
    with pytest.raises(ValueError, match=r"epochs must be a whole number, at least 1, found 2\.5"):
        check_range(1, math.inf, whole=True, epochs=2.5)


@pytest.mark.parametrize("name", ["relu", None, ["l1"], 3, np.array(["l1"])])
def test_a_choice_is_one_of_its_names(name):
    assert check_choice("norm", "l1", {"l1": 1}) == "l1"
    with pytest.raises(ValueError, match=r"There is no norm .* Known: l1, l2"):
        check_choice("norm", name, ("l1", "l2"))


@pytest.mark.parametrize(
    "milestones",
    [
        [0.5, 0.75],
        (0.5, 0.75),
        np.array([0.5, 0.75]),
        torch.tensor([0.5, 0.75]),
        [np.float64(0.5), 0.75],
    ],
)
def test_a_plain_tuple_is_the_same_whatever_it_was(milestones):
    plain = plain_tuple(milestones)
    assert plain == (0.5, 0.75)
    assert hash(plain) == hash((0.5, 0.75))
    assert {type(value) for value in plain} == {float}


def test_a_plain_tuple_is_plain_at_any_depth():
    assert plain_tuple([[1, np.int8(2)], range(2), [torch.tensor(3)]]) == ((1, 2), (0, 1), (3,))
    assert plain_tuple(["conv", "linear"]) == ("conv", "linear")


@pytest.mark.parametrize("value", ["conv", None, 3, 0.5, True])
def test_what_is_plain_stays_what_it_is(value):
    assert plain_tuple(value) is value
    assert plain_number(value) is value


@pytest.mark.parametrize("number", [np.float64(2), np.array(2.0), torch.tensor(2.0), 2.0])
def test_a_plain_number_is_the_same_whatever_it_was(number):
    assert plain_number(number) == 2.0
    assert type(plain_number(number)) is float


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ([[1, 2], [3]], "found rows of different lengths"),
        (None, "found None"),
        ("abc", "found 'abc'"),
        (["a"], "found an array of <U1"),
        ([None], "found an array of object"),
        ([2**70], "found an array of object"),
        (np.ma.masked_invalid([1.0, np.nan, np.nan]), "found 2 masked entries"),
        (torch.zeros(2).to_sparse(), "found a tensor that NumPy cannot read"),
    ],
)
def test_what_is_no_array_of_numbers_is_refused(values, complaint):
    with pytest.raises(ValueError, match=f"scores must be real numbers, {complaint}"):
        as_array(values, what="scores")
