"""A real Dask cluster of two worker processes on this machine."""

import os
import signal
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import replace

import pytest

from mialib import cli, clusters, runs
from mialib.store import Store

distributed = pytest.importorskip("distributed")
# The files of a run that hold no time.
FILES = ("config.json", "metrics.json", "signals.npz", "weights.safetensors")


def started_cluster():
    return distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    )


@pytest.fixture(scope="module")
def cluster():
    with started_cluster() as cluster:
        yield cluster


@pytest.fixture
def slow(tiny):
    """Six runs of a second or two."""
    recipe = replace(tiny.recipe, epochs=200)
    return [tiny.but(recipe=recipe, seed=seed) for seed in range(6)]


def finished(store):
    return sorted(path.name for path in store.root.glob("*") if not path.name.startswith("."))


@contextmanager
def meanwhile(act, store, *, after):
    """Inside, `act` is called once so many runs are finished."""

    def wait_and_act():
        while len(finished(store)) < after:
            time.sleep(0.02)
        act()

    thread = threading.Thread(target=wait_and_act, daemon=True)
    thread.start()
    yield
    thread.join(30)
    assert not thread.is_alive()


def test_a_cluster_makes_the_same_runs_to_the_bit(cluster, tiny, tmp_path):
    wanted = [tiny.but(seed=seed) for seed in range(4)]
    here = runs.get_all(wanted, store=Store(tmp_path / "here"), jobs=2)
    store = Store(tmp_path / "there")
    with clusters.connected(cluster.scheduler_address, store=store):
        there = runs.get_all(wanted, store=store)
    for one, other in zip(here, there, strict=True):
        for name in FILES:
            assert (one.folder / name).read_bytes() == (other.folder / name).read_bytes(), name
    left = {path.name for path in store.root.iterdir()} - set(finished(store))
    assert left == {".locks"}, "counts and notes are gone"


def test_a_run_that_is_missing_alone_is_made_by_the_cluster_too(cluster, tiny, store, monkeypatch):
    def train_here(*arguments):
        raise AssertionError("this machine may have no device to train on")

    monkeypatch.setattr(runs, "_train", train_here)
    with clusters.connected(cluster.scheduler_address, store=store):
        runs.get_all([tiny], store=store)
    assert len(finished(store)) == 1


def test_a_worker_that_is_killed_costs_its_own_run_only(cluster, slow, store):
    def kill_one():
        with distributed.Client(cluster.scheduler_address, set_as_default=False) as client:
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

    with (
        clusters.connected(cluster.scheduler_address, store=store),
        meanwhile(kill_one, store, after=1),
    ):
        found = runs.get_all(slow, store=store)
    assert [run.metrics["history"][-1]["epoch"] for run in found] == [200] * 6
    assert len(finished(store)) == 6


def test_a_cluster_that_goes_away_leaves_what_is_finished(slow, store):
    cluster = started_cluster()
    with (
        pytest.raises(clusters.ClusterError, match=r"went away.*What is finished is kept"),
        clusters.connected(cluster.scheduler_address, store=store),
        meanwhile(cluster.close, store, after=2),
    ):
        runs.get_all(slow, store=store)
    kept = finished(store)
    assert 2 <= len(kept) < 6
    times = {name: (store.root / name).stat().st_mtime_ns for name in kept}
    assert len(runs.get_all(slow, store=store, jobs=2)) == 6
    assert {name: (store.root / name).stat().st_mtime_ns for name in kept} == times


# ---------------------------------------------------------------- refused before anything trains


def test_an_address_without_a_scheduler_is_refused(store, monkeypatch, capsys):
    monkeypatch.setattr(clusters, "SECONDS_TO_ANSWER", 1)
    for address in ("tcp://127.0.0.1:1", "nonsense://x"):
        with (
            pytest.raises(clusters.ClusterError, match="No Dask scheduler answers"),
            clusters.connected(address, store=store),
        ):
            pass
    for address in ("here", None, 8786):  # Dask would start a cluster of its own for None.
        with (
            pytest.raises(clusters.ClusterError, match="named by its address"),
            clusters.connected(address, store=store),
        ):
            pass
    # A command says it in one line.
    assert cli.main(["run", "base", "--seeds", "1", "--scheduler", "tcp://127.0.0.1:1"]) == 1
    assert "mialib: No Dask scheduler answers" in capsys.readouterr().err


def test_a_worker_with_another_version_is_refused(cluster, tiny, store, monkeypatch):
    monkeypatch.setattr(clusters, "__version__", "99.0")
    with (
        pytest.raises(clusters.ClusterError, match=r"has mialib .*here it is 99\.0.*Nothing was"),
        clusters.connected(cluster.scheduler_address, store=store),
    ):
        runs.get_all([tiny, tiny.but(seed=1)], store=store)
    assert finished(store) == []


def test_a_worker_that_comes_late_is_asked_with_its_first_run(cluster, tiny, store, monkeypatch):
    with clusters.connected(cluster.scheduler_address, store=store):
        monkeypatch.setattr(clusters, "__version__", "99.0")
        with pytest.raises(clusters.ClusterError, match=r"has mialib .*here it is 99\.0"):
            runs.get_all([tiny, tiny.but(seed=1)], store=store)
    assert finished(store) == []


def test_a_worker_that_trains_several_models_in_one_process_is_refused(tiny, store):
    """Two trainings at a time would draw from one generator, and neither be what its key says."""
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
        ) as threaded,
        pytest.raises(clusters.ClusterError, match=r"2 things at a time.*--nthreads 1"),
        clusters.connected(threaded.scheduler_address, store=store),
    ):
        pass
    assert finished(store) == []


def test_a_scheduler_without_workers_is_told_in_a_sentence(store, monkeypatch):
    monkeypatch.setattr(clusters, "SECONDS_TO_ANSWER", 1)
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=None) as empty,
        pytest.raises(clusters.ClusterError, match=r"has no worker yet.*dask worker"),
        clusters.connected(empty.scheduler_address, store=store),
    ):
        pass


def test_a_worker_without_mialib_is_refused():
    answer = ModuleNotFoundError("No module named 'mialib'")
    with pytest.raises(clusters.ClusterError, match=r"cannot load mialib.*Install mialib"):
        clusters._check_facts("tcp://worker:1", answer, clusters._facts())


def test_workers_that_do_not_see_the_store_are_refused(cluster, store, monkeypatch):
    @contextmanager
    def on_a_disk_of_its_own(store):
        yield store.root / ".nobody-else-sees-this"

    monkeypatch.setattr(clusters, "_noted", on_a_disk_of_its_own)
    with (
        pytest.raises(clusters.ClusterError, match=r"does not see.*MIALIB_HOME"),
        clusters.connected(cluster.scheduler_address, store=store),
    ):
        pass


def test_without_dask_it_says_what_to_install(store, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(clusters.ClusterError, match=r'pip install "mialib\[cluster\]"'),
        clusters.connected("tcp://127.0.0.1:8786", store=store),
    ):
        pass


def test_counts_lie_in_the_store_only_where_a_cluster_works(cluster, store):
    assert clusters.counting_folder(store) is None
    with clusters.connected(cluster.scheduler_address, store=store):
        assert clusters.counting_folder(store) == store.root
