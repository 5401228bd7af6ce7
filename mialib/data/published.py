"""The datasets of the papers, in the shapes and scales that the papers use.

- `cifar10`, `cifar100` (60,000 × 3 × 32 × 32), standardised as in CRL; with `_past` only divided by 255, as in PAST.
- `svhn` (99,289 × 3 × 32 × 32), without `extra`, divided by 255. Torchvision's train and test are put together.
- `imagenet`, any share × 3 × 224 × 224, standardised, from a folder that you have.
- `purchase100` (197,324 × 600), `texas100` (67,330 × 6,169) and `location30` (5,010 × 446), zeros and ones.

A download is verified before it is used, never unpacked, and kept as `downloads/<name>.npz` under `store.home()`."""

import hashlib
import tarfile
import tempfile
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path, PureWindowsPath
from typing import BinaryIO

import numpy as np

from mialib import store
from mialib.data.records import Records, drawn, read_images
from mialib.errors import refuse

CLASSES = {
    "cifar10": 10,
    "cifar100": 100,
    "svhn": 10,
    "purchase100": 100,
    "texas100": 100,
    "location30": 30,
}
SCALES = dict.fromkeys(("cifar10_past", "cifar100_past", "svhn"), ((0.0,) * 3, (1.0,) * 3)) | {
    "cifar10": ((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)),
    "cifar100": ((0.5070, 0.4865, 0.4409), (0.2673, 0.2564, 0.2761)),
    "imagenet": ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
}  # the mean and deviation of each channel, in units of 0 … 1
TABLES = {  # The features, the archive's checksum, and the file with the features, and the labels unless one follows.
    "purchase100": (600, "git-blob:3efa7476ad5ed7ac3e558d28585a186b38fc5f19", "dataset_purchase"),
    "location30": (
        446,
        "sha256:927203f85a868f8ee17a0ded1dc61699efe602167beabe34fbf45b4b1de94b33",
        "bangkok",
    ),
    "texas100": (
        6169,
        "git-blob:966f7ff40b24cf5912ff84759aab9adb8c25f30e",
        "texas/100/feats",
        "texas/100/labels",
    ),
}


@dataclass(frozen=True)
class Remote:
    """A file elsewhere: its name, its checksum (`sha256:…` or `git-blob:…`) and where it may be had, best first."""

    file: str
    checksum: str
    addresses: tuple[str, ...]


_GITHUB = "https://github.com/privacytrustlab/datasets/raw/169de9de00de049dd2e571cf7279e64698ac046a"
_PLACES = (_GITHUB, "https://www.comp.nus.edu.sg/~reza/files")
_FILES = {name: f"dataset_{name.rstrip('0123456789')}.tgz" for name in TABLES}
REMOTES = {
    k: Remote(file, TABLES[k][1], tuple(f"{place}/{file}" for place in _PLACES))
    for k, file in _FILES.items()
}


def load(name: str, *, size: int | None = None, seed: int = 0) -> Records:
    """A published dataset, or a random share of it."""
    return _share(name, store.home() / "downloads", size, seed if size else 0)


@lru_cache(maxsize=2)
def _share(name: str, folder: Path, size: int | None, seed: int) -> Records:
    if name == "imagenet":
        from torchvision.transforms import CenterCrop, Compose, Resize

        if not (folder / name).is_dir():
            advice = f"Unpack it, or put a link to it, so that {folder / name} holds train/<class>/ and val/<class>/."
            raise FileNotFoundError(
                f"ImageNet must be asked for at image-net.org and is not downloaded here. {advice}"
            )
        records = read_images(
            folder / name, change=Compose([Resize(256), CenterCrop(224)]), size=size, seed=seed
        )
    else:
        whole = _whole(name.removesuffix("_past"), folder)
        records = (
            whole if size is None else whole.take(np.sort(drawn(name, len(whole), size, seed)))
        )
    if name in TABLES:
        return records
    shift, scale = (tuple(round(255 * value, 4) for value in values) for values in SCALES[name])
    return replace(records, shift=shift, scale=scale)


@lru_cache(maxsize=1)
def _whole(name: str, folder: Path) -> Records:
    make = _from_archive if name in TABLES else _from_torchvision
    return Records(
        name, **cached(folder / f"{name}.npz", partial(make, name, folder)), classes=CLASSES[name]
    )


def _from_torchvision(name: str, folder: Path) -> dict[str, np.ndarray]:
    """Use the original files if they lie in `folder`, else download them to a place that is then removed."""
    folder.mkdir(parents=True, exist_ok=True)
    with suppress(RuntimeError):  # Torchvision's word for missing or damaged.
        return _both_parts(name, folder, download=False)
    with tempfile.TemporaryDirectory(dir=folder, prefix=f".{name}-") as passing:
        try:
            return _both_parts(name, passing, download=True)
        except (RuntimeError, OSError) as error:
            advice = f"Connect to the internet and try again, or put the original files into {folder} yourself."
            raise ConnectionError(f"{name} could not be downloaded: {error} {advice}") from error


def _both_parts(name: str, root: str | Path, *, download: bool) -> dict[str, np.ndarray]:
    """Train and test together: x (n, 3, 32, 32) uint8, y (n,)."""
    from torchvision import datasets

    kinds = ("train", "test") if name == "svhn" else (True, False)
    parts = [getattr(datasets, name.upper())(root, kind, download=download) for kind in kinds]
    x = np.concatenate([part.data for part in parts])
    x = x if name == "svhn" else x.transpose(0, 3, 1, 2)  # CIFAR comes as (n, 32, 32, 3)
    y = np.concatenate([part.labels if name == "svhn" else part.targets for part in parts])
    return {"x": np.ascontiguousarray(x), "y": y.astype(np.int64)}


