"""Audits of outputs alone, from arrays and files; what is mended, and what is refused."""

import time

import numpy as np
import pytest
import scipy

from audited import outputs
from mialib import audit
from mialib.attacks import ATTACKS
from mialib.signals import Signals

QUICK = ("correctness", "loss", "entropy", "loss per class")


def from_logits(logits, labels, is_member, **options):
    options = {"attacks": QUICK} | options
    return audit.from_outputs(logits=logits, labels=labels, is_member=is_member, **options)


def same(report, other):
    for row, expected in zip(report.attacks, other.attacks, strict=True):
        assert row.auc == expected.auc
        assert row.advantage == expected.advantage
        assert row.tpr_at_1_percent == expected.tpr_at_1_percent
        assert row.ppv == expected.ppv


# Order changes nothing.


@pytest.fixture(scope="module")
def leaky():
    return outputs(500, leak=1.0)


@pytest.fixture(scope="module")
def report(leaky):
    return from_logits(*leaky)


def test_the_order_of_records_changes_nothing(leaky, report, rng):
    logits, labels, is_member = leaky
    order = rng.permutation(len(labels))
    shuffled = from_logits(logits[order], labels[order], is_member[order])
    same(shuffled, report)
    assert shuffled.head.fingerprint == report.head.fingerprint
    assert shuffled.summary().split("; it needs")[0] == report.summary().split("; it needs")[0]
    for row, expected in zip(shuffled.attacks, report.attacks, strict=True):
        assert (row.scores == expected.scores[order]).all()
        assert (row.calls == expected.calls[order]).all()
    assert [one.row for one in report.records(5)] == [order[one.row] for one in shuffled.records(5)]


def test_the_order_of_classes_changes_nothing(leaky, report, rng):
    logits, labels, is_member = leaky
    new = rng.permutation(logits.shape[1])  # class c is called new[c]
    renamed = from_logits(logits[:, np.argsort(new)], new[labels], is_member)
    same(renamed, report)
    by_name = {one.name: one for one in renamed.exposure.slices}
    for one in report.exposure.slices:
        assert by_name[str(new[int(one.name)])].auc == one.auc


def test_the_order_of_attacks_changes_nothing(leaky, report):
    reversed_ = from_logits(*leaky, attacks=QUICK[::-1])
    assert reversed_.strongest.name == report.strongest.name
    by_name = {row.name: row for row in reversed_.attacks}
    for row in report.attacks:
        assert by_name[row.name].tpr_at_1_percent == row.tpr_at_1_percent
        assert by_name[row.name].auc == row.auc
    for name, band in report.belief.null.items():
        assert repr(reversed_.belief.null[name]) == repr(band)  # NaN is not equal to NaN.
    assert reversed_.exposure.agreement == report.exposure.agreement
    assert (reversed_.exposure.found_by == report.exposure.found_by).all()
    assert [row["attack"] for row in report.table] == [row["attack"] for row in reversed_.table]


# What is mended and said.


def test_probabilities_handed_in_as_logits(leaky, report):
    logits, labels, is_member = leaky
    softmax = scipy.special.softmax(logits, axis=1)
    taken = from_logits(softmax, labels, is_member)
    assert any("read as such" in note for note in taken.head.notes)
    said = audit.from_outputs(
        probabilities=softmax, labels=labels, is_member=is_member, attacks=QUICK
    )
    assert said.head.notes == ()
    same(taken, said)
    assert taken.attacks[1].auc.value == pytest.approx(report.attacks[1].auc.value, abs=1e-4)


def test_labels_that_start_at_1(leaky, report):
    logits, labels, is_member = leaky
    moved = from_logits(logits, labels + 1, is_member)
    same(moved, report)
    assert "Labels from 1 to 4 were read as 0 to 3." in moved.head.notes


def test_half_precision(leaky, report):
    logits, labels, is_member = leaky
    half = from_logits(logits.astype(np.float16), labels, is_member)
    assert half.attacks[1].auc.value == pytest.approx(report.attacks[1].auc.value, abs=0.01)


@pytest.mark.parametrize("column", ["logit", "probability"])
def test_a_binary_task_in_one_column(column):
    logits, labels, is_member = outputs(400, classes=2, leak=1.0)
    difference = logits[:, 1] - logits[:, 0]
    if column == "logit":
        one = from_logits(difference, labels, is_member)
    else:
        p = scipy.special.expit(difference)
        one = audit.from_outputs(probabilities=p, labels=labels, is_member=is_member, attacks=QUICK)
    two = from_logits(logits, labels, is_member)
    assert one.attacks[1].auc.value == pytest.approx(two.attacks[1].auc.value)
    assert "class 1" in one.head.notes[0]


def test_a_thousand_classes():
    report = from_logits(*outputs(1500, classes=1000, leak=2.0))
    assert len(report.exposure.slices) > 700
    assert report.exposure.slices[0].difference.note == "fewer than 20 members or non-members"
    assert report.strongest.auc.low > 0.5


def test_unequal_sets():
    logits, labels, is_member = outputs(1000, leak=1.0)
    kept = is_member | (np.arange(1000) < 200)
    report = from_logits(logits[kept], labels[kept], is_member[kept])
    assert (report.head.members, report.head.non_members) == (500, 100)
    assert report.belief.unresolvable == (0.001,)
    assert report.attacks[0].tpr_at_0_1_percent.note == "not resolvable with 100 non-members"


