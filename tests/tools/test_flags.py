"""Capture the flag: right answers open, nothing else does, and the course's attack finds them."""

import importlib.util
import itertools
import json
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

import flags
import hidden
from paths import ROOT

SECONDS_A_YEAR = 365.25 * 24 * 3600


@pytest.fixture(scope="module")
def solver():
    path = ROOT / "notebooks" / "teaching" / "solutions" / "capture.py"
    spec = importlib.util.spec_from_file_location("capture", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def brute_force(flag, questions, budget):
    """Try answers from AAA… on; how many guesses it took, or None."""
    every = ("".join(letters) for letters in itertools.product("AB", repeat=questions))
    for count, guess in enumerate(itertools.islice(every, budget), 1):
        if flags.opens(guess, flag):
            return count
    return None


# ---------------------------------------------------------------- the scorer


def test_right_answers_open_and_one_wrong_letter_does_not():
    right = flags.deal(2400).answers["squads"]
    flag = flags.sealed(right)
    assert flags.opens(right, flag)
    turned = ("A" if right[20] == "B" else "B").join([right[:20], right[21:]])
    assert not flags.opens(turned, flag)


def test_every_flag_has_its_own_salt():
    first, second = flags.sealed("A" * 48), flags.sealed("A" * 48)
    assert first["salt"] != second["salt"]
    assert first["hash"] != second["hash"]


def test_brute_force_fails_within_its_budget_and_would_take_ages():
    flag = flags.sealed(flags.deal(2400).answers["pairs"])
    started = time.process_time()
    assert brute_force(flag, flags.QUESTIONS, budget=10) is None
    seconds_a_guess = (time.process_time() - started) / 10
    years = seconds_a_guess * 2 ** (flags.QUESTIONS - 1) / SECONDS_A_YEAR
    assert seconds_a_guess > 0.01
    assert years > 40_000


def test_the_same_brute_force_opens_a_flag_that_is_short_and_fast(monkeypatch):
    """So the test above could have failed."""
    monkeypatch.setattr(flags, "SCRYPT", {"n": 2, "r": 1, "p": 1})
    assert brute_force(flags.sealed("ABBAAB"), 6, budget=64) == 0b011001 + 1


def test_checking_names_what_is_wrong(tmp_path, monkeypatch, capsys):
    with pytest.raises(ValueError, match="no model 'duck'; there are plain, labels, past, dp"):
        flags.check({"duck": {}})
    with pytest.raises(ValueError, match="plain has no questions 'ducks'"):
        flags.check({"plain": {"ducks": "A" * 48}})
    with pytest.raises(ValueError, match="expected a text of 48 letters A or B"):
        flags.check({"plain": {"squads": "A" * 47}})
    with pytest.raises(ValueError, match="plain: expected an object"):
        flags.check({"plain": "ABBA"})
    with pytest.raises(ValueError, match="Expected an object"):
        flags.check(["A"])
    path = tmp_path / "answers.json"
    path.write_text(json.dumps({"plain": {"squads": "AB" * 24}}))
    monkeypatch.setattr(sys, "argv", ["flags.py", "check", str(path)])
    flags.main()
    assert capsys.readouterr().out.split() == ["plain", "squads", "not", "yet"]


# ---------------------------------------------------------------- what chance decides


def test_a_deal_takes_one_whole_team_of_each_question():
    dealt = flags.deal(2400)
    asked = np.concatenate([teams.ravel() for teams in dealt.teams.values()])
    assert len(np.unique(asked)) == len(asked) == 48 * 2 * (16 + 4 + 1)
    assert dealt.is_member.sum() == 1200
    for name, teams in dealt.teams.items():
        is_in = dealt.is_member[teams]  # (questions, 2, records)
        first = np.array(list(dealt.answers[name])) == "A"
        assert (is_in[:, 0] == first[:, None]).all()
        assert (is_in[:, 1] == ~first[:, None]).all()


def test_no_deal_is_like_another_and_no_place_tells_who_is_in():
    deals = [flags.deal(2400) for _ in range(40)]
    assert len({"".join(one.answers.values()) for one in deals}) == 40
    members = np.mean([one.is_member for one in deals], axis=0)  # (n,), about a half
    halves = members[:1200].mean() - members[1200:].mean()
    assert abs(halves) < 5 / np.sqrt(40 * 2400)
    first_team = np.mean([letter == "A" for one in deals for letter in one.answers["pairs"]])
    assert abs(first_team - 0.5) < 5 * 0.5 / np.sqrt(40 * 48)


def test_a_hidden_model_has_no_seed(monkeypatch):
    """Trained twice on the same members it answers differently."""
    plain = hidden.configuration("plain")
    shorter = plain.but(recipe=replace(plain.recipe, epochs=1))
    monkeypatch.setattr(hidden, "configuration", lambda kind: shorter)
    is_member = hidden.toss(2400)
    assert is_member.sum() == 1200
    first, second = (hidden.answers("plain", is_member) for _ in range(2))
    assert first.shape == (2400, 10)
    assert not np.array_equal(first, second)


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="plain, labels, past, dp, found 'duck'"):
        hidden.configuration("duck")


# ---------------------------------------------------------------- the shipped game


def test_only_answers_teams_and_hashes_are_shipped():
    files = {path.name for path in flags.FOLDER.iterdir()}
    assert files == {"README.md", "flags.json", *(f"{kind}.npz" for kind in hidden.KINDS)}
    assert sum(path.stat().st_size for path in flags.FOLDER.iterdir()) < 1_000_000
    for kind in hidden.KINDS:
        shown = flags.read(kind)
        assert set(shown) == {"answers", *flags.TEAMS}
        assert shown["answers"].shape == ((2400,) if kind == "labels" else (2400, 10))
        for name, size in flags.TEAMS.items():
            assert shown[name].shape == (48, 2, size)
    about = flags.read_json(flags.FOLDER / "flags.json")
    assert about["scrypt"] == flags.SCRYPT
    for by_question in about["flags"].values():
        assert all(set(flag) == {"salt", "hash"} for flag in by_question.values())


@pytest.mark.parametrize("kind", ["plain", "labels", "past"])
def test_the_courses_attack_captures_the_squads_of_all_but_dp(solver, kind):
    found = solver.capture(kind, "squads", budget=4)
    assert found is not None
    assert flags.check({kind: {"squads": found}}) == {(kind, "squads"): True}


def test_it_does_not_capture_those_of_dp(solver):
    assert solver.capture("dp", "squads", budget=4) is None


def test_guesses_come_in_the_order_of_what_they_turn(solver):
    margin = np.array([3.0, -0.5, 1.0])
    order = list(solver.guesses(margin))
    assert order[:4] == ["ABA", "AAA", "ABB", "AAB"]
    assert len(set(order)) == 8

    def cost(guess):
        best = order[0]
        return sum(
            abs(m) for m, one, other in zip(margin, guess, best, strict=True) if one != other
        )

    costs = [cost(guess) for guess in order]
    assert costs == sorted(costs)
