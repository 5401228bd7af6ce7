"""The doctor names what is missing or broken and what mends it, and its exit code says so."""

import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from mialib import doctor, profiles

NEEDS = [
    need.name
    for need in map(doctor.Requirement, metadata.requires("mialib"))
    if need.marker is None
]


@pytest.fixture
def installed(monkeypatch):
    """Pretend versions: `installed["torch"] = None` hides a package, `= "1.0"` makes it old."""
    pretended, real = {}, metadata.version

    def version(name):
        if name in pretended and pretended[name] is None:
            raise metadata.PackageNotFoundError(name)
        return pretended.get(name) or real(name)

    monkeypatch.setattr(metadata, "version", version)
    return pretended


def in_a_terminal(monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)


def test_a_sound_environment_gets_no_complaint():
    assert doctor.require() is None
    assert doctor.missing_packages() == []
    assert doctor.broken_pair() == []


@pytest.mark.parametrize("name", NEEDS)
def test_each_missing_package_is_named_with_its_command(name, installed, monkeypatch):
    in_a_terminal(monkeypatch)
    installed[name] = None
    with pytest.raises(
        ImportError, match=f'{name} is missing: python -m pip install "{name}>='
    ) as caught:
        doctor.require()
    assert str(caught.value).endswith("Then restart the kernel.")


def test_an_old_package_is_named_with_both_versions(installed, monkeypatch):
    in_a_terminal(monkeypatch)
    installed["torch"] = "1.13.1"
    (sentence,) = doctor.missing_packages()
    assert sentence == 'torch 1.13.1 is not >=2.6: python -m pip install "torch>=2.6"'


@pytest.mark.parametrize("version", ["2.9.0a0+nightly", "99.0", "2.6.0+cu124"])
def test_newer_versions_and_builds_for_a_gpu_are_good_enough(version, installed):
    installed["torch"] = version
    assert doctor.missing_packages() == []


def test_in_a_notebook_the_command_is_that_of_a_cell(installed, monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", object())
    installed["pooch"] = None
    assert doctor.missing_packages() == ['pooch is missing: %pip install "pooch>=1.8"']


def test_a_checkout_that_was_never_installed_says_so(monkeypatch):
    def nothing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", nothing)
    with pytest.raises(ImportError, match="mialib itself is not installed"):
        doctor.require()


def pretend_pin(monkeypatch, pin):
    """Most releases of torchvision name the one torch that they were built for."""
    real = metadata.requires
    monkeypatch.setattr(
        metadata, "requires", lambda name: [pin] if name == "torchvision" else real(name)
    )


@pytest.mark.parametrize(
    ("torch", "vision"),
    [("2.9.0+cpu", "0.24.0"), ("2.9.0+cu126", "0.24.0+cpu"), ("2.8.0", "0.24.0")],
    ids=["one label", "two labels", "another version"],
)
def test_a_doubtful_pair_is_tried_and_explained_only_if_it_fails(
    torch, vision, installed, monkeypatch
):
    installed.update(torch=torch, torchvision=vision)
    pretend_pin(monkeypatch, "torch==2.9.0")
    tried = []
    monkeypatch.setattr(doctor.importlib, "import_module", tried.append)
    assert doctor.broken_pair() == []
    assert tried == ["torchvision"]

    def fails(name):
        raise RuntimeError("operator torchvision::nms does not exist")

    monkeypatch.setattr(doctor.importlib, "import_module", fails)
    with pytest.raises(ImportError, match="do not work together") as caught:
        doctor.require()
    for part in (
        torch,
        vision,
        "torchvision::nms does not exist",
        "--force-reinstall torch torchvision",
    ):
        assert part in str(caught.value)


@pytest.mark.parametrize("label", ["", "+cu126"])
def test_a_matching_pair_is_not_imported(label, installed, monkeypatch):
    installed.update(torch="2.9.0" + label, torchvision="0.24.0" + label)
    pretend_pin(monkeypatch, "torch==2.9.0")
    monkeypatch.setattr(
        doctor.importlib, "import_module", lambda name: pytest.fail(f"imported {name}")
    )
    doctor.require()


def run_doctor(**environment) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "mialib.doctor"],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )


