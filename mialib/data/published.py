"""The datasets of the papers, in the shapes and scales that the papers use.

| name | from | records | scale |
|---|---|---|---|
| `cifar10`, `cifar100` | torchvision, train and test together | 60,000 × 3 × 32 × 32 | mean and deviation (CRL) |
| `cifar10_past`, `cifar100_past` | the same | the same | divided by 255, no more (PAST) |
| `svhn` | torchvision, train and test, without `extra` | 99,289 × 3 × 32 × 32 | divided by 255 (CRL) |
| `imagenet` | a folder that you have | any share × 3 × 224 × 224 | mean and deviation (PAST) |
| `purchase100` | privacytrustlab/datasets | 197,324 × 600 binary | none |
| `texas100` | privacytrustlab/datasets | 67,330 × 6,169 binary | none |
| `location30` | privacytrustlab/datasets | 5,010 × 446 binary | none |

    >>> from mialib import data
    >>> purchase = data.load("purchase100", size=20_000)        # doctest: +SKIP

A download is verified before it is used, and kept as `downloads/<name>.npz` under `paths.home()`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import lru_cache, partial, wraps
from pathlib import Path
from typing import BinaryIO

import numpy as np

from mialib import paths
from mialib.data import own
from mialib.data.downloads import Remote, cached, fetch, read_archive
from mialib.data.records import Records

Arrays = dict[str, np.ndarray]

_COMMIT = "169de9de00de049dd2e571cf7279e64698ac046a"
_PLACES = (f"https://github.com/privacytrustlab/datasets/raw/{_COMMIT}", "https://www.comp.nus.edu.sg/~reza/files")


def _remote(file: str, checksum: str) -> Remote:
    return Remote(file, checksum, tuple(f"{place}/{file}" for place in _PLACES))


REMOTES = {
    "purchase100": _remote("dataset_purchase.tgz", "git-blob:3efa7476ad5ed7ac3e558d28585a186b38fc5f19"),
    "texas100": _remote("dataset_texas.tgz", "git-blob:966f7ff40b24cf5912ff84759aab9adb8c25f30e"),
    "location30": _remote(
        "dataset_location.tgz", "sha256:927203f85a868f8ee17a0ded1dc61699efe602167beabe34fbf45b4b1de94b33"
    ),
}

# Mean and deviation of each channel, in units of 0 … 1.
CIFAR10 = (0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)
CIFAR100 = (0.5070, 0.4865, 0.4409), (0.2673, 0.2564, 0.2761)
IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
UNIT = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)


def _remembered(load: Callable[[], Records]) -> Callable[..., Records]:
    """Let a loader of a whole dataset keep a random share of it, and give the same object when asked again."""

    @lru_cache(maxsize=1)
    def whole(home: Path) -> Records:
        return load()

    @lru_cache(maxsize=2)
    def share(home: Path, size: int | None, seed: int) -> Records:
        return whole(home) if size is None else own.random_share(whole(home), size, seed)

    @wraps(load)
    def loader(*, size: int | None = None, seed: int = 0) -> Records:
        return share(paths.home(), size, seed if size else 0)

    loader.forget = lambda: (whole.cache_clear(), share.cache_clear())
    return loader


@_remembered
def cifar10() -> Records:
    """CIFAR-10, standardised as in CRL's code."""
    return _images("cifar10", partial(_cifar_arrays, "CIFAR10"), 10, CIFAR10)


@_remembered
def cifar10_past() -> Records:
    """CIFAR-10 divided by 255 and no more, as in PAST's code."""
    return _images("cifar10", partial(_cifar_arrays, "CIFAR10"), 10, UNIT)


@_remembered
def cifar100() -> Records:
    """CIFAR-100, standardised as in CRL's code."""
    return _images("cifar100", partial(_cifar_arrays, "CIFAR100"), 100, CIFAR100)


@_remembered
def cifar100_past() -> Records:
    """CIFAR-100 divided by 255 and no more, as in PAST's code."""
    return _images("cifar100", partial(_cifar_arrays, "CIFAR100"), 100, UNIT)


@_remembered
def svhn() -> Records:
    """House numbers, divided by 255 and no more, as in CRL's code."""
    return _images("svhn", _svhn_arrays, 10, UNIT)


@_remembered
def purchase100() -> Records:
    """Baskets of 600 items; the 100 classes are clusters."""
    return _table("purchase100", {"dataset_purchase": partial(binary_table, features=600)}, classes=100)


@_remembered
def location30() -> Records:
    """Visits to 446 places and kinds of place in Bangkok; the 30 classes are clusters."""
    return _table("location30", {"bangkok": partial(binary_table, features=446)}, classes=30)


@_remembered
def texas100() -> Records:
    """Hospital stays in Texas, 6,169 binary features; the classes are the 100 commonest procedures."""
    readers = {
        "texas/100/feats": partial(binary_table, features=6169, label=False),
        "texas/100/labels": partial(binary_table, features=0),
    }
    return _table("texas100", readers, classes=100)


