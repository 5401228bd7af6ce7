"""What CONTRIBUTING.md shows as code works as it says."""

import re
import sys
import types

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from mialib import attacks, bank, models
from mialib.attacks.base import Attack
from mialib.training import Defense, Recipe, fit
from paths import ROOT

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"`mialib/(\w+)/(\w+)\.py`:\n\n```python\n(.*?)```", PAGE, re.DOTALL)


def executed(name: str, monkeypatch) -> types.ModuleType:
    """The module of this name that the page writes out."""
    (code,) = (code for _, stem, code in BLOCKS if stem == name)
    module = types.ModuleType(name)
    monkeypatch.setitem(sys.modules, name, module)
    exec(compile(code, f"{name}.py", "exec"), vars(module))
    return module


@pytest.fixture
def flooding(monkeypatch):
    return executed("flooding", monkeypatch).Flooding


@pytest.fixture
def margin(monkeypatch):
    return executed("margin", monkeypatch).Margin


def trained(members, **settings):
    model = models.build("mlp", shape=members.x.shape[1:], classes=10, widths=(16,))
    recipe = Recipe(epochs=30, batch_size=16, lr=0.1)
    history = fit(model, members, recipe, device="cpu", **settings)
    return torch.cat([p.detach().flatten() for p in model.parameters()]), history


def test_every_block_of_python_is_tried():
    assert [(folder, stem) for folder, stem, _ in BLOCKS] == [
        ("attacks", "margin"),
        ("defenses", "flooding"),
    ]
    assert PAGE.count("```python") == len(BLOCKS)


def test_strength_0_is_plain_training(flooding, members, one_thread):
    assert issubclass(flooding, Defense)
    assert torch.equal(trained(members, defense=flooding(0.0))[0], trained(members)[0])


def test_the_loss_stays_at_its_level_and_the_history_has_what_was_kept(
    flooding, members, one_thread
):
    _, history = trained(members, defense=flooding(1.0))
    assert history[-1]["loss"] == pytest.approx(1.0, abs=0.2)
    assert history[-1]["highest"] > history[0]["loss"] - 0.5
    assert trained(members)[1][-1]["loss"] < 0.7


def test_the_loss_of_a_batch_needs_no_training(flooding):
    logits = torch.tensor([[2.0, 0.0], [0.0, 1.0]])
    y = torch.tensor([0, 1])
    plain = F.cross_entropy(logits, y)
    assert flooding(0.0).batch_loss(logits, y) == plain
    assert flooding(1.0).batch_loss(logits, y) == pytest.approx(float(2 - plain))


def test_the_strength_is_asked_as_of_any_defense(flooding):
    assert flooding(0.3).strength == 0.3
    assert flooding(0.3).with_strength(0.5) == flooding(0.5)


def test_a_strength_below_0_is_refused(flooding):
    with pytest.raises(ValueError, match="b must be a number, at least 0"):
        flooding(-0.1)


def test_the_attack_plays_in_the_game(margin):
    assert issubclass(margin, Attack)
    letters = bank.load("letters")
    game = attacks.game(letters.signals(7), shadow=letters.signals(2))
    result = game.play(margin())
    assert result.auc.value > 0.55
    assert np.isfinite(result.advantage.value), "its threshold was fitted on the shadow"


@pytest.mark.parametrize(
    ("label", "place"),
    [
        ("`mialib/attacks/registry.py`", "mialib/attacks/registry.py"),
        ("`mialib/defenses/__init__.py`", "mialib/defenses/__init__.py"),
        ("`tests/support/attack_checks.py`", "tests/support/attack_checks.py"),
        ("`tests/support/attack_references.py`", "tests/support/attack_references.py"),
        ("`tests/library/test_devices.py`", "tests/library/test_devices.py"),
    ],
)
def test_the_files_that_the_page_sends_to_are_there(label, place):
    assert label in PAGE
    assert (ROOT / place).exists()
