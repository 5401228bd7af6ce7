"""The datasets of the papers, in the shapes and scales that the papers use.

- `cifar10`, `cifar100` (60,000 × 3 × 32 × 32), standardised as in CRL; with `_past` only divided by
  255, as in PAST.
- `svhn` (99,289 × 3 × 32 × 32), without `extra`, divided by 255. Torchvision's train and test are
  put together.
- `imagenet`, any share × 3 × 224 × 224, standardised, from a folder that you have.
- `purchase100` (197,324 × 600), `texas100` (67,330 × 6,169) and `location30` (5,010 × 446), zeros
  and ones.

A download is verified before it is used, never unpacked, and kept as `downloads/<name>.npz` under
`store.home()`. From top to bottom: what there is (`SCALES`, `TABLES`, `REMOTES`), `load`, images,
tables, and how a file is fetched and kept.
"""

import hashlib
import tempfile
import warnings
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from mialib import store
from mialib.data.records import Records, drawn, read_images
from mialib.errors import check_choice
from mialib.foreign import (
    atomically,
    listed,
    members_of,
    opened,
    read_arrays,
    write_arrays,
)

# What there is.

CLASSES = {
    "cifar10": 10,
    "cifar100": 100,
    "svhn": 10,
    "purchase100": 100,
    "texas100": 100,
    "location30": 30,
}


class Scale(NamedTuple):
    """The mean and the deviation of each colour, in units of 0 … 1."""

    mean: tuple[float, float, float]
    deviation: tuple[float, float, float]


DIVIDED_BY_255 = Scale(mean=(0.0, 0.0, 0.0), deviation=(1.0, 1.0, 1.0))
SCALES = {
    "cifar10_past": DIVIDED_BY_255,
    "cifar100_past": DIVIDED_BY_255,
    "svhn": DIVIDED_BY_255,
    "cifar10": Scale(mean=(0.4914, 0.4822, 0.4465), deviation=(0.2023, 0.1994, 0.2010)),
    "cifar100": Scale(mean=(0.5070, 0.4865, 0.4409), deviation=(0.2673, 0.2564, 0.2761)),
    "imagenet": Scale(mean=(0.485, 0.456, 0.406), deviation=(0.229, 0.224, 0.225)),
}


@dataclass(frozen=True)
class Table:
    """A table of zeros and ones in an archive.

    features      how many columns of zeros and ones there are
    archive       the archive's file name
    checksum      the archive's, as `sha256:…` or as Git's name for the file, `git-blob:…`
    feature_file  the file in the archive with the features; a label stands before each row of them
    label_file    … unless the labels have this file of their own
    """

    features: int
    archive: str
    checksum: str
    feature_file: str
    label_file: str | None = None


TABLES = {
    "purchase100": Table(
        features=600,
        archive="dataset_purchase.tgz",
        checksum="git-blob:3efa7476ad5ed7ac3e558d28585a186b38fc5f19",
        feature_file="dataset_purchase",
    ),
    "location30": Table(
        features=446,
        archive="dataset_location.tgz",
        checksum="sha256:927203f85a868f8ee17a0ded1dc61699efe602167beabe34fbf45b4b1de94b33",
        feature_file="bangkok",
    ),
    "texas100": Table(
        features=6169,
        archive="dataset_texas.tgz",
        checksum="git-blob:966f7ff40b24cf5912ff84759aab9adb8c25f30e",
        feature_file="texas/100/feats",
        label_file="texas/100/labels",
    ),
}


@dataclass(frozen=True)
class Remote:
    """A file elsewhere: its name, its checksum and where it may be had, the best place first."""

    file: str
    checksum: str
    addresses: tuple[str, ...]


_COMMIT = "169de9de00de049dd2e571cf7279e64698ac046a"
_PLACES = (
    f"https://github.com/privacytrustlab/datasets/raw/{_COMMIT}",
    "https://www.comp.nus.edu.sg/~reza/files",
)


# What the makers' own files or folders are called, by which they are known to lie there.
ORIGINALS = {
    "cifar10": "cifar-10-batches-py",
    "cifar100": "cifar-100-python",
    "svhn": "train_32x32.mat",
    **{name: table.archive for name, table in TABLES.items()},
}


# Where the records come from, and how large they are, as a sentence says it.
ORIGINS = {
    "cifar10": "CIFAR-10 comes from its makers at Toronto by torchvision: 170 MB.",
    "cifar100": "CIFAR-100 comes from its makers at Toronto by torchvision: 169 MB.",
    "svhn": "SVHN comes from its makers at Stanford by torchvision: 246 MB in two files.",
    "imagenet": "ImageNet is had from its makers by registration: some 150 GB of images, as a "
    "folder with one folder per class.",
    "purchase100": "Purchase100 is an archive of the authors of privacy-meter: 197,324 records of "
    "600 columns.",
    "texas100": "Texas100 is an archive of the authors of privacy-meter: 67,330 records of 6,169 "
    "columns.",
    "location30": "Location30 is an archive of the authors of privacy-meter: 5,010 records of 446 "
    "columns.",
}


