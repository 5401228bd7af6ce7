"""References that an audit trains with the user's own function, through the store."""

import numpy as np
import pytest
import torch
from sklearn.tree import DecisionTreeClassifier

from audited import CLASSES, drawn, trained
from mialib import audit
from mialib.audits import references
from mialib.audits.findings import FROM_REFERENCES
from mialib.data import Records

MEMBERS = drawn(0)
OTHERS = drawn(1)
ATTACKS = ("loss", "LiRA", "Attack R", "RMIA")


def grow(records, seed):
    """A tree that knows its records by heart."""
    x, y = records
    return DecisionTreeClassifier(random_state=seed).fit(x, y)


@pytest.fixture
def trainings(monkeypatch):
    """The masks that references were trained on."""
    seen = []
    train_one = references._trained

    def counted(train, question, is_in, seed):
        seen.append(is_in)
        return train_one(train, question, is_in, seed)

    monkeypatch.setattr(references, "_trained", counted)
    return seen


def audited(train=grow, **options):
    model = grow(MEMBERS, 9)
    options = {"trainings": 8, "jobs": 1, "attacks": ATTACKS} | options
    return audit(model, MEMBERS, OTHERS, train=train, **options)


def test_references_are_trained_once_and_then_found_in_the_store(trainings):
    first = audited(seed=1)
    assert len(trainings) == 8
    assert (np.sum(trainings, axis=0) == 4).all(), "each record is in half of the references"
    again = audited(seed=1)
    assert len(trainings) == 8
    for row, expected in zip(again.attacks, first.attacks, strict=True):
        assert (row.scores == expected.scores).all()
    audited(seed=2)
    assert len(trainings) == 16, "another seed deals anew"


def test_reference_attacks_are_played_at_their_own_thresholds(trainings):
    report = audited(seed=1)
    assert [row.name for row in report.attacks] == ["loss", "LiRA", "Attack R"]
    assert {row.threshold_from for row in report.attacks} == {FROM_REFERENCES}
    assert report.strongest.auc.low > 0.6
    assert "a population" in report.lacking["RMIA"]
    assert any("8 references were trained on random halves" in note for note in report.head.notes)
    with_population = audited(seed=1, population=drawn(5))
    assert "RMIA" in {row.name for row in with_population.attacks}


def test_code_that_cannot_be_told_apart_is_trained_every_time(trainings):
    network = trained()

    def same_network(records, seed):
        return network

    options = {"trainings": 4, "jobs": 1, "attacks": ["loss", "LiRA"]}
    for _ in range(2):
        report = audit(network, MEMBERS, OTHERS, train=same_network, **options)
    assert len(trainings) == 8
    assert any("trained anew in every audit" in note for note in report.head.notes)
    assert "among its own references" in report.lacking["LiRA"]


def test_the_function_is_handed_what_the_user_handed_in():
    handed = []

    def train(records, seed):
        handed.append(records)
        return trained()

    def run(members, others):
        handed.clear()
        audit(trained(), members, others, train=train, trainings=4, jobs=1, attacks=["loss"])
        return handed[0]

    as_records = [Records("mine", *pair, classes=CLASSES) for pair in (MEMBERS, OTHERS)]
    assert isinstance(run(*as_records), Records)
    x, y = run(*[tuple(map(torch.from_numpy, pair)) for pair in (MEMBERS, OTHERS)])
    assert isinstance(x, torch.Tensor)
    assert len(x) == len(y) == 300
    x, _ = run(MEMBERS, OTHERS)
    assert isinstance(x, np.ndarray)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"train": "grow"}, "train must be a function"),
        ({"trainings": 5}, "models must be even"),
        ({"trainings": 2}, "trainings must be a whole number"),
        ({"jobs": 0}, "jobs must be a whole number"),
        ({"train": lambda records, seed: None}, "found None"),
        ({"references": 3}, "and not both"),
    ],
)
def test_what_cannot_train_is_refused(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        audited(**options)
