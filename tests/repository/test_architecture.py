"""What ARCHITECTURE.md says of the library's shape is so: its modules, its walks, its words."""

import re
import sys
from pathlib import Path

import pytest

import mialib
from mialib import data, metrics, models, query, splits
from mialib.attacks import ATTACKS
from mialib.training import Recipe, fit
from paths import ROOT

PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
HOME = Path(mialib.__file__).parent
# How many files a stranger opened for the same three walks when they were first drawn.
WALKS = {
    "A record, from `load` to the ROC": 13,
    "A weight, from its first value to PAST's pull": 7,
    "A setting, from TOML to the stored run": 8,
}
ASKED_BY_ALL = {"errors.py", "progress.py"}


def files_of(walk: str) -> list[str]:
    """The files of a walk, in order."""
    lines = PAGE.partition(f"**{walk}**")[2].split("\n\n")[0]
    return re.findall(r"(?m)^\d+\. `([\w/.]+)`", lines)


@pytest.mark.parametrize("walk", WALKS)
def test_a_walk_is_drawn_with_its_files_and_is_shorter_than_it_was(walk):
    files = files_of(walk)
    assert len(files) == len(set(files))
    assert f"**{walk}** ({len(files)} files)" in PAGE
    assert len(files) < WALKS[walk]
    for file in files:
        assert (HOME / file).exists(), file


def test_the_walk_of_a_record_visits_exactly_these_files():
    visited = set()

    def note(frame, event, argument):
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(HOME):
            visited.add(path.relative_to(HOME).as_posix())

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        walk_of_a_record()
    finally:
        sys.setprofile(before)
    assert visited - ASKED_BY_ALL == set(files_of("A record, from `load` to the ROC"))


def walk_of_a_record() -> metrics.Roc:
    records = data.load("letters", size=121)
    sides = splits.split("six_parts", records)
    signals = {}
    for name in ("target", "shadow"):
        model = models.build("mlp", shape=records.x.shape[1:], classes=10, widths=(8,))
        fit(model, sides[name].train, Recipe(epochs=1), device="cpu")
        signals[name] = query.collect(model, sides[name])
    fitted = ATTACKS["loss"].fit(signals["shadow"])
    scores = fitted.score(signals["target"].public())
    return metrics.roc(scores, signals["target"].is_member)


def test_the_table_of_modules_has_every_one():
    table = PAGE.partition("| module | holds |")[2].partition("The networks of")[0]
    listed = set(re.findall(r"(?m)^\| (`.+?`) \|", table))
    names = {name.strip("`/") for cell in listed for name in cell.split(", ")}
    found = {path.stem for path in HOME.glob("*.py")}
    found |= {path.parent.name for path in HOME.glob("*/__init__.py")}
    assert names == found - {"__init__"}


def test_the_table_of_networks_is_that_of_the_library():
    table = PAGE.partition("The networks of `models`:")[2].partition("\n\nSomeone")[0]
    rows = re.findall(r"(?m)^\| `(\w+)` \| ([\d,]+) \| (\S+)", table)
    assert [name for name, _, _ in rows] == list(models.MODELS)
    for name, _, parameters in rows:
        if name == "mlp":
            continue
        network = models.build(name, shape=(3, 32, 32), classes=10)
        assert sum(p.numel() for p in network.parameters()) == int(parameters.replace(",", ""))


def words_of(page: str, head: str) -> list[str]:
    """The words in the first column of the table that begins with `head`."""
    table = page.partition(head)[2].partition("\n\n")[0]
    cells = re.findall(r"(?m)^\| (.+?) \|", table)
    return [word for cell in cells for word in cell.split(", ")]


def test_no_word_is_defined_twice():
    glossary = (ROOT / "notebooks" / "GLOSSARY.md").read_text(encoding="utf-8")
    words = words_of(PAGE, "| word | means |") + words_of(glossary, "| word | in one sentence |")
    words = [word for word in words if not word.startswith("---")]
    assert len(words) == len(set(words))
    assert {"record", "target", "shadow", "inference set", "score", "run", "call"} <= set(words)
