"""Speed and memory of the data pipeline.

- an epoch of 32×32 crops and flips against a DataLoader with PIL transforms and two workers, which
  are already up;
- the same, with the conversion of the records to tensors counted in (it is done once for a whole
  training);
- a cached file of Purchase100's size against a limit of 2 seconds, with the memory that loading
  takes at its peak.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

from bench.timing import Row, fastest
from mialib.augment import crop_and_flip
from mialib.course.costs import one_thread
from mialib.data import Records
from mialib.query import to_device

IMAGES = 20_000
BATCH = 128
PURCHASE = (197_324, 600)
LIMIT = 2.0  # seconds


def rows() -> list[Row]:
    with one_thread(), tempfile.TemporaryDirectory() as home:
        write_purchase(Path(home))
        return [*pipeline_rows(), load_row(home)]


class Pictures(Dataset):
    """What most code does: one PIL image at a time."""

    def __init__(self, records: Records):
        self.images = np.ascontiguousarray(records.x.transpose(0, 2, 3, 1))
        self.labels = records.y
        self.change = transforms.Compose(
            [
                transforms.RandomCrop(32, padding=4),
                transforms.RandomHorizontalFlip(),
                transforms.ToTensor(),
            ]
        )

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, i: int) -> tuple[Tensor, int]:
        return self.change(Image.fromarray(self.images[i])), int(self.labels[i])


def pipeline_rows() -> list[Row]:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (IMAGES, 3, 32, 32), np.uint8)
    y = rng.integers(0, 10, IMAGES)
    records = Records("noise", x, y, 10, scale=(255.0,))
    cpu = torch.device("cpu")
    tensors = to_device(records, cpu)
    loader = DataLoader(
        Pictures(records), BATCH, shuffle=True, num_workers=2, persistent_workers=True
    )
    # The first epoch starts the workers.
    assert sum(len(labels) for _, labels in loader) == IMAGES

    again, anew, baseline = fastest(
        lambda: epoch(*tensors),
        lambda: epoch(*to_device(records, cpu)),
        lambda: sum(len(images) for images, _ in loader),
    )
    what = f"{IMAGES:,} crops and flips against DataLoader + PIL"
    return [Row(what, again, baseline, 5), Row(f"{what}, tensors made anew", anew, baseline, 1)]


def epoch(x: Tensor, y: Tensor) -> int:
    """Shuffled batches, cropped and flipped on the device, as `fit` does it."""
    generator = torch.Generator().manual_seed(0)
    seen = 0
    for rows in torch.randperm(len(x), generator=generator).split(BATCH):
        seen += len(crop_and_flip(x[rows], generator=generator)) * (len(y[rows]) > 0)
    return seen


def write_purchase(home: Path) -> None:
    """A cached file of Purchase100's size, where the loader looks for it."""
    (home / "downloads").mkdir(parents=True)
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, PURCHASE, np.uint8)
    y = rng.integers(0, 100, PURCHASE[0])
    np.savez(home / "downloads" / "purchase100.npz", x=x, y=y)


def load_row(home: str) -> Row:
    """Load in new processes, so that nothing is remembered.

    The megabytes are what loading adds at its peak.
    """
    loads = [load_in_a_process(home) for _ in range(3)]
    seconds, peak, size = (min(column) for column in zip(*loads, strict=True))
    what = f"cached Purchase100 ({size:.0f} MB; peak {peak:.0f} MB) against {LIMIT:.0f} s"
    return Row(what, seconds, LIMIT, 1)


PROGRAM = """
import resource, sys, time
from mialib import data
unit = 1 if sys.platform == "darwin" else 1024
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
before, started = peak(), time.perf_counter()
records = data.load("purchase100")
print(time.perf_counter() - started, peak() - before, (records.x.nbytes + records.y.nbytes) / 1e6)
"""


def load_in_a_process(home: str) -> tuple[float, float, float]:
    """Seconds, megabytes at the peak, megabytes of the records."""
    # A process inherits the peak of the one that starts it, so a small shell stands between this
    # large one and it.
    command = ["sh", "-c", '"$0" -c "$1"; exit $?', sys.executable, PROGRAM]
    environment = {**os.environ, "MIALIB_HOME": home}
    done = subprocess.run(command, env=environment, check=True, capture_output=True)
    seconds, peak, size = map(float, done.stdout.split())
    return seconds, peak, size
