"""Everything that decides a run, as one frozen value with a readable name and a key.

>>> tiny = Configuration(data="digits", model="mlp", recipe=Recipe(epochs=1))
>>> tiny.but(side="shadow", seed=1).name
'digits-mlp-side=shadow-recipe.epochs=1-seed=1'

Three ways lead from one configuration to another:

    tiny.but(seed=1)                    # the same with some settings changed
    tiny.defended(Past(lam=1e-3))       # the same, defended: one way to write it for every defense
    tiny.then(L1(), Recipe(epochs=5))   # what `defended` is made of: train on from its weights

**One training after another.** PAST tunes a network that is trained already, and pruning trains one
again and again. Such a configuration describes its *last* training (`recipe`, `defense`, `trace`),
and keeps the trainings before it, the first one first, as a tuple of `Stage`s in `before`. `start`
is the configuration without the last training: the one whose final weights this one starts from.
All else (data, side, network, seed) is common to all of them, so `but(side="shadow")` changes the
whole chain.

    tuned = tiny.then(Past(), recipe)
    tuned.before == (Stage(tiny.recipe, tiny.defense, tiny.trace),)
    tuned.start == tiny
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from mialib import data, models, splits
from mialib.compiled import compiles_on
from mialib.defenses import DEFENSES, IMP, Defense, Plain
from mialib.errors import check_choice, check_range, plain_number, plain_tuple
from mialib.origins import UntraceableError, code_hash, is_of_mialib, origin
from mialib.precision import resolve
from mialib.query import pick_device
from mialib.training import Recipe

# Raise it when the same configuration would give other numbers; a test notices. 2: defenses have
# their papers' symbols as settings, and the key tells code of one's own by its source.
CODE_VERSION = 2
MOST_THREADS = 1024


@dataclass(frozen=True)
class Stage:
    """One training of a network that is trained further afterwards."""

    recipe: Recipe
    defense: Defense
    trace: int = 0

    def __post_init__(self):
        _set_plain(self, "trace")
        _check_training(self.recipe, self.defense, self.trace)


@dataclass(frozen=True)
class Configuration:
    """Everything that decides a run.

    data           the dataset's name or path, as `mialib.data.load` takes it
    size           how many of its records; None takes all
    data_seed      which of them, or which are generated
    split          the scheme that deals them to target and shadow (see `mialib.splits`)
    split_seed     how they are dealt
    split_options  what the scheme takes beside a validation share, such as {"shadows": 5}
    validation     the share of every training part that is set aside
    side           whose model this is: "target", "shadow", "model-3", …
    model          the network's name (see `mialib.models`)
    options        the network's options
    recipe         how the network is trained, the last time
    defense        what defends it in that training
    seed           decides the first weights and the order of the batches
    trace          keep every record's loss after every so many epochs and the last; 0 keeps none
    device         "cpu", "cuda", "mps", or "auto" for an accelerator if there is one
    threads        of the CPU; another number gives other roundings
    before         the trainings before the last one, the first one first
    """

    data: str = "letters"
    size: int | None = None
    data_seed: int = 0
    split: str = "six_parts"
    split_seed: int = 0
    split_options: dict[str, Any] = field(default_factory=dict)
    validation: float = 0.0
    side: str = "target"
    model: str = "resnet20"
    options: dict[str, Any] = field(default_factory=dict)
    recipe: Recipe = Recipe()
    defense: Defense = Plain()
    seed: int = 0
    trace: int = 0
    device: str = "cpu"
    threads: int = 1
    before: tuple[Stage, ...] = ()

    def __post_init__(self):
        if isinstance(self.data, Path):
            object.__setattr__(self, "data", str(self.data))
        _set_plain(
            self, "size", "data_seed", "split_seed", "validation", "seed", "trace", "threads"
        )
        _set_plain(self, "split_options", "options", "before")
        _check_texts(self)
        _check_numbers(self)
        _check_training(self.recipe, self.defense, self.trace)
        if not isinstance(self.before, tuple) or not all(isinstance(s, Stage) for s in self.before):
            raise TypeError(f"before must be a tuple of Stages, found {self.before!r}.")

    def __hash__(self) -> int:
        return hash((self.data, self.model, self.side, self.seed, self.recipe, self.defense))

    # Other configurations.

    def but(self, **changes) -> Configuration:
        """The same configuration with some settings changed."""
        for name in changes:
            check_choice("setting", name, vars(self))
        return replace(self, **changes)

    def then(self, defense: Defense, recipe: Recipe, *, trace: int = 0) -> Configuration:
        """Train on from the weights that this configuration ends with.

        A change of side or seed changes both trainings.
        """
        last = Stage(self.recipe, self.defense, self.trace)
        return self.but(defense=defense, recipe=recipe, trace=trace, before=(*self.before, last))

    def defended(self, defense: Defense, recipe: Recipe | None = None) -> Configuration:
        """This configuration, defended by that; the same call for every defense.

        What a defense changes it declares: options of the network (`network_options`), and the
        trainings that it is made of (`trainings`). L1 replaces the training; PAST follows it; IMP
        follows it many times; a butterfly changes the network alone.

        `recipe` is that of the defense's own trainings, which have the configuration's unless told:
        those that follow the first one, or the only one. What is traced stays as it is.
        """
        if not isinstance(defense, Defense):
            raise TypeError(f"A defense must be a Defense such as Plain(), found {defense!r}.")
        if recipe is not None and not isinstance(recipe, Recipe):
            raise TypeError(f"recipe must be a Recipe or None, found {type(recipe).__name__}.")
        first, *later = defense.trainings()
        changed = self.but(options=self.options | self._network_options(defense))
        if first is not None:
            self._check_replaceable(first)
            changed = changed.but(defense=first)
        if recipe is not None and not later:
            changed = changed.but(recipe=recipe)
        for training in later:
            again = self.defense if training is None else training
            changed = changed.then(again, recipe or self.recipe, trace=self.trace)
        return changed

    def _network_options(self, defense: Defense) -> dict[str, Any]:
        """What the defense wants of the network."""
        wanted = defense.network_options()
        known = getattr(models.MODELS.get(self.model), "__kwdefaults__", None)
        if known is None:
            return wanted
        norm = self.options.get("norm", known.get("norm", "none"))
        if norm == "none":
            # A network without normalization mixes no records of a batch.
            wanted = {name: value for name, value in wanted.items() if name != "norm"}
        return wanted

    def _check_replaceable(self, first: Defense) -> None:
        """A training has one defense: refuse to drop one without a word."""
        if self.defense not in (Plain(), first):
            raise ValueError(
                f"{first} would take the place of {self.defense}. Start from a configuration that "
                "is not defended, go on from its weights by then(defense, recipe), or, to prune "
                "without choosing the best epoch, use best=False."
            )

    @property
    def start(self) -> Configuration | None:
        """The configuration whose final weights this one starts from, or None for fresh ones."""
        if not self.before:
            return None
        *before, last = self.before
        return self.but(
            recipe=last.recipe, defense=last.defense, trace=last.trace, before=tuple(before)
        )

    @property
    def chain(self) -> tuple[Configuration, ...]:
        """A configuration for each training, the first one first; the last one is this."""
        start = self.start
        return (self,) if start is None else (*start.chain, self)

    # What it is called.

    @property
    def name(self) -> str:
        """Readable: the dataset, the model, and what differs from the defaults."""
        usual = dict(_flat(describe(Configuration(data=self.data, model=self.model))))
        described = describe(self)
        stages = described.pop("before", ())
        if stages:
            described["after"] = "+".join(stage["defense"]["name"] for stage in stages)
        differing = [
            f"{name}={value}"
            for name, value in _flat(described)
            if name not in usual or usual[name] != value
        ]
        settings = [setting for setting in differing if not setting.startswith("defense.from=")]
        return "-".join([data.short_name(self.data), self.model, *settings])

    @property
    def key(self) -> str:
        """The name of this run's folder: readable, and a hash of all that decides what is in it.

        To hash the records it loads them, and downloads them if they were never loaded: the first
        call may take a while, and needs a connection. A configuration with code of one's own that
        cannot be traced (see `untraceable`) has another key each time it is asked.
        """
        resolved = _resolved(self)
        content = [describe(resolved), self.records().fingerprint, CODE_VERSION]
        own = own_code(self)
        if own:
            # What cannot be traced is never taken for what it was.
            content.append({place: code or os.urandom(8).hex() for place, code in own.items()})
        digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        safe = "".join(c if c.isalnum() or c in "-=." else "_" for c in resolved.name)
        return f"{safe[:80]}-{digest[:16]}"

    def untraceable(self) -> str | None:
        """Why there is no telling whether the code is the same as before; None if there is."""
        for thing in _code_of(self):
            try:
                code_hash(thing)
            except UntraceableError as error:
                return f"{origin(thing)} cannot be compared with what it was: {error}"
        return None

    # What it stands for.

    def records(self) -> data.Records:
        """The whole dataset, target's and shadow's."""
        return data.load(self.data, size=self.size, seed=self.data_seed)

    def side_records(self) -> splits.Side:
        """Members, non-members and the other parts of this side."""
        options = {"validation": self.validation, **self.split_options}
        sides = splits.split(self.split, self.records(), seed=self.split_seed, **options)
        return sides[self.side]

    def seed_for(self, purpose: str) -> int:
        """A seed that depends on side and stage: target and shadow start from different weights."""
        if self.before:
            purpose = f"{purpose} {len(self.before)}"
        return zlib.crc32(f"{self.seed} {self.side} {purpose}".encode())

    def build_model(self) -> models.Network:
        """The network with its first weights, from before the first training."""
        records = self.records()
        return models.build(
            self.model,
            shape=records.x.shape[1:],
            classes=records.classes,
            seed=self.but(before=()).seed_for("init"),
            **self.options,
        )


def imp(dense: Configuration, prunings: int, **options) -> list[Configuration]:
    """The dense training, and what follows each of so many prunings.

    The options are those of `Pruning`. The last one is `dense.defended(IMP(prunings, …))`.
    """
    for option in options:
        check_choice("option of imp", option, ("share", "rewind", "best"))
    pruning = IMP(prunings=prunings, **options)
    if not isinstance(dense, Configuration):
        raise TypeError(f"What is pruned must be a Configuration, found {dense!r}.")
    return list(dense.defended(pruning).chain[-1 - pruning.prunings :])


def _resolved(configuration: Configuration) -> Configuration:
    """The configuration as it is computed here: no "auto" left, nor what changes nothing."""
    device = _device_type(configuration.device)

    def here(recipe: Recipe) -> Recipe:
        recipe = replace(recipe, compiled=recipe.compiled and compiles_on(device))
        if recipe.precision != "auto":
            return recipe
        return replace(recipe, precision=resolve("auto", pick_device(device)))

    stages = [replace(stage, recipe=here(stage.recipe)) for stage in configuration.before]
    return configuration.but(device=device, recipe=here(configuration.recipe), before=tuple(stages))


def _device_type(device: str) -> str:
    """The kind of device, which need not be here: a run may have been trained elsewhere."""
    if device == "auto":
        return pick_device(device).type
    return device.partition(":")[0]  # "cuda:1" and "cuda" compute alike


# Code of one's own.


def own_code(configuration: Configuration) -> dict[str, str | None]:
    """A hash of each class and function that is not mialib's, by where it comes from.

    What cannot be traced has none.
    """
    if not isinstance(configuration, Configuration):
        raise TypeError(f"Expected a Configuration, found {type(configuration).__name__}.")
    hashes: dict[str, str | None] = {}
    for thing in _code_of(configuration):
        try:
            hashes[origin(thing)] = code_hash(thing)
        except UntraceableError:
            hashes[origin(thing)] = None
    return hashes


def _code_of(configuration: Configuration) -> Iterator[Any]:
    """The defenses and the network function that are not mialib's; data are told by content."""
    for stage in (*configuration.before, configuration):
        if not is_of_mialib(type(stage.defense)):
            yield type(stage.defense)
    # One of mialib's functions may be registered too, under another name or with settings of its
    # own, as partial(mlp, widths=(8,)) is.
    make = models.MODELS.get(configuration.model)
    if make is not None and make is not models.BUILT_IN.get(configuration.model):
        yield make


