"""Configuration → run, made once and kept.

    run = get(configuration)                    # trains, or reads what was trained before
    run.signals, run.side, run.load_model()     # what it holds is read when it is asked for
    run.ask(noise=True)                         # more questions to the trained network
    target, shadow = get_all([configuration, configuration.but(side="shadow")])     # side by side

A run's folder holds config.json, weights.safetensors, signals.npz, trace.npz (if asked for),
metrics.json and provenance.json. From top to bottom: `Run`; `get` and `get_all`; the chain of
trainings that a missing run needs; several chains in other processes; and `train`, which does one
training.
"""

from __future__ import annotations

import os
import platform
import re
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import safetensors
import safetensors.torch
import torch
from joblib import Parallel
from torch import nn

from mialib import __version__, clusters, data, defenses, models, progress, query, splits
from mialib.configurations import CODE_VERSION, Configuration, describe, own_code
from mialib.errors import check_range
from mialib.foreign import check_weights, listed, read_arrays, read_json, said
from mialib.origins import origin
from mialib.query import collect, pick_device, predict
from mialib.signals import Signals, loss_gap
from mialib.store import REFUSALS, Store, as_store, write_json
from mialib.training import fit


@dataclass(frozen=True)
class Run:
    """A finished run: its configuration and its folder."""

    configuration: Configuration
    folder: Path

    @cached_property
    def signals(self) -> Signals:
        """What the trained network answers on its members (train) and non-members (test)."""
        return Signals.read(self.folder / "signals.npz")

    @cached_property
    def metrics(self) -> dict:
        return read_json(self.folder / "metrics.json")

    @property
    def history(self) -> list[dict]:
        """One dictionary per epoch: its number, the mean loss, and what else was noted."""
        history = self.metrics.get("history")
        if not isinstance(history, list):
            raise ValueError("metrics.json holds no history of the training. Train it again.")
        return history

    @property
    def traced(self) -> list[dict]:
        """The epochs of the history that have a loss gap and accuracies on train and test."""
        return [epoch for epoch in self.history if "loss_gap" in epoch]

    @cached_property
    def losses_by_epoch(self) -> np.ndarray:
        """Each record's loss in the order of `signals`: (traced epochs, n).

        The epochs are in `traced`.
        """
        if not self.configuration.trace:
            raise ValueError("This run kept no trace. Ask for it with configuration.but(trace=1).")
        arrays = read_arrays(self.folder / "trace.npz")
        if "losses" not in arrays:
            raise ValueError(f"trace.npz holds no losses, only {listed(arrays)}. Train it again.")
        return arrays["losses"]

    @cached_property
    def side(self) -> splits.Side:
        """The records around this model."""
        return self.configuration.side_records()

    def load_model(self) -> models.Network:
        """The trained network, in eval mode, on the device of its configuration."""
        model = self.configuration.build_model()
        _load_weights(model, self.folder / "weights.safetensors")
        model.to(pick_device(self.configuration.device))
        return model.eval()

    def ask(self, **queries: Any) -> Signals:
        """The run's signals with more columns; the questions are those of `query.extra_columns`."""
        records = query.members_then_nonmembers(self.side)
        columns = query.extra_columns(self.load_model(), records, **queries)
        return replace(self.signals, extra={**self.signals.extra, **columns})


class RunsFailedError(RuntimeError):
    """Some of several runs failed; the others are kept. `reasons` has each failure by its name."""

    def __init__(self, message: str, reasons: dict[str, str] | None = None):
        super().__init__(message)
        self.reasons = reasons or {}


class Failure(NamedTuple):
    """What failed, as text: not every error can travel from one process to another."""

    name: str
    reason: str


@dataclass
class Attempt:
    """One of several pieces of work: inside it, an error is noted, and the others can go on.

    A disk that refuses ends them all at once: the others would train in vain.

    name  what is attempted, as the failure is to be called
    jobs  how many attempts share a device; 1 or -1 where none does
    """

    name: str
    jobs: int
    failure: Failure | None = None

    def __enter__(self) -> Attempt:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        """Note an error; an interrupt is none, and ends everything."""
        is_refusal = isinstance(error, OSError) and error.errno in REFUSALS
        if not isinstance(error, Exception) or is_refusal:
            return False
        self.failure = Failure(self.name, _reason(error, self.jobs))
        return True


def get(configuration: Configuration, *, store: Store | None = None) -> Run:
    """The run of this configuration, from the store or trained now."""
    store = as_store(store)
    chain = _chain(_checked(configuration), store)
    if not chain.missing:
        return Run(configuration, store.root / chain.key)
    _warn_if_untraceable([chain])
    return _train_with_bar(chain, store)


