"""The list of Colab's versions, and the tool that tries lessons on them: without a network."""

import datetime
import json
import sys

import pytest

import colab
import notebooks

TEXT = colab.LIST.read_text(encoding="utf-8")
HEAD = "# From: somewhere\n# Date: 2026-01-02\n# Python: 3.12\n"
SHORT = f"{HEAD}numpy==2.0.2\njupyter_client==7.4.9\ntorch==2.9.0\n"
FREEZE = """\
# Do not modify this file
jupyter-client==8.0.0
numpy==2.1.3
google-colab @ file:///colabtools/dist/google_colab-1.0.0.tar.gz
torch @ https://example.org/whl/cu128/torch-2.11.0%2Bcu128-cp313-cp313-linux_x86_64.whl#sha256=ab
torchao==0.10.0
"""


def test_the_list_says_when_where_and_for_which_python():
    listed = colab.read_list(TEXT)
    assert datetime.date.fromisoformat(listed.date) < datetime.date.today()
    assert "backend-info" in TEXT
    assert listed.python.startswith("3.")
    assert {"torch", "numpy", "ipython", "ipykernel", "ipywidgets"} <= set(listed.versions)


def test_the_list_is_in_order_and_pip_can_read_it():
    lines = [line for line in TEXT.splitlines() if not line.startswith("#")]
    assert lines == sorted(lines)
    assert len(lines) == len(colab.read_list(TEXT).versions)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (f"{HEAD}numpy>=2.0\n", "expected name==version, found 'numpy>=2.0'"),
        (f"{HEAD}numpy==2.0+cpu\n", "expected name==version"),
        (f"{HEAD}nbclient==1.0\nNbClient==1.1\n", "listed twice"),
        ("# Python: 3.12\nnumpy==2.0.2\n", "lacks a line «# Date: …»"),
        ("# Date: 2026-01-02\nnumpy==2.0.2\n", "lacks a line «# Python: …»"),
    ],
)
def test_a_list_that_is_not_one_is_refused(text, sentence):
    with pytest.raises(ValueError, match=sentence):
        colab.read_list(text)


def test_a_newer_list_is_taken_over_and_nothing_is_added():
    text = colab.refreshed(SHORT, freeze=FREEZE, date="2026-08-19", python="3.13")
    head = "# From: somewhere\n# Date: 2026-08-19\n# Python: 3.13\n"
    assert text == f"{head}numpy==2.1.3\njupyter_client==8.0.0\ntorch==2.11.0\n"


def test_a_package_that_colab_no_longer_has_is_named():
    with pytest.raises(ValueError, match="no longer lists torch:"):
        colab.refreshed(SHORT, freeze="numpy==2.1.3\njupyter-client==8.0", date="", python="")


def test_the_set_up_cell_takes_another_source():
    cell = notebooks.SETUP.format(address="https://github.com/someone/mialib")
    changed = colab.installing_from("file:///mialib.whl", cell)
    assert '--no-deps "mialib @ file:///mialib.whl"\n' in changed
    with pytest.raises(ValueError, match="Expected one address in the set-up cell, found 0"):
        colab.installing_from("file:///mialib.whl", changed)


def test_the_set_up_cell_leaves_torch_and_numpy_alone():
    (command,) = (line for line in notebooks.SETUP.splitlines() if "install --" in line)
    assert command.split()[:4] == ["%pip", "install", "--quiet", "--no-deps"]
    assert "--upgrade" not in command
    assert "--force" not in command


def test_the_kernel_is_that_of_colab_and_does_not_see_the_checkout(tmp_path, monkeypatch):
    monkeypatch.setenv("JUPYTER_PATH", "")
    machine = colab.Colab(colab.Path(sys.executable), tmp_path)
    machine.offer_kernel()
    spec = json.loads((tmp_path / "jupyter" / "kernels" / "colab" / "kernel.json").read_text())
    assert spec["argv"][0] == sys.executable
    assert spec["env"]["PYTHONPATH"] == ""
    assert list(machine.content.iterdir()) == []
    assert "numpy" in machine.installed()


def test_what_changed_is_named_with_both_versions():
    before = {"numpy": "2.1.3", "torch": "2.11.0"}
    assert colab.differences(before, before) == "nothing"
    after = {"numpy": "2.4.0", "torch": "2.11.0", "mialib": "0.1.0"}
    assert colab.differences(before, after) == "mialib None → 0.1.0, numpy 2.1.3 → 2.4.0"


def test_without_colabs_python_a_sentence_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit, match=r"python3\.13 does not run here"):
        colab.make(colab.Published("2026-01-02", "3.13", {}), tmp_path)


def test_an_interpreter_that_is_found_and_does_not_start_is_refused(tmp_path, monkeypatch):
    stand_in = tmp_path / "python3.13"
    stand_in.write_text("#!/bin/sh\nexit 127\n")
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit, match=r"does not run here.*PYENV_VERSION"):
        colab.working_python("3.13")


def test_an_environment_is_made_once_for_each_list(tmp_path, monkeypatch):
    """Without pip and its minutes: the commands are noted, not run."""
    commands = []

    def note(command, check):
        commands.append(command)
        (tmp_path / "environment").mkdir(exist_ok=True)

    monkeypatch.setattr(colab.subprocess, "run", note)
    monkeypatch.setattr(colab, "working_python", lambda version: f"/somewhere/python{version}")
    monkeypatch.setattr(colab, "LIST", tmp_path / "colab.txt")
    colab.LIST.write_text(SHORT)
    for _ in range(2):
        python = colab.make(colab.read_list(SHORT), tmp_path)
        making, installing = commands
    assert making[:4] == ["/somewhere/python3.12", "-m", "venv", "--clear"]
    assert installing[0] == str(python)
    assert installing[-2:] == ["-r", str(colab.LIST)]
    colab.LIST.write_text(f"{SHORT}tqdm==4.67.3\n")
    colab.make(colab.read_list(SHORT), tmp_path)
    assert len(commands) == 4, "another list, another environment"
