"""One bar at a time, that counts what it says and ends green unless something failed.

A notebook's bar is looked at: `bar_style` is what gives it its colour.
"""

import math

import pytest
from tqdm import notebook

from mialib import models, progress, query, runs
from mialib.defenses import Plain
from mialib.training import DivergedError, Recipe, fit

RECIPE = Recipe(epochs=3, batch_size=30, lr=0.05)


@pytest.fixture
def bars(monkeypatch):
    """All bars that are made, as a notebook makes them; none is held back."""
    made = []

    class Seen(notebook.tqdm):
        def __init__(self, *args, **options):
            super().__init__(*args, **options | {"delay": 0, "display": False})
            made.append(self)

        @property
        def style(self):
            return self._strip.bar_style

        @property
        def filled(self):
            return self._strip.value / self._strip.max

        @property
        def _strip(self):
            _, strip, _ = self.container.children
            return strip

    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    monkeypatch.setattr(progress, "tqdm", Seen)
    return made


def train(members, defense, **options):
    model = models.build("mlp", shape=(1, 8, 8), classes=10, widths=(4,))
    return fit(model, members, RECIPE, defense=defense, device="cpu", **options)


def test_a_training_that_finishes_leaves_one_full_green_bar(bars, members):
    train(members, Plain())
    (bar,) = bars
    assert (bar.style, bar.filled, bar.n, bar.total) == ("success", 1, 3, 3)


def test_a_training_that_a_defense_ends_early_leaves_a_full_green_bar(bars, members):
    class Ends(Plain):
        def end_epoch(self, training):
            return training.epoch == 2

    train(members, Ends())
    (bar,) = bars
    assert (bar.style, bar.filled, bar.n, bar.total) == ("success", 1, 2, 2)


def test_a_training_that_diverges_leaves_a_red_bar(bars, members):
    class Diverges(Plain):
        def loss(self, training, x, y):
            return super().loss(training, x, y) * (math.nan if training.epoch == 2 else 1)

    with pytest.raises(DivergedError):
        train(members, Diverges())
    (bar,) = bars
    assert (bar.style, bar.n) == ("danger", 1)


def test_a_bar_inside_another_is_not_shown_and_does_not_count(bars, members):
    def ask(model, epoch):
        query.extra_columns(model, members, shifts=query.l1_shifts(1))

    train(members, Plain(), on_epoch=ask)
    (bar,) = bars
    assert (bar.style, bar.n) == ("success", 3)


@pytest.mark.parametrize("number", [1, 2])
def test_runs_leave_one_green_bar(bars, tiny, store, number):
    """Also when they go on in other processes, and when one of them was finished before."""
    configurations = [tiny.but(seed=seed) for seed in range(number)]
    runs.get_all(configurations, store=store, jobs=number)
    (bar,) = bars
    assert (bar.style, bar.filled, bar.n) == ("success", 1, 2 * number)
    runs.get_all(configurations, store=store)
    assert len(bars) == 1, "nothing was left to train"


def test_steps_are_handed_on(bars):
    steps = []
    hand_on = progress.forwarded(lambda: steps.append("step"))
    with hand_on, progress.bar("inner", total=2, unit="step") as advance:
        advance()
        with progress.bar("innermost", total=9, unit="other") as advance_inside:
            advance_inside()
        advance()
    assert steps == ["step", "step"]
    assert bars == []


def test_a_bar_is_shown_again_after_one_that_failed(bars):
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), progress.bar("fails", total=2, unit="step"):
            raise ZeroDivisionError
    assert [bar.style for bar in bars] == ["danger", "danger"]


def test_a_bar_says_how_long_it_will_take(bars):
    with progress.bar("slow", total=10, unit="step") as advance:
        advance()
        (bar,) = bars
        assert bar.format_dict["total"] == 10
        assert "<" in bar.format_meter(**bar.format_dict | {"elapsed": 5.0})  # elapsed<left


def test_a_file_that_is_empty_for_a_moment_is_not_counted_twice(monkeypatch):
    monkeypatch.setattr(progress, "POLL_SECONDS", 0)
    looks = [2, 0, 3]

    class Count:
        def done(self):
            return looks.pop(0)

    class Finished:
        def wait(self, seconds):
            return len(looks) == 1

    steps = []
    progress._watch([Count()], lambda: steps.append(1), Finished())
    assert len(steps) == 3