def _from_archive(name: str, folder: Path) -> dict[str, np.ndarray]:
    """Fetch, verify and parse a table of zeros and ones; its labels count from 1."""
    features, _, *files = TABLES[name]
    readers = {files[-1]: partial(binary_table, features=0)}
    readers[files[0]] = partial(binary_table, features=features, label=len(files) == 1)
    found = read_archive(fetch(REMOTES[name], folder), readers)
    arrays = {"x": found[files[0]][0], "y": found[files[-1]][1] - 1}
    Records(name, **arrays, classes=CLASSES[name])  # Refuses what does not fit, before it is kept.
    return arrays


def binary_table(
    stream: BinaryIO, *, features: int, label: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Parse rows of a label (if `label`) and `features` zeros and ones: x (n, features) uint8, y (n,) as written."""
    expected = f"Every row should hold {'a label and ' * label}{features} zeros and ones, with commas between"
    try:
        table = np.loadtxt(
            stream, np.uint8, comments=None, delimiter=",", quotechar='"', ndmin=2
        )  # (n, 1 + features)
    except ValueError as error:
        raise ValueError(f"{expected}, but {error}") from error
    x, y = np.ascontiguousarray(table[:, int(label) :]), table[:, 0].astype(np.int64) * label
    found = f"found {len(table)} rows of {table.shape[1]} numbers up to {table.max(initial=0)}"
    refuse(
        table.shape[1] != label + features or x.max(initial=0) > 1 or not len(table),
        f"{expected}; {found}.",
    )
    return x, y


def read_archive(path: Path, readers: dict[str, Callable[[BinaryIO], tuple]]) -> dict[str, tuple]:
    """Read files of a .tgz, each by its reader; all entries must be plain and stay inside the archive."""
    found, seen = {}, []
    try:
        with tarfile.open(path, "r|gz") as archive:
            for entry in archive:
                place = PureWindowsPath(
                    entry.name
                )  # It knows every way out: both slashes, drives and "..".
                if place.anchor or ".." in place.parts or not (entry.isfile() or entry.isdir()):
                    raise ValueError(
                        f"{path.name} is not safe: {entry.name!r} climbs out or is a link. Delete it."
                    )
                seen.append(name := place.as_posix())
                if name in readers and entry.isfile():
                    found[name] = readers[name](archive.extractfile(entry))
    except (tarfile.ReadError, EOFError, zlib.error) as error:
        raise ValueError(
            f"{path.name} is not a whole .tgz archive: {error}. Delete it and load again."
        ) from error
    if missing := sorted(readers.keys() - found.keys()):
        raise ValueError(
            f"{path.name} should hold {', '.join(missing)}, but holds {', '.join(seen) or 'nothing'}."
        )
    return found


def fetch(remote: Remote, folder: Path) -> Path:
    """Return the verified file in `folder`, from the first address that gives the right one."""
    from pooch import HTTPDownloader
    from tqdm.auto import tqdm

    place, faults = folder / remote.file, []
    for address in (place, *remote.addresses) if place.exists() else remote.addresses:
        try:
            if address is place:
                return verify(place, remote.checksum)
            bar = tqdm(desc=remote.file, total=1, unit="B", unit_scale=True, delay=2, leave=False)
            with bar, atomically(place) as unfinished:
                HTTPDownloader(progressbar=bar, timeout=30)(address, str(unfinished), None)
                verify(unfinished, remote.checksum)
            return place
        except (OSError, ValueError) as error:  # What requests raises is an OSError.
            faults.append(f"{address}: {error}")
    tried = "\n  ".join(
        [
            f"{remote.file} could not be had from any of its {len(remote.addresses)} addresses:",
            *faults,
        ]
    )
    raise ConnectionError(
        f"{tried}\nConnect to the internet and try again, or put the file into {folder} yourself."
    )


def verify(path: Path, checksum: str) -> Path:
    """Return `path` if the file has this checksum, `sha256:…` or Git's name for it, `git-blob:…`; raise if not."""
    content = path.read_bytes()
    blob = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False)
    found = f"sha256:{hashlib.sha256(content).hexdigest()}", f"git-blob:{blob.hexdigest()}"
    wrong = f"{path.name} ({len(content):,} bytes) is not the file that was expected"
    refuse(
        checksum.lower() not in found,
        f"{wrong}: it should be {checksum}, but is {' or '.join(found)}.",
    )
    return path


@contextmanager
def atomically(path: Path) -> Iterator[Path]:
    """Give a path to write, in a folder beside `path`; it takes its place at the end, or vanishes if that is never."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}-") as passing:
        yield (unfinished := Path(passing, path.name))
        unfinished.replace(path)


def cached(path: Path, make: Callable[[], dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """The arrays in `path`, an `.npz` without pickle; if it is missing or damaged, `make` them and write it."""
    if path.exists():
        try:
            with np.load(path, allow_pickle=False) as file:
                return dict(file)
        except (ValueError, EOFError, zipfile.BadZipFile) as error:
            warnings.warn(f"{path.name} is damaged ({error}); it is made again.", stacklevel=2)
    arrays = make()
    with atomically(path) as unfinished, unfinished.open("wb") as file:
        np.savez(file, **arrays)
    return arrays
