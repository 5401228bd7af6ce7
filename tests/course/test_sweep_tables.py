"""The shipped sweeps: made by `tools/sweep.py`, whole, and true to what the lessons promise."""

import dataclasses
import math

import numpy as np
import pytest

import sweep as tool
from mialib import models, runs
from mialib.attacks import ATTACKS
from mialib.configurations import Configuration
from mialib.course import sweeps
from mialib.defenses import DEFENSES, L1, Past
from mialib.sparsity.magnitude import layers
from mialib.training import Recipe

TABLES = ("simple", "past", "epochs", "baskets", "relaxed", "learned", "pruned", "butterflies")
FACTS = ("loss_gap", "train_accuracy", "inference_accuracy", "weights", "sensitivity", "migration")
FACTS += ("history", "margins", "roc", "remaining", "parameters", "by_layer", "masks")


@pytest.fixture(scope="module", params=TABLES)
def table(request):
    return sweeps.load(request.param)


def test_a_table_has_every_setting_once_and_no_attack_that_cannot_tell_records_apart(table):
    settings = [
        str(sorted((name, value) for name, value in row.items() if name not in FACTS))
        for row in table.rows
    ]
    assert len(set(settings)) == len(table.rows) == len(table.votes) == len(table.correct)
    assert table.is_member.any()
    assert not table.is_member.all()
    assert {"correctness", "loss", "neural (PAST)", "gradient ℓ2"} <= set(table.attacks)
    assert set(table.attacks) <= set(ATTACKS)


def test_a_row_names_its_settings_as_its_defense_does(table):
    for row in table.rows:
        fields = {field.name for field in dataclasses.fields(DEFENSES[row["defense"]])}
        assert fields - {"kinds"} <= set(row), row["defense"]


@pytest.mark.parametrize("name", tool.SWEEPS)
def test_a_table_has_what_its_tool_makes(name):
    """The defense, its settings, the epochs and the seed of each row, in order."""
    rows = sweeps.load(name).rows
    configurations, _ = tool.SWEEPS[name]
    made = list(configurations())
    assert len(rows) == len(made)
    for row, configuration in zip(rows, made, strict=True):
        expected = {"defense": type(configuration.defense).__name__, **vars(configuration.defense)}
        expected |= {"epochs": configuration.recipe.epochs, "seed": configuration.seed}
        assert {key: row[key] for key in expected if key != "kinds"} == {
            k: v for k, v in expected.items() if k != "kinds"
        }


def test_past_halves_the_highest_advantage_on_baskets_without_loss_of_accuracy():
    table = sweeps.load("baskets")
    for seed in range(3):
        plain = table.find(defense="Plain", seed=seed)
        tuned = table.find(defense="Past", lam=1e-3, alpha=1.5, seed=seed)
        assert table.highest(plain).low > 0.7
        assert 0.5 < table.accuracy(plain).value < 0.6
        assert table.highest(tuned).high < table.highest(plain).low / 2
        assert table.difference(tuned, plain, "accuracy").low > 0


def test_the_focus_beats_uniform_l1_on_baskets_at_the_same_accuracy_and_too_much_of_it_costs():
    table = sweeps.load("baskets")
    plain = table.find(defense="Plain", seed=0)
    uniform, past, sharp = (table.find(lam=1e-3, alpha=alpha, seed=0) for alpha in (0.0, 1.5, 2.5))
    assert abs(table.difference(past, uniform, "accuracy").value) < 0.01
    assert table.difference(past, uniform, "highest").high < 0
    assert table.difference(sharp, plain, "accuracy").high < -0.05


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "setting", [{"defense": "RelaxLoss", "alpha": 1.0}, {"defense": "CRL", "alpha_rce": 1.0}]
)
def test_relaxing_more_than_halves_the_highest_advantage_whatever_the_seed(setting, seed):
    table = sweeps.load("relaxed")
    plain = table.find(defense="Plain", seed=seed)
    rows = [
        row
        for row in table.all(**setting, seed=seed)
        if table.rows[row].get("form", "official") == "official"
    ]
    usual = rows[0]  # The tool makes the default settings first.
    assert table.highest(usual).high < table.highest(plain).low / 2
    assert table.rows[plain]["train_accuracy"] > 0.99 > 0.9 > table.rows[usual]["train_accuracy"]


def test_a_longer_run_keeps_whole_histories_histograms_and_rocs():
    for name in ("relaxed", "learned"):
        for row in sweeps.load(name).rows:
            assert [epoch["epoch"] for epoch in row["history"]] == list(range(1, row["epochs"] + 1))
            assert [sum(counts) for counts in row["margins"]] == [1000, 1000]
            assert sorted(row["roc"]) == row["roc"]
            assert len(row["roc"]) == len(sweeps.FPRS)


