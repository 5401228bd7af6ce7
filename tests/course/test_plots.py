"""Charts that any lesson draws: their numbers are the metrics', and words follow numbers."""

import itertools

import numpy as np
import pytest
from matplotlib.figure import Figure

from mialib import metrics
from mialib.course import plots
from mialib.course.plots import spoken
from mialib.course.plots.palette import (
    ATTACKS,
    COLORS,
    CURVES,
    DEFENSES,
    RANDOM,
    SENSITIVE,
    UNIFORM,
    look_of,
)
from mialib.course.plots.pieces import band_of
from mialib.course.plots.tables import draw_cells
from mialib.estimates import Estimate
from small_pictures import HALF, IS_MEMBER, MEMBER, NON_MEMBER, PICTURES, SCORES, threshold_view


def test_the_same_picture_gives_the_same_bytes():
    assert threshold_view(0.2).png == threshold_view(0.2).png
    assert threshold_view(0.2).render("svg") == threshold_view(0.2).render("svg")


def test_charts_say_the_numbers_that_they_show():
    assert PICTURES["comparison"]().numbers == {"one loss": 0.5, "two loss": 0.5, "two R": 0.3}
    a = {"a at 1": 0.1, "a at 2": 0.5, "a at 3": 1.0}
    b = {"b at 1": 0.5, "b at 2": 0.5, "b at 3": 0.5}
    assert PICTURES["lines"]().numbers == a | b
    assert PICTURES["lines by role"]().numbers["mark"] == 2
    assert "0.500 [0.400, 0.600]" in PICTURES["comparison"]().alt


def texts_of(picture: plots.Picture) -> dict[str, tuple[float, float]]:
    """What is written in its only axes, and where: at a share of them, or at a place."""
    figure = Figure()
    picture.draw(figure)
    (axes,) = figure.axes
    return {text.get_text(): getattr(text, "xy", text.get_position()) for text in axes.texts}


def test_names_at_the_ends_of_curves_do_not_cover_each_other():
    curves = {"low": [0.0, 0.5], "same": [1.0, 0.5], "high": [0.5, 1.0]}
    axes = {"xlabel": "x", "ylabel": "y"}
    written = texts_of(plots.lines([0, 1], curves, direct="ends", **axes))
    heights = [written[name][1] for name in ("low", "same", "high")]
    assert np.diff(heights).min() >= 0.08 - 1e-9
    assert texts_of(plots.lines([0, 1], curves, **axes)) == {}


def test_names_stand_on_their_curves_where_these_are_farthest_apart():
    x = np.linspace(0, 1, 101)
    curves = {"arch": x * (1 - x), "floor": 0 * x}
    written = texts_of(plots.lines(x, curves, xlabel="x", ylabel="y", direct="gap"))
    assert written == {"arch": (0.5, 0.25), "floor": (0.5, 0.0)}


def test_a_comparison_of_differences_does_not_speak_of_chance():
    picture = PICTURES["comparison of differences"]()
    assert picture.caption == "Change with 95 % intervals; dotted: no difference."
    assert "chance" not in picture.alt
    assert PICTURES["comparison"]().caption.endswith("dotted: chance; shaded: R.")


def test_comparisons_at_all_positions_of_a_slider_share_one_axis():
    every = [Estimate(0.6, 0.5, 0.7), Estimate(0.9, 0.2, 1.0)]
    limits = set()
    for one in every:
        figure = Figure()
        plots.comparison({"AUC": {"loss": one}}, label="AUC", chance=0.5, room_for=every).draw(
            figure
        )
        limits.add(figure.axes[0].get_xlim())
    ((low, high),) = limits
    assert low < 0.2
    assert high > 1


def test_a_curve_with_gaps_says_where_it_has_values():
    alt = PICTURES["lines with gaps"]().alt
    assert "late from 0.500 to 0.000;" in alt
    assert "never has no values" in alt


def test_a_curve_says_how_far_it_goes_beyond_its_ends_and_whose_it_is():
    curves = {"member": [0.1, 0.4, 0.2], "non_member": [0.1, 0.2, 0.4]}
    alt = plots.lines([1, 2, 3], curves, xlabel="x", ylabel="y", roles=True).alt
    assert "members from 0.100 to 0.200, between 0.100 and 0.400" in alt
    assert alt.endswith("non-members from 0.100 to 0.400.")


def test_a_band_is_a_number_and_its_interval():
    band = band_of([HALF, 0.7, Estimate(0.2, 0.3, 0.4)])
    assert band.value.tolist() == [0.5, 0.7, 0.2]
    assert band.low.tolist() == [0.4, 0.7, 0.3]
    np.testing.assert_allclose(band.errors(), [[0.1, 0, 0], [0.1, 0, 0.2]])


