"""Configuration → run, made once and kept.

>>> tiny = Configuration(data="digits", model="mlp", recipe=Recipe(epochs=1))
>>> tiny.but(side="shadow", seed=1).name
'digits-mlp-side=shadow-recipe.epochs=1-seed=1'

`get(tiny)` trains, or reads what was trained before; `get_all` does several side by side. A run's folder holds
config.json, weights.safetensors, signals.npz, trace.npz (if asked for), metrics.json and provenance.json.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import time
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import safetensors.torch
import torch
from joblib import Parallel, delayed
from tqdm.auto import tqdm

from mialib import __version__, data, models, splits
from mialib.defenses import DEFENSES, Plain
from mialib.errors import known
from mialib.signals import Signals, collect, loss_gap, predict
from mialib.store import Store, home, read_json, write_json
from mialib.training import Recipe, fit, pick_device

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
        usual = list(_flat(describe(Configuration(data=self.data, model=self.model))))
        settings = [f"{name}={value}" for name, value in _flat(describe(self)) if (name, value) not in usual]
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
        return sides[known("side", self.side, sides)]

    def seed_for(self, purpose: str) -> int:
        """A seed that depends on the side, so that target and shadow start from different weights."""
        return zlib.crc32(f"{self.seed} {self.side} {purpose}".encode())

    def build_model(self) -> models.Network:
        shape, classes = self.records().x.shape[1:], self.records().classes
        return models.build(self.model, shape=shape, classes=classes, seed=self.seed_for("init"), **self.options)


def describe(configuration: Configuration) -> dict:
    """The configuration as plain JSON types; a defense carries its name, data of one's own only its last name."""
    described = asdict(configuration)
    described["data"] = os.path.basename(os.path.abspath(configuration.data))
    described["defense"] = {"name": type(configuration.defense).__name__, **described["defense"]}
    try:  # Loops over arrays give NumPy's numbers.
        return json.loads(json.dumps(described, default=np.generic.item))
    except TypeError as error:
        expected = "A setting must be a number, a text, or a tuple or dictionary of them"
        raise TypeError(f"{expected}; found {configuration}.") from error


def parse(described: dict) -> Configuration:
    """The configuration that `describe` wrote down."""
    settings = _with_tuples(described)
    defense, recipe = settings.pop("defense"), settings.pop("recipe")
    make = DEFENSES[known("defense", defense.pop("name"), DEFENSES)]
    return Configuration(**settings, recipe=Recipe(**recipe), defense=make(**defense))


def _with_tuples(value: object) -> object:
    """JSON has lists where settings have tuples."""
    if isinstance(value, dict):
        return {name: _with_tuples(inner) for name, inner in value.items()}
    return tuple(map(_with_tuples, value)) if isinstance(value, list) else value


def _flat(settings: dict, prefix: str = "") -> Iterator[tuple[str, object]]:
    """Every setting with its value; those of the recipe and the like by dotted names."""
    for name, value in settings.items():
        yield from _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else [(prefix + name, value)]


@dataclass(frozen=True)
class Run:
    """A finished run: its configuration and its folder. What it holds is read when asked for."""

    configuration: Configuration
    folder: Path

    @cached_property
    def signals(self) -> Signals:
        """Members (train) and non-members (test) of this model."""
        return Signals.read(self.folder / "signals.npz")

    @cached_property
    def metrics(self) -> dict:
        return read_json(self.folder / "metrics.json")

    @property
    def history(self) -> list[dict]:
        return self.metrics["history"]

    @property
    def traced(self) -> list[dict]:
        """The epochs of the history that were looked at: loss gap, accuracy on train and test."""
        return [epoch for epoch in self.history if "loss_gap" in epoch]

    @cached_property
    def losses_by_epoch(self) -> np.ndarray:
        """(traced epochs, n): each record's loss, in the order of `signals`; the epochs are in `traced`."""
        if not self.configuration.trace:
            raise ValueError("This run kept no trace. Ask for it with configuration.but(trace=1).")
        with np.load(self.folder / "trace.npz", allow_pickle=False) as file:
            return file["losses"]

    @cached_property
    def side(self) -> splits.Side:
        return self.configuration.side_records()

    def load_model(self) -> models.Network:
        """The trained network, in eval mode."""
        model = self.configuration.build_model()
        safetensors.torch.load_model(model, str(self.folder / "weights.safetensors"))
        return model.eval()


