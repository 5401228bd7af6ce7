"""Where there is nothing to find, an audit says so, and errs as often as it states."""

import numpy as np
import pytest
import scipy

from audited import outputs
from mialib import audit
from mialib.audits import belief
from mialib.audits.findings import AGAINST
from mialib.audits.intervals import placements

AUDITS = 200
ATTACKS = ("correctness", "loss", "entropy")


def most(rate: float) -> int:
    """More false alarms than this happen once in a thousand times, if the rate is right."""
    return int(scipy.stats.binom.ppf(0.999, AUDITS, rate))


@pytest.fixture(scope="module")
def shuffled():
    """200 audits of one model, with membership dealt out at random."""
    logits, labels, is_member = outputs(400)
    rng = np.random.default_rng(1)
    return [
        audit.from_outputs(
            logits=logits,
            labels=labels,
            is_member=rng.permutation(is_member),
            attacks=ATTACKS,
            policy="aisvs",
            seed=seed,
        )
        for seed in range(AUDITS)
    ]


@pytest.mark.parametrize("attack", range(len(ATTACKS)))
def test_intervals_leave_chance_out_as_often_as_they_say(shuffled, attack):
    rows = [report.attacks[attack] for report in shuffled]
    assert sum(row.advantage.low > 0 for row in rows) <= most(0.025)
    assert sum(not row.auc.low <= 0.5 <= row.auc.high for row in rows) <= most(0.05)


@pytest.mark.parametrize("attack", range(len(ATTACKS)))
def test_null_bands_hold_95_percent(shuffled, attack):
    outside = 0
    for report in shuffled:
        row = report.attacks[attack]
        band = report.belief.null[row.name]
        outside += not band.auc.low <= row.auc.value <= band.auc.high
        assert band.auc_of_all.high > band.auc.high
    assert outside <= most(0.05)
    assert outside >= 1, "a band that holds everything says nothing"


def test_a_policy_raises_a_false_alarm_in_at_most_5_percent(shuffled):
    alarmed = [any(line.side == AGAINST for line in report.judgement.lines) for report in shuffled]
    assert sum(alarmed) <= most(0.05)


def test_the_summary_seldom_claims_an_attack(shuffled):
    claims = sum("does better than a guess" in report.summary() for report in shuffled)
    assert claims <= most(0.025)
    at_low_fpr = sum("would find 10." in report.summary() for report in shuffled)
    assert at_low_fpr <= most(0.025)


def test_slices_are_told_apart_in_at_most_5_percent(shuffled):
    found = [any(one.p_value < 0.05 for one in report.exposure.slices) for report in shuffled]
    assert sum(found) <= most(0.05)


def test_the_blind_baseline_of_labels_keeps_its_level(shuffled):
    assert sum(report.belief.blind.finds_a_shift for report in shuffled) <= most(0.025)


def test_folds_vary_as_much_as_the_constant_says():
    """On shuffled membership the AUC over folds varies about twice as much as DeLong says."""
    rng = np.random.default_rng(2)
    found = []
    for _ in range(40):
        features = rng.normal(size=(120, 10))
        is_member = rng.permutation(120) < 60
        scores = belief._scores_of_inputs(features, is_member, belief._folds(is_member, rng))
        placed = placements(scores, is_member)
        found.append((placed.auc - 0.5) / np.sqrt(placed.variance))
    variance = np.mean(np.square(found))
    assert variance < 1.6 * belief.VARIANCE_OF_FOLDS
    assert variance > 0.8, "else the interval is needlessly wide"
