"""Every picture of the course: a file, an alt text and a caption, and the same bytes each time."""

import html
import inspect
import io
import re
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.layout_engine import ConstrainedLayoutEngine
from PIL import Image

from mialib.course import figures, plots
from mialib.course.plots.files import with_few_colors
from mialib.course.plots.picture import Picture
from mialib.estimates import Estimate
from small_pictures import PICTURES


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_can_be_seen_and_read_aloud(name):
    picture = PICTURES[name]()
    assert picture.png.startswith(b"\x89PNG")
    assert picture.png == PICTURES[name]().png
    assert len(picture.alt) > 40
    assert "\n" not in picture.alt
    assert picture.caption.endswith(".")
    assert not picture.caption[0].islower()
    data, metadata = picture._repr_mimebundle_()
    assert metadata["image/png"]["alt"] == picture.alt == data["text/plain"]
    assert f'alt="{html.escape(picture.alt)}"' in data["text/html"]
    assert f"base64,{data['image/png']}" in data["text/html"]


@pytest.mark.parametrize("name", PICTURES)
def test_its_words_have_neither_nan_nor_minus_zero(name):
    picture = PICTURES[name]()
    for words in (picture.alt, picture.caption):
        assert not re.search(r"\bnan\b", words)
        assert not re.search(r"-0\.?0*(?![\d.])", words)


@pytest.mark.parametrize("name", PICTURES)
def test_it_is_drawn_as_svg_too(name):
    assert b"<svg" in PICTURES[name]().render("svg")


def drawing_functions() -> set[str]:
    """The public functions of both packages that return a picture."""
    members = vars(figures) | vars(plots)
    return {
        name
        for name, one in members.items()
        if inspect.isfunction(one) and one.__annotations__.get("return") == "Picture"
    }


def test_no_function_that_draws_is_left_out():
    drawn = {name.split()[0] for name in PICTURES}
    assert len(drawing_functions()) > 25
    assert drawn == drawing_functions()


def pixels(png: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"), float)


@pytest.mark.parametrize("name", [name for name in PICTURES if PICTURES[name]().layers is not None])
def test_layers_look_like_one_drawing(name):
    """What moves is drawn on pixels that are kept; nobody should see that."""
    picture = PICTURES[name]()
    at_once = replace(picture, layers=None)
    assert np.abs(pixels(picture.png) - pixels(at_once.png)).max() <= 2


@pytest.mark.parametrize("name", ["histograms", "roc", "p1_map"])
def test_a_chart_needs_few_colours(name):
    picture = PICTURES[name]()
    few = with_few_colors(picture.png)
    assert len(few) < len(picture.png) / 2
    difference = np.abs(pixels(few) - pixels(picture.png)).max(axis=2)  # of 255
    assert difference.mean() < 1.5
    assert (difference > 16).mean() < 0.001
    assert with_few_colors(picture.png) == few
    assert len(with_few_colors(few)) <= len(few)


def test_a_shaded_row_is_still_shaded_with_few_colours():
    rows = {"first": Estimate(0.4, 0.3, 0.5), "second": Estimate(0.6, 0.5, 0.7)}
    bare, shaded = (
        plots.comparison({"one": rows}, label="AUC", mark=mark) for mark in (None, "second")
    )
    few = [pixels(with_few_colors(picture.png)) for picture in (bare, shaded)]
    darker = (few[0] - few[1]).min(axis=2) > 16  # of 255
    assert darker.mean() > 0.1
    assert shaded.caption.endswith("; shaded: second.")


def test_an_image_of_many_colours_keeps_them(rng):
    noise = Image.fromarray(rng.integers(0, 256, (90, 90, 3), dtype="uint8"))
    buffer = io.BytesIO()
    noise.save(buffer, format="png")
    kept = Image.open(io.BytesIO(with_few_colors(buffer.getvalue()))).convert("RGB")
    assert kept.tobytes() == noise.tobytes()


def lay_outs(monkeypatch) -> list:
    """Grows by one with every search for places."""
    searched = []
    search = ConstrainedLayoutEngine.execute
    monkeypatch.setattr(
        ConstrainedLayoutEngine,
        "execute",
        lambda engine, figure: (searched.append(figure), search(engine, figure))[1],
    )
    return searched


def line(height: float, *, name: str = "", ylabel: str = "") -> Picture:
    def draw(figure) -> None:
        axes = figure.subplots()
        axes.plot([0, height])
        axes.set_ylabel(ylabel)

    return Picture(draw, alt="A line.", caption="A line.", size=(2, 2), steady=name or None)


def test_a_steady_picture_is_laid_out_once(monkeypatch):
    searched = lay_outs(monkeypatch)
    for height in (1, 2, 3):
        assert line(height, name="a line").png
    assert len(searched) == 1
    assert line(1, name="a line").png == line(1).png


def test_no_word_is_cut_off_for_the_sake_of_steadiness(monkeypatch):
    """Numbers with more digits need more room than the first picture left."""
    searched = lay_outs(monkeypatch)
    assert line(1, name="another line", ylabel="height").png
    long = line(123_456_789.5, name="another line", ylabel="height\nin\nfeet")
    assert long.png == line(123_456_789.5, ylabel="height\nin\nfeet").png
    assert len(searched) == 3
    assert line(2, name="another line", ylabel="height").png
    assert len(searched) == 3
