"""What data/measured/ says follows from the signals beside it, and the README quotes it rightly."""

import dataclasses
import math

import pytest
from numpy.testing import assert_array_equal

import measured
import record
from mialib import attacks, metrics, models, profiles
from mialib.course import real_runs
from mialib.course.plots.spoken import brief
from mialib.defenses import DEFENSES, L1
from mialib.estimates import Estimate
from mialib.signals import Signals, loss_gap
from mialib.sparsity.magnitude import layers
from mialib.store import read_json
from paths import ROOT
from readme import filled

MEASURED = ROOT / "data" / "measured"
FOLDERS = sorted(MEASURED.glob("*/"))
PAGE = " ".join((MEASURED / "README.md").read_text(encoding="utf-8").split())


def kept_numbers(estimate: dict) -> list[float]:
    return [estimate[bound] for bound in ("value", "low", "high")]


def learned(attack: str) -> bool:
    return "neural" in attack or "PAST" in attack


def tolerance(attack: str) -> float:
    """A network's weights may differ in the last bits on another machine, and its scores more.

    The others were kept as scores minus their threshold, and rounding made ties among them.
    """
    return 0.02 if learned(attack) else 1e-5


def test_there_is_a_real_run():
    assert FOLDERS


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_result_follows_from_the_signals(folder):
    """Attacks that train networks take ten seconds for each folder, so some stand for all.

    The one that tries nine of them is left out everywhere.
    """
    result = read_json(folder / "result.json")
    target = Signals.read(folder / "target" / "signals.npz")
    shadow = Signals.read(folder / "shadow" / "signals.npz")
    leave_out = {"discriminator"}
    if folder not in FOLDERS[::5]:
        leave_out |= {name for name in result["attacks"] if learned(name)}
    fitted = record.every_attack(shadow, target.public(), leave_out=leave_out)
    assert set(fitted) == set(result["attacks"]) - leave_out
    for name, attack in fitted.items():
        scores = attack.score(target.public())
        evaluation = metrics.evaluate(scores, target.is_member, threshold=attack.threshold)
        for number in ("auc", "advantage", "tpr_at_1_percent"):
            estimate = getattr(evaluation, number)
            value, low, high = kept_numbers(result["attacks"][name][number])
            if learned(name) and number == "tpr_at_1_percent":
                # It hangs on 30 records: the intervals must meet.
                assert max(low, estimate.low) <= min(high, estimate.high), name
                continue
            expected = pytest.approx(list(estimate.triple), abs=tolerance(name))
            assert [value, low, high] == expected, (name, number)
    assert result["loss_gap"] == pytest.approx(loss_gap(target))
    assert result["accuracy"]["train"] == pytest.approx(target.members().correct().mean())
    assert result["accuracy"]["test"] == pytest.approx(target.non_members().correct().mean())


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_defense_level_is_that_of_the_discriminator(folder):
    """D = 200 − 2A in percent: right about 89.4 % of both halves, so advantage 0.788, D = 21.2."""
    result = read_json(folder / "result.json")
    assert ("defense_level" in result) == ("discriminator" in result["attacks"])
    if "defense_level" in result:
        level, advantage = result["defense_level"], result["attacks"]["discriminator"]["advantage"]
        assert level["value"] == pytest.approx(100 * (1 - advantage["value"]))
        assert (level["low"], level["high"]) == pytest.approx(
            (100 * (1 - advantage["high"]), 100 * (1 - advantage["low"]))
        )


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_what_remains_follows_from_the_configuration(folder):
    """⌈share · what is left⌉ weights go in every pruning, of 272,474 in a dense ResNet-20."""
    configuration = read_json(folder / "target" / "config.json")
    model = models.build("resnet20", shape=(3, 32, 32), classes=10, **configuration["options"])
    prunable = left = sum(layer.weight.numel() for layer in layers(model).values())
    for stage in (*configuration.get("before", []), configuration):
        if stage["defense"]["name"] == "Pruning":
            left -= math.ceil(stage["defense"]["share"] * left)
    others = sum(parameter.numel() for parameter in model.parameters()) - prunable
    expected = 100 * (left + others) / 272_474
    assert read_json(folder / "result.json")["remaining"] == pytest.approx(expected, abs=1e-3)


