"""The signal bank: the shipped file is what its provenance says, and any bank survives a file."""

import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import attack_checks as checks
from mialib import attacks, data, metrics, shipped, splits
from mialib.bank import Bank, load

FOLDER = shipped.FOLDER / "bank"


@pytest.fixture(scope="module")
def letters():
    return load("letters", views=True)


@pytest.fixture(scope="module")
def facts():
    return json.loads((FOLDER / "letters.json").read_text())


def test_the_shipped_file_is_the_one_that_was_made(facts):
    assert hashlib.sha256((FOLDER / "letters.npz").read_bytes()).hexdigest() == facts["sha256"]


def test_the_shipped_bank_has_64_models_on_2400_records(letters):
    assert letters.logits.shape == (64, 2400, 10)
    assert letters.views.shape == (64, 2, 2400)
    assert letters.population.logits.shape == (64, 400, 10)
    assert (
        repr(letters)
        == "<Bank of 64 models on 2,400 records of 10 classes, 3 queries each; population 400>"
    )
    assert np.isfinite(letters.logits).all()


def test_without_views_there_is_one_query(letters):
    plain = load("letters")
    assert plain.views is None
    assert plain.population.views is None
    assert plain.signals(0).phi().shape == (1, 2400)
    assert letters.signals(0).phi().shape == (3, 2400)


def test_the_shipped_bank_is_dealt_in_balanced_pairs(letters, facts):
    assert (letters.is_member.sum(axis=0) == 32).all()
    assert (letters.is_member.sum(axis=1) == 1200).all()
    assert_array_equal(letters.is_member[0::2], ~letters.is_member[1::2])
    assert not letters.population.is_member.any()
    assert_array_equal(
        letters.is_member, splits.in_out_mask(2400, 64, seed=facts["configuration"]["split_seed"])
    )


def test_the_shipped_bank_holds_the_records_of_its_configuration(letters, facts):
    about = facts["configuration"]
    records = data.load(about["data"], size=about["size"], seed=about["data_seed"])
    if records.fingerprint != facts["records"]["fingerprint"]:
        pytest.skip("This machine draws the letters otherwise.")
    dealt = splits.dealt_records(len(records), about["split_options"]["inference"])
    assert_array_equal(letters.x, records.x[:dealt])
    assert_array_equal(letters.labels, records.y[:dealt])
    fresh = data.load(about["data"], size=400, seed=about["data_seed"] + 1)
    assert_array_equal(letters.population.labels, fresh.y)
    known = {image.tobytes() for image in records.x}
    assert np.mean([image.tobytes() in known for image in fresh.x]) < 0.01


def test_every_shipped_model_is_surer_of_what_it_holds(letters):
    phi = letters.phi[:, 0]
    gap = [phi[k, held].mean() - phi[k, ~held].mean() for k, held in enumerate(letters.is_member)]
    assert min(gap) > 0
    per_record = [
        phi[held, j].mean() - phi[~held, j].mean() for j, held in enumerate(letters.is_member.T)
    ]
    assert np.mean(np.array(per_record) > 0) > 0.95


def test_shipped_accuracies_are_those_of_the_logits(letters, facts):
    right = letters.logits.argmax(axis=2) == letters.labels
    assert right[letters.is_member].mean() == pytest.approx(facts["accuracy"]["train"], abs=2e-3)
    assert right[~letters.is_member].mean() == pytest.approx(facts["accuracy"]["test"], abs=2e-3)


def test_the_shipped_population_is_nobodys_member(letters):
    """Its losses are those of records that a model does not hold."""
    out = letters.phi[:, 0][~letters.is_member]
    population = letters.population.phi[:, 0]
    inside = letters.phi[:, 0][letters.is_member]
    assert abs(population.mean() - out.mean()) < 0.25 * (inside.mean() - out.mean())


def test_reference_attacks_beat_the_loss_on_the_shipped_bank(letters):
    played = attacks.game(load("letters"), target=1)
    truth = load("letters").is_member[1]
    by_loss = metrics.auc(-played.target.loss()[np.argsort(played._order)], truth)
    assert metrics.auc(played.scores(attacks.LiRA()), truth) > by_loss + 0.02


def test_another_name_is_refused():
    with pytest.raises(ValueError, match="did you mean 'letters'"):
        load("lettres")


@pytest.mark.parametrize("views", [0, 2])
def test_a_file_gives_back_the_same_bank(tmp_path, views, rng):
    made = replace(checks.bank(1, n=20, views=views), x=rng.random((20, 1, 3, 3)))
    made.save(tmp_path / "bank.npz")
    read = Bank.read(tmp_path / "bank.npz")
    for before, after in ((made, read), (made.population, read.population)):
        for name in ("logits", "labels", "is_member", "views", "x"):
            assert_array_equal(getattr(after, name), getattr(before, name))
    assert_allclose(read.phi, made.phi)


def test_a_bank_without_population_survives_a_file(tmp_path):
    made = replace(checks.bank(1, n=20), population=None)
    made.save(tmp_path / "bank.npz")
    assert Bank.read(tmp_path / "bank.npz").population is None


def test_the_signals_of_a_model_are_its_rows():
    made = checks.bank(1, n=20, views=2)
    table = made.signals(3)
    assert_array_equal(table.logits, made.logits[3])
    assert_array_equal(table.is_member, made.is_member[3])
    assert_array_equal(table.phi()[1:], made.views[3])
    assert_array_equal(table.population.logits, made.population.logits[3])
    assert table.population.is_member is None


