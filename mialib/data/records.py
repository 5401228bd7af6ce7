"""`Records`, arrays of (x, y) that know their scale, and how they come from a file or a folder of one's own.

- `.npz`: `x` and `y`, or `x_train`, `y_train`, `x_test`, `y_test`, which are put together. Images may be
  n × height × width (× channels) or n × channels × height × width; `classes` may say how many there are.
- folder: `<class>/*.png` (or jpg, bmp, …), or `train/<class>/…` beside `test/<class>/…` or `val/<class>/…`.

Images of whole numbers 0 … 255 are standardised by the mean and deviation of each channel; anything else is left
as it is. The records carry the name of the file and a hash of their content, never the path."""

import hashlib
import os
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path

import numpy as np
from PIL import Image

from mialib.errors import as_array, refuse

LARGEST = 16 << 30  # bytes of images that are read at once


@dataclass(frozen=True, eq=False)
class Records:
    """n records: `x` (n, features) or (n, channels, height, width), `y` (n,) in 0 … classes − 1. A model sees
    (x − shift) / scale, a pair for each channel. `index`, places in the full dataset, proves that parts share none."""

    name: str
    x: np.ndarray
    y: np.ndarray
    classes: int
    shift: tuple[float, ...] = (0.0,)
    scale: tuple[float, ...] = (1.0,)
    index: np.ndarray | None = None

    def __post_init__(self):
        index = np.arange(np.size(self.y)) if self.index is None else self.index
        for name, values in (("x", self.x), ("y", self.y), ("index", index)):
            view = np.asarray(values).view()
            view.flags.writeable = (
                False  # Loaders share their records, and the fingerprint is computed once.
            )
            object.__setattr__(self, name, view)
        for fault, sentence in _faults(self):
            refuse(fault, f"{self.name}: {sentence}")

    def __len__(self) -> int:
        return len(self.y)

    def take(self, positions: np.ndarray) -> "Records":
        """The records at these positions."""
        return replace(self, x=self.x[positions], y=self.y[positions], index=self.index[positions])

    def scaled(self) -> np.ndarray:
        """What a model sees, as float32."""
        per_channel = (1, -1) + (1,) * (self.x.ndim - 2)
        shift, scale = (
            np.asarray(values, np.float32).reshape(per_channel)
            for values in (self.shift, self.scale)
        )
        return (self.x.astype(np.float32) - shift) / scale

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the records themselves; two datasets with one name can never be confused."""
        about = (self.x.shape, str(self.x.dtype), self.classes, self.shift, self.scale)
        digest = hashlib.sha256(repr(about).encode())
        digest.update(np.ascontiguousarray(self.x).data)
        digest.update(np.ascontiguousarray(self.y, np.int64).data)
        return digest.hexdigest()


def _faults(records: Records) -> Iterator[tuple[bool, str]]:
    """What may be wrong, each with its sentence; a line may rely on those before it."""
    x, y, index, classes = records.x, records.y, records.index, records.classes
    yield (
        x.ndim not in (2, 4),
        f"x must be (n, features) or (n, channels, height, width), found shape {x.shape}.",
    )
    yield (
        x.dtype.kind not in "biuf",
        f"x must hold real numbers, found {x.dtype}. Encode text and categories first.",
    )
    yield (
        y.shape != x.shape[:1],
        f"y must have one label for each of the {len(x)} records, found shape {y.shape}.",
    )
    yield (
        index.shape != y.shape,
        f"index must have one entry for each record, found shape {index.shape}.",
    )
    yield (
        not x.size,
        f"there are no records, or not at least one number in each; found shape {x.shape}. Load more.",
    )
    yield (
        y.dtype.kind not in "iu",
        f"labels must be integers, found {y.dtype}. Convert them with y.astype(int).",
    )
    expected = f"labels must lie in 0 … {classes - 1}, found {y.min()} … {y.max()}."
    yield y.min() < 0 or y.max() >= classes, f"{expected} Labels that start at 1 need y - 1."
    yield (
        x.dtype.kind == "f" and not np.isfinite(x).all(),
        "x has NaN or infinite values. Remove or impute them first.",
    )
    for what, values in (("shift", records.shift), ("scale", records.scale)):
        yield (
            len(values) not in (1, x.shape[1]),
            f"{what} must have 1 or {x.shape[1]} numbers, found {len(values)}.",
        )
    yield (
        0 in records.scale,
        "scale must not be 0. Leave out features that never vary, or scale them by 1.",
    )


def short_name(path: str | Path) -> str:
    """What a dataset is called: its name, or the last part of its path without `.npz`."""
    return os.path.basename(os.path.abspath(path)).removesuffix(".npz")


def drawn(name: str, n: int, size: int | None, seed: int) -> np.ndarray:
    """Positions of `size` among n records, in random order; all of them if `size` is None."""
    refuse(
        (size or 0) > n, f"{name} has {n} records, {size} were asked for. Choose a smaller size."
    )
    return np.random.default_rng(seed).permutation(n)[:size]


@lru_cache(maxsize=2)
def load_own(path: Path, changed: int, size: int | None, seed: int) -> Records:
    """The records at `path`; `size` keeps a random share. A file is read again only when it was `changed` (mtime)."""
    records = read_images(path, size=size, seed=seed) if path.is_dir() else _read_npz(path)
    if records.x.ndim == 4 and records.x.dtype == np.uint8:
        some = records.x[:: max(1, len(records) // 2000)].astype(
            np.float64
        )  # Some 2,000, spread over all.
        mean, deviation = some.mean(axis=(0, 2, 3)).round(1), some.std(axis=(0, 2, 3)).round(1)
        deviation[deviation == 0] = 1
        records = replace(records, shift=tuple(mean.tolist()), scale=tuple(deviation.tolist()))
    return (
        records
        if path.is_dir()
        else records.take(np.sort(drawn(records.name, len(records), size, seed)))
    )


def _read_npz(path: Path) -> Records:
    """Train and test together; images as (n, channels, height, width), as uint8 if nothing is lost, else float32."""
    try:
        with zipfile.ZipFile(path), np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
    except (ValueError, zipfile.BadZipFile) as error:
        raise ValueError(
            f"{path.name} could not be read: {error}. Write plain numbers with np.savez."
        ) from error
    ends = ("",) if "x" in arrays else ("_train", "_test")
    if not {f"{letter}{end}" for letter in "xy" for end in ends} <= arrays.keys():
        expected = f"{path.name} should hold x and y, or x_train, y_train, x_test and y_test"
        raise ValueError(f"{expected}; it holds {', '.join(arrays) or 'nothing'}. Rename them.")
    parts = [as_array(arrays[f"x{end}"], what=f"{path.name}: x") for end in ends]
    if len(kinds := {(part.shape[1:], str(part.dtype)) for part in parts}) > 1:
        raise ValueError(
            f"{path.name}: x_train and x_test must have one shape and type, found {kinds}."
        )
    y = np.concatenate([arrays[f"y{end}"].reshape(-1) for end in ends])
    y = as_array(y, kind="iu", what=f"{path.name}: labels").astype(np.int64)
    if "classes" not in arrays and len(y) and y.min() > 0:
        found = f"{path.name}: labels must start at 0, found {y.min()} … {y.max()}"
        raise ValueError(
            f"{found}. Subtract {y.min()}, or say in an entry `classes` how many there are."
        )
    x = np.concatenate(parts)
    if x.ndim == 4 and (x.shape[1] == x.shape[3] or min(x.shape[1], x.shape[3]) > 4):
        expected = f"{path.name}: images must have 1 to 4 channels, in the second place or the last"
        raise ValueError(
            f"{expected}, but neither is clear in {x.shape}. Write (n, channels, height, width)."
        )
    x = (
        x[:, None]
        if x.ndim == 3
        else x.transpose(0, 3, 1, 2)
        if x.ndim == 4 and x.shape[3] < x.shape[1]
        else x
    )
    small = x.dtype.kind in "biu" and x.min(initial=0) >= 0 and x.max(initial=0) <= 255
    with np.errstate(
        over="ignore"
    ):  # What does not fit becomes infinite, and `Records` refuses it.
        x = np.ascontiguousarray(x, np.uint8 if small else np.float32)
    return Records(short_name(path), x, y, int(arrays.get("classes", y.max(initial=0) + 1)))


def read_images(
    folder: Path, *, change: Callable | None = None, size: int | None = None, seed: int = 0
) -> Records:
    """Decode a folder of images, or a share of it; `change` turns each PIL image into the one that is kept."""
    from torchvision.datasets import ImageFolder

    parts = [folder / name for name in ("train", "test", "val") if (folder / name).is_dir()]
    try:
        sets = [ImageFolder(part) for part in (parts if len(parts) > 1 else [folder])]
    except FileNotFoundError as error:
        raise ValueError(
            f"{folder.name} should hold one folder of images for each class. {error}"
        ) from error
    if any(other.classes != sets[0].classes for other in sets):
        raise ValueError(
            f"In {folder.name}, every part must have the same classes; found {[s.classes for s in sets]}."
        )
    samples = [sample for part in sets for sample in part.samples]
    index = np.sort(drawn(folder.name, len(samples), size, seed))
    files, y = zip(*(samples[i] for i in index), strict=True)
    x = _decoded(folder.name, files, change)
    return Records(short_name(folder), x, np.array(y, np.int64), len(sets[0].classes), index=index)


def _decoded(name: str, files: tuple[str, ...], change: Callable | None) -> np.ndarray:
    """The pixels of all images, if they fit into the memory and together: (n, channels, height, width)."""
    first = _decode(files[0], change)
    if len(files) > (most := LARGEST // first.nbytes):
        needed = (
            f"{len(files):,} images of {name} would take {len(files) * first.nbytes / 2**30:.0f} GB"
        )
        raise ValueError(f"{needed} of memory. Choose a share with size=, at most {most:,}.")
    x = np.empty((len(files), *first.shape), np.uint8)
    with ThreadPoolExecutor() as pool:
        for i, image in enumerate(pool.map(partial(_decode, change=change), files)):
            if image.shape != first.shape:
                found = f"{Path(files[0]).name} is {first.shape} and {Path(files[i]).name} is {image.shape}"
                raise ValueError(
                    f"Images must be all grey or all in colour and of one size, but {found}."
                )
            x[i] = image
    return x


def _decode(file: str, change: Callable | None) -> np.ndarray:
    """An image's pixels: (1, height, width) if it is grey, else (3, height, width)."""
    with Image.open(file) as image:
        if image.mode[0] in "IF":
            raise ValueError(
                f"{Path(file).name} has more than 8 bits a channel ({image.mode}). Save it with 8."
            )
        image = image.convert("L" if image.mode in ("1", "L") else "RGB")
    pixels = np.asarray(change(image) if change else image)
    return pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)