def test_the_undefended_real_model_memorised():
    result = read_json(MEASURED / "cpu-images-cifar10-plain" / "result.json")
    assert result["counts"]
    assert result["accuracy"]["train"] >= 0.99
    assert result["attacks"]["loss"]["advantage"]["value"] >= 0.3


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_real_run_says_where_it_comes_from(folder):
    result = read_json(folder / "result.json")
    sides = [read_json(folder / side / "provenance.json") for side in ("target", "shadow")]
    assert sides[0]["records"] == sides[1]["records"] == result["records"]
    configurations = [read_json(folder / side / "config.json") for side in ("target", "shadow")]
    assert {**configurations[0], "side": ""} == {**configurations[1], "side": ""}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_real_run_names_attacks_and_settings_as_the_library_does(folder):
    assert set(read_json(folder / "result.json")["attacks"]) <= set(attacks.ATTACKS)
    for side in ("target", "shadow"):
        configuration = read_json(folder / side / "config.json")
        for stage in (*configuration.get("before", []), configuration):
            settings = dict(stage["defense"])
            defense = DEFENSES[settings.pop("name")]
            assert set(settings) == {field.name for field in dataclasses.fields(defense)}


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


def test_the_readme_quotes_the_undefended_model():
    result = read_json(MEASURED / "cpu-images-cifar10-plain" / "result.json")
    text, accuracy = (ROOT / "README.md").read_text(encoding="utf-8"), result["accuracy"]
    words = f"{accuracy['train']:.2f} on members, {accuracy['test']:.2f} on non-members"
    assert words in " ".join(text.split())
    loss = result["attacks"]["loss"]
    assert f"n = {loss['members']:,} + {loss['non_members']:,}" in " ".join(text.split())
    table = (
        text.partition("<!-- measured -->")[2]
        .partition("<!-- end of measured -->")[0]
        .strip()
        .splitlines()[2:]
    )
    assert len(table) >= 6
    for line in table:
        name, *numbers = (cell.strip() for cell in line.strip("|").split("|"))
        kept = result["attacks"][name]
        assert numbers == [
            "{value:.2f} [{low:.2f}, {high:.2f}]".format(**kept[key])
            for key in ("auc", "advantage")
        ]


def test_the_page_quotes_label_smoothing_rightly():
    plain = MEASURED / "cpu-images-cifar10-plain"
    smoothed = MEASURED / "cpu-images-cifar10-labelsmoothing-epsilon=0.3"
    target = Signals.read(smoothed / "target" / "signals.npz")

    def advantage(folder) -> Estimate:
        shadow = Signals.read(folder / "shadow" / "signals.npz")
        return attacks.game(target, shadow=shadow).play(attacks.ATTACKS["loss"]).advantage

    naive = f"the loss attack has advantage {advantage(plain).value:.2f}"
    assert f"{naive}, against an adaptive shadow {brief(advantage(smoothed))}" in PAGE


def test_the_page_quotes_the_attacks_on_past_crl_and_relaxloss_rightly():
    def quoted(training: str, attack: str, number: str) -> str:
        result = read_json(MEASURED / f"cpu-{measured.TRAININGS[training]}" / "result.json")
        return brief(Estimate(**result["attacks"][attack][number]))

    undefended, focused, uniform = (
        quoted(name, "loss", "advantage")
        for name in ("undefended", "PAST, α = 2, λ = 0.001", "uniform ℓ1 (PAST, α = 0), λ = 0.001")
    )
    assert f"from {undefended[:4]} to {focused}, uniform ℓ1 with the same λ to {uniform};" in PAGE
    before, after, further = (
        quoted(name, "modified entropy", "auc")
        for name in ("undefended", "CRL, α_rce = 1", "RelaxLoss, α = 1")
    )
    assert f"the AUC of the modified entropy falls from {before} to {after}." in PAGE
    assert f"goes further, to {further}, at an accuracy that cannot be told apart" in PAGE


