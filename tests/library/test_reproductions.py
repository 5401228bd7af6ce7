"""Items, the evidence that they read, the files that they write, and the ledger of all of them."""

import json
from dataclasses import replace

import numpy as np
import pytest
from support import small_results

from mialib import cli
from mialib.course import plots
from mialib.estimates import Estimate
from mialib.experiments import plans
from mialib.reproductions import (
    ITEMS,
    Evidence,
    Item,
    Line,
    Made,
    MissingEvidenceError,
    arms,
    find,
    ledger,
    writing,
)

NOTHING = Made({}, (Line("past-fig-3", "a number", 0.5, Estimate(0.25, 0.125, 0.375)),))


@pytest.fixture(autouse=True)
def empty_home(tmp_path, monkeypatch):
    """Shipped results alone."""
    monkeypatch.setenv("MIALIB_HOME", str(tmp_path / "home"))


def item(**changes) -> Item:
    settings = {
        "name": "past-fig-3",
        "paper": "PAST",
        "shows": "something",
        "data": "cifar10",
        "plans": {"quick": ("past",), "class": ("past",)},
        "make": lambda evidence: NOTHING,
    }
    return Item(**settings | changes)


# Items and evidence.


def test_every_item_names_plans_that_exist_there():
    for one in ITEMS.values():
        for profile, names in one.plans.items():
            for name in names:
                assert profile in plans.profiles_of(name), (one.name, profile, name)
        for profile, name in one.variants.items():
            assert profile in plans.profiles_of(name)


def test_an_unknown_item_is_refused_with_the_nearest():
    with pytest.raises(ValueError, match="did you mean 'past-fig-3'"):
        find("past-fig-33")


def test_a_state_follows_from_the_data_and_from_what_was_run():
    assert item().state(Evidence("quick")) == "stand-in"
    assert item(data="letters").state(Evidence("quick")) == "real"
    assert item().state(Evidence("class")) == "not run"
    assert item(plans={}).state(Evidence("quick")) == "real"


def test_a_state_is_told_without_a_score():
    evidence = Evidence("quick")
    item().state(evidence)
    assert evidence.read == {}
    assert evidence.about("past")["data"] == "letters"


def test_evidence_that_is_not_there_says_how_to_make_it():
    with pytest.raises(MissingEvidenceError, match="mialib run past --profile paper"):
        Evidence("paper").results("past")


def test_an_item_at_a_profile_without_a_plan_names_those_that_have_one():
    with pytest.raises(ValueError, match="can be made at quick, class"):
        item().plans_at("cpu")


# Families.


def settings_of(*defenses):
    rng = np.random.default_rng(0)
    n = 40
    scores = rng.normal(size=(len(defenses), 1, n))
    is_member = np.arange(n) < n // 2
    return small_results.results(scores, is_member, settings=list(defenses))


def past(**changes):
    return arms.USUAL_PAST | {"lam": 1e-3, "alpha": 1.5, "epochs": 30} | changes


def test_families_hold_every_strength_and_leave_out_controls_and_other_lengths():
    found = settings_of(
        {"defense": "Plain"},
        past(lam=0.0),
        past(),
        past(alpha=0.5),
        past(alpha=0.0),
        past(epochs=5),
        past(after="AdvReg"),
    )
    strengths = {
        name: sorted(one.rows[0].settings["alpha"] for one in settings)
        for name, settings in arms.families(found).items()
    }
    assert strengths == {"PAST": [0.5, 1.5], "uniform ℓ1": [0.0]}


def test_a_setting_that_diverged_is_a_gap_with_its_reason():
    found = settings_of({"defense": "Plain"}, past(lam=0.0), past())
    failed = replace(found.rows[2], failure="the loss was NaN")
    found = replace(found, rows=(*found.rows[:2], failed))
    assert "PAST" not in arms.families(found)
    assert arms.gaps(found) == {"Past, lam = 0.001, alpha = 1.5": "the loss was NaN"}


# Files.


def test_an_items_files_say_what_it_is_and_where_it_comes_from(tmp_path):
    picture = plots.comparison({"a": {"b": Estimate(0.5, 0.4, 0.6)}}, label="AUC")
    made = Made({"past-fig-3": picture}, NOTHING.lines)
    evidence = Evidence("quick")
    evidence.results("past")
    folder = writing.write(item(), evidence, made, tmp_path)
    assert sorted(path.name for path in folder.iterdir()) == [
        *("past-fig-3.png", "past-fig-3.svg", "provenance.json", "table.csv", "table.md"),
    ]
    assert (folder / "past-fig-3.png").read_bytes() == picture.png
    assert (folder / "table.csv").read_text().splitlines() == [
        "row,what,published,own,low,high,note",
        "past-fig-3,a number,0.5,0.25,0.125,0.375,",
    ]
    provenance = json.loads((folder / "provenance.json").read_text())
    assert provenance["results"]["past"]["plan"] == "past"
    assert provenance["state"] == "stand-in"
    assert str(tmp_path) not in (folder / "provenance.json").read_text()


def test_a_table_shows_the_published_number_beside_the_own():
    assert "| a number | 0.5 | 0.250 [0.125, 0.375] |" in writing.as_markdown(NOTHING.lines)


# The command.


def test_the_command_makes_an_item_from_shipped_results(tmp_path, capsys):
    arguments = ["reproduce", "past-fig-3", "--out", str(tmp_path / "out")]
    assert cli.main(arguments) == 0
    told = capsys.readouterr().out
    assert "Shipped results of `past` at profile `quick`" in told
    assert (tmp_path / "out" / "past-fig-3" / "quick" / "past-fig-3.png").exists()


def test_the_command_lists_every_item_with_state_and_cost(capsys):
    assert cli.main(["reproduce"]) == 0
    told = capsys.readouterr().out
    assert all(name in told for name in ITEMS)
    assert "stand-in" in told
    assert "trainings of" in told


def test_the_command_refuses_a_variant_that_is_not_there(capsys):
    assert cli.main(["reproduce", "past-fig-3", "--short"]) == 1
    assert "no shorter variant" in capsys.readouterr().err


# The ledger.


def test_every_row_can_be_made_by_a_command():
    assert {row.item for row in ledger.rows()} <= set(ITEMS)


def test_a_row_without_reason_or_item_is_a_fault():
    row = ledger.rows()[0]
    bare = ledger.Entry(replace(row, reason="", item="past-fig-99"), ())
    assert ledger.faults([bare]) == [
        f"{row.name} has no reason.",
        f"{row.name} has no state: no item past-fig-99 can be made.",
    ]
    assert ledger.faults([ledger.Entry(row, ())]) == []


def test_the_state_of_a_row_is_the_best_of_its_profiles():
    row = ledger.rows()[0]
    poor = ledger.Standing("quick", "stand-in")
    good = ledger.Standing("cpu", "real", NOTHING.lines[0], data="cifar10", scale="3 seeds")
    assert ledger.Entry(row, ()).state == "not run"
    assert ledger.Entry(row, (poor, good)).state == "real"
    assert not ledger.Entry(row, (poor,)).has_number
    assert ledger.Entry(row, (poor, good)).has_number_of_photographs
    assert "1 have a number of our own, 1 of them" in ledger.coverage(
        [ledger.Entry(row, (good,)), ledger.Entry(row, (poor,))]
    )
