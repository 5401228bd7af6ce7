"""What data/measured/ says follows from the signals that lie beside it, and the README quotes it rightly."""

import json
from pathlib import Path

import pytest

from mialib import attacks, metrics
from mialib.signals import Signals, loss_gap

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = sorted((ROOT / "data" / "measured").glob("*/"))


def test_there_is_a_real_run():
    assert FOLDERS


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_result_follows_from_the_signals(folder):
    result = json.loads((folder / "result.json").read_text())
    target, shadow = (Signals.read(folder / side / "signals.npz") for side in ("target", "shadow"))
    found = metrics.evaluate(attacks.threshold_attack(shadow, target.public()), target.is_member)
    for name in ("auc", "advantage", "tpr_at_1_percent"):
        estimate = result["loss attack"][name]
        assert (estimate["value"], estimate["low"], estimate["high"]) == pytest.approx(
            (getattr(found, name).value, getattr(found, name).low, getattr(found, name).high)
        )
    assert result["loss_gap"] == pytest.approx(loss_gap(target))
    assert result["accuracy"]["train"] == pytest.approx(target.members().correct().mean())
    assert result["accuracy"]["test"] == pytest.approx(target.non_members().correct().mean())


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_real_run_memorised_and_says_where_it_comes_from(folder):
    result = json.loads((folder / "result.json").read_text())
    assert result["counts"]
    assert result["accuracy"]["train"] >= 0.99
    assert result["loss attack"]["advantage"]["value"] >= 0.3
    sides = [json.loads((folder / side / "provenance.json").read_text()) for side in ("target", "shadow")]
    assert sides[0]["records"] == sides[1]["records"] == result["records"]
    configurations = [json.loads((folder / side / "config.json").read_text()) for side in ("target", "shadow")]
    assert {**configurations[0], "side": ""} == {**configurations[1], "side": ""}


def test_the_readme_quotes_the_undefended_model():
    result = json.loads((ROOT / "data" / "measured" / "cpu-images-cifar10-plain" / "result.json").read_text())
    attack, accuracy = result["loss attack"], result["accuracy"]
    words = f"{accuracy['train']:.2f} on members, {accuracy['test']:.2f} on non-members"
    interval = "{value:.2f} [{low:.2f}, {high:.2f}]".format(**attack["advantage"])
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert words in text
    assert f"advantage {interval}" in text
    assert f"n = {attack['members']:,} + {attack['non_members']:,}" in text
