"""Runs: made once, the same bits from the store as fresh, and a key for every difference."""

import errno
import json
import linecache
import pickle
import sys
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import ClassVar

import numpy as np
import pytest
import safetensors.torch
import torch
from numpy.testing import assert_allclose, assert_array_equal
from tqdm.notebook import tqdm as notebook_bar

from mialib import data, defenses, models, progress, query, runs
from mialib.configurations import CODE_VERSION, Configuration, Stage, describe, parse
from mialib.defenses import L1, Defense, EarlyStopping, Past, Plain
from mialib.query import predict
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
class Mild(Defense):
    """A defense with settings; it does nothing else."""

    lam: float = 0.5
    layers: tuple[int, ...] = (1, 2)


class Spy(Defense):
    """Notes what it may tune on, and with how many threads."""

    def prepare(self, training):
        Spy.inference = training.inference[0].numpy()
        Spy.threads = torch.get_num_threads()


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
    assert_array_equal(run.signals.members().record_index, run.side.train.index)


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
    assert_array_equal(Spy.inference, side.inference.scaled())
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
    "precision": "bfloat16",
    "compiled": True,
}


def test_these_tables_name_every_setting():
    assert set(OTHER_SETTINGS) == {field.name for field in fields(Configuration)}
    assert set(OTHER_RECIPES) == {field.name for field in fields(Recipe)}


def test_every_setting_changes_the_key(tiny):
    changed = [tiny.but(**{name: value}) for name, value in OTHER_SETTINGS.items()]
    for name, value in OTHER_RECIPES.items():
        device = "cuda" if name == "compiled" else "cpu"  # Elsewhere nothing is compiled.
        changed.append(tiny.but(device=device, recipe=replace(tiny.recipe, **{name: value})))
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


KEYS = {2: "24e1490ecbb4da3d"}  # CODE_VERSION → the end of the key