# As plain JSON.


def describe(configuration: Configuration) -> dict:
    """The configuration as plain JSON types.

    A defense carries its name, and where it comes `from` unless it is mialib's; data of one's own
    carry only the last part of their path.
    """
    if not isinstance(configuration, Configuration):
        raise TypeError(f"Only a Configuration can be described, found {configuration!r}.")
    try:
        return json.loads(json.dumps(_described(configuration), default=np.generic.item))
    except TypeError as error:
        raise TypeError(
            "A setting must be a number, a text, or a tuple or dictionary of them; "
            f"found {configuration}."
        ) from error


def _described(configuration: Configuration) -> dict:
    described = asdict(configuration)
    described["data"] = os.path.basename(os.path.abspath(configuration.data))
    described["recipe"] = _described_recipe(configuration.recipe)
    described["defense"] = _described_defense(configuration.defense)
    described["before"] = [
        {
            "recipe": _described_recipe(stage.recipe),
            "defense": _described_defense(stage.defense),
            "trace": stage.trace,
        }
        for stage in configuration.before
    ]
    if not configuration.before:
        del described["before"]
    return described


def _described_recipe(recipe: Recipe) -> dict:
    """A setting that came later, at its default, is left out: keys stay what they were before."""
    described = asdict(recipe)
    if recipe.precision == "float32":
        del described["precision"]
    if not recipe.compiled:
        del described["compiled"]
    return described


