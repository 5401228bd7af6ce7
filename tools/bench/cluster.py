"""The same trainings by a Dask cluster of two workers on this machine, and by joblib's processes.

python -m bench cluster         # from the folder tools/; some minutes
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.timing import Row, fastest
from mialib import clusters, profiles, progress, runs
from mialib.configurations import Configuration
from mialib.store import Store

MODELS = 8
WORKERS = 2


def rows() -> list[Row]:
    base = profiles.load("quick").images
    models = [base.but(seed=seed, trace=0) for seed in range(MODELS)]
    return [dask_row(models)]


@contextmanager
def environment_kept() -> Iterator[None]:
    """Dask leaves variables behind that slow down what later processes allocate."""
    before = dict(os.environ)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def dask_row(models: list[Configuration], *, rounds: int = 2) -> Row:
    """All models trained, into an empty store each time; the first turn starts the processes."""
    from distributed import LocalCluster  # The other groups do without Dask.

    with (
        environment_kept(),
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(
            n_workers=WORKERS, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        progress.silent(),
    ):
        stores = (Store(Path(folder) / str(turn)) for turn in range(2 * rounds))

        def by_dask() -> None:
            store = next(stores)
            with clusters.connected(cluster.scheduler_address, store=store):
                runs.get_all(models, store=store)

        def by_joblib() -> None:
            runs.get_all(models, store=next(stores), jobs=WORKERS)

        seconds, baseline = fastest(by_dask, by_joblib, rounds=rounds)
    what = (
        f"{len(models)} trainings by Dask's {WORKERS} workers, against joblib's {WORKERS} processes"
    )
    return Row(what, seconds, baseline, aim=0.9)
