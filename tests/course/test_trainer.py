"""Train this point: the button trains, the threshold does not, and what fails is said."""

import re
import time
from dataclasses import replace

import pytest
import torch

from mialib import runs
from mialib.configurations import Configuration
from mialib.course import frozen, trainer, widgets
from mialib.course.trainer import TrainThisPoint, train_point
from mialib.defenses import L1, Past, Plain
from mialib.store import Store
from mialib.training import Recipe

TINY = Configuration(
    data="digits",
    size=240,
    model="mlp",
    options={"widths": (16,)},
    recipe=Recipe(epochs=2, batch_size=32),
)
TUNING = Recipe(epochs=1, batch_size=32)
ATTACKS = ("loss", "correctness", "max confidence")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return Store(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def plain(store):
    """The undefended model, which stands for the table's, too."""
    return train_point(TINY, Plain(), attacks=ATTACKS, store=store).found


def sliders():
    return {
        "lam": widgets.steps([0.0, 1e-3, 1e-2, 1e38], start=1e-3, label="λ"),
        "alpha": widgets.steps([0.0, 1.5], start=1.5, label="α"),
    }


@pytest.fixture
def bench(monkeypatch, store, plain):
    """A widget over two settings: the table has one of them."""
    monkeypatch.setattr(widgets, "EXPLORERS", [])
    return TrainThisPoint(
        TINY,
        Past,
        recipe=TUNING,
        table={(0.0, 1.5): plain},
        undefended=plain,
        store=store,
        **sliders(),
    )


def count_trainings(monkeypatch):
    """Every training from now on, by its name."""
    done = []
    train = runs.train

    def counted(configuration, folder, start=None):
        done.append(configuration.name)
        return train(configuration, folder, start=start)

    monkeypatch.setattr(runs, "train", counted)
    return done


@pytest.fixture
def in_this_process(monkeypatch):
    """Trainings one after the other, here: others could not be counted."""
    get_all = runs.get_all

    def one_by_one(configurations, *, store=None, jobs=None):
        return get_all(configurations, store=store, jobs=1)

    monkeypatch.setattr(runs, "get_all", one_by_one)


def said(bench) -> str:
    return re.sub(r"<[^>]+>", "", bench.message.value)


def test_a_point_is_what_a_game_of_the_same_runs_finds(store):
    from mialib import attacks

    point = train_point(TINY, Past(1e-3), recipe=TUNING, attacks=ATTACKS, store=store)
    tuned = TINY.defended(Past(1e-3), TUNING)
    target, shadow = runs.get_all([tuned, tuned.but(side="shadow")], store=store)
    game = attacks.game(target.signals, shadow=shadow.signals)
    for name in ATTACKS:
        played = game.play(attacks.ATTACKS[name])
        assert point.evaluation(name).advantage.value == pytest.approx(played.advantage.value)
        assert point.evaluation(name).auc.value == pytest.approx(played.auc.value)
    assert point.accuracy == pytest.approx(target.metrics["accuracy"]["test"])
    assert point.found.rows[0].settings["lam"] == 1e-3


def test_the_button_trains_and_the_point_appears(bench, in_this_process, monkeypatch):
    trained = count_trainings(monkeypatch)
    bench.controls["lam"].value = 1e-2
    assert "Neither the table nor you" in bench.screen.value
    seen = []
    bench.button.observe(lambda change: seen.append(change.new), names="disabled")
    told = []
    bench.message.observe(lambda change: told.append(change.new), names="value")
    bench.button.click()
    assert seen == [True, False], "the button is off while it trains"
    assert len(trained) == 2, "target and shadow"
    assert "Training λ = 0.01, α = 1.5 …" in told[0]
    assert "Trained. Now 3 attacks …" in told[1]
    assert list(bench.points) == ["λ = 0.01, α = 1.5"]
    assert "yours, λ = 0.01, α = 1.5" in bench.screen.value
    assert said(bench).startswith("λ = 0.01, α = 1.5: test accuracy 0.")
    assert (bench.bar.value, bench.bar.max, bench.bar.bar_style) == (2, 2, "success")


def test_pressed_again_it_trains_nothing(bench, in_this_process, monkeypatch):
    bench.button.click()
    trained = count_trainings(monkeypatch)
    bench.button.click()
    assert trained == []
    assert len(bench.points) == 1


def test_no_slider_trains(bench, monkeypatch):
    trained = count_trainings(monkeypatch)
    for name, position in (("lam", 1e-2), ("alpha", 0.0), ("quantile", 0.9), ("attack", "loss")):
        bench.controls[name].value = position
    assert trained == []


def test_the_threshold_moves_on_the_model_that_is_chosen(bench, in_this_process, capsys):
    bench.button.click()
    bench.controls["quantile"].value = 0.5
    before = bench.screen.value
    started = time.process_time()  # not the clock: others may keep the machine busy
    bench.controls["quantile"].value = 0.9
    seconds = time.process_time() - started
    with capsys.disabled():
        print(f" [the threshold slider answers in {1000 * seconds:.0f} ms]", end="")
    assert seconds < 1
    assert bench.screen.value != before
    half, strict = (bench.view(**bench.values() | {"quantile": at}) for at in (0.5, 0.9))
    assert strict.numbers["tpr"] < half.numbers["tpr"]
    assert "yours: one training" in strict.alt
    bench.controls["lam"].value = 0.0
    assert "the table&#x27;s training, seed 0" in bench.screen.value


def test_only_the_lower_picture_is_drawn_anew(bench):
    above = bench.screen.value.split("<br>")[0]
    bench.controls["quantile"].value = 0.9
    assert bench.screen.value.split("<br>")[0] == above
    assert len(bench._above) == 1


def test_a_diverged_training_is_said_and_earlier_points_stay(bench, in_this_process):
    bench.button.click()
    bench.controls["lam"].value = 1e38
    bench.button.click()
    assert said(bench).startswith("Not trained. The training diverged. A loss or weight was NaN")
    assert 'role="alert"' in bench.message.value
    assert list(bench.points) == ["λ = 0.001, α = 1.5"]
    assert not bench.button.disabled
    bench.controls["lam"].value = 1e-2
    assert "Not trained" not in bench.message.value


def test_a_setting_out_of_range_is_refused_before_anything_trains(plain, store, monkeypatch):
    trained = count_trainings(monkeypatch)
    with pytest.raises(ValueError, match="lam must be a number, at least 0, found -1"):
        train_point(TINY, Past(-1.0), store=store)
    monkeypatch.setattr(widgets, "EXPLORERS", [])
    bad = widgets.steps([-1.0, 1e-3], start=-1.0, label="λ")
    bench = TrainThisPoint(TINY, Past, table={}, undefended=plain, store=store, lam=bad)
    refusal = "Not trained. lam must be a number, at least 0, found -1.0."
    assert said(bench) == refusal
    bench.button.click()
    assert said(bench) == refusal
    assert trained == []


def test_a_defended_base_is_refused_in_a_sentence(plain, store, monkeypatch):
    monkeypatch.setattr(widgets, "EXPLORERS", [])
    base = TINY.but(defense=L1(1e-3))
    lam = widgets.steps([1e-2], start=1e-2, label="λ")
    bench = TrainThisPoint(base, L1, table={}, undefended=plain, store=store, lam=lam)
    bench.button.click()
    assert "would take the place of" in said(bench)


@pytest.mark.parametrize("where", ["in training", "in another process", "in attacks"])
def test_a_device_without_memory_is_said_and_earlier_points_stay(bench, monkeypatch, where):
    bench.train(**bench.chosen())
    full = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
    if where == "in another process":
        full = runs.RunsFailedError("1 of 2 failed", {"digits-mlp": f"OutOfMemoryError: {full}"})

    def fail(*arguments, **options):
        raise full

    name = "make_row" if where == "in attacks" else "runs.get_all"
    monkeypatch.setattr(f"mialib.course.trainer.{name}", fail)
    bench.button.click()
    assert said(bench).startswith("Not trained. The device ran out of memory. Your points")
    assert len(bench.points) == 1
    assert not bench.button.disabled


def test_a_fault_of_ours_is_said_and_raised(bench, monkeypatch):
    monkeypatch.setattr(trainer, "train_point", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        bench.press()
    assert said(bench) == "Not trained. ZeroDivisionError: division by zero"
    assert not bench.button.disabled


def test_the_announcement_counts_what_is_missing(bench):
    bench.controls["alpha"].value = 0.0
    assert re.fullmatch(
        r"Two trainings, 2 epochs in all, about \d+ s on this device; then 3 attacks\.",
        said(bench),
    )
    bench.train(**bench.chosen())
    assert said(bench) == "Nothing is left to train: the store has it. Then 3 attacks."


def test_without_an_earlier_run_no_time_is_promised(tmp_path):
    empty = Store(tmp_path)
    planned = trainer.planned_point(TINY, Past(1e-3), TUNING)
    ahead = trainer.trainings_ahead(planned, empty)
    assert [one.recipe.epochs for one in ahead] == [2, 1, 2, 1]
    assert trainer.seconds_per_epoch([TINY], empty) is None
    assert "Four trainings, 6 epochs in all, how long" in trainer.announcement(ahead, None, 13)
    assert "about 30 s" in trainer.announcement(ahead, 5.0, 13)


def test_a_time_from_another_device_is_not_promised(store, plain, monkeypatch):
    assert trainer.seconds_per_epoch([TINY], store) > 0
    monkeypatch.setattr(trainer, "pick_device", lambda _: torch.device("meta"))
    assert trainer.seconds_per_epoch([TINY], store) is None


def test_the_page_has_everything_in_order_and_words_without_a_kernel(bench):
    kinds = [type(part).__name__ for part in bench.parts()]
    assert kinds == [
        *("SelectionSlider", "SelectionSlider", "Button", "IntProgress", "HTML"),
        *("SelectionSlider", "SelectionSlider", "HTML", "HTML"),
    ]
    text = bench._repr_mimebundle_()["text/plain"]
    assert text.startswith("A slider"), "the builder keeps what begins so"
    assert [bench] == widgets.EXPLORERS


def test_every_position_of_the_threshold_is_a_quantile():
    assert trainer.QUANTILES[0] == 0
    assert list(trainer.QUANTILES) == sorted(set(trainer.QUANTILES))
    assert trainer.QUANTILES[-1] < 1


def test_it_works_with_a_defense_that_replaces_the_training(plain, store, monkeypatch):
    monkeypatch.setattr(widgets, "EXPLORERS", [])
    lam = widgets.steps([1e-3], start=1e-3, label="λ")
    recipe = replace(TINY.recipe, epochs=1)
    bench = TrainThisPoint(
        TINY, L1, recipe=recipe, table={}, undefended=plain, store=store, lam=lam
    )
    point = bench.train(lam=1e-3)
    assert point.found.rows[0].settings["defense"] == "L1"


def test_frozen_frames_show_only_settings_that_were_trained(bench):
    """On a page there is no button: of the table's neighbours, only one was trained."""
    stops = frozen.frozen_stops(bench)
    assert stops["lam"].values == (0.0, 1e-3)
    assert stops["alpha"].values == (1.5,)
    assert len(stops["quantile"].values) > 5
    positions = frozen.frozen_positions(bench)
    assert bench.values() in positions
    assert len(positions) <= frozen.LARGEST
