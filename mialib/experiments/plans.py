"""Plans: which configurations, defended how, how strongly, with how many seeds, attacked by what.

    plan = load("past", "quick")
    plan.rows()                         # one for each setting and seed, in order
    plan.rows(seeds=2)                  # fewer seeds, or more

A plan is a TOML file in `mialib/profiles/plans`. It says what it is about, and for each profile
that it can be run at, its settings:

    about = "PAST over α and λ"

    [quick]
    seeds = 5                           # unless a setting says otherwise
    facts = ["weights"]                 # what else is measured: see `mialib.experiments.facts`

    [[quick.settings]]
    experiment = "images"               # of the profile; "images" unless told

    [[quick.settings]]
    defense = { name = "Past", lam = [1e-3, 2e-3], alpha = [0.0, 1.5] }
    recipe = { epochs = 20, lr = 0.05 }

**A list is swept**: the last table stands for four settings. (Where a setting is itself a list, it
is a list in a list.) A table holds

- `experiment`: the profile's experiment that is defended;
- `defense`: its name and its settings, as `Configuration.defended` takes it;
- `recipe`: what differs in the recipe of the defense's own trainings;
- `options`: what differs in the network's options;
- `after`: a defense of the training before, for PAST on top of another;
- `rounds = true`: a row for every round of pruning, not only for the last;
- `watch = true`: a row for every epoch of the last training, and one from before it;
- `seeds`: how many, or which, as a list;
- `called`: what figures and tables call it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from itertools import product
from typing import Any

from mialib import profiles
from mialib.attacks import ATTACKS, SHADOW_SUITE
from mialib.configurations import Configuration, made, parse_defense
from mialib.defenses import IMP
from mialib.errors import check_choice, check_flag, check_range
from mialib.experiments.facts import FACTS, HISTORY
from mialib.foreign import parse_toml
from mialib.training import Defense, Recipe

WORDS = "experiment defense recipe options after rounds watch seeds called".split()
TABLE_WORDS = "defense recipe options after".split()
MOST_SEEDS = 1000
MOST_SETTINGS = 10_000  # that the lists of one table may stand for
SPLIT = "data size data_seed split split_seed split_options validation".split()
PLAN_WORDS = "seeds facts attacks settings".split()


@dataclass(frozen=True)
class PlannedRow:
    """One setting with one seed: the target's configuration, and how results will describe it."""

    configuration: Configuration
    settings: dict[str, Any]
    watch: bool = False

    @property
    def seed(self) -> int:
        return self.configuration.seed

    @property
    def shadows(self) -> list[Configuration]:
        """The same for each model that the attacker trains: one, or CRL's several on halves."""
        if self.configuration.split != "halves":
            return [self.configuration.but(side="shadow")]
        number = self.configuration.split_options.get("shadows", 1)
        return [self.configuration.but(side=f"shadow-{k}") for k in range(number)]


@dataclass(frozen=True)
class Plan:
    """What is to be trained, attacked and measured at one profile."""

    name: str
    profile: str
    about: str
    seeds: tuple[int, ...]
    attacks: tuple[str, ...]
    facts: tuple[str, ...]
    settings: tuple[dict[str, Any], ...]

    def rows(self, *, seeds: int | None = None, data: str | None = None) -> list[PlannedRow]:
        """Every setting with every seed; seed by seed, so that the first ones are soon whole.

        `seeds` takes so many of each setting, and `data` other records than the profile's.
        """
        if seeds is not None:
            check_range(1, MOST_SEEDS, whole=True, seeds=seeds)
        planned: list[PlannedRow] = []
        for one in self.settings:
            chosen = _seeds(one["seeds"]) if "seeds" in one else self.seeds
            if seeds is not None:
                chosen = tuple(range(seeds))
            for setting in _swept(one):
                planned += _planned(setting, self.profile, chosen, data)
        check_one_split(self.name, planned)
        _check_told_apart(self.name, planned)
        planned.sort(key=lambda row: row.seed)  # It keeps the order of the settings.
        return planned


