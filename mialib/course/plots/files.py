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
COLORS = 256  # of a PNG with a palette
UNSEEN = 0.5  # a mean difference, of 255, that nobody sees
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
    """The same image from a palette of 256 colours, unless it would look different.

    A chart has fewer colours than that, photographs have more.
    """
    image = Image.open(io.BytesIO(png)).convert("RGB")
    few = image.quantize(COLORS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    difference = np.abs(np.asarray(image, float) - np.asarray(few.convert("RGB"), float))
    return _saved(few, optimize=True) if difference.mean() < UNSEEN else png


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
