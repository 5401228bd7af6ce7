"""More machines, the same code: joblib hands the work to a Dask cluster.

    with connected("tcp://head-node:8786"):
        runs.get_all(configurations)            # each is trained by one of the cluster's workers

    mialib run past --profile class --scheduler tcp://head-node:8786

Everything that runs side by side goes through joblib, so `joblib.parallel_config(backend="dask")`
alone would move it. `connected` asks first what would otherwise go wrong late: every worker must
have the versions and the device that are here, do one thing at a time, and see the store, which is
where finished work is kept. A worker that comes later is asked with each piece of work that it
gets. What travels inside a cluster is pickled, as Dask does it, and nothing is unpickled from a
file. From top to bottom: `connected`; what went wrong, in sentences; joblib's way to Dask; how a
piece of work travels; and what workers are asked beforehand.

A worker that dies costs the run that it was at; Dask gives that run to another one. If the whole
cluster goes away, what is finished is in the store, and the same call goes on from there.

Dask comes with `pip install "mialib[cluster]"`; it is loaded when a cluster is asked for.
"""

from __future__ import annotations

import importlib.util
import logging
import operator
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from joblib import delayed, parallel_config
from joblib.parallel import get_active_backend

from mialib import __version__
from mialib.configurations import CODE_VERSION
from mialib.foreign import said
from mialib.precision import resolve
from mialib.query import pick_device
from mialib.store import Store, as_store

SECONDS_TO_ANSWER = 10
# What "auto" stands for in a configuration, and so decides the name of a run.
MEANT_BY_AUTO = {"device", "precision"}
INSTALL = f"Install mialib {__version__} there, and start it again."


class ClusterError(RuntimeError):
    """A cluster that cannot be used, or that went away; the sentence says what to do."""


@contextmanager
def connected(scheduler: str, *, store: Store | None = None) -> Iterator[None]:
    """Inside, work that runs side by side is done by the workers of the cluster at this address.

    They are asked for their versions and for the store before any of it begins.
    """
    store = as_store(store)
    client = _client(scheduler)
    with _silent("distributed", "distributed.client"), _explained(scheduler):
        try:
            _check_workers(client, scheduler, store)
            with parallel_config(backend=_backend(client, scheduler)):
                yield
        finally:
            client.close(timeout=2)