def test_some_models_on_some_records_keep_their_population():
    made = checks.bank(1, n=20, views=2)
    some = made.take([4, 1], np.array([7, 3, 5]))
    assert_array_equal(some.logits, made.logits[[4, 1]][:, [7, 3, 5]])
    assert_array_equal(some.views, made.views[[4, 1]][:, :, [7, 3, 5]])
    assert_array_equal(some.population.logits, made.population.logits[[4, 1]])
    assert_array_equal(some.phi, replace(some).phi)


def test_a_bank_with_other_logits_has_another_phi():
    """`take` hands φ on, and `replace` must not: it belongs to the logits it was computed from."""
    some = checks.bank(1, n=20).take([4, 1])
    flat = replace(some, logits=np.zeros_like(some.logits))
    assert_allclose(flat.phi, -np.log(flat.logits.shape[2] - 1))


def test_phi_is_computed_once_for_all_that_is_taken(monkeypatch):
    made = replace(checks.bank(1, n=20), population=None)
    expected = made.phi[[4, 1]]
    monkeypatch.setattr(Bank, "signals", None)  # Nobody may ask for a model's signals again.
    assert_array_equal(made.take([4, 1]).phi, expected)


def test_a_phi_of_other_models_is_refused():
    made = checks.bank(1, n=20)
    with pytest.raises(ValueError, match=r"known_phi must have shape \(16, 1, 20\)"):
        replace(made, known_phi=made.phi[:3])


def test_a_file_of_something_else_is_no_bank(tmp_path):
    np.savez(tmp_path / "other.npz", weights=np.zeros(3))
    with pytest.raises(ValueError, match=r"holds no bank.*it has weights"):
        Bank.read(tmp_path / "other.npz")


MASK, LOGITS, LABELS = (
    np.array([[True, False, True], [False, True, False]]),
    np.zeros((2, 3, 4)),
    np.array([0, 1, 3]),
)
GOOD = {"logits": LOGITS, "labels": LABELS, "is_member": MASK}


@pytest.mark.parametrize(
    "wrong",
    [
        {"logits": LOGITS[:1]},
        {"logits": LOGITS[:, :2]},
        {"logits": LOGITS[0]},
        {"logits": LOGITS[..., 0]},
        {"logits": LOGITS[..., None]},
        {"logits": np.full_like(LOGITS, np.nan)},
        {"logits": LOGITS + 1j},
        {"labels": LABELS[:2]},
        {"labels": LABELS[None]},
        {"labels": LABELS + 0.5},
        {"labels": LABELS + 1},
        {"labels": LABELS - 1},
        {"is_member": MASK[0]},
        {"is_member": MASK.T},
        {"is_member": MASK.astype(int)},
        {"logits": LOGITS[:0], "is_member": MASK[:0]},
        {"logits": LOGITS[:, :0], "is_member": MASK[:, :0], "labels": LABELS[:0]},
        {"views": np.zeros((2, 3))},
        {"views": np.zeros((2, 1, 5))},
        {"views": np.zeros((1, 1, 3))},
        {"views": np.full((2, 1, 3), np.nan)},
        {"x": np.zeros((2, 8))},
        {"population": Bank(np.zeros((5, 3, 4)), LABELS, np.zeros((5, 3), bool))},
        {"population": Bank(np.zeros((2, 3, 7)), LABELS, np.zeros((2, 3), bool))},
        {"population": LOGITS},
        {"logits": np.full_like(LOGITS, 0.25)},  # probabilities
        {"logits": None},
        {"logits": np.ma.masked_equal(LOGITS, 0)},
        {"labels": [0, [1], 3]},
        {"x": "abc"},
        {"x": 3},
    ],
    ids=lambda wrong: " and ".join(f"{name} {getattr(a, 'shape', a)}" for name, a in wrong.items()),
)
def test_a_bank_of_the_wrong_shape_is_refused(wrong):
    with pytest.raises(ValueError, match=r"\w+ \w+ \w+ \w+"):
        Bank(**GOOD | wrong)


@pytest.mark.parametrize(
    ("models", "records"),
    [
        ([2], [0]),
        ([0], [3]),
        (0, [0]),
        ([0.5], [0]),
        ([True], [0]),
        ("all", [0]),
        ([0], "all"),
        ([], [0]),
        ([0], None),
    ],
)
def test_models_and_records_that_are_not_there_cannot_be_taken(models, records):
    with pytest.raises(ValueError, match=r"\w+ \w+ \w+ \w+"):
        Bank(**GOOD).take(models, records)


@pytest.mark.parametrize("model", [2, -3, 0.5, "0", None, [0]])
def test_a_model_that_is_not_there_has_no_signals(model):
    with pytest.raises(ValueError, match="model must be a whole number in -2 … 1"):
        Bank(**GOOD).signals(model)


def test_probabilities_are_said_to_be():
    with pytest.raises(ValueError, match=r"These logits are probabilities"):
        Bank(**GOOD | {"logits": np.full((2, 3, 4), 0.25)})


def test_views_are_a_flag():
    with pytest.raises(ValueError, match="views must be True or False, found 'False'"):
        load("letters", views="False")


def test_lists_and_whole_floats_make_a_bank():
    made = Bank(LOGITS.tolist(), [0.0, 1.0, 3.0], MASK.tolist())
    assert made.labels.dtype.kind == "i"
    assert len(made) == 2


def test_logits_in_whole_numbers_make_a_bank():
    assert Bank(LOGITS.astype(int), LABELS, MASK).phi.shape == (2, 1, 3)
