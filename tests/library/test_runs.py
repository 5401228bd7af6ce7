"""Runs: made once, the same bits from the store as fresh, and a key for every difference."""

import json
import pickle
import sys
from dataclasses import dataclass, fields, replace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from mialib import data, defenses, runs
from mialib.configurations import CODE_VERSION, Configuration, Stage, describe, parse
from mialib.defenses import L1, Past, Plain
from mialib.signals import predict
from mialib.store import Store, read_json
from mialib.training import Recipe, fit

FILES = {
    "config.json",
    "weights.safetensors",
    "signals.npz",
    "metrics.json",
    "provenance.json",
    "manifest.json",
}


@dataclass(frozen=True)
class Mild(Plain):
    """A defense with settings; it does nothing else."""

    strength: float = 0.5
    layers: tuple[int, ...] = (1, 2)


class Spy(Plain):
    """Notes what it may tune on, and with how many threads."""

    def prepare(self, training):
        Spy.reference, Spy.threads = training.reference[0].numpy(), torch.get_num_threads()


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A store that the tests of this file only read or add to."""
    return Store(tmp_path_factory.mktemp("kept"))


@pytest.fixture(scope="module")
def run(tiny, kept):
    return runs.get(tiny, store=kept)


def untouchable(*args, **kwargs):
    raise AssertionError("This must not be called.")


# ---------------------------------------------------------------- from the store or fresh


def test_a_run_has_these_files_and_no_others(run):
    assert {path.name for path in run.folder.iterdir()} == FILES


def test_a_cached_run_is_not_trained_again(run, tiny, kept, monkeypatch):
    monkeypatch.setattr(runs, "fit", untouchable)
    again = runs.get(tiny, store=kept)
    assert again.folder == run.folder
    assert_array_equal(again.signals.logits, run.signals.logits)


def test_a_cached_run_equals_a_fresh_one_bit_for_bit(run, tiny, store):
    torch.rand(3)  # What was drawn before must not matter, nor how many threads the session has.
    fresh = runs.get(tiny, store=store)
    for name in ("weights.safetensors", "config.json", "metrics.json"):
        assert (fresh.folder / name).read_bytes() == (run.folder / name).read_bytes()
    for name, column in vars(run.signals).items():
        assert_array_equal(getattr(fresh.signals, name), column)


def test_runs_side_by_side_equal_runs_one_by_one(run, tiny, kept, store):
    shadow = tiny.but(side="shadow")
    found = runs.get_all([tiny, shadow, tiny], store=store, jobs=2)
    assert [each.configuration for each in found] == [tiny, shadow, tiny]
    for each, alone in zip(found, [run, runs.get(shadow, store=kept), run], strict=True):
        assert_array_equal(each.signals.logits, alone.signals.logits)
        assert each.metrics == alone.metrics


def test_the_usual_store_is_in_the_home_folder(tiny, tmp_path, monkeypatch):
    monkeypatch.setenv("MIALIB_HOME", str(tmp_path))
    assert runs.get(tiny).folder.parent == tmp_path / "runs"


def test_a_damaged_run_is_made_again(run, tiny, store):
    damaged = runs.get(tiny, store=store).folder / "signals.npz"
    damaged.write_bytes(damaged.read_bytes()[:-100])
    with pytest.warns(UserWarning, match=r"signals\.npz is missing or damaged"):
        mended = runs.get(tiny, store=store)
    assert_array_equal(mended.signals.logits, run.signals.logits)


def test_a_run_that_fails_leaves_nothing_and_gives_the_threads_back(tiny, store):
    threads = torch.get_num_threads()
    diverging = tiny.but(recipe=Recipe(epochs=5, lr=1e30), threads=threads + 1)
    with pytest.raises(FloatingPointError):
        runs.get(diverging, store=store)
    assert store.find(diverging.key) is None
    assert torch.get_num_threads() == threads


# ---------------------------------------------------------------- what a run holds


def test_the_signals_are_those_of_the_saved_weights(run):
    logits = np.concatenate(
        [predict(run.load_model(), part) for part in (run.side.train, run.side.test)]
    )
    assert_allclose(run.signals.logits, logits, atol=1e-5)
    assert_array_equal(run.signals.members().record, run.side.train.index)


def test_the_metrics_follow_from_the_signals(run):
    correct = run.signals.correct()
    assert run.metrics["accuracy"]["train"] == correct[run.signals.is_member].mean()
    assert run.metrics["accuracy"]["test"] == correct[~run.signals.is_member].mean()
    assert [epoch["epoch"] for epoch in run.history] == [1, 2]


def test_the_provenance_says_what_made_it(run, tiny):
    provenance = read_json(run.folder / "provenance.json")
    assert provenance["torch"] == torch.__version__
    assert provenance["records"] == {"name": "digits", "fingerprint": tiny.records().fingerprint}
    assert (provenance["device"], provenance["threads"]) == ("cpu", 1)


def test_nothing_is_pickled(run, monkeypatch):
    for module, name in ((pickle, "load"), (pickle, "loads"), (torch, "load")):
        monkeypatch.setattr(module, name, untouchable)
    again = runs.Run(run.configuration, run.folder)
    assert len(again.signals) > 0
    assert again.load_model()
    assert again.metrics
    assert not any(path.read_bytes().startswith(b"\x80") for path in run.folder.iterdir())


@pytest.mark.parametrize(("trace", "epochs"), [(1, [1, 2, 3]), (2, [2, 3]), (5, [3])])
def test_the_trace_follows_the_losses_to_the_last_epoch(tiny, kept, trace, epochs):
    traced = runs.get(tiny.but(trace=trace, recipe=replace(tiny.recipe, epochs=3)), store=kept)
    assert [epoch["epoch"] for epoch in traced.traced] == epochs
    assert traced.losses_by_epoch.shape == (len(epochs), len(traced.signals))
    assert_allclose(traced.losses_by_epoch[-1], traced.signals.loss(), rtol=1e-5, atol=1e-6)
    assert traced.traced[-1]["loss_gap"] == traced.metrics["loss_gap"]


def test_looking_does_not_change_the_run(run, tiny, kept):
    traced = runs.get(tiny.but(trace=1), store=kept)
    assert_array_equal(traced.signals.logits, run.signals.logits)


def test_a_run_without_a_trace_says_how_to_get_one(run):
    with pytest.raises(ValueError, match=r"but\(trace=1\)"):
        run.losses_by_epoch  # noqa: B018


def test_a_run_uses_its_inference_part_and_its_threads(tiny, store):
    configuration = tiny.but(defense=Spy(), threads=torch.get_num_threads() + 1)
    side = runs.get(configuration, store=store).side
    assert_array_equal(Spy.reference, side.inference.scaled())
    assert Spy.threads == configuration.threads


def test_each_seed_decides_its_own_part(tiny):
    def parts(configuration):
        weights = configuration.build_model().state_dict()["classify.weight"].numpy()
        return configuration.records().x, configuration.side_records().train.index, weights

    expected = {
        "data_seed": (False, True, True),
        "split_seed": (True, False, True),
        "seed": (True, True, False),
    }
    for name, same in expected.items():
        pairs = zip(parts(tiny), parts(tiny.but(**{name: 1})), strict=True)
        assert tuple(np.array_equal(*pair) for pair in pairs) == same, name


def test_target_and_shadow_share_nothing_but_the_recipe(tiny):
    target, shadow = tiny, tiny.but(side="shadow")
    assert not set(target.side_records().train.index) & set(shadow.side_records().train.index)
    first, second = (configuration.build_model().state_dict() for configuration in (target, shadow))
    assert not torch.equal(first["classify.weight"], second["classify.weight"])


# ---------------------------------------------------------------- the key

OTHER_SETTINGS = {
    "data": "letters",
    "size": 200,
    "data_seed": 1,
    "split": "other",
    "split_seed": 1,
    "split_options": {"shadows": 2},
    "validation": 0.2,
    "side": "shadow",
    "model": "resnet20",
    "options": {"widths": (17,)},
    "recipe": Recipe(),
    "defense": Mild(),
    "seed": 1,
    "trace": 1,
    "device": "cuda",
    "threads": 2,
    "before": (Stage(Recipe(), Plain(), 0),),
}
OTHER_RECIPES = {
    "epochs": 3,
    "batch_size": 17,
    "lr": 0.06,
    "momentum": 0.8,
    "weight_decay": 0.0,
    "schedule": "steps",
    "milestones": (0.5, 0.8),
    "factors": (0.1, 0.05),
    "augment": True,
}


def test_these_tables_name_every_setting():
    assert set(OTHER_SETTINGS) == {field.name for field in fields(Configuration)}
    assert set(OTHER_RECIPES) == {field.name for field in fields(Recipe)}


def test_every_setting_changes_the_key(tiny):
    changed = [tiny.but(**{name: value}) for name, value in OTHER_SETTINGS.items()]
    changed += [
        tiny.but(recipe=replace(tiny.recipe, **{name: value}))
        for name, value in OTHER_RECIPES.items()
    ]
    changed += [tiny.but(defense=Mild(0.6)), tiny.but(defense=Mild(layers=(1,)))]
    stages = [Stage(Recipe(2), Plain(), 0), Stage(Recipe(), Mild(), 0), Stage(Recipe(), Plain(), 1)]
    changed += [
        tiny.but(before=before) for before in (*((stage,) for stage in stages), tuple(stages[:2]))
    ]
    keys = [configuration.key for configuration in (tiny, *changed)]
    assert len(set(keys)) == len(keys)


def test_the_key_changes_with_the_content_of_the_data(tiny, monkeypatch):
    before, records = tiny.key, tiny.records()
    changed = replace(
        records, x=np.where(np.arange(len(records))[:, None, None, None] == 7, 0, records.x)
    )
    monkeypatch.setitem(data.LOADERS, "digits", lambda **options: changed)
    assert tiny.key != before


def test_the_key_changes_with_the_version_of_the_code(tiny, monkeypatch):
    before = tiny.key
    monkeypatch.setattr(sys.modules[Configuration.__module__], "CODE_VERSION", -1)
    assert tiny.key != before


KEYS = {1: "dde963c637734b84"}  # CODE_VERSION → the end of the key


def test_the_key_is_the_same_as_ever(tiny):
    assert tiny.key.endswith(KEYS[CODE_VERSION]), (
        "The same configuration has another key than before, so nothing that was kept is found again. Leave what is "
        "new out of `describe` where it has its default, as `before` is, or raise CODE_VERSION and write the new key."
    )
    assert "before" not in describe(tiny)


def test_the_key_depends_on_nothing_else(tiny):
    assert parse(describe(tiny)).key == tiny.key
    assert tiny.but(seed=np.int64(0)).key == tiny.key
    if not torch.cuda.is_available() and not torch.backends.mps.is_available():
        assert tiny.but(device="auto").key == tiny.key


def test_the_name_shows_what_differs(tiny):
    assert tiny.but(seed=4).name.endswith("-seed=4")
    assert "threads" not in tiny.name


def test_a_long_configuration_still_makes_a_folder_name(tiny):
    key = tiny.but(options={"widths": tuple(range(1, 200))}).key
    assert len(key) < 120
    assert key.replace("=", "").replace("-", "").replace("_", "").replace(".", "").isalnum()


@pytest.mark.parametrize(
    "changes",
    [{}, {"defense": Mild(0.2)}, {"recipe": Recipe(schedule="steps")}, {"size": 100, "trace": 2}],
)
def test_a_configuration_survives_its_json(tiny, changes, monkeypatch):
    monkeypatch.setitem(defenses.DEFENSES, "Mild", Mild)
    configuration = tiny.but(**changes)
    assert parse(json.loads(json.dumps(describe(configuration)))) == configuration


def test_the_folder_says_its_configuration(run, tiny):
    assert parse(read_json(run.folder / "config.json")) == tiny


# ---------------------------------------------------------------- one training after another

STILL = Recipe(epochs=1, batch_size=16, lr=0.0)
TUNING = Recipe(epochs=2, batch_size=16, lr=0.02)


def weights(run):
    return {name: value.numpy() for name, value in run.load_model().state_dict().items()}


def assert_same_weights(first, second):
    for name, value in weights(first).items():
        assert_array_equal(value, weights(second)[name], err_msg=name)


@pytest.fixture
def fits(monkeypatch):
    """The defenses that are trained from here on."""
    trained = []

    def noted(*args, **options):
        trained.append(options["defense"])
        return fit(*args, **options)

    monkeypatch.setattr(runs, "fit", noted)
    return trained


def test_a_tuned_configuration_starts_from_the_one_it_was_made_of(tiny):
    tuned = tiny.but(trace=2).then(Past(), TUNING).then(L1(), STILL, trace=1)
    assert (tuned.defense, tuned.recipe, tuned.trace) == (L1(), STILL, 1)
    assert (tuned.start.defense, tuned.start.recipe, tuned.start.trace) == (Past(), TUNING, 0)
    assert tuned.start.start == tiny.but(trace=2)
    assert tiny.start is None


def test_side_and_seed_of_a_tuned_configuration_are_those_of_both_trainings(tiny):
    tuned = tiny.then(Past(), TUNING).but(side="shadow", seed=4)
    assert tuned.start == tiny.but(side="shadow", seed=4)
    assert tuned == tiny.but(side="shadow", seed=4).then(Past(), TUNING)
    seeds = {
        one.seed_for("fit")
        for one in (tuned, tuned.start, tuned.then(Past(), TUNING), tiny.then(Past(), TUNING))
    }
    assert len(seeds) == 4  # No training repeats the draws of another.


@pytest.mark.parametrize("stages", [1, 2])
def test_a_tuned_configuration_survives_its_json(tiny, stages):
    tuned = tiny.but(defense=L1(2e-4))
    for _ in range(stages):
        tuned = tuned.then(Past(2e-3, kinds=("linear",)), TUNING, trace=1)
    again = parse(json.loads(json.dumps(describe(tuned))))
    assert again == tuned
    assert again.key == tuned.key


def test_the_name_of_a_tuned_configuration_says_what_was_before(tiny):
    assert "after=L1+Past" in tiny.but(defense=L1()).then(Past(), TUNING).then(Plain(), TUNING).name
    assert "after" not in tiny.name


def test_tuning_starts_from_exactly_the_weights_that_were_kept(run, tiny, kept, fits):
    still = runs.get(tiny.then(Plain(), STILL), store=kept)
    assert_same_weights(still, run)
    assert_array_equal(still.signals.logits, run.signals.logits)
    assert fits == [Plain()]  # The origin was there and was not trained again.


def test_tuning_is_training_on_by_hand(run, tiny, kept):
    tuned = tiny.then(Past(0.01), TUNING)
    model, side = run.load_model(), tiny.side_records()
    options = {
        "defense": Past(0.01),
        "reference": side.inference,
        "seed": tuned.seed_for("fit"),
        "device": "cpu",
    }
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    history = fit(model, side.train, TUNING, **options)
    torch.set_num_threads(threads)
    found = runs.get(tuned, store=kept)
    for name, value in model.state_dict().items():
        assert_array_equal(weights(found)[name], value.numpy(), err_msg=name)
    assert [epoch["loss"] for epoch in found.history] == [epoch["loss"] for epoch in history]


def test_an_origin_that_is_missing_is_trained_and_kept(tiny, store, fits):
    twice = tiny.then(L1(), TUNING).then(Past(), TUNING)
    runs.get(twice, store=store)
    assert fits == [Plain(), L1(), Past()]
    assert all(store.find(one.key) for one in (tiny, twice.start, twice))


def test_several_may_go_on_from_one_origin_side_by_side(run, tiny, kept, store):
    tuned = [tiny.then(Past(strength), TUNING) for strength in (0.0, 0.01, 0.02)]
    found = runs.get_all(tuned, store=store, jobs=2)
    assert_same_weights(runs.Run(tiny, store.find(tiny.key)), run)
    for each, configuration in zip(found, tuned, strict=True):
        assert each.configuration == configuration
        assert_same_weights(each, runs.get(configuration, store=kept))


def test_tuning_that_fails_leaves_the_origin(tiny, store):
    diverging = tiny.then(Past(1e38), TUNING)
    with pytest.raises(FloatingPointError, match=r"Past\(strength=1e\+38"):
        runs.get(diverging, store=store)
    assert store.find(tiny.key)
    assert store.find(diverging.key) is None


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"data": "digit"}, "did you mean 'digits'"),
        ({"model": "mpl"}, "did you mean 'mlp'"),
        ({"split": "six_part"}, "did you mean 'six_parts'"),
        ({"side": "targets"}, "did you mean 'target'"),
        ({"size": 30}, "six_parts needs at least"),
        ({"validation": 1.0}, "validation must be a number|no records"),
    ],
)
def test_settings_that_cannot_work_are_explained_and_leave_nothing(tiny, store, changes, complaint):
    with pytest.raises(ValueError, match=complaint):
        runs.get(tiny.but(**changes), store=store)
    assert not list(store.root.glob("digits*")) + list(store.root.glob(".unfinished*"))


def test_an_unknown_setting_brings_the_nearest(tiny):
    with pytest.raises(ValueError, match="no setting 'sead'; did you mean 'seed'"):
        tiny.but(sead=1)


def test_an_unknown_defense_brings_the_nearest(tiny):
    with pytest.raises(ValueError, match="no defense 'Plane'; did you mean 'Plain'"):
        parse({**describe(tiny), "defense": {"name": "Plane"}})


# ---------------------------------------------------------------- the same numbers tomorrow

GOLDEN = {1: {"mlp": 2.1496, "resnet20": 2.0129}}  # CODE_VERSION → final loss


@pytest.mark.parametrize(
    ("model", "options"), [("mlp", {"widths": (16,)}), ("resnet20", {"width": 2})]
)
def test_the_same_configuration_gives_the_same_numbers_as_ever(tiny, kept, model, options):
    found = runs.get(tiny.but(model=model, options=options), store=kept).history[-1]["loss"]
    assert found == pytest.approx(GOLDEN[runs.CODE_VERSION][model], abs=2e-3), (
        "The same configuration gives other numbers than before. If that is meant, raise CODE_VERSION, so that no "
        "old run is taken for a new one, and write the new numbers beside it here."
    )
