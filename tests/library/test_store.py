"""The store under fire. Nothing here imports torch: a worker starts quickly, to be killed."""

import errno
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

import store_worker
from mialib import store as store_module
from mialib.store import MANIFEST, Store, read_json, write_json
from store_worker import content, expected, get_several, writer

KILLS = int(os.environ.get("MIALIB_KILLS", "20"))
spawn = multiprocessing.get_context("spawn")


def never(folder):
    raise AssertionError("A finished result was made again.")


def left_behind(store):
    return sorted(path.name for path in store.root.glob(".*") if path.name != ".locks")


# ---------------------------------------------------------------- made once, found again


def test_a_result_is_found_again_without_making_it(store):
    made = store.get("key", writer("key"))
    assert store.get("key", never) == store.find("key") == made
    assert content(made) == expected("key")


def test_what_was_never_made_is_not_found(store):
    assert store.find("key") is None
    assert not store.root.exists()


def test_the_manifest_lists_every_file(store):
    folder = store.get("key", writer("key"))
    assert set(read_json(folder / MANIFEST)) == set(expected("key"))


def test_json_survives_the_file(tmp_path):
    write_json(tmp_path / "a.json", {"name": "λ", "values": [1, 2.5, None]})
    assert read_json(tmp_path / "a.json") == {"name": "λ", "values": [1, 2.5, None]}


@pytest.mark.parametrize("make", [None, "make", 3])
def test_what_makes_a_result_must_be_a_function(store, make):
    with pytest.raises(TypeError, match="make must be a function"):
        store.get("key", make)


@pytest.mark.parametrize("root", [None, 3, b"folder"])
def test_a_store_needs_a_folder(root):
    with pytest.raises(ValueError, match="by its folder"):
        Store(root)


@pytest.mark.parametrize(
    "key", ["", ".", "..", "../outside", "a/b", ".locks", "a\0b", "x" * 5000, None, 3, []]
)
def test_a_key_that_is_not_a_plain_name_is_refused(store, key):
    for call in (lambda: store.find(key), lambda: store.get(key, writer("key"))):
        with pytest.raises(ValueError, match="plain name"):
            call()


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_make_that_fails_leaves_nothing(store, error):
    def make(folder):
        (folder / "half.txt").write_text("half")
        raise error

    with pytest.raises(error):
        store.get("key", make)
    assert store.find("key") is None
    assert left_behind(store) == []
    assert content(store.get("key", writer("key"))) == expected("key")


def left_over(store, key, machine):
    """What a process on this machine leaves when it dies at work on this key: the folder's name."""
    noted = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store_module.platform, "node", lambda: machine)
        patch.setattr(store_module.shutil, "rmtree", lambda *_, **__: None)
        with pytest.raises(ZeroDivisionError):
            store.get(key, lambda folder: noted.append(folder.name) or 1 / 0)
    return noted[0]


def test_only_ones_own_left_overs_are_cleared(store):
    """Another machine may be at work on the same key, where its lock is not seen."""
    here = store_module.platform.node()
    mine = left_over(store, "key", here)
    others = {left_over(store, "key", "another machine"), left_over(store, "key-longer", here)}
    assert set(left_behind(store)) == {mine} | others
    store.get("key", writer("key"))
    assert set(left_behind(store)) == others


# ---------------------------------------------------------------- damaged folders


def truncate(folder):
    (folder / "part-1.txt").write_text("part")


def make_foreign(folder):
    shutil.rmtree(folder)
    folder.mkdir()
    (folder / "holiday.jpg").write_text("not a result")


def make_a_file(folder):
    shutil.rmtree(folder)
    folder.write_text("not even a folder")


DAMAGES = {
    "part-1.txt is missing or damaged": truncate,
    "part-2.txt is missing": lambda folder: (folder / "part-2.txt").unlink(),
    f"{MANIFEST} is missing": lambda folder: (folder / MANIFEST).unlink(),
    "not whole: manifest.json": lambda folder: (folder / MANIFEST).write_text('{"part-0.txt": '),
    f"{MANIFEST} is missing or damaged": lambda folder: (folder / MANIFEST).write_text("[]"),
    "is not whole": make_foreign,
    "made again": make_a_file,
}


@pytest.mark.parametrize(("complaint", "damage"), DAMAGES.items())
def test_a_damaged_folder_is_named_moved_aside_and_made_again(store, complaint, damage):
    damage(store.get("key", writer("key")))
    with pytest.warns(UserWarning, match=complaint) as caught:
        folder = store.get("key", writer("key"))
    assert str(folder) in str(caught[0].message)
    assert content(folder) == expected("key")
    assert [name.startswith(".broken-key-") for name in left_behind(store)] == [True]
    assert store.get("key", never) == folder


