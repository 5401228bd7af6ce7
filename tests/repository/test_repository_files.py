"""The files around the code.

The workflow runs the README's commands, the hooks run ruff, the form asks the doctor, and every
target of make is explained.
"""

import re
import tomllib

import pytest
import yaml

import colab
from paths import ROOT


def parsed(name: str) -> dict:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


README = (ROOT / "README.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
WORKFLOW = parsed(".github/workflows/test.yml")
JOB = WORKFLOW["jobs"]["test"]
STEPS = {
    step["uses"].partition("@")[0]: step.get("with", {}) for step in JOB["steps"] if "uses" in step
}


def recipe(target: str) -> list[str]:
    """The commands of a target in the Makefile."""
    return (
        re.search(rf"(?m)^{target}:.*\n((?:\t.*\n)+)", MAKEFILE)[1].replace("\t", "").splitlines()
    )


def test_the_workflow_runs_commands_that_the_readme_starts_with():
    section = README.partition("## Start\n")[2].partition("<details>")[0]
    commands = sorted(step["run"] for step in JOB["steps"] if "run" in step)
    assert commands == ["make run", "make test"]
    assert all(f"`{command}`" in section for command in commands)


def test_the_workflow_covers_two_systems_and_two_pythons():
    matrix = JOB["strategy"]["matrix"]
    assert matrix["os"] == ["ubuntu-latest", "macos-latest"]
    oldest = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "requires-python"
    ].removeprefix(">=")
    assert matrix["python"][0] == oldest
    assert len(matrix["python"]) == 2
    assert all(isinstance(version, str) for version in matrix["python"]), (
        "3.10 without quotes is 3.1"
    )


def test_the_workflow_starts_on_pushes_and_pull_requests_and_may_only_read():
    events = WORKFLOW[True]  # YAML reads the key `on` as true
    assert events["push"] == {"branches": ["main"]}
    assert "pull_request" in events
    assert WORKFLOW["permissions"] == {"contents": "read"}


def test_the_workflow_caches_pip_by_the_pins_and_keeps_the_pages():
    python = STEPS["actions/setup-python"]
    assert python["cache"] == "pip"
    assert python["cache-dependency-path"].split() == ["pyproject.toml", "constraints.txt"]
    assert STEPS["actions/upload-artifact"]["path"] == "build/"


def test_the_badge_in_the_readme_is_that_of_the_workflow_in_every_fork():
    assert "(../../actions/workflows/test.yml/badge.svg)" in README
    assert WORKFLOW["name"] == "test"


@pytest.mark.parametrize(
    "path", sorted((ROOT / ".github" / "workflows").iterdir()), ids=lambda path: path.stem
)
def test_a_workflow_that_was_not_tried_says_so(path):
    assert "Untried" in path.read_text(encoding="utf-8").splitlines()[0]


def test_each_week_the_lessons_run_in_the_image_of_colab_and_change_nothing_there():
    workflow = parsed(".github/workflows/colab.yml")
    (schedule,) = workflow[True]["schedule"]  # YAML reads the key `on` as true
    assert schedule["cron"].endswith("* * 1")
    assert workflow["permissions"] == {"contents": "read"}
    commands = [step.get("run", "") for step in workflow["jobs"]["colab"]["steps"]]
    (command,) = (command for command in commands if "docker run" in command)
    assert "colab-images/public/runtime" in command
    assert 'tools/colab.py run --interpreter "$(which python3)"' in command
    assert "python3 -m pip install" not in command, "it would change what is tried"


def test_the_readme_says_on_which_list_of_colab_the_lessons_were_tried():
    published = colab.read_list(colab.LIST.read_text(encoding="utf-8"))
    assert f"the versions that Colab listed on {published.date}" in README


def test_what_was_not_tried_is_marked():
    assert re.search(r"\*\*Untried\*\*.*Colab.*GitHub.*macOS", README, re.S)