def origin(name: str) -> str:
    """Where a published dataset comes from, and how large it is, in a sentence.

    >>> origin("cifar10_past")
    'CIFAR-10 comes from its makers at Toronto by torchvision: 170 MB.'
    """
    return ORIGINS[check_choice("dataset", str(name).removesuffix("_past"), ORIGINS)]


def _remote(table: Table) -> Remote:
    addresses = tuple(f"{place}/{table.archive}" for place in _PLACES)
    return Remote(table.archive, table.checksum, addresses)


REMOTES = {name: _remote(table) for name, table in TABLES.items()}


def load(name: str, *, size: int | None = None, seed: int = 0) -> Records:
    """A published dataset, or a random share of it."""
    return _share(name, store.home() / "downloads", size, seed if size else 0)


def is_here(name: str) -> bool:
    """Whether it needs no download: as we keep it, or as its makers publish it."""
    folder = store.home() / "downloads"
    whole = name.removesuffix("_past")
    files = [f"{whole}.npz", ORIGINALS.get(whole, name)]
    return any((folder / file).exists() for file in files)


@lru_cache(maxsize=2)
def _share(name: str, folder: Path, size: int | None, seed: int) -> Records:
    if name == "imagenet":
        records = _imagenet(folder / name, size, seed)
    else:
        records = _whole(name.removesuffix("_past"), folder)
        if size is not None:
            positions = drawn(name, len(records), size, seed)
            records = records.take(np.sort(positions))
    if name in TABLES:
        return records
    scale = SCALES[name]
    return replace(records, shift=_times_255(scale.mean), scale=_times_255(scale.deviation))


