"""What data/measured/ says follows from the signals that lie beside it, and the README quotes it rightly."""

import json
from pathlib import Path

import numpy as np
import pytest
import record

from mialib import attacks, metrics, profiles
from mialib.defenses import L1
from mialib.signals import Signals, loss_gap

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = sorted((ROOT / "data" / "measured").glob("*/"))


def test_there_is_a_real_run():
    assert FOLDERS


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_result_follows_from_the_signals(folder, monkeypatch):
    """The attack that tries nine networks is left out: it takes half a minute."""
    result = json.loads((folder / "result.json").read_text())
    target, shadow = (Signals.read(folder / side / "signals.npz") for side in ("target", "shadow"))
    monkeypatch.setattr(attacks, "discriminator_attack", lambda *_: np.zeros(len(target)))
    for name, scores in record.every_attack(shadow, target.public()).items():
        if name == "discriminator":
            continue
        found, kept = metrics.evaluate(scores, target.is_member), result["attacks"][name]
        # A network's weights may differ in the last bits on another machine, and its scores a little more.
        tolerance = 0.02 if "neural" in name or "PAST" in name else 1e-6
        for number in ("auc", "advantage", "tpr_at_1_percent"):
            estimate = getattr(found, number)
            assert [kept[number][bound] for bound in ("value", "low", "high")] == pytest.approx(
                [estimate.value, estimate.low, estimate.high], abs=tolerance
            ), (name, number)
    assert result["loss_gap"] == pytest.approx(loss_gap(target))
    assert result["accuracy"]["train"] == pytest.approx(target.members().correct().mean())
    assert result["accuracy"]["test"] == pytest.approx(target.non_members().correct().mean())


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_defense_level_is_that_of_the_discriminator(folder):
    """D = 200 − 2A in percent; a discriminator right about 89.4 % of both halves has advantage 0.788, and D = 21.2."""
    result = json.loads((folder / "result.json").read_text())
    assert ("defense_level" in result) == ("discriminator" in result["attacks"])
    if "defense_level" in result:
        level, advantage = result["defense_level"], result["attacks"]["discriminator"]["advantage"]
        assert level["value"] == pytest.approx(100 * (1 - advantage["value"]))
        assert (level["low"], level["high"]) == pytest.approx(
            (100 * (1 - advantage["high"]), 100 * (1 - advantage["low"]))
        )


def test_the_undefended_real_model_memorised():
    result = json.loads((ROOT / "data" / "measured" / "cpu-images-cifar10-plain" / "result.json").read_text())
    assert result["counts"]
    assert result["accuracy"]["train"] >= 0.99
    assert result["attacks"]["loss"]["advantage"]["value"] >= 0.3


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_real_run_says_where_it_comes_from(folder):
    result = json.loads((folder / "result.json").read_text())
    sides = [json.loads((folder / side / "provenance.json").read_text()) for side in ("target", "shadow")]
    assert sides[0]["records"] == sides[1]["records"] == result["records"]
    configurations = [json.loads((folder / side / "config.json").read_text()) for side in ("target", "shadow")]
    assert {**configurations[0], "side": ""} == {**configurations[1], "side": ""}


def test_a_defense_can_take_the_place_of_the_experiments_or_follow_it(monkeypatch, tmp_path):
    """The runs themselves are tested elsewhere; here, which are asked for."""
    asked = []

    def get_all(configurations):
        asked.extend(configurations)
        raise InterruptedError

    monkeypatch.setattr(record.runs, "get_all", get_all)
    monkeypatch.setattr(record, "MEASURED", tmp_path)
    for defense, stage in ((None, False), (L1(), False), (L1(), True)):
        with pytest.raises(InterruptedError):
            record.record("cpu", "images", defense=defense, stage=stage)
    usual = profiles.load("cpu").images
    expected = [usual, usual.but(defense=L1()), usual.then(L1(), usual.recipe, trace=usual.trace)]
    assert asked == [each.but(side=side) for each in expected for side in ("target", "shadow")]


SHOWN = {
    "correctness (a label)": "correctness",
    "PAST's network": "neural, PAST",
    "CRL's network": "neural, CRL",
    "sparsity paper's discriminator": "discriminator",
    "rotations, PAST's form (labels)": "rotation, PAST",
    "gradient ℓ2 (weights)": "gradient ℓ2",
}


