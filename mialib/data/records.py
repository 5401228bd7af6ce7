"""`Records`: arrays of (x, y) that know their scale; and reading them from files of one's own.

    mine = Records("mine", x, y, classes=2)     # arrays that are there already
    mine.take([0, 5]).scaled()                  # what a model sees of two of them
    load_own(Path("photos.npz"), …)             # what `mialib.data.load("photos.npz")` calls

Files of one's own are

- an `.npz` with `x` and `y`, or with `x_train`, `y_train`, `x_test`, `y_test`, which are put
  together. Images may be n × height × width (× channels) or n × channels × height × width; an entry
  `classes` may say how many there are.
- a folder `<class>/*.png` (or jpg, bmp, …), or `train/<class>/…` beside `test/<class>/…` or
  `val/<class>/…`.

Images of whole numbers 0 … 255 are standardised by the mean and deviation of each channel; anything
else is left as it is. The records carry the name of the file and a hash of their content, never the
path.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from PIL import Image

from mialib.errors import as_array, as_path, check_range, plain_number, plain_tuple
from mialib.foreign import check_unpacked, listed, opened, read_arrays, shown
from mialib.signals import as_rows

LARGEST = 16 << 30  # bytes of images that are read or drawn at once
SAMPLED = 2000  # images whose mean and deviation stand for those of all
MOST_CHANNELS = 4
MOST_PIXELS = 89_000_000  # of one image; the largest photograph of ImageNet has 61 million
# How image files end, and what may stand in them. Pillow knows more kinds, some of which it hands
# to other programs.
IMAGES = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")
FORMATS = ("JPEG", "PNG", "PPM", "BMP", "TIFF", "WEBP")
ANY_KIND = "biufcOSU"  # of NumPy's arrays; what x may not hold is refused with advice of its own


@dataclass(frozen=True, eq=False)
class Records:
    """n records of one dataset. A model sees (x − shift) / scale.

    name     what the dataset is called
    x        (n, features) or (n, channels, height, width)
    y        (n,): labels in 0 … classes − 1
    classes  how many classes there are, also those without a record here
    shift    what is subtracted: one number, or one for each channel or feature
    scale    what is divided by, likewise
    index    (n,): each record's place in the full dataset; 0 … n − 1 unless told. Two parts that
             were taken from one dataset share a record if they have a place in common.
    """

    name: str
    x: np.ndarray
    y: np.ndarray
    classes: int
    shift: tuple[float, ...] = (0.0,)
    scale: tuple[float, ...] = (1.0,)
    index: np.ndarray = None  # type: ignore[assignment]  # set below
    _dataset: object = field(init=False, repr=False)  # one object for all parts of a dataset

    def __post_init__(self):
        if not isinstance(self.name, str):
            raise ValueError(f"The name of a dataset must be a text, found {self.name!r}.")
        self._set("x", as_array(self.x, kind=ANY_KIND, what=self._what("x")))
        self._set("y", as_array(self.y, kind="iu", what=self._what("labels")))
        positions = np.arange(np.size(self.y)) if self.index is None else self.index
        self._set("index", as_array(positions, kind="iu", what=self._what("index")))
        for column in ("x", "y", "index"):
            # Loaders share their records, and the fingerprint is computed once.
            self._set(column, _read_only(getattr(self, column)))
        self._set("classes", plain_number(self.classes))
        self._set("shift", _one_or_more(self.shift))
        self._set("scale", _one_or_more(self.scale))
        self._set("_dataset", object())
        _check_arrays(self)
        _check_labels(self)
        _check_scale(self)

    def _set(self, name: str, value: object) -> None:
        """Set a field of these frozen records; only while they are made."""
        object.__setattr__(self, name, value)

    def _what(self, column: str) -> str:
        return f"{self.name}: {column}"

    def __len__(self) -> int:
        return len(self.y)

    def take(self, positions: ArrayLike | slice) -> Records:
        """The records at these positions, or where a mask is True."""
        rows = as_rows(positions, len(self), what=self._what("positions"))
        part = replace(self, x=self.x[rows], y=self.y[rows], index=self.index[rows])
        part._set("_dataset", self._dataset)
        return part

    def is_of_one_dataset_with(self, other: Records) -> bool:
        """Whether both were taken from the same `Records`, so that their places can be compared."""
        if not isinstance(other, Records):
            raise ValueError(f"Expected Records, found {type(other).__name__}.")
        return self._dataset is other._dataset

    def scaled(self) -> np.ndarray:
        """What a model sees, as float32."""
        per_channel = (1, -1) + (1,) * (self.x.ndim - 2)
        shift = np.asarray(self.shift, np.float32).reshape(per_channel)
        scale = np.asarray(self.scale, np.float32).reshape(per_channel)
        return (self.x.astype(np.float32) - shift) / scale

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the records themselves; two datasets with one name can never be confused."""
        about = (self.x.shape, str(self.x.dtype), self.classes, self.shift, self.scale)
        digest = hashlib.sha256(repr(about).encode())
        digest.update(np.ascontiguousarray(self.x).data)
        digest.update(np.ascontiguousarray(self.y, np.int64).data)
        return digest.hexdigest()

    @cached_property
    def content_hashes(self) -> np.ndarray:
        """A hash of each record's x, by which equal records are found in two datasets: (n,)."""
        return row_hashes(self.x)


