"""A process that fills a store until it is killed. It imports no torch.

python store_worker.py ROOT FIRST LOG
"""

import os
import sys
import time
import warnings
from itertools import count
from pathlib import Path

from mialib.store import MANIFEST, Store


def expected(key):
    """The files of a result, large enough that writing them takes a moment."""
    return {f"part-{i}.txt": f"{key} {i} " * 2000 for i in range(3)}


def content(folder):
    return {path.name: path.read_text() for path in folder.iterdir() if path.name != MANIFEST}


def writer(key, *, pause=0.0, log=os.devnull):
    """A `make` for `key` that notes each call in `log`."""

    def make(folder):
        note(log, f"making {key}")
        for name, text in expected(key).items():
            (folder / name).write_text(text)
            time.sleep(pause)

    return make


def note(log, line):
    with open(log, "a") as file:
        file.write(line + "\n")


def get_several(store, keys, log, start):
    """Warnings go to the log, so that the parent can count them."""
    start.wait()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = [content(store.get(key, writer(key, pause=0.01, log=log))) for key in keys]
    for warning in caught:
        note(log, f"warned: {warning.message}")
    assert found == [expected(key) for key in keys]


def make_until_killed(root, first, log):
    warnings.simplefilter("error")  # To see half a result would warn; here it ends the worker.
    print("started", flush=True)
    for i in count(int(first)):
        key = f"result-{i}"
        Store(Path(root)).get(key, writer(key, pause=0.002, log=log))
        note(log, f"finished {key}")


if __name__ == "__main__":
    make_until_killed(*sys.argv[1:])