def imagenet(*, size: int | None = None, seed: int = 0) -> Records:
    """A share of ImageNet from `downloads/imagenet` (train/<class>/… and val/<class>/…), 224 pixels square."""
    folder = downloads() / "imagenet"
    if not folder.is_dir():
        raise FileNotFoundError(
            f"ImageNet must be asked for at image-net.org, so it cannot be downloaded here. Expected {folder} with "
            "train/<class>/ and val/<class>/ inside: unpack it there, or put a link to where it is."
        )
    return _imagenet(folder, size, seed if size else 0)


@lru_cache(maxsize=1)
def _imagenet(folder: Path, size: int | None, seed: int) -> Records:
    from torchvision.transforms import CenterCrop, Compose, Resize

    crop = Compose([Resize(256), CenterCrop(224)])
    x, y, index, classes = own.read_images(folder, change=crop, size=size, seed=seed)
    return Records("imagenet", x, y, classes, *_in_pixels(IMAGENET), index)


PUBLISHED = {
    "cifar10": cifar10,
    "cifar10_past": cifar10_past,
    "cifar100": cifar100,
    "cifar100_past": cifar100_past,
    "svhn": svhn,
    "imagenet": imagenet,
    "purchase100": purchase100,
    "texas100": texas100,
    "location30": location30,
}


def downloads() -> Path:
    """Where downloads are kept."""
    return paths.home() / "downloads"


# Images, by torchvision


def _images(name: str, make: Callable[[Path, bool], Arrays], classes: int, scale: tuple) -> Records:
    arrays = cached(downloads() / f"{name}.npz", lambda: _from_torchvision(name, make))
    return Records(name, arrays["x"], arrays["y"], classes, *_in_pixels(scale))


def _in_pixels(scale: tuple) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(round(255 * value, 4) for value in values) for values in scale)


def _from_torchvision(name: str, make: Callable[[Path, bool], Arrays]) -> Arrays:
    """Use the original files if they lie in `downloads`, else download them to a folder that is then removed."""
    folder = downloads()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        return make(folder, False)
    except RuntimeError:  # Torchvision's word for missing or damaged.
        pass
    with tempfile.TemporaryDirectory(dir=folder, prefix=f".{name}-") as passing:
        try:
            return make(Path(passing), True)
        except (RuntimeError, OSError) as error:
            raise ConnectionError(
                f"{name} could not be downloaded: {error} Connect to the internet and try again, or put the original "
                f"files into {folder} yourself."
            ) from error


def _cifar_arrays(kind: str, root: Path, download: bool) -> Arrays:
    from torchvision import datasets

    parts = [getattr(datasets, kind)(root, train, download=download) for train in (True, False)]
    x = np.concatenate([part.data for part in parts]).transpose(0, 3, 1, 2)  # (n, 32, 32, 3) → (n, 3, 32, 32)
    return {"x": np.ascontiguousarray(x), "y": np.concatenate([part.targets for part in parts])}


def _svhn_arrays(root: Path, download: bool) -> Arrays:
    from torchvision import datasets

    parts = [datasets.SVHN(root, part, download=download) for part in ("train", "test")]
    x = np.ascontiguousarray(np.concatenate([part.data for part in parts]))
    return {"x": x, "y": np.concatenate([part.labels for part in parts])}


# Tables of zeros and ones, from privacytrustlab/datasets


def _table(name: str, readers: dict[str, Callable], classes: int) -> Records:
    """`readers` parse files of the archive; the first has the features and the last the labels, counted from 1."""

    def make() -> Arrays:
        found = read_archive(fetch(REMOTES[name], downloads()), readers)
        files = list(readers)
        arrays = {"x": found[files[0]][0], "y": found[files[-1]][1] - 1}
        Records(name, **arrays, classes=classes)  # Refuses what does not fit, before it is kept.
        return arrays

    return Records(name, **cached(downloads() / f"{name}.npz", make), classes=classes)


def binary_table(stream: BinaryIO, *, features: int, label: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Parse rows of a label (if `label`) and `features` zeros and ones: x (n, features) uint8, y (n,) as written.

    >>> import io
    >>> x, y = binary_table(io.BytesIO(b"7,0,1,1\\n12,1,0,0\\n"), features=3)
    >>> x.tolist(), y.tolist()
    ([[0, 1, 1], [1, 0, 0]], [7, 12])
    """
    expected = f"Every row should hold {'a label and ' * label}{features} zeros and ones, with commas between"
    try:
        table = np.loadtxt(stream, np.uint8, comments=None, delimiter=",", quotechar='"', ndmin=2)  # (n, 1 + features)
    except ValueError as error:
        raise ValueError(f"{expected}, but {error}") from error
    x, y = np.ascontiguousarray(table[:, int(label) :]), table[:, 0].astype(np.int64) * label
    if table.shape[1] != label + features or x.max(initial=0) > 1 or not len(table):
        raise ValueError(
            f"{expected}; found {len(table)} rows of {table.shape[1]} numbers up to {table.max(initial=0)}."
        )
    return x, y