def row_hashes(x: np.ndarray) -> np.ndarray:
    """A 64-bit hash of each row's bytes: (n,). 50,000 CIFAR images take a quarter of a second."""
    digests = [hashlib.blake2b(np.ascontiguousarray(row).data, digest_size=8).digest() for row in x]
    return np.frombuffer(b"".join(digests), np.uint64)


def _read_only(values: np.ndarray) -> np.ndarray:
    """The same numbers in a view that cannot be written; the caller's own array still can."""
    view = values.view()
    view.flags.writeable = False
    return view


def _one_or_more(numbers: Any) -> Any:
    """One number as a tuple of one; lists and arrays as tuples."""
    numbers = plain_tuple(numbers)
    return numbers if isinstance(numbers, tuple) else (numbers,)


def _check_arrays(records: Records) -> None:
    """Refuse shapes that do not belong together and numbers that no model can take."""
    name = records.name
    x = records.x
    y = records.y
    if x.ndim not in (2, 4):
        raise ValueError(
            f"{name}: x must be (n, features) or (n, channels, height, width), "
            f"found shape {x.shape}."
        )
    if x.dtype.kind not in "biuf":
        raise ValueError(
            f"{name}: x must hold real numbers, found {x.dtype}. Encode text and categories first."
        )
    if y.shape != x.shape[:1]:
        raise ValueError(
            f"{name}: y must have one label for each of the {len(x)} records, "
            f"found shape {y.shape}."
        )
    if records.index.shape != y.shape:
        raise ValueError(
            f"{name}: index must have one entry for each record, found shape {records.index.shape}."
        )
    if x.size == 0:
        raise ValueError(
            f"{name}: there are no records, or not at least one number in each; "
            f"found shape {x.shape}. Load more."
        )
    if x.dtype.kind == "f" and not _fits_float32(x):
        raise ValueError(
            f"{name}: x has NaN or infinite values, or some too large for float32. "
            "Remove or impute them first."
        )


def _fits_float32(x: np.ndarray) -> bool:
    limit = np.finfo(np.float32).max
    # A NaN makes both comparisons False. No array of the size of x is made.
    return bool(x.min() >= -limit and x.max() <= limit)


def _check_labels(records: Records) -> None:
    y = records.y
    check_range(1, np.inf, whole=True, classes=records.classes)
    if y.min() < 0 or y.max() >= records.classes:
        raise ValueError(
            f"{records.name}: labels must lie in 0 … {records.classes - 1}, "
            f"found {y.min()} … {y.max()}. Labels that start at 1 need y - 1."
        )


def _check_scale(records: Records) -> None:
    features = records.x.shape[1]
    for what, numbers in (("shift", records.shift), ("scale", records.scale)):
        named: dict[str, Any] = {what: numbers}
        check_range(-np.inf, np.inf, many=True, **named)
        if len(numbers) not in (1, features):
            raise ValueError(
                f"{records.name}: {what} must have 1 or {features} numbers, found {len(numbers)}."
            )
    if 0 in records.scale:
        raise ValueError(
            f"{records.name}: scale must not be 0. "
            "Leave out features that never vary, or scale them by 1."
        )


def short_name(path: str | Path) -> str:
    """What a dataset is called: its name, or the last part of its path without `.npz`."""
    return os.path.basename(os.path.abspath(as_path(path))).removesuffix(".npz")


def drawn(name: str, n: int, size: int | None, seed: int) -> np.ndarray:
    """Positions of `size` among n records, in random order; all of them if `size` is None."""
    if size is not None and size > n:
        raise ValueError(f"{name} has {n} records, {size} were asked for. Choose a smaller size.")
    return np.random.default_rng(seed).permutation(n)[:size]


