"""What a report is asked: limits, policies, comparison, records, slices, sentences."""

from dataclasses import replace

import numpy as np
import pytest

from audited import outputs
from mialib import audit, exposure
from mialib.audits import AuditError
from mialib.audits.exposed import calibration_error, slices
from mialib.audits.findings import AGAINST, FOR
from mialib.signals import Signals

ATTACKS = ("correctness", "loss", "entropy")


def made(leak, n=1000, **options):
    logits, labels, is_member = outputs(n, leak=leak)
    return audit.from_outputs(
        logits=logits, labels=labels, is_member=is_member, attacks=ATTACKS, **options
    )


@pytest.fixture(scope="module")
def leaky():
    return made(2.0)


@pytest.fixture(scope="module")
def tight():
    return made(0.0)


def test_check_raises_with_the_numbers_and_the_rule(leaky):
    with pytest.raises(AuditError, match=r"above the limit 0\.1") as caught:
        leaky.check(advantage=0.1)
    assert "The upper end of the 95 % interval" in str(caught.value)
    assert str(leaky.attacks[1].advantage) in str(caught.value)
    leaky.check(advantage=1.0, auc=1.0, tpr_at_1_percent=1.0, accuracy_gap=1.0)


def test_check_holds_the_upper_end_unless_told(tight):
    worst = max(row.advantage.high for row in tight.attacks)
    tight.check(advantage=worst)
    with pytest.raises(AuditError, match="not shown to be within the limit"):
        tight.check(advantage=worst - 1e-6)
    tight.check(advantage=worst - 1e-6, end="low")


def test_a_gate_does_not_open_for_want_of_records():
    few = made(0.0, n=60)
    with pytest.raises(AuditError, match="not resolvable with 30 non-members"):
        few.check(tpr_at_1_percent=0.5)


@pytest.mark.parametrize("limits", [{}, {"colour": 1}, {"advantage": "low"}, {"end": "middle"}])
def test_check_refuses_what_it_does_not_know(leaky, limits):
    with pytest.raises(ValueError, match=r"limit|end of an interval|must be a number") as caught:
        leaky.check(**limits)
    assert not isinstance(caught.value, AuditError)


def test_policies_write_lines_and_no_policy_writes_none(leaky, tight):
    assert leaky.judgement.lines == ()
    own = made(2.0, policy={"advantage": 0.1, "tpr at 1 %": 1.0, "Accuracy gap": 0.9})
    sides = [line.side for line in own.judgement.lines]
    assert sides == [AGAINST] * 3 + [FOR] * 3 + [FOR]
    assert "at most 0.1" in own.judgement.lines[0].rule
    aisvs = made(0.0, policy="aisvs").judgement
    assert {line.side for line in aisvs.lines} == {FOR}
    assert "corrected for 3 attacks" in aisvs.lines[0].sentence
    assert "AISVS" in aisvs.lines[0].rule


def test_compare_is_paired_by_record(leaky, tight):
    same = leaky.compare(leaky)
    assert {one.words for one in same} == {"not told apart"}
    assert all(one.auc.low == one.auc.high == 0 for one in same)
    less = {one.attack: one for one in leaky.compare(tight)}
    assert less["loss"].words == "leaks less"
    expected = tight.attacks[1].auc.value - leaky.attacks[1].auc.value
    assert less["loss"].auc.value == pytest.approx(expected)
    assert less["loss"].auc.high - less["loss"].auc.low < 0.1
    assert {one.words for one in tight.compare(leaky)} == {"leaks more"}


def test_compare_refuses_other_records(leaky):
    logits, labels, is_member = outputs(1000, seed=5)
    other = audit.from_outputs(logits=logits, labels=labels, is_member=is_member, attacks=ATTACKS)
    with pytest.raises(ValueError, match="different records"):
        leaky.compare(other)
    with pytest.raises(TypeError, match="another Audit"):
        leaky.compare(None)


def test_sentences_have_the_counts(leaky):
    found = leaky.strongest.tpr_at_1_percent
    text = leaky.summary()
    assert f"finds {round(1000 * found.value)} of 1,000 members" in text
    assert "accusing at most 10 of 1,000 non-members; a guess would find 10." in text
    twice = (leaky.exposure.found_by[leaky.is_member] >= 2).sum()
    assert f"agree on {twice} of 500 members" in text


def test_the_most_exposed_are_members_that_attacks_agree_on(leaky):
    records = leaky.records(20)
    assert len(records) == 20
    assert all(leaky.is_member[one.row] for one in records)
    assert records[0].found_by == leaky.exposure.found_by[leaky.is_member].max()
    rank = leaky.exposure.rank
    ordered = [(-one.found_by, -rank[one.row], one.row) for one in records]
    assert ordered == sorted(ordered)
    loss = leaky.attacks[1]
    limit = np.sort(loss.scores[~leaky.is_member])[::-1][5]  # 1 % of 500 may stand above
    found = {row.name: row.scores > limit for row in [loss]}
    assert exposure.agreement(found, leaky.is_member).by_how_many.mean() == pytest.approx(
        loss.tpr_at_1_percent.value
    )


def test_a_group_that_leaks_more_is_told_apart(rng):
    is_member = rng.random(2000) < 0.5
    groups = rng.choice(["young", "old", "older"], size=2000)
    scores = rng.normal(size=2000) + 1.5 * is_member * (groups == "old")
    by_name = {one.name: one for one in slices(scores, is_member, groups)}
    assert by_name["old"].words == "more exposed than the others"
    assert by_name["old"].p_value < 1e-6
    assert by_name["young"].words == "less exposed than the others"


def test_a_group_without_members_says_so():
    logits, labels, is_member = outputs(300)
    groups = np.where(is_member, "a", "b")
    report = audit.from_outputs(
        logits=logits, labels=labels, is_member=is_member, groups=groups, attacks=ATTACKS
    )
    assert {one.words for one in report.exposure.slices} == {"fewer than 20 members or non-members"}
    pair = (["", "x"] * 75, ["x"] * 150)
    report = audit.from_outputs(
        logits=logits, labels=labels, is_member=is_member, groups=pair, attacks=ATTACKS
    )
    assert [one.name for one in report.exposure.slices] == ["(no name)", "x"]


def test_more_slices_have_wider_intervals(rng):
    is_member = rng.random(800) < 0.5
    scores = rng.normal(size=800)
    few = slices(scores, is_member, np.arange(800) % 2)
    many = slices(scores, is_member, np.arange(800) % 2 * (1 + np.arange(800) // 2 % 4))
    width = few[0].auc.high - few[0].auc.low
    assert many[0].auc.high - many[0].auc.low > 1.1 * width


def test_calibration_error_by_its_definition(rng):
    logits, labels, _ = outputs(400)
    signals = Signals(3 * logits, labels)
    confidence = signals.probabilities().max(axis=1)
    by_bin = 0.0
    for low in np.arange(15) / 15:
        inside = (confidence >= low) & (confidence < low + 1 / 15)
        if inside.any():
            by_bin += (
                abs(signals.correct()[inside].mean() - confidence[inside].mean()) * inside.sum()
            )
    estimate = calibration_error(signals)
    assert estimate.value == pytest.approx(by_bin / 400)
    assert estimate.low < estimate.value < estimate.high


def test_findings_are_data_that_can_be_replaced(leaky):
    unbounded = replace(leaky, epsilon=None)
    assert unbounded.epsilon is None
    assert unbounded.table == leaky.table
    assert [bound.refuted.direction for bound in leaky.epsilon] == ["accusing", "clearing"]
    assert not any("ε" in sentence for sentence in leaky.not_tested)
