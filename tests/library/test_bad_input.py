"""Bad input by the hundred: a clear error or a right answer, never a silent wrong one."""

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mialib import data, metrics, models, splits
from mialib.attacks import threshold_attack
from mialib.course import figures, plots, widgets
from mialib.data import Records
from mialib.metrics import clopper_pearson
from mialib.signals import Signals, loss_gap
from mialib.store import Store
from mialib.training import Recipe

NUMBERS = st.one_of(
    st.integers(-3, 40), st.floats(width=32), st.sampled_from([0.5, 1e-30, 1e30, True, None, "7"])
)
SHAPES = hnp.array_shapes(min_dims=0, max_dims=5, min_side=0, max_side=5)
DTYPES = st.sampled_from([np.float32, np.float64, np.int64, np.uint8, bool, complex, "U2"])
ARRAYS = DTYPES.flatmap(lambda dtype: hnp.arrays(dtype, SHAPES))
hundreds = settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])


def refused(work) -> bool:
    """Whether `work` refuses its input; the error must be of the right kind and a sentence."""
    try:
        work()
    except ValueError as error:
        assert len(str(error).split()) >= 5, f"not a sentence: {error!r}"  # noqa: PT017
        return True
    return False


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
        assert np.isfinite(threshold_attack(signals, signals.public())).all()

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
    import torch

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
    for figure in (plots.histograms, lambda *pair: figures.threshold_view(*pair, threshold=0.5)):
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
