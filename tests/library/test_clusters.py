"""A real Dask cluster of two worker processes on this machine."""

import errno
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from unittest import mock

import joblib
import numpy as np
import pytest
import torch
from sklearn.tree import DecisionTreeClassifier

from audited import drawn
from fuzz_verdict import alarm
from mialib import audit, cli, clusters, progress, runs
from mialib.defenses import Plain
from mialib.experiments import running
from mialib.experiments.plans import PlannedRow
from mialib.store import Store
from small_results import TINY, tiny_plan

distributed = pytest.importorskip("distributed")
# The files of a run that hold no time.
FILES = ("config.json", "metrics.json", "signals.npz", "weights.safetensors")


def started_cluster():
    return distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    )


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """Beside other tests a scheduler may need longer to answer than a user would wait."""
    monkeypatch.setattr(clusters, "SECONDS_TO_ANSWER", 60)


@pytest.fixture(scope="module")
def cluster():
    with mock.patch.dict(os.environ), started_cluster() as cluster:  # Dask changes it for good.
        yield cluster


@pytest.fixture
def lone():
    """A cluster of one worker, which is a thread of this process."""
    with distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        processes=False,
        protocol="tcp://",
        dashboard_address=None,
    ) as cluster:
        yield cluster


def done(work, *, times=2):
    """What this work gives, done so many times side by side."""
    task = clusters.task(work)
    return joblib.Parallel()([task() for _ in range(times)])


def check_refused(address, store, act, *, match):
    """On this cluster the act ends soon, in this sentence, and nothing is trained."""
    with (
        alarm(120),
        pytest.raises(clusters.ClusterError, match=match),
        clusters.connected(address, store=store),
    ):
        act()
    assert finished(store) == []


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
    here = runs.get_all(wanted, store=Store(tmp_path / "here"), jobs=1)
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
    wanted = slow[:4]
    cluster = started_cluster()
    with (
        pytest.raises(clusters.ClusterError, match=r"went away.*What is finished is kept"),
        clusters.connected(cluster.scheduler_address, store=store),
        meanwhile(cluster.close, store, after=1),
    ):
        runs.get_all(wanted, store=store)
    kept = finished(store)
    assert 1 <= len(kept) < 4
    times = {name: (store.root / name).stat().st_mtime_ns for name in kept}
    assert len(runs.get_all(wanted, store=store, jobs=1)) == 4
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


@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize(
    ("asked", "answer", "sentence"),
    [
        ("pick_device", torch.device("mps"), "has device cpu, and here it is mps"),
        ("resolve", "float8", r"has precision \w+, and here it is float8"),
    ],
)
def test_a_worker_where_auto_would_be_another_run_is_refused(
    cluster, tiny, store, monkeypatch, asked, answer, sentence, is_late
):
    def train_elsewhere():
        assert is_late, "it was not asked beforehand"
        monkeypatch.setattr(clusters, asked, lambda *_: answer)
        runs.get_all([tiny, tiny.but(seed=1)], store=store)

    if not is_late:
        monkeypatch.setattr(clusters, asked, lambda *_: answer)
    sentence += ': "auto" would mean another run there.*same kind'
    check_refused(cluster.scheduler_address, store, train_elsewhere, match=sentence)


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


# Runs in a process before all else, as if the module were not installed.
HOOK = """
import sys

class NotInstalled:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "{without}":
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, NotInstalled)
"""


