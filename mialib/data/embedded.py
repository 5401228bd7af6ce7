"""The data of the lessons: three datasets that need no download, found by `mialib.data.load`.

- `letters`: grey 16×16 images of A to J in 22 typefaces, turned, sheared, shifted and noisy. The
  sheet of glyphs beside this file was drawn by `tools/glyphs.py`, so that letters are the same
  wherever the fonts are not: an older matplotlib, which Colab has, lacks one.
- `shoppers`: binary baskets from a latent-factor model; the 100 classes are k-means clusters, as in
  Purchase100.
- `digits`: scikit-learn's 1,797 handwritten digits; easy, so there is little to leak.
"""

from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

from mialib.data.records import LARGEST, Records, drawn

LETTERS = "ABCDEFGHIJ"
SHEET = Path(__file__).with_name("letters.png")  # a row for each face, a column for each letter
SIDE = 16  # pixels of a record
GLYPH = 64  # pixels of a glyph, which records sample

_DEJAVU_SANS = [
    f"DejaVuSans{mono}{style}"
    for mono in ("", "Mono")
    for style in ("", "-Bold", "-Oblique", "-BoldOblique")
]
_DEJAVU_SERIF = [
    "DejaVuSerif",
    "DejaVuSerif-Bold",
    "DejaVuSerif-Italic",
    "DejaVuSerif-BoldItalic",
]
_STIX = ["STIXGeneral", "STIXGeneralBol", "STIXGeneralItalic", "STIXGeneralBolIta"]
_COMPUTER_MODERN = ["cmr10", "cmb10", "cmss10", "cmti10", "cmtt10", "cmmi10"]
FACES = [*_DEJAVU_SANS, *_DEJAVU_SERIF, *_STIX, *_COMPUTER_MODERN]

ITEMS = 600  # things that a shopper may buy
FACTORS = 16  # tastes that explain what is bought together
SHOPPER_CLASSES = 100
CLUSTERED = 6000  # shoppers by whom the classes are found
LLOYD_STEPS = 15

# What one record takes while it is made: a float32 glyph and its four samples; or float64 baskets.
LETTER_BYTES = 8 * 4 * GLYPH**2 // 2
BASKET_BYTES = 4 * 8 * ITEMS


@lru_cache(maxsize=4)
def letters(*, size: int | None = None, seed: int = 0) -> Records:
    """Draw `size` letter images (4,200 unless told)."""
    n = 4200 if size is None else size
    _check_room("letters", n, LETTER_BYTES)
    rng = np.random.default_rng(seed)
    y = rng.integers(len(LETTERS), size=n)
    face = rng.integers(len(FACES), size=n)
    glyph = _glyphs()[face, y]  # (n, GLYPH, GLYPH), ink = 1
    distortion = _distortions(rng, n)
    shift = rng.normal(0, 6.5, (n, 2))
    ink = _sample(glyph, distortion, shift=shift)  # (n, SIDE, SIDE)
    image = _on_paper(rng, ink)
    pixels = np.rint(image.clip(0, 1) * 255).astype(np.uint8)
    x = pixels[:, None]  # (n, 1, SIDE, SIDE)
    return Records("letters", x, y, len(LETTERS), shift=(75.0,), scale=(75.0,))


@lru_cache(maxsize=4)
def shoppers(*, size: int | None = None, seed: int = 0) -> Records:
    """Draw `size` baskets of 600 items (24,000 unless told), in 100 classes."""
    n = 24_000 if size is None else size
    _check_room("shoppers", n, BASKET_BYTES)
    shop = _shop()
    x = _baskets(np.random.default_rng(seed), n, shop.weights, shop.popularity)
    y = _closest(x, shop.centers)
    return Records("shoppers", x, y, len(shop.centers))


@lru_cache(maxsize=4)
def digits(*, size: int | None = None, seed: int = 0) -> Records:
    """Scikit-learn's handwritten digits, 8×8; `size` keeps a random share."""
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    images = np.asarray(x, np.uint8).reshape(-1, 1, 8, 8)  # from (n, 64)
    labels = np.asarray(y)
    keep = drawn("digits", len(labels), size, seed)
    return Records("digits", images[keep], labels[keep], 10, shift=(4.9,), scale=(6.0,))


def _check_room(name: str, size: int, bytes_each: int) -> None:
    """Refuse more records than the memory could hold while they are made."""
    most = LARGEST // bytes_each
    if size > most:
        raise ValueError(
            f"{size:,} {name} would take {size * bytes_each / 2**30:,.0f} GB of memory. "
            f"Choose a size of at most {most:,}."
        )


# Letters


@cache
def _glyphs() -> np.ndarray:
    """Every letter in every face, centred: (faces, letters, GLYPH, GLYPH), ink = 1."""
    with Image.open(SHEET) as image:
        sheet = np.asarray(image, np.float32) / 255
    rows = sheet.reshape(len(FACES), GLYPH, len(LETTERS), GLYPH)
    return rows.transpose(0, 2, 1, 3)


