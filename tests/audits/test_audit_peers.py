"""Side by side with other reports: every number that they print is in ours, with its own name.

The names are those of SACRO-ML 2.0.1 (`sacroml/metrics.py` and its attacks' reports) and of LeakPro
(`leakpro/reporting/mia_result.py`, commit 0078213). What each stands for is computed here from its
definition, so that a number which moves away, or means something else, is noticed.
"""

import csv
import json
from functools import cache

import numpy as np
import pytest
from sklearn import metrics as sklearn_metrics

from audited import outputs
from mialib import audit
from mialib.audits.more import auc_p_value, more_numbers, tails

N = 4000


@cache
def told():
    """An audit whose report is compared."""
    logits, labels, is_member = outputs(N, leak=1.0)
    return audit.from_outputs(
        logits=logits, labels=labels, is_member=is_member, attacks=["correctness", "loss"]
    )


@cache
def saved(folder):
    written = told().save(folder / "audit.html", records=True)
    return {path.name: path.read_text(encoding="utf-8") for path in written}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("audit"))


def row(name="loss"):
    (found,) = (one for one in told().attacks if one.name == name)
    return found


def share_of_members(scores, is_member, share):
    """Members among the highest and the lowest scores, counted after a sort."""
    number = int(np.ceil(share * len(scores)))
    order = np.argsort(scores)
    return is_member[order[-number:]].mean(), is_member[order[:number]].mean()


def tpr_at(fpr):
    """The largest TPR whose FPR is at most that, on the curve of scikit-learn."""
    false, true, _ = sklearn_metrics.roc_curve(told().is_member, row().scores)
    return true[false <= fpr + 1e-12].max()


def by_definition():
    """Each name of theirs → the number that it stands for, of the loss attack."""
    calls = row().calls
    scores = row().scores
    truth = told().is_member
    tn, fp, fn, tp = sklearn_metrics.confusion_matrix(truth, calls).ravel()
    numbers = {
        "TPR": tp / (tp + fn),
        "FPR": fp / (fp + tn),
        "FAR": fp / (fp + tp),
        "TNR": tn / (tn + fp),
        "PPV": sklearn_metrics.precision_score(truth, calls),
        "NPV": tn / (tn + fn),
        "FNR": fn / (tp + fn),
        "ACC": sklearn_metrics.accuracy_score(truth, calls),
        "F1score": sklearn_metrics.f1_score(truth, calls),
        "Advantage": abs(tp / (tp + fn) - fp / (fp + tn)),
        "AUC": sklearn_metrics.roc_auc_score(truth, scores),
        "n_pos_test_examples": truth.sum(),
        "n_neg_test_examples": (~truth).sum(),
        "roc_auc": sklearn_metrics.roc_auc_score(truth, scores),
        "accuracy": sklearn_metrics.accuracy_score(truth, calls),
        "tp": tp,
        "fp": fp,
        "tn": tn,
        "fn": fn,
    }
    for name, fpr in RATES.items():
        numbers[name] = tpr_at(fpr)
    for tail, share in {"01": 0.1, "02": 0.2, "001": 0.01}.items():
        top, bottom = share_of_members(scores, truth, share)
        numbers |= {f"FMAX{tail}": top, f"FMIN{tail}": bottom, f"FDIF{tail}": top - bottom}
    return numbers


# Names of TPRs at an FPR: SACRO's first, in percent, then LeakPro's.
RATES = {
    "TPR@0.5%": 0.005,
    "TPR@0.2%": 0.002,
    "TPR@0.1%": 0.001,
    "TPR@10%FPR": 0.1,
    "TPR@1%FPR": 0.01,
    "TPR@0.1%FPR": 0.001,
    "TPR@0%FPR": 0.0,
}