def test_the_key_is_the_same_as_ever(tiny):
    assert tiny.key.endswith(KEYS[CODE_VERSION]), (
        "The same configuration has another key than before, so nothing that was kept is found "
        "again. Leave what is new out of `describe` where it has its default, as `before` is, or "
        "raise CODE_VERSION and write the new key."
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
        "inference": side.inference,
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
    with pytest.raises(FloatingPointError, match=r"Past\(lam=1e\+38"):
        runs.get(diverging, store=store)
    assert store.find(tiny.key)
    assert store.find(diverging.key) is None


# ---------------------------------------------------------------- code of one's own

CELL = """
from dataclasses import dataclass
from mialib.training import Defense

@dataclass(frozen=True)
class L1(Defense):
    lam: float = 1e-4

    def loss(self, training, x, y):
        return super().loss(training, x, y) * FACTOR
"""


@pytest.fixture
def cell():
    """Run a cell as a notebook does; give the class `L1` that it defines."""
    numbers = iter(range(100))

    def run_cell(factor):
        text = CELL.replace("FACTOR", str(factor))
        file = f"<cell of test_runs {next(numbers)}>"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        names = {"__name__": "__main__"}
        exec(compile(text, file, "exec"), names)
        return names["L1"]

    return run_cell


def test_a_defense_that_is_edited_and_run_again_is_trained_anew(tiny, store, cell, fits):
    first = runs.get(tiny.but(defense=cell(1.0)()), store=store)
    again = runs.get(tiny.but(defense=cell(1.0)()), store=store)
    edited = runs.get(tiny.but(defense=cell(2.0)()), store=store)
    assert again.folder == first.folder != edited.folder
    assert len(fits) == 2
    assert not np.array_equal(first.signals.logits, edited.signals.logits)


def test_a_class_of_ones_own_is_not_handed_the_run_of_the_librarys(tiny, store, cell):
    own = runs.get(tiny.but(defense=cell(1.0)()), store=store)
    librarys = runs.get(tiny.but(defense=L1()), store=store)
    assert own.folder != librarys.folder
    provenance = read_json(own.folder / "provenance.json")
    assert list(provenance["own_code"]) == ["__main__.L1"]
    assert "own_code" not in read_json(librarys.folder / "provenance.json")


def test_code_without_a_source_is_trained_anew_each_time_and_says_so(tiny, store, fits):
    names = {"__name__": "__main__", "Defense": Defense}
    exec("class Made(Defense):\n    def start_epoch(self, training): pass", names)
    configuration = tiny.but(defense=names["Made"]())
    found = []
    for _ in range(2):
        with pytest.warns(UserWarning, match="Made has no source. So the run is trained anew"):
            found.append(runs.get(configuration, store=store))
    assert len(fits) == 2
    assert found[0].folder != found[1].folder
    assert_array_equal(found[0].signals.logits, found[1].signals.logits)
    with pytest.warns(UserWarning, match="trained anew"):
        pair = runs.get_all([configuration, configuration], store=store)
    assert len(fits) == 3
    assert pair[0].folder == pair[1].folder


# ---------------------------------------------------------------- several runs


def test_names_that_a_notebook_registered_are_known_in_other_processes(tiny, store, monkeypatch):
    """Functions inside a function travel by their content, as those of a notebook do."""
    records = data.load("digits", size=240)
    taken = np.arange(120)

    def loader(*, size=None, seed=0):
        return records.take(taken)

    def network(shape, classes, *, width=4):
        return models.mlp(shape, classes, widths=(width,))

    @dataclass(frozen=True)
    class Doubled(Defense):
        def loss(self, training, x, y):
            assert "Doubled" in defenses.DEFENSES
            return 2 * super().loss(training, x, y)

    monkeypatch.setitem(data.LOADERS, "mine", loader)
    monkeypatch.setitem(models.MODELS, "own", network)
    monkeypatch.setitem(defenses.DEFENSES, "Doubled", Doubled)
    own = tiny.but(data="mine", size=None, model="own", options={"width": 5}, defense=Doubled())
    both = [own, own.but(side="shadow")]
    side_by_side = runs.get_all(both, store=store, jobs=2)
    alone = runs.get(own, store=Store(store.root / "alone"))
    assert_array_equal(side_by_side[0].signals.logits, alone.signals.logits)
    assert len(alone.side.train) == 20


def test_functions_of_the_librarys_under_other_names_are_known_in_other_processes(
    tiny, store, monkeypatch
):
    monkeypatch.setitem(data.LOADERS, "mine", partial(data.embedded.digits))
    monkeypatch.setitem(models.MODELS, "own", partial(models.mlp, widths=(4,)))
    own = tiny.but(data="mine", model="own", options={})
    assert len(runs.get_all([own, own.but(side="shadow")], store=store, jobs=2)) == 2


def test_what_was_registered_for_one_call_is_forgotten_by_the_next(tiny, store, monkeypatch):
    """A worker process serves many calls; a name that was taken back must be unknown there, too."""

    def narrow(shape, classes, *, widths=()):
        return models.mlp(shape, classes, widths=(3,))

    pair = [tiny, tiny.but(side="shadow")]
    with monkeypatch.context() as patch:
        patch.setitem(models.MODELS, "mlp", narrow)
        other = runs.get_all(pair, store=store, jobs=2)
    usual = runs.get_all(pair, store=store, jobs=2)
    assert other[0].metrics != usual[0].metrics
    assert usual[0].metrics == runs.get(tiny, store=Store(store.root / "alone")).metrics


def test_a_generator_of_configurations_gives_all_its_runs(tiny, store):
    found = runs.get_all((tiny.but(seed=seed) for seed in (0, 1)), store=store, jobs=1)
    assert [run.configuration.seed for run in found] == [0, 1]
    assert all(store.find(run.configuration.key) for run in found)


def test_no_configurations_give_no_runs(store):
    assert runs.get_all([], store=store) == []


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_that_diverges_does_not_lose_the_others(tiny, store, jobs):
    diverging = tiny.but(recipe=Recipe(epochs=2, lr=1e30))
    unknown = tiny.but(split="sixparts")
    good = [tiny, tiny.but(side="shadow")]
    with pytest.raises(runs.RunsFailedError) as caught:
        runs.get_all([diverging, *good, unknown], store=store, jobs=jobs)
    message = str(caught.value)
    assert message.startswith("2 of 4 missing runs failed")
    assert f"{diverging.name}: DivergedError: A loss or weight was NaN" in message
    assert "no split 'sixparts'; did you mean 'six_parts'?" in message
    assert set(caught.value.reasons) == {diverging.name, unknown.name}
    assert all(store.find(one.key) for one in good)
    assert store.find(diverging.key) is None


def test_a_single_run_that_is_missing_fails_as_it_is(tiny, store):
    runs.get(tiny, store=store)
    with pytest.raises(FloatingPointError):
        runs.get_all([tiny, tiny.but(recipe=Recipe(epochs=2, lr=1e30))], store=store)


class Shown(notebook_bar):
    """A notebook's bar that remembers how it ended."""

    every: ClassVar[list] = []

    def __init__(self, *args, **options):
        super().__init__(*args, **options, disable=False)
        self.every.append(self)

    def close(self):
        self.ended = (self.n, self.total)
        super().close()
        self.style = self.container.children[1].bar_style


@pytest.fixture
def bars(monkeypatch):
    """The bars that are shown in this process."""
    monkeypatch.setattr(progress, "tqdm", Shown)
    Shown.every.clear()
    return Shown.every


@pytest.mark.parametrize("jobs", [1, 2])
def test_several_runs_show_one_bar_that_ends_whole(tiny, store, bars, capfd, jobs):
    tuned = tiny.then(EarlyStopping(patience=1), replace(TUNING, epochs=9))
    several = [tuned.but(validation=0.2), tiny.but(side="shadow"), tiny.but(seed=1)]
    runs.get_all(several, store=store, jobs=jobs)
    (bar,) = bars
    done, total = bar.ended
    assert done == total == 2 + 9 + 2 + 2  # It stopped early, and still all is done.
    assert bar.style != "danger"
    assert "training" not in capfd.readouterr().err  # Nor do other processes show any.


def test_one_run_shows_one_bar_for_all_its_trainings_from_the_beginning(tiny, store, bars):
    runs.get(tiny.then(Plain(), TUNING), store=store)
    (bar,) = bars
    assert bar.ended == (4, 4)
    assert bar.delay == 0
    assert bar.style != "danger"
    runs.get(tiny, store=store)
    assert len(bars) == 1  # What is there needs no bar.


def test_a_run_that_fails_leaves_its_bar_unfinished(tiny, store, bars):
    with pytest.raises(FloatingPointError):
        runs.get(tiny.but(recipe=Recipe(epochs=2, lr=1e30)), store=store)
    (bar,) = bars
    assert bar.style == "danger"


# ---------------------------------------------------------------- asking a run


def test_a_run_answers_more_questions(run):
    asked = run.ask(noise=True, gradient=True)
    model = run.load_model()
    expected = query.extra_columns(
        model, query.members_then_nonmembers(run.side), noise=True, gradient=True
    )
    assert set(asked.extra) == set(expected)
    for name, column in expected.items():
        assert_array_equal(asked.column(name), column)
    assert_array_equal(asked.logits, run.signals.logits)
    assert not run.signals.extra


def test_the_network_is_loaded_to_the_device_of_its_configuration(run, monkeypatch):
    asked = []

    def pick_device(device):
        asked.append(device)
        return torch.device("meta")

    monkeypatch.setattr(runs, "pick_device", pick_device)
    elsewhere = runs.Run(run.configuration.but(device="auto"), run.folder)
    assert {weight.device.type for weight in elsewhere.load_model().parameters()} == {"meta"}
    assert asked == ["auto"]


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


@pytest.mark.parametrize("bad", [None, 3, "letters", Recipe(), [Configuration()]])
def test_what_is_no_configuration_is_refused(bad, store):
    with pytest.raises(TypeError, match="by its Configuration, found"):
        runs.get(bad, store=store)
    with pytest.raises(TypeError, match="Configuration"):
        runs.get_all([bad], store=store)
    with pytest.raises(TypeError, match="found"):
        runs.get_all(3, store=store)


@pytest.mark.parametrize("bad", ["folder", 3, Recipe()])
def test_what_is_no_store_is_refused(tiny, bad):
    for call in (lambda: runs.get(tiny, store=bad), lambda: runs.get_all([tiny], store=bad)):
        with pytest.raises(TypeError, match=r"must be a mialib\.store\.Store"):
            call()


@pytest.mark.parametrize("jobs", [0, -1, 1.5, "two", True])
def test_a_bad_number_of_processes_is_refused(tiny, store, jobs):
    with pytest.raises(ValueError, match="jobs must be a whole number"):
        runs.get_all([tiny], store=store, jobs=jobs)


def test_a_seed_that_deals_anew_each_time_is_refused(tiny):
    with pytest.raises(ValueError, match="split_seed must be a whole number"):
        tiny.but(split_seed=None)


def test_an_unknown_defense_brings_the_nearest(tiny):
    with pytest.raises(ValueError, match="no defense 'Plane'; did you mean 'Plain'"):
        parse({**describe(tiny), "defense": {"name": "Plane"}})


# ---------------------------------------------------------------- the same numbers tomorrow

GOLDEN = {2: {"mlp": 2.1496, "cnn": 2.2925, "resnet20": 2.0129}}  # CODE_VERSION → final loss


@pytest.mark.parametrize(
    ("model", "options"),
    [("mlp", {"widths": (16,)}), ("cnn", {"width": 2, "hidden": 16}), ("resnet20", {"width": 2})],
)
def test_the_same_configuration_gives_the_same_numbers_as_ever(tiny, kept, model, options):
    found = runs.get(tiny.but(model=model, options=options), store=kept).history[-1]["loss"]
    assert found == pytest.approx(GOLDEN[runs.CODE_VERSION][model], abs=2e-3), (
        "The same configuration gives other numbers than before. If that is meant, raise "
        "CODE_VERSION, so that no old run is taken for a new one, and write the new numbers beside "
        "it here."
    )


def test_a_disk_that_is_full_when_the_weights_are_written_is_explained(tiny, tmp_path, monkeypatch):
    """Safetensors has an error of its own for it, which is no OSError."""

    def full(model, path):
        raise safetensors.SafetensorError("I/O error: No space left on device (os error 28)")

    monkeypatch.setattr(safetensors.torch, "save_model", full)
    with pytest.raises(OSError, match=r"No space left on device\. Free some space"):
        runs.get(tiny, store=Store(tmp_path))


def test_a_full_disk_ends_several_runs_at_once(tiny, store, monkeypatch):
    """The others would train in vain."""
    tried = []

    def full(model, path):
        tried.append(path)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(runs, "_save_weights", full)
    with pytest.raises(OSError, match=r"No space left on device\. Free some space"):
        runs.get_all([tiny, tiny.but(seed=1)], store=store, jobs=1)
    assert len(tried) == 1
