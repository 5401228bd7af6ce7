"""ε: bounds that hold at their level, against oracles and against what others compute."""

import numpy as np
import pytest
import scipy.stats

from mialib.epsilon import (
    DIRECTIONS,
    Guarantee,
    as_guarantee,
    dp_sgd,
    highest_tpr,
    largest_advantage,
    least_epsilon,
    lower_bound,
    one_run,
    p_value,
    promised,
)

PROMISES = [(0.0, 0.0), (0.5, 1e-5), (3.0, 0.1), (1000.0, 0.0)]  # ε and δ
FPRS = np.linspace(0, 1, 101)


# The theorem.


@pytest.mark.parametrize(("n", "expected"), [(100, 3.5), (1_000, 5.8), (10_000, 8.1)])
def test_all_guesses_right_refute_what_so_many_records_can(n, expected):
    bound = lower_bound(n, guesses=n, records=n)
    q = 0.05 ** (1 / n)  # q^n = 0.05
    assert bound == pytest.approx(np.log(q / (1 - q)), rel=1e-6)
    assert round(bound, 1) == expected


def p_value_by_definition(right, guesses, records, epsilon, delta) -> float:
    q = np.exp(epsilon) / (1 + np.exp(epsilon))
    mass = scipy.stats.binom.pmf(np.arange(guesses + 1), guesses, q)
    beta = mass[right:].sum()
    slopes = [mass[right - i : right].sum() / i for i in range(1, right + 1)]
    return min(1.0, beta + 2 * records * delta * max(slopes, default=0.0))


