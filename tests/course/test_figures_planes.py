"""A plane of accuracy and leakage for each attack."""

import pytest
from matplotlib.figure import Figure

from mialib.course import figures
from mialib.estimates import Estimate


def point(x: float, y: float) -> tuple[Estimate, Estimate]:
    return Estimate(x, x - 0.01, x + 0.01), Estimate(y, y - 0.01, y + 0.01)


@pytest.fixture
def picture():
    return figures.attack_planes(
        {
            "PAST": {"loss": [point(0.6, 0.3), point(0.1, 0.0)]},
            "Mixup+MMD": {"loss": [point(0.2, 0.1)]},
        },
        undefended={"loss": point(0.6, 0.5)},
    )


def curves_of(picture) -> dict[str, list[float]]:
    """The accuracies that are drawn, by the name in the legend."""
    figure = Figure(layout="constrained")
    picture.draw(figure)
    handles, names = figure.axes[0].get_legend_handles_labels()
    return {
        name: [float(x) for x in (getattr(handle, "lines", None) or [handle])[0].get_xdata()]
        for handle, name in zip(handles, names, strict=True)
    }


def test_what_is_of_no_use_is_told_and_not_drawn(picture):
    assert curves_of(picture) == {"undefended": [0.6], "PAST": [0.6]}
    assert "less accurate than 0.42: PAST (1), Mixup+MMD (1)." in picture.caption


def test_nothing_is_said_to_be_outside_where_all_is_inside():
    shown = figures.attack_planes(
        {"PAST": {"loss": [point(0.5, 0.3)]}}, undefended={"loss": point(0.6, 0.5)}
    )
    assert "outside" not in shown.caption


def test_a_panel_has_the_size_that_is_asked_for():
    shown = figures.attack_planes(
        {"PAST": {"loss": [point(0.5, 0.3)]}},
        undefended={"loss": point(0.6, 0.5)},
        panel=(6.0, 3.0),
        columns=1,
    )
    assert shown.size == (6.0, 3.9)
