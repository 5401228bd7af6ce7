"""Sliders: they fit a narrow window, name themselves, and draw each position once."""

import gc
import html

import ipywidgets
import pytest

from mialib.course import plots, widgets

CONTROLS = {
    "slider": lambda: widgets.slider(0.1, 0.5, start=0.1, step=0.1, label="prior"),
    "slider of whole numbers": lambda: widgets.slider(0, 14, start=14, step=1, label="epoch"),
    "log_slider": lambda: widgets.log_slider(0.01, 10, start=1, label="threshold"),
    "steps": lambda: widgets.steps([1e-4, 2e-3], start=2e-3, label="λ"),
    "choice": lambda: widgets.choice(["loss", "max confidence"], label="score"),
}
WIDGET = "application/vnd.jupyter.widget-view+json"
each_control = pytest.mark.parametrize("make", CONTROLS.values(), ids=CONTROLS)


def picture(mark):
    return plots.lines([0, 1], {"PPV": [0, 1]}, xlabel="prior", ylabel="PPV", mark=mark)


@pytest.fixture
def explored(monkeypatch):
    """An explorer of a view that counts, and fails beyond 0.4."""
    monkeypatch.setattr(widgets, "EXPLORERS", [])
    asked = []

    def view(prior):
        asked.append(prior)
        if prior > 0.4:
            raise RuntimeError("too far: 0.4 < prior")
        return picture(prior)

    return widgets.explore(view, prior=CONTROLS["slider"]()), asked


@each_control
def test_a_control_fits_a_narrow_window_and_says_its_name(make):
    control = make()
    assert (control.layout.width, control.layout.max_width) == ("100%", "640px")
    assert control.description
    assert getattr(control, widgets.TOOLTIP) == control.description
    assert control.continuous_update is False


@each_control
def test_no_control_is_a_menu(make):
    """In JupyterLab a letter typed on a menu changes the cell (ipywidgets#3912)."""
    assert not isinstance(make(), ipywidgets.Dropdown)


def test_whole_numbers_are_read_out_as_such():
    epoch = widgets.slider(0, 14, start=3, step=1, label="epoch")
    assert epoch.readout_format == "d"
    assert isinstance(epoch.value, int)
    prior = widgets.slider(0, 4, start=1, step=0.05, label="gap")
    assert prior.readout_format == ".2f"
    assert isinstance(prior.value, float)


def test_steps_stop_where_something_was_computed():
    control = widgets.steps([1e-4, 2e-3], start=2e-3, label="λ")
    assert control.options == (("0.0001", 1e-4), ("0.002", 2e-3))
    assert control.value == 2e-3


def test_a_slider_over_names_starts_with_the_first():
    assert widgets.choice(["loss", "max confidence"], label="score").value == "loss"


@pytest.mark.parametrize(("low", "high", "start"), [(0, 1, 1), (1, 1, 1), (0.1, 1, 2)])
def test_a_logarithmic_scale_must_have_a_range(low, high, start):
    with pytest.raises(ValueError, match="must be"):
        widgets.log_slider(low, high, start=start, label="threshold")


def test_a_slider_moves_its_picture(explored):
    explorer, _ = explored
    explorer.controls["prior"].value = 0.3
    assert explorer.screen.value == picture(0.3).as_figure()
    assert f"<figcaption><em>{picture(0.3).caption}" in explorer.screen.value
    assert [explorer] == widgets.EXPLORERS


def test_a_failure_is_seen(explored):
    explorer, _ = explored
    with pytest.raises(RuntimeError, match="too far"):
        explorer.controls["prior"].value = 0.5
    assert "This position failed" in explorer.screen.value
    assert "too far: 0.4 &lt; prior" in explorer.screen.value
    assert "prior 0.5. This position failed." in explorer.told.value


def test_a_position_is_drawn_once(explored):
    explorer, asked = explored
    first = explorer.screen.value
    for position in (0.3, 0.1, 0.3, 0.1):
        explorer.controls["prior"].value = position
    assert asked == [0.1, 0.3]
    assert explorer.screen.value == first


def test_old_pictures_make_room(explored, monkeypatch):
    explorer, asked = explored
    monkeypatch.setattr(widgets, "KEPT_PICTURES", 2)
    for position in (0.2, 0.3, 0.2, 0.1):
        explorer.controls["prior"].value = position
    assert asked == [0.1, 0.2, 0.3, 0.1]
    assert len(explorer._pictures) == 2


def test_without_a_browser_there_are_words(explored):
    explorer, _ = explored
    bundle = explorer._repr_mimebundle_()
    assert "run the notebook to move it" in bundle["text/plain"]
    assert bundle[WIDGET]["model_id"]


def test_after_a_move_a_screen_reader_has_something_to_say(explored):
    explorer, _ = explored
    explorer.controls["prior"].value = 0.3
    told = html.unescape(explorer.told.value)
    assert 'role="status"' in told
    assert f"prior 0.3. {picture(0.3).alt}" in told
    assert explorer.told in explorer.parts()


def test_the_script_that_names_the_handles_comes_with_them(explored, monkeypatch):
    explorer, _ = explored
    shown = []
    monkeypatch.setattr(widgets, "display", lambda bundle, raw: shown.append(bundle))
    explorer._ipython_display_()
    sliders, script = shown
    assert sliders == explorer._repr_mimebundle_() | {WIDGET: sliders[WIDGET]}
    assert script["text/plain"] == ""
    for name in ("mialib-slider", "mialib-fixed", "aria-label"):
        assert name in script["application/javascript"]
    assert "mialib-slider" in explorer.controls["prior"]._dom_classes


@pytest.mark.parametrize("make", ["steps", "choice"])
def test_a_readout_that_ignores_typing_is_marked_so(make):
    assert "mialib-fixed" in CONTROLS[make]()._dom_classes


def test_garbage_is_collected_again_after_a_move(explored):
    explorer, _ = explored
    with pytest.raises(RuntimeError):
        explorer.controls["prior"].value = 0.5
    assert gc.isenabled()