def check_one_split(name: str, planned: Sequence[PlannedRow]) -> None:
    """Refuse rows of different members: what a plan compares, it compares record by record."""
    for setting in SPLIT:
        found = {repr(getattr(row.configuration, setting)) for row in planned}
        if len(found) > 1:
            raise ValueError(
                f"The rows of the plan {name!r} have different members, by {setting}: "
                f"{', '.join(sorted(found))}. A plan compares models of the same records; "
                "make two plans of it."
            )


def _check_told_apart(name: str, planned: Sequence[PlannedRow]) -> None:
    """Refuse two rows with the same words: they would pass for one setting, trained twice."""
    known = set()
    for row in planned:
        words = (repr(row.settings), row.seed)
        if words in known:
            raise ValueError(
                f"The plan {name!r} has two settings with the same words, {row.settings}. "
                "Leave one out, or tell them apart by `called`."
            )
        known.add(words)


def names() -> list[str]:
    """Every plan."""
    files = [path.name for path in _folder().iterdir()]
    return sorted(name.removesuffix(".toml") for name in files if name.endswith(".toml"))


def load(name: str, profile: str) -> Plan:
    """The plan called `name` at this profile."""
    check_choice("plan", name, names())
    return parse(name, profile, _folder().joinpath(f"{name}.toml").read_text(encoding="utf-8"))


def profiles_of(name: str) -> list[str]:
    """The profiles that the plan can be run at."""
    check_choice("plan", name, names())
    tables = parse_toml(_folder().joinpath(f"{name}.toml").read_text(encoding="utf-8"))
    return [profile for profile in profiles.NAMES if profile in tables]


def parse(name: str, profile: str, text: str) -> Plan:
    """The plan that a TOML text describes; whatever it cannot mean is refused before any training.

    A profile without settings of its own says `like = "class"`.
    """
    tables = parse_toml(text)
    check_choice("profile", profile, profiles.NAMES)
    for word in tables:
        check_choice(f"profile of the plan {name!r}", word, ("about", *profiles.NAMES))
    possible = [known for known in profiles.NAMES if known in tables]
    check_choice(f"profile of the plan {name!r}", profile, possible)
    table = _inherited(tables, profile)
    for word in table:
        check_choice(f"word of the plan {name!r}", word, PLAN_WORDS)
    if "about" not in tables or not table.get("settings"):
        raise ValueError(
            f"The plan {name!r} needs `about`, and one [[{profile}.settings]] at least."
        )
    attacks = tuple(table.get("attacks", SHADOW_SUITE))
    for attack in attacks:
        check_choice("attack", attack, ATTACKS)
    facts = tuple(table.get("facts", ()))
    for fact in facts:
        check_choice("fact", fact, [*FACTS, HISTORY])
    plan = Plan(
        name=name,
        profile=profile,
        about=tables["about"],
        seeds=_seeds(table.get("seeds", 5)),
        attacks=attacks,
        facts=facts,
        settings=tuple(table["settings"]),
    )
    plan.rows()  # An unknown defense or a strength out of its range shows here.
    return plan


def _folder():
    return resources.files(profiles).joinpath("plans")


def _inherited(tables: Mapping[str, Any], profile: str) -> dict[str, Any]:
    """The profile's table, after the one that it is `like`."""
    table = dict(tables[profile])
    like = table.pop("like", None)
    if like is None:
        return table
    others = {name: other for name, other in tables.items() if name != profile}
    return _inherited(others, check_choice("profile to be like", like, others)) | table


def _seeds(value: Any) -> tuple[int, ...]:
    """Seeds 0, 1, … up to so many, or those that are listed."""
    if not isinstance(value, list | tuple):
        check_range(1, MOST_SEEDS, whole=True, seeds=value)
        return tuple(range(value))
    check_range(0, 2**31, whole=True, many=True, seeds=value)
    if len(value) == 0 or len(set(value)) < len(value):
        raise ValueError(f"Expected one seed at least, and each of them once, found {value}.")
    return tuple(value)


