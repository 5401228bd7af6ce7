"""A plan that is run: rows are kept as they are made, failures are told, kills cost one row."""

import subprocess
import sys
import warnings
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import small_results
from mialib import attacks, cli, data, metrics, progress, runs, shipped
from mialib.defenses import DEFENSES, Plain
from mialib.experiments import plans, rows, running
from mialib.experiments.plans import PlannedRow
from mialib.experiments.rows import make_row
from mialib.results.tables import Results
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
    running.make_all(plan, running.missing(plan, plan.rows(), store), store, jobs=1)
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
    assert running.missing(plan, plan.rows(), store) == ([], 0, [])
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


def test_a_watched_training_counts_though_its_run_is_there(store, made):
    """It is done anew, because a run keeps no model of its epochs."""
    plan = tiny_plan(facts=("weights",))
    watched = PlannedRow(TINY, {"defense": "Plain"}, watch=True)
    todo = running.missing(plan, [watched], store)
    assert (todo.trainings, todo.epochs) == (2, 4)
    tuned = PlannedRow(TINY.then(Plain(), TINY.recipe), {"defense": "Plain"}, watch=True)
    todo = running.missing(plan, [tuned, watched], store)
    assert todo.epochs_by_row == [4, 4], "the training before is there"


def test_a_watched_target_may_train_longer_than_its_shadow(store, monkeypatch):
    class EarlierOnShadows(Defense):
        def end_epoch(self, training):
            return is_shadow(training)

    shadow_records = TINY.but(side="shadow").side_records().train

    def is_shadow(training):
        return np.array_equal(training.members[1].numpy(), shadow_records.y)

    monkeypatch.setitem(DEFENSES, "EarlierOnShadows", EarlierOnShadows)
    planned = PlannedRow(TINY.but(defense=EarlierOnShadows()), {"defense": "x"}, watch=True)
    with warnings.catch_warnings(action="ignore"):  # The class is one of the test's own.
        moments = make_row(planned, ATTACKS, (), store)
    assert [one.row.settings["epoch"] for one in moments] == [0, 1, 2]
    assert all(one.row.seconds > 0 for one in moments)


def test_a_watched_training_has_the_threads_of_its_configuration(store, monkeypatch):
    seen = []
    monkeypatch.setattr(rows, "_seen_model", lambda *_: seen.append(torch.get_num_threads()))
    more = torch.get_num_threads() + 1
    rows.watched_training(TINY.but(threads=more), ATTACKS, (), store)
    assert set(seen) == {more}


def test_the_bar_counts_the_epochs_of_missing_trainings_and_nothing_else(tmp_path, monkeypatch):
    """Neither turned copies of images nor a training that another row has done."""
    shown = []

    @contextmanager
    def noted(description, *, total, unit, delay=2.0):
        assert (total, unit) == (8, "epoch")
        yield lambda: shown.append(1)

    images = TINY.but(size=120, model="resnet20", options={"width": 4})
    base = PlannedRow(images, {"defense": "Plain"})
    tuned = PlannedRow(images.then(Plain(), TINY.recipe), {"defense": "tuned"})
    plan = tiny_plan(attacks=("loss", "rotation"))
    store = Store(tmp_path)
    todo = running.missing(plan, [base, tuned], store)
    assert todo.epochs_by_row == [4, 4]
    monkeypatch.setattr(progress, "bar", forwarding(noted))
    running.make_all(plan, todo, store, jobs=1)
    assert len(shown) == 8


def forwarding(outermost):
    """`progress.bar`, whose outermost bar is another."""
    real = progress.bar

    @contextmanager
    def bar(*arguments, **options):
        if progress._outer.get() is None:
            with outermost(*arguments, **options) as advance, progress.silent():
                yield advance
        else:
            with real(*arguments, **options) as advance:
                yield advance

    return bar


def test_a_full_disk_loses_no_row(tmp_path, monkeypatch):
    plan = tiny_plan()
    store = Store(tmp_path)
    planned = plan.rows(seeds=1)
    third = PlannedRow(TINY.but(seed=9), {"defense": "Plain"})
    real = rows.write_rows
    calls = []

    def full(made, folder):
        calls.append(folder)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        real(made, folder)

    monkeypatch.setattr(rows, "write_rows", full)
    with pytest.raises(OSError, match=r"Free some space.*Nothing finished was lost") as caught:
        running.make_all(plan, running.missing(plan, [*planned, third], store), store, jobs=1)
    assert str(caught.value).count("Free some space") == 1
    assert len(calls) == 2, "the third row would train in vain"
    todo = running.missing(plan, planned, store)
    assert (len(todo.rows), todo.trainings) == (1, 0), "the models of the second row are there"
    running.make_all(plan, todo, store, jobs=1)
    assert len(running.gather(plan, planned, store)) == 2


class Broken(Plain):
    """A training that fails, and not by diverging."""

    def prepare(self, training):
        raise RuntimeError("a fault of one's own")


