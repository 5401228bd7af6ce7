"""The ledger's rows: every figure, table and quoted number has one, and says where and why."""

import re
import tomllib
from collections import Counter

import pytest

from mialib import papers, shipped
from paper_texts import needs_texts, texts
from paths import ROOT

ROWS = tomllib.loads((shipped.FOLDER / "ledger.toml").read_text(encoding="utf-8"))["row"]
SOURCES = ROOT / "notebooks" / "source"
SENTENCES = ("shows", "claim", "reason")
NAMES = ("name", "item", "paper", "lesson", "section")
FLAGS = ("legible", "shown")
PANELS = "1a 1b 2a 2b 2c 3 4 5a 5b 6a 6b 6c 7 8 9a 9b 10 11 12 13a 13b 14".split()
EXPECTED = [
    *(f"past-fig-{panel}" for panel in PANELS),
    *("past-table-1", "past-table-2"),
    *(f"past-quoted-{what}" for what in ("concentration", "advantage", "sensitivity")),
    *(f"crl-fig-{number}" for number in range(1, 8)),
    *(f"crl-table-{part}" for part in ("1a", "1b", "1c", "2")),
    *(f"sparsity-fig-{number}" for number in (1, 2, 3)),
    "sparsity-table-1",
    *(f"sparsity-quoted-{what}" for what in ("accuracy", "gain", "slope", "significance")),
    "wemem",
]


def headings(lesson: str) -> list[str]:
    source = (SOURCES / f"{lesson}.py").read_text(encoding="utf-8")
    return re.findall(r"(?m)^# ###? (.+)$", source)


def of_figure(name: str) -> str:
    """The item of a row of a figure or of quoted numbers: without the panel, without the topic."""
    without_panel = re.sub(r"(fig-\d+)[a-c]$", r"\1", name)
    return re.sub(r"-quoted-\w+$", "-quoted", without_panel)


def letters_of(text: str) -> str:
    """Only letters and digits: texts differ in hyphens, formulas and the numbers of their lines."""
    text = re.sub(r"(?m)^\d{3}\b", "", text)
    text = text.replace("ℓ", "ell").replace("λ", "lambda").replace("\\times", "")
    return re.sub(r"[^a-z0-9]", "", text.lower())


def test_there_are_46_rows_and_one_that_contradicts():
    assert [row["name"] for row in ROWS] == EXPECTED
    assert len(ROWS) == 47


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_a_row_has_its_fields(row):
    assert set(row) - {"data"} == {*NAMES, *SENTENCES, *FLAGS, "published"}
    assert row.get("data", "cifar10") in {"cifar10", "cifar100"}
    assert all(row[field].strip() == row[field] != "" for field in (*NAMES, *SENTENCES))
    assert all(isinstance(row[flag], bool) for flag in FLAGS)
    assert row["legible"] == (row["published"] != "")
    assert row["item"] == of_figure(row["name"])
    assert row["paper"] == row["name"].partition("-")[0]
    assert row["paper"] in {*papers.PAPERS, "wemem"}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_a_row_names_a_heading_of_its_lesson(row):
    assert row["section"] in headings(row["lesson"])


def test_a_lesson_that_shows_a_figure_says_so():
    # What the head of a lesson claims to reproduce, some row must lead to.
    for lesson in sorted(SOURCES.glob("*.py")):
        head = re.search(r"(?m)^# reproduces: (.+)$", lesson.read_text(encoding="utf-8"))
        if head and re.search(r"Fig\.|Table", head[1]):
            assert lesson.stem in {row["lesson"] for row in ROWS}, lesson.stem


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_a_reason_is_one_to_three_whole_sentences(row):
    sentences = re.split(r"(?<=[.)])\s+(?=[A-Z\d])", row["reason"])
    assert 1 <= len(sentences) <= 3
    assert len(row["reason"].split()) >= 15
    assert row["reason"].endswith(".")


def test_no_reason_serves_two_rows():
    repeated = [reason for reason, rows in Counter(r["reason"] for r in ROWS).items() if rows > 1]
    assert repeated == []


def test_a_claim_about_the_authors_code_names_its_commit():
    for row in ROWS:
        if "authors' code" in row["reason"] or "authors' network" in row["reason"]:
            assert re.search(r"\w+/\w+ @[0-9a-f]{7}", row["reason"]), row["name"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_published_numbers_are_those_of_the_papers(row):
    if row["paper"] == "wemem":
        pytest.skip("WeMem's numbers are not among the three papers'")
    known = {one.value for one in papers.numbers(row["paper"])}
    metrics = " ".join(one.metric for one in papers.numbers(row["paper"]))
    known |= {float(number) for number in re.findall(r"\d+\.?\d*", metrics)}
    # Names carry numbers too: networks, datasets and P1.
    told = re.sub(r"(ResNet|CIFAR)-\d+|P1", "", row["published"]).replace("−", "-")
    for number in re.findall(r"-?\d+(?:\.\d+)?", told):
        assert float(number) in known, number


@needs_texts
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_a_quotation_stands_in_its_paper(row):
    if row["paper"] == "wemem":
        pytest.skip("WeMem's text is not here")
    whole = [letters_of(text) for text in texts(row["paper"])]
    for quotation in re.findall(r'"([^"]+)"', row["claim"]):
        assert any(letters_of(quotation) in text for text in whole), quotation