def test_what_is_moved_aside_is_kept(store):
    make_foreign(store.get("key", writer("key")))
    with pytest.warns(UserWarning, match="not whole"):
        assert store.find("key") is None
    (aside,) = left_behind(store)
    assert (store.root / aside / "holiday.jpg").read_text() == "not a result"


def test_a_folder_that_another_process_mends_meanwhile_is_not_moved(store, monkeypatch):
    folder = store.get("key", writer("key"))
    truncate(folder)
    really = store_module._fault

    def look_then_mend(folder):
        fault = really(folder)
        (folder / "part-1.txt").write_text(expected("key")["part-1.txt"])
        return fault

    monkeypatch.setattr(store_module, "_fault", look_then_mend)
    assert store.get("key", never) == folder
    assert left_behind(store) == []


# ---------------------------------------------------------------- disks that refuse


@pytest.mark.parametrize(
    ("place", "name", "number"),
    [
        (Path, "mkdir", errno.EROFS),
        (store_module, "FileLock", errno.EACCES),
        (store_module, "write_json", errno.ENOSPC),
        (store_module.os, "fsync", errno.EDQUOT),
        (Path, "rename", errno.EPERM),
    ],
)
def test_a_disk_that_refuses_is_explained_and_nothing_is_lost(
    store, monkeypatch, place, name, number
):
    finished = store.get("finished", writer("finished"))

    def refuse(*args, **kwargs):
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(place, name, refuse)
        with pytest.raises(OSError, match="MIALIB_HOME") as caught:
            store.get("key", writer("key"))
        assert store.get("finished", never) == finished
    assert caught.value.errno == number
    assert str(store.root) in str(caught.value)
    assert store.find("key") is None
    assert left_behind(store) == []
    assert content(store.get("key", writer("key"))) == expected("key")


def test_a_refusal_is_explained_once(store):
    """What is made may need the store itself, as a row of a plan needs its models."""

    def refuse(folder):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(OSError, match="Free some space") as caught:
        store.get("row", lambda folder: store.get("run", refuse))
    assert str(caught.value).count("Free some space") == 1


def test_other_errors_of_the_system_pass_unchanged(store):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.txt") as caught:
        store.get("key", lambda folder: (folder / "nowhere.txt").read_text())
    assert caught.value.__cause__ is None


