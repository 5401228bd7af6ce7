"""Speed and memory of the data pipeline: `python tools/bench_data.py`.

Both sides of a row are measured in one run, by turns, and the fastest turn counts. Ours has one thread, as a run has
unless told otherwise. The rows:
- an epoch of 32×32 crops and flips against a DataLoader with PIL transforms and two workers, which are already up;
- the same, with the conversion of the records to tensors counted in (it is done once for a whole training);
- a cached file of Purchase100's size against the limit of 2 seconds, with the memory that loading takes at its peak.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

from mialib.augment import crop_and_flip
from mialib.data import Records
from mialib.training import Recipe, Training, to_device

IMAGES, BATCH, LIMIT = 20_000, 128, 2.0
PURCHASE = (197_324, 600)


def rows() -> list[tuple[str, float, float, float, float]]:
    """(what, our seconds, their seconds, ratio, the ratio aimed at)."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as home:
        write_purchase(Path(home))
        found = [*pipeline_rows(), load_row(home)]
    torch.set_num_threads(threads)
    return [(what, ours, theirs, theirs / ours, aim) for what, ours, theirs, aim in found]


def fastest(*works: Callable[[], object], rounds: int = 4) -> list[float]:
    """The fastest of several turns of each, taken alternately."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(rounds):
        for kept, work in zip(times, works, strict=True):
            started = time.perf_counter()
            work()
            kept.append(time.perf_counter() - started)
    return [min(kept) for kept in times]


class Pictures(Dataset):
    """What most code does: one PIL image at a time."""

    def __init__(self, records: Records):
        self.images, self.labels = np.ascontiguousarray(records.x.transpose(0, 2, 3, 1)), records.y
        self.change = transforms.Compose(
            [
                transforms.RandomCrop(32, padding=4),
                transforms.RandomHorizontalFlip(),
                transforms.ToTensor(),
            ]
        )

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, i: int) -> tuple[torch.Tensor, int]:
        return self.change(Image.fromarray(self.images[i])), int(self.labels[i])


def pipeline_rows() -> list[tuple]:
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 256, (IMAGES, 3, 32, 32), np.uint8), rng.integers(0, 10, IMAGES)
    records = Records("noise", x, y, 10, scale=(255.0,))
    tensors = to_device(records, torch.device("cpu"))
    loader = DataLoader(
        Pictures(records), BATCH, shuffle=True, num_workers=2, persistent_workers=True
    )
    assert sum(len(labels) for _, labels in loader) == IMAGES  # The first epoch starts the workers.

    def ours(members):
        training = Training(
            None,
            None,
            Recipe(batch_size=BATCH),
            members,
            None,
            None,
            torch.Generator().manual_seed(0),
        )
        return sum(
            len(crop_and_flip(x, generator=training.generator))
            for x, _ in training.batches(members)
        )

    first, again, theirs = fastest(
        lambda: ours(to_device(records, torch.device("cpu"))),
        lambda: ours(tensors),
        lambda: sum(len(images) for images, _ in loader),
    )
    what = f"{IMAGES:,} crops and flips against DataLoader + PIL"
    return [(what, again, theirs, 5), (f"{what}, tensors made anew", first, theirs, 1)]


def write_purchase(home: Path) -> None:
    """A cached file of Purchase100's size, where the loader looks for it."""
    (home / "downloads").mkdir(parents=True)
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 2, PURCHASE, np.uint8), rng.integers(0, 100, PURCHASE[0])
    np.savez(home / "downloads" / "purchase100.npz", x=x, y=y)


def load_row(home: str) -> tuple:
    """Load in new processes, so that nothing is remembered; the megabytes are what loading adds at its peak."""
    runs = [_loaded(home) for _ in range(3)]
    seconds, peak, size = (min(column) for column in zip(*runs, strict=True))
    return (
        f"cached Purchase100 ({size:.0f} MB; peak {peak:.0f} MB) against {LIMIT:.0f} s",
        seconds,
        LIMIT,
        1,
    )


def _loaded(home: str) -> tuple[float, float, float]:
    program = """
import resource, sys, time
from mialib import data
unit = 1 if sys.platform == "darwin" else 1024
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
before, started = peak(), time.perf_counter()
records = data.load("purchase100")
print(time.perf_counter() - started, peak() - before, (records.x.nbytes + records.y.nbytes) / 1e6)
"""
    # A process inherits the peak of the one that starts it, so a small shell stands between this large one and it.
    command = ["sh", "-c", '"$0" -c "$1"; exit $?', sys.executable, program]
    done = subprocess.run(
        command, env={**os.environ, "MIALIB_HOME": home}, check=True, capture_output=True
    )
    seconds, peak, size = map(float, done.stdout.split())
    return seconds, peak, size


def main() -> None:
    print(f"{'what':<68}{'ours':>10}{'theirs':>10}{'ratio':>8}{'aim':>6}")
    for what, ours, theirs, ratio, aim in rows():
        print(f"{what:<68}{ours:>9.4f}s{theirs:>9.4f}s{ratio:>8.1f}{aim:>6}")


if __name__ == "__main__":
    main()
