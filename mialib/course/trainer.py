"""Train this point: a setting that the reader chooses, trained, attacked, and put among others.

    train_point(base, Past(5e-4, 1.25), recipe=recipe)      # a Point: target, shadow, all attacks
    TrainThisPoint(                                         # the same behind sliders and a button
        base,
        Past,                                   # called with the sliders' values, by their names
        recipe=recipe,                          # of the defense's own training
        table={(1e-3, 1.5): trainings, …},      # in the order of the sliders
        undefended=plain,
        lam=widgets.steps([3e-4, 1e-3], start=1e-3, label="λ"),
        alpha=widgets.steps([0, 1.5], start=1.5, label="α"),
    )

Nothing trains when a slider moves: only the button does that. Whatever was trained is kept in the
store, so a point that was trained before is there at once. What goes wrong is said in a sentence
below the button, and the points from before stay.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import ipywidgets
import torch

from mialib import progress, runs
from mialib.attacks import SHADOW_SUITE
from mialib.configurations import Configuration
from mialib.course.figures.points import (
    Point,
    point_among,
    point_view,
    quantile_of,
    standing_of,
)
from mialib.course.plots.picture import Picture
from mialib.course.widgets import TOOLTIP, Explorer, choice, steps, words
from mialib.experiments.plans import PlannedRow
from mialib.experiments.rows import MadeRow, make_row
from mialib.foreign import read_json
from mialib.query import pick_device
from mialib.results import Results
from mialib.store import Store, as_store
from mialib.training import Defense, DivergedError, Recipe

BUTTON = "Train this point"
# Quantiles of the scores at which a threshold may stand: close together where alarms are few.
QUANTILES = (*(k / 50 for k in range(50)), 0.985, 0.99, 0.995, 0.998, 0.999)
# What may go wrong and be told in a sentence; anything else is told too, and raised.
EXPECTED = (
    runs.RunsFailedError,
    DivergedError,
    torch.OutOfMemoryError,
    MemoryError,
    OSError,
    TypeError,
    ValueError,
)
OUT_OF_MEMORY = (
    "The device ran out of memory. Your points from before are kept. Restart the kernel to free "
    "what it holds, or take a smaller profile."
)
WORDS = ("no", "one", "two", "three", "four")


# One point.


def train_point(
    base: Configuration,
    defense: Defense,
    *,
    recipe: Recipe | None = None,
    name: str = "",
    attacks: Sequence[str] = SHADOW_SUITE,
    store: Store | None = None,
) -> Point:
    """Train `base` and its shadow, defended so, or find them in the store; make every attack.

    `recipe` is that of the defense's own training, as `Configuration.defended` takes it.
    """
    store = as_store(store)
    planned = planned_point(base, defense, recipe)
    runs.get_all([planned.configuration, *planned.shadows], store=store)
    (made,) = make_row(planned, attacks, (), store)
    return Point(name or str(defense), _as_results(made))


def planned_point(base: Configuration, defense: Defense, recipe: Recipe | None) -> PlannedRow:
    """What is to be trained; a setting that cannot be is refused here."""
    configuration = base.defended(defense, recipe).but(trace=0)
    return PlannedRow(configuration, {"defense": type(defense).__name__, **asdict(defense)})


def _as_results(made: MadeRow) -> Results:
    """One row as a table of its own."""
    return Results(
        rows=(made.row,),
        attacks=made.attacks,
        ranks=made.ranks[None],
        thresholds=made.thresholds[None],
        losses=made.losses[None],
        correct=made.correct[None],
        is_member=made.is_member,
        about={"plan": "a point", "profile": "your own"},
    )


# What it will cost.


def trainings_ahead(planned: PlannedRow, store: Store) -> list[Configuration]:
    """The trainings that a point still needs: of the target, of its shadows, and before them."""
    everyone = [planned.configuration, *planned.shadows]
    return [one for run in everyone for one in runs.missing(run, store=store)]


def seconds_per_epoch(measured: Sequence[Configuration], store: Store) -> float | None:
    """From the first of these trainings that the store has, if it was done on this device."""
    for configuration in measured:
        folder = store.find(configuration.key)
        if folder is None:
            continue
        told = read_json(folder / "provenance.json")
        if told["device"] == pick_device(configuration.device).type:
            return told["seconds"] / configuration.recipe.epochs
    return None


def announcement(ahead: Sequence[Configuration], pace: float | None, attacks: int) -> str:
    """What the button will do, in a sentence; `pace` is in seconds per epoch."""
    if not ahead:
        return f"Nothing is left to train: the store has it. Then {attacks} attacks."
    epochs = sum(one.recipe.epochs for one in ahead)
    count = WORDS[len(ahead)] if len(ahead) < len(WORDS) else str(len(ahead))
    trainings = "training" if len(ahead) == 1 else "trainings"
    duration = "how long that takes, the first one will show"
    if pace is not None:
        duration = f"about {max(1, round(pace * epochs))} s on this device"
    return (
        f"{count.capitalize()} {trainings}, {epochs} epochs in all, {duration}; "
        f"then {attacks} attacks."
    )


def sentence_of(error: BaseException) -> str:
    """What went wrong, as a reader should hear it."""
    if isinstance(error, runs.RunsFailedError):
        reason = next(iter(error.reasons.values()), str(error))
    else:
        reason = f"{type(error).__name__}: {error}"
    kind, _, message = reason.partition(": ")
    if kind in ("OutOfMemoryError", "MemoryError"):
        return OUT_OF_MEMORY
    if kind == "KeyboardInterrupt":
        return "The training was stopped. What was finished is kept."
    if kind == "DivergedError":
        return f"The training diverged. {message}"
    known = {one.__name__ for one in EXPECTED}
    return message if kind in known and message else reason


# The widget.


class TrainThisPoint(Explorer):
    """Sliders over settings, an attack and its threshold; a button that trains the setting.

    base         the configuration that is defended
    defend       makes the defense of the sliders' values, which come by their names
    table        trainings of some settings, by the sliders' values in their order
    undefended   trainings of the undefended model
    recipe       of the defense's own training
    store        where runs are kept, unless it is the usual one
    controls     a slider for each setting

    Without a training of one's own, the threshold moves on the table's first training of a setting.
    """

    without_kernel = (
        "A slider view with a button: run the notebook to train a point of your own. "
        "The figure below shows one of its positions."
    )

    def __init__(
        self,
        base: Configuration,
        defend: Callable[..., Defense],
        /,
        *,
        table: Mapping[tuple, Results],
        undefended: Results,
        recipe: Recipe | None = None,
        store: Store | None = None,
        **controls: ipywidgets.DOMWidget,
    ):
        self.base = base
        self.defend = defend
        self.recipe = recipe
        self.store = as_store(store)
        self.settings: dict[str, Any] = controls
        self.table = {self._name(values): trainings for values, trainings in table.items()}
        self.standings = {name: standing_of(one) for name, one in self.table.items()}
        self.undefended = standing_of(undefended)
        self.attacks = undefended.attacks
        self.points: dict[str, Point] = {}  # the reader's own, by name
        self._trained: list[Configuration] = []  # the last one first
        self._above: dict[str, Picture] = {}  # the upper picture, by the setting that is chosen
        self.button = ipywidgets.Button(
            description=BUTTON, button_style="primary", icon="play", tooltip=BUTTON
        )
        self.bar = ipywidgets.IntProgress(
            value=0, min=0, max=1, layout={"visibility": "hidden"}, **{TOOLTIP: "epochs trained"}
        )
        self.message = words()
        self.button.on_click(self.press)
        for control in controls.values():
            control.observe(self.announce, names="value")
        first = undefended.attacks[0] if "loss" not in undefended.attacks else "loss"
        others = [name for name in undefended.attacks if name != first]
        super().__init__(
            self.view,
            **controls,
            attack=choice([first, *others], label="attack"),
            quantile=steps(QUANTILES, start=self._start(first), label="threshold (quantile)"),
        )
        self.announce()

    def chosen(self) -> dict[str, Any]:
        """The settings at the sliders' positions."""
        return {name: control.value for name, control in self.settings.items()}

    def view(self, *, attack: str, quantile: float, **settings: Any) -> Picture:
        """Where a setting stands, and what the threshold does to its model."""
        name = self._name(settings.values())
        shown = self.point(name) or name
        picture = point_view(shown, self._among(name), attack=attack, quantile=quantile)
        return replace(picture, numbers={**picture.numbers, **settings})

    def point(self, name: str) -> Point | None:
        """The reader's own training of a setting, or else the table's first, if there is one."""
        if name in self.points or name not in self.table:
            return self.points.get(name)
        return Point.first_of(name, self.table[name])

    def is_trained(self, **settings: Any) -> bool:
        """Whether there is a training of this setting to show."""
        return self.point(self._name(settings.values())) is not None

    def train(self, **settings: Any) -> Point:
        """Train a setting, or find it in the store, and put it among the others."""
        name = self._name(settings.values())
        defense = self.defend(**settings)
        point = train_point(
            self.base,
            defense,
            recipe=self.recipe,
            name=name,
            attacks=self.attacks,
            store=self.store,
        )
        self._trained.insert(0, planned_point(self.base, defense, self.recipe).configuration)
        self.points[name] = point
        self._above.clear()
        self.forget()
        self.announce()
        return point

    def press(self, button: object = None) -> None:
        """Train where the sliders stand, with a bar, and say how it went."""
        self.button.disabled = True
        try:
            self._train_with_bar()
        except EXPECTED as error:
            self._fail(error)
        except BaseException as error:
            self._fail(error)  # An interrupt, or a fault of the code: told here, and raised.
            raise
        finally:
            self.button.disabled = False

    def announce(self, change: object = None) -> None:
        """Say what the button will do where the sliders stand now."""
        try:
            planned = planned_point(self.base, self.defend(**self.chosen()), self.recipe)
            ahead = trainings_ahead(planned, self.store)
            pace = seconds_per_epoch([*self._trained, self.base], self.store)
            self._tell(announcement(ahead, pace, len(self.attacks)))
        except EXPECTED as error:
            self._fail(error)

    def parts(self) -> list[ipywidgets.Widget]:
        settings = self.settings.values()
        reading = [control for name, control in self.controls.items() if name not in self.settings]
        acting = [self.button, self.bar, self.message]
        return [*settings, *acting, *reading, self.screen, self.told]

    def _train_with_bar(self) -> None:
        settings = self.chosen()
        name = self._name(settings.values())
        planned = planned_point(self.base, self.defend(**settings), self.recipe)
        ahead = trainings_ahead(planned, self.store)
        self._start_bar(sum(one.recipe.epochs for one in ahead))
        self._tell(f"Training {name} …")
        with progress.forwarded(self._advance):
            point = self.train(**settings)
        self.bar.value = self.bar.max
        self.bar.bar_style = "success"
        highest = f"highest advantage {point.highest():.2f}"
        self._tell(f"{name}: test accuracy {point.accuracy:.2f}, {highest}. One training.")

    def _start_bar(self, epochs: int) -> None:
        self.bar.bar_style = ""
        self.bar.value = 0
        self.bar.max = max(epochs, 1)
        self.bar.layout.visibility = "visible"

    def _advance(self) -> None:
        self.bar.value = min(self.bar.value + 1, self.bar.max)
        if self.bar.value == self.bar.max:
            self._tell(f"Trained. Now {len(self.attacks)} attacks …")

    def _tell(self, sentence: str) -> None:
        self.message.value = f'<p role="status">{html.escape(sentence)}</p>'

    def _fail(self, error: BaseException) -> None:
        self.bar.layout.visibility = "hidden"
        said = html.escape(sentence_of(error))
        self.message.value = f'<p role="alert"><b>Not trained.</b> {said}</p>'

    def _among(self, name: str) -> Picture:
        if name not in self._above:
            self._above[name] = point_among(
                list(self.points.values()),
                self.standings,
                undefended=self.undefended,
                chosen=name,
            )
        return self._above[name]

    def _name(self, values: Any) -> str:
        """A setting as the pictures call it: "λ = 0.001, α = 1.5"."""
        labels = [control.description for control in self.settings.values()]
        return ", ".join(
            f"{label} = {value:g}" for label, value in zip(labels, values, strict=True)
        )

    def _start(self, attack: str) -> float:
        """The quantile nearest to the shadow's own threshold, for the model that is shown first."""
        point = self.point(self._name(self.chosen().values()))
        if point is None:
            return 0.5
        fitted = quantile_of(point.scores(attack), point.threshold(attack))
        return min(QUANTILES, key=lambda quantile: abs(quantile - fitted))
