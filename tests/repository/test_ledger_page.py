"""LEDGER.md and the README's totals say what the shipped results say."""

import pytest

import ledger_page
from mialib.reproductions import ledger
from paths import ROOT


@pytest.fixture(scope="module")
def entries(tmp_path_factory):
    """Every row, from shipped results alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MIALIB_HOME", str(tmp_path_factory.mktemp("home")))
        return ledger.entries()


def test_the_page_is_the_one_that_the_results_give(entries):
    page = (ROOT / "LEDGER.md").read_text(encoding="utf-8")
    assert page == ledger.as_markdown(entries), "make ledger writes it anew"


def test_the_readme_has_the_totals_and_says_what_the_states_are(entries):
    told = ledger_page.totals(entries)
    assert ledger.coverage(entries) in told
    assert all(f"*{state}*" in told for state in (ledger.REAL, ledger.STAND_IN))
    assert told in (ROOT / "README.md").read_text(encoding="utf-8"), "make ledger writes it anew"


def test_nothing_is_missing_in_a_row(entries):
    assert ledger.faults(entries) == []


def test_most_rows_have_a_number_of_our_own(entries):
    assert len(entries) == 47
    assert sum(entry.has_number for entry in entries) >= 40