def get_all(
    configurations: Iterable[Configuration],
    *,
    store: Store | None = None,
    jobs: int | None = None,
) -> list[Run]:
    """Several runs, the missing ones side by side in `jobs` processes.

    Unless told, that is one process per core, or 1 with a GPU. Two or three may share a GPU if its
    memory holds them: a small model alone keeps it waiting. On a cluster its workers do the work,
    however many `jobs` says. If some runs fail, the others are trained and kept all the same; then
    a `RunsFailedError` names those that failed. A disk that refuses ends all at once.
    """
    store = as_store(store)
    configurations = _checked_list(configurations)
    if jobs is not None:
        check_range(1, np.inf, whole=True, jobs=jobs)
    chains = {one: _chain(one, store) for one in dict.fromkeys(configurations)}
    missing = [chain for chain in chains.values() if chain.missing]
    _warn_if_untraceable(missing)
    if len(missing) == 1 and not clusters.is_connected():
        _train_with_bar(missing[0], store)
    elif missing:
        _train_side_by_side(missing, store, jobs)
    return [Run(one, store.root / chains[one].key) for one in configurations]


def _checked(configuration: object) -> Configuration:
    if not isinstance(configuration, Configuration):
        raise TypeError(f"A run is asked for by its Configuration, found {configuration!r}.")
    return configuration


def _checked_list(configurations: Iterable[Configuration]) -> list[Configuration]:
    is_scalar = getattr(configurations, "shape", None) == ()
    if is_scalar or not isinstance(configurations, Iterable) or isinstance(configurations, str):
        raise TypeError(
            f"Runs are asked for by a list of Configurations, found {configurations!r}."
        )
    return [_checked(configuration) for configuration in configurations]


# One run and the trainings before it.


class _Step(NamedTuple):
    """One training."""

    configuration: Configuration
    key: str


@dataclass(frozen=True)
class _Chain:
    """What a run needs: the trainings that are missing, and the finished one that they start from.

    Without any `missing`, the `finished` one is the run itself.
    """

    missing: tuple[_Step, ...]
    finished: _Step | None = None

    @property
    def last(self) -> _Step:
        step = self.missing[-1] if self.missing else self.finished
        assert step is not None
        return step

    @property
    def key(self) -> str:
        return self.last.key

    @property
    def epochs(self) -> int:
        """How many there are to train."""
        return sum(step.configuration.recipe.epochs for step in self.missing)

    def finished_run(self, store: Store) -> Run | None:
        if self.finished is None:
            return None
        return Run(self.finished.configuration, store.root / self.finished.key)


def _chain(configuration: Configuration, store: Store) -> _Chain:
    """Go back from the last training to one that is finished, or to the first."""
    missing: list[_Step] = []
    for one in reversed(configuration.chain):
        step = _Step(one, one.key)
        if store.find(step.key) is not None:
            return _Chain(tuple(missing), finished=step)
        missing.insert(0, step)
    return _Chain(tuple(missing))


def missing(configuration: Configuration, *, store: Store | None = None) -> list[Configuration]:
    """The trainings that this run still needs, the first one first."""
    chain = _chain(_checked(configuration), as_store(store))
    return [step.configuration for step in chain.missing]


def _train(chain: _Chain, store: Store) -> Run:
    """Do the missing trainings, each from the weights of the one before."""
    run = chain.finished_run(store)
    for step in chain.missing:
        make = partial(train, step.configuration, start=run)
        folder = store.get(step.key, make)
        run = Run(step.configuration, folder)
    assert run is not None
    return run


def _train_with_bar(chain: _Chain, store: Store) -> Run:
    """In this process, with a bar that is there at once and counts the epochs of all trainings."""
    bar = progress.bar("training", total=chain.epochs, unit="epoch", delay=0)
    with bar as advance, progress.forwarded(advance):
        return _train(chain, store)


def _warn_if_untraceable(chains: Sequence[_Chain]) -> None:
    reasons = {chain.last.configuration.untraceable() for chain in chains}
    for reason in sorted(reason for reason in reasons if reason is not None):
        warnings.warn(
            f"{reason}. So the run is trained anew each time, and never found again. Write the "
            "code into a file or a notebook's cell, and hand it what it needs as settings.",
            stacklevel=3,
        )


# Several runs, in other processes.


class _Registered(NamedTuple):
    """What a notebook has added to the library by name; other processes must be told."""

    loaders: dict[str, Callable]
    models: dict[str, Callable]
    defenses: dict[str, type]


