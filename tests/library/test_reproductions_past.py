"""PAST's figures and tables, made from the shipped results."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import spearmanr, t

from mialib.attacks import LiRA, scores_per_target
from mialib.course.tunings import watched_arms
from mialib.metrics import auc, p1
from mialib.reproductions import ITEMS, Evidence, comparing, ledger
from mialib.reproductions.past import ITEMS as PAST
from mialib.reproductions.past import common

ROWS = [row.name for row in ledger.rows() if row.paper == "past"]


@pytest.fixture(autouse=True, scope="module")
def empty_home(tmp_path_factory):
    """Shipped results alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MIALIB_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture(scope="module")
def evidence(empty_home):
    return Evidence("quick")


@pytest.fixture(scope="module")
def made(evidence):
    return {item.name: item.make(evidence) for item in PAST}


def shipped_at_cpu():
    evidence = Evidence("cpu")
    return [item.name for item in PAST if item.state(evidence) != "not run"]


def lines_of(made, row):
    return [line for one in made.values() for line in one.lines if line.row == row]


def own(made, row, what):
    """The number of the one line with these words."""
    (found,) = [line.own for line in lines_of(made, row) if line.what == what]
    return found


# Every item.


def test_every_row_of_the_ledger_has_a_line(made):
    assert [name for name in ROWS if not lines_of(made, name)] == []


def test_no_line_is_of_an_unknown_row(made):
    assert {line.row for one in made.values() for line in one.lines} <= set(ROWS)


def test_the_ledger_shows_a_number_of_every_row(made):
    without = [name for name in ROWS if not np.isfinite(lines_of(made, name)[0].own.value)]
    assert without == []


@pytest.mark.parametrize("name", [item.name for item in PAST])
def test_every_line_has_a_number_or_says_why_not(made, name):
    for line in made[name].lines:
        assert np.isfinite(line.own.value) or line.own.note, line
        assert "nan" not in str(line.own)


@pytest.mark.parametrize("name", [item.name for item in PAST])
def test_every_picture_can_be_drawn_and_is_told(made, name):
    assert made[name].pictures
    for key, picture in made[name].pictures.items():
        assert key.startswith(name)
        assert "nan" not in picture.alt + picture.caption
        assert picture.png[:4] == b"\x89PNG"


def test_what_photographs_show_has_a_number_too():
    evidence = Evidence("cpu")
    for name in shipped_at_cpu():
        found = ITEMS[name].make(evidence)
        assert any(np.isfinite(line.own.value) for line in found.lines), name
        assert all("nan" not in picture.alt for picture in found.pictures.values()), name


# Numbers, by another way.


def test_the_gap_goes_with_the_advantage_as_spearman_says(made, evidence):
    found = evidence.results("epochs")
    by_seed = []
    for seed in {row.seed for row in found.rows}:
        rows = [k for k, row in enumerate(found.rows) if _is_plain(row, seed)]
        rows.sort(key=lambda k: found.rows[k].settings["epoch"])
        gaps = [found.rows[k].loss_gap for k in rows]
        by_seed.append(spearmanr(gaps, [_advantage(found, k) for k in rows])[0])
    what = "rank correlation of loss gap and advantage of the loss over the epochs of training"
    value, low, _ = own(made, "past-fig-1a", what).triple
    # The rows keep losses as float16, so two gaps that are nearly alike may change their ranks.
    assert value == pytest.approx(np.mean(by_seed), abs=2e-3)
    reach = t.ppf(0.975, len(by_seed) - 1) * np.std(by_seed, ddof=1) / len(by_seed) ** 0.5
    assert value - low == pytest.approx(reach, abs=2e-3)


def _is_plain(row, seed):
    return row.settings["defense"] == "Plain" and row.seed == seed


def _advantage(found, k):
    place = found.attacks.index("loss")
    is_called = found.ranks[k, place] >= found.thresholds[k, place]
    return is_called[found.is_member].mean() - is_called[~found.is_member].mean()


def test_p1_of_table_1_is_that_of_accuracy_and_the_highest_advantage(made, evidence):
    plain = evidence.results("past").find(defense="Plain")
    by_seed = []
    for k in range(len(plain)):
        one = plain.seeds([plain.rows[k].seed])
        highest = max(one.by_seed("advantage", attack)[0] for attack in plain.attacks)
        by_seed.append(p1(plain.correct[k][~plain.is_member].mean(), highest))
    found = own(made, "past-table-1", "letters: P1 undefended")
    assert found.value == pytest.approx(np.mean(by_seed), abs=1e-6)


def test_lira_of_fig_14_is_the_mean_over_targets(made, evidence):
    apart = []
    for name in ("bank tuned", "bank"):
        bank = evidence.bank(name)
        scores = scores_per_target(bank, LiRA(), targets=32)
        apart.append(np.mean([auc(*pair) for pair in zip(scores, bank.is_member, strict=False)]))
    found = own(made, "past-fig-14", "LiRA: AUC, PAST minus undefended")
    assert found.value == pytest.approx(apart[0] - apart[1], abs=1e-6)


def test_the_published_numbers_stand_beside_ours(made):
    first = lines_of(made, "past-quoted-advantage")[0]
    assert first.published == pytest.approx(0.052 - 0.148)
    assert lines_of(made, "past-fig-1b")[0].published == pytest.approx(0.8927)
    assert lines_of(made, "past-fig-6c")[0].published == pytest.approx(1374 / 1245)


# What the items ask of results.


def test_a_ruined_setting_is_told_and_never_drawn(evidence):
    found = evidence.results("past")
    plain = found.find(defense="Plain")
    tried = common.tunings(found)
    ruined = common.Strength(1e-3, 2.0)
    assert ruined in tried
    assert ruined not in common.intact(tried, plain)
    assert "λ = 0.001, α = 2;" in common.told_ruined(tried, plain)


def test_a_training_that_diverged_leaves_its_epochs_out(evidence):
    found = evidence.results("epochs")
    rows = list(found.rows)
    broken = {name: value for name, value in rows[0].settings.items() if name != "epoch"}
    rows[0] = replace(rows[0], settings=broken, failure="It diverged.")
    moments = watched_arms(replace(found, rows=tuple(rows)))["training"]
    assert len(moments[0]) == len(moments[1]) - 1


def test_the_least_leak_is_sought_among_the_accurate(evidence):
    found = evidence.results("relaxed")
    plain = found.find(defense="Plain")
    settings = found.where(defense="RelaxLoss", form="official").settings()
    best = common.least_leak(settings, plain, "mean")
    assert best is not None
    assert common.is_whole_and_accurate(best, plain)
    leaks = [one.by_seed("mean").mean() for one in settings]
    assert best.by_seed("mean").mean() > min(leaks)


def test_one_training_has_a_number_and_no_interval():
    found = comparing.over_trainings([0.25])
    assert found.value == 0.25
    assert "one training" in str(found)
    assert comparing.ratio_over_trainings([0.5, 2.0]).value == pytest.approx(1.0)
    assert comparing.over_trainings([0.9, 1.0], limits=comparing.SHARE).high == 1.0