def test_the_command_tells_what_a_bug_report_needs(tmp_path):
    done = run_doctor(HOME=str(tmp_path), MIALIB_HOME=str(tmp_path / "store"))
    assert done.returncode == 0, done.stdout + done.stderr
    for part in (
        "mialib 0.",
        "Python 3.",
        "torch 2",
        "ipywidgets",
        "jupyterlab",
        "device: ",
        "GB free",
        "All is well.",
    ):
        assert part in done.stdout, part
    assert "store: ~/store, 0 runs" in done.stdout, "the user's name stays out of the report"
    assert not (tmp_path / "store").exists(), "looking makes nothing"
    assert done.stderr == ""


def test_the_genuine_error_of_a_mismatched_pair_is_explained(tmp_path):
    """torchvision without its compiled half fails just as one built for another torch does."""
    real = Path(metadata.distribution("torchvision").locate_file("torchvision"))
    (tmp_path / "torchvision").mkdir()
    for entry in real.iterdir():
        if not entry.name.startswith("_C"):
            (tmp_path / "torchvision" / entry.name).symlink_to(entry)
    done = run_doctor(PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    assert "operator torchvision::nms does not exist" in done.stdout
    assert "python -m pip install --force-reinstall torch torchvision" in done.stdout
    assert "Traceback" not in done.stderr


def test_the_store_counts_finished_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("MIALIB_HOME", str(tmp_path))
    for name in ("one", "two", ".unfinished"):
        (tmp_path / "runs" / name).mkdir(parents=True)
    fact, hindrances = doctor.store_facts()
    assert "2 runs" in fact
    assert hindrances == []


@pytest.mark.parametrize("case", ["a file", "no permission"])
def test_a_store_that_cannot_be_written_is_named(case, tmp_path, monkeypatch):
    monkeypatch.setenv("MIALIB_HOME", str(tmp_path / "store"))
    if case == "a file":
        (tmp_path / "store").write_text("in the way")
    else:
        monkeypatch.setattr(os, "access", lambda path, mode: False)
    (sentence,) = doctor.store_facts()[1]
    assert "cannot be written: set MIALIB_HOME" in sentence


def test_a_full_disk_is_named_and_changes_the_exit_code(monkeypatch, capsys):
    full = shutil._ntuple_diskusage(10**12, 10**12 - 10**8, 10**8)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: full)
    assert doctor.main() == 1
    assert "Only 0.1 GB are free" in capsys.readouterr().out


def test_without_jupyter_the_library_is_well_and_the_lessons_are_pointed_to(installed, monkeypatch):
    installed.update(jupyterlab=None, notebook=None)
    facts, found = doctor.examine()
    assert any(
        line.startswith("to open the lessons: ") and line.endswith("install jupyterlab")
        for line in facts
    )
    assert found == []


@pytest.mark.parametrize("colab", [True, False])
def test_on_colab_without_a_gpu_the_menu_is_named(colab, monkeypatch):
    import torch

    from mialib import query

    monkeypatch.setattr(query, "pick_device", lambda: torch.device("cpu"))
    monkeypatch.delenv("COLAB_RELEASE_TAG", raising=False)
    if colab:
        monkeypatch.setenv("COLAB_RELEASE_TAG", "release")
    assert any("Change runtime type" in line for line in doctor.examine()[0]) == colab


def test_the_device_is_one_line_that_says_who_uses_an_accelerator(monkeypatch):
    import torch

    from mialib import query

    monkeypatch.delenv("COLAB_RELEASE_TAG", raising=False)
    monkeypatch.setattr(query, "pick_device", lambda: torch.device("cpu"))
    assert doctor.device() == "device: cpu"
    monkeypatch.setattr(query, "pick_device", lambda: torch.device("cuda"))
    assert doctor.device().startswith("device: cuda (for profiles class and paper;")
    uses = {name: profiles.load(name).images.device for name in ("quick", "cpu", "class", "paper")}
    assert uses == {"quick": "cpu", "cpu": "cpu", "class": "auto", "paper": "auto"}