def _distortions(rng: np.random.Generator, n: int) -> np.ndarray:
    """Random turns, shears and scales, from a record's places to its glyph's: (n, 2, 2)."""
    angle = rng.normal(0, 0.5, n)
    shear = rng.normal(0, 0.3, n)
    scale = rng.uniform(0.75, 1.2, n)
    cos = np.cos(angle)
    sin = np.sin(angle)
    rows = np.stack([cos, cos * shear - sin, sin, sin * shear + cos], -1)  # (n, 4)
    return rows.reshape(n, 2, 2) / scale[:, None, None]


def _on_paper(rng: np.random.Generator, ink: np.ndarray) -> np.ndarray:
    """Ink of a random contrast on paper of a random grey, with noise: (n, SIDE, SIDE)."""
    n = len(ink)
    contrast = rng.uniform(0.25, 0.9, (n, 1, 1))
    paper = rng.uniform(0.0, 0.3, (n, 1, 1))
    noise = rng.normal(0, 0.08, ink.shape)
    return paper + contrast * ink * (1 - paper) + noise


def _sample(glyph: np.ndarray, matrix: np.ndarray, *, shift: np.ndarray) -> np.ndarray:
    """Look each pixel up in its glyph, bilinearly, averaging 2×2 points: (n, SIDE, SIDE)."""
    where = _places(matrix, shift)  # (n, 2, fine²): row and column in the glyph
    low = where.astype(np.int32)
    fraction = where - low
    down = fraction[:, 0]  # (n, fine²)
    right = fraction[:, 1]
    first_pixel = np.arange(len(glyph), dtype=np.int32)[:, None] * GLYPH**2
    corner = low[:, 0] * GLYPH + low[:, 1] + first_pixel  # the pixel above and to the left
    ink = glyph.ravel()
    upper = ink.take(corner) * (1 - right) + ink.take(corner + 1) * right
    lower = ink.take(corner + GLYPH) * (1 - right) + ink.take(corner + GLYPH + 1) * right
    fine = upper * (1 - down) + lower * down
    return fine.reshape(-1, SIDE, 2, SIDE, 2).mean(axis=(2, 4))  # from (n, fine²)


def _places(matrix: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """Where in its glyph each of a record's 2 SIDE × 2 SIDE points lies: (n, 2, fine²)."""
    fine = 2 * SIDE
    axis = (np.arange(fine) + 0.5) * GLYPH / fine - GLYPH / 2
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2)  # (fine², 2)
    center = (shift[:, :, None] + GLYPH / 2 - 0.5).astype(np.float32)
    where = matrix.astype(np.float32) @ grid.T.astype(np.float32) + center
    # The last pixel has no neighbour to its right, so no place may lie in it.
    np.clip(where, 0, GLYPH - 1.001, out=where)
    return where


# Shoppers


class Shop(NamedTuple):
    """What all shoppers have in common, whatever the size and the seed."""

    weights: np.ndarray  # (FACTORS, ITEMS): how much each taste wants each item
    popularity: np.ndarray  # (ITEMS,): how much everybody wants it
    centers: np.ndarray  # (SHOPPER_CLASSES, ITEMS): the mean basket of each class


@cache
def _shop() -> Shop:
    rng = np.random.default_rng(600)
    weights = rng.normal(0, 0.9, (FACTORS, ITEMS))
    popularity = rng.normal(-1.6, 1.0, ITEMS)
    x = _baskets(rng, CLUSTERED, weights, popularity)
    start = rng.choice(len(x), SHOPPER_CLASSES, replace=False)
    return Shop(weights, popularity, _k_means(x, x[start].astype(np.float64)))


def _k_means(x: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Lloyd's algorithm from these centers, which it moves: (classes, items).

    In float64, so that the number of threads cannot move a record to another class.
    """
    for _ in range(LLOYD_STEPS):
        label = _closest(x, centers)
        for j in np.unique(label):
            centers[j] = x[label == j].mean(axis=0)
    return centers


def _baskets(
    rng: np.random.Generator, n: int, weights: np.ndarray, popularity: np.ndarray
) -> np.ndarray:
    """Who buys what: (n, items) of zeros and ones."""
    taste = rng.normal(size=(n, len(weights)))
    probability = 1 / (1 + np.exp(-(taste @ weights + popularity)))
    bought = rng.random(probability.shape, np.float32) < probability
    return bought.astype(np.uint8)


def _closest(x: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """The center nearest to each basket: (n,). |x|² is the same for all centers and left out."""
    products = x.astype(np.float64) @ centers.T  # (n, classes)
    return np.argmin((centers**2).sum(1) - 2 * products, axis=1)
