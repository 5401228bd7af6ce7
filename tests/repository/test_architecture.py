"""What ARCHITECTURE.md shows as code works as it says."""

import re

import pytest
import torch

from mialib import models
from mialib.training import Recipe, fit
from paths import ROOT


@pytest.fixture(scope="module")
def flooding():
    """The defense that the page adds in one file."""
    (code,) = re.findall(
        r"```python\n(.*?)```", (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"), re.DOTALL
    )
    space = {"__name__": "flooding"}
    exec(code, space)
    return space["Flooding"]


def trained(members, **settings):
    model = models.build("mlp", shape=members.x.shape[1:], classes=10, widths=(16,))
    history = fit(
        model, members, Recipe(epochs=30, batch_size=16, lr=0.1), device="cpu", **settings
    )
    return torch.cat([p.detach().flatten() for p in model.parameters()]), history


def test_strength_0_is_plain_training(flooding, members, one_thread):
    assert torch.equal(trained(members, defense=flooding(0.0))[0], trained(members)[0])


def test_the_loss_stays_at_its_level_and_the_history_says_so(flooding, members, one_thread):
    _, history = trained(members, defense=flooding(1.0))
    assert history[-1]["loss"] == pytest.approx(1.0, abs=0.2)
    assert 0 < history[-1]["below"] < 1
    assert trained(members)[1][-1]["loss"] < 0.7


def test_a_strength_below_0_is_refused(flooding):
    with pytest.raises(ValueError, match="strength must be a number, at least 0"):
        flooding(-0.1)
