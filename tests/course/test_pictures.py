"""Every picture of the course: a file, an alt text and a caption, and the same bytes each time."""

import inspect
import re

import pytest

from mialib.course import figures, plots
from small_pictures import PICTURES


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_can_be_seen_and_read_aloud(name):
    picture = PICTURES[name]()
    assert picture.png.startswith(b"\x89PNG")
    assert picture.png == PICTURES[name]().png
    assert len(picture.alt) > 40
    assert picture.caption.endswith(".")
    assert not picture.caption[0].islower()
    data, metadata = picture._repr_mimebundle_()
    assert metadata["image/png"]["alt"] == picture.alt == data["text/plain"]


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
