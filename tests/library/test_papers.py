"""The papers' numbers: all are there, once, and each is found in the text of its paper.

Where the texts are not beside the repository (`tests/support/paper_texts.py`), the comparison with
them is skipped.
"""

import re
from collections import Counter
from dataclasses import FrozenInstanceError

import pytest

from mialib import data, models, papers, shipped
from mialib.attacks import ATTACKS
from mialib.defenses import DEFENSES
from paper_texts import needs_texts, texts
from paths import ROOT

EVERYTHING = [one for paper in papers.PAPERS for one in papers.numbers(paper)]
TOTALS = {
    "past": {
        "past-table-1": 11,  # ten cells and α
        "past-table-2": 2,  # settings; its cells are a picture
        "past-quoted": 7,
        "past-fig-2": 1,
        "past-fig-3": 1,
        "past-fig-4": 1,
        "past-fig-5": 8,
        "past-fig-6": 8,
        "past-fig-9": 1,
        "past-fig-14": 1,
        "past-fig-12": 3,
        "past-settings": 24,
    },
    "crl": {
        "crl-table-1a": 72,  # 3 networks × 4 methods × 6 columns
        "crl-table-1b": 72,
        "crl-table-1c": 48,
        "crl-table-2": 9,
        "crl-quoted": 5,
        "crl-fig-7": 1,
        "crl-settings": 17,
    },
    "sparsity": {
        "sparsity-table-1": 24,
        "sparsity-quoted": 10,
        "sparsity-related": 2,
        "sparsity-fig-3": 1,
        "sparsity-settings": 34,
    },
}
TABLES_OF_CRL = ("crl-table-1a", "crl-table-1b", "crl-table-1c")

WORDS = {"3": "three", "5": "five", "6": "six", "7": "seven", "8": "eight"}


def is_in(text: str, printed: str) -> bool:
    """Whether the text has this number, and not only as a part of a longer one."""
    digits = re.escape(printed)
    if re.search(rf"(?<![\d.]){digits}(?!\.?\d)", text):
        return True
    return printed in WORDS and WORDS[printed] in text.lower()


@pytest.mark.parametrize("paper", papers.PAPERS)
def test_totals_by_item(paper):
    assert Counter(one.item for one in papers.numbers(paper)) == TOTALS[paper]


def test_no_number_stands_twice():
    repeated = [one for one, times in Counter(EVERYTHING).items() if times > 1]
    assert repeated == []


def test_results_have_one_value_each():
    # Of a setting several may be tried, and of the significant proportions there are two.
    places = Counter(
        (one.item, one.dataset, one.model, one.method, one.metric)
        for one in EVERYTHING
        if not one.is_setting and "outside the range" not in one.metric
    )
    assert [place for place, times in places.items() if times > 1] == []


@pytest.mark.parametrize("paper", papers.PAPERS)
def test_every_number_is_whole(paper):
    for one in papers.numbers(paper):
        assert one.item.startswith(f"{paper}-"), one
        assert one.metric, one
        assert one.where, one
        assert type(one.value) is float or one.value is None, one
        assert (one.value is None) == (one.printed == "") == ("N/A" in one.where), one
        assert one.model in {"", *models.MODELS}, one
        assert one.dataset in {"", *data.PUBLISHED}, one


def test_a_number_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        EVERYTHING[0].value = 0.0  # pyright: ignore[reportAttributeAccessIssue]


def test_files_have_numbers_and_readme_has_their_totals():
    page = (ROOT / "data" / "published" / "README.md").read_text(encoding="utf-8")
    folder = shipped.FOLDER / "published"
    assert {path.stem for path in folder.glob("*.csv")} == set(papers.PAPERS)
    for paper, title in papers.PAPERS.items():
        row = next(line for line in page.splitlines() if line.startswith(f"| `{paper}.csv`"))
        assert title in row
        assert f"| {len(papers.numbers(paper))}" in row


@pytest.mark.parametrize("item", TABLES_OF_CRL)
def test_methods_and_attacks_of_crl_have_the_names_of_the_library(item):
    for one in papers.numbers("crl", item=item):
        assert one.method in DEFENSES
        attack = one.metric.removeprefix("AUC of ")
        assert attack in {*ATTACKS, "train accuracy", "test accuracy"}


def test_only_gradients_of_densenet_are_missing():
    missing = [one for one in EVERYTHING if one.value is None]
    assert {(one.model, one.metric) for one in missing} == {("densenet121", "AUC of gradient ℓ2")}
    assert len(missing) == 8