@pytest.mark.parametrize("delta", [0.0, 1e-5, 1e-3])
@pytest.mark.parametrize("epsilon", [0.0, 0.7, 3.0])
@pytest.mark.parametrize(("right", "guesses"), [(0, 5), (1, 1), (30, 40), (250, 300), (300, 300)])
def test_the_p_value_is_the_theorem_s(right, guesses, epsilon, delta):
    found = p_value(right, guesses=guesses, records=400, epsilon=epsilon, delta=delta)
    by_definition = p_value_by_definition(right, guesses, 400, epsilon, delta)
    assert found == pytest.approx(by_definition, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("level", [0.95, 0.99])
@pytest.mark.parametrize("delta", [0.0, 1e-5, 1e-4])
def test_a_bound_is_the_last_epsilon_that_is_refuted(delta, level):
    counts = {"guesses": 200, "records": 500, "delta": delta}
    bound = lower_bound(180, **counts, level=level)
    assert p_value(180, **counts, epsilon=bound * 0.999) < 1 - level
    assert p_value(180, **counts, epsilon=bound * 1.001) > 1 - level


def test_delta_and_level_and_mistakes_lower_a_bound():
    counts = {"guesses": 200, "records": 500}
    bound = lower_bound(180, **counts)
    assert lower_bound(180, **counts, delta=1e-4) < bound
    assert lower_bound(180, **counts, level=0.99) < bound
    assert lower_bound(170, **counts) < bound
    assert lower_bound(100, **counts) == 0
    assert lower_bound(180, **counts, delta=0.5) == 0


# One run.


def laplace_game(rng, epsilon: float, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Coins, and each with Laplace noise of scale 1 / ε: exactly ε-DP."""
    is_member = rng.random(n) < 0.5
    return is_member + rng.laplace(scale=1 / epsilon, size=n), is_member


def gaussian_game(rng, mu: float, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Coins, and each with normal noise: μ-Gaussian DP."""
    is_member = rng.random(n) < 0.5
    return mu * is_member + rng.normal(size=n), is_member


def gaussian_delta(epsilon: float, mu: float) -> float:
    """The δ of μ-Gaussian DP at ε (Dong, Roth and Su 2022, Corollary 2.13)."""
    cdf = scipy.stats.norm.cdf
    return float(cdf(-epsilon / mu + mu / 2) - np.exp(epsilon) * cdf(-epsilon / mu - mu / 2))


def gaussian_epsilon(mu: float, delta: float) -> float:
    return scipy.optimize.brentq(lambda e: gaussian_delta(e, mu) - delta, 0, 50)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_fixed_number_of_guesses_errs_as_often_as_its_level_says(direction):
    # Where a coin is told truly with probability e^ε / (1 + e^ε), the theorem has no slack.
    rng = np.random.default_rng(0)
    wrong = []
    for _ in range(600):
        is_member = rng.random(200) < 0.5
        told = is_member ^ (rng.random(200) > np.e / (1 + np.e))
        bound = one_run(told.astype(float), is_member, direction=direction, guesses=50)
        wrong.append(bound.epsilon > 1)
    assert 0.005 < np.mean(wrong) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 600)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("truth", [0.5, 2.0])
def test_halves_keep_the_level_under_pure_privacy(direction, truth):
    rng = np.random.default_rng(1)
    games = [laplace_game(rng, truth, 300) for _ in range(300)]
    bounds = [one_run(*game, direction=direction, seed=k).epsilon for k, game in enumerate(games)]
    assert np.mean(np.array(bounds) > truth) < 0.05
    if truth == 2:
        assert np.median(bounds) > 0.4 * truth  # A bound of 0 would hold, too.


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("delta", [1e-4, 1e-5])
def test_halves_keep_the_level_in_gaussian_games(direction, delta):
    truth = gaussian_epsilon(1.0, delta)
    rng = np.random.default_rng(2)
    games = [gaussian_game(rng, 1.0, 400) for _ in range(100)]
    bounds = [
        one_run(*game, direction=direction, delta=delta, halvings=3, seed=k).epsilon
        for k, game in enumerate(games)
    ]
    assert np.mean(np.array(bounds) > truth) < 0.05
    assert np.median(bounds) > 0.1


def test_an_attack_that_knows_nothing_refutes_nothing():
    rng = np.random.default_rng(3)
    false_alarms = []
    for k in range(400):
        scores, is_member = gaussian_game(rng, 0.0, 200)
        false_alarms.append(one_run(scores, is_member, halvings=2, seed=k).epsilon > 0)
    assert np.mean(false_alarms) < 0.05


def test_the_two_directions_are_each_other_s_mirror():
    scores, is_member = gaussian_game(np.random.default_rng(4), 2.0, 1000)
    accusing = one_run(scores, is_member, direction="accusing")
    clearing = one_run(-scores, ~is_member, direction="clearing")
    assert accusing.epsilon == clearing.epsilon > 0
    assert (accusing.guesses, accusing.right) == (clearing.guesses, clearing.right)


def test_some_are_cleared_surely_whom_nobody_could_accuse():
    # Half of the non-members score lower than every member; nobody scores higher.
    rng = np.random.default_rng(5)
    is_member = rng.random(1000) < 0.5
    scores = np.where(is_member | (rng.random(1000) < 0.5), rng.random(1000), -1 - rng.random(1000))
    assert one_run(scores, is_member, direction="clearing").epsilon > 3
    assert one_run(scores, is_member, direction="accusing").epsilon < 1.2


def test_a_threshold_given_guesses_whom_it_calls():
    scores, is_member = gaussian_game(np.random.default_rng(6), 2.0, 500)
    called = scores >= 2.5
    accusing = one_run(scores, is_member, threshold=2.5)
    assert (accusing.guesses, accusing.right) == (called.sum(), (called & is_member).sum())
    clearing = one_run(scores, is_member, threshold=2.5, direction="clearing")
    assert (clearing.guesses, clearing.right) == ((~called).sum(), (~called & ~is_member).sum())
    assert accusing.records == 500
    assert accusing.epsilon == lower_bound(accusing.right, guesses=accusing.guesses, records=500)


def test_ties_are_broken_by_luck_and_not_by_membership():
    is_member = np.arange(1000) < 500  # members come first
    bounds = [one_run(np.zeros(1000), is_member, guesses=100, seed=seed) for seed in range(40)]
    assert 40 < np.mean([one.right for one in bounds]) < 60
    assert np.mean([one.epsilon > 0 for one in bounds]) < 0.2


def test_the_same_seed_gives_the_same_bound_and_the_order_of_records_hardly_matters():
    scores, is_member = gaussian_game(np.random.default_rng(7), 2.0, 2000)
    order = np.random.default_rng(8).permutation(2000)
    one = one_run(scores, is_member, seed=3)
    assert one == one_run(scores, is_member, seed=3)
    assert one.epsilon == pytest.approx(one_run(scores[order], is_member[order]).epsilon, abs=0.5)


def test_the_sentence_is_a_theorem_with_its_premise():
    scores, is_member = gaussian_game(np.random.default_rng(9), 2.0, 2000)
    proven = one_run(scores, is_member, delta=1e-5, by_coin=True)
    assert str(proven) == (
        "If members were chosen by coin toss, training is not (ε, 1e-5)-DP for any "
        f"ε < {proven.below:g} (95 %)."
    )
    assert proven.epsilon - 0.01 < proven.below <= proven.epsilon
    dealt = one_run(scores, is_member)
    assert "not ε-DP for any ε <" in str(dealt)
    assert str(dealt).endswith("That is not claimed here, so it is a comparison and no proof.")
    nothing = one_run(-scores, is_member, level=0.975)
    assert str(nothing) == "By accusing members, the attack refutes no ε (97.5 %)."
    assert "ε =" not in str(proven) + str(dealt) + str(nothing)


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        ({"direction": "accuse"}, "did you mean 'accusing'"),
        ({"level": 1.0}, "level must be below 1"),
        ({"level": 0.05}, "level must be a number in 0.5"),
        ({"delta": -1e-5}, "delta must be a number in 0"),
        ({"guesses": 0}, "guesses must be a whole number in 1"),
        ({"guesses": 5}, "guesses must be a whole number in 1 … 4"),
        ({"guesses": 2, "threshold": 0.0}, "not both"),
        ({"threshold": 0.0, "delta": 1e-5}, "fixed beforehand"),
        ({"threshold": 9.0}, "nothing is guessed"),
        ({"threshold": np.nan}, "one number"),
        ({"halvings": 0}, "halvings must be a whole number in 1"),
        ({"by_coin": "no"}, "by_coin must be True or False"),
    ],
)
def test_a_bad_request_is_refused_with_a_sentence(bad, sentence):
    with pytest.raises(ValueError, match=sentence):
        one_run([0.1, 0.2, 0.3, 0.4], [True, False, True, False], **bad)