def test_fewer_than_100_records():
    report = from_logits(*outputs(60, leak=3.0))
    assert report.belief.unresolvable == (0.01, 0.001)
    assert any("only 60 records" in note for note in report.head.notes)
    assert "nothing can be said with 30 non-members" in report.summary()


def test_one_class():
    logits, _, is_member = outputs(200)
    report = from_logits(logits, np.full(200, 2), is_member)
    assert "All records have the same label, 2." in report.head.notes
    assert report.exposure.slices[0].words == "there are no others to compare with"


def test_200_thousand_records_are_no_burden():
    """A tenth of them here, in a tenth of a minute of processor time at most."""
    given = outputs(20_000, classes=10, leak=1.0)
    start = time.process_time()
    report = from_logits(*given, attacks=None)
    assert time.process_time() - start < 6
    assert report.strongest.auc.high - report.strongest.auc.low < 0.02


# What is refused.


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"logits": np.full((200, 4), np.nan)}, "NaN or infinite logits"),
        ({"logits": np.zeros((200, 4, 2))}, r"must be \(n, classes\)"),
        ({"logits": np.zeros((199, 4))}, "outputs of 199 records and 200 labels"),
        ({"logits": None}, "either logits= or probabilities="),
        ({"probabilities": np.zeros((200, 4))}, "either logits= or probabilities="),
        ({"labels": np.full(200, 9)}, "Labels must lie in 0 … 3"),
        ({"labels": np.full(200, 0.5)}, "labels must be integers"),
        ({"labels": np.eye(4)[np.zeros(200, int)]}, "argmax"),
        ({"is_member": np.ones(200, bool)}, "all 200 records are members"),
        ({"is_member": np.arange(200)}, "must be True or False"),
        ({"groups": ["a"] * 7}, "one group for each of the 200 records"),
        ({"inputs": np.zeros((3, 4))}, "one row for each of 200 records"),
        ({"prior": 2}, "prior must be a number"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"policy": "green"}, "There is no policy 'green'"),
        ({"policy": {"colour": 1}}, "There is no number with a limit 'colour'"),
        ({"attacks": "loss"}, "attacks must be a list"),
        ({"attacks": ["luck"]}, "There is no attack 'luck'"),
        ({"attacks": ["LiRA"]}, "None of these attacks can be played"),
        ({"guarantee": 3}, "guarantee must be"),
        ({"colour": 3}, "There is no option 'colour'"),
    ],
)
def test_bad_input_ends_in_a_sentence(change, sentence):
    logits, labels, is_member = outputs(200)
    given = {"logits": logits, "labels": labels, "is_member": is_member} | change
    with pytest.raises(ValueError, match=sentence):
        audit.from_outputs(**given)


def test_probabilities_that_are_none_are_refused():
    logits, labels, is_member = outputs(200)
    with pytest.raises(ValueError, match="Probabilities must be numbers from 0 to 1"):
        audit.from_outputs(probabilities=logits, labels=labels, is_member=is_member)


# Files.


def test_an_npz_gives_what_its_arrays_give(tmp_path, leaky, report):
    Signals(*leaky).save(tmp_path / "outputs.npz")
    same(audit.from_file(tmp_path / "outputs.npz", attacks=QUICK), report)


def test_a_csv_gives_what_its_columns_give(tmp_path, leaky, report):
    logits, labels, is_member = leaky
    header = [f"logits_{k}" for k in range(4)] + ["label", "is_member", "group"]
    lines = [",".join(header)]
    for row, label, member in zip(logits, labels, is_member, strict=True):
        numbers = [repr(float(number)) for number in row]
        lines.append(",".join([*numbers, str(label), str(member), "old" if label else "young"]))
    path = tmp_path / "outputs.csv"
    path.write_text("\n".join(lines))
    read = audit.from_file(path, attacks=QUICK)
    same(read, report)
    assert read.exposure.sliced_by == "group"
    assert [one.name for one in read.exposure.slices] == ["old", "young"]


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("a.txt", "", "Expected an .npz or a .csv"),
        ("a.csv", "", "does not name every column"),
        ("a.csv", "logits_0,logits_1,label,is_member\n", "no record below the names"),
        ("a.csv", "logits_0,logits_2,label,is_member\n1,2,0,1", "but lacks logits_1"),
        ("a.csv", "label,is_member\n1,True", "lacks logits or probabilities"),
        ("a.csv", "logits_0,logits_1,label\n1,2", "line 2 has 2 entries under 3 names"),
        ("a.csv", "logits_0,logits_1,label,is_member\n1,b,0,1", "could not convert string 'b'"),
        (
            "a.csv",
            "logits_0,logits_1,label,is_member\n1,2,0,maybe",
            "could not convert string 'maybe'",
        ),
        ("a.csv", "logits_0,logits_1,label,is_member\n1,2,0,3", "must be True or False"),
        ("a.npz", "no archive", "could not be read"),
    ],
)
def test_a_file_that_holds_no_outputs_is_refused(tmp_path, name, text, sentence):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(ValueError, match=sentence):
        audit.from_file(path)
    with pytest.raises(ValueError, match=r"There is no file missing\.npz"):
        audit.from_file(tmp_path / "missing.npz")


def test_every_attack_is_played_or_lacking(leaky):
    report = from_logits(*leaky, attacks=None)
    assert {row.name for row in report.attacks} | set(report.lacking) == set(ATTACKS)