def _times_255(numbers: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(round(255 * number, 4) for number in numbers)


@lru_cache(maxsize=1)
def _whole(name: str, folder: Path) -> Records:
    make = _from_archive if name in TABLES else _from_torchvision
    arrays = cached(folder / f"{name}.npz", partial(make, name, folder))
    return Records(name, arrays["x"], arrays["y"], CLASSES[name])


# Images


def _imagenet(folder: Path, size: int | None, seed: int) -> Records:
    """The middle 224 × 224 pixels of each image, after its shorter side was brought to 256."""
    from torchvision.transforms import CenterCrop, Compose, Resize

    if not folder.is_dir():
        raise FileNotFoundError(
            "ImageNet must be asked for at image-net.org and is not downloaded here. "
            f"Unpack it, or put a link to it, so that {folder} holds train/<class>/ and "
            "val/<class>/."
        )
    middle = Compose([Resize(256), CenterCrop(224)])
    return read_images(folder, change=middle, size=size, seed=seed)


def _from_torchvision(name: str, folder: Path) -> dict[str, np.ndarray]:
    """Use the original files if they lie in `folder`; otherwise download them, and keep none."""
    folder.mkdir(parents=True, exist_ok=True)
    with suppress(RuntimeError):  # Torchvision's word for missing or damaged.
        return _both_parts(name, folder, download=False)
    with tempfile.TemporaryDirectory(dir=folder, prefix=f".{name}-") as passing:
        try:
            return _both_parts(name, passing, download=True)
        except (RuntimeError, OSError) as error:
            raise ConnectionError(
                f"{name} could not be downloaded: {error} "
                "Connect to the internet and try again, "
                f"or put the original files into {folder} yourself."
            ) from error


def _both_parts(name: str, root: str | Path, *, download: bool) -> dict[str, np.ndarray]:
    """Train and test together: x (n, 3, 32, 32) uint8, y (n,)."""
    from torchvision import datasets

    if name == "svhn":
        parts: list[Any] = [
            datasets.SVHN(root, part, download=download) for part in ("train", "test")
        ]
        x = np.concatenate([part.data for part in parts])
        y = np.concatenate([part.labels for part in parts])
    else:
        dataset = {"cifar10": datasets.CIFAR10, "cifar100": datasets.CIFAR100}[name]
        parts = [dataset(root, is_train, download=download) for is_train in (True, False)]
        x = np.concatenate([part.data for part in parts]).transpose(0, 3, 1, 2)  # channels first
        y = np.concatenate([part.targets for part in parts])
    return {"x": np.ascontiguousarray(x), "y": y.astype(np.int64)}


# Tables of zeros and ones


def _from_archive(name: str, folder: Path) -> dict[str, np.ndarray]:
    """Fetch, verify and parse a table; its labels count from 1."""
    table = TABLES[name]
    archive = fetch(REMOTES[name], folder)
    if table.label_file is None:
        readers = {table.feature_file: partial(binary_table, features=table.features)}
        contents = read_archive(archive, readers)
        x, labels = contents[table.feature_file]
    else:
        readers = {
            table.feature_file: partial(binary_table, features=table.features, label=False),
            table.label_file: partial(binary_table, features=0),
        }
        contents = read_archive(archive, readers)
        x, _ = contents[table.feature_file]
        _, labels = contents[table.label_file]
    y = labels - 1
    Records(name, x, y, CLASSES[name])  # Refuses what does not fit, before it is kept.
    return {"x": x, "y": y}


class Rows(NamedTuple):
    """The rows of a table."""

    x: np.ndarray  # (n, features) uint8
    y: np.ndarray  # (n,): the labels as they are written, or zeros


def binary_table(stream: BinaryIO, *, features: int, label: bool = True) -> Rows:
    """Parse rows of a label (if `label`) and `features` zeros and ones."""
    columns = f"a label and {features}" if label else f"{features}"
    expected = f"Every row should hold {columns} zeros and ones, with commas between"
    try:
        # (n, 1 + features)
        table = np.loadtxt(stream, np.uint8, comments=None, delimiter=",", quotechar='"', ndmin=2)
    except ValueError as error:
        raise ValueError(f"{expected}, but {error}") from error
    first = 1 if label else 0
    x = np.ascontiguousarray(table[:, first:])
    is_binary = x.max(initial=0) <= 1
    if len(table) == 0 or table.shape[1] != first + features or not is_binary:
        raise ValueError(
            f"{expected}; found {len(table)} rows of {table.shape[1]} numbers "
            f"up to {table.max(initial=0)}."
        )
    y = table[:, 0].astype(np.int64) if label else np.zeros(len(table), np.int64)
    return Rows(x, y)


Reader = Callable[[BinaryIO], Rows]


def read_archive(path: Path, readers: Mapping[str, Reader]) -> dict[str, Rows]:
    """Read files of a .tgz, each by its reader; all entries must stay inside the archive."""
    contents = {}
    names = []
    try:
        for name, stream in members_of(path):
            names.append(name)
            if name in readers:
                contents[name] = readers[name](stream)  # type: ignore[arg-type]
    except (EOFError, zlib.error) as error:  # While a reader reads.
        raise ValueError(
            f"{path.name} is not a whole .tgz archive: {error}. Delete it and load again."
        ) from error
    missing = sorted(readers.keys() - contents.keys())
    if missing:
        raise ValueError(
            f"{path.name} should hold {', '.join(missing)}, but holds {listed(names)}."
        )
    return contents


# How a file is fetched and kept.


def fetch(remote: Remote, folder: Path) -> Path:
    """Return the verified file in `folder`, from the first address that gives the right one."""
    place = folder / remote.file
    faults = []
    if place.exists():
        try:
            return verify(place, remote.checksum)
        except (OSError, ValueError) as error:
            faults.append(f"{place}: {error}")
    for address in remote.addresses:
        try:
            return _download(address, place, remote.checksum)
        except (OSError, ValueError) as error:  # What requests raises is an OSError.
            faults.append(f"{address}: {error}")
    tried = "".join(f"\n  {fault}" for fault in faults)
    raise ConnectionError(
        f"{remote.file} could not be had from any of its {len(remote.addresses)} addresses:"
        f"{tried}\n"
        f"Connect to the internet and try again, or put the file into {folder} yourself."
    )


def _download(address: str, place: Path, checksum: str) -> Path:
    """Download one file; it takes its place when it is verified, and not before."""
    from pooch import HTTPDownloader
    from tqdm.auto import tqdm

    bar: Any = tqdm(desc=place.name, total=1, unit="B", unit_scale=True, delay=2, leave=False)
    place.parent.mkdir(parents=True, exist_ok=True)
    with bar, atomically(place) as unfinished:
        HTTPDownloader(progressbar=bar, timeout=30)(address, str(unfinished), None)
        verify(unfinished, checksum)
    return place


def verify(path: Path, checksum: str) -> Path:
    """Return `path` if the file has this checksum, `sha256:…` or Git's own `git-blob:…`."""
    size = path.stat().st_size
    blob = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    with opened(path) as file:
        sha256 = hashlib.file_digest(file, "sha256")
        file.seek(0)
        hashlib.file_digest(file, lambda: blob)
    found = (f"sha256:{sha256.hexdigest()}", f"git-blob:{blob.hexdigest()}")
    if checksum.lower() not in found:
        raise ValueError(
            f"{path.name} ({size:,} bytes) is not the file that was expected: "
            f"it should be {checksum}, but is {' or '.join(found)}."
        )
    return path


def cached(path: Path, make: Callable[[], dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """The arrays in `path`, an `.npz` without pickle.

    If it is missing or damaged, they are made and written.
    """
    if path.exists():
        try:
            return read_arrays(path)
        except ValueError as error:
            warnings.warn(f"{path.name} is damaged ({error}); it is made again.", stacklevel=2)
    arrays = make()
    path.parent.mkdir(parents=True, exist_ok=True)
    write_arrays(path, arrays)
    return arrays