@lru_cache(maxsize=2)
def load_own(path: Path, changed: int, size: int | None, seed: int) -> Records:
    """The records at `path`; `size` keeps a random share.

    What was read is remembered until the file was `changed` (its mtime in nanoseconds).
    """
    if path.is_dir():
        return _standardised(read_images(path, size=size, seed=seed))
    records = _standardised(_read_npz(path))
    positions = drawn(records.name, len(records), size, seed)
    return records.take(np.sort(positions))


def _standardised(records: Records) -> Records:
    """Images of whole numbers get the mean and deviation of each channel; the rest stays."""
    if records.x.ndim != 4 or records.x.dtype != np.uint8:
        return records
    every = max(1, len(records) // SAMPLED)
    some = records.x[::every].astype(np.float64)
    mean = some.mean(axis=(0, 2, 3)).round(1)
    deviation = some.std(axis=(0, 2, 3)).round(1)
    deviation[deviation == 0] = 1
    return replace(records, shift=tuple(mean.tolist()), scale=tuple(deviation.tolist()))


# An .npz


def _read_npz(path: Path) -> Records:
    """Train and test together; images as (n, channels, height, width)."""
    arrays = read_arrays(path)
    ends = ("",) if "x" in arrays else ("_train", "_test")
    needed = {f"{letter}{end}" for letter in "xy" for end in ends}
    if not needed <= arrays.keys():
        raise ValueError(
            f"{path.name} should hold x and y, or x_train, y_train, x_test and y_test; "
            f"it holds {listed(arrays)}. Rename them."
        )
    x = _joined_x(path.name, [arrays[f"x{end}"] for end in ends])
    y = _joined_y(path.name, [arrays[f"y{end}"] for end in ends], "classes" in arrays)
    classes = np.asarray(arrays.get("classes", y.max(initial=0) + 1))
    if classes.size != 1:
        raise ValueError(f"{path.name}: classes must be one number, found {classes.size}.")
    x = _smallest_type(_channels_first(path.name, x))
    return Records(short_name(path), x, y, classes.item())


def _joined_x(name: str, parts: Sequence[np.ndarray]) -> np.ndarray:
    parts = [as_array(part, what=f"{name}: x") for part in parts]
    kinds = {(part.shape[1:], str(part.dtype)) for part in parts}
    if len(kinds) > 1:
        raise ValueError(f"{name}: x_train and x_test must have one shape and type, found {kinds}.")
    return np.concatenate(parts)


def _joined_y(name: str, parts: Sequence[np.ndarray], classes_are_said: bool) -> np.ndarray:
    joined = np.concatenate([part.reshape(-1) for part in parts])
    y = as_array(joined, kind="iu", what=f"{name}: labels").astype(np.int64)
    if not classes_are_said and len(y) and y.min() > 0:
        raise ValueError(
            f"{name}: labels must start at 0, found {y.min()} … {y.max()}. "
            f"Subtract {y.min()}, or say in an entry `classes` how many there are."
        )
    return y


def _channels_first(name: str, x: np.ndarray) -> np.ndarray:
    """Images as (n, channels, height, width), if it is clear where the channels are."""
    if x.ndim == 3:
        return x[:, None]  # (n, height, width): grey
    if x.ndim != 4:
        return x
    second = x.shape[1]
    last = x.shape[3]
    if second == last or min(second, last) > MOST_CHANNELS:
        raise ValueError(
            f"{name}: images must have 1 to {MOST_CHANNELS} channels, in the second place or the "
            f"last, but neither is clear in {x.shape}. Write (n, channels, height, width)."
        )
    if last < second:
        return x.transpose(0, 3, 1, 2)
    return x


def _smallest_type(x: np.ndarray) -> np.ndarray:
    """As uint8 if nothing is lost by it, and as float32 otherwise."""
    is_whole = x.dtype.kind in "biu"
    if is_whole and x.min(initial=0) >= 0 and x.max(initial=0) <= 255:
        return np.ascontiguousarray(x, np.uint8)
    # What does not fit into float32 becomes infinite, and `Records` refuses it.
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(x, np.float32)


# A folder of images


def read_images(
    folder: Path, *, change: Callable | None = None, size: int | None = None, seed: int = 0
) -> Records:
    """Decode a folder of images, or a random share of `size` of them.

    `change` turns each PIL image into the one that is kept.
    """
    samples, classes = _image_files(folder)
    index = np.sort(drawn(folder.name, len(samples), size, seed))
    chosen = [samples[i] for i in index]
    x = _decoded(folder.name, [sample.file for sample in chosen], change)
    y = np.array([sample.label for sample in chosen], np.int64)
    return Records(short_name(folder), x, y, classes, index=index)


class _Sample(NamedTuple):
    """An image that is not read yet."""

    file: str
    label: int


def _image_files(folder: Path) -> tuple[list[_Sample], int]:
    """Every image, part by part and class by class, and how many classes there are."""
    parts = [folder / name for name in ("train", "test", "val") if (folder / name).is_dir()]
    if len(parts) < 2:
        parts = [folder]
    classes = [_classes(part) for part in parts]
    if any(names != classes[0] for names in classes):
        raise ValueError(
            f"In {folder.name}, every part must have the same classes; "
            f"found {' and '.join(listed(names) for names in classes)}."
        )
    samples = []
    for part in parts:
        for label, name in enumerate(classes[0]):
            samples += [_Sample(file, label) for file in _images_below(part / name)]
    return samples, len(classes[0])


def _classes(part: Path) -> list[str]:
    names = sorted(entry.name for entry in os.scandir(part) if entry.is_dir())
    if not names:
        raise ValueError(
            f"{part.name} should hold one folder of images for each class, but holds no folder."
        )
    return names


def _images_below(folder: Path) -> list[str]:
    """The images of one class, in the folder and in those inside of it."""
    files = []
    for place, names in sorted(_folders_below(folder)):
        files += [os.path.join(place, name) for name in sorted(names) if _is_image(name)]
    if not files:
        raise ValueError(
            f"{shown(folder.parent.name)} should hold one folder of images for each class, "
            f"but {shown(folder.name)} has none that end in {', '.join(IMAGES)}."
        )
    return files


def _is_image(name: str) -> bool:
    return name.lower().endswith(tuple(IMAGES))


def _folders_below(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Each folder with its files; links are followed, but nothing is visited twice."""
    known = set()
    for place, _, names in os.walk(folder, followlinks=True):
        found = os.stat(place)
        identity = (found.st_dev, found.st_ino)
        if identity in known:
            raise ValueError(
                f"In {shown(folder.name)}, a link leads to a folder that is there already: "
                f"{shown(os.path.basename(place))}. Remove the link."
            )
        known.add(identity)
        yield place, names


def _decoded(name: str, files: Sequence[str], change: Callable | None) -> np.ndarray:
    """The pixels of all images, if they fit into the memory: (n, channels, height, width)."""
    first = _decode(files[0], change)
    most = LARGEST // first.nbytes
    if len(files) > most:
        gigabytes = len(files) * first.nbytes / 2**30
        raise ValueError(
            f"{len(files):,} images of {name} would take {gigabytes:.0f} GB of memory. "
            f"Choose a share with size=, at most {most:,}."
        )
    _check_growth(name, files, first.nbytes)
    x = np.empty((len(files), *first.shape), np.uint8)
    with ThreadPoolExecutor() as pool:
        images = pool.map(partial(_decode, change=change), files)
        for i, image in enumerate(images):
            if image.shape != first.shape:
                raise ValueError(
                    "Images must be all grey or all in colour and of one size, "
                    f"but {Path(files[0]).name} is {first.shape} "
                    f"and {Path(files[i]).name} is {image.shape}."
                )
            x[i] = image
    return x


def _check_growth(name: str, files: Sequence[str], each: int) -> None:
    """Refuse images that are small as files and would fill the memory."""
    try:
        check_unpacked(len(files) * each, sum(os.path.getsize(file) for file in files))
    except ValueError as error:
        raise ValueError(f"{len(files):,} images of {name} are refused: {error}.") from None


def _decode(file: str, change: Callable | None) -> np.ndarray:
    """An image's pixels: (1, height, width) if it is grey, and (3, height, width) otherwise."""
    try:
        image = _open_image(Path(file))
    except Exception as error:  # A damaged byte may trip any of Pillow's readers.
        raise ValueError(f"{shown(Path(file).name)} could not be read: {error}") from None
    if change is not None:
        image = change(image)
    pixels = np.asarray(image)
    if pixels.ndim == 2:
        return pixels[None]
    return pixels.transpose(2, 0, 1)


def _open_image(path: Path) -> Image.Image:
    """An image in grey or in colour; its size is looked at before its pixels are unpacked."""
    with opened(path) as file, Image.open(file, formats=FORMATS) as image:
        width, height = image.size
        if width * height > MOST_PIXELS:
            raise ValueError(f"it has {width:,} × {height:,} pixels. Make it smaller.")
        check_unpacked(3 * width * height, path.stat().st_size)
        if image.mode[0] in "IF":
            raise ValueError(f"it has more than 8 bits a channel ({image.mode}). Save it with 8.")
        is_grey = image.mode in ("1", "L")
        return image.convert("L" if is_grey else "RGB")
