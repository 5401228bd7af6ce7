"""The built pages in a real browser: wide and narrow, light and dark, with scripts and without."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from bs4 import BeautifulSoup

import made_up_lesson
import notebooks
from mialib.course import widgets
from pages import ears, frame

PAGES = ["index", *(one.name for one in notebooks.lessons()), made_up_lesson.NAME, "ledger"]
WIDE = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
# A picture that waits to be looked at would never be missing.
LOAD_ALL = """async () => {
  const images = [...document.images];
  images.forEach((image) => { image.loading = "eager"; });
  await Promise.allSettled(images.map((image) => image.decode()));
  return images.filter((image) => !image.naturalWidth).map((image) => image.src);
}"""
SIDEWAYS = "() => document.documentElement.scrollWidth - window.innerWidth"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """All committed lessons, and one with frozen sliders that is made up."""
    folder = tmp_path_factory.mktemp("pages")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(widgets, "EXPLORERS", [])
        made_up_lesson.build(folder, committed=True)
    return folder


class Visit:
    """A page in a window of its own, and what went wrong while it was open."""

    def __init__(self, browser, path: Path, **window):
        self.context = browser.new_context(**window)
        self.page = self.context.new_page()
        self.outside: list[str] = []
        self.errors: list[str] = []
        self.page.on("request", self._note_request)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", self._note_console)
        self.page.goto(path.as_uri())

    def _note_request(self, request) -> None:
        if urlsplit(request.url).scheme not in ("file", "data"):
            self.outside.append(request.url)

    def _note_console(self, message) -> None:
        if message.type == "error":
            self.errors.append(message.text)

    def __enter__(self):
        return self

    def __exit__(self, *failure) -> None:
        self.context.close()


def violations(page) -> list[str]:
    """What axe-core finds, each with the element that it is about."""
    found = Axe().run(page, options=RULES).response["violations"]
    return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found]


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(
    ("viewport", "scheme"), [(WIDE, "light"), (PHONE, "dark")], ids=["wide-light", "phone-dark"]
)
def test_a_page_is_whole_fits_and_is_accessible(browser, built, name, viewport, scheme):
    path = built / f"{name}.html"
    with Visit(browser, path, viewport=viewport, color_scheme=scheme) as visit:
        assert visit.page.evaluate(LOAD_ALL) == [], "pictures that did not load"
        assert visit.page.evaluate(SIDEWAYS) <= 0, "the page scrolls sideways"
        assert violations(visit.page) == []
        assert visit.outside == []
        assert visit.errors == []


@pytest.mark.parametrize(("viewport", "scheme"), [(WIDE, "dark"), (PHONE, "light")])
def test_the_other_scheme_has_contrast_too(browser, built, viewport, scheme):
    path = built / f"{made_up_lesson.NAME}.html"
    with Visit(browser, path, viewport=viewport, color_scheme=scheme) as visit:
        assert violations(visit.page) == []


def test_a_space_between_words_for_ears_and_an_element_is_heard(browser, tmp_path):
    words = BeautifulSoup("<p>ℓ1 <em>at</em></p>", "html.parser")
    ears.mend(words)
    path = tmp_path / "space.html"
    path.write_text(f"<style>{frame.STYLE}</style>{words}", encoding="utf-8")
    with Visit(browser, path) as visit:
        session = visit.context.new_cdp_session(visit.page)
        nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    heard = [node["name"]["value"] for node in nodes if node["role"]["value"] == "StaticText"]
    assert sorted(heard) == [" ", "L1", "at"]


def shown(page, slider: str) -> str:
    """The alt text of the one frame that a slider shows."""
    visible = page.locator(f"{slider} figure:visible img")
    assert visible.count() == 1
    return visible.get_attribute("alt")


@pytest.fixture
def without_scripts(browser, built):
    path = built / f"{made_up_lesson.NAME}.html"
    with Visit(browser, path, java_script_enabled=False, viewport=PHONE) as visit:
        yield visit.page


def test_without_scripts_a_frozen_slider_moves_by_mouse_and_keyboard(without_scripts):
    page = without_scripts
    assert shown(page, "#slider-1") == "Bars at threshold = 0.5."
    page.locator("#slider-1-0-0").check()
    assert shown(page, "#slider-1") == "Bars at threshold = 0.001."
    page.keyboard.press("ArrowRight")
    second = shown(page, "#slider-1")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert shown(page, "#slider-1") == "Bars at threshold = 10.0."
    assert second not in ("Bars at threshold = 0.001.", "Bars at threshold = 10.0.")


def test_without_scripts_two_sliders_move_together(without_scripts):
    page = without_scripts
    assert shown(page, "#slider-2") == "Bars at lam = 0.2, alpha = 1."
    page.locator("#slider-2-0-2").check()
    page.locator("#slider-2-1-0").check()
    assert shown(page, "#slider-2") == "Bars at lam = 0.5, alpha = 0."


def test_without_scripts_one_of_many_sliders_moves_at_a_time(without_scripts):
    page = without_scripts
    assert shown(page, "#slider-3") == "Bars at record = 929, letter = a, share = 0.5."
    page.get_by_label("h", exact=True).check()
    assert shown(page, "#slider-3") == "Bars at record = 929, letter = h, share = 0.5."
    page.get_by_role("radio", name="L1", exact=True).check()
    assert shown(page, "#slider-3") == "Bars at record = 929, letter = L1, share = 0.5."
    page.get_by_label("1.00").check()
    assert shown(page, "#slider-3") == "Bars at record = 929, letter = a, share = 1.0."


@pytest.fixture
def with_scripts(browser, built):
    with Visit(browser, built / f"{made_up_lesson.NAME}.html", viewport=WIDE) as visit:
        yield visit.page


def test_with_scripts_a_range_presses_the_buttons_and_says_its_value(with_scripts):
    page = with_scripts
    ranges = page.locator("#slider-1 input[type=range]")
    assert page.locator("#slider-1 input[type=radio]:visible").count() == 0
    assert ranges.get_attribute("aria-label") == "threshold"
    assert ranges.get_attribute("aria-valuetext") == "0.5"
    ranges.focus()
    page.keyboard.press("Home")
    assert ranges.get_attribute("aria-valuetext") == "0.001"
    assert shown(page, "#slider-1") == "Bars at threshold = 0.001."
    page.keyboard.press("End")
    assert shown(page, "#slider-1") == "Bars at threshold = 10.0."
    assert page.locator("#slider-1 .value").inner_text() == "10"


def test_with_scripts_the_others_go_back_to_their_start(with_scripts):
    page = with_scripts
    record, letter, share = page.locator("#slider-3 input[type=range]").all()
    record.focus()
    page.keyboard.press("Home")
    assert shown(page, "#slider-3") == "Bars at record = 0, letter = a, share = 0.5."
    letter.focus()
    page.keyboard.press("ArrowRight")
    assert letter.get_attribute("aria-valuetext") == "L1"
    share.focus()
    page.keyboard.press("End")
    assert shown(page, "#slider-3") == "Bars at record = 929, letter = a, share = 1.0."
    said = [one.get_attribute("aria-valuetext") for one in (record, letter, share)]
    assert said == ["929", "a", "1.00"]


def test_only_what_scrolls_is_a_stop_of_the_tab_key(with_scripts):
    page = with_scripts
    stops = "() => document.querySelectorAll('.area[tabindex]').length"
    page.wait_for_function("document.querySelectorAll('pre:not([tabindex])').length > 0")
    wide = page.evaluate(stops)
    page.set_viewport_size(PHONE)
    page.wait_for_function(f"({stops})() > {wide}")
    assert page.locator(".area[tabindex]:not([aria-label])").count() == 0


def test_the_skip_link_is_first_and_leads_to_the_content(with_scripts):
    with_scripts.keyboard.press("Tab")
    focused = with_scripts.locator(":focus")
    assert focused.inner_text() == "Skip to the content"
    assert focused.get_attribute("href") == "#content"


def test_the_search_finds_sections_from_the_disk(browser, built):
    with Visit(browser, built / "index.html", viewport=PHONE) as visit:
        page = visit.page
        words = page.get_by_label("Search the lessons")
        words.fill("likelihood ratio")
        found = page.locator("#results a").evaluate_all("all => all.map(one => one.href)")
        assert any("05_reference_attacks.html#" in address for address in found[:3])
        first = page.locator("#results a").first
        words.fill("λ")
        assert page.locator("#results li").count() > 0
        words.fill("zebra xylophone")
        assert page.locator("#found").inner_text() == "No sections"
        words.fill("membership ")
        assert violations(page) == []
        first.click()
        page.wait_for_load_state()
        assert page.locator("h1").count() == 1
        assert visit.errors == []
        assert visit.outside == []


def test_without_scripts_the_index_is_a_list_of_lessons(browser, built):
    with Visit(browser, built / "index.html", java_script_enabled=False) as visit:
        assert not visit.page.locator("#search").is_visible()
        visit.page.locator(".card a").nth(1).click()
        assert "01_membership_game.html" in visit.page.url


def test_in_print_the_page_is_light_and_without_controls(browser, built):
    path = built / f"{made_up_lesson.NAME}.html"
    with Visit(browser, path, color_scheme="dark") as visit:
        visit.page.emulate_media(media="print")
        style = "getComputedStyle(document.body)"
        assert visit.page.evaluate(f"() => {style}.backgroundColor") == "rgb(255, 255, 255)"
        assert not visit.page.locator("nav").is_visible()
        assert visit.page.locator("#slider-1 fieldset:visible").count() == 0
        assert visit.page.locator("#slider-1 figure:visible").count() == 1