@pytest.mark.parametrize("bad", [{"guesses": 9}, {"right": 8}, {"records": 0}, {"delta": 2.0}])
def test_counts_that_cannot_be_are_refused(bad):
    counts = {"right": 3, "guesses": 5, "records": 8} | bad
    with pytest.raises(ValueError, match="must be a"):
        lower_bound(counts.pop("right"), **counts)


def test_jax_privacy_finds_the_same_bounds():
    auditing = pytest.importorskip(
        "jax_privacy.auditing", reason="jax-privacy is not installed (pip install jax-privacy)"
    )
    scores, is_member = gaussian_game(np.random.default_rng(10), 2.0, 800)
    auditor = auditing.CanaryScoreAuditor(scores[is_member], scores[~is_member])
    for threshold in (0.5, 2.0, 3.0):
        called = scores >= threshold
        counts = {"guesses": int(called.sum()), "records": 800}
        for delta in (1e-9, 1e-5, 1e-4):
            expected = auditor.epsilon_one_run(
                0.05, delta, threshold_strategy=auditing.Explicit(threshold)
            )
            found = lower_bound(int((called & is_member).sum()), **counts, delta=delta)
            assert found == pytest.approx(expected, abs=1e-5)


# What a guarantee allows.


@pytest.mark.parametrize(("epsilon", "delta"), PROMISES)
def test_the_limit_is_that_of_the_two_inequalities(epsilon, delta):
    fpr = np.linspace(0, 1, 201)
    tpr = np.linspace(0, 1, 1001)[:, None]
    factor = np.exp(min(epsilon, 300.0))
    first = tpr <= factor * fpr + delta + 1e-12
    second = 1 - fpr <= factor * (1 - tpr) + delta + 1e-12
    highest = (tpr * (first & second)).max(axis=0)
    limit = highest_tpr(fpr, epsilon=epsilon, delta=delta)
    assert np.allclose(limit, highest, atol=1e-3 + 1e-9)
    advantage = largest_advantage(epsilon, delta)
    assert advantage - 0.02 <= np.max(limit - fpr) <= advantage + 1e-9


