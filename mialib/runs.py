"""Configuration → run, made once and kept.

>>> tiny = Configuration(data="digits", model="mlp", recipe=Recipe(epochs=1))
>>> tiny.but(side="shadow", seed=1).name
'digits-mlp-side=shadow-recipe.epochs=1-seed=1'

`get(configuration)` trains, or reads what was trained before; `get_all` does several side by side. A run's
folder holds config.json, weights.safetensors, signals.npz, trace.npz (if asked for), metrics.json and
provenance.json. Its key hashes the whole configuration, the records' fingerprint and `CODE_VERSION`.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import platform
import time
import zlib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import torch

from mialib import data, models, paths, splits
from mialib.defenses import DEFENSES, Plain
from mialib.errors import nearest
from mialib.signals import Signals, collect, loss_gap, predict
from mialib.splits import Side
from mialib.store import Store, read_json, write_json
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
    trace: int = 0  # keep every record's loss after every so many epochs; 0 keeps none
    device: str = "cpu"
    threads: int = 1

    def but(self, **changes) -> Configuration:
        """The same configuration with some settings changed."""
        known = [f.name for f in dataclasses.fields(self)]
        for name in changes:
            if name not in known:
                raise ValueError(nearest("setting", name, known))
        return dataclasses.replace(self, **changes)

    @property
    def name(self) -> str:
        """Readable: the dataset, the model, and what differs from the defaults."""
        differing = _differences(describe(self), describe(Configuration()))
        differing = {k: v for k, v in differing.items() if k not in ("data", "model")}
        return "-".join([data.short_name(self.data), self.model, *(f"{k}={v}" for k, v in differing.items())])

    @property
    def key(self) -> str:
        """The name of this run's folder."""
        resolved = {**describe(self), "device": pick_device(self.device).type}
        content = [resolved, self.records().fingerprint, CODE_VERSION]
        digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        safe = "".join(c if c.isalnum() or c in "-=." else "_" for c in self.name)
        return f"{safe[:80]}-{digest[:16]}"

    def records(self) -> data.Records:
        return data.load(self.data, size=self.size, seed=self.data_seed)

    def side_records(self) -> Side:
        """This side's parts."""
        options = {"validation": self.validation, **self.split_options}
        sides = splits.split(self.split, self.records(), seed=self.split_seed, **options)
        if self.side not in sides:
            raise ValueError(nearest("side", self.side, sides))
        return sides[self.side]

    def build_model(self) -> models.Network:
        """A fresh network; its seed depends on the side, so target and shadow start from different weights."""
        records = self.records()
        return models.build(
            self.model, shape=records.x.shape[1:], classes=records.classes, seed=self._seed("init"), **self.options
        )

    def _seed(self, purpose: str) -> int:
        return zlib.crc32(f"{self.seed} {self.side} {purpose}".encode())


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

    @cached_property
    def losses_by_epoch(self) -> np.ndarray:
        """(traced epochs, n): each record's loss, in the order of `signals`; the epochs are in `traced`."""
        if not self.configuration.trace:
            raise ValueError("This run kept no trace. Ask for it with configuration.but(trace=1).")
        with np.load(self.folder / "trace.npz", allow_pickle=False) as file:
            return file["losses"]

    @property
    def traced(self) -> list[dict]:
        """The epochs of the history that were looked at: loss gap, accuracy on train and test."""
        return [epoch for epoch in self.history if "loss_gap" in epoch]

    @cached_property
    def side(self) -> Side:
        return self.configuration.side_records()

    def load_model(self) -> models.Network:
        """The trained network, in eval mode."""
        from safetensors.torch import load_model

        model = self.configuration.build_model()
        load_model(model, str(self.folder / "weights.safetensors"))
        return model.eval()


def get(configuration: Configuration, *, store: Store | None = None) -> Run:
    """The run of this configuration, from the store or trained now."""
    store = store or default_store()
    return Run(configuration, store.get(configuration.key, lambda folder: train(configuration, folder)))


