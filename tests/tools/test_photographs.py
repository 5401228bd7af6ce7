"""The page on photographs, and the README's picture, are those of the shipped results."""

import pytest

import front_door
import photographs
import readme
from mialib.course import headlines
from mialib.experiments.running import shipped_path
from mialib.results.tables import Results

SHIPPED = Results.read(shipped_path("photographs", "cpu"))


@pytest.fixture(scope="module")
def parts():
    return photographs.parts(SHIPPED)


def test_the_page_says_what_the_results_say(parts):
    text = photographs.PAGE.read_text(encoding="utf-8")
    assert text == readme.filled(text, **parts), "run `make photographs`"


def test_every_setting_has_a_line_and_a_place_in_the_picture(parts):
    settings = len(SHIPPED.settings())
    assert settings >= 18
    assert len(parts["trainings"].splitlines()) == 2 + settings
    assert parts["picture"].count("(0.") == settings


def test_the_readme_says_of_its_picture_what_the_results_say():
    text = front_door.README.read_text(encoding="utf-8")
    words = front_door.Words.of(SHIPPED)
    assert text == readme.filled(text, door=front_door.part(words)), "run `make photographs`"
    assert front_door.PICTURE.exists()


def test_the_letters_of_the_picture_are_picked_on_other_models_than_they_are_counted_on():
    most, none = front_door.exposed()
    assert len(most.images) == len(none.images) == front_door.FEW
    assert (none.caught == 0).all()
    assert 0.5 < most.caught.mean() < 1


def test_every_name_in_the_picture_is_a_setting():
    assert set(front_door.NAMED) <= set(headlines.by_name(SHIPPED))
