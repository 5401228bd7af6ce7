"""Tables of repeats and of one training: each cell is the number that the results have."""

import dataclasses

import numpy as np
import pytest

from mialib import metrics
from mialib.course import contenders, headlines
from mialib.estimates import Estimate
from mialib.results.repeats import in_turn
from small_pictures import small_arena
from small_results import results

IS_MEMBER = np.arange(400) < 200


@pytest.fixture(scope="module")
def scores():
    rng = np.random.default_rng(0)
    return rng.normal(size=(3, 2, 400)) + IS_MEMBER


@pytest.fixture(scope="module")
def trainings(scores):
    return results(scores, IS_MEMBER)


@pytest.fixture(scope="module")
def evaluation(scores):
    return metrics.evaluate(scores[0, 0], IS_MEMBER, threshold=0.5)


def cells(table):
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.data.splitlines()]


def test_a_reader_sees_one_training_beside_the_repeats(trainings, evaluation):
    header, _, *lines = cells(headlines.beside(evaluation, trainings, "loss"))
    assert header[2] == "3 trainings, lowest to highest"
    advantage = lines[0]
    by_seed = trainings.by_seed("advantage", "loss")
    assert advantage[1] == f"{by_seed[0]:.3f}" == f"{evaluation.advantage.value:.3f}"
    assert advantage[2] == f"{by_seed.min():.3f} to {by_seed.max():.3f}"
    assert advantage[3].startswith(f"{by_seed.mean():.3f} [")
    assert [line[0] for line in lines] == list(headlines.NUMBERS)


def test_a_line_for_each_attack(trainings, evaluation):
    header, _, *lines = cells(headlines.repeats(trainings, "entropy", "loss"))
    assert header == ["attack", *headlines.NUMBERS]
    assert [line[0] for line in lines] == ["entropy", "loss"]
    assert lines[1][2].startswith(f"{trainings.auc('loss').value:.3f} [")
    *_, last = cells(headlines.repeats(trainings, "loss", yours={"loss": evaluation}))
    assert last[-1] == f"{evaluation.advantage.value:.3f}"


def test_a_setting_is_found_by_its_name_and_by_what_tells_it_apart(scores):
    settings = [
        {"called": "PAST", "alpha": 1.5, "lam": 1e-3},
        {"called": "PAST", "alpha": 2.0, "lam": 1e-3},
        {"called": "undefended"},
    ]
    named = headlines.by_name(results(scores, IS_MEMBER, settings=settings))
    assert list(named) == ["PAST, α = 1.5", "PAST, α = 2", "undefended"]
    assert named["PAST, α = 2"].rows[0].settings == settings[1]


def test_targets_in_turn_have_a_line_for_each_attack(scores):
    found = in_turn(scores[:, 0], np.stack([IS_MEMBER] * 3))
    header, _, line = cells(headlines.in_turn({"loss": found}))
    assert header == ["attack", "AUC", "TPR at 1 % FPR", "TPR at 0.1 % FPR"]
    assert line[1].startswith(f"{found.auc.value:.3f} [")
    assert line[3] == "not resolvable with 200 non-members"


def test_a_line_for_each_pair_has_the_paired_differences(scores, trainings):
    other = results(scores + IS_MEMBER, IS_MEMBER).seeds([0, 1])
    header, _, line = cells(headlines.pairs({"strong − weak": (other, trainings)}))
    assert header == ["first minus second", "trainings", *headlines.PAIRED]
    assert line[:2] == ["strong − weak", "2"]
    highest = other.paired(trainings, "highest")
    assert line[4] == f"{highest.value:z.3f} [{highest.low:z.3f}, {highest.high:z.3f}]"


def test_a_defense_level_stands_beside_the_accuracy(scores):
    named = dataclasses.replace(results(scores, IS_MEMBER), attacks=("loss", "discriminator"))
    header, _, line = cells(headlines.settings({"dense": named}, level=True))
    assert header[2:5] == ["test accuracy", "defense level D", "highest advantage"]
    assert line[3].startswith(f"{named.defense_level().value:.0f} [")
    without, _, shorter = cells(headlines.settings({"dense": named}))
    assert "defense level D" not in without
    assert shorter == line[:3] + line[4:]


def test_verdicts_have_a_line_per_setting():
    found = {"AUC": {"ℓ1": "lower", "ℓ2": "higher"}, "TPR": {"ℓ1": "higher", "ℓ2": "lower"}}
    header, _, *lines = cells(headlines.verdicts(found))
    assert header == ["setting", "AUC", "TPR"]
    assert lines == [["ℓ1", "lower", "higher"], ["ℓ2", "higher", "lower"]]


def test_a_ratio_is_told_without_its_logarithm():
    doubled = Estimate(np.log(2), np.log(1.5), np.log(3))
    header, _, line = cells(headlines.ratios({"late / early": {"trained": doubled}}))
    assert header == ["ratio", "trained"]
    assert line == ["late / early", "2.00 [1.50, 3.00]"]


def test_a_grid_has_lambda_downwards_and_alpha_along():
    header, _, *lines = cells(headlines.grid({(2e-3, 1.5): "b", (1e-3, 0.0): "a"}))
    assert header == ["", "α = 0", "α = 1.5"]
    assert lines == [["λ = 0.001", "a", "–"], ["λ = 0.002", "–", "b"]]


def test_every_defense_of_the_arena_is_told_in_words():
    names = {kind.name for kind in contenders.KINDS.values()} - {"undefended"}
    names |= {kind.name for kind in vars(contenders).values() if isinstance(kind, contenders.Kind)}
    assert names == set(contenders.IN_WORDS)


def test_a_price_has_the_whole_range_of_a_defense():
    table = cells(headlines.prices([small_arena()]))
    assert [line[0] for line in table[2:]] == ["ℓ1", "ℓ2"]
    for line in table[2:]:
        times = sorted(one.times for one in small_arena().defenses[line[0]])
        assert line[2].startswith(f"{times[0]:.1f}")
        assert line[2].endswith(f"{times[-1]:.1f}")
