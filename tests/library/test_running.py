"""A plan that is run: rows are kept as they are made, failures are told, kills cost one row."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import small_results
from mialib import attacks, cli, metrics, runs
from mialib.defenses import DEFENSES
from mialib.experiments import plans, rows, running
from mialib.experiments.plans import PlannedRow
from mialib.experiments.rows import make_row
from mialib.experiments.tables import Results
from mialib.store import Store
from mialib.training import Defense
from small_results import ATTACKS, TINY, tiny_plan

SUPPORT = Path(small_results.__file__).parent


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return Store(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def made(store):
    plan = tiny_plan()
    running._make_all(plan, plan.rows(), store, jobs=1)
    return running.gather(plan, plan.rows(), store)


def test_a_row_is_what_its_models_and_attacks_say(store, made):
    plain = made.find(defense="Plain").seeds([1])
    target = runs.get(TINY.but(seed=1), store=store)
    shadow = runs.get(TINY.but(seed=1, side="shadow"), store=store)
    for attack in ATTACKS:
        fitted = attacks.ATTACKS[attack].fit(shadow.signals)
        scores = fitted.score(target.signals.public())
        truth = target.signals.is_member
        assert plain.auc(attack).value == pytest.approx(metrics.auc(scores, truth), abs=1e-12)
        expected = metrics.advantage(scores, truth, threshold=fitted.threshold)
        assert plain.advantage(attack).value == pytest.approx(expected, abs=1e-12)
    (row,) = plain.rows
    assert row.accuracy == target.metrics["accuracy"]
    assert plain.accuracy().value == pytest.approx(row.accuracy["test"])
    assert row.loss_gap == pytest.approx(plain.loss_gap().value, abs=1e-3)
    assert row.seconds > 0


def test_nothing_is_made_twice(store, made, monkeypatch):
    monkeypatch.setattr(rows, "_attacked", None)  # Calling it would fail.
    plan = tiny_plan()
    assert running.missing(plan, plan.rows(), store) == ([], 0, 0)
    again = running.gather(plan, plan.rows(), store)
    assert np.array_equal(again.ranks, made.ranks)


def test_what_is_missing_is_counted_beforehand(store, made):
    plan = tiny_plan()
    todo = running.missing(plan, plan.rows(seeds=3), store)
    assert len(todo.rows) == 2
    assert todo.trainings == 4
    assert todo.epochs == 8
    assert str(todo) == "2 rows, 4 trainings of 8 epochs in all"


def test_a_training_that_diverges_is_a_row_that_says_so(store, monkeypatch):
    class Exploding(Defense):
        def loss(self, training, x, y):
            return super().loss(training, x, y) * float("nan")

    monkeypatch.setitem(DEFENSES, "Exploding", Exploding)
    plan = tiny_plan()
    bad = PlannedRow(TINY.defended(Exploding()), {"defense": "Exploding"})
    good = PlannedRow(TINY, {"defense": "Plain"})
    make_row(bad, plan.attacks, plan.facts, store)
    found = running.gather(plan, [bad, good], store)
    assert "NaN" in found.rows[0].failure
    with pytest.raises(ValueError, match="Every training of this setting failed"):
        found.find(defense="Exploding")
    assert found.find(defense="Plain").auc("loss").value > 0


def test_every_epoch_is_watched(store):
    plan = tiny_plan(facts=("sensitivity",))
    planned = PlannedRow(TINY, {"defense": "Plain"}, watch=True)
    moments = make_row(planned, plan.attacks, plan.facts, store)
    assert [one.row.settings["epoch"] for one in moments] == [0, 1, 2]
    last = runs.get(TINY, store=store)
    assert np.array_equal(moments[-1].correct, last.signals.correct())
    assert "migration" in moments[1].row.facts
    assert "migration" not in moments[0].row.facts


def test_rows_of_other_records_are_not_mixed(store, made):
    plan = tiny_plan()
    elsewhere = PlannedRow(TINY.but(split_seed=5, split="halves"), {"defense": "Plain"})
    make_row(elsewhere, plan.attacks, plan.facts, store)
    with pytest.raises(ValueError, match="have different members"):
        running.gather(plan, [*plan.rows(), elsewhere], store)


def test_twenty_kills_cost_time_and_nothing_else(tmp_path, store, made):
    command = [sys.executable, str(SUPPORT / "killed_plan.py"), str(tmp_path), "20"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert int(done.stdout) >= 10, "most of them were too late to interrupt anything"
    survived = Results.read(tmp_path / "results.npz")
    assert len(survived) == 8
    assert np.array_equal(survived.seeds([0, 1]).ranks, made.ranks)


# ---------------------------------------------------------------- the command


@pytest.fixture
def at_home(tmp_path, monkeypatch):
    monkeypatch.setenv("MIALIB_HOME", str(tmp_path))
    monkeypatch.setattr(plans, "load", lambda name, profile: tiny_plan())
    return tmp_path


def test_the_command_runs_and_says_what_it_did(at_home, capsys):
    assert cli.main(["run", "past", "--jobs", "1", "--dry-run"]) == 0
    assert "missing: 4 rows, 8 trainings of 16 epochs" in capsys.readouterr().out
    assert cli.main(["run", "past", "--jobs", "1", "--seeds", "2"]) == 0
    said = capsys.readouterr().out
    assert "defense=L1" in said
    assert "highest advantage" in said
    assert (at_home / "results" / "quick" / "tiny.npz").exists()
    assert cli.main(["run", "past", "--finished"]) == 0
    assert "missing: 0 rows" in capsys.readouterr().out


def test_what_is_not_begun_cannot_be_written(at_home, capsys):
    assert cli.main(["run", "past", "--finished"]) == 1
    assert "Nothing of the plan 'tiny'" in capsys.readouterr().err


def test_an_unknown_plan_or_profile_is_a_sentence(capsys):
    assert cli.main(["run", "pats"]) == 1
    assert "did you mean 'past'" in capsys.readouterr().err
    assert cli.main(["run", "past", "--profile", "quik"]) == 1
    assert "did you mean 'quick'" in capsys.readouterr().err
    assert cli.main([]) == 2


def test_the_plans_are_listed(capsys):
    assert cli.main(["plans"]) == 0
    assert "past" in capsys.readouterr().out


def test_ones_own_results_come_first(tmp_path, monkeypatch, made):
    monkeypatch.setenv("MIALIB_HOME", str(tmp_path))
    made.save(running.own_path("past", "class"))
    found = running.results("past", "class")
    assert found.about["source"].startswith("Your own results of `past` at profile `class`.")
    with pytest.raises(ValueError, match="did you mean 'past'"):
        running.results("pats", "class")
