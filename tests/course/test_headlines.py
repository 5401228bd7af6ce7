"""Tables of repeats and of one training: each cell is the number that the results have."""

import numpy as np
import pytest

import measured
from mialib import metrics
from mialib.course import headlines
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


def test_the_shipped_photographs_are_the_recorded_ones():
    recorded = measured.MEASURED / "cpu-images-cifar10-plain" / "result.json"
    assert measured.UNDEFENDED.read_bytes() == recorded.read_bytes()
    found = headlines.photographs()
    *_, line = cells(headlines.single(found, "loss"))
    assert line[2] == "0.901 [0.892, 0.910]"
    assert found["neural (CRL)"].tpr_at_1_percent.value > found["loss"].tpr_at_1_percent.high


def test_a_line_for_each_pair_has_the_paired_differences(scores, trainings):
    other = results(scores + IS_MEMBER, IS_MEMBER).seeds([0, 1])
    header, _, line = cells(headlines.pairs({"strong − weak": (other, trainings)}))
    assert header == ["first minus second", "trainings", *headlines.PAIRED]
    assert line[:2] == ["strong − weak", "2"]
    highest = other.paired(trainings, "highest")
    assert line[4] == f"{highest.value:z.3f} [{highest.low:z.3f}, {highest.high:z.3f}]"