@pytest.mark.parametrize(
    "folder", [folder for folder in FOLDERS if "-crl" in folder.name], ids=lambda f: f.name
)
def test_the_centers_of_the_real_runs_never_relaxed(folder):
    """Lesson 10 says so."""
    history = read_json(folder / "target" / "metrics.json")["history"]
    assert len(history) == 50
    assert all(epoch["below_rcl"] == 0 < 0.1 < epoch["loss_rcl"] for epoch in history)


def test_the_page_claims_what_the_sweep_says():
    """Paired, on the records that all were asked about."""

    def less(one: str, other: str, what: str = "highest") -> bool:
        return real_runs.difference(one, other, what).high < 0

    def alike(one: str, other: str, what: str = "accuracy") -> bool:
        found = real_runs.difference(one, other, what)
        return found.low < 0 < found.high

    crl, relaxed = "CRL, α_rce = 1", "RelaxLoss, α = 1"
    assert real_runs.point(crl)[1].value == pytest.approx(
        real_runs.point("undefended")[1].value / 2, abs=0.02
    )
    assert alike(crl, "undefended")
    assert less(relaxed, crl)
    assert alike(relaxed, crl)
    assert alike("PAST, α = 2, λ = 0.001", "undefended")
    assert alike("PAST, α = 2, λ = 0.001", "uniform ℓ1 (PAST, α = 0), λ = 0.001", "gradient ℓ2")
    names = [row["name"] for row in real_runs.sweep().rows]
    student, mixture, attacker = "DMP, all non-members", "Mixup+MMD, λ = 3", "AdvReg, α = 1"
    assert sorted(names, key=lambda name: real_runs.point(name)[1].value)[:2] in (
        [student, mixture],
        [mixture, student],
    )
    assert alike(student, mixture, "highest")
    assert alike(student, "undefended")
    assert real_runs.difference(mixture, "undefended", "accuracy").high < 0
    assert less(crl, attacker)
    assert less(relaxed, attacker)
    spared = [name for name in names if name != student and alike(name, "undefended")]
    assert all(less(relaxed, name) for name in spared if name != relaxed)


def test_sparse_networks_leak_more_than_dense_ones_of_their_accuracy():
    """The README and the page say so."""
    stopped = "stopped early, epoch 30"
    for sparse in (name for name in measured.TRAININGS if name.startswith(("IMP", "butterfly"))):
        accuracy = real_runs.difference(sparse, stopped, "accuracy")
        assert accuracy.low < 0, sparse
        assert accuracy.value < 0.01, sparse
        assert real_runs.difference(sparse, stopped, "highest").low > 0.05
        assert real_runs.point(sparse)[1].value > 0.9 * real_runs.point("undefended")[1].value


def test_the_pages_show_the_sweep_that_the_lessons_read():
    shown = measured.parts(real_runs.sweep())
    texts = [path.read_text(encoding="utf-8") for path in measured.PAGES]
    assert [filled(text, **shown) for text in texts] == texts
    assert all(sum(part in text for text in texts) == 1 for part in shown.values())
    assert shown["sparsity"].count("\n") == 2 + 7 - 1


def test_the_sweep_has_every_real_run_and_says_what_the_results_say():
    sweep = real_runs.sweep()
    assert [row["name"] for row in sweep.rows] == list(measured.TRAININGS)
    assert {f"cpu-{folder}" for folder in measured.TRAININGS.values()} == {
        folder.name for folder in FOLDERS
    }
    for row, folder in enumerate(measured.TRAININGS.values()):
        folder = MEASURED / f"cpu-{folder}"
        result, target = (
            read_json(folder / "result.json"),
            Signals.read(folder / "target" / "signals.npz"),
        )
        assert_array_equal(sweep.correct[row], target.correct())
        assert_array_equal(sweep.is_member, target.is_member)
        for attack in sweep.attacks:
            kept, found = (
                result["attacks"][attack]["advantage"]["value"],
                sweep.advantage(row, attack).value,
            )
            assert found == pytest.approx(kept, abs=max(1e-5, tolerance(attack))), (
                attack
            )  # A sweep has float32.
        facts = {fact: result[fact] for fact in measured.FACTS if fact in result}
        assert {fact: sweep.rows[row].get(fact) for fact in facts} == facts
