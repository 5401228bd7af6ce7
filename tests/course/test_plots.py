"""Figures: their numbers are the metrics', they are drawn the same way each time, and they can be read aloud."""

import numpy as np
import pytest

from mialib import metrics
from mialib.course import figures, plots, widgets
from mialib.estimates import Estimate

rng = np.random.default_rng(0)
MEMBER, NON_MEMBER = rng.lognormal(-3, 1, 300), rng.lognormal(-1, 1.5, 200)
SCORES, IS_MEMBER = -np.r_[MEMBER, NON_MEMBER], np.arange(500) < 300

HALF = Estimate(0.5, 0.4, 0.6)
PICTURES = {
    "images": lambda: figures.images(
        rng.integers(0, 255, (7, 3, 8, 8)), list("ABCDEFG"), columns=4
    ),
    "histograms": lambda: plots.histograms(MEMBER, NON_MEMBER),
    "lines": lambda: plots.lines(
        [1, 2, 3], {"a": [0.1, 0.5, 1.0], "b": [HALF] * 3}, xlabel="epoch", ylabel="gap"
    ),
    "comparison": lambda: plots.comparison(
        {"one": {"loss": HALF}, "two": {"loss": HALF, "R": HALF}}, label="AUC"
    ),
    "worlds": lambda: figures.worlds(MEMBER[:20], NON_MEMBER[:20], 0.5, label="confidence"),
    "roc": lambda: plots.roc({"loss": (SCORES, IS_MEMBER)}),
    "threshold_view": lambda: figures.threshold_view(MEMBER, NON_MEMBER, threshold=0.2),
}


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_a_png_and_an_svg_with_alt_text_and_caption(name):
    picture = PICTURES[name]()
    assert picture.png.startswith(b"\x89PNG")
    assert b"<svg" in picture.render("svg")
    assert len(picture.alt) > 40
    assert picture.caption.endswith(".")
    data, metadata = picture._repr_mimebundle_()
    assert metadata["image/png"]["alt"] == picture.alt == data["text/plain"]


def test_the_same_picture_gives_the_same_bytes():
    first, second = (figures.threshold_view(MEMBER, NON_MEMBER, threshold=0.2) for _ in range(2))
    assert first.png == second.png
    assert first.render("svg") == second.render("svg")


@pytest.mark.parametrize("threshold", [1e-4, 0.05, 0.7, 100.0])
def test_the_threshold_view_counts_rightly(threshold):
    numbers = figures.threshold_view(MEMBER, NON_MEMBER, threshold=threshold).numbers
    caught, accused = (
        sum(loss <= threshold for loss in MEMBER),
        sum(loss <= threshold for loss in NON_MEMBER),
    )
    assert numbers == pytest.approx({
        "tpr": caught / 300, "fpr": accused / 200, "advantage": caught / 300 - accused / 200
    })  # fmt: skip


def test_whole_numbers_are_losses_too():
    numbers = figures.threshold_view(
        np.array([0, 3], np.uint8), np.array([1, 9], np.uint8), threshold=2.0
    ).numbers
    assert numbers == {"tpr": 0.5, "fpr": 0.5, "advantage": 0.0}


def test_charts_say_the_numbers_that_they_show():
    assert PICTURES["comparison"]().numbers == {"one loss": 0.5, "two loss": 0.5, "two R": 0.5}
    a, b = (
        {"a at 1": 0.1, "a at 2": 0.5, "a at 3": 1.0},
        {"b at 1": 0.5, "b at 2": 0.5, "b at 3": 0.5},
    )
    assert PICTURES["lines"]().numbers == a | b
    assert PICTURES["worlds"]().numbers["in"] == pytest.approx(MEMBER[:20].mean())
    assert "0.500 [0.400, 0.600]" in PICTURES["comparison"]().alt


def test_small_multiples_show_what_the_slider_shows():
    def view(threshold):
        return figures.threshold_view(MEMBER, NON_MEMBER, threshold=threshold)

    rows = plots.small_multiples(view, threshold=[0.01, 1.0])
    assert rows.numbers["tpr at 0.01"] == view(0.01).numbers["tpr"]
    assert rows.numbers["fpr at 1"] == view(1.0).numbers["fpr"]
    assert view(0.01).alt in rows.alt


def test_zero_losses_can_be_drawn():
    assert plots.histograms(np.zeros(5), np.r_[0.0, 1.0]).png
    assert plots.histograms(np.zeros(5), np.zeros(5)).png


def test_the_roc_names_the_right_area():
    assert plots.roc({"loss": (SCORES, IS_MEMBER)}).numbers["auc loss"] == metrics.auc(
        SCORES, IS_MEMBER
    )


def test_show_keeps_png_and_svg_when_asked(tmp_path, monkeypatch):
    monkeypatch.setenv("MIALIB_FIGURES", str(tmp_path / "figures"))
    picture = PICTURES["lines"]()
    plots.show(picture, name="one")
    assert (tmp_path / "figures" / "one.png").read_bytes() == picture.png
    assert b"<svg" in (tmp_path / "figures" / "one.svg").read_bytes()


def test_a_slider_moves_its_picture_and_a_failure_is_seen():
    def view(prior):
        if prior > 0.4:
            raise RuntimeError("too far")
        return plots.lines([0, 1], {"PPV": [0, 1]}, xlabel="prior", ylabel="PPV", mark=prior)

    explorer = widgets.explore(
        view, prior=widgets.slider(0.1, 0.5, start=0.1, step=0.1, label="prior")
    )
    explorer.controls["prior"].value = 0.3
    assert explorer.screen.value == view(0.3).as_html()
    with pytest.raises(RuntimeError, match="too far"):
        explorer.controls["prior"].value = 0.5
    assert "This position failed" in explorer.screen.value
    widgets.EXPLORERS.remove(explorer)
