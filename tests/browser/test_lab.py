"""The lessons in JupyterLab, in a real browser: run, read, and moved by keyboard and mouse.

`make test` opens a few of them; MIALIB_BROWSER=all, which `make soak` sets, opens the others too.
"""

import os
import re
import statistics

import pytest
from axe_playwright_python.sync_playwright import Axe

import lab
from lab import Lesson, Slider

OFTEN = ["01_membership_game"]
SELDOM = ["08_past", "14_arena", "10_crl", "12_magnitude_pruning", "16_audit_your_model"]
OPENED = OFTEN + SELDOM if os.environ.get("MIALIB_BROWSER") == "all" else OFTEN
TRAINING = "08_past"  # where the button that trains a point is pressed
TRAINED = re.compile(r"test accuracy .* highest advantage .* One training\.")
# What screen readers need of a picture, a slider and a button.
RULES = ["image-alt", "aria-input-field-name", "button-name", "aria-required-attr"]


@pytest.fixture(scope="module")
def address(browser, tmp_path_factory, lessons_home):
    with lab.server(tmp_path_factory.mktemp("lab"), lessons_home) as printed:
        yield printed


@pytest.fixture(params=OPENED)
def lesson(request, browser, address):
    opened = Lesson(browser, address, request.param)
    yield opened
    opened.close()


def test_the_printed_address_has_a_token_and_leads_to_lesson_00(address):
    assert "/lab/tree/notebooks/00_start_here.ipynb?token=" in address


def test_lesson_00_opens_unchanged_and_asks_nobody(browser, address):
    """A course on privacy neither asks for news nor looks for updates."""
    opened = Lesson(browser, address, "00_start_here")
    metadata = opened.content().metadata
    assert not opened.is_changed()
    opened.save()
    saved = dict(opened.content().metadata)
    kept = saved.pop("widgets")  # what sliders need when the file is opened again; none was run
    assert kept["application/vnd.jupyter.widget-state+json"]["state"] == {}
    assert saved == metadata
    assert opened.asked_elsewhere == set()
    opened.page.wait_for_load_state("networkidle")
    assert "/lab/api/settings" in opened.asked
    assert not {"/lab/api/news", "/lab/api/update"} & opened.asked
    assert opened.page.get_by_text("Jupyter news").count() == 0
    opened.close()


def test_the_first_models_show_how_far_they_are(browser, address):
    """With nothing trained before, a bar is seen before it is full; then it is green, and gone."""
    opened = Lesson(browser, address, lab.COLD)
    opened.start()
    bar = opened.page.locator(".jp-OutputArea .progress-bar").first
    bar.wait_for(timeout=120_000)
    assert float(bar.evaluate("bar => parseFloat(bar.style.width)")) < 100
    opened.page.evaluate("window.running")
    assert complaints_of(opened) == []
    opened.close()


def test_a_saved_slider_is_still_shown_when_its_notebook_is_opened_again(browser, address):
    opened = Lesson(browser, address, lab.SMALL)
    opened.run()
    (slider,) = opened.sliders()
    before = slider.shown()
    slider.press("ArrowRight")
    slider.wait_until_told(before["announcement"])
    moved = slider.shown()
    # Announced is what changes in a region, so the place that ipywidgets keeps must be one.
    assert slider.box.locator(".mialib-told .widget-html-content[role=status]").count() == 1
    opened.save()
    opened.end_kernel()
    opened.reload()
    opened.page.locator(".mialib-slider img, .widget-html img").first.wait_for()
    assert opened.page.get_by_text("Error displaying widget").count() == 0
    (again,) = opened.sliders()
    assert again.shown()["picture"] == moved["picture"]
    assert complaints_of(opened) == []
    opened.close()