@contextmanager
def dask(command, *options, folder, without):
    """A scheduler or a worker in a process of its own, which cannot load this module."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(HOOK.format(without=without))
    environment = os.environ | {"PYTHONPATH": str(folder), "DASK_TEMPORARY_DIRECTORY": str(folder)}
    call = [sys.executable, "-m", f"distributed.cli.dask_{command}", *options]
    with (
        (folder / "log.txt").open("w") as log,
        subprocess.Popen(call, env=environment, cwd=folder, stderr=log) as process,
    ):
        try:
            yield
        finally:
            process.kill()


ALONE = ("--nthreads", "1", "--no-nanny", "--no-dashboard")


def wait_for(condition, seconds=30):
    last = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < last, "it never came"
        time.sleep(0.05)


def test_a_worker_without_mialib_is_refused(lone, tiny, store, tmp_path):
    """A process of its own: it comes late, and is then the only one."""
    address = lone.scheduler_address

    def number_of_workers():
        return len(lone.scheduler.workers)

    def train_when_it_is_alone():
        wait_for(lambda: number_of_workers() == 2)
        lone.scale(0)
        wait_for(lambda: number_of_workers() == 1)
        runs.get_all([tiny, tiny.but(seed=1)], store=store)

    def train():
        raise AssertionError("it was not asked beforehand")

    with dask("worker", address, *ALONE, folder=tmp_path / "worker", without="mialib"):
        late = r"cannot load mialib, which is here\. Install mialib .*What is finished is kept"
        check_refused(address, store, train_when_it_is_alone, match=late)
        check_refused(address, store, train, match=r"cannot load mialib \(.*Install mialib")


def test_a_scheduler_that_cannot_pass_work_on_is_told(tiny, store, tmp_path):
    """It needs joblib, though it does no work."""
    file = tmp_path / "scheduler.json"
    options = ("--scheduler-file", str(file), "--port", "0", "--no-dashboard")

    def train():
        runs.get_all([tiny, tiny.but(seed=1)], store=store)

    with dask("scheduler", *options, folder=tmp_path / "scheduler", without="joblib"):
        wait_for(file.exists)
        address = json.loads(file.read_text())["address"]
        with dask("worker", address, *ALONE, folder=tmp_path / "worker", without="nothing"):
            sentence = r"scheduler at .* cannot load what work is sent in\. Install mialib"
            check_refused(address, store, train, match=sentence)


def test_work_from_a_file_that_only_this_machine_has_is_told(cluster, store, tmp_path, monkeypatch):
    (tmp_path / "only_here.py").write_text("def work(): pass")
    monkeypatch.syspath_prepend(tmp_path)
    only_here = importlib.import_module("only_here")
    check_refused(
        cluster.scheduler_address,
        store,
        lambda: done(only_here.work),
        match=r"cannot load only_here, which is here\. .*PYTHONPATH",
    )


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


@pytest.mark.parametrize("what", ["runs", "rows"])
def test_a_worker_that_comes_late_and_does_not_see_the_store_is_refused(
    cluster, tiny, store, monkeypatch, what
):
    elsewhere = store.root / ".nobody-else-sees-this"
    plan = tiny_plan()

    @contextmanager
    def counted_elsewhere(description, totals, *, unit, folder):
        yield [progress.Count(elsewhere / str(k), total) for k, total in enumerate(totals)]

    def work():
        if what == "runs":
            runs.get_all([tiny, tiny.but(seed=1)], store=store)
        else:
            running.make_all(plan, running.missing(plan, plan.rows(), store), store)

    monkeypatch.setattr(progress, "shared_bar", counted_elsewhere)
    sentence = "does not see.*MIALIB_HOME.*Nothing was trained"
    check_refused(cluster.scheduler_address, store, work, match=sentence)


@pytest.mark.parametrize("command", [["run", "base"], ["bank"]])
def test_processes_of_this_machine_beside_a_cluster_are_refused(command, capsys):
    assert cli.main([*command, "--jobs", "2", "--scheduler", "tcp://127.0.0.1:1"]) == 1
    assert "Leave one of the two out" in capsys.readouterr().err


def test_without_dask_it_says_what_to_install(store, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(clusters.ClusterError, match=r'pip install "mialib\[cluster\]"'),
        clusters.connected("tcp://127.0.0.1:8786", store=store),
    ):
        pass


def test_counts_lie_in_the_store_only_where_a_cluster_works(cluster, store, monkeypatch):
    def refuse(**_):
        raise OSError(errno.ENOSPC, "No space left on device")

    assert clusters.counting_folder(store) is None
    with clusters.connected(cluster.scheduler_address, store=store):
        assert clusters.counting_folder(store) == store.root
        assert finished(store) == []
        monkeypatch.setattr(tempfile, "mkdtemp", refuse)
        with pytest.raises(OSError, match="Free some space"):
            clusters.counting_folder(store)


# ---------------------------------------------------------------- work, and what may become of it


def test_a_single_worker_does_the_work(lone, store):
    """joblib would do it here, where there may be no device."""

    def where():
        return distributed.get_worker().address

    with clusters.connected(lone.scheduler_address, store=store), alarm(120):
        assert done(where, times=3) == list(lone.scheduler.workers) * 3


@pytest.mark.parametrize("what", ["runs", "rows"])
def test_all_work_is_handed_on_at_once(lone, tiny, store, monkeypatch, what):
    """So that workers that come late find some."""
    plan = tiny_plan()
    handed_on = []

    def wait_for_the_others(*_):
        wait_for(lambda: len(lone.scheduler.tasks) >= 8 - len(handed_on), seconds=5)
        handed_on.append(1)

    monkeypatch.setattr(runs, "_train", wait_for_the_others)
    monkeypatch.setattr(running, "make_row", wait_for_the_others)
    with clusters.connected(lone.scheduler_address, store=store), alarm(120):
        if what == "runs":
            runs.get_all([tiny.but(seed=seed) for seed in range(8)], store=store)
        else:
            todo = running.missing(plan, plan.rows(seeds=4), store)
            running.make_all(plan, todo, store)
    assert len(handed_on) == 8


def test_joblib_alone_may_do_the_work_of_a_single_worker_here(lone):
    with (
        distributed.Client(lone, set_as_default=False) as client,
        joblib.parallel_config(backend="dask", client=client),
    ):
        assert done(threading.current_thread) == [threading.main_thread()] * 2


def test_work_that_ends_its_worker_too_often_is_told(cluster, store, monkeypatch):
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 0)
    check_refused(
        cluster.scheduler_address,
        store,
        lambda: done(lambda: os.kill(os.getpid(), signal.SIGKILL), times=1),
        match="worker after worker.*more memory.*What is finished is kept",
    )
    wait_for(lambda: len(cluster.scheduler.workers) == 2)


@pytest.mark.parametrize("asks", [done, lambda work: audited_with(work)])
def test_work_that_cannot_travel_is_told(cluster, store, tmp_path, asks):
    with (tmp_path / "open.txt").open("wb") as opened:

        def work(*_):
            opened.write(b"done")

        sentence = "cannot travel to another machine: .*Buffered.* Hand it plain values"
        check_refused(cluster.scheduler_address, store, lambda: asks(work), match=sentence)


def audited_with(train):
    attacks = ["loss", "Attack R"]
    model = DecisionTreeClassifier(random_state=9).fit(*drawn(0))
    return audit(model, drawn(0), drawn(1), train=train, trainings=4, jobs=1, attacks=attacks)


def test_references_that_a_cluster_trains_answer_the_same(cluster, store, monkeypatch, tmp_path):
    trained_in = tmp_path / "processes.txt"

    def grow(records, seed):
        with trained_in.open("a") as log:
            log.write(f"{os.getpid()}\n")
        return DecisionTreeClassifier(random_state=seed).fit(*records)

    with clusters.connected(cluster.scheduler_address, store=store), alarm(120):
        there = audited_with(grow)
    processes = trained_in.read_text().split()
    assert len(processes) == 4
    assert str(os.getpid()) not in processes
    monkeypatch.setenv("MIALIB_HOME", str(tmp_path))
    here = audited_with(grow)
    assert len(trained_in.read_text().split()) == 8
    for one, other in zip(here.attacks, there.attacks, strict=True):
        assert np.array_equal(one.scores, other.scores)


class Broken(Plain):
    """A training that fails, and not by diverging."""

    def prepare(self, training):
        raise RuntimeError("a fault of one's own")


class OutOfMemory(Plain):
    def prepare(self, training):
        raise torch.OutOfMemoryError("None is left.")


class OnAFullDisk(Plain):
    def prepare(self, training):
        raise OSError(errno.ENOSPC, "No space left on device")


def test_rows_on_a_cluster_are_those_of_this_machine_and_one_may_fail(cluster, store, tmp_path):
    plan = tiny_plan()
    good = plan.rows(seeds=1)
    bad = PlannedRow(TINY.defended(Broken()), {"defense": "Broken"})
    todo = running.missing(plan, [bad, *good], store)
    with (
        alarm(120),
        pytest.raises(runs.RunsFailedError, match="RuntimeError: a fault of one's own") as caught,
        clusters.connected(cluster.scheduler_address, store=store),
    ):
        running.make_all(plan, todo, store, jobs=1)
    assert set(caught.value.reasons) == {bad.configuration.name}
    there = running.gather(plan, good, store)
    alone = Store(tmp_path / "alone")
    running.make_all(plan, running.missing(plan, good, alone), alone, jobs=1)
    here = running.gather(plan, good, alone)
    assert np.array_equal(here.ranks, there.ranks)


def test_on_a_cluster_no_models_share_a_device(lone, tiny, store):
    """So how many processes of this machine may work is no advice there."""
    configuration = tiny.defended(OutOfMemory())
    plan = tiny_plan()
    row = PlannedRow(configuration, {"defense": "none"})
    todo = running.missing(plan, [row, row], store)
    alike = [configuration, configuration.but(seed=1)]
    with clusters.connected(lone.scheduler_address, store=store), alarm(120):
        with pytest.raises(runs.RunsFailedError, match="Choose a smaller batch_size"):
            runs.get_all(alike, store=store, jobs=2)
        with pytest.raises(runs.RunsFailedError, match="Choose a smaller batch_size"):
            running.make_all(plan, todo, store, jobs=2)


def test_a_full_disk_of_a_worker_is_explained_once(cluster, store):
    plan = tiny_plan()
    row = PlannedRow(TINY.defended(OnAFullDisk()), {"defense": "none"})
    with (
        alarm(120),
        pytest.raises(OSError, match="Free some space") as caught,
        clusters.connected(cluster.scheduler_address, store=store),
    ):
        running.make_all(plan, running.missing(plan, [row], store), store)
    assert str(caught.value).count("Free some space") == 1
    assert str(store.root) in str(caught.value)