def _train_side_by_side(chains: Sequence[_Chain], store: Store, jobs: int | None) -> None:
    """Train all; then, if some failed, say which and why."""
    on_cpu = all(_is_on_cpu(chain) for chain in chains)
    jobs = processes(jobs, pieces=len(chains), on_cpu=on_cpu)
    registered = _registered_here(chains)
    workers = Parallel(
        n_jobs=jobs, return_as="generator_unordered", pre_dispatch=clusters.pre_dispatch()
    )
    epochs = [chain.epochs for chain in chains]
    folder = clusters.counting_folder(store)
    with progress.shared_bar("runs", epochs, unit="epoch", folder=folder) as counts:
        task = clusters.task(_work, folder=counts[0].file.parent)
        work = [
            task(chain, store, registered, count, jobs)
            for chain, count in zip(chains, counts, strict=True)
        ]
        failures = [failure for failure in workers(work) if failure is not None]
        if failures:
            raise failed(failures, of=f"{len(chains)} missing runs", kept="trained again")


def processes(asked: int | None, *, pieces: int, on_cpu: bool) -> int:
    """How many processes of this machine work; on a cluster its workers do, and none shares."""
    if clusters.is_connected():
        return -1
    if asked is not None:
        return min(asked, pieces)
    return -1 if on_cpu else 1


def _is_on_cpu(chain: _Chain) -> bool:
    return pick_device(chain.last.configuration.device).type == "cpu"


def _work(
    chain: _Chain, store: Store, registered: _Registered, count: progress.Count, jobs: int
) -> Failure | None:
    """Train one chain, in whatever process; count its epochs."""
    name = chain.last.configuration.name
    with (
        Attempt(name, jobs) as attempt,
        _known(registered),
        progress.forwarded(count.add_one),
    ):
        _train(chain, store)
        count.complete()  # It may have stopped early.
    return attempt.failure


def _reason(error: Exception, jobs: int) -> str:
    """What the error says; of a device that several models share, also what to do."""
    told = f"{type(error).__name__}: {error}"
    if not isinstance(error, torch.OutOfMemoryError):
        return told
    if jobs <= 1:  # -1 where a cluster's workers have the device.
        return f"{told} Choose a smaller batch_size, or a device with more memory."
    return f"{told} {jobs} models share the device: train fewer at a time, by jobs=1 or --jobs 1."


def failed(failures: Sequence[Failure], *, of: str, kept: str) -> RunsFailedError:
    """The error that names them: so many of these pieces of work; the others are kept."""
    lines = "".join(f"\n- {failure.name}: {failure.reason}" for failure in failures)
    return RunsFailedError(
        f"{len(failures)} of {of} failed. What was finished is kept and will not be {kept}.{lines}",
        {failure.name: failure.reason for failure in failures},
    )


def _registered_here(chains: Sequence[_Chain]) -> _Registered:
    """Whatever these chains may need of what was registered after mialib was loaded."""
    configurations = [chain.last.configuration for chain in chains]
    needed_loaders = {one.data for one in configurations}
    needed_models = {one.model for one in configurations}
    return _Registered(
        loaders=_added(data.LOADERS, data.BUILT_IN, needed_loaders),
        models=_added(models.MODELS, models.BUILT_IN, needed_models),
        defenses=_added(defenses.DEFENSES, defenses.BUILT_IN, set(defenses.DEFENSES)),
    )


def _added(
    registry: Mapping[str, Any], built_in: Mapping[str, Any], needed: set[str]
) -> dict[str, Any]:
    return {
        name: thing
        for name, thing in registry.items()
        if name in needed and thing is not built_in.get(name)
    }


@contextmanager
def _known(registered: _Registered) -> Iterator[None]:
    """Inside, the names are known here too. A worker serves many calls, so they are taken back."""
    registries: list[dict] = [data.LOADERS, models.MODELS, defenses.DEFENSES]
    before = [dict(registry) for registry in registries]
    for registry, added in zip(registries, registered, strict=True):
        registry.update(added)
    try:
        yield
    finally:
        for registry, content in zip(registries, before, strict=True):
            registry.clear()
            registry.update(content)


# One training.