def test_small_multiples_show_what_the_slider_shows():
    rows = plots.small_multiples(threshold_view, threshold=[0.01, 1.0])
    assert rows.numbers["tpr at 0.01"] == threshold_view(0.01).numbers["tpr"]
    assert rows.numbers["fpr at 1"] == threshold_view(1.0).numbers["fpr"]
    assert threshold_view(0.01).alt in rows.alt
    assert rows.caption == f"The slider at threshold = 0.01, 1. {threshold_view(1.0).caption}"


def test_rows_that_differ_keep_their_own_captions():
    def view(k):
        return plots.Picture(lambda figure: None, "", f"W has {k} factors. Blue: lines.")

    rows = plots.small_multiples(view, k=[2, 4])
    assert rows.caption == (
        "The slider at k = 2, 4. At 2: W has 2 factors. At 4: W has 4 factors. Blue: lines."
    )


def test_a_figures_number_is_not_a_sentence_of_its_own():
    def view(k):
        return plots.Picture(lambda figure: None, "", f"After Fig. {k} of the paper. Blue: lines.")

    rows = plots.small_multiples(view, k=[2, 4])
    assert rows.caption == (
        "The slider at k = 2, 4. At 2: After Fig. 2 of the paper. At 4: After Fig. 4 of the paper. "
        "Blue: lines."
    )


def test_one_position_is_enough():
    assert plots.small_multiples(threshold_view, threshold=[0.5]).png


def test_points_say_where_they_are():
    numbers = PICTURES["scatter"]().numbers
    assert len(numbers) == 8
    assert (numbers["letters ℓ1 1 x"], numbers["paper ℓ2 0 y"]) == (0.5, 0.2)


def test_a_tradeoff_says_where_its_points_are():
    picture = PICTURES["tradeoff"]()
    assert picture.numbers["ℓ1 1 accuracy"] == 0.3
    said = "undefended (0.50, 0.30); L1: weak (0.50, 0.50), strong (0.30, 0.30)."
    assert said in picture.alt


def test_a_tradeoff_in_panels_has_the_same_points():
    picture = PICTURES["tradeoff in panels"]()
    assert picture.numbers["ℓ1 1 accuracy"] == 0.3
    assert picture.numbers["ℓ2 0 advantage"] == 0.5
    figure = Figure()
    picture.draw(figure)
    assert [axes.get_title(loc="left") or axes.get_title() for axes in figure.axes] == ["ℓ1", "ℓ2"]


def test_a_tradeoff_says_what_lies_along():
    wide = {"ℓ1": [(Estimate(2.5, 2.4, 2.6), HALF)]}
    picture = plots.tradeoff(wide, undefended=(HALF, HALF), along="loss gap", columns=1)
    assert "against loss gap" in picture.caption
    assert "lower right is best" not in picture.caption
    assert picture.numbers["ℓ1 0 loss gap"] == 2.5
    figure = Figure()
    picture.draw(figure)
    assert figure.axes[0].get_xlim()[1] > 2.7


def test_no_line_joins_the_kinds_of_a_tradeoff():
    kinds = {"ℓ1": [(HALF, HALF), (HALF, HALF)], "DMP": [(HALF, HALF), (HALF, HALF)]}
    figure = Figure()
    plots.tradeoff(kinds, undefended=(HALF, HALF), unjoined=["DMP"]).draw(figure)
    lines = {one.get_label(): one.get_children()[0] for one in figure.axes[0].containers}
    assert lines["ℓ1"].get_linestyle() == "-"
    assert lines["DMP"].get_linestyle() == "None"


def test_a_defense_has_its_familys_colour_at_any_place_of_a_picture():
    point = (HALF, HALF)
    figure = Figure()
    shown = {"else": [point], "dropout (p)": [point], "PAST": [point], "ℓ1": [point]}
    plots.tradeoff(shown, undefended=point).draw(figure)
    colors = {
        one.get_label(): one.get_children()[0].get_color() for one in figure.axes[0].containers
    }
    assert colors["PAST"] == SENSITIVE
    assert colors["ℓ1"] == look_of("uniform ℓ1", 7)[0] == UNIFORM
    assert colors["dropout (p)"] == RANDOM
    assert colors["else"] == COLORS[0]


def test_an_attack_keeps_its_colour_from_picture_to_picture():
    scores = (np.array([0.1, 0.9]), np.array([False, True]))
    curves = Figure()
    plots.roc({"LiRA online": scores, "RMIA, γ = 2": scores, "mine": scores}).draw(curves)
    lines = Figure()
    plots.lines([1, 2], {"RMIA": [0, 1]}, xlabel="x", ylabel="y").draw(lines)
    online, rmia, mine, _ = curves.axes[0].lines  # and chance
    assert rmia.get_color() == lines.axes[0].lines[0].get_color() == ATTACKS["RMIA"][0]
    assert online.get_color() == ATTACKS["LiRA"][0]
    assert mine.get_color() == CURVES[2][0]