def test_the_hooks_are_the_checks_of_make_test():
    hooks = [hook for repo in parsed(".pre-commit-config.yaml")["repos"] for hook in repo["hooks"]]
    assert all(hook["language"] == "system" and hook["types"] == ["python"] for hook in hooks)
    commands = [
        re.sub(r" --force-exclude", "", hook["entry"]).replace(".venv/bin", "$(BIN)")
        for hook in hooks
    ]
    checks = [command.removesuffix(" .") for command in recipe("test") if "ruff" in command]
    assert commands == checks == ["$(BIN)/ruff check", "$(BIN)/ruff format --check"]


def test_the_bug_report_asks_for_the_doctor():
    form = parsed(".github/ISSUE_TEMPLATE/bug_report.yml")
    assert {"name", "description", "body"} <= set(form)
    fields = {field["id"]: field for field in form["body"]}
    assert "python -m mialib.doctor" in fields["doctor"]["attributes"]["description"]
    assert all(field["validations"]["required"] for field in fields.values())
    assert all(
        field["type"] in {"textarea", "dropdown"} and field["attributes"]["label"]
        for field in fields.values()
    )


def test_make_test_checks_style_types_and_every_test():
    commands = [command.removeprefix("$(BIN)/").split()[0] for command in recipe("test")]
    assert commands == ["ruff", "ruff", "pyright", "python"]
    assert recipe("test")[-1] == "$(BIN)/python -m pytest $(PARALLEL)"


def test_the_soak_test_kills_ten_times_as_often_and_hands_in_every_bad_input():
    kills, rehearsals, fuzz, opened, damaged = recipe("soak")
    assert "MIALIB_BROWSER=all" in opened
    assert "tests/browser" in opened
    test = (ROOT / "tests" / "browser" / "test_lab.py").read_text(encoding="utf-8")
    assert 'os.environ.get("MIALIB_BROWSER")' in test
    assert "MIALIB_REHEARSE=all" in rehearsals
    assert "tests/library/test_rehearsal.py" in rehearsals
    assert "MIALIB_KILLS=200" in kills
    assert "tests/library/test_store.py -k kill" in kills
    test = (ROOT / "tests" / "library" / "test_store.py").read_text(encoding="utf-8")
    assert 'os.environ.get("MIALIB_KILLS", "20")' in test
    assert "MIALIB_FUZZ=all" in fuzz
    assert "tests/library/test_fuzz.py" in fuzz
    test = (ROOT / "tests" / "library" / "test_fuzz.py").read_text(encoding="utf-8")
    assert 'os.environ.get("MIALIB_FUZZ")' in test
    assert "MIALIB_MUTATIONS=3000" in damaged
    assert "tests/library/test_foreign_files.py -k damaged" in damaged
    test = (ROOT / "tests" / "library" / "test_foreign_files.py").read_text(encoding="utf-8")
    assert 'os.environ.get("MIALIB_MUTATIONS", "6")' in test


TARGETS = re.search(r"(?m)^\.PHONY: (.*)$", MAKEFILE)[1].split()


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_of_make_says_what_it_does_and_is_in_the_readme(target):
    assert re.search(rf"(?m)^{target}:.*  ## \w", MAKEFILE)
    assert re.search(rf"make {target}\b", README)


def test_every_target_of_make_is_phony():
    assert sorted(TARGETS) == sorted(re.findall(r"(?m)^([a-z][a-z-]*):.*##", MAKEFILE))


def test_the_citation_names_the_version_and_the_address():
    citation = parsed("CITATION.cff")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == project["version"]
    assert citation["repository-code"] == project["urls"]["repository"]
    assert citation["license"] == project["license"]
    assert {"title", "message", "authors"} <= set(citation)


def test_the_changelog_has_the_shape_that_tools_read():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "https://keepachangelog.com/" in text
    releases = re.findall(r"(?m)^## \[(.+?)\]", text)
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert releases[:2] == ["Unreleased", version]
    kinds = set(re.findall(r"(?m)^### (\w+)$", text))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