def train(configuration: Configuration, folder: Path, start: Run | None = None) -> None:
    """Do one training, from the weights of `start` if there is one, and write its files."""
    started = time.perf_counter()
    with threads(configuration.threads):
        side = configuration.side_records()
        model = configuration.build_model()
        if start is not None:
            _load_weights(model, start.folder / "weights.safetensors")
        observer = _Observer(configuration, side)
        history = _fit_observed(configuration, model, side, observer)
        accuracy = _accuracies(model, side, history[-1])
    _save_weights(model.to("cpu"), folder / "weights.safetensors")
    observer.signals[-1].save(folder / "signals.npz")
    if configuration.trace:
        losses = np.stack([signals.loss() for signals in observer.signals])
        np.savez(folder / "trace.npz", losses=losses.astype(np.float32))
    metrics = {"accuracy": accuracy, "loss_gap": history[-1]["loss_gap"], "history": history}
    write_json(folder / "metrics.json", metrics)
    write_json(folder / "config.json", describe(configuration))
    write_json(folder / "provenance.json", _provenance(configuration, started))


@contextmanager
def threads(number: int) -> Iterator[None]:
    """Inside, torch works with so many threads: another number would give other roundings."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class _Observer:
    """Collects a network's signals after every `trace` epochs and after the last one."""

    def __init__(self, configuration: Configuration, side: splits.Side):
        self.side = side
        self.trace = configuration.trace
        self.last_epoch = configuration.recipe.epochs
        self.signals: list[Signals] = []  # one for each epoch that was observed

    def after_epoch(self, model: nn.Module, epoch: int) -> dict:
        """What the history says of this epoch beside its loss."""
        is_traced = self.trace > 0 and epoch % self.trace == 0
        if is_traced or epoch == self.last_epoch:
            return self.observe(model)
        return {}

    def observe(self, model: nn.Module) -> dict:
        signals = collect(model, self.side)
        self.signals.append(signals)
        return {
            "train_accuracy": float(signals.members().correct().mean()),
            "test_accuracy": float(signals.non_members().correct().mean()),
            "loss_gap": loss_gap(signals),
        }


def fit_as_configured(
    configuration: Configuration,
    model: nn.Module,
    side: splits.Side,
    *,
    on_epoch: Callable[[nn.Module, int], dict | None] | None = None,
) -> list[dict]:
    """Do the configuration's last training on this model, in place; return the history."""
    return fit(
        model,
        side.train,
        configuration.recipe,
        defense=configuration.defense,
        inference=side.inference,
        validation=side.validation,
        build_initial_model=configuration.build_model,
        seed=configuration.seed_for("fit"),
        device=configuration.device,
        on_epoch=on_epoch,
    )


def _fit_observed(
    configuration: Configuration, model: nn.Module, side: splits.Side, observer: _Observer
) -> list[dict]:
    """Train the model in place; its last epoch is always observed."""
    history = fit_as_configured(configuration, model, side, on_epoch=observer.after_epoch)
    stopped_early = "loss_gap" not in history[-1]
    if stopped_early:
        history[-1].update(observer.observe(model))
    return history


def _accuracies(model: nn.Module, side: splits.Side, last_epoch: dict) -> dict[str, float]:
    """The accuracy on each part; on train and test it was measured after the last epoch."""
    accuracies = {
        "train": last_epoch["train_accuracy"],
        "test": last_epoch["test_accuracy"],
    }
    for name, part in side.parts().items():
        if name not in accuracies:
            is_right = predict(model, part).argmax(axis=1) == part.y
            accuracies[name] = float(is_right.mean())
    return accuracies


def _save_weights(model: nn.Module, path: Path) -> None:
    """A disk that refuses is an OSError here too, which the store explains."""
    try:
        safetensors.torch.save_model(model, str(path))
    except safetensors.SafetensorError as error:
        number = re.search(r"os error (\d+)", str(error))
        if number is None:
            raise
        code = int(number[1])
        raise OSError(code, os.strerror(code), str(path)) from error


def _load_weights(model: nn.Module, path: Path) -> None:
    """The weights of the file, if it is whole and of this network."""
    check_weights(path)
    try:
        safetensors.torch.load_model(model, str(path))
    except (safetensors.SafetensorError, RuntimeError) as error:
        raise ValueError(
            f"{path.name} does not hold the weights of this network: {said(error)}."
        ) from None


def _provenance(configuration: Configuration, started: float) -> dict:
    """What made the run: versions, records, device, code of one's own, time."""
    provenance: dict[str, Any] = {
        "mialib": __version__,
        "code_version": CODE_VERSION,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "records": {
            "name": data.short_name(configuration.data),
            "fingerprint": configuration.records().fingerprint,
        },
        "device": pick_device(configuration.device).type,
        "threads": configuration.threads,
        "seconds": round(time.perf_counter() - started, 4),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    code = own_code(configuration)
    loader = data.LOADERS.get(configuration.data)
    if loader is not None and loader is not data.BUILT_IN.get(configuration.data):
        code[origin(loader)] = "its records are told by their fingerprint"
    if code:
        provenance["own_code"] = code
    return provenance
