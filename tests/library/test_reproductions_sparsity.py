"""The items of the sparsity paper, and WeMem's: from shipped results, counted, and recomputed."""

import re
from math import ceil, isnan

import numpy as np
import pytest

from drawn_results import made_up
from mialib.reproductions import ITEMS, Evidence, find
from mialib.reproductions.items import MissingEvidenceError
from mialib.reproductions.sparsity import exact, trained

SPARSITY = [item for item in ITEMS.values() if item.paper in ("sparsity", "WeMem")]
PROFILES = [(item.name, profile) for item in SPARSITY for profile in item.plans]
ROWS = {
    "sparsity-quoted": {
        f"sparsity-quoted-{what}" for what in ("accuracy", "gain", "slope", "significance")
    }
}


@pytest.fixture(scope="module")
def shipped():
    return Evidence("quick")


def check(made):
    """Pictures with words, and lines of which each is a finite number or says why there is none."""
    assert made.pictures
    for picture in made.pictures.values():
        assert not re.search(r"\bnan\b", picture.alt + picture.caption)
        assert picture.png.startswith(b"\x89PNG")
    for line in made.lines:
        assert line.own.note or not isnan(line.own.value)
    assert len({(line.row, line.what) for line in made.lines}) == len(made.lines)


def test_every_row_of_the_paper_has_an_item():
    names = [item.name for item in SPARSITY]
    figures = [f"sparsity-fig-{number}" for number in (1, 2, 3)]
    assert names == [*figures, "sparsity-table-1", "sparsity-quoted", "wemem"]


@pytest.mark.parametrize("item", SPARSITY, ids=lambda item: item.name)
def test_an_item_is_made_from_shipped_results(item, shipped):
    made = item.make(shipped)
    check(made)
    assert {line.row for line in made.lines} == ROWS.get(item.name, {item.name})
    first_of_row = {line.row: line for line in reversed(made.lines)}
    assert not any(isnan(line.own.value) for line in first_of_row.values())


@pytest.mark.parametrize(("name", "profile"), PROFILES)
def test_an_item_is_made_at_every_profile_that_it_names(name, profile):
    item = find(name)
    read = {plan: made_up(plan, profile) for plan in item.plans_at(profile)}
    check(item.make(Evidence(profile, read=read)))


@pytest.mark.parametrize("name", ["sparsity-fig-1", "sparsity-quoted", "wemem"])
def test_one_training_of_each_has_numbers_without_intervals(name):
    item = find(name)
    read = {plan: made_up(plan, "cpu", seeds=1) for plan in item.plans_at("cpu")}
    check(item.make(Evidence("cpu", read=read)))


@pytest.mark.parametrize("name", ["sparsity-fig-1", "sparsity-quoted", "wemem"])
def test_the_short_pruning_stands_in_for_the_whole_one(name):
    item = find(name)
    short = item.variants["paper"]
    read = {short: made_up(short, "paper"), "butterflies": made_up("butterflies", "paper")}
    made = item.make(Evidence("paper", read=read))
    check(made)
    with pytest.raises(MissingEvidenceError):
        item.make(Evidence("class"))


# Counted.


def test_table_1_agrees_with_the_printed_percentages_but_for_one(shipped):
    lines = {line.what: line for line in find("sparsity-table-1").make(shipped).lines}
    percentages = [line for what, line in lines.items() if what.endswith("%")]
    apart = {
        line.what: abs(line.own.value - line.published)
        for line in percentages
        if line.published is not None
    }
    assert len(apart) == 10
    odd = [what for what, distance in apart.items() if distance >= 0.1]
    assert odd == ["Butterfly (S = 2, L = 3): non-zero parameters, %"]
    agreeing = lines["butterflies whose percentage agrees with the printed digits"]
    assert (agreeing.published, agreeing.own.value) == (6, 5)


def test_a_pruning_takes_a_fifth_of_what_is_left():
    """Of 270,896 weights; 1,578 other parameters are never pruned."""
    left = 270_896
    expected = [100.0]
    for _ in range(24):
        left -= ceil(0.2 * left)
        expected.append(100 * (left + 1578) / 272_474)
    assert exact.pruned_percentages() == pytest.approx(expected)


