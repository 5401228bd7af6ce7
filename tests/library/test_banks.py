"""Banks of reference models: made through the store, found again, and never handed out wrongly."""

from types import SimpleNamespace

import numpy as np
import pytest

from mialib import attacks, cli, data, profiles, query, runs, splits
from mialib.bank import Bank, load
from mialib.configurations import Configuration
from mialib.experiments import banks
from mialib.signals import phi_from_logits
from mialib.store import read_json
from mialib.training import Recipe

TINY = Configuration(
    data="letters",
    size=150,
    data_seed=1,
    model="cnn",
    split="in_out",
    split_options={"models": 4, "inference": 0.2},
    side="model-0",
    recipe=Recipe(epochs=1, batch_size=40, lr=0.05),
)


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    """A profile whose banks are made in a second, and a home of its own."""
    monkeypatch.setenv("MIALIB_HOME", str(tmp_path))
    experiments = {"bank": TINY}
    monkeypatch.setitem(profiles.PROFILES, "quick", SimpleNamespace(experiments=experiments))
    return experiments


def test_a_bank_holds_what_its_models_answer(tiny):
    path = banks.make("quick", jobs=1)
    made = Bank.read(path)
    records = TINY.records()
    assert made.is_member.shape == (4, 120), "a fifth of the records is set aside"
    assert np.array_equal(made.is_member, splits.in_out_mask(120, 4))
    assert np.array_equal(made.x, records.x[:120])
    model = runs.get(TINY.but(side="model-2")).load_model()
    expected = query.predict(model, records.take(np.arange(120)))
    assert np.array_equal(made.logits[2], expected.astype(np.float16))
    shifted = query.predict(model, query.shifted(records.take(np.arange(120)), 0, -1))
    phi = phi_from_logits(shifted, records.y[:120]).astype(np.float16)
    assert np.array_equal(made.views[2, 0], phi)
    about = read_json(path.with_suffix(".json"))
    assert about["configuration"]["side"] == "model-0 … model-3"
    assert attacks.game(made, target=1).play(attacks.RMIA()).members == 60


def test_one_s_own_bank_comes_before_the_shipped_one(tiny):
    before = banks.references("quick")
    assert "Shipped reference models of profile `quick`" in before.source
    assert "mialib bank --profile quick" in before.source
    banks.make("quick", jobs=1)
    after = banks.references("quick")
    assert after.source == "Your own reference models at profile `quick`."
    assert len(after.bank) == 4
    assert after.bank.views is None
    assert banks.references("quick", views=True).bank.views.shape == (4, 2, 120)


def test_a_profile_without_a_bank_shows_that_of_quick():
    found = banks.references("paper")
    assert "of profile `quick`; `mialib bank --profile paper" in found.source
    assert np.array_equal(found.bank.logits, load("letters").logits)


def test_no_model_holds_the_population():
    """Letters are drawn anew; of a dataset that is given, those are taken that nobody else has."""
    letters = banks.population_of(TINY)
    held = {record.tobytes() for record in TINY.records().x}
    assert not held & {record.tobytes() for record in letters.x}
    digits = TINY.but(data="digits")
    population = banks.population_of(digits)
    assert len(population) == len(letters) == banks.POPULATION
    assert not set(population.index) & set(digits.records().index)


def test_a_population_that_cannot_be_is_refused():
    everything = len(data.load("digits"))
    with pytest.raises(
        ValueError, match="needs 400 records that no model holds, and digits has 97"
    ):
        banks.population_of(TINY.but(data="digits", size=everything - 97))


def test_published_records_are_not_handed_on(tiny):
    tiny["bank"] = TINY.but(data="digits", model="mlp", options={"widths": (8,)})
    assert Bank.read(banks.make("quick", jobs=1)).x is None


def test_the_command_says_what_is_missing_and_makes_it(tiny, capsys):
    assert cli.main(["bank", "--dry-run"]) == 0
    assert "Missing: 4 trainings of 4 epochs in all." in capsys.readouterr().out
    assert not banks.own_path("quick").exists()
    assert cli.main(["bank", "--jobs", "1"]) == 0
    assert f"Written: {banks.own_path('quick')}" in capsys.readouterr().out
    assert cli.main(["bank", "--dry-run"]) == 0
    assert "Missing: 0 trainings" in capsys.readouterr().out


def test_a_command_says_in_sentences_which_trainings_diverged(tiny, capsys):
    tiny["bank"] = TINY.but(recipe=Recipe(epochs=2, lr=1e30))
    assert cli.main(["bank", "--jobs", "1"]) == 1
    assert "mialib: 4 of 4 missing runs failed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--profile", "clas"], "did you mean 'class'"),
        (["--experiment", "bnk"], "did you mean 'bank'"),
        (["--experiment", "bank tuned"], "There is no experiment of 'quick' 'bank tuned'"),
    ],
)
def test_a_bank_that_is_unknown_is_refused_with_the_nearest(tiny, arguments, told, capsys):
    assert cli.main(["bank", *arguments]) == 1
    assert told in capsys.readouterr().err
