"""The README's photographs are those of the shipped results."""

import photographs
import readme
from mialib.experiments.running import shipped_path
from mialib.results.tables import Results

SHIPPED = Results.read(shipped_path("photographs", "cpu"))


def test_the_readme_says_what_the_results_say():
    text = photographs.README.read_text(encoding="utf-8")
    filled = readme.filled(text, **photographs.parts(SHIPPED))
    assert text == filled, "run `make photographs`"


def test_every_setting_has_a_line_and_a_place_in_the_picture():
    parts = photographs.parts(SHIPPED)
    settings = len(SHIPPED.settings())
    assert settings >= 18
    assert len(parts["trainings"].splitlines()) == 2 + settings
    assert parts["picture"].count("(0.") == settings
