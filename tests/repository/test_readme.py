"""What the README and the library's page show as code runs, and they say what they say."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from audited import drawn, trained
from mialib import profiles
from mialib.attacks import ATTACKS
from mialib.audits import AuditError
from mialib.configurations import Configuration
from mialib.defenses import DEFENSES
from mialib.training import Recipe
from paths import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
LIBRARY = (ROOT / "mialib" / "README.md").read_text(encoding="utf-8")


def code_of(page: str, section: str) -> str:
    return re.search(r"```python\n(.*?)```", page.partition(f"## {section}\n")[2], re.S)[1]


def test_the_five_lines_audit_a_model_of_ones_own(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    space = {"model": trained(), "members": drawn(0), "non_members": drawn(1)}
    with pytest.raises(AuditError, match="TPR at 1 % FPR"):
        exec(code_of(README, "Audit your own model"), space)
    assert "does better than a guess" in capsys.readouterr().out
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "audit.csv",
        "audit.html",
        "audit.json",
    ]


@pytest.fixture
def small(monkeypatch):
    """The README's experiment, small enough for a test."""
    recipe = Recipe(epochs=1, batch_size=16, lr=0.05)
    images = Configuration(
        data="digits", size=240, model="resnet20", options={"width": 4}, recipe=recipe
    )
    experiments = {"resnet": images.but(validation=0.1)}
    profile = SimpleNamespace(images=images, experiments=experiments)
    monkeypatch.setattr(profiles, "load", lambda name: profile)


def test_the_code_of_the_readme_runs(small, capsys):
    exec(code_of(LIBRARY, "In your own code"), {})
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 4 + 1
    assert np.isfinite(float(lines[0].split()[0]))
    assert "Butterfly" in code_of(LIBRARY, "In your own code")


def test_the_table_of_attacks_has_every_name():
    table = LIBRARY.partition("by its name in `ATTACKS`")[2].partition("\n\n")[0]
    for name in ATTACKS:
        assert name in table, name


def test_the_table_of_defenses_has_every_class():
    table = LIBRARY.partition("| defense | what it changes |")[2].partition("\n\n")[0]
    for name in set(DEFENSES) - {"Plain"}:
        assert f"`{name}`" in table, name


def test_the_readme_fits_on_two_screens():
    """Folds are closed, and the table of lessons is the one long thing that a reader came for."""
    shown = re.sub(
        r"(?s)<details>.*?</details>|<!-- lessons -->.*?<!-- end of lessons -->", "", README
    )
    assert len(shown.splitlines()) <= 90
    assert len(re.findall(r"!\[[^\]]*\]\((?!\.\./\.\./actions)", shown)) == 1, "one picture"
