"""Configuration → run, made once and kept.

`get(configuration)` trains, or reads what was trained before; `get_all` does several side by side. A run's folder holds
config.json, weights.safetensors, signals.npz, trace.npz (if asked for), metrics.json and provenance.json."""

import platform
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import safetensors.torch
import torch
from joblib import Parallel, delayed
from tqdm.auto import tqdm

from mialib import __version__, data, models, splits
from mialib.configurations import CODE_VERSION, Configuration, describe
from mialib.signals import Signals, collect, loss_gap, predict
from mialib.store import Store, home, read_json, write_json
from mialib.training import fit, pick_device


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

    def make(folder: Path) -> None:
        train(
            configuration,
            folder,
            get(configuration.start, store=store) if configuration.before else None,
        )

    return Run(configuration, store.get(configuration.key, make))


def get_all(
    configurations: list[Configuration], *, store: Store | None = None, jobs: int | None = None
) -> list[Run]:
    """Several runs, the missing ones side by side in `jobs` processes: one a core unless told, or 1 with a GPU."""
    store = store or Store(home() / "runs")
    missing = [c for c in configurations if store.find(c.key) is None]
    if len(missing) > 1:
        on_cpu = all(pick_device(c.device).type == "cpu" for c in missing)
        workers = Parallel(n_jobs=jobs or (-1 if on_cpu else 1), return_as="generator_unordered")
        work = workers(delayed(get)(configuration, store=store) for configuration in missing)
        list(tqdm(work, "runs", total=len(missing), delay=2, leave=False, unit="run"))
    return [get(configuration, store=store) for configuration in configurations]


def train(configuration: Configuration, folder: Path, origin: Run | None = None) -> None:
    """Do the run, from the weights of `origin` if there is one, and write its files into `folder`."""
    started, threads = time.perf_counter(), torch.get_num_threads()
    torch.set_num_threads(configuration.threads)
    try:
        side, model = configuration.side_records(), configuration.build_model()
        if origin is not None:
            safetensors.torch.load_model(model, str(origin.folder / "weights.safetensors"))
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
        np.savez(
            folder / "trace.npz",
            losses=np.stack([signals.loss() for signals in seen]).astype(np.float32),
        )
    metrics = {"accuracy": accuracy, "loss_gap": history[-1]["loss_gap"], "history": history}
    write_json(folder / "metrics.json", metrics)
    write_json(folder / "config.json", describe(configuration))
    write_json(folder / "provenance.json", _provenance(configuration, started))


def _fit(
    configuration: Configuration, model: models.Network, side: splits.Side
) -> tuple[list[dict], list[Signals]]:
    """Train; return the history, and the signals after each traced epoch and the last."""
    seen, last = [], configuration.recipe.epochs

    def look(model: torch.nn.Module, epoch: int) -> dict:
        if epoch < last and epoch % (configuration.trace or last):
            return {}
        return observed(model)

    def observed(model: torch.nn.Module) -> dict:
        seen.append(signals := collect(model, side))
        right = {"train": signals.members().correct(), "test": signals.non_members().correct()}
        accuracies = {f"{part}_accuracy": float(correct.mean()) for part, correct in right.items()}
        return accuracies | {"loss_gap": loss_gap(signals)}

    parts = {
        "reference": side.inference,
        "validation": side.validation,
        "fresh": configuration.build_model,
    }
    settings = {
        "defense": configuration.defense,
        "seed": configuration.seed_for("fit"),
        "device": configuration.device,
    }
    history = fit(model, side.train, configuration.recipe, **settings, **parts, on_epoch=look)
    if "loss_gap" not in history[-1]:  # A defense stopped early.
        history[-1] |= observed(model)
    return history, seen


def _provenance(configuration: Configuration, started: float) -> dict:
    versions = {
        "mialib": __version__,
        "code_version": CODE_VERSION,
        "python": platform.python_version(),
    }
    versions |= {"torch": torch.__version__, "numpy": np.__version__}
    records = {
        "name": data.short_name(configuration.data),
        "fingerprint": configuration.records().fingerprint,
    }
    where = {
        "records": records,
        "device": pick_device(configuration.device).type,
        "threads": configuration.threads,
    }
    seconds, finished = (
        round(time.perf_counter() - started, 2),
        time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    )
    return versions | where | {"seconds": seconds, "finished": finished}
