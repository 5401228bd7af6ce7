"""Data of one's own: an `.npz`, or a folder of images with one folder a class.

- `.npz`: `x` and `y`, or `x_train`, `y_train`, `x_test`, `y_test`, which are put together. Images may be
  n × height × width (× channels) or n × channels × height × width; `classes` may say how many there are.
- folder: `<class>/*.png` (or jpg, bmp, …), or `train/<class>/…` beside `test/<class>/…` or `val/<class>/…`.

Images of whole numbers 0 … 255 are standardised by the mean and deviation of each channel; anything else is left
as it is. The records carry the name of the file and a hash of their content, never the path.
"""

import os
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
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
    """What a dataset is called: its name, or the last part of its path without `.npz`."""
    return os.path.basename(os.path.abspath(path)).removesuffix(".npz")


def chosen(name: str, n: int, size: int | None, seed: int) -> np.ndarray:
    """Positions of a random share of `size` records, in their order; all of them if `size` is None."""
    if size is not None and size > n:
        raise ValueError(f"{name} has {n} records, {size} were asked for. Choose a smaller size.")
    return np.arange(n) if size is None else np.sort(np.random.default_rng(seed).permutation(n)[:size])


@lru_cache(maxsize=2)
def _load(path: Path, changed: int, size: int | None, seed: int) -> Records:
    if path.is_dir():
        return _standardised(read_images(path, size=size, seed=seed))
    whole = _standardised(_read_npz(path))
    return whole.take(chosen(whole.name, len(whole), size, seed))


def _standardised(records: Records) -> Records:
    """Images with the mean and deviation of each channel, from some 2,000 spread over all; others as they are."""
    if records.x.ndim != 4 or records.x.dtype != np.uint8:
        return records
    some = records.x[:: max(1, len(records) // 2000)].astype(np.float64)
    mean, deviation = some.mean(axis=(0, 2, 3)).round(1), some.std(axis=(0, 2, 3)).round(1)
    return replace(records, shift=tuple(mean.tolist()), scale=tuple(np.where(deviation > 0, deviation, 1.0).tolist()))


def _read_npz(path: Path) -> Records:
    """Train and test together, in the smallest type that holds the numbers."""
    try:
        with zipfile.ZipFile(path), np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
    except (ValueError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path.name} could not be read: {error}. Write plain numbers with np.savez.") from error
    ends = ("",) if "x" in arrays else ("_train", "_test")
    if not {f"{letter}{end}" for letter in "xy" for end in ends} <= arrays.keys():
        expected = f"{path.name} should hold x and y, or x_train, y_train, x_test and y_test"
        raise ValueError(f"{expected}; it holds {', '.join(arrays) or 'nothing'}. Rename them.")
    parts = [arrays[f"x{end}"] for end in ends]
    if len(kinds := {(part.shape[1:], str(part.dtype)) for part in parts}) > 1:
        raise ValueError(f"{path.name}: x_train and x_test must have one shape and type, found {kinds}.")
    x = _arranged(path.name, np.concatenate(parts))
    y = np.concatenate([arrays[f"y{end}"].reshape(-1) for end in ends])
    if "classes" not in arrays and len(y) and y.min() > 0:
        found = f"{path.name}: labels must start at 0, found {y.min()} … {y.max()}"
        raise ValueError(f"{found}. Subtract {y.min()}, or say in an entry `classes` how many there are.")
    y = y.astype(np.int64) if y.dtype.kind in "iu" else y
    return Records(short_name(path), x, y, int(arrays.get("classes", int(y.max(initial=0)) + 1)))


def _arranged(name: str, x: np.ndarray) -> np.ndarray:
    """Images as (n, channels, height, width), and anything as uint8 where nothing is lost by it, else float32."""
    if x.dtype.kind not in "biuf":
        raise ValueError(f"{name}: x must hold numbers, found {x.dtype}. Encode it as integers or floats first.")
    if x.ndim == 4 and (x.shape[1] == x.shape[3] or min(x.shape[1], x.shape[3]) > 4):
        expected = f"{name}: images must have 1 to 4 channels, in the second place or the last"
        raise ValueError(f"{expected}, but neither is clear in {x.shape}. Write (n, channels, height, width).")
    if x.ndim == 3 or (x.ndim == 4 and x.shape[3] < x.shape[1]):
        x = x[:, None] if x.ndim == 3 else x.transpose(0, 3, 1, 2)
    small = x.dtype.kind in "biu" and x.min(initial=0) >= 0 and x.max(initial=0) <= 255
    with np.errstate(over="ignore"):  # What does not fit becomes infinite, and `Records` refuses it.
        return np.ascontiguousarray(x, np.uint8 if small else np.float32)


def read_images(folder: Path, *, change: Callable | None = None, size: int | None = None, seed: int = 0) -> Records:
    """Decode a folder of images, or a share of it; `change` turns each PIL image into the one that is kept."""
    samples, classes = _listing(folder)
    index = chosen(folder.name, len(samples), size, seed)
    files, y = zip(*(samples[i] for i in index), strict=True)
    first = _decode(files[0], change)
    if len(files) > (most := LARGEST // first.nbytes):
        needed = f"{len(files):,} images of {folder.name} would take {len(files) * first.nbytes / 2**30:.0f} GB"
        raise ValueError(f"{needed} of memory. Choose a share with size=, at most {most:,}.")
    x = np.empty((len(files), *first.shape), np.uint8)
    with ThreadPoolExecutor() as pool:
        for i, image in enumerate(pool.map(partial(_decode, change=change), files)):
            if image.shape != first.shape:
                found = f"{Path(files[0]).name} is {first.shape} and {Path(files[i]).name} is {image.shape}"
                raise ValueError(f"Images must be all grey or all in colour and of one size, but {found}.")
            x[i] = image
    return Records(short_name(folder), x, np.array(y, np.int64), classes, index=index)


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
