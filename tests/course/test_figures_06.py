"""The figures of lesson 06 say the numbers of the sweep."""

import pytest

from mialib import metrics
from mialib.course import figures_06 as figures
from mialib.course import sweeps
from mialib.estimates import Estimate

UP, UNSURE = Estimate(0.2, 0.1, 0.3), Estimate(-0.1, -0.3, 0.1)


@pytest.fixture(scope="module")
def sweep():
    return sweeps.load("simple")


def test_a_standing_is_what_the_sweep_estimates(sweep):
    for row in (0, 5, len(sweep.rows) - 1):
        found = figures.standing(sweep, row)
        assert found["loss gap"] == sweep.rows[row]["loss_gap"]
        expected = {attack: sweep.advantage(row, attack).value for attack in sweep.attacks}
        expected |= {"accuracy": sweep.accuracy(row).value, "mean": sweep.mean(row).value}
        expected |= {"highest": sweep.highest(row).value, "P1": sweep.p1(row).value}
        assert {name: found[name] for name in expected} == pytest.approx(
            expected, abs=1e-5
        )  # The sweep counts in single precision.


def test_the_pictures_can_be_drawn_and_read_aloud(sweep):
    standings = {"undefended": figures.standing(sweep, 0), "ℓ1": figures.standing(sweep, 1)}
    pictures = [
        figures.board(standings),
        figures.changes({"ℓ1": {"loss": UP, "entropy": UNSURE}}),
        figures.p1_map({"ℓ1": [(0.5, 0.4), (0.6, 0.2)]}, undefended=(0.5, 0.6)),
    ]
    for picture in pictures:
        assert picture.png.startswith(b"\x89PNG")
        assert len(picture.alt) > 40
        assert picture.caption.endswith(".")
    assert pictures[0].numbers["ℓ1 highest"] == standings["ℓ1"]["highest"]
    assert pictures[1].numbers == {"ℓ1 loss": 0.2, "ℓ1 entropy": -0.1}
    assert pictures[2].numbers["ℓ1 1"] == metrics.p1(0.6, 0.2)
    assert pictures[2].numbers["undefended"] == metrics.p1(0.5, 0.6)


def test_only_what_is_sure_is_bold():
    from matplotlib.figure import Figure

    figure = Figure()
    figures.changes({"ℓ1": {"loss": UP, "entropy": UNSURE}}).draw(figure)
    assert {text.get_text(): text.get_weight() for text in figure.axes[0].texts} == {
        "+0.20": "bold",
        "-0.10": "normal",
    }
