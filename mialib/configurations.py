"""Everything that decides a run, as one frozen value with a readable name and a key.

>>> tiny = Configuration(data="digits", model="mlp", recipe=Recipe(epochs=1))
>>> tiny.but(side="shadow", seed=1).name
'digits-mlp-side=shadow-recipe.epochs=1-seed=1'

`then` goes on from what a run ended with: PAST tunes a trained model, plain or defended."""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace

import numpy as np

from mialib import data, models, splits
from mialib.defenses import Plain, named
from mialib.errors import check_choice
from mialib.training import Recipe, pick_device

CODE_VERSION = 1  # Raise it when the same configuration would give other numbers; a test notices.


@dataclass(frozen=True)
class Stage:
    """One training of a model that is trained further afterwards."""

    recipe: Recipe
    defense: Plain
    trace: int


@dataclass(frozen=True)
class Configuration:
    """Everything that decides a run."""

    data: str = "letters"
    size: int | None = None
    data_seed: int = 0
    split: str = "six_parts"
    split_seed: int = 0
    split_options: dict = field(
        default_factory=dict
    )  # what the scheme takes beside a validation share
    validation: float = 0.0
    side: str = "target"
    model: str = "resnet20"
    options: dict = field(default_factory=dict)
    recipe: Recipe = Recipe()
    defense: Plain = Plain()
    seed: int = 0
    trace: int = 0  # keep every record's loss after every so many epochs and the last; 0 keeps none
    device: str = "cpu"
    threads: int = 1
    before: tuple[Stage, ...] = ()  # the trainings that this one goes on from

    def but(self, **changes) -> Configuration:
        """The same configuration with some settings changed."""
        for name in changes:
            check_choice("setting", name, vars(self))
        return replace(self, **changes)

    def then(self, defense: Plain, recipe: Recipe, *, trace: int = 0) -> Configuration:
        """Train on from the weights that this configuration ends with; a change of side or seed changes both."""
        before = (*self.before, Stage(self.recipe, self.defense, self.trace))
        return self.but(defense=defense, recipe=recipe, trace=trace, before=before)

    @property
    def start(self) -> Configuration | None:
        """The configuration whose final weights this one starts from; None starts from fresh ones."""
        if not self.before:
            return None
        *before, last = self.before
        return self.but(
            recipe=last.recipe, defense=last.defense, trace=last.trace, before=tuple(before)
        )

    @property
    def name(self) -> str:
        """Readable: the dataset, the model, and what differs from the defaults."""
        usual = list(_flat(describe(Configuration(data=self.data, model=self.model))))
        described = describe(self)
        if stages := described.pop("before", ()):
            described["after"] = "+".join(stage["defense"]["name"] for stage in stages)
        settings = [
            f"{name}={value}" for name, value in _flat(described) if (name, value) not in usual
        ]
        return "-".join([data.short_name(self.data), self.model, *settings])

    @property
    def key(self) -> str:
        """The name of this run's folder: readable, and a hash of all that decides what is in it."""
        resolved = self.but(device=pick_device(self.device).type)
        content = [describe(resolved), self.records().fingerprint, CODE_VERSION]
        digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        safe = "".join(c if c.isalnum() or c in "-=." else "_" for c in resolved.name)
        return f"{safe[:80]}-{digest[:16]}"

    def records(self) -> data.Records:
        return data.load(self.data, size=self.size, seed=self.data_seed)

    def side_records(self) -> splits.Side:
        options = {"validation": self.validation, **self.split_options}
        sides = splits.split(self.split, self.records(), seed=self.split_seed, **options)
        return sides[check_choice("side", self.side, sides)]

    def seed_for(self, purpose: str) -> int:
        """A seed that depends on the side and stage: target and shadow start from different weights."""
        purpose += f" {len(self.before)}" if self.before else ""
        return zlib.crc32(f"{self.seed} {self.side} {purpose}".encode())

    def build_model(self) -> models.Network:
        records, seed = self.records(), self.but(before=()).seed_for("init")
        return models.build(
            self.model,
            shape=records.x.shape[1:],
            classes=records.classes,
            seed=seed,
            **self.options,
        )


def describe(configuration: Configuration) -> dict:
    """The configuration as plain JSON types; a defense carries its name, data of one's own only its last name."""
    described = asdict(configuration)
    described["data"] = os.path.basename(os.path.abspath(configuration.data))
    for stage, written in zip(
        (configuration, *configuration.before), (described, *described["before"]), strict=True
    ):
        written["defense"] = {"name": type(stage.defense).__name__, **written["defense"]}
    if not configuration.before:
        del described["before"]
    try:  # Loops over arrays give NumPy's numbers.
        return json.loads(json.dumps(described, default=np.generic.item))
    except TypeError as error:
        expected = "A setting must be a number, a text, or a tuple or dictionary of them"
        raise TypeError(f"{expected}; found {configuration}.") from error


def parse(described: dict) -> Configuration:
    """The configuration that `describe` wrote down."""
    settings = _with_tuples(described)
    before = tuple(Stage(**_parsed(stage)) for stage in settings.pop("before", ()))
    return Configuration(**_parsed(settings), before=before)


def _parsed(stage: dict) -> dict:
    return stage | {"recipe": Recipe(**stage["recipe"]), "defense": named(**stage["defense"])}


def _with_tuples(value: object) -> object:
    """JSON has lists where settings have tuples."""
    if isinstance(value, dict):
        return {name: _with_tuples(inner) for name, inner in value.items()}
    return tuple(map(_with_tuples, value)) if isinstance(value, list) else value


def _flat(settings: dict, prefix: str = "") -> Iterator[tuple[str, object]]:
    """Every setting with its value; those of the recipe and the like by dotted names."""
    for name, value in settings.items():
        yield from (
            _flat(value, f"{prefix}{name}.")
            if isinstance(value, dict)
            else [(prefix + name, value)]
        )
