"""The settings of every experiment at each profile, as the TOML files here have them. A profile is only numbers.

>>> load("quick").images.recipe.epochs
14

An experiment has the settings of a `Configuration` that differ from the defaults, or from those of the experiment that
it is `like`. `then` trains on, so many `times`, with a defense and what differs in the recipe. A recipe's `rates` are
the epochs from which a learning rate holds."""

import tomllib
from dataclasses import dataclass, replace
from importlib import resources

from mialib.configurations import Configuration
from mialib.defenses import named
from mialib.errors import check_choice
from mialib.training import Recipe


@dataclass(frozen=True)
class Profile:
    """Named experiments, each the configuration of its target; the shadow is `.but(side="shadow")`."""

    name: str
    images: Configuration  # the course's image classifier
    baskets: Configuration  # the course's classifier of shopping baskets
    experiments: dict[str, Configuration]  # these two, and more


def _read(name: str) -> Profile:
    written = tomllib.loads(
        resources.files(__name__).joinpath(f"{name}.toml").read_text(encoding="utf-8")
    )
    experiments = {title: _experiment(title, written) for title in written}
    return Profile(name, experiments["images"], experiments["baskets"], experiments)


def _experiment(title: str, written: dict[str, dict]) -> Configuration:
    settings = dict(written[title])
    like, then = settings.pop("like", None), settings.pop("then", {})
    start = _experiment(like, written) if like else Configuration()
    recipe = _recipe(start.recipe, settings.pop("recipe", {}))
    defense = named(**settings.pop("defense")) if "defense" in settings else start.defense
    found = start.but(recipe=recipe, defense=defense, **settings)
    for _ in range(then.get("times", 1 if then else 0)):
        again = _recipe(found.recipe, then.get("recipe", {}))
        found = found.then(named(**then["defense"]), again, trace=then.get("trace", 0))
    return found


def _recipe(start: Recipe, settings: dict) -> Recipe:
    changed = replace(start, **{name: value for name, value in settings.items() if name != "rates"})
    if "rates" not in settings:
        return changed
    epochs, rates = zip(*settings["rates"], strict=True)
    shares, factors = (at / changed.epochs for at in epochs), (rate / changed.lr for rate in rates)
    return replace(changed, schedule="steps", milestones=tuple(shares), factors=tuple(factors))


PROFILES = {name: _read(name) for name in ("quick", "cpu", "class", "paper")}


def load(name: str) -> Profile:
    """The profile called `name`."""
    return PROFILES[check_choice("profile", name, PROFILES)]
