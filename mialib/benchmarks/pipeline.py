"""An epoch of 32×32 crops and flips beside a DataLoader with PIL transforms and two workers.

The workers are already up. A second row counts the conversion of the records to tensors in, which
is done once for a whole training.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

from mialib.augment import crop_and_flip
from mialib.benchmarks.timing import Row, fastest
from mialib.data import Records
from mialib.query import to_device

IMAGES = 20_000
BATCH = 128
WORKERS = 2
AIM = 5


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
        changed: Any = self.change(Image.fromarray(self.images[i]))
        return changed, int(self.labels[i])


def pipeline_rows(device: torch.device, *, images: int = IMAGES) -> list[Row]:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (images, 3, 32, 32), np.uint8)
    y = rng.integers(0, 10, images)
    records = Records("noise", x, y, 10, scale=(255.0,))
    tensors = to_device(records, device)
    loader = DataLoader(
        Pictures(records), BATCH, shuffle=True, num_workers=WORKERS, persistent_workers=True
    )
    loaded_epoch(loader, device)  # The first epoch starts the workers.

    again, anew, baseline = fastest(
        lambda: epoch(*tensors),
        lambda: epoch(*to_device(records, device)),
        lambda: loaded_epoch(loader, device),
        rounds=3,
        device=device,
    )
    what = f"{images:,} crops and flips against DataLoader + PIL, {WORKERS} workers"
    return [Row(what, again, baseline, AIM), Row(f"{what}, tensors made anew", anew, baseline, 1)]


def loaded_epoch(loader: DataLoader, device: torch.device) -> int:
    """How many images came from the workers to the device."""
    return sum(len(images.to(device)) for images, _ in loader)


def epoch(x: Tensor, y: Tensor) -> int:
    """Shuffled batches, cropped and flipped on the device, as `fit` does it."""
    generator = torch.Generator().manual_seed(0)
    seen = 0
    for rows in torch.randperm(len(x), generator=generator).split(BATCH):
        rows = rows.to(x.device)
        crop_and_flip(x[rows], generator=generator)
        seen += len(y[rows])
    return seen