def test_a_row_that_fails_does_not_lose_the_others(tmp_path, monkeypatch):
    good = tiny_plan().rows(seeds=1)
    bad = PlannedRow(TINY.defended(Broken()), {"defense": "Broken"})
    monkeypatch.setenv("MIALIB_HOME", str(tmp_path))
    monkeypatch.setattr(plans, "load", lambda name, profile: tiny_plan())
    monkeypatch.setattr(small_results.TinyPlan, "rows", lambda *_, **__: [good[0], bad, good[1]])
    store = Store(tmp_path / "store")
    with pytest.raises(runs.RunsFailedError) as caught:
        running.run("past", "quick", jobs=1, store=store)
    message = str(caught.value)
    assert message.startswith("1 of 3 missing rows failed")
    assert "RuntimeError: a fault of one's own" in message
    assert "mialib run tiny --profile quick --finished" in message
    assert set(caught.value.reasons) == {bad.configuration.name}
    todo = running.missing(tiny_plan(), [*good, bad], store)
    assert todo.rows == [bad]
    assert len(running.finished("past", "quick", store=store)) == 2


def test_what_rows_share_was_trained_once(store, made):
    """Ten tunings of one model do not take ten times its training."""
    plain = PlannedRow(TINY, {"defense": "Plain"})
    tuned = PlannedRow(TINY.then(Plain(), TINY.recipe), {"defense": "tuned"})
    assert running._seconds_in_all([plain, tuned], [10.0, 20.0]) == 20


def test_rows_of_other_records_are_not_mixed(store, made):
    plan = tiny_plan()
    elsewhere = PlannedRow(TINY.but(split_seed=5, split="halves"), {"defense": "Plain"})
    make_row(elsewhere, plan.attacks, plan.facts, store)
    with pytest.raises(ValueError, match="have different members"):
        running.gather(plan, [*plan.rows(), elsewhere], store)
    dealt_anew = PlannedRow(TINY.but(split_seed=5), {"defense": "Plain"})
    with pytest.raises(ValueError, match="different members, by split_seed: 0, 5"):
        running.gather(plan, [*plan.rows(), dealt_anew], store)


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


def test_the_command_goes_on_from_a_results_file_alone(at_home, made, capsys):
    made.save(at_home / "results" / "quick" / "tiny.npz")  # from another machine
    assert cli.main(["run", "past", "--dry-run"]) == 0
    assert "missing: 0 rows" in capsys.readouterr().out


def test_a_dry_run_needs_no_data(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MIALIB_HOME", str(tmp_path))
    monkeypatch.setattr(data, "load", None)  # Calling it would fail.
    assert cli.main(["run", "past", "--profile", "class", "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert "\n99 rows, 198 trainings of 3,900 epochs in all.\n" in said
    assert "The records of cifar10 are not here yet" in said
    assert not list(tmp_path.iterdir()), "something was written"


def test_a_dry_run_with_data_that_nobody_has_is_refused(capsys):
    assert cli.main(["run", "past", "--data", "cifra10", "--dry-run"]) == 1
    assert "did you mean 'cifar10'" in capsys.readouterr().err


def test_a_table_without_the_loss_attack(made):
    without = replace(made, attacks=("margin", "entropy"))
    assert "highest advantage" in cli.running.table(without)
    assert "AUC of the loss" not in cli.running.table(without)


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


def test_rows_of_a_results_file_are_not_made_again(tmp_path, monkeypatch, made):
    """Another machine has made them, and its store is not here."""
    monkeypatch.setenv("MIALIB_HOME", str(tmp_path))
    made.save(running.own_path("tiny", "quick"))
    plan = tiny_plan()
    store = Store(tmp_path / "another")
    running.restore(plan, plan.rows(), store)
    assert not running.missing(plan, plan.rows(), store).rows
    again = running.gather(plan, plan.rows(), store)
    assert np.array_equal(again.ranks, made.ranks)
    assert again.rows == made.rows


def test_ones_own_results_come_first(tmp_path, monkeypatch, made):
    monkeypatch.setenv("MIALIB_HOME", str(tmp_path))
    made.save(running.own_path("past", "class"))
    found = running.results("past", "class")
    assert found.about["source"].startswith("Your own results of `past` at profile `class`.")
    assert "Their trainings took at most 1 min of one core." in found.about["source"]
    silent = replace(made, about={"plan": "past"})
    silent.save(running.own_path("past", "class"))
    assert "took" not in running.results("past", "class").about["source"]
    with pytest.raises(ValueError, match="did you mean 'past'"):
        running.results("pats", "class")


def test_what_ships_says_what_it_took():
    for path in sorted((shipped.FOLDER / "results").glob("*/*.npz")):
        found = Results.read(path)
        assert found.about["seconds"] >= 60
        assert all(row.key for row in found.rows), "the plan could not go on from it"
