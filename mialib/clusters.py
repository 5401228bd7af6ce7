"""More machines, the same code: joblib hands the work to a Dask cluster.

    with connected("tcp://head-node:8786"):
        runs.get_all(configurations)            # each is trained by one of the cluster's workers

    mialib run past --profile class --scheduler tcp://head-node:8786

Everything that runs side by side goes through joblib, so `joblib.parallel_config(backend="dask")`
alone would move it. `connected` asks first what would otherwise go wrong late: every worker must
have the versions that are here, do one thing at a time, and see the store, which is where finished
work is kept. A worker that comes later is asked with the first piece of work that it gets.

A worker that dies costs the run that it was at; Dask gives that run to another one. If the whole
cluster goes away, what is finished is in the store, and the same call goes on from there.

Dask comes with `pip install "mialib[cluster]"`; it is loaded when a cluster is asked for.
"""

from __future__ import annotations

import logging
import os
import platform
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from joblib import delayed, parallel_config
from joblib.parallel import get_active_backend

from mialib import __version__
from mialib.configurations import CODE_VERSION
from mialib.store import Store, as_store

SECONDS_TO_ANSWER = 10


class ClusterError(RuntimeError):
    """A cluster that cannot be used, or that went away; the sentence says what to do."""


@contextmanager
def connected(scheduler: str, *, store: Store | None = None) -> Iterator[None]:
    """Inside, work that runs side by side is done by the workers of the cluster at this address.

    They are asked for their versions and for the store before any of it begins.
    """
    store = as_store(store)
    client = _client(scheduler)
    with _silent("distributed"), _explained(scheduler):
        try:
            _check_workers(client, scheduler, store)
            with parallel_config(backend="dask", client=client):
                yield
        finally:
            client.close(timeout=2)


@contextmanager
def _explained(scheduler: str) -> Iterator[None]:
    """A cluster that goes away inside is told in a sentence."""
    try:
        yield
    except _gone() as error:
        raise ClusterError(
            f"The cluster at {scheduler} went away ({type(error).__name__}). "
            "What is finished is kept; start the cluster, and the same call goes on."
        ) from None
    except _deadly() as error:
        raise ClusterError(
            f"One run ended worker after worker: {error} Its workers may need more memory. "
            "What is finished is kept, and the same call goes on."
        ) from None


@contextmanager
def _silent(logger: str) -> Iterator[None]:
    """A client that loses its cluster logs pages of tracebacks; one sentence follows instead."""
    log = logging.getLogger(logger)
    before = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(before)


def is_connected() -> bool:
    """Whether joblib hands its work to a cluster now."""
    backend, _ = get_active_backend()
    return type(backend).__name__ == "DaskDistributedBackend"


def counting_folder(store: Store) -> Path | None:
    """Where workers count their steps: beside the runs, where a cluster sees it; else anywhere."""
    if not is_connected():
        return None
    store.root.mkdir(parents=True, exist_ok=True)
    return store.root


def task(work: Callable, *arguments: Any) -> Any:
    """A piece of work for joblib, as `delayed` makes it; on a cluster its worker is asked first."""
    if not is_connected():
        return delayed(work)(*arguments)
    return delayed(_done_if_alike)(_facts(), work, *arguments)


def _done_if_alike(here: Mapping[str, object], work: Callable, *arguments: Any) -> Any:
    """Do the work, on a worker that may have come after the others were asked."""
    from distributed import get_worker

    worker = get_worker()
    _check_facts(worker.address, _facts(), here)
    _check_threads(worker.address, worker.state.nthreads)
    return work(*arguments)


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
            'A cluster needs Dask: pip install "mialib[cluster]", here and on every worker.'
        ) from None
    try:
        return Client(scheduler, timeout=SECONDS_TO_ANSWER, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise ClusterError(
            f"No Dask scheduler answers at {scheduler!r} ({type(error).__name__}). Start one with "
            "`dask scheduler`, and name the address that it prints, such as tcp://head-node:8786."
        ) from None


def _gone() -> tuple[type[Exception], ...]:
    """The errors that say that there is no cluster any more."""
    from distributed.comm.core import CommClosedError

    return (CancelledError, CommClosedError)


def _deadly() -> type[Exception]:
    """The error that says that a task has killed as many workers as Dask allows."""
    from distributed.scheduler import KilledWorker

    return KilledWorker


# Asking the workers.


def _check_workers(client: Any, scheduler: str, store: Store) -> None:
    _wait_for_a_worker(client, scheduler)
    answers: Mapping[str, object] = client.run(_facts, on_error="return")
    here = _facts()
    for worker, answer in answers.items():
        _check_facts(worker, answer, here)
    for worker, threads in client.nthreads().items():
        _check_threads(worker, threads)
    with _noted(store) as note:
        for worker, sees in client.run(os.path.exists, str(note)).items():
            if not sees:
                raise ClusterError(
                    f"The worker {worker} does not see {store.root}. Set MIALIB_HOME to a folder "
                    "that all machines share, under one path, and start the workers with it."
                )


def _wait_for_a_worker(client: Any, scheduler: str) -> None:
    try:
        client.wait_for_workers(1, timeout=SECONDS_TO_ANSWER)
    except TimeoutError:
        raise ClusterError(
            f"The scheduler at {scheduler} has no worker yet. Start some, by "
            f"`dask worker {scheduler} --nthreads 1` on each machine, or wait until the queue has "
            "started one; then try again."
        ) from None


def _facts() -> dict[str, object]:
    """What two processes must have in common to train the same model."""
    return {
        "mialib": __version__,
        "mialib's code": CODE_VERSION,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
    }


def _check_facts(worker: str, answer: object, here: Mapping[str, object]) -> None:
    if isinstance(answer, BaseException):
        raise ClusterError(
            f"The worker {worker} cannot load mialib ({answer}). Install mialib {__version__} "
            "there, and start the worker again. Nothing was trained there."
        )
    assert isinstance(answer, Mapping)
    for name, version in here.items():
        found = answer.get(name)
        if found != version:
            raise ClusterError(
                f"The worker {worker} has {name} {found}, and here it is {version}: its models "
                "would not be the same. Install the same version there. Nothing was trained there."
            )


def _check_threads(worker: str, threads: int) -> None:
    """Weights and dropout are drawn from torch's own generator, of which a process has one."""
    if threads > 1:
        raise ClusterError(
            f"The worker {worker} does {threads} things at a time in one process, and trainings "
            "would take each other's random numbers. Start it with `--nthreads 1`, and more of "
            "them with `--nworkers`. Nothing was trained there."
        )


@contextmanager
def _noted(store: Store) -> Iterator[Path]:
    """Inside, the store holds a file that nobody has seen before."""
    store.root.mkdir(parents=True, exist_ok=True)
    note = store.root / f".seen-{os.urandom(8).hex()}"
    note.touch()
    try:
        yield note
    finally:
        note.unlink(missing_ok=True)