# Their name → where ours stands in an attack of the JSON, or in its head; "1 −" is its complement.
OURS = {
    "TPR": "tpr.value",
    "FPR": "fpr.value",
    "FAR": "1 − more.ppv_here.value",
    "TNR": "1 − fpr.value",
    "PPV": "more.ppv_here.value",
    "NPV": "more.npv_here.value",
    "FNR": "1 − tpr.value",
    "ACC": "more.accuracy.value",
    "F1score": "more.f1.value",
    "Advantage": "advantage.value",
    "AUC": "auc.value",
    "FMAX01": "more.tenth.top",
    "FMIN01": "more.tenth.bottom",
    "FDIF01": "more.tenth.difference.value",
    "FMAX02": "more.fifth.top",
    "FMIN02": "more.fifth.bottom",
    "FDIF02": "more.fifth.difference.value",
    "FMAX001": "more.hundredth.top",
    "FMIN001": "more.hundredth.bottom",
    "FDIF001": "more.hundredth.difference.value",
    "TPR@0.5%": "more.tpr_at_0_5_percent.value",
    "TPR@0.2%": "more.tpr_at_0_2_percent.value",
    "TPR@0.1%": "tpr_at_0_1_percent.value",
    "n_pos_test_examples": "head.members",
    "n_neg_test_examples": "head.non_members",
    "roc_auc": "auc.value",
    "accuracy": "more.accuracy.value",
    "tp": "more.found",
    "fp": "more.accused",
    "tn": "more.cleared",
    "fn": "more.missed",
    "TPR@10%FPR": "more.tpr_at_10_percent.value",
    "TPR@1%FPR": "tpr_at_1_percent.value",
    "TPR@0.1%FPR": "tpr_at_0_1_percent.value",
    "TPR@0%FPR": "more.tpr_without_alarms.value",
}

# Numbers that must be there, but are not the same: theirs ignore ties, or n does not resolve them.
THERE = {
    "P_HIGHER_AUC": "more.auc_p_value",
    "PDIF01": "more.tenth.p_value",
    "PDIF02": "more.fifth.p_value",
    "PDIF001": "more.hundredth.p_value",
    "TPR@0.01%": "more.tpr_at_0_01_percent",
    "TPR@0.001%": "more.tpr_at_0_001_percent",
    "TPR@1e-05%": "more.tpr_without_alarms",  # the same for fewer than ten million non-members
    "TPR@0.01%FPR": "more.tpr_at_0_01_percent",
    "fpr": "curve.fpr",
    "tpr": "curve.tpr",
    "null_auc_3sd_range": "belief.null.loss.auc",
    "AUC_sig": "belief.null.loss.auc_of_all",
    "train accuracy": "utility.accuracy_members.value",
    "test accuracy": "utility.accuracy_non_members.value",
    "n_vulnerable_all_attacks": "members_found_by",
    "DP-SGD ε": "guarantee",
}

# What they say of each record → a column of audit.records.csv, written if asked.
BY_RECORD = {
    "signal_values": "score of loss",
    "member_prob": "score of loss",
    "roc_thresh": "score of loss",
    "true_labels": "is_member",
    "member": "is_member",
    "n_vulnerable": "found_by",
    "mia_mean": "above",
}

# Theirs that are left out, and why.
LEFT_OUT = {
    "pred_prob_var": "the variance of a score says nothing of members",
    "partial AUC": "a mean over the points of a curve, which depends on how many there are",
    "struct_k": "a property of the model's leaves and of the training data, no attack's number",
}


def found_at(path, content):
    """The number at a path of an attack, or of the whole JSON."""
    attack = next(one for one in content["attacks"] if one["name"] == "loss")
    start = attack if path.split(".")[0] in attack else content
    for name in path.split("."):
        start = start[name]
    return start


@pytest.mark.parametrize("name", OURS)
def test_every_number_of_theirs_is_in_ours(name, files):
    path = OURS[name]
    number = found_at(path.removeprefix("1 − "), json.loads(files["audit.json"]))
    if path.startswith("1 − "):
        number = 1 - number
    assert number == pytest.approx(by_definition()[name], abs=1e-12)


def test_nothing_that_is_defined_here_is_forgotten():
    assert OURS.keys() == by_definition().keys()
    assert not LEFT_OUT.keys() & (OURS.keys() | THERE.keys() | BY_RECORD.keys())


@pytest.mark.parametrize("name", THERE)
def test_what_ours_says_otherwise_is_there(name, files):
    number = found_at(THERE[name], json.loads(files["audit.json"]))
    assert number is not None or name == "DP-SGD ε"
    if isinstance(number, dict) and "note" in number:
        assert (number["value"] is None) == bool(number["note"])


@pytest.mark.parametrize("name", BY_RECORD)
def test_what_they_say_of_each_record_is_written_if_asked(name, files):
    rows = list(csv.DictReader(files["audit.records.csv"].splitlines()))
    assert len(rows) == N
    assert all(one[BY_RECORD[name]] != "" for one in rows)


def test_the_four_that_they_lack(files):
    content = json.loads(files["audit.json"])
    assert content["belief"]["blind"]["auc"]["value"] is not None
    assert content["belief"]["null"]["loss"]["auc"]["low"] < 0.5
    assert content["attacks"][1]["auc"]["low"] < content["attacks"][1]["auc"]["high"]
    assert len(content["not_tested"]) >= 3