@pytest.mark.parametrize("name", ["pruned", "butterflies"])
def test_a_sparse_row_counts_what_remains_and_was_asked_by_the_discriminator(name):
    table = sweeps.load(name)
    assert "discriminator" in table.attacks
    assert {row["seed"] for row in table.rows} == {0, 1, 2}
    for row in table.rows:
        options = {
            key: row[key]
            for key in ("width", "segments", "factors")
            if row["segments"] or key == "width"
        }
        model = models.build("resnet20", shape=(1, 16, 16), classes=10, **options)
        sizes = {name: layer.weight.numel() for name, layer in layers(model).items()}
        pruned = sum(sizes[name] * (1 - share) for name, share in row["by_layer"].items())
        assert row["parameters"] == sum(parameter.numel() for parameter in model.parameters())
        assert row["remaining"] == pytest.approx(100 * (1 - pruned / row["parameters"]), abs=1e-3)
        assert sum(row["weights"]["histogram"]) == sum(sizes.values())


def test_the_masks_of_the_slider_are_those_of_each_round():
    """36 % of what remains goes in every round, and what has gone stays away."""
    table, remaining, before = sweeps.load("pruned"), None, {}
    for rounds in range(9):
        row = table.rows[
            next(k for k in table.all(rounds=rounds, seed=0) if "masks" in table.rows[k])
        ]
        bits = {
            name: np.unpackbits(np.frombuffer(bytes.fromhex(mask), np.uint8))
            for name, mask in row["masks"].items()
        }
        now = sum(int(mask.sum()) for mask in bits.values())
        assert remaining is None or now == remaining - math.ceil(0.36 * remaining)
        assert all((mask <= before.get(name, 1)).all() for name, mask in bits.items())
        remaining, before = now, bits


def test_the_tool_says_what_the_library_says(tmp_path, monkeypatch):
    """A row of a tiny sweep, against the run's own signals and facts."""
    monkeypatch.setenv("MIALIB_HOME", str(tmp_path))
    recipe = Recipe(epochs=6, lr=0.05)
    tiny = Configuration(
        data="digits", size=360, model="mlp", options={"widths": (32,)}, recipe=recipe
    )
    tuned = tiny.then(Past(1e-3, 1.0), Recipe(epochs=2, lr=0.05))
    table = tool.table(tool.of_configuration(c) for c in (tiny, tiny.but(defense=L1(1e-3)), tuned))
    assert [row["defense"] for row in table.rows] == ["Plain", "L1", "Past"]
    assert [row["tuning"] for row in table.rows] == [False, False, True]
    run = runs.get(tuned)
    np.testing.assert_array_equal(table.correct[2], run.signals.correct())
    assert table.rows[2]["loss_gap"] == pytest.approx(run.metrics["loss_gap"])
    assert table.rows[2]["inference_accuracy"] == pytest.approx(
        run.metrics["accuracy"]["inference"]
    )
    assert sum(table.rows[2]["weights"]["histogram"]) == sum(
        w.numel() for w in run.load_model().parameters() if w.ndim > 1
    )
    right = table.attacks.index("correctness")
    np.testing.assert_array_equal(table.votes[2, right], run.signals.correct())


def test_the_tool_makes_only_the_rows_that_a_table_lacks(tmp_path, monkeypatch):
    monkeypatch.setenv("MIALIB_HOME", str(tmp_path))
    tiny = Configuration(
        data="digits", size=360, model="mlp", options={"widths": (8,)}, recipe=Recipe(epochs=2)
    )
    first, second, third = (
        tiny,
        tiny.but(defense=L1(1e-3)),
        tiny.then(Past(1e-3, 1.0), Recipe(epochs=1)),
    )
    tool.table(tool.of_configuration(c) for c in (first, third)).save(tmp_path / "old.npz")
    old, made = sweeps.Sweep.read(tmp_path / "old.npz"), []

    def by_configuration(configurations, of):
        made.extend(configurations)
        return [of(c) for c in configurations]

    monkeypatch.setattr(tool, "by_configuration", by_configuration)
    found = tool.extended(old, [third, second, first], tool.of_configuration)
    assert made == [second]
    assert found.rows[0] == old.rows[1]
    assert [row["defense"] for row in found.rows] == ["Past", "L1", "Plain"]
    np.testing.assert_array_equal(found.votes[[0, 2]], old.votes[[1, 0]])
    np.testing.assert_array_equal(found.correct[1], runs.get(second).signals.correct())
