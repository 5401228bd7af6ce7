"""Metrics against scikit-learn, SciPy and their definitions."""

import dataclasses
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binomtest, norm
from sklearn.metrics import roc_auc_score, roc_curve

from mialib import metrics
from mialib.estimates import Estimate

GOOD = ([0.3, -0.1, 0.2, -0.5], [True, True, False, False])


def tied(rng, n=200, levels=7):
    """Scores on a few levels, so that ties are the rule; members a little higher."""
    is_member = rng.random(n) < 0.5
    return (rng.integers(levels, size=n) + is_member - levels // 2).astype(float), is_member


def normal(rng, members=150, non_members=250, shift=1.0):
    is_member = np.arange(members + non_members) < members
    return rng.normal(size=len(is_member)) + shift * is_member, is_member


advantage_at_0 = partial(metrics.advantage, threshold=0.0)

tables = st.lists(
    st.tuples(st.one_of(st.integers(-3, 3).map(float), st.floats(allow_nan=False)), st.booleans()),
    min_size=2,
    max_size=40,
).filter(lambda rows: len({member for _, member in rows}) == 2)


def columns(rows):
    scores, is_member = zip(*rows, strict=True)
    return np.array(scores), np.array(is_member)


def tpr_at_fpr_by_definition(scores, is_member, fpr):
    thresholds = [np.nan, *scores]  # No score reaches NaN, so it lets nobody in.
    return max(
        (scores[is_member] >= t).mean()
        for t in thresholds
        if (scores[~is_member] >= t).mean() <= fpr + 1e-12
    )


# ---------------------------------------------------------------- ROC and AUC


@given(tables)
def test_auc_equals_scikit_learn(rows):
    scores, is_member = columns(rows)
    finite = np.clip(
        scores, -1e300, 1e300
    )  # scikit-learn refuses infinite scores; the order is the same.
    assert metrics.auc(scores, is_member) == pytest.approx(
        roc_auc_score(is_member, finite), abs=1e-12
    )


@pytest.mark.parametrize("levels", [1, 2, 7, 1000])
def test_roc_equals_scikit_learn_with_ties(rng, levels):
    scores, is_member = tied(rng, levels=levels)
    curve = metrics.roc(scores, is_member)
    fpr, tpr, threshold = roc_curve(is_member, scores, drop_intermediate=False)
    assert_allclose(curve.fpr, fpr, atol=1e-15)
    assert_allclose(curve.tpr, tpr, atol=1e-15)
    assert_allclose(curve.threshold, threshold, atol=1e-15)


def test_auc_counts_a_tie_half():
    assert metrics.auc([1, 1, 1], [True, False, False]) == 0.5


def test_an_oracle_reaches_one(rng):
    is_member = rng.random(50) < 0.5
    assert metrics.auc(is_member, is_member) == 1
    assert metrics.best_advantage(is_member, is_member) == 1


def test_shuffled_membership_gives_one_half(rng):
    scores, is_member = normal(rng, shift=3.0)
    m, n = is_member.sum(), (~is_member).sum()
    sigma = np.sqrt((m + n + 1) / (12 * m * n))  # of the Mann-Whitney statistic
    assert abs(metrics.auc(scores, rng.permutation(is_member)) - 0.5) < 3 * sigma


@given(tables)
def test_negated_scores_give_one_minus_auc(rows):
    scores, is_member = columns(rows)
    assert metrics.auc(-scores, is_member) == pytest.approx(
        1 - metrics.auc(scores, is_member), abs=1e-12
    )


def test_the_order_of_records_changes_nothing(rng):
    scores, is_member = tied(rng)
    order = rng.permutation(len(scores))
    for statistic in (metrics.auc, advantage_at_0, metrics.best_advantage):
        assert statistic(scores, is_member) == statistic(scores[order], is_member[order])
    for plain, shuffled in zip(
        metrics.roc(scores, is_member), metrics.roc(scores[order], is_member[order]), strict=True
    ):
        assert_array_equal(plain, shuffled)


# ---------------------------------------------------------------- advantage and rates


@given(tables, st.integers(-3, 3))
def test_rates_count_scores_at_or_above_the_threshold(rows, threshold):
    scores, is_member = columns(rows)
    tpr, fpr = metrics.rates(scores, is_member, threshold=threshold)
    assert tpr == np.mean([s >= threshold for s in scores[is_member]])
    assert fpr == np.mean([s >= threshold for s in scores[~is_member]])


@pytest.mark.parametrize("threshold", [0.0, -2.5, 7])
def test_a_score_at_the_threshold_is_called_a_member(threshold):
    scores = [threshold, threshold - 1.0]
    assert metrics.advantage(scores, [True, False], threshold=threshold) == 1


def test_no_threshold_is_assumed():
    for function in (metrics.rates, metrics.advantage):
        with pytest.raises(TypeError, match="threshold"):
            function(*GOOD)


def test_infinite_thresholds_let_everybody_in_or_nobody():
    assert metrics.rates(*GOOD, threshold=-np.inf) == (1.0, 1.0)
    assert metrics.rates(*GOOD, threshold=np.inf) == (0.0, 0.0)


@pytest.mark.parametrize("threshold", [np.nan, "0", None, [0.0], 1j, True])
@pytest.mark.parametrize("function", [metrics.rates, metrics.advantage])
def test_a_threshold_that_is_no_number_is_refused(function, threshold):
    with pytest.raises(ValueError, match="threshold must be"):
        function(*GOOD, threshold=threshold)
    if threshold is not None:
        with pytest.raises(ValueError, match="threshold must be"):
            metrics.evaluate(*GOOD, threshold=threshold)


@given(tables)
def test_best_advantage_equals_the_search_over_all_thresholds(rows):
    scores, is_member = columns(rows)
    by_definition = max(np.subtract(*metrics.rates(scores, is_member, threshold=t)) for t in scores)
    assert metrics.best_advantage(scores, is_member) == pytest.approx(
        max(by_definition, 0), abs=1e-12
    )


# ---------------------------------------------------------------- TPR at FPR


@given(tables, st.sampled_from([0.05, 0.1, 0.25, 1 / 3, 0.5, 1.0]))
def test_tpr_at_fpr_equals_the_definition(rows, fpr):
    scores, is_member = columns(rows)
    estimate = metrics.tpr_at_fpr(scores, is_member, fpr)
    if fpr * (~is_member).sum() < 1 - 1e-9:
        assert np.isnan(estimate.value)
        assert "not resolvable" in estimate.note
    else:
        assert estimate.value == pytest.approx(
            tpr_at_fpr_by_definition(scores, is_member, fpr), abs=1e-12
        )


@pytest.mark.parametrize(("non_members", "resolved"), [(99, False), (100, True), (101, True)])
def test_one_percent_needs_exactly_a_hundred_non_members(rng, non_members, resolved):
    estimate = metrics.tpr_at_fpr(*normal(rng, non_members=non_members), 0.01)
    assert np.isfinite(estimate.value) == resolved
    assert estimate.note == ("" if resolved else f"not resolvable with {non_members} non-members")


def test_one_false_alarm_in_a_thousand_is_allowed_at_a_thousandth():
    is_member = np.r_[True, True, np.zeros(1000, bool)]
    scores = np.r_[3.0, 1.0, 2.0, np.zeros(999)]  # The second member hides behind one non-member.
    assert metrics.tpr_at_fpr(scores, is_member, 0.001).value == 1.0


def test_tied_records_enter_together():
    is_member = np.r_[True, np.zeros(100, bool)]
    scores = np.r_[
        1.0, 1.0, 1.0, np.zeros(98)
    ]  # To let the member in is to let two non-members in.
    assert metrics.tpr_at_fpr(scores, is_member, 0.01).value == 0.0
    assert metrics.tpr_at_fpr(scores, is_member, 0.02).value == 1.0


def test_the_interval_of_tpr_at_fpr_covers_the_truth():
    """N(1, 1) against N(0, 1) at 5 % FPR: the true TPR is known.

    Taking the threshold as given covers far less.
    """
    truth, covered = norm.sf(norm.isf(0.05) - 1), 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        scores = np.r_[rng.normal(1, 1, 300), rng.normal(0, 1, 300)]
        estimate = metrics.tpr_at_fpr(scores, np.arange(600) < 300, 0.05, draws=300)
        covered += estimate.low <= truth <= estimate.high
    assert (
        covered >= 51
    )  # 57 of 60 are expected; a binomial with 95 % falls below 51 once in 300 times.


def test_rates_at_the_threshold_carry_exact_intervals(rng):
    scores, is_member = normal(rng, members=120)
    evaluation = metrics.evaluate(scores, is_member, threshold=0.3, draws=20)
    for estimate, chosen in ((evaluation.tpr, is_member), (evaluation.fpr, ~is_member)):
        hits = int((scores[chosen] >= 0.3).sum())
        assert estimate.value == hits / chosen.sum()
        exact = binomtest(hits, int(chosen.sum())).proportion_ci(method="exact")
        assert_allclose([estimate.low, estimate.high], exact, atol=1e-9)


# ---------------------------------------------------------------- the small formulas


@pytest.mark.parametrize("n", [1, 7, 300])
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_clopper_pearson_equals_scipy(n, confidence):
    for hits in {0, 1, n // 2, n - 1, n}:
        exact = binomtest(hits, n).proportion_ci(confidence, method="exact")
        assert_allclose(metrics.clopper_pearson(hits, n, confidence=confidence), exact, atol=1e-9)


@pytest.mark.parametrize("prior", [0.01, 0.1, 0.5, 1.0])
def test_ppv_counts_true_members_among_those_called(prior):
    members = round(1000 * prior)
    called_members, called_others = 0.5 * members, 0.1 * (1000 - members)
    assert metrics.ppv(0.5, 0.1, prior) == pytest.approx(
        called_members / (called_members + called_others)
    )


def test_ppv_of_an_attack_that_calls_nobody_is_not_a_number():
    assert_array_equal(metrics.ppv([0.0, 0.5], [0.0, 0.5], 0.5), [np.nan, 0.5])


def test_p1_equals_the_hand_computed_value():
    assert metrics.p1(0.7, 0.2) == pytest.approx(0.7466667, abs=5e-8)
    assert metrics.p1(0.0, 1.0) == 0


def test_defense_level_is_100_for_a_coin_toss_and_0_for_an_oracle():
    assert [metrics.defense_level(a) for a in (50, 75, 100)] == [100, 50, 0]


# ---------------------------------------------------------------- intervals


def naive_bootstrap(rng, scores, is_member, statistic, draws):
    members, others = scores[is_member], scores[~is_member]
    values = []
    for _ in range(draws):
        drawn = np.r_[rng.choice(members, len(members)), rng.choice(others, len(others))]
        values.append(statistic(drawn, np.arange(len(drawn)) < len(members)))
    return np.quantile(values, [0.025, 0.975])


@pytest.mark.parametrize("table", [tied, normal])
@pytest.mark.parametrize("name", ["auc", "advantage", "best_advantage"])
def test_bootstrap_agrees_with_a_naive_loop(rng, table, name):
    scores, is_member = table(rng)
    estimate = getattr(metrics.evaluate(scores, is_member, threshold=0.0, draws=2000), name)
    statistic = advantage_at_0 if name == "advantage" else getattr(metrics, name)
    naive = naive_bootstrap(rng, scores, is_member, statistic, 1000)
    width = naive[1] - naive[0]
    assert width > 0
    assert_allclose([estimate.low, estimate.high], naive, atol=0.12 * width)


def test_the_bootstrap_interval_covers_the_true_auc_about_95_times_in_100(rng):
    truth, hits = norm.cdf(1 / np.sqrt(2)), 0
    for seed in range(200):
        interval = metrics.evaluate(*normal(rng, 60, 60), draws=200, seed=seed).auc
        hits += interval.low <= truth <= interval.high
    assert 0.88 <= hits / 200 <= 0.99


def test_bootstrap_in_chunks_keeps_every_draw(rng):
    seen = []

    def statistic(fpr, tpr, threshold):
        assert fpr.shape == tpr.shape == (len(fpr), len(threshold))
        seen.append(len(fpr))
        return tpr[:, -1]

    scores, is_member = normal(rng, 50_000, 50_000)
    assert_array_equal(metrics.bootstrap(scores, is_member, statistic, draws=45), [1.0, 1.0])
    assert len(seen) > 1
    assert sum(seen) == 45


def test_estimates_without_a_number_are_equal_by_their_notes():
    """Up to Python 3.12 that hung on whether both had the same nan, and since 3.13 it failed."""
    first = Estimate(float("nan"), note="no threshold was fitted")
    second = Estimate(float("nan"), note="no threshold was fitted")
    assert first == second
    assert len({first, second}) == 1
    assert first != Estimate(float("nan"), note="not resolvable with 112 non-members")
    assert first != Estimate(0.5, note="no threshold was fitted")
    assert Estimate(0.5, 0.4, 0.6) == Estimate(0.5, 0.4, 0.6)
    assert Estimate(0.5, 0.4, 0.6) != Estimate(0.5, 0.4, 0.7)
    assert first != first.triple


def test_the_seed_decides_the_interval(rng):
    table = normal(rng)
    assert metrics.evaluate(*table, draws=50, seed=1) == metrics.evaluate(*table, draws=50, seed=1)
    assert metrics.evaluate(*table, draws=50, seed=1) != metrics.evaluate(*table, draws=50, seed=2)


@pytest.mark.parametrize("table", [tied, normal])
def test_evaluate_agrees_with_the_single_functions(rng, table):
    scores, is_member = table(rng)
    all_numbers = metrics.evaluate(scores, is_member, threshold=0.5, draws=50)
    single = {
        "auc": metrics.auc(scores, is_member),
        "best_advantage": metrics.best_advantage(scores, is_member),
        "advantage": metrics.advantage(scores, is_member, threshold=0.5),
        "tpr": metrics.rates(scores, is_member, threshold=0.5).tpr,
        "fpr": metrics.rates(scores, is_member, threshold=0.5).fpr,
    }
    for name, value in single.items():
        assert getattr(all_numbers, name).value == pytest.approx(value, abs=1e-12)
    assert str(all_numbers.tpr_at_1_percent) == str(
        metrics.tpr_at_fpr(scores, is_member, 0.01, draws=50)
    )
    assert str(all_numbers.tpr_at_0_1_percent) == str(metrics.tpr_at_fpr(scores, is_member, 0.001))
    assert (all_numbers.members, all_numbers.non_members) == (is_member.sum(), (~is_member).sum())


def test_the_table_of_an_evaluation_puts_each_number_in_its_row(rng):
    evaluation = metrics.evaluate(*normal(rng), threshold=0.5, draws=50)
    table = evaluation._repr_markdown_()
    assert "| 150 members, 250 non-members |" in table
    assert f"| AUC | {evaluation.auc} |" in table
    assert f"| advantage at the shadow's threshold | {evaluation.advantage} |" in table
    assert f"| best advantage (optimistic) | {evaluation.best_advantage} |" in table
    assert f"| TPR at the threshold | {evaluation.tpr} |" in table
    assert f"| FPR at the threshold | {evaluation.fpr} |" in table
    assert f"| TPR at 1 % FPR | {evaluation.tpr_at_1_percent} |" in table
    assert "| TPR at 0.1 % FPR | not resolvable with 250 non-members |" in table


AT_THE_THRESHOLD = {"advantage", "tpr", "fpr"}


@pytest.mark.parametrize("groups", [None, np.arange(400) % 50])
def test_without_a_threshold_the_numbers_at_one_say_so(rng, groups):
    """Scores of an attack that fitted none, far from 0: the AUC stays, and no advantage is 0."""
    scores, is_member = normal(rng)
    scores -= 1000
    evaluation = metrics.evaluate(scores, is_member, draws=50, groups=groups)
    fitted = metrics.evaluate(scores, is_member, threshold=-999.5, draws=50, groups=groups)
    for field in dataclasses.fields(evaluation):
        estimate = getattr(evaluation, field.name)
        if field.name in AT_THE_THRESHOLD:
            assert np.isnan(estimate.triple).all()
            assert str(estimate) == "no threshold was fitted"
            assert getattr(fitted, field.name).value > 0.1
        else:
            assert estimate == getattr(fitted, field.name)
    assert "| TPR at the threshold | no threshold was fitted |" in evaluation._repr_markdown_()


def test_a_threshold_moves_with_the_scores(rng):
    """Adding 5 to scores and threshold alike changes no number: 0 is not special."""
    scores, is_member = tied(rng)
    plain = metrics.evaluate(scores, is_member, threshold=1.0, draws=50)
    moved = metrics.evaluate(scores + 5, is_member, threshold=6.0, draws=50)
    assert plain == moved


def test_an_estimate_gives_its_three_numbers():
    assert Estimate(0.5, 0.4, 0.7).triple == (0.5, 0.4, 0.7)
    assert Estimate(0.5, 0.4, 0.7).triple.high == 0.7


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("scores", "is_member", "complaint"),
    [
        ([], [], "both needed"),
        ([1.0, 2.0], [True, True], "all 2 records are members"),
        ([1.0, 2.0], [False, False], "all 2 records are non-members"),
        ([1.0, np.nan], [True, False], "1 scores are NaN"),
        ([1.0, 2.0, 3.0], [True, False], r"found \(3,\) and \(2,\)"),
        ([[1.0], [2.0]], [True, False], r"shape \(n,\)"),
        ([[1.0, 2.0]], [[True, False]], r"shape \(n,\)"),
        (1.0, True, r"shape \(n,\)"),
        ([1.0, 2.0], [0.5, 1.0], "True or False"),
        ([1.0, 2.0], [np.nan, 1.0], "True or False"),
        ([1.0, 2.0], [-1, 1], "True or False"),
        ([1.0, 2.0], [None, True], "True or False"),
        ([1.0, 2.0], ["yes", "no"], "True or False"),
        ([1.0, 2.0], ["0", "1"], "True or False"),
        ([1.0, 2.0], ["False", "True"], "True or False"),
        ([1.0, 2.0], [[True], [True, False]], "True or False"),
        ([[1.0], [2.0, 3.0]], [True, False], "rows of different lengths"),
        (None, [True, False], "real numbers, found None"),
        (np.ma.masked_invalid([1.0, np.nan]), [True, False], "1 masked entries"),
        ([1.0, 2.0], np.ma.array([True, False], mask=[True, False]), "1 masked entries"),
        (np.array([1 + 2j, 2]), [True, False], "real numbers"),
        (["a", "b"], [True, False], "real numbers"),
    ],
)
@pytest.mark.parametrize(
    "function",
    [
        metrics.roc,
        metrics.auc,
        partial(metrics.rates, threshold=0.0),
        advantage_at_0,
        metrics.best_advantage,
        metrics.evaluate,
        partial(metrics.tpr_at_fpr, fpr=0.5),
    ],
)
def test_bad_tables_are_refused_with_a_reason(function, scores, is_member, complaint):
    with pytest.raises(ValueError, match=complaint):
        function(scores, is_member)


@pytest.mark.parametrize(
    "zero_or_one", [[1, 1, 0, 0], [1.0, 1.0, 0.0, 0.0], np.array([1, 1, 0, 0], np.uint8)]
)
def test_ones_and_zeros_serve_as_membership(zero_or_one):
    assert metrics.auc(GOOD[0], zero_or_one) == metrics.auc(*GOOD)
    assert metrics.tpr_at_fpr(GOOD[0], zero_or_one, 0.5) == metrics.tpr_at_fpr(*GOOD, 0.5)


def test_masked_arrays_without_masked_entries_serve():
    scores, is_member = (np.ma.array(column) for column in GOOD)
    assert metrics.auc(scores, is_member) == metrics.auc(*GOOD)


def test_objects_that_are_true_or_false_serve_as_membership():
    assert metrics.auc(GOOD[0], np.array(GOOD[1], object)) == metrics.auc(*GOOD)


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: metrics.tpr_at_fpr(*GOOD, 0.0), "false-positive rate"),
        (lambda: metrics.tpr_at_fpr(*GOOD, 1.5), "false-positive rate"),
        (lambda: metrics.tpr_at_fpr(*GOOD, np.nan), "false-positive rate"),
        (lambda: metrics.clopper_pearson(5, 3), "hits"),
        (lambda: metrics.clopper_pearson(-1, 3), "hits"),
        (lambda: metrics.clopper_pearson(0, 0), "at least 1"),
        (lambda: metrics.clopper_pearson(1, 3, confidence=95), "confidence"),
        (lambda: metrics.ppv(1.2, 0.1, 0.5), "tpr"),
        (lambda: metrics.ppv(0.5, [0.1, -0.1], 0.5), "fpr"),
        (lambda: metrics.ppv(0.5, 0.1, 50), "prior"),
        (lambda: metrics.p1(70, 0.2), "accuracy"),
        (lambda: metrics.p1(0.7, 20), "advantage"),
        (lambda: metrics.defense_level(0.6), "attack_accuracy"),
        (lambda: metrics.defense_level(120), "attack_accuracy"),
        (
            lambda: metrics.bootstrap(*GOOD, lambda fpr, tpr, threshold: tpr[:, -1], draws=0),
            "draws",
        ),
        (lambda: metrics.evaluate(*GOOD, draws=2**31), "draws must be a whole number in 1 …"),
        (lambda: metrics.evaluate(*GOOD, draws=2.5), "draws"),
        (lambda: metrics.evaluate(*GOOD, draws=[5]), "draws"),
        (lambda: metrics.evaluate(*GOOD, seed=-1), "seed"),
        (lambda: metrics.evaluate(*GOOD, seed="a"), "seed"),
        (lambda: metrics.significant([1.0, np.nan, 3.0], [0, 1, 2]), "values must be finite"),
        (lambda: metrics.significant([1, 2], [0.0, np.inf]), "dense must be finite"),
        (lambda: metrics.ppv([0.5, 0.5], [0.1, 0.1, 0.1], 0.5), "shapes of tpr, fpr and prior"),
        (lambda: metrics.resolvable(0.5, -3), "non_members"),
    ],
)
def test_numbers_outside_their_range_are_refused(call, complaint):
    with pytest.raises(ValueError, match=complaint):
        call()


junk = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 2),
    st.floats(),
    st.text(max_size=2),
    st.complex_numbers(max_magnitude=2),
)


@given(st.lists(junk, max_size=6), st.lists(junk, max_size=6))
def test_junk_gives_a_clear_error_or_the_right_answer(scores, is_member):
    try:
        found = metrics.auc(scores, is_member)
    except ValueError:
        return
    assert found == pytest.approx(
        roc_auc_score(is_member, np.clip(np.asarray(scores, float), -1e300, 1e300))
    )


def test_a_gain_is_significant_when_the_intervals_of_one_deviation_are_apart():
    """Means 4 and 1, deviations 1 and 1: the intervals [3, 5] and [0, 2] are apart.

    With a mean of 3 they meet at 2.
    """
    assert metrics.significant([3, 4, 5], [0, 1, 2])
    assert metrics.significant([0, 1, 2], [3, 4, 5])
    assert not metrics.significant([2, 3, 4], [0, 1, 2])
    assert not metrics.significant([1.0, 1.0, 1.0], [1.0, 1.0, 1.0])
    with pytest.raises(ValueError, match="two repeats"):
        metrics.significant([3], [0, 1, 2])
