"""Data of one's own: an `.npz`, or a folder of images with one folder a class.

- `.npz`: `x` and `y`, or `x_train`, `y_train`, `x_test`, `y_test`, which are put together. Images may be
  n × height × width (× channels) or n × channels × height × width; `classes` may say how many there are.
- folder: `<class>/*.png` (or jpg, bmp, …), or `train/<class>/…` beside `test/<class>/…` or `val/<class>/…`.

    >>> from mialib import data
    >>> mine = data.load("../photos.npz", size=10_000)          # doctest: +SKIP

Images of whole numbers 0 … 255 are standardised by the mean and deviation of each channel; anything else is left
as it is. The records carry the name of the file and a hash of their content, never the path.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from mialib.data.records import Records

LARGEST = 16 << 30  # bytes of images that are read at once


def load(path: str | Path, *, size: int | None = None, seed: int = 0) -> Records:
    """The records at `path`; `size` keeps a random share. A file is read again only if it has changed."""
    path = Path(os.path.abspath(os.path.expanduser(path)))
    return _load(path, path.stat().st_mtime_ns, size, seed if size else 0)


def short_name(path: str | Path) -> str:
    """What a dataset is called: its name, or the last part of its path.

    >>> short_name("/home/me/photos.npz"), short_name("cifar10")
    ('photos', 'cifar10')
    """
    return os.path.basename(os.path.abspath(path)).removesuffix(".npz")


def chosen(name: str, n: int, size: int | None, seed: int) -> np.ndarray:
    """Positions of a random share of `size` records, in their order; all of them if `size` is None."""
    if size is not None and size > n:
        raise ValueError(f"{name} has {n} records, {size} were asked for. Choose a smaller size.")
    return np.arange(n) if size is None else np.sort(np.random.default_rng(seed).permutation(n)[:size])


@lru_cache(maxsize=2)
def _load(path: Path, changed: int, size: int | None, seed: int) -> Records:
    name = short_name(path)
    if path.is_dir():
        x, y, index, classes = read_images(path, size=size, seed=seed)
        return Records(name, x, y, classes, *_standard(x), index)
    x, y, classes = _read_npz(path)
    return Records(name, x, y, classes, *_standard(x)).take(chosen(name, len(y), size, seed))


def _standard(x: np.ndarray) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Shift and scale of each channel, from some 2,000 images spread over all; (0,) and (1,) for other records."""
    if x.ndim != 4 or x.dtype != np.uint8 or not x.size:
        return (0.0,), (1.0,)
    some = x[:: max(1, len(x) // 2000)].astype(np.float64)
    mean, deviation = some.mean(axis=(0, 2, 3)).round(1), some.std(axis=(0, 2, 3)).round(1)
    return tuple(mean.tolist()), tuple(np.where(deviation > 0, deviation, 1.0).tolist())


def _read_npz(path: Path) -> tuple[np.ndarray, np.ndarray, int]:
    """x as (n, features) or (n, channels, height, width), y and the number of classes."""
    try:
        with zipfile.ZipFile(path), np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
    except (ValueError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path.name} could not be read: {error}. Write plain numbers with np.savez.") from error
    ends = ("",) if "x" in arrays else ("_train", "_test")
    if not {f"{letter}{end}" for letter in "xy" for end in ends} <= arrays.keys():
        raise ValueError(
            f"{path.name} should hold x and y, or x_train, y_train, x_test and y_test; it holds "
            f"{', '.join(arrays) or 'nothing'}. Rename them."
        )
    parts = [arrays[f"x{end}"] for end in ends]
    if len(kinds := {(part.shape[1:], str(part.dtype)) for part in parts}) > 1:
        raise ValueError(f"{path.name}: x_train and x_test must have one shape and type, found {kinds}.")
    x = _channels_first(path.name, np.concatenate(parts))
    y = np.concatenate([arrays[f"y{end}"].reshape(-1) for end in ends])
    y = y.astype(np.int64) if np.issubdtype(y.dtype, np.integer) else y
    if "classes" not in arrays and len(y) and y.min() > 0:
        raise ValueError(
            f"{path.name}: labels must start at 0, found {y.min()} … {y.max()}. Subtract {y.min()} from y, or say "
            "in an entry `classes` how many classes there are."
        )
    return _compact(path.name, x), y, int(arrays.get("classes", int(y.max(initial=0)) + 1))


def _compact(name: str, x: np.ndarray) -> np.ndarray:
    """uint8 where nothing is lost by it, else float32."""
    if x.dtype == bool or (np.issubdtype(x.dtype, np.integer) and x.size and x.min() >= 0 and x.max() <= 255):
        return np.ascontiguousarray(x, np.uint8)
    if not np.issubdtype(x.dtype, np.integer) and not np.issubdtype(x.dtype, np.floating):
        raise ValueError(f"{name}: x must hold numbers, found {x.dtype}. Encode it as integers or floats first.")
    with np.errstate(over="ignore"):  # What does not fit becomes infinite, and `Records` refuses it.
        return np.ascontiguousarray(x, np.float32)


def _channels_first(name: str, x: np.ndarray) -> np.ndarray:
    """A view as (n, channels, height, width) of images that may have their channels last, or none."""
    if x.ndim != 4:
        return x[:, None] if x.ndim == 3 else x
    first, last = x.shape[1], x.shape[3]
    if first == last or min(first, last) > 4:
        raise ValueError(
            f"{name}: images must have 1 to 4 channels, in the second place or the last; found shape {x.shape}, where "
            "neither is clear. Write them as (n, channels, height, width) with fewer channels than pixels."
        )
    return x if first < last else x.transpose(0, 3, 1, 2)


def read_images(
    folder: Path, *, change: Callable | None = None, size: int | None = None, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Decode a folder of images, or a share of it: x (n, channels, height, width), y (n,), index (n,), classes.

    `change` turns each PIL image into the one that is kept, such as a crop of it.
    """
    samples, classes = _listing(folder)
    index = chosen(folder.name, len(samples), size, seed)
    files, y = zip(*(samples[i] for i in index), strict=True)
    first = _decode(files[0], change)
    if len(files) * first.nbytes > LARGEST:
        raise ValueError(
            f"{len(files):,} images of {folder.name} would take {len(files) * first.nbytes / 2**30:.0f} GB of memory. "
            f"Choose a share with size=, at most {LARGEST // first.nbytes:,}."
        )
    x = np.empty((len(files), *first.shape), np.uint8)
    with ThreadPoolExecutor() as pool:
        for i, image in enumerate(pool.map(partial(_decode, change=change), files)):
            if image.shape != first.shape:
                raise ValueError(
                    f"Images must be all grey or all in colour and of one size, but {Path(files[0]).name} is "
                    f"{first.shape} and {Path(files[i]).name} is {image.shape}. Convert them first."
                )
            x[i] = image
    return x, np.array(y, np.int64), index, classes


def _listing(folder: Path) -> tuple[list[tuple[str, int]], int]:
    """Every image with its label, and the number of classes."""
    from torchvision.datasets import ImageFolder

    parts = [folder / name for name in ("train", "test", "val") if (folder / name).is_dir()]
    try:
        sets = [ImageFolder(part) for part in (parts if len(parts) > 1 else [folder])]
    except FileNotFoundError as error:
        raise ValueError(f"{folder.name} should hold one folder of images for each class. {error}") from error
    if any(other.classes != sets[0].classes for other in sets):
        raise ValueError(f"In {folder.name}, every part must have the same classes; found {[s.classes for s in sets]}.")
    return [sample for part in sets for sample in part.samples], len(sets[0].classes)


def _decode(file: str, change: Callable | None) -> np.ndarray:
    """An image's pixels: (1, height, width) if it is grey, else (3, height, width)."""
    from PIL import Image

    with Image.open(file) as image:
        if image.mode[0] in "IF":
            raise ValueError(f"{Path(file).name} has more than 8 bits a channel ({image.mode}). Save it with 8.")
        image = image.convert("L" if image.mode in ("1", "L") else "RGB")
    pixels = np.asarray(change(image) if change else image)
    return pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)
