"""Names of slider handles with the ipywidgets that Colab has, whose elements are others."""

import pytest

from mialib.course.widgets import NAMES

# As ipywidgets 7.7 writes a slider: a jQuery handle without role or name.
PAGE = """\
<div class="widget-inline-hbox widget-slider mialib-slider {fixed}">
  <label class="widget-label">ℓ1: λ</label>
  <div class="slider-container">
    <div class="slider ui-slider ui-slider-horizontal ui-widget">
      <span tabindex="0" class="ui-slider-handle ui-state-default" style="left: 40%"></span>
    </div>
  </div>
  <div class="widget-readout" contenteditable="true">0.001</div>
</div>"""
MOVE = """() => {
  document.querySelector(".widget-readout").textContent = "1.00e-6";
  document.querySelector(".ui-slider-handle").style.left = "60%";
}"""


@pytest.fixture
def page(browser):
    opened = browser.new_context().new_page()
    yield opened
    opened.context.close()


def test_a_handle_of_ipywidgets_7_is_a_slider_with_a_name_and_a_value(page):
    page.set_content(PAGE.format(fixed="mialib-fixed"))
    page.evaluate(NAMES)
    handle = page.get_by_role("slider", name="L1: λ")
    assert handle.get_attribute("aria-valuetext") == "0.001"
    assert handle.get_attribute("aria-valuenow") == "40"
    assert page.locator(".widget-readout").get_attribute("contenteditable") == "false"
    page.evaluate(MOVE)
    heard = "1.00 × 10 to the −6"
    page.wait_for_function(f"document.querySelector('[aria-valuetext=\"{heard}\"]')")
    assert handle.get_attribute("aria-valuenow") == "60"


def test_a_readout_that_takes_typing_keeps_it(page):
    page.set_content(PAGE.format(fixed=""))
    page.evaluate(NAMES)
    readout = page.locator(".widget-readout")
    assert readout.get_attribute("contenteditable") == "true"
    assert readout.get_attribute("aria-label") == "L1: λ"
    assert readout.get_attribute("role") == "textbox"


# As ipywidgets writes words, and anew with each move.
TOLD = """\
<div class="widget-html mialib-told"><div class="widget-html-content">
<p role="status">λ 0.001. A curve.</p></div></div>"""
TELL = """() => {
  window.region = document.querySelector("[role=status]");
  document.querySelector(".widget-html-content").innerHTML = '<p role="status">λ 0.01. Two.</p>';
}"""


def test_words_change_in_a_region_that_stays(page):
    """One that came with its words would often not be announced."""
    page.set_content(TOLD)
    page.evaluate(NAMES)
    page.evaluate(TELL)
    page.wait_for_function("document.querySelectorAll('[role=status]').length === 1")
    region = page.get_by_role("status")
    assert region.inner_text().strip() == "λ 0.01. Two."
    assert region.evaluate("region => region === window.region")
