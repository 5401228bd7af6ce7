"""The graded assignments: the solution gets every point a program gives, the stub none."""

import importlib.util
import json
import re

import numpy as np
import pytest

import grade
import hidden
from mialib import cli
from mialib.audits import Audit
from paths import ROOT

TEACHING = ROOT / "notebooks" / "teaching"
ROW = re.compile(r"^\| (.+?) \| (\d+) \| (program|person) \|$", re.M)


def script(folder, name):
    path = TEACHING / folder / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"{folder}_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def total(marks):
    return sum(one.points for one in marks)


@pytest.fixture(scope="module")
def handed_out(tmp_path_factory):
    """Both hand-outs, from one training: the folder of the students and the teacher's."""
    patch = pytest.MonkeyPatch()
    real_toss = hidden.toss
    is_member = real_toss(2400)
    model = hidden.train("plain", is_member)
    patch.setattr(hidden, "train", lambda kind, members: model)
    patch.setattr(grade, "AUDITED", 400)
    out = tmp_path_factory.mktemp("students")
    keep = tmp_path_factory.mktemp("kept")
    for hand_out in grade.HAND_OUT.values():
        patch.setattr(hidden, "toss", _first_then(is_member, real_toss))
        hand_out(out, keep)
    patch.undo()
    return out, keep


def _first_then(first, toss):
    waiting = [first]
    return lambda n: waiting.pop() if waiting else toss(n)


@pytest.mark.parametrize("assignment", sorted(grade.POINTS))
def test_a_rubric_has_100_points_and_those_of_the_program(assignment):
    text = (TEACHING / "assignments" / f"{assignment}.md").read_text(encoding="utf-8")
    rows = ROW.findall(text)
    assert sum(int(points) for _, points, _ in rows) == 100
    by_program = {
        criterion.split(":")[0]: int(points) for criterion, points, who in rows if who == "program"
    }
    assert by_program == grade.POINTS[assignment]


# ---------------------------------------------------------------- audit


def test_the_audits_solution_gets_every_point(handed_out, monkeypatch):
    out, keep = handed_out
    monkeypatch.setattr(Audit, "save", lambda *_: None)  # Pages are what a person marks.
    script("solutions", "audit").main(out)
    marks = grade.mark_audit(out / "answers.json", keep, out)
    assert [one.points for one in marks] == list(grade.POINTS["audit"].values()), marks


def test_an_audit_that_says_leak_of_everything_gets_a_third(handed_out, tmp_path):
    out, keep = handed_out
    always = {name: {"verdict": grade.REMEMBERS, "auc": 0.5} for name in "abc"}
    (tmp_path / "answers.json").write_text(json.dumps(always))
    assert total(grade.mark_audit(tmp_path / "answers.json", keep, out)) == 15
    for empty in ({}, {"a": "it remembers its members"}):
        (tmp_path / "answers.json").write_text(json.dumps(empty))
        assert total(grade.mark_audit(tmp_path / "answers.json", keep, out)) == 0


# ---------------------------------------------------------------- LiRA


def test_liras_solution_gets_every_point_and_the_loss_few(handed_out, tmp_path):
    out, keep = handed_out
    target = out / "target.npz"
    script("solutions", "lira").main(target, tmp_path / "ada.npz")
    assert total(grade.mark_lira(tmp_path / "ada.npz", keep, target)) == 70
    yardsticks = grade.yardsticks(target)
    ada = grade.read_scores(tmp_path / "ada.npz", 2400)
    assert np.allclose(ada, yardsticks["(LiRA, online)"], atol=1e-6)
    np.savez(tmp_path / "bob.npz", scores=yardsticks["(the loss)"])
    assert total(grade.mark_lira(tmp_path / "bob.npz", keep, target)) == 10
    board = grade.leaderboard([tmp_path / "bob.npz", tmp_path / "ada.npz"], keep, target)
    assert board.index("| ada |") < board.index("| bob |")
    np.savez(tmp_path / "eve.npz", scores=np.zeros(7))
    with_eve = grade.leaderboard([tmp_path / f"{one}.npz" for one in ("eve", "ada")], keep, target)
    assert "| ada |" in with_eve
    assert "Not on the board: eve.npz: expected scores" in with_eve


