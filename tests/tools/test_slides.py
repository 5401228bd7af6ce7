"""Slides: every figure and its words, one file that needs nothing else."""

import base64
import re
from html.parser import HTMLParser

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

import slides

LESSONS = sorted(slides.NOTEBOOKS.glob("[0-9][0-9]_*.ipynb"))
HEADER = "# 99 · Ducks\n\n**Do they swim?**\n\n| You will be able to | • swim<br>• dive |"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    out = tmp_path_factory.mktemp("slides")
    return {path.stem: path.read_text(encoding="utf-8") for path in slides.write(out)} | {
        "index": (out / "index.html").read_text(encoding="utf-8")
    }


def png(width, height):
    """The start of a PNG file, which is all that slides read of one."""
    start = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
    sizes = width.to_bytes(4, "big") + height.to_bytes(4, "big")
    return base64.b64encode(start + sizes + bytes(40)).decode()


def shown(width=300, height=100, alt="A duck < a swan."):
    data = {"image/png": png(width, height)}
    output = new_output("display_data", data=data, metadata={"image/png": {"alt": alt}})
    return new_code_cell("show(duck)", outputs=[output])


def talk(*cells):
    return slides.slides_of(new_notebook(cells=[new_markdown_cell(HEADER), *cells]))


def test_every_lesson_has_its_slides(written):
    assert len(LESSONS) == len(written) - 1
    for path in LESSONS:
        assert f'href="{path.name[:2]}.html"' in written["index"]


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_talk_has_question_goals_figures_and_recap(path):
    made = slides.slides_of(nbformat.read(path, as_version=4))
    kinds = [one.kind for one in made]
    assert kinds[:2] == ["title", "goals"]
    assert kinds[-1] == "recap"
    assert sum(kind.startswith("figure") for kind in kinds) >= 2
    for one in made:
        assert "{{" not in one.content
        assert "NotImplementedError" not in one.content
        for alt in re.findall('alt="([^"]*)"', one.content):
            assert len(alt) > 20


def test_nothing_is_fetched_and_every_element_is_closed(written):
    class Reader(HTMLParser):
        def __init__(self):
            super().__init__()
            self.open = []

        def handle_starttag(self, tag, attrs):
            for name, value in attrs:
                outside = name in ("src", "srcset", "poster") or (name, tag) == ("href", "link")
                assert not outside or value.startswith("data:")
            if tag not in ("meta", "img", "br", "hr"):
                self.open.append(tag)

        def handle_startendtag(self, tag, attrs):
            """An element of a formula that closes itself."""

        def handle_endtag(self, tag):
            assert self.open.pop() == tag

    for text in written.values():
        reader = Reader()
        reader.feed(text)
        assert reader.open == []
        assert "@import" not in text
        assert "url(" not in text


def test_a_figure_comes_with_the_first_three_sentences_on_it():
    seen = "**What to see.** One. Two $x^2$. Three. Four.\n\nFive."
    made = talk(new_markdown_cell("## Ponds"), shown(), new_markdown_cell(seen))
    figure = made[2]
    assert figure.kind == "figure"
    assert "<h2>Ponds</h2>" in figure.content
    assert 'alt="A duck &lt; a swan."' in figure.content
    assert "Three." in figure.content
    assert "Four." not in figure.content
    assert "<msup>" in figure.content


def test_a_tall_figure_stands_beside_its_words():
    assert talk(shown(100, 100))[2].kind == "figure tall"


def test_a_prediction_has_a_slide_before_its_figure():
    asked = "## Ponds\nIt rains. Ducks are wet. They like it. **Predict** how much.\n\nThen this."
    made = talk(new_markdown_cell(asked), shown())
    assert [one.kind for one in made[2:]] == ["question", "figure"]
    assert "It rains." not in made[2].content
    assert "Ducks are wet. They like it. <strong>Predict</strong> how much." in made[2].content
    assert "Then this." not in made[2].content


def test_exercises_and_what_follows_are_no_slides():
    exercise = new_markdown_cell("## Exercise 9.1 · difficulty 1/5\n**Predict** all.")
    recap = new_markdown_cell("## Recap\n- wet\n\n## References\n- a book")
    made = talk(exercise, shown(), recap)
    assert [one.kind for one in made] == ["title", "goals", "recap"]
    assert "a book" not in made[-1].content


def test_a_figure_that_came_as_html_is_found_and_a_slider_is_not():
    image = f'<img width="9" alt="A duck." src="data:image/png;base64,{png(300, 100)}">'
    figure, slider = (
        new_code_cell("x", outputs=[new_output("display_data", data={"text/html": image * many})])
        for many in (1, 5)
    )
    made = talk(figure, slider)
    assert [one.kind for one in made] == ["title", "goals", "figure"]
    assert "width" not in made[-1].content
