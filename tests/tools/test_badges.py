"""`make badges REPO=owner/name`: one address, everywhere the same, and back again to the byte."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

import badges
import notebooks
from paths import ROOT

SERIES = notebooks.lessons()
HERE = notebooks.repository().removeprefix("https://github.com/")


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A copy of all that carries the address; a lesson that was not built yet gets one output."""
    copy = tmp_path_factory.mktemp("course")
    shutil.copytree(ROOT / "tools", copy / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "notebooks", copy / "notebooks")
    for name in ("pyproject.toml", "README.md", "CITATION.cff"):
        shutil.copy(ROOT / name, copy)
    for lesson in SERIES:
        path = copy / "notebooks" / f"{lesson.name}.ipynb"
        if not path.exists():
            notebook = notebooks.assemble(lesson, SERIES)
            output = nbformat.v4.new_output("stream", text=f"github.com/{HERE} as printed, é\n")
            notebooks.cell_tagged(notebook, "parameters").outputs = [output]
            nbformat.write(notebook, path)
    return copy


def point_at(course: Path, *repo: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "tools/badges.py", *repo], cwd=course, capture_output=True, text=True
    )


def outputs_of(course: Path) -> list:
    paths = sorted(course.glob("notebooks/*.ipynb"))
    return [
        cell.get("outputs") for path in paths for cell in json.loads(path.read_bytes())["cells"]
    ]


def bytes_of(course: Path) -> dict[str, bytes]:
    files = [
        "pyproject.toml",
        "README.md",
        "CITATION.cff",
        *sorted(course.glob("notebooks/*.ipynb")),
    ]
    return {str(file): (course / file).read_bytes() for file in files}


def test_there_and_back_gives_the_same_bytes(course):
    before, printed = bytes_of(course), outputs_of(course)

    there = point_at(course, "ada-lovelace/mia.course_2")
    assert there.returncode == 0, there.stderr
    after = bytes_of(course)
    assert all(after[file] != before[file] for file in before)
    assert outputs_of(course) == printed, "nothing was executed, nothing was lost"

    back = point_at(course, HERE)
    assert back.returncode == 0, back.stderr
    assert bytes_of(course) == before


def test_every_badge_and_set_up_cell_has_the_new_address(course, monkeypatch):
    assert point_at(course, "ada/lessons").returncode == 0
    monkeypatch.setattr(notebooks, "repository", lambda: "https://github.com/ada/lessons")
    for lesson in SERIES:
        found = nbformat.read(course / "notebooks" / f"{lesson.name}.ipynb", as_version=4)
        assembled = notebooks.assemble(lesson, SERIES)
        place = "colab.research.google.com/github/ada/lessons/blob/main/notebooks"
        link = f"(https://{place}/{lesson.name}.ipynb)"
        assert link in found.cells[0].source
        assert '"mialib @ git+https://github.com/ada/lessons"' in found.cells[1].source
        assert found.cells[1].source == assembled.cells[1].source, (
            "the same cell as a rebuilt notebook has"
        )
    readme = (course / "README.md").read_text(encoding="utf-8")
    assert "git clone https://github.com/ada/lessons\ncd lessons\n" in readme
    assert "github/ada/lessons/blob/main/notebooks/00_start_here.ipynb" in readme
    assert HERE not in readme
    assert (
        'repository = "https://github.com/ada/lessons"' in (course / "pyproject.toml").read_text()
    )
    citation = (course / "CITATION.cff").read_text(encoding="utf-8")
    assert 'repository-code: "https://github.com/ada/lessons"' in citation


@pytest.mark.parametrize(
    "repo",
    ["", "mialib", "ada/", "/mialib", "ada/mia/lib", "https://github.com/ada/mialib", "ada/..",
     "ada/mialib.git", "-ada/mialib", "a--b/c", "ada lovelace/mialib", 'ada/mialib"',
     "ada/mialib\n", "ädä/mialib", "a" * 40 + "/b"],
)  # fmt: skip
def test_what_is_not_owner_and_name_is_refused(repo):
    with pytest.raises(SystemExit, match="REPO must be owner/name"):
        badges.address_of(repo)


@pytest.mark.parametrize("arguments", [[""], ["ada/one", "ada/two"]])
def test_a_refusal_is_one_sentence_and_changes_nothing(arguments, course):
    before = bytes_of(course)
    done = point_at(course, *arguments)
    assert done.returncode == 1
    assert "REPO must be owner/name" in done.stderr
    assert "Traceback" not in done.stderr
    assert bytes_of(course) == before


@pytest.mark.parametrize("text", ["", 'repository = "a"\nrepository = "b"\n'])
def test_a_pyproject_without_exactly_one_address_is_refused(text):
    with pytest.raises(SystemExit, match="exactly one line"):
        badges.with_address(text, "https://github.com/ada/mialib")


def test_the_committed_badges_are_those_of_the_address():
    address = notebooks.repository()
    for path in [
        ROOT / "README.md",
        ROOT / "CITATION.cff",
        *sorted((ROOT / "notebooks").glob("*.ipynb")),
    ]:
        assert badges.renewed(path, address) == path.read_text(encoding="utf-8"), (
            f"make badges REPO={HERE}"
        )
