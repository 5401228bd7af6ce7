"""Models of which the truth is known: the report says the right thing of each, in words."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import pretend_device
from audited import CLASSES, FEATURES, drawn, outputs, trained, trained_privately
from mialib import audit, bank, splits
from mialib.audits import html
from mialib.audits.evidence import Evidence, in_canonical_order
from mialib.audits.findings import (
    AGAINST,
    CROSS_FITTED,
    FOR,
    FROM_POPULATION,
    FROM_REFERENCES,
    FROM_SHADOWS,
)
from mialib.data import Records
from mialib.epsilon import dp_sgd
from mialib.signals import Signals

MEMBERS = drawn(0)
OTHERS = drawn(1)
QUICK = ("correctness", "loss", "loss per class")


@pytest.fixture(scope="module")
def memorised():
    return audit(trained(), MEMBERS, OTHERS, policy="aisvs")


def test_a_model_that_memorises_is_found_out(memorised):
    assert memorised.strongest.auc.low > 0.7
    assert "does better than a guess" in memorised.summary()
    assert {line.side for line in memorised.judgement.lines} == {AGAINST}
    assert not memorised.belief.blind.finds_a_shift
    assert "not told apart without the model" in memorised.belief.blind.sentence
    assert memorised.utility.accuracy_gap.low > 0.2
    assert any("CIFAR-10" in sentence for sentence in memorised.next_steps)


def test_a_model_that_learned_nothing_is_not_accused():
    report = audit(trained(steps=0), MEMBERS, OTHERS, policy="aisvs")
    assert "is not told apart from a guess" in report.summary()
    assert {line.side for line in report.judgement.lines} == {FOR}
    assert report.next_steps[0].startswith("No attack was shown to find members")


def test_a_shift_between_the_sets_is_found_without_the_model():
    report = audit(trained(), MEMBERS, drawn(1, shift=0.5), attacks=QUICK)
    assert report.belief.blind.finds_a_shift
    assert "Nothing below is evidence of memorisation" in report.belief.blind.sentence
    assert report.summary().startswith("Members and non-members differ without the model")


def test_dp_sgd_keeps_its_promise_and_memory_does_not():
    """The same claim for two models: one was trained so, the other learned by heart."""
    claimed = dp_sgd(sigma=6.0, sample_rate=0.2, steps=60)
    private = audit(trained_privately(), MEMBERS, OTHERS, guarantee=claimed, by_coin=True)
    assert private.utility.accuracy_non_members.low > 1 / CLASSES  # It has learned something.
    assert private.contradictions() == []
    said = private.guarantee_sentence
    assert said.startswith("The measurement does not contradict DP-SGD with σ = 6")
    assert said in html.page(private).replace("&nbsp;", " ")
    wrong = audit(trained(), MEMBERS, OTHERS, guarantee=claimed, by_coin=True)
    assert wrong.summary().startswith("THE GUARANTEE IS BROKEN: DP-SGD with σ = 6")
    assert wrong.guarantee_sentence == ""
    assert {one.words for one in wrong.compare(private)} == {"leaks less"}


def test_other_classes_are_a_shift_too():
    x, y = OTHERS
    report = audit(trained(), MEMBERS, (x[y < 2], y[y < 2]), attacks=QUICK)
    assert report.belief.blind.finds_a_shift


def row_of(report, name):
    (found,) = (row for row in report.attacks if row.name == name)
    return found


def test_known_non_members_are_enough_for_quantiles():
    report = audit(trained(), MEMBERS, OTHERS, population=drawn(5), attacks=["QMIA", "loss"])
    found = row_of(report, "QMIA")
    assert found.auc.low > 0.7
    assert found.threshold_from == FROM_POPULATION
    assert "population=" in audit(trained(), MEMBERS, OTHERS).lacking["QMIA"]


def test_labels_alone_give_a_distance_where_it_is_asked_for():
    few = [(x[:60], y[:60]) for x, y in (MEMBERS, OTHERS)]
    report = audit(trained(), *few, attacks=["boundary", "loss"], boundary=True)
    assert row_of(report, "boundary").threshold_from == CROSS_FITTED
    assert row_of(report, "boundary").auc.value > 0.6
    assert "boundary=True" in audit(trained(), *few).lacking["boundary"]


def test_checkpoints_of_model_and_shadow_give_trajectories():
    shadow = (trained(seed=2), drawn(2), drawn(3), [trained(seed=2, steps=3), trained(seed=2)])
    report = audit(
        trained(),
        MEMBERS,
        OTHERS,
        shadows=[shadow],
        checkpoints=[trained(steps=3), trained()],
        attacks=["trajectory", "loss"],
    )
    assert row_of(report, "trajectory").auc.low > 0.7
    assert row_of(report, "trajectory").threshold_from == FROM_SHADOWS
    with pytest.raises(ValueError, match="checkpoints must be a list"):
        audit(trained(), MEMBERS, OTHERS, checkpoints="all")


def test_as_many_checkpoints_as_classes_stay_in_the_order_of_time():
    logits, labels, is_member = outputs(60)
    path = np.arange(60.0 * CLASSES).reshape(60, CLASSES)
    signals = Signals(logits, labels, is_member, extra={"trajectory": path, "noise": path})
    ordered = in_canonical_order(Evidence(signals, "outputs", np.arange(60)))
    assert not np.array_equal(ordered.classes, np.arange(CLASSES))
    columns = ordered.evidence.target.extra
    np.testing.assert_array_equal(columns["trajectory"], path[ordered.order])
    np.testing.assert_array_equal(columns["noise"], path[ordered.order][:, ordered.classes])


def with_canaries(*, steps):
    """A perceptron trained on its members and the canaries that were IN, and what was planted."""
    members = Records("members", *MEMBERS, CLASSES)
    canaries = splits.plant(members, 120, kind="noise", seed=7)
    records = canaries.among(members)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(FEATURES, 64), nn.ReLU(), nn.Linear(64, CLASSES))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    x, y = torch.tensor(records.scaled()), torch.tensor(records.y)
    for _ in range(steps):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    return model, members, canaries


def test_canaries_that_were_learned_by_heart_are_found_and_refute_epsilon():
    model, members, canaries = with_canaries(steps=150)
    others = Records("others", *OTHERS, CLASSES)
    report = audit(model, members, others, attacks=QUICK, canaries=canaries)
    found = report.canaries
    assert found.inside + found.outside == 120
    assert found.auc.low > 0.7
    assert max(one.epsilon for one in found.refuted) > 0.5
    assert all(one.by_coin and one.level == 0.95 for one in found.refuted)
    assert not any("Canaries" in one for one in report.not_tested)
    assert "<h2>Canaries</h2>" in html.page(report)


def test_canaries_of_a_model_that_learned_nothing_refute_nothing():
    model, members, canaries = with_canaries(steps=0)
    others = Records("others", *OTHERS, CLASSES)
    report = audit(model, members, others, attacks=QUICK, canaries=canaries)
    assert report.canaries.auc.low < 0.5 < report.canaries.auc.high
    assert "refutes no ε" in report.canaries.sentence
    assert "Canaries: records" in " ".join(audit(model, members, others).not_tested)


@pytest.mark.parametrize("canaries", ["all", splits.plant(Records("few", *MEMBERS, CLASSES), 4)])
def test_what_are_no_canaries_or_too_few_is_refused(canaries):
    with pytest.raises(ValueError, match=r"splits\.plant|Plant more"):
        audit(trained(), MEMBERS, OTHERS, canaries=canaries)


def test_without_shadows_no_record_is_judged_by_its_own_half(memorised):
    assert {row.threshold_from for row in memorised.attacks} == {CROSS_FITTED}
    assert memorised.belief.threshold == CROSS_FITTED
    assert "It lacks a shadow" in memorised.lacking["neural (PAST)"]
    assert "It lacks reference models and a population: " in memorised.lacking["RMIA"]
    assert {"gradient ℓ1", "gradient ℓ2"} <= {row.name for row in memorised.attacks}
    assert any("attacks that could not run" in sentence for sentence in memorised.not_tested)


def test_shadows_bring_their_thresholds_and_the_networks():
    shadow = (trained(2), drawn(2), drawn(3))
    report = audit(
        trained(), MEMBERS, OTHERS, shadows=[shadow], attacks=(*QUICK, "neural (PAST)", "LiRA")
    )
    assert {row.threshold_from for row in report.attacks} == {FROM_SHADOWS}
    assert [row.name for row in report.attacks] == [*QUICK, "neural (PAST)"]
    assert "references=" in report.lacking["LiRA"]
    assert "It lacks reference models, with and without the record: " in report.lacking["LiRA"]
    assert "a shadow" in report.attacks[0].sees


def test_a_bank_brings_reference_attacks():
    letters = bank.load("letters").take(range(16))
    report = audit.from_bank(letters, target=7, attacks=("loss", "LiRA", "RMIA", "Attack P"))
    assert {row.threshold_from for row in report.attacks} == {FROM_REFERENCES}
    assert report.strongest.name == "LiRA"
    assert report.strongest.auc.low > 0.8
    assert report.head.inputs == "a bank"


def test_references_about_other_records_are_refused():
    letters = bank.load("letters").take(range(4))
    with pytest.raises(ValueError, match="references must be about the members, then the non"):
        audit(trained(), MEMBERS, OTHERS, references=letters)


# Any model.


def same_numbers(report, other):
    for row, expected in zip(report.attacks, other.attacks, strict=True):
        assert row.name == expected.name
        assert row.auc == expected.auc
        assert row.advantage == expected.advantage


@pytest.fixture(scope="module")
def quick():
    return audit(trained(), MEMBERS, OTHERS, attacks=QUICK)


def as_tensors(pair):
    return tuple(torch.from_numpy(np.asarray(part)) for part in pair)


@pytest.mark.parametrize(
    "form",
    [
        as_tensors,
        list,
        lambda pair: Records("mine", *pair, classes=CLASSES),
        lambda pair: TensorDataset(*as_tensors(pair)),
        lambda pair: DataLoader(TensorDataset(*as_tensors(pair)), batch_size=70),
    ],
    ids=["tensors", "a list", "Records", "a Dataset", "a DataLoader"],
)
def test_records_come_in_any_usual_form(form, quick):
    same_numbers(audit(trained(), form(MEMBERS), form(OTHERS), attacks=QUICK), quick)


def test_a_shuffling_loader_gives_the_same_numbers_and_is_mentioned(quick):
    loader = DataLoader(TensorDataset(*as_tensors(MEMBERS)), batch_size=64, shuffle=True)
    report = audit(trained(), loader, OTHERS, attacks=QUICK)
    same_numbers(report, quick)
    assert any("shuffles" in note for note in report.head.notes)


def test_train_mode_is_left_as_it_was_and_said(quick):
    model = nn.Sequential(trained(), nn.Dropout(0.5))
    model.train()
    report = audit(model, MEMBERS, OTHERS, attacks=QUICK)
    same_numbers(report, quick)
    assert all(module.training for module in model.modules())
    assert any("train mode" in note for note in report.head.notes)
    trained().eval()


@pytest.mark.skipif(not pretend_device.AVAILABLE, reason="this torch cannot register a device")
def test_a_model_on_another_device_is_asked_there(quick):
    with pretend_device.pretend_device():
        model = nn.Sequential(nn.Linear(FEATURES, 64), nn.ReLU(), nn.Linear(64, CLASSES))
        model.load_state_dict(trained().state_dict())
        model = model.eval().to("pretend")
        report = audit(model, MEMBERS, OTHERS, attacks=QUICK)
    same_numbers(report, quick)
    assert any("on pretend" in note for note in report.head.notes)


def test_a_softmax_at_the_end_is_noticed(quick):
    report = audit(nn.Sequential(trained(), nn.Softmax(dim=1)), MEMBERS, OTHERS, attacks=QUICK)
    assert any("read as such" in note for note in report.head.notes)
    assert report.attacks[1].auc.value == pytest.approx(quick.attacks[1].auc.value, abs=0.01)


def test_half_precision(quick):
    model = nn.Sequential(nn.Linear(FEATURES, 64), nn.ReLU(), nn.Linear(64, CLASSES))
    model.load_state_dict(trained().state_dict())
    report = audit(model.half(), MEMBERS, OTHERS, attacks=QUICK)
    assert report.attacks[1].auc.value == pytest.approx(quick.attacks[1].auc.value, abs=0.01)


def test_words_and_sequences():
    rng = np.random.default_rng(0)
    model = nn.Sequential(nn.Embedding(50, 8), nn.Flatten(), nn.Linear(40, 2))
    tokens = rng.integers(50, size=(200, 5))
    labels = rng.integers(2, size=200)
    members = (tokens[:100], labels[:100])
    report = audit(model, members, (tokens[100:], labels[100:]))
    assert "give the torch model itself" in report.lacking["gradient ℓ1"]
    signal = np.asarray(rng.normal(size=(200, 3, 7)), np.float32)
    model = nn.Sequential(nn.Conv1d(3, 4, 3), nn.Flatten(), nn.Linear(20, 2))
    report = audit(model, (signal[:100], labels[:100]), (signal[100:], labels[100:]))
    assert report.head.members == 100


def test_one_output_is_a_binary_model():
    binary = (MEMBERS[0], (MEMBERS[1] > 1).astype(int))
    others = (OTHERS[0], (OTHERS[1] > 1).astype(int))
    report = audit(nn.Linear(FEATURES, 1), binary, others)
    assert report.head.classes == 2
    assert any("logit of class 1" in note for note in report.head.notes)


def test_scikit_learn_by_its_probabilities():
    tree = DecisionTreeClassifier(random_state=0).fit(*MEMBERS)
    report = audit(tree, MEMBERS, OTHERS)
    assert report.strongest.auc.low > 0.6
    assert report.head.model.name == "DecisionTreeClassifier"
    named = np.array(["a", "b", "c", "d"])
    regression = LogisticRegression(C=1e-3).fit(MEMBERS[0], named[MEMBERS[1]])
    members = (MEMBERS[0], named[MEMBERS[1]])
    report = audit(regression, members, (OTHERS[0], named[OTHERS[1]]), attacks=["loss"])
    assert any("classes_" in note for note in report.head.notes)
    with pytest.raises(ValueError, match="must be among the classes"):
        audit(regression, members, (OTHERS[0], np.full(300, "e")))


def test_the_head_says_which_model_it_was():
    one = audit(trained(), MEMBERS, OTHERS, attacks=["loss"], name="mine").head
    two = audit(trained(2), MEMBERS, OTHERS, attacks=["loss"]).head
    assert one.name == "mine"
    assert one.model.parameters == sum(weight.numel() for weight in trained().parameters())
    assert one.model.sha256 != two.model.sha256
    assert one.fingerprint != two.fingerprint
    assert (one.members, one.non_members, one.classes) == (300, 300, CLASSES)


# What cannot be audited.


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((None, MEMBERS, OTHERS), "must be a torch module, or a fitted classifier"),
        ((nn.Flatten(), MEMBERS, OTHERS), "has no parameters"),
        ((nn.Linear(FEATURES, 2), MEMBERS, OTHERS), "Labels must lie in 0 … 1"),
        ((nn.Linear(7, CLASSES), MEMBERS, OTHERS), "could not be asked about records"),
        ((nn.Linear(FEATURES, CLASSES), MEMBERS[0], OTHERS), "An audit needs the labels"),
        ((nn.Linear(FEATURES, CLASSES), MEMBERS, MEMBERS), "Every non-member is also among"),
        ((nn.Linear(FEATURES, CLASSES), (MEMBERS[0], MEMBERS[1][:9]), OTHERS), "one label for"),
        ((nn.Linear(FEATURES, CLASSES), (MEMBERS[0][:0], MEMBERS[1][:0]), OTHERS), "There are no"),
    ],
)
def test_what_cannot_be_audited_is_refused_with_a_sentence(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        audit(*arguments)


def test_diverged_weights_are_refused():
    model = nn.Linear(FEATURES, CLASSES)
    nn.init.constant_(model.weight, float("nan"))
    with pytest.raises(ValueError, match="NaN or infinite logits"):
        audit(model, MEMBERS, OTHERS)


def test_a_shadow_of_another_width_is_refused():
    shadow = (nn.Linear(FEATURES, 9), drawn(2), drawn(3))
    with pytest.raises(ValueError, match="columns of logits"):
        audit(trained(), MEMBERS, OTHERS, shadows=[shadow])


def test_records_in_both_sets_are_left_out_and_counted():
    x = np.concatenate([OTHERS[0], MEMBERS[0][:40]])
    y = np.concatenate([OTHERS[1], MEMBERS[1][:40]])
    report = audit(trained(), MEMBERS, (x, y), attacks=["loss"])
    assert report.belief.duplicates == 40
    assert report.head.non_members == 300
    assert len(report.attacks[0].scores) == 600
    assert any("40 non-members equal a member" in note for note in report.head.notes)


def test_near_duplicates_are_counted_and_kept():
    x, y = OTHERS
    near = x.copy()
    near[:25] = MEMBERS[0][:25] + 1e-4
    report = audit(trained(), MEMBERS, (near, y), attacks=["loss"])
    assert report.belief.near_duplicates == 25
    assert report.belief.duplicates == 0
    assert report.head.non_members == 300
