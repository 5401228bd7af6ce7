"""The built pages: every link leads somewhere, every picture is there, sliders are frozen right."""

import re
from pathlib import Path

import nbformat
import pytest
import yaml
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell

import contact_sheet
import made_up_lesson
import notebooks
import pages
import website
from hearing import heard, seen, stumbles
from mialib.course import frozen, widgets
from mialib.course.plots.files import with_few_colors
from pages import ears, formulas, markup
from paths import ROOT


@pytest.fixture(scope="module")
def explored():
    """The explorers of these tests alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(widgets, "EXPLORERS", [])
        yield


@pytest.fixture(scope="module")
def built(tmp_path_factory, explored):
    """The pages of all committed lessons and of one that is made up, and its explorers."""
    folder = tmp_path_factory.mktemp("build")
    shown = made_up_lesson.build(folder, committed=True)
    return folder, shown


def parsed(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


@pytest.fixture(scope="module")
def site(built):
    """Every page by the name of its file."""
    folder, _ = built
    return {path.name: parsed(path) for path in sorted(folder.glob("*.html"))}


@pytest.fixture(scope="module")
def made_up(site):
    return site[f"{made_up_lesson.NAME}.html"]


# All pages.


def test_no_line_ends_within_an_interval_a_percentage_or_a_setting():
    page = BeautifulSoup("<p>0.6 [0.57, 0.63], 1 % and λ = 0</p><code>n = 1</code>", "html.parser")
    markup.keep_together(page)
    assert page.p.text == "0.6 [0.57,\u00a00.63], 1\u00a0% and λ\u00a0=\u00a00"
    assert page.code.text == "n = 1"


def test_bars_and_names_of_operators_stand_close_to_what_they_are_about():
    drawn = formulas.with_mathml(r"$|w| = -\log p$")
    assert drawn.count('lspace="0" rspace="0"') == 2
    assert "<mi>log</mi><mspace" in drawn


def test_there_is_a_page_for_each_lesson_and_document(site):
    lessons = {f"{one.name}.html" for one in notebooks.lessons()}
    assert lessons | {"index.html", "ledger.html", "99_made_up.html"} <= set(site)


def test_every_link_leads_to_a_page_and_a_place_on_it(built, site):
    folder, _ = built
    followed = 0
    for name, page in site.items():
        for anchor in page.find_all("a", href=True):
            address = anchor["href"]
            assert "OWNER" not in address, f"{name}: {address}"
            if re.match(r"[a-z]+:", address):
                continue
            path, _, part = address.partition("#")
            assert not path or (folder / path).is_file(), f"{name}: {address}"
            if part:
                assert site[path or name].find(id=part), f"{name}: {address}"
            followed += 1
    assert followed > 300


def test_every_picture_is_a_file_with_words_and_a_size(built, site):
    folder, _ = built
    seen = 0
    for name, page in site.items():
        for image in page.find_all("img"):
            assert (folder / image["src"]).is_file(), f"{name}: {image['src']}"
            assert image.has_attr("alt"), name
            assert image["loading"] == "lazy", name
            if not image.find_parent(class_="card"):
                assert len(image["alt"]) > 10
                assert int(image["width"]) > 100
            seen += 1
    assert seen > 100


def test_nothing_is_fetched_from_elsewhere(site):
    for name, page in site.items():
        fetched = page.find_all(src=True) + page.find_all("link", href=True)
        for tag in fetched:
            address = tag.get("src") or tag["href"]
            assert not re.match(r"(https?:)?//", address), f"{name}: {address}"
        assert "@import" not in str(page.style)
        assert "url(" not in str(page.style)


def test_titles_have_the_number_and_the_course_and_pages_are_described(site):
    titles = [page.title.string for page in site.values()]
    assert len(set(titles)) == len(titles)
    title = site["01_membership_game.html"].title.string
    assert title == "01 · The membership game · Membership inference, from scratch"
    for page in site.values():
        assert len(page.find("meta", attrs={"name": "description"})["content"]) > 20
        assert page.find("link", rel="icon")["href"].startswith("data:image/svg+xml,")
        assert len(page.find_all("h1")) == 1


def test_ids_are_unique_and_no_header_cell_is_empty(site):
    for name, page in site.items():
        ids = [tag["id"] for tag in page.find_all(id=True)]
        assert len(set(ids)) == len(ids), name
        assert all(cell.get_text(strip=True) for cell in page.find_all("th")), name


def test_what_may_be_wide_scrolls_by_itself_and_has_a_name(site):
    for name, page in site.items():
        wide = page.select("pre, .picture.wide, math[display=block]")
        for tag in [*wide, *page.find_all("table")]:
            area = tag if "area" in tag.get("class", []) else tag.find_parent(class_="area")
            assert area is not None, f"{name}: {str(tag)[:80]}"
            assert area["tabindex"] == "0"
            assert area["aria-label"]
            assert area["role"] in ("region", "group")
        labels = [area["aria-label"] for area in page.select(".area[role=region]")]
        assert len(set(labels)) == len(labels), name


def test_formulas_are_mathml_and_no_dollar_is_left(site):
    page = site["05_reference_attacks.html"]
    assert len(page.find_all("math")) > 5
    for name, page in site.items():
        for paragraph in page.find_all("p"):
            assert "$$" not in paragraph.get_text(), name


def test_every_page_can_be_read_aloud(site):
    for name, page in site.items():
        for line in heard(page).splitlines():
            assert stumbles(line) == set(), f"{name}: {line}"


def test_eyes_see_signs_and_ears_hear_words():
    written = '<p>An ℓ1 of -3.1e-05 [-1, 0] <code>ℓ</code> at $\\ell_1$</p><img alt="ℓ2">'
    page = BeautifulSoup(formulas.with_mathml(written), "html.parser")
    ears.mend(page)
    words = " ".join(heard(page).split())
    assert words == "An L1 of −3.1 × 10 to the −5 [−1, 0] at ell 1 L2"
    assert page.code.get_text() == "ℓ"
    assert seen(page.p).startswith("An ℓ1 of -3.1e-05 [-1, 0] ℓ")


def test_a_page_of_a_lesson_is_small(built):
    folder, _ = built
    for path in folder.glob("[0-9]*.html"):
        pictures = (folder / "pictures").glob(f"{path.name[:2]}-*.png")
        total = sum(one.stat().st_size for one in [path, *pictures])
        assert path.stat().st_size < 400_000, path.name
        assert total < 1_500_000, path.name


def test_colab_is_a_plain_link_if_it_leads_somewhere(site, made_up):
    assert "Open in Colab" not in site["01_membership_game.html"].get_text()
    link = made_up.find("a", string="Open in Colab")
    assert link["href"].startswith("https://colab.research.google.com/github/ada/mialib/")


def test_a_link_to_a_lesson_that_is_not_there_is_plain_text(made_up):
    assert made_up.find("a", string="00")["href"] == "00_start_here.html"
    assert made_up.find("a", string="not there") is None
    assert "not there" in made_up.get_text()


def test_a_figure_has_its_caption(made_up):
    figure = made_up.find("figcaption", string="A wide figure.").find_parent("figure")
    assert figure.img["alt"] == made_up_lesson.wide_picture().alt
    assert "wide" in figure.select_one(".picture")["class"]


def test_the_search_knows_the_sections_of_every_page(built, site):
    folder, _ = built
    script = (folder / "search.js").read_text(encoding="utf-8")
    for name in site:
        if name != "index.html":
            assert f'"at":"{name}#' in script, name
    places = re.findall(r'"at":"([^"#]+)#([^"]+)"', script)
    assert all(site[name].find(id=part) for name, part in places)
    assert len(script.encode()) < 1_000_000


def test_without_a_script_the_search_is_out_of_the_way(site):
    assert site["index.html"].find(id="search").has_attr("hidden")
    assert len(site["index.html"].select(".card h2 a")) == len(notebooks.lessons()) + 1


# Frozen sliders.


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ((101,), [25]),
        ((3, 2), [3, 2]),
        ((101, 101), [5, 5]),
        ((2, 101), [2, 12]),
        ((101, 2), [12, 2]),
        ((3, 4, 2), [3, 4, 2]),
        ((5,) * 6, [5] * 6),
        ((101, 4, 11), [12, 4, 11]),
    ],
)
def test_stops_are_dealt_out_fairly(sizes, expected):
    assert frozen._counts(sizes) == expected


def test_positions_are_few_and_hold_the_start_and_the_ends(built):
    _, shown = built
    counts = []
    for explorer in shown:
        positions = frozen.frozen_positions(explorer)
        counts.append(len(positions))
        assert explorer.values() in positions
        assert len({tuple(one.values()) for one in positions}) == len(positions)
        for name, control in explorer.controls.items():
            stops = {one[name] for one in positions}
            every = frozen._values(control)
            assert {every[0], every[-1], control.value} <= stops <= set(every)
    assert counts == [25, 6, 25]


def test_a_frozen_frame_is_the_view_to_the_byte(built):
    folder, shown = built
    frames = folder / "frames" / made_up_lesson.NAME
    compared = 0
    for number, explorer in enumerate(shown):
        for k, position in enumerate(frozen.frozen_positions(explorer)):
            fresh = with_few_colors(explorer.view(**position).png)
            assert (frames / f"{number}-{k:02d}.png").read_bytes() == fresh, position
            compared += 1
    assert compared == 25 + 6 + 25


def test_the_page_shows_each_frame_by_the_buttons_of_its_position(built, made_up):
    """The radio buttons, read as labels, say the same as the picture's own words."""
    _, shown = built
    for explorer, group in zip(shown, made_up.select(".explore"), strict=True):
        figures = group.select("figure")
        positions = frozen.frozen_positions(explorer)
        assert len(figures) == len(positions)
        for figure, position in zip(figures, positions, strict=True):
            picture = explorer.view(**position)
            assert figure.img["alt"] == picture.alt
            assert seen(figure.figcaption) == picture.caption
            chosen = [group.find(id=one) for one in figure["data-shown-by"].split()]
            for button in chosen:
                said = seen(button.find_parent("label"))
                controls = explorer.controls
                texts = [frozen._text(controls[name], value) for name, value in position.items()]
                assert said in texts or said.startswith("the start: ")


