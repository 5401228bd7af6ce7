"""The data of the lessons: three datasets that need no download. `mialib.data.load` finds them by name.

- `letters`: grey 16×16 images of A to J in the fonts that matplotlib ships, turned, sheared, shifted and noisy.
- `shoppers`: binary baskets from a latent-factor model; the 100 classes are k-means clusters, as in Purchase100.
- `digits`: scikit-learn's 1,797 handwritten digits; easy, so there is little to leak."""

from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from mialib.data.records import Records, drawn

LETTERS, SIDE, GLYPH = (
    "ABCDEFGHIJ",
    16,
    64,
)  # A glyph is drawn once, 64 pixels wide; records of 16 sample it.
FACES = [
    f"DejaVuSans{mono}{style}"
    for mono in ("", "Mono")
    for style in ("", "-Bold", "-Oblique", "-BoldOblique")
]
FACES += "DejaVuSerif DejaVuSerif-Bold DejaVuSerif-Italic DejaVuSerif-BoldItalic STIXGeneral STIXGeneralBol".split()
FACES += "STIXGeneralItalic STIXGeneralBolIta cmr10 cmb10 cmss10 cmti10 cmtt10 cmmi10".split()


@lru_cache(maxsize=4)
def letters(*, size: int | None = None, seed: int = 0) -> Records:
    """Draw `size` letter images (4,200 unless told)."""
    n, rng = size or 4200, np.random.default_rng(seed)
    y = rng.integers(len(LETTERS), size=n)
    glyph = _glyphs()[rng.integers(len(FACES), size=n), y]  # (n, GLYPH, GLYPH)
    angle, shear, scale = rng.normal(0, 0.5, n), rng.normal(0, 0.3, n), rng.uniform(0.75, 1.2, n)
    cos, sin = np.cos(angle), np.sin(angle)
    matrix = (
        np.stack([cos, cos * shear - sin, sin, sin * shear + cos], -1).reshape(n, 2, 2)
        / scale[:, None, None]
    )
    image = _sample(glyph, matrix, shift=rng.normal(0, 6.5, (n, 2)))  # (n, SIDE, SIDE), ink = 1
    contrast, paper = rng.uniform(0.25, 0.9, (n, 1, 1)), rng.uniform(0.0, 0.3, (n, 1, 1))
    image = paper + contrast * image * (1 - paper) + rng.normal(0, 0.08, image.shape)
    x = np.rint(image.clip(0, 1) * 255).astype(np.uint8)[:, None]  # (n, 1, SIDE, SIDE)
    return Records("letters", x, y, len(LETTERS), shift=(75.0,), scale=(75.0,))


@lru_cache(maxsize=4)
def shoppers(*, size: int | None = None, seed: int = 0) -> Records:
    """Draw `size` baskets of 600 items (24,000 unless told) and cluster them into 100 classes."""
    weights, popularity, centers = _shop()
    x = _baskets(np.random.default_rng(seed), size or 24_000, weights, popularity)
    return Records("shoppers", x, _closest(x, centers), len(centers))


@lru_cache(maxsize=4)
def digits(*, size: int | None = None, seed: int = 0) -> Records:
    """Scikit-learn's handwritten digits, 8×8; `size` keeps a random share."""
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    keep = drawn("digits", len(y), size, seed)
    return Records(
        "digits",
        x.astype(np.uint8).reshape(-1, 1, 8, 8)[keep],
        y[keep],
        10,
        shift=(4.9,),
        scale=(6.0,),
    )


@cache
def _glyphs() -> np.ndarray:
    """Every letter in every face, centred: (faces, letters, GLYPH, GLYPH), ink = 1."""
    folder = Path(find_spec("matplotlib").origin).with_name("mpl-data") / "fonts" / "ttf"
    glyphs = np.zeros((len(FACES), len(LETTERS), GLYPH, GLYPH), np.float32)
    for i, face in enumerate(FACES):
        font = ImageFont.truetype(str(folder / f"{face}.ttf"), 46)
        for j, letter in enumerate(LETTERS):
            canvas, (left, top, right, bottom) = (
                Image.new("L", (GLYPH, GLYPH)),
                font.getbbox(letter),
            )
            corner = ((GLYPH - left - right) / 2, (GLYPH - top - bottom) / 2)
            ImageDraw.Draw(canvas).text(corner, letter, fill=255, font=font)
            glyphs[i, j] = np.asarray(canvas, np.float32) / 255
    return glyphs


def _sample(glyph: np.ndarray, matrix: np.ndarray, *, shift: np.ndarray) -> np.ndarray:
    """Look each output pixel up in its glyph, bilinearly, averaging 2×2 points a pixel: (n, SIDE, SIDE)."""
    fine = 2 * SIDE
    axis = (np.arange(fine) + 0.5) * GLYPH / fine - GLYPH / 2
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2)  # (fine², 2)
    center = (shift[:, :, None] + GLYPH / 2 - 0.5).astype(np.float32)
    where = matrix.astype(np.float32) @ grid.T.astype(np.float32) + center  # (n, 2, fine²)
    np.clip(where, 0, GLYPH - 1.001, out=where)
    low = where.astype(np.int32)
    fy, fx = np.moveaxis(where - low, 1, 0)
    corner = (
        low[:, 0] * GLYPH + low[:, 1] + np.arange(len(glyph), dtype=np.int32)[:, None] * GLYPH**2
    )
    ink = glyph.ravel()
    upper = ink.take(corner) * (1 - fx) + ink.take(corner + 1) * fx
    lower = ink.take(corner + GLYPH) * (1 - fx) + ink.take(corner + GLYPH + 1) * fx
    return (
        (upper * (1 - fy) + lower * fy).reshape(-1, SIDE, 2, SIDE, 2).mean(axis=(2, 4))
    )  # from (n, fine²)


@cache
def _shop() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights of 16 factors on 600 items, their popularity and 100 centers, the same for every size and seed."""
    rng = np.random.default_rng(600)
    weights, popularity = rng.normal(0, 0.9, (16, 600)), rng.normal(-1.6, 1.0, 600)
    x = _baskets(rng, 6000, weights, popularity)
    centers = x[rng.choice(len(x), 100, replace=False)].astype(np.float64)
    for _ in range(
        15
    ):  # Lloyd's k-means; in float64, the number of threads cannot move a record to another class.
        label = _closest(x, centers)
        for j in np.unique(label):
            centers[j] = x[label == j].mean(axis=0)
    return weights, popularity, centers


def _baskets(
    rng: np.random.Generator, n: int, weights: np.ndarray, popularity: np.ndarray
) -> np.ndarray:
    taste = rng.normal(size=(n, len(weights)))
    probability = 1 / (1 + np.exp(-(taste @ weights + popularity)))
    return (rng.random(probability.shape, np.float32) < probability).astype(np.uint8)


def _closest(x: np.ndarray, centers: np.ndarray) -> np.ndarray:
    return np.argmin((centers**2).sum(1) - 2 * (x.astype(np.float64) @ centers.T), axis=1)