def _swept(setting: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The settings that a table with lists stands for, in the order of the lists."""
    for word in setting:
        check_choice("word of a setting", word, WORDS)
        if word in TABLE_WORDS and not isinstance(setting[word], Mapping):
            raise ValueError(f"{word} must be a table such as {{ … }}, found {setting[word]!r}.")
    fixed = {word: value for word, value in setting.items() if not isinstance(value, Mapping)}
    tables = {word: value for word, value in setting.items() if isinstance(value, Mapping)}
    _check_few(tables)
    choices = [list(_combinations(table)) for table in tables.values()]
    for chosen in product(*choices):
        yield fixed | dict(zip(tables, chosen, strict=True))


def _check_few(tables: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse lists that stand for more settings than anybody trains: ten lists of ten, say."""
    lists = [value for table in tables.values() for value in table.values()]
    count = math.prod(len(value) for value in lists if isinstance(value, list))
    if count > MOST_SETTINGS:
        raise ValueError(
            f"The lists of one table stand for {count:,} settings, and at most {MOST_SETTINGS:,} "
            "are planned. Shorten some."
        )


def _combinations(table: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    lists = [value if isinstance(value, list) else [value] for value in table.values()]
    for values in product(*lists):
        yield {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in zip(table, values, strict=True)
        }


def _planned(
    setting: Mapping[str, Any], profile: str, seeds: Sequence[int], data: str | None
) -> Iterator[PlannedRow]:
    """The rows of one setting."""
    watch = setting.get("watch", False)
    rounds = setting.get("rounds", False)
    check_flag(watch=watch, rounds=rounds)
    for configuration, described in _configurations(setting, profile, rounds=rounds):
        if data is not None:
            configuration = configuration.but(data=data)
        if "called" in setting:
            described = described | {"called": setting["called"]}
        for seed in seeds:
            yield PlannedRow(configuration.but(seed=seed), described, watch)


def _configurations(
    setting: Mapping[str, Any], profile: str, *, rounds: bool
) -> Iterator[tuple[Configuration, dict[str, Any]]]:
    """The configuration that a setting means, or one for each round of pruning; with its words."""
    experiments = profiles.load(profile).experiments
    experiment = check_choice(
        f"experiment of the profile {profile!r}", setting.get("experiment", "images"), experiments
    )
    base = experiments[experiment].but(trace=0)
    if "options" in setting:
        base = base.but(options=base.options | setting["options"])
    if "after" in setting:
        base = base.defended(parse_defense(setting["after"]))
    defense = parse_defense(setting["defense"]) if "defense" in setting else None
    recipe = _recipe(base.recipe, setting.get("recipe"))
    defended = base if defense is None else base.defended(defense, recipe)
    if defense is None and recipe is not None:
        defended = base.but(recipe=recipe)
    words = {"experiment": experiment, **dict(setting.get("options", {}))}
    if "after" in setting:
        words["after"] = setting["after"]["name"]
    if not rounds:
        yield defended, words | _described(defended, defense)
        return
    if not isinstance(defense, IMP):
        raise ValueError(f"rounds = true is for IMP, which prunes by rounds; found {defense}.")
    by_round = defended.chain[-1 - defense.prunings :]
    for number, configuration in enumerate(by_round):
        yield configuration, words | _described(configuration, defense) | {"round": number}


def _recipe(base: Recipe, changes: Mapping[str, Any] | None) -> Recipe | None:
    if changes is None:
        return None
    return made(Recipe, vars(base) | dict(changes), "recipe")


def _described(configuration: Configuration, defense: Defense | None) -> dict[str, Any]:
    """The words by which results are looked up: the defense, its settings, and the last recipe."""
    shown = configuration.defense if defense is None else defense
    recipe = configuration.recipe
    return {
        "defense": type(shown).__name__,
        **asdict(shown),
        "epochs": recipe.epochs,
        "lr": recipe.lr,
        "precision": recipe.precision,
        "tuned": bool(configuration.before),
    }