def test_buttons_are_grouped_named_and_one_of_each_group_is_chosen(made_up):
    one, two, three = made_up.select(".explore")
    for group, names in ((one, 1), (two, 2), (three, 1)):
        buttons = group.select("input[type=radio]")
        assert len({button["name"] for button in buttons}) == names
        assert sum(button.has_attr("checked") for button in buttons) == names
        assert all(box.legend.get_text() for box in group.select("fieldset"))
        assert all(button.find_parent("label") for button in buttons)
    assert [box.legend.get_text() for box in two.select("fieldset")] == ["λ", "α"]


def test_the_page_says_what_more_the_notebook_has(made_up):
    one, two, three = (seen(group) for group in made_up.select(".explore"))
    assert "Frozen at 25 positions." in one
    assert "In the notebook it moves freely." in one
    assert "All 6 positions." in two
    assert "freely" not in two
    assert "In the notebook they all move freely." in three


def test_each_frame_has_one_rule_that_shows_it(made_up):
    rules = re.findall(r"#slider-\d.*\{display:block\}", str(made_up.style))
    assert len(rules) == len(set(rules)) == len(made_up.select(".explore figure"))


def test_frames_of_another_run_are_refused(tmp_path, explored, monkeypatch):
    monkeypatch.setattr(widgets, "EXPLORERS", [])
    shown = made_up_lesson.explorers()
    frozen.write_all(tmp_path / "frames" / made_up_lesson.NAME)
    executed = {made_up_lesson.NAME: made_up_lesson.notebook(shown[:2])}
    with pytest.raises(ValueError, match="frames of 3 sliders, but the notebook shows 2"):
        pages.write(executed, {made_up_lesson.NAME: made_up_lesson.lesson()}, tmp_path)


