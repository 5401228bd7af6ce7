"""From a figure to the bytes of an image.

figure = new_figure((6.4, 3.2))
draw(figure)
as_png(drawn(figure))           # a canvas, drawn once
with_few_colors(png)            # a third of the bytes, and it looks the same
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable

import numpy as np
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.figure import Figure
from matplotlib.mathtext import MathTextParser
from matplotlib.text import Text
from PIL import Image

from mialib.course.plots.palette import DPI

LONGEST_FORMULA = 200  # characters
FORMULA = re.compile(r"\$[^$]+\$")
COLORS = (64, 128, 256)  # of a PNG with a palette; the first that looks the same is taken
# What eyes do not see: a pixel off by so many of 255 levels, and one such pixel in a thousand.
LEVELS = 16
SHARE = 0.001
SPEED = 3  # of zlib: a tenth more bytes than the best, in a sixth of its time
# One parser for all figures remembers the formulas at the ticks of a logarithmic axis, each of
# which takes it three milliseconds.
PARSER = RendererAgg(1, 1, DPI).mathtext_parser


def new_figure(size: tuple[float, float]) -> Figure:
    """An empty figure of this size in inches; what is put on it finds its own place."""
    return Figure(figsize=size, dpi=DPI, layout="constrained")


def drawn(figure: Figure) -> FigureCanvasAgg:
    """The figure as pixels. `Figure.savefig` would draw it twice."""
    draw_names_plainly(figure.findobj(Text))
    canvas = FigureCanvasAgg(figure)
    canvas.get_renderer().mathtext_parser = PARSER
    canvas.draw()
    return canvas


def as_png(canvas: FigureCanvasAgg) -> bytes:
    """The pixels as a file."""
    pixels = Image.fromarray(np.asarray(canvas.buffer_rgba()))  # (height, width, 4)
    return _saved(pixels.convert("RGB"), compress_level=SPEED)


def with_few_colors(png: bytes) -> bytes:
    """The same image with as few colours as look the same; the same bytes give the same bytes.

    A chart has few, photographs have more than a palette holds and keep them.
    """
    original = Image.open(io.BytesIO(png)).convert("RGB")
    for count in COLORS:
        fewer = original.quantize(count, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
        if _look_the_same(original, fewer.convert("RGB")):
            return min(_saved(fewer), png, key=len)
    return min(_saved(original), png, key=len)


def _look_the_same(one: Image.Image, other: Image.Image) -> bool:
    difference = np.abs(np.asarray(one, dtype=int) - np.asarray(other, dtype=int)).max(axis=2)
    return bool((difference > LEVELS).mean() <= SHARE)


def _saved(image: Image.Image, **options) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "png", dpi=(DPI, DPI), **options)
    return buffer.getvalue()


def draw_names_plainly(artists: Iterable[Artist]) -> None:
    """A text with dollars that is no formula is drawn as it stands: it may be somebody's name."""
    for text in artists:
        if isinstance(text, Text) and "$" in text.get_text() and not _is_formula(text.get_text()):
            text.set_parse_math(False)


def _is_formula(text: str) -> bool:
    if len(text) > LONGEST_FORMULA or not FORMULA.fullmatch(text):
        return False
    try:
        MathTextParser("path").parse(text)
    except (ValueError, RecursionError):
        return False
    return True
