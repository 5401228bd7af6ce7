"""The course's image model stands: it memorises its members, and neither seed nor rounding matters.

`tools/base_study.py` asks the same of ten seeds and ten roundings, and of the other base models.
"""

from typing import NamedTuple

import numpy as np
import pytest

import base_study
from mialib import metrics, profiles, progress, query
from mialib.attacks import ATTACKS
from mialib.signals import Signals

IMAGES = profiles.load("quick").images


class Changed(NamedTuple):
    """A training that should give what all others give."""

    seed: int = 0
    rounding: int = 0


CHANGES = (Changed(), Changed(seed=1), Changed(rounding=1))


def answers(side: str, change: Changed) -> Signals:
    configuration = IMAGES.but(side=side, seed=change.seed)
    with progress.silent():
        model = base_study.trained(configuration, change.rounding)
    return query.collect(model, configuration.side_records())


@pytest.fixture(scope="module")
def targets(one_thread) -> list[Signals]:
    return [answers("target", change) for change in CHANGES]


def test_every_training_memorises_its_members(targets):
    for target in targets:
        assert target.members().correct().mean() >= base_study.MEMORISED
        assert 0.5 < target.non_members().correct().mean() < 0.7


def test_the_advantage_is_the_same_for_every_seed_and_rounding(targets, one_thread):
    attack = ATTACKS["loss"].fit(answers("shadow", CHANGES[0]))
    advantages = [
        metrics.advantage(attack.score(one.public()), one.is_member, threshold=attack.threshold)
        for one in targets
    ]
    assert np.ptp(advantages) < 0.1
    assert 0.5 < np.mean(advantages) < 0.65


def test_a_rounding_moves_every_weight_by_at_most_a_millionth():
    before = IMAGES.build_model()
    after = base_study.rounded(IMAGES.build_model(), rounding=1)
    same = base_study.rounded(IMAGES.build_model(), rounding=0)
    for first, second, third in zip(
        before.parameters(), after.parameters(), same.parameters(), strict=True
    ):
        assert first.equal(third)
        assert not first.equal(second)
        assert ((first - second).abs() <= 1e-6 * first.abs()).all()


def test_a_row_says_whether_the_model_stands():
    steady = [base_study.Outcome(1.0, 0.6, advantage, 2.0) for advantage in (0.55, 0.57)]
    lucky = [base_study.Outcome(1.0, 0.6, advantage, 2.0) for advantage in (0.45, 0.57)]
    unfinished = [one._replace(train=0.99) for one in steady]
    assert base_study.row("images", steady, steady) == (
        "| images | 1.000 | 0.600 ± 0.000 | 0.560 ± 0.014 | 0.560 ± 0.014 | 2.0 | stands |"
    )
    assert base_study.row("images", steady, lucky).endswith("does not stand |")
    assert base_study.row("images", unfinished, steady).endswith("does not stand |")