def _described_defense(defense: Defense) -> dict:
    kind = type(defense)
    written = {"name": kind.__name__}
    if not is_of_mialib(kind):
        written["from"] = kind.__module__
    return written | asdict(defense)


def parse(described: dict) -> Configuration:
    """The configuration that `describe` wrote down."""
    if not isinstance(described, dict):
        raise TypeError(f"A description is a dictionary of settings, found {described!r}.")
    settings = _with_tuples(described)
    stages = settings.pop("before", ())
    if not isinstance(stages, tuple):
        raise TypeError(f"The trainings before the last are a list, found {stages!r}.")
    before = tuple(_parsed(Stage, stage, "stage") for stage in stages)
    return replace(_parsed(Configuration, settings, "configuration"), before=before)


def _parsed(kind: type, described: Mapping[str, Any], what: str) -> Any:
    """A Configuration or a Stage; both have a recipe and a defense."""
    settings = dict(_checked_mapping(described, what))
    if "recipe" in settings:
        settings["recipe"] = made(Recipe, settings["recipe"], "recipe")
    if "defense" in settings:
        settings["defense"] = parse_defense(settings["defense"])
    return made(kind, settings, what)


def _checked_mapping(described: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(described, Mapping):
        raise TypeError(f"A {what} is described by a dictionary of settings, found {described!r}.")
    return described


def parse_defense(described: Mapping[str, Any]) -> Defense:
    """The defense that has this name and these settings.

    One of one's own must be in `DEFENSES`, and be the one that was written down.
    """
    settings = dict(described) if isinstance(described, Mapping) else {}
    if "name" not in settings:
        raise ValueError(f"A defense is described by its name and settings, found {described!r}.")
    name = settings.pop("name")
    module = settings.pop("from", None)
    if module is None:
        return made(DEFENSES[check_choice("defense", name, DEFENSES)], settings, name)
    kind = DEFENSES.get(name)
    if kind is None or kind.__module__ != module:
        raise ValueError(
            f"The defense {name!r} of module {module!r} is not known here. "
            f"Import or define it, and register it: DEFENSES[{name!r}] = {name}."
        )
    return made(kind, settings, name)


def made(kind: type, settings: Mapping[str, Any], what: str) -> Any:
    """An object of this dataclass; a setting that it does not have is refused."""
    allowed = [setting.name for setting in fields(kind)]
    for name in _checked_mapping(settings, what):
        check_choice(f"{what} setting", name, allowed)
    for setting in fields(kind):
        has_default = setting.default is not MISSING or setting.default_factory is not MISSING
        if not has_default and setting.name not in settings:
            raise ValueError(f"A {what} needs the setting {setting.name!r}; it is not there.")
    return kind(**settings)


def _with_tuples(value: Any) -> Any:
    """JSON has lists where settings have tuples."""
    if isinstance(value, dict):
        return {name: _with_tuples(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return tuple(_with_tuples(inner) for inner in value)
    return value


def _flat(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every setting with its value; those of the recipe and the like by dotted names."""
    for name, value in settings.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


# What a configuration may hold.


def _set_plain(settings: Any, *names: str) -> None:
    """Turn lists and arrays into tuples and NumPy's numbers into Python's, also in dictionaries."""
    for name in names:
        object.__setattr__(settings, name, _plain(getattr(settings, name)))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    return plain_tuple(plain_number(value))


def _check_texts(configuration: Configuration) -> None:
    for name in ("data", "split", "side", "model", "device"):
        value = getattr(configuration, name)
        if not isinstance(value, str):
            raise TypeError(f"{name} must be a text, found {value!r}.")
    for name in ("split_options", "options"):
        value = getattr(configuration, name)
        if not isinstance(value, dict) or not all(isinstance(option, str) for option in value):
            raise TypeError(f"{name} must be a dictionary of options by name, found {value!r}.")


def _check_numbers(configuration: Configuration) -> None:
    for name in ("data_seed", "split_seed", "seed"):
        check_range(0, inf, whole=True, **{name: getattr(configuration, name)})
    if configuration.size is not None:
        check_range(1, inf, whole=True, size=configuration.size)
    check_range(0, 1, validation=configuration.validation)
    check_range(1, MOST_THREADS, whole=True, threads=configuration.threads)


def _check_training(recipe: object, defense: object, trace: object) -> None:
    if not isinstance(recipe, Recipe):
        raise TypeError(f"recipe must be a Recipe, found {recipe!r}.")
    if not isinstance(defense, Defense):
        raise TypeError(f"defense must be a Defense such as Plain(), found {defense!r}.")
    check_range(0, inf, whole=True, trace=trace)
    _check_settings_are_fields(defense)


def _check_settings_are_fields(defense: Defense) -> None:
    """A setting that is no field would be in no key, and two strengths would be one run."""
    known = [setting.name for setting in fields(defense)]
    kind = type(defense)
    for name in vars(defense):
        if name not in known and not hasattr(kind, name):
            raise TypeError(
                f"{kind.__name__} has a setting {name!r} that is not a field. "
                "Write it as a frozen dataclass: @dataclass(frozen=True)."
            )
    if "name" in known:
        raise TypeError(
            f"{kind.__name__} has a setting called 'name', which is the word for the defense "
            "itself. Call it something else."
        )
