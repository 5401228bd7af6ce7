"""`mialib audit outputs.npz`: the report as text, and a gate for a CI."""

import pytest

from audited import outputs
from mialib.cli import main
from mialib.signals import Signals


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "outputs.npz"
    Signals(*outputs(400, leak=2.0)).save(path)
    return str(path)


def test_the_report_is_printed(file, capsys):
    assert main(["audit", file, "--policy", "aisvs", "--limit", "advantage=1"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("outputs: 200 members, 200 non-members, 4 classes")
    assert "does better than a guess" in text
    assert "against release: loss: the advantage exceeds that of a guess" in text
    assert "TPR at 1 % FPR" in text
    assert text.strip().endswith("Every limit is kept.")


def test_a_limit_that_is_not_kept_ends_with_1(file, capsys):
    assert main(["audit", file, "--limit", "advantage=0.05"]) == 1
    assert "above the limit 0.05" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--limit", "advantage"], "A limit is written as advantage=0.1"),
        (["--limit", "luck=1"], "There is no number with a limit 'luck'"),
        (["--records"], "give --out audit.html, too"),
        (["--policy", "green"], "There is no policy 'green'"),
    ],
)
def test_what_it_does_not_know_is_said(file, capsys, arguments, sentence):
    assert main(["audit", file, *arguments]) == 1
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize("by_coin", [[], ["--by-coin"]])
def test_a_guarantee_is_held_against_the_attacks(file, capsys, by_coin):
    assert main(["audit", file, "--guarantee", "9", "1e-5", *by_coin]) == 0
    assert "does not contradict (9, 1e-5)-DP" in capsys.readouterr().out
    assert main(["audit", file, "--guarantee", "0.01", "1e-5", *by_coin]) == 0
    premise = "" if by_coin else ", if members were dealt by coin"
    assert f"THE GUARANTEE IS BROKEN{premise}: (0.01, 1e-5)-DP" in capsys.readouterr().out


def test_a_file_name_cannot_command_a_terminal(tmp_path, capsys):
    path = tmp_path / "red\x1b[31m.npz"
    Signals(*outputs(400)).save(path)
    assert main(["audit", str(path)]) == 0
    assert "\x1b" not in capsys.readouterr().out
