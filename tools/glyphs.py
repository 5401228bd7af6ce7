"""Draw the sheet of glyphs that `mialib.data.embedded` makes the letters of.

    python tools/glyphs.py      writes mialib/data/letters.png

All the fonts come with matplotlib 3.11. Every training on letters depends on the sheet, so
this is for the record, and for a course with other letters.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from mialib.data.embedded import FACES, GLYPH, LETTERS, SHEET

FONTS = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
FONT_SIZE = 46


def row(face: str) -> np.ndarray:
    """Every letter in one face, side by side: (GLYPH, letters · GLYPH), ink = 255."""
    font = ImageFont.truetype(font_file(face), FONT_SIZE)
    return np.hstack([glyph(letter, font) for letter in LETTERS])


def font_file(face: str) -> Path:
    return FONTS / f"{face}.ttf"


def glyph(letter: str, font: ImageFont.FreeTypeFont) -> np.ndarray:
    """One letter in the middle of its canvas: (GLYPH, GLYPH), ink = 255."""
    canvas = Image.new("L", (GLYPH, GLYPH))
    left, top, right, bottom = font.getbbox(letter)
    corner = ((GLYPH - left - right) / 2, (GLYPH - top - bottom) / 2)
    ImageDraw.Draw(canvas).text(corner, letter, fill=255, font=font)
    return np.asarray(canvas)


if __name__ == "__main__":
    sheet = np.vstack([row(face) for face in FACES])
    Image.fromarray(sheet).save(SHEET, optimize=True)