def test_the_csv_has_the_same_numbers(files):
    rows = {one["attack"]: one for one in csv.DictReader(files["audit.csv"].splitlines())}
    more = row().more
    assert int(rows["loss"]["found"]) == more.found
    assert float(rows["loss"]["f1_high"]) == more.f1.high
    assert float(rows["loss"]["tenth_difference"]) == more.tenth.difference.value
    assert float(rows["loss"]["tenth_p_value"]) == more.tenth.p_value
    assert rows["loss"]["tpr_at_0_001_percent"] == ""


def test_the_page_folds_them_away(files):
    page = files["audit.html"]
    folded = page[page.index("<summary>More numbers</summary>") :]
    folded = folded[: folded.index("</details>")]
    assert f"{row().more.f1.value:.3f}" in folded
    assert folded.count("<tr>") == 1 + len(told().attacks)
    assert "p &lt; 0.001" in folded


# By hand.


def test_ten_records_by_hand():
    """Six members, three of them called; four non-members, one of them called."""
    scores = np.array([9.0, 8, 7, 6, 5, 4, 3, 2, 1, 0])
    is_member = np.array([1, 1, 0, 1, 1, 0, 1, 0, 1, 0], bool)
    more = more_numbers(scores, scores >= 6, is_member, rng=np.random.default_rng(0))
    assert (more.found, more.accused, more.missed, more.cleared) == (3, 1, 3, 3)
    assert more.accuracy.value == 6 / 10
    assert more.balanced_accuracy.value == pytest.approx((3 / 6 + 3 / 4) / 2)
    assert more.ppv_here.value == 3 / 4
    assert more.npv_here.value == 3 / 6
    assert more.f1.value == pytest.approx(2 * 3 / (2 * 3 + 1 + 3))
    assert more.f1.low < more.f1.value < more.f1.high
    assert more.tpr_without_alarms.value == pytest.approx(2 / 6)
    assert more.tpr_at_10_percent.note == "not resolvable with 4 non-members"
    assert more.tenth.difference.note == "fewer than 10 records"


def test_nobody_called_and_everybody_called():
    scores = np.arange(20.0)
    is_member = scores > 12
    rng = np.random.default_rng(0)
    nobody = more_numbers(scores, scores > 99, is_member, rng=rng)
    assert nobody.ppv_here.note == "nobody is called a member"
    assert (nobody.f1.value, nobody.npv_here.value) == (0, 13 / 20)
    everybody = more_numbers(scores, scores > -1, is_member, rng=rng)
    assert everybody.npv_here.note == "everybody is called a member"
    assert everybody.f1.value == pytest.approx(2 * 7 / (2 * 7 + 13))


def test_tails_by_hand_and_with_a_tie_at_the_edge():
    """100 records, of which the highest ten are members and two of the lowest ten."""
    is_member = np.arange(100) >= 50
    is_member[[3, 7]] = True
    clear = tails(np.arange(100.0), is_member, 0.1)
    assert (clear.records, clear.top, clear.bottom) == (10, 1.0, 0.2)
    assert clear.difference.value == pytest.approx(0.8)
    # σ² = 2 · 52 · 48 / (100 · 99) / 10, so 0.8 lies 3.563 deviations away.
    assert clear.p_value == pytest.approx(0.000183, abs=2e-6)
    tied = tails(np.repeat(np.arange(5.0), 20), is_member, 0.1)
    assert (tied.top, tied.bottom) == (1.0, 0.1)


def test_ties_do_not_depend_on_the_order_of_the_records(rng):
    scores = rng.integers(3, size=300).astype(float)
    is_member = rng.random(300) < 0.5
    order = rng.permutation(300)
    forth = tails(scores, is_member, 0.1)
    back = tails(scores[order], is_member[order], 0.1)
    assert forth.top == pytest.approx(back.top)
    assert forth.p_value == pytest.approx(back.p_value)
    same = tails(np.zeros(300), is_member, 0.1)
    assert same.difference.value == pytest.approx(0)
    assert same.p_value == pytest.approx(0.5)


@pytest.mark.parametrize("ties", [False, True])
def test_p_values_keep_their_level_under_shuffled_membership(rng, ties):
    scores = rng.normal(size=400)
    scores = np.round(scores) if ties else scores
    is_member = np.arange(400) < 200
    shuffled = [rng.permutation(is_member) for _ in range(1000)]
    of_tails = [tails(scores, one, 0.1).p_value for one in shuffled]
    of_auc = [auc_p_value(scores, one) for one in shuffled]
    for p_values in (of_tails, of_auc):
        # Of 40 records in a tail a share has steps, so the level is not met exactly.
        assert 0.015 < np.mean(np.array(p_values) < 0.05) < 0.075