def test_quoted_numbers_follow_from_the_tables():
    advantage = {
        method: papers.find("past", method=method, metric="advantage of loss").value
        for method in ("MixupMMD", "Past")
    }
    reduction = papers.find("past", metric="relative reduction of the advantage of loss")
    assert 100 * (1 - advantage["Past"] / advantage["MixupMMD"]) == pytest.approx(
        reduction.value, abs=0.05
    )
    seconds = {
        method: papers.find("past", method=method, metric="training time").value
        for method in ("Plain", "Past")
    }
    more = papers.find("past", metric="additional training time")
    assert 100 * (seconds["Past"] / seconds["Plain"] - 1) == pytest.approx(more.value, abs=0.05)


@needs_texts
@pytest.mark.parametrize("paper", papers.PAPERS)
def test_every_number_is_in_the_text_of_its_paper(paper):
    longer, *shorter = texts(paper)
    for one in papers.numbers(paper):
        if one.value is None or one.item == "crl-table-2":
            continue  # N/A and the ticks of Table 2 are compared below.
        only_in_preprint = "in the preprint only" in one.where or "the preprint keeps" in one.where
        text = shorter[0] if only_in_preprint else longer
        assert is_in(text, one.printed), one


@needs_texts
@pytest.mark.parametrize("version", [0, 1])
def test_tables_of_crl_are_the_text_s_row_by_row(version):
    text = texts("crl")[version]
    pattern = r"(?:CE \(no defense\)|AdvReg|RelaxLoss|CRL \(ours\))((?:[\s|]+(?:\d+\.\d\d|N/A)){6})"
    printed = [re.findall(r"\d+\.\d\d|N/A", row) for row in re.findall(pattern, text)]
    cells = [one for item in TABLES_OF_CRL for one in papers.numbers("crl", item=item)]
    rows = [
        [one.printed or "N/A" for one in cells[start : start + 6]]
        for start in range(0, len(cells), 6)
    ]
    assert rows == printed


@needs_texts
def test_ablation_of_crl_is_the_text_s_table_2():
    table = texts("crl")[1].partition("Table 2: Ablation components.")[2]
    marks = re.findall(r"[✓✗]", table)[:9]
    cells = papers.numbers("crl", item="crl-table-2")
    assert [one.printed for one in cells] == ["01"[mark == "✓"] for mark in marks]


@needs_texts
def test_table_1_of_past_is_the_text_s():
    preprint = texts("past")[1]
    for label, method in {"PAST": "Past", "w/o": "Plain"}.items():
        row = re.search(rf"\t{label}\t((?:0\.\d+\t?){{5}})", preprint)[1]
        cells = papers.numbers("past", item="past-table-1", method=method, settings=False)
        assert [one.printed for one in cells] == row.split()


@needs_texts
def test_table_1_of_the_sparsity_paper_is_the_text_s():
    text = texts("sparsity")[0].replace("\\simeq 100 \\times (0.8)^k", "0.8")
    rows = re.findall(r"(?m)^(?:ResNet-20 dense|Butterfly|IMP)[^\t]*\t(.*)$", text)
    printed = [number for row in rows for number in re.findall(r"[\d.]+", row)]
    cells = papers.numbers("sparsity", item="sparsity-table-1")
    assert [one.printed for one in cells] == printed


def test_a_share_takes_per_cent_out():
    accuracy = papers.find("sparsity", method="Plain", metric="test accuracy")
    assert accuracy.share == pytest.approx(0.875)
    score = papers.find("past", item="past-table-1", dataset="cifar10", method="Past")
    assert score.share == score.value == 0.784


def test_settings_and_results_are_told_apart():
    every = papers.numbers("past", item="past-fig-6")
    chosen = papers.numbers("past", item="past-fig-6", settings=True)
    measured = papers.numbers("past", item="past-fig-6", settings=False)
    assert len(chosen) == 3
    assert sorted(chosen + measured, key=every.index) == every


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        ({"paper": "passt"}, "did you mean 'past'"),
        ({"paper": "past", "item": "past-tabel-1"}, "did you mean 'past-table-1'"),
        ({"paper": "crl", "model": "resnet-18"}, "did you mean 'resnet18'"),
        ({"paper": "crl", "item": "crl-table-1c", "model": "googlenet"}, "Known: vgg11, resnet18"),
        ({"paper": "crl", "item": "crl-table-1c"}, "found 48 that do"),
    ],
)
def test_find_refuses_with_a_sentence(names, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        papers.find(**names)


def test_settings_must_be_a_flag():
    with pytest.raises(ValueError, match="settings must be True or False"):
        papers.numbers("past", settings="no")  # pyright: ignore[reportArgumentType]
