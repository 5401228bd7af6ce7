"""The threshold attack: fitted on the shadow, blind to the target's membership."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from mialib import metrics
from mialib.attacks import GradientNorm, MetricThreshold, best_threshold, loss_score
from mialib.signals import Signals


def overfitted(seed, n=400, classes=5, gap=2.0):
    """Signals of a model that is surer of its members."""
    rng = np.random.default_rng(seed)
    labels, is_member = rng.integers(classes, size=n), np.arange(n) < n // 2
    logits = rng.normal(size=(n, classes))
    logits[np.arange(n), labels] += 1 + gap * is_member
    return Signals(logits, labels, is_member)


@pytest.fixture
def shadow():
    return overfitted(1)


@pytest.fixture
def target():
    return overfitted(2)


def gain(scores, is_member, threshold):
    return np.subtract(*metrics.rates(scores, is_member, threshold=threshold))


tables = st.lists(
    st.tuples(
        st.one_of(
            st.integers(-2, 2).map(float),
            st.floats(-1e300, 1e300),
            st.integers(0, 4).map(
                lambda steps: 1 + steps * np.finfo(float).eps
            ),  # neighbours among the floats
        ),
        st.booleans(),
    ),
    min_size=2,
    max_size=25,
).filter(lambda rows: len({member for _, member in rows}) == 2)


@given(tables)
def test_best_threshold_gains_as_much_as_a_search_over_all(rows):
    scores, is_member = map(np.array, zip(*rows, strict=True))
    by_search = max(gain(scores, is_member, t) for t in [np.inf, *scores])
    assert gain(scores, is_member, best_threshold(scores, is_member)) == pytest.approx(
        by_search, abs=1e-12
    )


@given(tables)
def test_scores_are_raw_and_called_at_the_shadows_threshold(rows):
    scores, is_member = map(np.array, zip(*rows, strict=True))
    n = len(scores)
    shadow = Signals(np.zeros((n, 2)), np.zeros(n, int), is_member)
    fitted = MetricThreshold(lambda signals: scores).fit(shadow)
    assert_array_equal(fitted.score(shadow.public()), scores)
    assert fitted.threshold == best_threshold(scores, is_member)
    assert_array_equal(fitted.calls(shadow.public()), scores >= fitted.threshold)


def test_the_threshold_lies_halfway():
    assert best_threshold([5.0, 4.0, 1.0, 0.0], [True, True, False, False]) == 2.5


def test_a_threshold_between_neighbouring_float32_tells_them_apart():
    low = np.float32(1)
    high = np.nextafter(low, np.float32(2))
    is_member = np.array([False, True] * 4)
    norms = -np.where(is_member, high, low)
    logits = np.zeros((8, 3))
    columns = {"gradient_l2": norms, "gradient_l1": norms}
    signals = Signals(logits, np.zeros(8, int), is_member, extra=columns)
    own = MetricThreshold(lambda s: -s.column("gradient_l2"))
    for attack in (GradientNorm(), own):
        assert_array_equal(attack.fit(signals).calls(signals), is_member)


def test_among_equal_thresholds_the_strictest_is_taken():
    # One member above each of two non-members: both thresholds gain one half.
    assert best_threshold([4.0, 3.0, 2.0, 1.0], [True, False, True, False]) == 3.5


@pytest.mark.parametrize("scores", [[1.0, 1.0, 1.0], [0.0, 2.0, 3.0]])
def test_when_nothing_beats_chance_nobody_is_called_a_member(scores):
    assert (np.array(scores) < best_threshold(scores, [True, False, False])).all()


@pytest.mark.parametrize(
    "scores", [[np.inf, 0.0], [0.0, -np.inf], [np.inf, -np.inf], [1e308, -1e308]]
)
def test_infinite_scores_still_give_a_finite_threshold(scores):
    threshold = best_threshold(scores, [True, False])
    assert np.isfinite(threshold)
    assert scores[1] < threshold <= scores[0]


def test_the_attack_works_on_a_model_that_memorised(shadow, target):
    fitted = MetricThreshold().fit(shadow)
    scores = fitted.score(target.public())
    evaluation = metrics.evaluate(scores, target.is_member, threshold=fitted.threshold)
    assert evaluation.auc.low > 0.8
    assert evaluation.advantage.low > 0.4


def test_the_score_is_minus_the_loss(target):
    assert_array_equal(loss_score(target), -target.loss())


def test_the_targets_membership_changes_nothing(shadow, target):
    lied_to = Signals(target.logits, target.labels, ~target.is_member)
    fitted = MetricThreshold().fit(shadow)
    assert_array_equal(fitted.score(target), fitted.score(target.public()))
    assert_array_equal(fitted.score(target), fitted.score(lied_to))


def test_the_threshold_comes_from_the_shadow_alone(shadow, target):
    fitted = MetricThreshold().fit(shadow)
    assert_array_equal(fitted.score(target), loss_score(target))
    assert fitted.threshold == best_threshold(loss_score(shadow), shadow.is_member)


def test_shuffled_membership_leaves_nothing_to_find(shadow, target, rng):
    scores = MetricThreshold().fit(shadow).score(target.public())
    auc = metrics.auc(scores, rng.permutation(target.is_member))
    half = len(target) / 2
    assert abs(auc - 0.5) < 3 * np.sqrt((2 * half + 1) / (12 * half * half))


def test_a_flipped_sign_is_noticed(shadow, target):
    def flipped(signals):
        return signals.loss()

    fitted = MetricThreshold(flipped).fit(shadow)
    scores = fitted.score(target.public())
    assert metrics.auc(scores, target.is_member) < 0.2
    assert metrics.advantage(scores, target.is_member, threshold=fitted.threshold) < 0.05


def test_a_shadow_without_membership_is_refused(shadow, target):
    with pytest.raises(ValueError, match="shadow's membership is needed"):
        MetricThreshold().fit(shadow.public())


def test_a_shadow_of_members_only_is_refused(shadow, target):
    with pytest.raises(ValueError, match="both needed"):
        MetricThreshold().fit(shadow.members())


def test_a_shadow_of_another_task_is_refused(target):
    with pytest.raises(ValueError, match="3 and 5 columns"):
        MetricThreshold().fit(overfitted(1, classes=3)).score(target)


@pytest.mark.parametrize(
    "bad", [lambda s: np.full(len(s), np.nan), lambda s: s.loss()[:-1], lambda s: s.logits]
)
def test_a_score_that_is_not_one_number_a_record_is_refused(shadow, target, bad):
    with pytest.raises(ValueError, match=r"NaN|shape"):
        MetricThreshold(bad).fit(shadow)


def test_a_class_has_a_threshold_of_its_own_and_zero_stands_for_all(shadow, target):
    fitted = MetricThreshold(per_class=True).fit(shadow)
    assert fitted.threshold == 0
    for label in range(5):
        own = shadow.labels == label
        threshold = best_threshold(loss_score(shadow)[own], shadow.is_member[own])
        asked = target.labels == label
        assert_array_equal(fitted.score(target)[asked], (loss_score(target) - threshold)[asked])


def test_classes_with_too_few_records_share_the_common_threshold(shadow, target):
    common = MetricThreshold().fit(shadow)
    alone = MetricThreshold(per_class=True, fewest=2**31).fit(shadow)
    assert_array_equal(alone.score(target), common.score(target) - common.threshold)


def test_equal_settings_are_equal_and_hashable():
    assert MetricThreshold("loss") == MetricThreshold()
    assert hash(MetricThreshold("loss")) == hash(MetricThreshold())
    assert len({GradientNorm("l1"), GradientNorm("l2"), GradientNorm()}) == 2
