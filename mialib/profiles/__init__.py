"""The settings of every experiment at each profile, as the TOML files here have them.

>>> load("quick").images.recipe.epochs
60

A profile is only numbers: `quick` for any laptop, `cpu` for real data on a patient one, `class` for
a free GPU, `paper` for the papers' own settings. A file has one table per experiment:

    ["images tuned"]
    like = "images"
    then = { times = 1, defense = { name = "Past", lam = 1e-3 }, recipe = { epochs = 20 } }

Such a table holds settings of a `Configuration`, and these four words of its own:

- `like`: the experiment that this one starts from; what is not said here is as it is there. Without
  it, what is not said has `Configuration`'s defaults. A `recipe` changes only what it names.
- `defense`: its name and its settings, as in `{ name = "Past", lam = 1e-3 }`.
- `then`: train on from the weights that this ends with, by this `defense`, and with what differs in
  the `recipe`; so many `times` (once unless told), with this `trace` (none unless told).
- `rates`, in a `recipe`: pairs of an epoch and the learning rate that holds from it on, as papers
  have them in their tables. They become the schedule "steps", whose milestones are shares of the
  epochs and whose factors are multiples of `lr`.
"""

from dataclasses import dataclass, replace
from importlib import resources
from typing import Any

from mialib.configurations import Configuration, made, parse_defense
from mialib.errors import check_choice
from mialib.foreign import parse_toml
from mialib.training import Recipe

NAMES = ("quick", "cpu", "class", "paper")


@dataclass(frozen=True)
class Profile:
    """Named experiments, each the configuration of its target.

    The shadow's is `.but(side="shadow")`.
    """

    name: str
    images: Configuration  # the course's image classifier
    baskets: Configuration  # the course's classifier of shopping baskets
    experiments: dict[str, Configuration]  # these two, and more


def load(name: str) -> Profile:
    """The profile called `name`."""
    return PROFILES[check_choice("profile", name, PROFILES)]


def _read(name: str) -> Profile:
    file = resources.files(__name__).joinpath(f"{name}.toml")
    tables = parse_toml(file.read_text(encoding="utf-8"))
    experiments = {title: _experiment(title, tables) for title in tables}
    return Profile(name, experiments["images"], experiments["baskets"], experiments)


def _experiment(title: str, tables: dict[str, dict]) -> Configuration:
    """The configuration that a table describes."""
    settings = dict(tables[title])
    like = settings.pop("like", None)
    then = settings.pop("then", None)
    start = Configuration() if like is None else _experiment(like, tables)
    if "recipe" in settings:
        settings["recipe"] = _changed_recipe(start.recipe, settings["recipe"])
    if "defense" in settings:
        settings["defense"] = parse_defense(settings["defense"])
    experiment = start.but(**settings)
    if then is None:
        return experiment
    return _trained_on(experiment, **then)


def _trained_on(
    experiment: Configuration,
    *,
    defense: dict[str, Any],
    recipe: dict[str, Any] | None = None,
    times: int = 1,
    trace: int = 0,
) -> Configuration:
    """What `then` describes."""
    for _ in range(times):
        again = _changed_recipe(experiment.recipe, recipe or {})
        experiment = experiment.then(parse_defense(defense), again, trace=trace)
    return experiment


def _changed_recipe(start: Recipe, settings: dict[str, Any]) -> Recipe:
    """The recipe with what is said here changed; `rates` become steps."""
    changes = dict(settings)
    rates = changes.pop("rates", None)
    recipe = made(Recipe, vars(start) | changes, "recipe")
    if rates is None:
        return recipe
    return replace(
        recipe,
        schedule="steps",
        milestones=tuple(epoch / recipe.epochs for epoch, _ in rates),
        factors=tuple(rate / recipe.lr for _, rate in rates),
    )


PROFILES = {name: _read(name) for name in NAMES}