@pytest.fixture
def small_disk(tmp_path):
    """A real disk of 512 kB, where one may mount."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(disk)]
    if not shutil.which("mount") or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("mounting a small disk needs root on Linux")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_keeps_what_was_finished(small_disk):
    store = Store(small_disk / "runs")
    with pytest.raises(OSError, match=r"No space left.*MIALIB_HOME"):
        [store.get(f"key-{i}", writer(f"key-{i}")) for i in range(20)]
    finished = [path.name for path in store.root.glob("key-*")]
    assert len(finished) > 3
    assert left_behind(store) == []
    assert all(content(store.get(key, never)) == expected(key) for key in finished)
    shutil.rmtree(store.root / finished.pop())
    assert store.get("small", lambda folder: (folder / "a.txt").write_text("fits") and None)


def test_a_read_only_disk_still_serves_what_is_there(small_disk):
    store = Store(small_disk / "runs")
    store.get("key", writer("key"))
    truncate(store.get("broken", writer("broken")))
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    assert content(store.get("key", never)) == expected("key")
    for key in ("new", "broken"):
        with pytest.raises(OSError, match=r"Read-only.*MIALIB_HOME"):
            store.get(key, writer(key))


# ---------------------------------------------------------------- several processes


@pytest.mark.parametrize("broken", [False, True])
def test_several_processes_make_each_result_once(store, tmp_path, broken):
    keys, log, start = ["a", "b", "c"], tmp_path / "log", spawn.Barrier(4)
    for key in keys if broken else []:
        truncate(store.get(key, writer(key)))
    orders = [keys, keys, keys[::-1], keys[::-1]]
    workers = [
        spawn.Process(target=get_several, args=(store, order, log, start)) for order in orders
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(30)
    assert [worker.exitcode for worker in workers] == [0] * 4
    lines = log.read_text().splitlines()
    assert sorted(line for line in lines if line.startswith("making")) == [
        f"making {key}" for key in keys
    ]
    assert len(left_behind(store)) == (3 if broken else 0)
    assert sum(line.startswith("warned") for line in lines) == len(left_behind(store))


def test_a_folder_that_another_process_moves_aside_meanwhile_is_made_again(store, monkeypatch):
    folder = store.get("key", writer("key"))
    checksum = store_module._checksum

    def moved_before_it_is_read(path):
        if folder.exists():
            folder.rename(store.root / ".broken-key-0")
        return checksum(path)

    monkeypatch.setattr(store_module, "_checksum", moved_before_it_is_read)
    assert store.find("key") is None
    monkeypatch.setattr(store_module, "_checksum", checksum)
    assert content(store.get("key", writer("key"))) == expected("key")


def test_a_broken_folder_that_another_process_moves_aside_first_is_made_again(store, monkeypatch):
    folder = store.get("key", writer("key"))
    truncate(folder)
    rename = Path.rename

    def another_is_quicker(path, target):
        rename(folder, store.root / ".broken-key-0")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", another_is_quicker)
    assert store.find("key") is None
    monkeypatch.setattr(Path, "rename", rename)
    assert content(store.get("key", writer("key"))) == expected("key")
    assert left_behind(store) == [".broken-key-0"]


# ---------------------------------------------------------------- disks without locks


@pytest.fixture(params=[errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def no_locks(request, monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def refuse(handle, operation):
        raise OSError(request.param, os.strerror(request.param))

    monkeypatch.setattr(fcntl, "flock", refuse)


def test_a_disk_without_locks_is_told_and_serves(store, no_locks):
    with pytest.warns(UserWarning, match=r"has no locks.*Nothing is mixed up or lost") as caught:
        folder = store.get("key", writer("key"))
    assert caught[0].filename == __file__
    assert content(folder) == expected("key")
    assert store.get("key", never) == folder
    assert left_behind(store) == []
    assert not list((store.root / ".locks").glob("*.lock*")), "a mark would outlive its process"


@pytest.mark.filterwarnings("ignore:The disk of")
def test_without_locks_the_first_whole_result_stays(store, no_locks):
    """Another process begins the same work later, and is done with it earlier."""

    def make(folder):
        writer("slow")(folder)
        store.get("key", writer("quick"))

    folder = store.get("key", make)
    assert content(folder) == content(store.find("key")) == expected("quick")
    assert left_behind(store) == []


@pytest.mark.filterwarnings("ignore:The disk of")
def test_without_locks_what_is_not_whole_does_not_stay(store, no_locks):
    """Somebody's half copy has come to the place while the result was made."""

    def make(folder):
        writer("key")(folder)
        (store.root / "key").mkdir()
        (store.root / "key" / "part-1.txt").write_text("part")

    with pytest.warns(UserWarning, match="is not whole"):
        folder = store.get("key", make)
    assert content(folder) == expected("key")
    assert [name.startswith(".broken-key-") for name in left_behind(store)] == [True]


@pytest.mark.filterwarnings("ignore:The disk of")
def test_without_locks_nothing_unfinished_is_cleared(store, no_locks):
    """It may be another process's, which is at work on it."""
    at_work = left_over(store, "key", store_module.platform.node())
    store.get("key", writer("key"))
    assert left_behind(store) == [at_work]


def test_other_errors_of_locks_pass(store, monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def fail(handle, operation):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(fcntl, "flock", fail)
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        store.get("key", writer("key"))


# ---------------------------------------------------------------- killed at random moments


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL is POSIX")
def test_a_killed_process_never_leaves_half_a_result(store, tmp_path):
    moments, log, interrupted = random.Random(0), tmp_path / "log", 0
    log.touch()
    for _ in range(KILLS):
        first = log.read_text().count("finished")
        command = [sys.executable, store_worker.__file__, str(store.root), str(first), str(log)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as worker:
            assert worker.stdout.readline() == b"started\n"
            time.sleep(moments.uniform(0, 0.06))
            worker.kill()
        assert worker.returncode == -signal.SIGKILL
        interrupted += bool(left_behind(store))

    lines = log.read_text().splitlines()
    finished = [line.split()[1] for line in lines if line.startswith("finished")]
    assert interrupted > 0
    assert len(finished) == len(set(finished)) > 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for key in finished:  # none is lost
            assert content(store.get(key, never)) == expected(key)
        for folder in store.root.glob("result-*"):  # none is half there, logged or not
            assert content(store.find(folder.name)) == expected(folder.name)
        last = f"result-{len(finished)}"
        assert content(store.get(last, writer(last))) == expected(last)
    assert left_behind(store) == []
