"""No text of a figure is smaller than nine points where the page is 800 pixels wide."""

import matplotlib
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from mialib.course.plots.palette import DPI, STYLE
from small_pictures import PICTURES

PAGE = 800  # pixels
CSS_DPI = 96  # pixels per inch of a page
LEAST = 9.0  # points


def smallest(picture) -> tuple[float, str]:
    """The smallest text in points as a reader of such a page sees it, and what it says."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=picture.size, dpi=DPI, layout="constrained")
        picture.draw(figure)
        figure.draw_without_rendering()
        texts = [one for one in figure.findobj(Text) if one.get_text().strip()]
    pixels = picture.size[0] * DPI
    shrunk = min(1, PAGE / pixels) * DPI / CSS_DPI
    return min((one.get_fontsize() * shrunk, one.get_text()) for one in texts)


@pytest.mark.parametrize("name", PICTURES)
def test_every_text_can_be_read_at_800_pixels(name):
    points, text = smallest(PICTURES[name]())
    assert points >= LEAST, f"{text!r} has {points:.1f} points"
