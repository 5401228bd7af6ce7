"""The datasets of the papers, in the shapes and scales that the papers use.

- `cifar10`, `cifar100` (60,000 × 3 × 32 × 32), standardised as in CRL; with `_past` only divided by 255, as in PAST.
- `svhn` (99,289 × 3 × 32 × 32), without `extra`, divided by 255. Torchvision's train and test are put together.
- `imagenet`, any share × 3 × 224 × 224, standardised, from a folder that you have.
- `purchase100` (197,324 × 600), `texas100` (67,330 × 6,169) and `location30` (5,010 × 446), zeros and ones.

A download is verified before it is used, and kept as `downloads/<name>.npz` under `paths.home()`.
"""

import tempfile
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import BinaryIO

import numpy as np

from mialib import paths
from mialib.data import own
from mialib.data.downloads import Remote, cached, fetch, read_archive
from mialib.data.records import Records

_COMMIT = "169de9de00de049dd2e571cf7279e64698ac046a"
_PLACES = (f"https://github.com/privacytrustlab/datasets/raw/{_COMMIT}", "https://www.comp.nus.edu.sg/~reza/files")
REMOTES = {
    name: Remote(f"dataset_{what}.tgz", checksum, tuple(f"{place}/dataset_{what}.tgz" for place in _PLACES))
    for name, what, checksum in (
        ("purchase100", "purchase", "git-blob:3efa7476ad5ed7ac3e558d28585a186b38fc5f19"),
        ("texas100", "texas", "git-blob:966f7ff40b24cf5912ff84759aab9adb8c25f30e"),
        ("location30", "location", "sha256:927203f85a868f8ee17a0ded1dc61699efe602167beabe34fbf45b4b1de94b33"),
    )
}
# Classes and features of each table, and the file with its features, which has the labels too unless one follows.
TABLES = {
    "purchase100": (100, 600, ["dataset_purchase"]),
    "location30": (30, 446, ["bangkok"]),
    "texas100": (100, 6169, ["texas/100/feats", "texas/100/labels"]),
}

_UNIT = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)
_IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
# Torchvision's name, the classes, and the mean and deviation of each channel in units of 0 … 1.
IMAGES = {
    "cifar10": ("CIFAR10", 10, ((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010))),
    "cifar10_past": ("CIFAR10", 10, _UNIT),
    "cifar100": ("CIFAR100", 100, ((0.5070, 0.4865, 0.4409), (0.2673, 0.2564, 0.2761))),
    "cifar100_past": ("CIFAR100", 100, _UNIT),
    "svhn": ("SVHN", 10, _UNIT),
}


def load(name: str, *, size: int | None = None, seed: int = 0) -> Records:
    """A published dataset, or a random share of it."""
    return _share(name, paths.home() / "downloads", size, seed if size else 0)


PUBLISHED = {name: partial(load, name) for name in (*IMAGES, "imagenet", *TABLES)}


@lru_cache(maxsize=2)
def _share(name: str, folder: Path, size: int | None, seed: int) -> Records:
    if name == "imagenet" and not (folder / name).is_dir():
        expected = f"Unpack it, or put a link to it, so that {folder / name} holds train/<class>/ and val/<class>/."
        raise FileNotFoundError(f"ImageNet must be asked for at image-net.org and is not downloaded here. {expected}")
    if name == "imagenet":
        from torchvision.transforms import CenterCrop, Compose, Resize

        crop = Compose([Resize(256), CenterCrop(224)])
        return replace(own.read_images(folder / name, change=crop, size=size, seed=seed), **_in_pixels(_IMAGENET))
    whole = _whole(name, folder)
    return whole if size is None else whole.take(own.chosen(name, len(whole), size, seed))


@lru_cache(maxsize=1)
def _whole(name: str, folder: Path) -> Records:
    if name in TABLES:
        classes, *_ = TABLES[name]
        return Records(name, **cached(folder / f"{name}.npz", lambda: _table(name, folder)), classes=classes)
    kind, classes, scale = IMAGES[name]
    arrays = cached(folder / f"{kind.lower()}.npz", lambda: _from_torchvision(kind, folder))
    return Records(kind.lower(), **arrays, classes=classes, **_in_pixels(scale))


def _in_pixels(scale: tuple) -> dict[str, tuple[float, ...]]:
    mean, deviation = (tuple(round(255 * value, 4) for value in values) for values in scale)
    return {"shift": mean, "scale": deviation}


def _from_torchvision(kind: str, folder: Path) -> dict[str, np.ndarray]:
    """Use the original files if they lie in `folder`, else download them to a place that is then removed."""
    folder.mkdir(parents=True, exist_ok=True)
    with suppress(RuntimeError):  # Torchvision's word for missing or damaged.
        return _both_parts(kind, folder, download=False)
    with tempfile.TemporaryDirectory(dir=folder, prefix=f".{kind}-") as passing:
        try:
            return _both_parts(kind, Path(passing), download=True)
        except (RuntimeError, OSError) as error:
            advice = f"Connect to the internet and try again, or put the original files into {folder} yourself."
            raise ConnectionError(f"{kind.lower()} could not be downloaded: {error} {advice}") from error


def _both_parts(kind: str, root: Path, *, download: bool) -> dict[str, np.ndarray]:
    """Train and test together: x (n, 3, 32, 32) uint8, y (n,)."""
    from torchvision import datasets

    names = ("train", "test") if kind == "SVHN" else (True, False)
    parts = [getattr(datasets, kind)(root, part, download=download) for part in names]
    x = np.concatenate([part.data for part in parts])
    x = x if kind == "SVHN" else x.transpose(0, 3, 1, 2)  # CIFAR comes as (n, 32, 32, 3)
    y = [part.labels if kind == "SVHN" else part.targets for part in parts]
    return {"x": np.ascontiguousarray(x), "y": np.concatenate(y).astype(np.int64)}


def _table(name: str, folder: Path) -> dict[str, np.ndarray]:
    """Fetch, verify and parse a table of zeros and ones; its labels count from 1."""
    classes, features, files = TABLES[name]
    readers = {files[0]: partial(binary_table, features=features, label=len(files) == 1)}
    readers |= {file: partial(binary_table, features=0) for file in files[1:]}
    found = read_archive(fetch(REMOTES[name], folder), readers)
    arrays = {"x": found[files[0]][0], "y": found[files[-1]][1] - 1}
    Records(name, **arrays, classes=classes)  # Refuses what does not fit, before it is kept.
    return arrays


def binary_table(stream: BinaryIO, *, features: int, label: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Parse rows of a label (if `label`) and `features` zeros and ones: x (n, features) uint8, y (n,) as written."""
    expected = f"Every row should hold {'a label and ' * label}{features} zeros and ones, with commas between"
    try:
        table = np.loadtxt(stream, np.uint8, comments=None, delimiter=",", quotechar='"', ndmin=2)  # (n, 1 + features)
    except ValueError as error:
        raise ValueError(f"{expected}, but {error}") from error
    x, y = np.ascontiguousarray(table[:, int(label) :]), table[:, 0].astype(np.int64) * label
    if table.shape[1] != label + features or x.max(initial=0) > 1 or not len(table):
        found = f"{len(table)} rows of {table.shape[1]} numbers up to {table.max(initial=0)}"
        raise ValueError(f"{expected}; found {found}.")
    return x, y