TOGETHER = [  # in one figure
    ["ℓ1", "ℓ2", "dropout", "label smoothing", "confidence penalty", "early stopping"],
    ["PAST", "uniform ℓ1", "tuned with λ = 0"],
    ["RelaxLoss", "CRL's RelaxLoss", "ImpRelaxLoss", "CRL, inert centers", "CRL, acting, by λ"],
    ["AdvReg", "Mixup+MMD", "MMD alone", "distillation", "DMP", "DP-SGD"],
    ["pruned (IMP)", "pruned at once", "butterflies, L = 2", "butterflies, L = 3"],
    ["dense, stopped early", "dense, narrow", "dense, retrained"],
    ["butterfly", "nearest dense network"],
]


@pytest.mark.parametrize("names", TOGETHER, ids=lambda names: names[0])
def test_defenses_of_one_figure_differ_in_colour_or_marker(names):
    looks = {DEFENSES[name] for name in names}
    assert len(looks) == len(names)


def test_labels_of_a_tradeoff_do_not_lie_on_each_other():
    near = [(Estimate(0.5 + 0.01 * k, 0.4, 0.6), Estimate(0.5, 0.4, 0.6)) for k in range(3)]
    texts = {"ℓ1": ["first", "second", "third"]}
    figure = Figure(figsize=(6.8, 4.0), layout="constrained")
    plots.tradeoff({"ℓ1": near}, undefended=(HALF, HALF), labels=texts).draw(figure)
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in figure.axes[0].texts]
    assert len(boxes) == 3
    assert not any(one.overlaps(other) for one, other in itertools.combinations(boxes, 2))


def test_zero_losses_can_be_drawn():
    assert plots.histograms(np.zeros(5), np.r_[0.0, 1.0]).png
    assert plots.histograms(np.zeros(5), np.zeros(5)).png


def test_the_roc_names_the_right_area():
    area = metrics.auc(SCORES, IS_MEMBER)
    assert plots.roc({"loss": (SCORES, IS_MEMBER)}).numbers["auc loss"] == area


def test_a_roc_of_too_many_curves_is_refused():
    with pytest.raises(ValueError, match="at most 5 curves, found 6"):
        plots.roc({str(k): (SCORES, IS_MEMBER) for k in range(6)})


def test_histograms_have_the_medians():
    numbers = plots.histograms(MEMBER, NON_MEMBER).numbers
    assert numbers["member_median"] == np.median(MEMBER)
    assert numbers["non_member_median"] == np.median(NON_MEMBER)


def test_cells_are_written_where_they_can_be_read():
    axes = Figure().subplots()
    table = np.array([[0.0, 1.0], [np.nan, -0.001]])
    draw_cells(axes, table, rows=["a", "b"], columns=["c", "d"], cmap="Greys", vmin=0, vmax=1)
    written = {text.get_text(): text.get_color() for text in axes.texts}
    assert written == {"0.00": "black", "1.00": "white"}
    assert len(axes.texts) == 3  # Two of them say 0.00; what is not there has no text.


def test_spoken_numbers_have_no_minus_zero():
    assert spoken.spoken({"a": -0.0001, "b": 0.126}) == "a 0.00; b 0.13"


def test_show_keeps_png_and_svg_when_asked(tmp_path, monkeypatch):
    monkeypatch.setenv("MIALIB_FIGURES", str(tmp_path / "figures"))
    picture = PICTURES["lines"]()
    plots.show(picture, name="one")
    assert (tmp_path / "figures" / "one.png").read_bytes() == picture.png
    assert b"<svg" in (tmp_path / "figures" / "one.svg").read_bytes()


@pytest.mark.parametrize(
    ("kind", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")]
)
def test_a_picture_is_saved_as_its_name_ends_and_overwrites_nothing(tmp_path, kind, start):
    picture = PICTURES["board"]()
    path = picture.save(tmp_path / "new" / f"board.{kind}")
    assert path.read_bytes().startswith(start)
    with pytest.raises(FileExistsError, match="overwrite=True"):
        picture.save(path)
    path.write_bytes(b"")
    picture.save(path, overwrite=True)
    assert path.read_bytes() == picture.render(kind)
    with pytest.raises(ValueError, match="png"):
        picture.save(tmp_path / "board.gif")


def test_a_single_curve_says_its_value_at_the_mark():
    picture = PICTURES["lines with a mark"]()
    assert "where the curve is at 0.2." in picture.alt


def test_a_series_with_a_role_has_its_colour():
    figure = Figure()
    PICTURES["comparison by role"]().draw(figure)
    (axes,) = figure.axes
    colors = [line.get_color() for line in axes.lines if line.get_marker() in ("o", "s")]
    assert colors == [plots.COLOR["member"], plots.COLOR["non_member"]]