def test_at_epsilon_0_no_attack_is_better_than_a_coin():
    assert np.allclose(highest_tpr(FPRS, epsilon=0.0, delta=0.0), FPRS)
    assert largest_advantage(0.0, 0.0) == 0


@pytest.mark.parametrize("bad", [{"epsilon": -1.0}, {"delta": 2.0}, {"epsilon": float("nan")}])
def test_a_promise_that_cannot_be_is_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        highest_tpr(FPRS, **{"epsilon": 1.0, "delta": 0.0} | bad)


@pytest.mark.parametrize("tpr", [0.2, 0.5, 0.9])
@pytest.mark.parametrize("fpr", [0.05, 0.2, 0.7])
def test_the_least_epsilon_just_keeps_the_promise(tpr, fpr):
    epsilon = least_epsilon(tpr, fpr, delta=1e-3)
    assert tpr <= highest_tpr(fpr, epsilon=epsilon, delta=1e-3) + 1e-12
    if epsilon > 0:
        assert tpr > highest_tpr(fpr, epsilon=epsilon * 0.999, delta=1e-3)


def test_a_certain_answer_needs_an_infinite_epsilon():
    assert least_epsilon(0.3, 0.0, delta=1e-5) == np.inf
    assert least_epsilon(1.0, 0.4, delta=1e-5) == np.inf
    assert least_epsilon(1e-6, 0.0, delta=1e-5) == 0


@pytest.mark.parametrize(
    ("sigma", "sample_rate", "steps"),
    [(1.0, 0.01, 1000), (0.6, 0.128, 480), (3.0, 0.128, 480), (2.0, 1.0, 10)],
)
def test_dp_sgd_promises_what_opacus_counts(sigma, sample_rate, steps):
    accountants = pytest.importorskip("opacus.accountants", reason="Opacus is not installed")
    counted = accountants.RDPAccountant()
    counted.history = [(sigma, sample_rate, steps)]
    guarantee = dp_sgd(sigma=sigma, sample_rate=sample_rate, steps=steps)
    for delta in (1e-7, 1e-5, 1e-3):
        assert guarantee.epsilon(delta) == pytest.approx(counted.get_epsilon(delta), rel=0.02)


@pytest.mark.parametrize(("sigma", "steps"), [(5.0, 1), (5.0, 25), (2.0, 10)])
def test_the_ceiling_lies_above_what_the_gaussian_mechanism_truly_allows(sigma, steps):
    # With every record in every batch, the best attack has Φ(Φ⁻¹(FPR) + √steps / σ).
    guarantee = dp_sgd(sigma=sigma, sample_rate=1.0, steps=steps)
    fpr = np.geomspace(1e-4, 1, 50)
    truth = scipy.stats.norm.cdf(scipy.stats.norm.ppf(fpr) + np.sqrt(steps) / sigma)
    allowed = guarantee.highest_tpr(fpr)
    assert (allowed >= truth - 1e-9).all()
    assert (allowed - truth).max() < 0.35  # and not so far above that it says nothing