def test_a_lesson_runs_and_its_sliders_answer(lesson, record_property):
    lesson.run()
    assert complaints_of(lesson) == []
    sliders = lesson.sliders()
    assert sliders
    check_names(sliders)
    if lesson.name == TRAINING:
        check_training(lesson)
    # From the last to the first: what a later one can do may hang on those before it.
    milliseconds = [check_there_and_back(one) for one in reversed(sliders)]
    milliseconds.append(check_move(sliders[0], by_mouse))
    check_narrow(lesson)
    assert accessibility(lesson) == []
    assert complaints_of(lesson) == []
    median = statistics.median(milliseconds)
    told = f"{lesson.name}: {len(milliseconds)} moves, median {median:.0f} ms"
    record_property("answers", told)


def complaints_of(lesson: Lesson) -> list[str]:
    """Whatever went wrong in an output, on the console or in a progress bar."""
    found = list(lesson.complaints)
    for cell in lesson.content().cells:
        for output in cell.get("outputs", []):
            if output.output_type == "error" or output.get("name") == "stderr":
                found.append(f"{cell.id}: {output}")
    red = lesson.page.locator(".progress-bar-danger, .progress-bar.bg-danger").count()
    pictures = lesson.page.locator(".jp-OutputArea-output img:not([alt])").count()
    hovering = lesson.page.locator('.jp-OutputArea-output [title="null"]').count()
    found += ["a red progress bar"] * red + ["a picture without alt text"] * pictures
    found += ['a title that says "null"'] * hovering
    return found + sorted(lesson.asked_elsewhere)


def check_names(sliders: list[Slider]) -> None:
    for one in sliders:
        assert one.name, "a slider without a name"
        assert one.name in one.shown()["announcement"]
        readout = one.place.locator(".widget-readout").inner_text()
        assert one.shown()["value"] == readout.replace("ℓ", "L")


def check_there_and_back(slider: Slider) -> float:
    """What stood at an end goes back there: at the other end, others may have nothing to show."""
    was_at_its_start = slider.is_at_its_start()
    was_at_its_end = slider.is_at_its_end()
    milliseconds = check_move(slider, by_keyboard)
    if was_at_its_start:
        slider.press("Home")
    if was_at_its_end:
        slider.press("End")
    return milliseconds


def by_keyboard(slider: Slider) -> float:
    return slider.press("Home" if slider.is_at_its_end() else "End")


def by_mouse(slider: Slider) -> float:
    return slider.drag(0.9 if not slider.is_at_its_end() else 0.1)


def check_move(slider: Slider, move) -> float:
    """Everything that a reader sees or hears must change."""
    before = slider.shown()
    milliseconds = move(slider)
    slider.wait_until_told(before["announcement"])
    after = slider.shown()
    assert [what for what in before if before[what] == after[what]] == []
    return milliseconds


def check_training(lesson: Lesson) -> None:
    """A setting beside the one that the lesson starts with: at the ends some trainings diverge."""
    button = lesson.page.get_by_role("button", name="Train this point")
    lesson.sliders_beside(button)[0].press("ArrowLeft")
    button.click()
    # The words alone stand in the prose, too.
    told = lesson.page.locator("p[role=status]").filter(has_text=TRAINED)
    refused = lesson.page.locator("p[role=alert]")
    told.or_(refused).first.wait_for(timeout=180_000)
    assert refused.all_inner_texts() == []


def check_narrow(lesson: Lesson) -> None:
    """At 800 pixels, the list of files open, no slider is cut off."""
    lesson.page.set_viewport_size({"width": 800, "height": 900})
    for one in lesson.sliders():
        inside = one.place.evaluate(
            """slider => slider.getBoundingClientRect().right
               <= slider.closest(".jp-OutputArea").getBoundingClientRect().right + 8"""  # a margin
        )
        assert inside, one.name


def accessibility(lesson: Lesson) -> list[str]:
    """What axe finds in the notebook; JupyterLab's own frame is not ours."""
    options = {"runOnly": {"type": "rule", "values": RULES}}
    found = Axe().run(lesson.page, context=".jp-NotebookPanel-notebook", options=options)
    return [
        f"{violation['id']}: {node['html'][:200]}"
        for violation in found.response["violations"]
        for node in violation["nodes"]
        if "jp-OutputArea-output" in str(node["target"]) or "widget" in node["html"]
    ]