def test_a_run_freezes_the_sliders_of_its_kernel(tmp_path):
    code = """\
from mialib.course import widgets
from mialib.course.plots.picture import Picture
def view(k):
    return Picture(lambda figure: figure.subplots().plot([0, k]), alt=f"At {k}.", caption="A line.")
widgets.explore(view, k=widgets.steps([1, 2, 3], start=2, label="k"))"""
    front = {"title": "T", "question": "Q?", "goals": ["g"], "needs": "n", "read": 1}
    lesson = notebooks.Lesson("98_small", {**front, "reproduces": "r"}, [new_code_cell(code)])
    done = notebooks.execute_all([lesson], [lesson], home=tmp_path, frames=tmp_path / "frames")
    pages.write(done, {lesson.name: lesson}, tmp_path)
    page = parsed(tmp_path / "98_small.html")
    alts = [image["alt"] for image in page.select(".explore img")]
    assert alts == ["At 1.", "At 2.", "At 3."]
    assert "_frozen" not in nbformat.writes(done[lesson.name])


# The site, the book and the contact sheet.


def test_the_site_needs_every_lesson(tmp_path):
    with pytest.raises(SystemExit, match=r"Not executed yet: 00_start_here, .*make run"):
        website.write(tmp_path, tmp_path / "site")


def test_the_site_holds_all_that_its_pages_ask_for(built, tmp_path):
    folder, _ = built
    (folder / "figures").mkdir(exist_ok=True)
    website.write(folder, tmp_path / "site")
    made = tmp_path / "site"
    assert (made / ".nojekyll").exists()
    assert {path.name for path in made.glob("*.ipynb")} == {
        f"{one.name}.ipynb" for one in notebooks.lessons()
    }
    for path in made.glob("*.html"):
        for image in parsed(path).find_all("img"):
            assert (made / image["src"]).is_file()


def test_the_book_lists_every_lesson_in_twelve_lines():
    text = (ROOT / "myst.yml").read_text(encoding="utf-8")
    assert text.count("\n") == 12
    assert "Untried" in text.splitlines()[0]
    listed = yaml.safe_load(text)["project"]["toc"]
    (pattern,) = [one["pattern"] for one in listed if "pattern" in one]
    assert len(list(ROOT.glob(pattern))) == len(notebooks.lessons())
    assert all((ROOT / one["file"]).exists() for one in listed if "file" in one)


def test_the_contact_sheet_has_every_figure_under_its_name(tmp_path):
    for number in range(5):
        made_up_lesson.wide_picture().save(tmp_path / f"{number}.png")
    one = contact_sheet.sheet([tmp_path / "0.png"], columns=2)
    five = contact_sheet.sheet(sorted(tmp_path.glob("*.png")), columns=2)
    assert one.width == five.width == 2 * contact_sheet.WIDTH + 3 * contact_sheet.GAP
    # Three rows in place of one; each is dark where its name and its axes are.
    row = one.height - contact_sheet.GAP
    assert five.height == 3 * row + contact_sheet.GAP
    last = five.crop((0, 2 * row, contact_sheet.WIDTH, five.height))
    assert last.convert("L").getextrema() != (255, 255)


def test_the_contact_sheet_says_what_to_do_without_figures():
    with pytest.raises(SystemExit, match="make run"):
        contact_sheet.sheet([])