def get_all(configurations: list[Configuration], *, store: Store | None = None, jobs: int | None = None) -> list[Run]:
    """Several runs, those that are missing side by side in `jobs` processes (all cores unless told)."""
    from joblib import Parallel, delayed
    from tqdm.auto import tqdm

    store = store or default_store()
    missing = [c for c in configurations if store.find(c.key) is None]
    if len(missing) > 1:
        work = Parallel(n_jobs=jobs or os.cpu_count(), return_as="generator_unordered")(
            delayed(get)(configuration, store=store) for configuration in missing
        )
        for _ in tqdm(work, "runs", total=len(missing), delay=2, leave=False, unit="run"):
            pass
    return [get(configuration, store=store) for configuration in configurations]


def default_store() -> Store:
    return Store(paths.home() / "runs")


def train(configuration: Configuration, folder: Path) -> None:
    """Do the run and write its files into `folder`."""
    from safetensors.torch import save_model

    started, threads = time.perf_counter(), torch.get_num_threads()
    torch.set_num_threads(configuration.threads)
    try:
        side, model = configuration.side_records(), configuration.build_model()
        losses: list[np.ndarray] = []

        def on_epoch(model, epoch):
            due = configuration.trace and epoch % configuration.trace == 0
            return _watch(collect(model, side), losses) if due else {}

        history = fit(
            model,
            side.train,
            configuration.recipe,
            defense=configuration.defense,
            reference=side.inference,
            seed=configuration._seed("fit"),
            device=configuration.device,
            on_epoch=on_epoch,
        )
        signals = collect(model, side)
        parts = {name: _accuracy(model, part) for name, part in side.parts().items()}
    finally:
        torch.set_num_threads(threads)
    save_model(model, str(folder / "weights.safetensors"))
    signals.save(folder / "signals.npz")
    if configuration.trace:
        np.savez(folder / "trace.npz", losses=np.stack(losses))
    write_json(folder / "config.json", describe(configuration))
    metrics = {"accuracy": parts, "loss_gap": loss_gap(signals), "history": history}
    write_json(folder / "metrics.json", metrics)
    write_json(folder / "provenance.json", _provenance(configuration, time.perf_counter() - started))


def describe(configuration: Configuration) -> dict:
    """The configuration as plain JSON types; a defense carries its name, data of one's own only its last name.

    >>> describe(Configuration(data="/home/me/photos.npz"))["data"]
    'photos.npz'
    """
    described = dataclasses.asdict(configuration)
    described["data"] = os.path.basename(os.path.abspath(configuration.data))
    described["defense"] = {"name": type(configuration.defense).__name__, **described["defense"]}
    return json.loads(json.dumps(described))


def parse(described: dict) -> Configuration:
    """The configuration that `describe` wrote down."""
    settings = dict(described["defense"])
    recipe = {name: tuple(v) if isinstance(v, list) else v for name, v in described["recipe"].items()}
    defense = DEFENSES[settings.pop("name")](**settings)
    return Configuration(**{**described, "recipe": Recipe(**recipe), "defense": defense})


def _watch(signals: Signals, losses: list[np.ndarray]) -> dict:
    """One epoch's line of the history, and every record's loss for the trace."""
    losses.append(signals.loss().astype(np.float32))
    correct = signals.correct()
    return {
        "train_accuracy": float(correct[signals.is_member].mean()),
        "test_accuracy": float(correct[~signals.is_member].mean()),
        "loss_gap": loss_gap(signals),
    }


def _accuracy(model: torch.nn.Module, part: data.Records) -> float:
    return float((predict(model, part).argmax(axis=1) == part.y).mean())


def _provenance(configuration: Configuration, seconds: float) -> dict:
    import mialib

    return {
        "mialib": mialib.__version__,
        "code_version": CODE_VERSION,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "records": {"name": data.short_name(configuration.data), "fingerprint": configuration.records().fingerprint},
        "device": pick_device(configuration.device).type,
        "threads": configuration.threads,
        "seconds": round(seconds, 2),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def _differences(settings: dict, defaults: dict, prefix: str = "") -> dict:
    found = {}
    for name, value in settings.items():
        if isinstance(value, dict) and isinstance(defaults.get(name), dict):
            found |= _differences(value, defaults[name], f"{prefix}{name}.")
        elif name not in defaults or value != defaults[name]:
            found[prefix + name] = value
    return found