def get(configuration: Configuration, *, store: Store | None = None) -> Run:
    """The run of this configuration, from the store or trained now."""
    store = store or Store(home() / "runs")
    return Run(configuration, store.get(configuration.key, lambda folder: train(configuration, folder)))


def get_all(configurations: list[Configuration], *, store: Store | None = None, jobs: int | None = None) -> list[Run]:
    """Several runs, the missing ones side by side in `jobs` processes: one a core unless told, or 1 with a GPU."""
    store = store or Store(home() / "runs")
    missing = [c for c in configurations if store.find(c.key) is None]
    if len(missing) > 1:
        on_cpu = all(pick_device(c.device).type == "cpu" for c in missing)
        workers = Parallel(n_jobs=jobs or (-1 if on_cpu else 1), return_as="generator_unordered")
        work = workers(delayed(get)(configuration, store=store) for configuration in missing)
        list(tqdm(work, "runs", total=len(missing), delay=2, leave=False, unit="run"))
    return [get(configuration, store=store) for configuration in configurations]


def train(configuration: Configuration, folder: Path) -> None:
    """Do the run and write its files into `folder`."""
    started, threads = time.perf_counter(), torch.get_num_threads()
    torch.set_num_threads(configuration.threads)
    try:
        side, model = configuration.side_records(), configuration.build_model()
        history, seen = _fit(configuration, model, side)
        accuracy = {part: history[-1][f"{part}_accuracy"] for part in ("train", "test")}
        for name, part in side.parts().items():
            if name not in accuracy:
                accuracy[name] = float((predict(model, part).argmax(axis=1) == part.y).mean())
    finally:
        torch.set_num_threads(threads)
    safetensors.torch.save_model(model, str(folder / "weights.safetensors"))
    seen[-1].save(folder / "signals.npz")
    if configuration.trace:
        np.savez(folder / "trace.npz", losses=np.stack([signals.loss() for signals in seen]).astype(np.float32))
    metrics = {"accuracy": accuracy, "loss_gap": history[-1]["loss_gap"], "history": history}
    write_json(folder / "metrics.json", metrics)
    write_json(folder / "config.json", describe(configuration))
    write_json(folder / "provenance.json", _provenance(configuration, started))


def _fit(configuration: Configuration, model: models.Network, side: splits.Side) -> tuple[list[dict], list[Signals]]:
    """Train; return the history, and the signals after each traced epoch and the last."""
    seen, last = [], configuration.recipe.epochs

    def look(model: torch.nn.Module, epoch: int) -> dict:
        if epoch < last and epoch % (configuration.trace or last):
            return {}
        seen.append(signals := collect(model, side))
        right = {"train": signals.members().correct(), "test": signals.non_members().correct()}
        accuracies = {f"{part}_accuracy": float(correct.mean()) for part, correct in right.items()}
        return accuracies | {"loss_gap": loss_gap(signals)}

    parts = {"reference": side.inference, "validation": side.validation}
    settings = {"defense": configuration.defense, "seed": configuration.seed_for("fit"), "device": configuration.device}
    return fit(model, side.train, configuration.recipe, **settings, **parts, on_epoch=look), seen


def _provenance(configuration: Configuration, started: float) -> dict:
    versions = {"mialib": __version__, "code_version": CODE_VERSION, "python": platform.python_version()}
    versions |= {"torch": torch.__version__, "numpy": np.__version__}
    records = {"name": data.short_name(configuration.data), "fingerprint": configuration.records().fingerprint}
    where = {"records": records, "device": pick_device(configuration.device).type, "threads": configuration.threads}
    seconds, finished = round(time.perf_counter() - started, 2), time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return versions | where | {"seconds": seconds, "finished": finished}