def test_many_pairs_allow_no_more_than_one_of_them():
    guarantee = dp_sgd(sigma=3.0, sample_rate=0.128, steps=480)
    one_pair = promised(guarantee.epsilon(1e-5), 1e-5)
    allowed = guarantee.highest_tpr(FPRS)
    assert (allowed <= one_pair.highest_tpr(FPRS) + 1e-12).all()
    assert (one_pair.highest_tpr(FPRS) - allowed).max() > 0.1
    assert guarantee.epsilon(1e-13) == np.inf


def test_a_pair_is_a_guarantee_and_other_claims_are_refused():
    guarantee = dp_sgd(sigma=3.0, sample_rate=0.128, steps=480)
    assert as_guarantee(guarantee) is guarantee
    assert as_guarantee([1.0, 1e-5]).epsilon(1e-5) == 1
    for claim in (1.0, (1.0,), "safe", None):
        with pytest.raises(ValueError, match="pair"):
            as_guarantee(claim)


def test_no_sampling_is_perfect_privacy():
    guarantee = dp_sgd(sigma=1.0, sample_rate=0.0, steps=1000)
    assert guarantee.epsilon(1e-2) < 0.1


def test_the_share_used_is_1_on_the_ceiling_and_0_on_the_diagonal():
    guarantee = promised(1.0, 1e-5)
    inside = FPRS[:-1]
    assert np.allclose(guarantee.share_used(guarantee.highest_tpr(inside), inside), 1)
    assert np.allclose(guarantee.share_used(inside, inside), 0)
    assert np.isnan(guarantee.share_used([1.0], [1.0])).all()
    with pytest.raises(ValueError, match="as many TPRs as FPRs"):
        guarantee.share_used([0.5], [0.1, 0.2])


def test_a_broken_guarantee_is_said_loudly_and_a_kept_one_is_not():
    scores, is_member = gaussian_game(np.random.default_rng(11), 3.0, 2000)
    refuted = one_run(scores, is_member, delta=1e-5, by_coin=True)
    said = promised(0.5, 1e-5).contradiction(refuted)
    assert said.startswith("THE GUARANTEE IS BROKEN: (0.5, 1e-5)-DP promises ε = 0.5")
    assert str(refuted) in said
    assert promised(8.0, 1e-5).contradiction(refuted) == ""
    assert promised(0.5, 1e-5).agreement(refuted) == ""
    kept = promised(8.0, 1e-5).agreement(refuted)
    assert f"it refutes only an ε below {refuted.below:g}, and ε = 8 is promised" in kept
    assert "no ε is promised at δ" in promised(0.5, 1e-3).agreement(refuted)
    # A promise with a larger δ says nothing of a smaller one.
    assert promised(0.5, 1e-3).contradiction(refuted) == ""
    comparison = one_run(scores, is_member, delta=1e-5)
    assert "if members were dealt by coin" in promised(0.5, 1e-5).contradiction(comparison)
    with pytest.raises(TypeError, match="one_run"):
        promised(0.5, 1e-5).contradiction(1.0)


@pytest.mark.parametrize(
    ("epsilons", "deltas", "sentence"),
    [([1.0], [0.1, 0.2], "as many ε as δ"), ([], [], "as many"), ([-1.0], [0.1], "epsilons")],
)
def test_a_guarantee_of_nonsense_is_refused(epsilons, deltas, sentence):
    with pytest.raises(ValueError, match=sentence):
        Guarantee(np.array(epsilons), np.array(deltas))


@pytest.mark.parametrize("bad", [{"sigma": 0.0}, {"sample_rate": 1.1}, {"steps": 0}])
def test_a_training_without_noise_or_steps_promises_nothing(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        dp_sgd(**{"sigma": 1.0, "sample_rate": 0.1, "steps": 10} | bad)