def _client(scheduler: str) -> Any:
    if not isinstance(scheduler, str) or "://" not in scheduler:
        raise ClusterError(
            "A scheduler is named by its address, such as tcp://head-node:8786; "
            f"found {scheduler!r}."
        )
    try:
        from distributed import Client
    except ModuleNotFoundError:
        raise ClusterError(
            'A cluster needs Dask: pip install "mialib[cluster]", here, on the scheduler and on '
            "every worker."
        ) from None
    try:
        return Client(scheduler, timeout=SECONDS_TO_ANSWER, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise ClusterError(
            f"No Dask scheduler answers at {scheduler!r} ({type(error).__name__}). Start one with "
            "`dask scheduler`, and name the address that it prints, such as tcp://head-node:8786."
        ) from None


@contextmanager
def _silent(*loggers: str) -> Iterator[None]:
    """A client that loses its cluster logs pages of tracebacks; one sentence follows instead."""
    logs = [logging.getLogger(logger) for logger in loggers]
    before = [log.level for log in logs]
    for log in logs:
        log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for log, level in zip(logs, before, strict=True):
            log.setLevel(level)


# What went wrong, in sentences.


@contextmanager
def _explained(scheduler: str) -> Iterator[None]:
    """What goes wrong between the machines inside is told in a sentence; all else passes."""
    try:
        yield
    except Exception as error:
        told = _told(error, scheduler)
        if told is None:
            raise
        kept = "What is finished is kept, and the same call goes on."
        raise ClusterError(f"{told} {kept}") from None


def _told(error: Exception, scheduler: str) -> str | None:
    """What an error says of the cluster, and what to do; None if it says nothing of it."""
    from distributed.comm.core import CommClosedError
    from distributed.scheduler import KilledWorker

    if isinstance(error, CancelledError | CommClosedError):
        return f"The cluster at {scheduler} went away ({type(error).__name__}). Start it again."
    if isinstance(error, KilledWorker):
        return f"One run ended worker after worker: {error} Its workers may need more memory."
    if isinstance(error, ModuleNotFoundError) and _is_here(error.name):
        return (
            f"A worker of the cluster at {scheduler} cannot load {error.name}, which is here. "
            f"{_advice(error.name)}"
        )
    if "deserialization of the task graph" in str(error):  # Dask says no more than that.
        return f"The scheduler at {scheduler} cannot load what work is sent in. {INSTALL}"
    return None


def _is_here(module: str | None) -> bool:
    """Whether this process has the module, so that it is another one that lacks it."""
    try:
        return module is not None and importlib.util.find_spec(module) is not None
    except (ModuleNotFoundError, ValueError):  # It has not even the package of the module.
        return False


def _advice(module: str | None) -> str:
    if module == "mialib":
        return INSTALL
    return (
        "Install it there; for a file of your own, name its folder in PYTHONPATH there. "
        "Then start the worker again."
    )


# joblib's way to Dask.


def is_connected() -> bool:
    """Whether joblib hands its work to a cluster now."""
    backend, _ = get_active_backend()
    dask = sys.modules.get("joblib._dask")  # Where nobody has loaded it, there is no cluster.
    return dask is not None and isinstance(backend, dask.DaskDistributedBackend)


def pre_dispatch() -> str:
    """How much work joblib hands on beforehand: all of it to a cluster, where workers may come."""
    return "all" if is_connected() else "2 * n_jobs"


def _backend(client: Any, scheduler: str) -> Any:
    """joblib's backend for Dask, mended where it would do the work here, or wait for ever."""
    from joblib._dask import DaskDistributedBackend

    class Backend(DaskDistributedBackend):
        def effective_n_jobs(self, n_jobs: int) -> int:
            """With one worker joblib would do the work here, where there may be no device."""
            _wait_for_a_worker(client, scheduler)
            return max(2, super().effective_n_jobs(n_jobs))

        def submit(self, func: Any, callback: Any = None) -> Future:
            return _with_failure_told(super().submit(func, callback), callback)

        def apply_async(self, func: Any, callback: Any = None) -> Future:
            """What `submit` was called before joblib 1.5."""
            return _with_failure_told(super().apply_async(func, callback), callback)

    return Backend(client=client)


def _with_failure_told(work: Future, callback: Callable[[Any], object]) -> Future:
    """joblib is told of results alone; what Dask itself gives up, it would wait for without end."""

    def tell(done: Future) -> None:
        error = done.exception()
        if error is not None:
            callback(error)

    work.add_done_callback(tell)
    return work


# How a piece of work travels.


def counting_folder(store: Store) -> Path | None:
    """Where workers count their steps: beside the runs, where a cluster sees it; else anywhere."""
    if not is_connected():
        return None
    with store.explained():
        store.root.mkdir(parents=True, exist_ok=True)
        # A folder is tried here, because a disk that refuses one later would not be explained.
        os.rmdir(tempfile.mkdtemp(prefix=".counts-", dir=store.root))
    return store.root


def task(work: Callable, *, folder: Path | None = None) -> Callable[..., Any]:
    """What makes pieces of this work for joblib, as `delayed` does; a cluster's workers are asked.

    `folder` is one that lies in the store while the work is under way: a worker must see it.
    """
    if not is_connected():
        return delayed(work)
    return partial(_travelling, work, _facts(), folder)


def _travelling(
    work: Callable, here: Mapping[str, object], folder: Path | None, *arguments: Any
) -> Any:
    """A piece of work as bytes: a worker must not die of what it lacks before it can say so."""
    import cloudpickle
    from toolz import pipe

    packed = _packed(partial(work, *arguments))
    asking = _packed(partial(_done_if_alike, here, folder, packed))
    return delayed(pipe)(asking, cloudpickle.loads, operator.call)


def _packed(work: Callable) -> bytes:
    """The work with its arguments, and with the code of what other machines cannot import."""
    import cloudpickle

    try:
        return cloudpickle.dumps(work)
    except Exception as error:  # Whatever the object raises that cannot be packed.
        raise ClusterError(
            f"The work cannot travel to another machine: {said(error)}. Hand it plain values, and "
            "let it open files and the like where it works."
        ) from None


def _done_if_alike(here: Mapping[str, object], folder: Path | None, packed: bytes) -> Any:
    """Do the work, on a worker that may have come after the others were asked."""
    import cloudpickle
    from distributed import get_worker

    try:
        worker = get_worker()
    except ValueError:  # Without `connected`, joblib does the work of a single worker itself.
        return cloudpickle.loads(packed)()
    _check_facts(worker.address, _facts(), here)
    _check_threads(worker.address, worker.state.nthreads)
    if folder is not None:
        _check_sees(worker.address, folder.exists(), folder.parent)
    return cloudpickle.loads(packed)()


# What workers are asked beforehand.


def _check_workers(client: Any, scheduler: str, store: Store) -> None:
    _wait_for_a_worker(client, scheduler)
    here = _facts()
    for worker, found in _answers(client, _facts):
        _check_facts(worker, found, here)
    for worker, threads in client.nthreads().items():
        _check_threads(worker, threads)
    with _noted(store) as note:
        for worker, sees in _answers(client, os.path.exists, str(note)):
            _check_sees(worker, sees, store.root)


def _wait_for_a_worker(client: Any, scheduler: str) -> None:
    try:
        client.wait_for_workers(1, timeout=SECONDS_TO_ANSWER)
    except TimeoutError:
        raise ClusterError(
            f"The scheduler at {scheduler} has no worker yet. Start some, by "
            f"`dask worker {scheduler} --nthreads 1` on each machine, or wait until the queue has "
            "started one; then try again."
        ) from None


def _answers(client: Any, question: Callable, *arguments: Any) -> Iterator[tuple[str, Any]]:
    """Each worker with what it says."""
    import cloudpickle
    from toolz import pipe

    asked = _packed(partial(question, *arguments))
    # Unpacked by the call itself, so that a worker without mialib says what it lacks.
    answers: Mapping[str, Any] = client.run(
        pipe, asked, cloudpickle.loads, operator.call, on_error="return"
    )
    for worker, answer in answers.items():
        if isinstance(answer, ImportError):
            raise ClusterError(
                f"The worker {worker} cannot load mialib ({said(answer)}). {INSTALL} Nothing was "
                "trained there."
            )
        if isinstance(answer, BaseException):
            raise ClusterError(
                f"The worker {worker} was asked for its versions and for the store, and gave no "
                f"answer ({answer!r}). It may have ended; its log says why. Start it again. "
                "Nothing was trained there."
            )
        yield worker, answer


def _facts() -> dict[str, object]:
    """What two processes must have in common to train the same model, under the same name."""
    device = pick_device()
    return {
        "mialib": __version__,
        "mialib's code": CODE_VERSION,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "device": device.type,
        "precision": resolve("auto", device),
    }


def _check_facts(worker: str, found: Mapping[str, object], here: Mapping[str, object]) -> None:
    for name, expected in here.items():
        if found.get(name) == expected:
            continue
        differs = f"The worker {worker} has {name} {found.get(name)}, and here it is {expected}"
        if name in MEANT_BY_AUTO:
            raise ClusterError(
                f'{differs}: "auto" would mean another run there than here, and nobody would find '
                "it. Start from a machine of the same kind, on SLURM inside an interactive job. "
                "Nothing was trained there."
            )
        raise ClusterError(
            f"{differs}: its models would not be the same. Install the same version there. "
            "Nothing was trained there."
        )


def _check_threads(worker: str, threads: int) -> None:
    """Weights and dropout are drawn from torch's own generator, of which a process has one."""
    if threads > 1:
        raise ClusterError(
            f"The worker {worker} does {threads} things at a time in one process, and trainings "
            "would take each other's random numbers. Start it with `--nthreads 1`, and more of "
            "them with `--nworkers`. Nothing was trained there."
        )


def _check_sees(worker: str, sees: bool, root: Path) -> None:
    if not sees:
        raise ClusterError(
            f"The worker {worker} does not see {root}. Set MIALIB_HOME to a folder that all "
            "machines share, under one path, and start the workers with it. Nothing was trained "
            "there."
        )


@contextmanager
def _noted(store: Store) -> Iterator[Path]:
    """Inside, the store holds a file that nobody has seen before."""
    note = store.root / f".seen-{os.urandom(8).hex()}"
    with store.explained():
        store.root.mkdir(parents=True, exist_ok=True)
        note.touch()
    try:
        yield note
    finally:
        note.unlink(missing_ok=True)
