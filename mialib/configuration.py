"""Everything that decides a run, its readable name and its key.

>>> tiny = Configuration(data="digits", model="mlp", recipe=Recipe(epochs=1))
>>> tiny.but(side="shadow", seed=1).name
'digits-mlp-side=shadow-recipe.epochs=1-seed=1'

The key hashes the whole configuration, the records' fingerprint and `CODE_VERSION`.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace

import numpy as np

from mialib import data, models, splits
from mialib.defenses import DEFENSES, Plain
from mialib.errors import known
from mialib.splits import Side
from mialib.training import Recipe, pick_device

CODE_VERSION = 1  # Raise it when the same configuration would give other numbers; a test notices.


@dataclass(frozen=True)
class Configuration:
    """Everything that decides a run."""

    data: str = "letters"
    size: int | None = None
    data_seed: int = 0
    split: str = "six_parts"
    split_seed: int = 0
    split_options: dict = field(default_factory=dict)  # what the scheme takes beside a validation share
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

    def but(self, **changes) -> Configuration:
        """The same configuration with some settings changed."""
        for name in changes:
            known("setting", name, vars(self))
        return replace(self, **changes)

    @property
    def name(self) -> str:
        """Readable: the dataset, the model, and what differs from the defaults."""
        usual = dict(_flat(describe(Configuration())))
        differing = {name: value for name, value in _flat(describe(self)) if (name, value) not in usual.items()}
        settings = [f"{name}={value}" for name, value in differing.items() if name not in ("data", "model")]
        return "-".join([data.short_name(self.data), self.model, *settings])

    @property
    def key(self) -> str:
        """The name of this run's folder."""
        resolved = self.but(device=pick_device(self.device).type)
        content = [describe(resolved), self.records().fingerprint, CODE_VERSION]
        digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        safe = "".join(c if c.isalnum() or c in "-=." else "_" for c in resolved.name)
        return f"{safe[:80]}-{digest[:16]}"

    def records(self) -> data.Records:
        return data.load(self.data, size=self.size, seed=self.data_seed)

    def side_records(self) -> Side:
        """This side's parts."""
        options = {"validation": self.validation, **self.split_options}
        sides = splits.split(self.split, self.records(), seed=self.split_seed, **options)
        return sides[known("side", self.side, sides)]

    def build_model(self) -> models.Network:
        """A fresh network; its seed depends on the side, so target and shadow start from different weights."""
        records = self.records()
        about = {"shape": records.x.shape[1:], "classes": records.classes}
        return models.build(self.model, **about, seed=self._seed("init"), **self.options)

    def _seed(self, purpose: str) -> int:
        return zlib.crc32(f"{self.seed} {self.side} {purpose}".encode())


def describe(configuration: Configuration) -> dict:
    """The configuration as plain JSON types; a defense carries its name, data of one's own only its last name."""
    described = asdict(configuration)
    described["data"] = os.path.basename(os.path.abspath(configuration.data))
    described["defense"] = {"name": type(configuration.defense).__name__, **described["defense"]}
    return json.loads(json.dumps(described, default=_plain))


def parse(described: dict) -> Configuration:
    """The configuration that `describe` wrote down."""
    settings = _with_tuples(described)
    defense, recipe = settings.pop("defense"), settings.pop("recipe")
    make = DEFENSES[known("defense", defense.pop("name"), DEFENSES)]
    return Configuration(**settings, recipe=Recipe(**recipe), defense=make(**defense))


def _plain(value: object) -> int | float | bool:
    """NumPy's numbers, which come from loops over arrays, as Python's."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"A setting must be a number, a text, or a tuple or dictionary of them; found {value!r}.")


def _with_tuples(value: object) -> object:
    """JSON has lists where settings have tuples."""
    if isinstance(value, dict):
        return {name: _with_tuples(inner) for name, inner in value.items()}
    return tuple(map(_with_tuples, value)) if isinstance(value, list) else value


def _flat(settings: dict, prefix: str = "") -> Iterator[tuple[str, object]]:
    """Every setting with its value; those of the recipe and the like by dotted names."""
    for name, value in settings.items():
        yield from _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else [(prefix + name, value)]
