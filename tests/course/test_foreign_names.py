"""Names that hold markup, script, formulas or commands are shown as they stand.

Whatever a notebook, a page or a file shows of them is read by a parser, as a browser would.
"""

import csv
import io
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import nbformat
import numpy as np
import pytest
from nbconvert import HTMLExporter
from nbconvert.filters import markdown2html

from mialib.course import headlines, plots
from mialib.course.exercises.check import Verdict
from mialib.course.figures import records
from mialib.course.plots import picture as picture_module
from mialib.course.plots.picture import Picture, show
from mialib.course.widgets import explore, steps
from mialib.estimates import Estimate
from mialib.foreign import in_markdown, in_sentence
from mialib.reproductions import writing
from mialib.reproductions.items import Line
from small_results import results

NAMES = {
    "script": "<script>alert('x')</script>",
    "image": '"><img src=x onerror=alert(1)>',
    "link": "[click](javascript:alert(1))",
    "picture": "![x](https://example.org/x.png)",
    "reference": "[click][1]\n\n[1]: javascript:alert(1)",
    "automatic link": "<javascript:alert(1)>",
    "entity": "&lt;b&gt; &amp;",
    "bars": "a | b | c",
    "heading": "# a\n# b",
    "comment": "<!-- a",
    "style": "</style><style>*{display:none}",
    "formula": r"$\href{javascript:alert(1)}{x}$",
    "broken formula": r"$\frac{1",
    "dollars": "5 $ and $ 6 $$",
    "brackets": "$" + "{" * 5000,
    "spreadsheet": "=HYPERLINK(1)",
}
HARMLESS = {"src", "alt", "width", "style", "class", "tabindex", "id"}


class Page(HTMLParser):
    """What a browser would make of a page: its elements, their attributes and the text."""

    def __init__(self, html: str):
        super().__init__()
        self.elements: list[str] = []
        self.attributes: dict[str, str | None] = {}
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)
        self.attributes |= dict(attrs)

    def handle_data(self, data):
        self.text += data


def harmless(html: str) -> Page:
    """The page, if nothing on it acts, links or loads."""
    page = Page(html)
    assert not {"script", "a", "iframe", "object", "meta", "link", "form"} & set(page.elements)
    assert set(page.attributes) <= HARMLESS
    assert str(page.attributes.get("src", "data:")).startswith("data:")
    return page


def in_one_line(text: str) -> str:
    return " ".join(text.split())


def dots(name: str) -> Picture:
    """A chart with the name in its rows, its axis, its alt text and its caption."""
    return plots.comparison({name: {"loss": Estimate(0.5, 0.4, 0.6)}}, label=name)


@pytest.fixture(params=NAMES)
def name(request):
    return NAMES[request.param]


def test_a_picture_in_a_notebook_and_on_its_page(name, monkeypatch):
    shown = []
    monkeypatch.setattr(picture_module, "display", shown.append)
    drawn = dots(name)
    show(drawn)
    picture, caption = shown
    data, metadata = picture._repr_mimebundle_()
    outputs = [
        nbformat.v4.new_output("display_data", data=data, metadata=metadata),
        nbformat.v4.new_output("display_data", data={"text/markdown": caption.data}),
    ]
    cell = nbformat.v4.new_code_cell("", outputs=outputs)
    exporter = HTMLExporter(template_name="basic", exclude_anchor_links=True)
    html, _ = exporter.from_notebook_node(nbformat.v4.new_notebook(cells=[cell]))
    page = harmless(html)
    assert page.attributes["alt"] == drawn.alt
    assert "style" not in page.elements
    assert "img" in page.elements
    assert page.elements.count("img") == 1


def test_a_picture_as_svg(name):
    tree = ElementTree.fromstring(dots(name).render("svg"))
    kinds = {element.tag.partition("}")[2] for element in tree.iter()}
    assert not {"script", "a", "image", "foreignObject"} & kinds


def test_a_name_with_dollars_is_drawn_as_it_stands():
    for shown in ("5 $ and $ 6", r"$\frac{1$", "cost in $"):
        svg = dots(shown).render("svg").decode()
        assert shown in "".join(ElementTree.fromstring(svg).itertext())


def test_a_formula_stays_a_formula():
    plain = plots.comparison({"x": {"loss": Estimate(0.5, 0.4, 0.6)}}, label="$X^{(1)}$")
    assert "$" not in "".join(ElementTree.fromstring(plain.render("svg")).itertext())


def test_names_of_classes(name):
    x = np.zeros((2, 1, 8, 8))
    drawn = records.images(x, [name, name], columns=2)
    assert harmless(drawn.as_html()).attributes["alt"] == drawn.alt


def test_under_a_slider(name):
    picture = Picture(lambda figure: None, alt=name, caption=name)
    explorer = explore(lambda k: picture, k=steps([1, 2], start=1, label="k"))
    assert harmless(explorer.screen.value).attributes["alt"] == picture.alt


def test_a_slider_that_fails_on_a_name(name):
    def view(k):
        raise ValueError(name)

    control = steps([1, 2], start=1, label="k")
    picture = Picture(lambda figure: None, alt="", caption="")
    explorer = explore(lambda k: picture, k=control)
    explorer.view = view
    with pytest.raises(ValueError, match=re.escape(name)):
        explorer.forget()
    assert in_one_line(name) in in_one_line(harmless(explorer.screen.value).text)


def test_tables_of_results(name):
    rng = np.random.default_rng(0)
    is_member = np.arange(200) < 100
    trainings = results(rng.random((3, 2, 200)), is_member)
    for table in (
        headlines.settings({name: trainings}),
        headlines.pairs({name: (trainings, trainings)}),
    ):
        page = harmless(markdown2html(table.data))
        assert in_one_line(name) in in_one_line(page.text)
        first, *_ = table.data.splitlines()
        assert page.elements.count("th") == page.elements.count("td") == first.count("|") - 1


def test_tables_of_a_reproduction(name):
    lines = [Line("past-fig-1a", name, 0.5, Estimate(0.5, 0.4, 0.6))]
    page = harmless(markdown2html(writing.as_markdown(lines)))
    assert page.elements.count("td") == 3
    _, cells = csv.reader(io.StringIO(writing.as_csv(lines)))
    assert cells[1].lstrip("'") == name
    assert not cells[1].startswith(("=", "+", "-", "@"))


def test_what_a_check_says(name):
    page = harmless(markdown2html(Verdict(False, "Not quite.", name)._repr_markdown_()))
    assert in_one_line(name) in in_one_line(page.text)


def test_a_name_comes_back_from_markdown_as_it_was(name):
    page = harmless(markdown2html(f"before {in_markdown(name)} after"))
    assert in_one_line(page.text) == f"before {in_one_line(name)} after"


def test_a_sentence_keeps_its_own_markup_and_loses_that_of_names(name):
    page = harmless(markdown2html(in_sentence(f"**AUC** of {name}: 0.7 [0.6, 0.8]")))
    assert "strong" in page.elements
    assert "[0.6, 0.8]" in page.text