def test_the_supports_of_fig_3_are_kronecker_products(shipped):
    picture = find("sparsity-fig-3").make(shipped).pictures["sparsity-fig-3"]
    assert picture.numbers["W entries"] == 256
    assert sum(picture.numbers[f"$X^{{({level})}}$ entries"] for level in range(1, 5)) == 128


def test_fig_2_has_the_papers_sizes(shipped):
    numbers = find("sparsity-fig-2").make(shipped).pictures["sparsity-fig-2"].numbers
    assert numbers["target train"] == numbers["shadow train"] == 14_000
    assert numbers["target validation"] == 1000
    assert numbers["shadow parameters"] == 272_474


# Recomputed.


def levels(one):
    """D = 200 − 2A of each training, from who is called a member."""
    place = one.attacks.index("discriminator")
    called = one.ranks[:, place] >= one.thresholds[:, place, None]
    right_members = called[:, one.is_member].mean(axis=1)
    right_others = (~called[:, ~one.is_member]).mean(axis=1)
    return 200 - 100 * (right_members + right_others)


def accuracies(one):
    return 100 * one.correct[:, ~one.is_member].mean(axis=1)


def test_the_slope_is_that_of_least_squares(shipped):
    rounds = trained.networks(shipped).rounds
    slopes = []
    for seed in range(len(rounds[0])):
        x = np.array([accuracies(one)[seed] for one in rounds])
        y = np.array([levels(one)[seed] for one in rounds])
        slopes.append(((x - x.mean()) * (y - y.mean())).sum() / ((x - x.mean()) ** 2).sum())
    assert trained.slope(rounds).value == pytest.approx(np.mean(slopes), rel=1e-4)


def test_the_gain_is_the_papers_ratio(shipped):
    found = trained.networks(shipped)
    chosen = [one for one in found.rounds[1:] if 3.35 <= trained.remaining(one) <= 17.35]
    gain = np.mean([levels(one) / levels(found.dense) - 1 for one in chosen])
    loss = np.mean([1 - accuracies(one) / accuracies(found.dense) for one in chosen])
    made = find("sparsity-quoted").make(shipped)
    line = next(line for line in made.lines if line.row == "sparsity-quoted-gain")
    assert line.published == 3.6
    if line.own.note:  # Not every training lost accuracy: of the means.
        assert line.own.value == pytest.approx(gain / loss, rel=1e-4)


@pytest.mark.parametrize(
    ("gain", "loss", "expected"),
    [([0.2, 0.4], [0.1, 0.1], 3.0), ([0.2, 0.4], [0.3, -0.1], 3.0), ([0.2], [-0.1], None)],
)
def test_a_ratio_needs_a_loss(gain, loss, expected):
    found = trained.RelativeChanges(gain, loss).ratio()
    if expected is None:
        assert isnan(found.value)
        assert "no accuracy was lost" in found.note
    else:
        assert found.value == pytest.approx(expected)
        assert isnan(found.low) == (min(loss) <= 0)


def test_significant_is_mean_and_deviation_apart(shipped):
    found = trained.networks(shipped)
    sparse = [*found.rounds[1:], *found.butterflies.values()]
    low, high = _band(found.dense)
    apart = [one for one in sparse if _band(one)[0] > high or _band(one)[1] < low]
    lines = find("sparsity-quoted").make(shipped).lines
    first, second = (line for line in lines if line.row == "sparsity-quoted-significance")
    assert second.own.value == len(apart)
    assert first.own.value == pytest.approx(max(trained.remaining(one) for one in apart))


def _band(one):
    values = levels(one)
    return values.mean() - values.std(ddof=1), values.mean() + values.std(ddof=1)


def test_wemem_meets_the_dense_network_nearest_in_accuracy(shipped):
    found = trained.networks(shipped)
    for one, match in trained.matched(found).values():
        aside = np.mean([row.accuracy["inference"] for row in one.rows])
        gaps = [
            abs(np.mean([row.accuracy["inference"] for row in other.rows]) - aside)
            for other in (found.dense, *found.stopped)
        ]
        chosen = abs(np.mean([row.accuracy["inference"] for row in match.rows]) - aside)
        assert chosen == pytest.approx(min(gaps))
    first, *_ = find("wemem").make(shipped).lines
    accurate = trained.sparsest_accurate(found)
    expected = accurate.by_seed("highest") - found.dense.by_seed("highest")
    assert first.own.value == pytest.approx(expected.mean())