def test_a_file_that_is_not_there_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["grade.py", "mark", "lira", "gone.npz"])
    with pytest.raises(SystemExit, match=r"There is no file .*lira.npz"):
        grade.main()


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        (np.zeros(7), "2400 numbers, found float64 of shape"),
        (np.full(2400, np.nan), "2400 scores are not finite"),
        (np.zeros(2400, int), "found int64"),
    ],
)
def test_scores_that_are_none_get_nothing(handed_out, tmp_path, scores, words):
    out, keep = handed_out
    np.savez(tmp_path / "eve.npz", scores=scores)
    marks = grade.mark_lira(tmp_path / "eve.npz", keep, out / "target.npz")
    assert total(marks) == 0
    assert words in marks[0].why


# ---------------------------------------------------------------- reproduce


def test_a_reproduction_is_judged_line_by_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MIALIB_HOME", str(tmp_path / "home"))
    cli.main(["reproduce", "past-fig-1", "--profile", "quick", "--out", str(tmp_path)])
    folder = tmp_path / "past-fig-1" / "quick"
    assert total(grade.mark_reproduction(folder)) == 0
    (folder / "verdicts.json").write_text("{}")
    assert total(grade.mark_reproduction(folder)) == 25
    script("solutions", "reproduce").main(folder)
    assert total(grade.mark_reproduction(folder)) == 60
    verdicts = json.loads((folder / "verdicts.json").read_text())
    assert set(verdicts.values()) == {"differs", "cannot tell"}


@pytest.mark.parametrize(
    ("table", "provenance"),
    [
        ("what,published,low,high\n", '{"results": {"a": {"seeds": [0, 1, 2]}}}'),
        ("number\n1\n", '{"results": {"a": {"seeds": [0, 1, 2]}}}'),
        ("what,published,low,high\nx,one,0,1\n", '{"results": {"a": {"seeds": [0, 1, 2]}}}'),
        ("what,published,low,high\nx,1,0,1\n", '{"results": {}}'),
        ("what,published,low,high\nx,1,0,1\n", "[]"),
    ],
)
def test_a_reproduction_of_other_files_gets_nothing_and_hears_why(tmp_path, table, provenance):
    (tmp_path / "figure.png").touch()
    (tmp_path / "table.csv").write_text(table)
    (tmp_path / "provenance.json").write_text(provenance)
    (tmp_path / "verdicts.json").write_text('{"x": "agrees"}')
    marks = grade.mark_reproduction(tmp_path)
    assert total(marks) == 0
    assert marks[0].why.startswith("Not as `mialib reproduce` writes it")


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (("0.5", "0.4", "0.6"), "agrees"),
        (("0.7", "0.4", "0.6"), "differs"),
        (("", "0", "1"), "cannot tell"),
    ],
)
def test_a_verdict_is_the_published_number_against_the_interval(cells, expected):
    row = dict(zip(("published", "low", "high"), cells, strict=True))
    assert grade.expected_verdict(row) == expected
    numbers = [float(cell) if cell else None for cell in cells]
    assert script("solutions", "reproduce").verdict(*numbers) == expected


# ---------------------------------------------------------------- stubs


@pytest.mark.parametrize(
    ("name", "function", "arguments"),
    [("audit", "judge", (None,)), ("lira", "lira", (1, 2, 3)), ("reproduce", "verdict", (1, 2, 3))],
)
def test_what_students_get_is_a_stub(name, function, arguments):
    stub = script("assignments", name)
    with pytest.raises(NotImplementedError):
        getattr(stub, function)(*arguments)
    solved = (TEACHING / "solutions" / f"{name}.py").read_text(encoding="utf-8")
    assert "NotImplementedError" not in solved