def test_the_readme_quotes_the_undefended_model():
    result = json.loads((ROOT / "data" / "measured" / "cpu-images-cifar10-plain" / "result.json").read_text())
    text, accuracy = (ROOT / "README.md").read_text(encoding="utf-8"), result["accuracy"]
    words = f"{accuracy['train']:.2f} on members, {accuracy['test']:.2f} on non-members"
    assert words in " ".join(text.split())
    loss = result["attacks"]["loss"]
    assert f"n = {loss['members']:,} + {loss['non_members']:,}" in " ".join(text.split())
    table = text.partition("<!-- measured -->")[2].partition("<!-- end of measured -->")[0].strip().splitlines()[2:]
    assert len(table) >= 6
    for line in table:
        name, *numbers = (cell.strip() for cell in line.strip("|").split("|"))
        kept = result["attacks"][SHOWN.get(name, name)]
        assert numbers == ["{value:.2f} [{low:.2f}, {high:.2f}]".format(**kept[key]) for key in ("auc", "advantage")]


def test_the_readme_quotes_label_smoothing_rightly():
    plain, smoothed = (
        ROOT / "data" / "measured" / f"cpu-images-cifar10-{name}" for name in ("plain", "labelsmoothing-strength=0.3")
    )
    target = Signals.read(smoothed / "target" / "signals.npz")
    fitted_on = [Signals.read(folder / "shadow" / "signals.npz") for folder in (plain, smoothed)]
    naive, adaptive = (
        metrics.evaluate(attacks.threshold_attack(shadow, target.public()), target.is_member).advantage
        for shadow in fitted_on
    )
    accuracy = json.loads((smoothed / "result.json").read_text())["accuracy"]["test"]
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert f"test accuracy {accuracy:.2f}: against a threshold from the undefended shadow" in text
    assert f"the loss attack has advantage {naive.value:.2f}, against an adaptive shadow" in text
    assert f"adaptive shadow {adaptive.value:.2f} [{adaptive.low:.2f}, {adaptive.high:.2f}]" in text


DEFENDED = {
    "undefended": "images-cifar10-plain",
    "label smoothing, ε = 0.3": "images-cifar10-labelsmoothing-strength=0.3",
    "tuned with λ = 0": "images-tuned-cifar10-past-strength=0.0-alpha=0.0-per=epoch",
    "uniform ℓ1 (PAST, α = 0), λ = 0.001": "images-tuned-cifar10-past-alpha=0.0-per=epoch",
    "PAST, α = 1.5, λ = 0.001": "images-tuned-cifar10-past-per=epoch-sample=256",
    "PAST, α = 2, λ = 0.001": "images-tuned-cifar10-past-alpha=2.0-per=epoch-sample=256",
    "RelaxLoss, α = 1": "images-cifar10-relaxloss",
    "CRL, α_rce = 0.5": "images-cifar10-crl-alpha_rce=0.5",
    "CRL, α_rce = 1": "images-cifar10-crl",
    "CRL, α_rce = 1.5": "images-cifar10-crl-alpha_rce=1.5",
    "AdvReg, α = 1": "images-cifar10-advreg",
}


def test_the_readme_quotes_the_defended_models_rightly():
    folders = {name: ROOT / "data" / "measured" / f"cpu-{folder}" for name, folder in DEFENDED.items()}
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert record.defenses_table(folders) in text
    loss = {}
    for name, folder in folders.items():
        found = json.loads((folder / "result.json").read_text())["attacks"]["loss"]["advantage"]
        loss[name] = f"{found['value']:.2f} [{found['low']:.2f}, {found['high']:.2f}]"
    entropies = [
        json.loads((folders[name] / "result.json").read_text())["attacks"]["modified entropy"]["auc"]
        for name in ("undefended", "CRL, α_rce = 1", "RelaxLoss, α = 1")
    ]
    before, after, further = ("{value:.2f} [{low:.2f}, {high:.2f}]".format(**auc) for auc in entropies)
    assert f"the AUC of the modified entropy falls from {before} to {after}." in text
    assert f"RelaxLoss as its own authors coded it goes further, to {further}, for about one point" in text
    worst, right = {}, {}
    for name in ("CRL, α_rce = 0.5", "CRL, α_rce = 1", "CRL, α_rce = 1.5", "AdvReg, α = 1"):
        result = json.loads((folders[name] / "result.json").read_text())
        worst[name] = max(attack["advantage"]["value"] for attack in result["attacks"].values())
        right[name] = result["accuracy"]["test"]
    half, one, more, game = worst
    assert worst[half] > worst[game] > worst[one] > worst[more]
    assert right[half] == pytest.approx(right[one], abs=0.01)
    assert worst[more] == pytest.approx(worst[one] / 2, abs=0.02)
    assert right[one] - right[more] == pytest.approx(0.04, abs=0.01)
    past, uniform = (loss[name] for name in ("PAST, α = 2, λ = 0.001", "uniform ℓ1 (PAST, α = 0), λ = 0.001"))
    assert f"the loss attack from {loss['undefended'][:4]} to {past}, uniform ℓ1 to {uniform};" in " ".join(
        text.split()
    )
