"""Where code comes from: edited code is other code; what cannot be compared is said to be so."""

import linecache
import textwrap
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest

from mialib import defenses, models
from mialib.configurations import Configuration, own_code
from mialib.origins import UntraceableError, code_hash, is_of_mialib, origin

BASE = """
    from dataclasses import dataclass
    import torch
    from mialib.training import Defense

    WEIGHT = 2.0

    def helper(x):
        return x * WEIGHT

    class Middle(Defense):
        def shared(self):
            return 1

    @dataclass(frozen=True)
    class Mine(Middle):
        lam: float = 0.5

        @torch.no_grad()
        def loss(self, training, x, y):
            return helper(x).mean()
"""


@pytest.fixture
def run_cell():
    """Run code as a notebook does: in __main__, with lines that only the interpreter remembers."""
    numbers = iter(range(1000))

    def run(source, **edits):
        for old, new in edits.items():
            assert old in source
            source = source.replace(old, new)
        text = textwrap.dedent(source)
        file = f"<cell {next(numbers)}>"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        names = {"__name__": "__main__"}
        exec(compile(text, file, "exec"), names)
        return names

    return run


def test_the_origin_is_the_module_and_the_name():
    assert origin(defenses.L2) == "mialib.defenses.simple.L2"
    assert origin(partial(models.mlp, widths=(3,))) == "mialib.models.mlp"
    assert is_of_mialib(defenses.L2)
    assert not is_of_mialib(np.mean)
    assert not is_of_mialib(Local)


class Local:
    pass


def test_the_same_cell_run_again_is_the_same_code(run_cell):
    assert code_hash(run_cell(BASE)["Mine"]) == code_hash(run_cell(BASE)["Mine"])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("helper(x).mean()", "helper(x).sum()"),  # the class itself
        ("lam: float = 0.5", "lam: float = 0.25"),
        ("@torch.no_grad()", "@torch.enable_grad()"),
        ("return x * WEIGHT", "return x / WEIGHT"),  # a function that it calls
        ("WEIGHT = 2.0", "WEIGHT = 3.0"),  # a constant that this function uses
        ("return 1", "return 2"),  # its base class
    ],
)
def test_every_edit_that_matters_changes_the_hash(run_cell, old, new):
    assert code_hash(run_cell(BASE)["Mine"]) != code_hash(run_cell(BASE, **{old: new})["Mine"])


def test_what_is_not_used_does_not_matter(run_cell):
    more = "    NEVER = 3\n" + BASE
    assert code_hash(run_cell(BASE)["Mine"]) == code_hash(run_cell(more)["Mine"])


def test_a_name_that_is_only_an_attribute_is_not_looked_up(run_cell):
    """`training.epochs` has nothing to do with a notebook's variable `epochs`."""
    source = """
        epochs = 1
        def loss(training):
            return training.epochs
    """
    other = run_cell(source, **{"epochs = 1": "epochs = 7"})
    assert code_hash(run_cell(source)["loss"]) == code_hash(other["loss"])


def test_captured_variables_and_arguments_matter():
    def make(width):
        def network(shape, classes):
            return width

        return network

    assert code_hash(make(1)) == code_hash(make(1))
    assert code_hash(make(1)) != code_hash(make(2))
    assert code_hash(make(np.arange(3))) != code_hash(make(np.arange(4)))
    first = partial(make, width=1)
    assert code_hash(first) != code_hash(partial(make, width=2))


def test_a_class_without_methods_is_its_settings(run_cell):
    source = """
        from dataclasses import dataclass
        from mialib.defenses import L2
        @dataclass(frozen=True)
        class Mine(L2):
            lam: float = 0.5
    """
    other = run_cell(source, **{"0.5": "0.6"})
    assert code_hash(run_cell(source)["Mine"]) == code_hash(run_cell(source)["Mine"])
    assert code_hash(run_cell(source)["Mine"]) != code_hash(other["Mine"])


def test_code_without_a_source_has_no_hash():
    names = {"__name__": "__main__"}
    exec("class Made:\n    def loss(self): return 1\ndef made(): return 1", names)
    for name in ("Made", "made"):
        with pytest.raises(UntraceableError, match="has no source"):
            code_hash(names[name])


def test_what_cannot_be_written_down_has_no_hash(run_cell):
    source = """
        import torch
        teacher = torch.nn.Linear(1, 1)
        def loss(x):
            return teacher(x)
    """
    with pytest.raises(UntraceableError, match="uses `teacher`: the content of a Linear"):
        code_hash(run_cell(source)["loss"])


def test_a_file_that_was_edited_but_not_run_again_is_told_from_both(tmp_path, monkeypatch):
    """The source is the new one, but what runs is the old: it must not be found as either."""
    import importlib

    file = tmp_path / "edited_module.py"
    file.write_text("def network():\n    return 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("edited_module")
    old = code_hash(module.network)
    file.write_text("def network():\n    return 2  # edited\n")
    linecache.checkcache()
    between = code_hash(module.network)
    importlib.reload(module)
    assert len({old, between, code_hash(module.network)}) == 3


@dataclass(frozen=True)
class Own(defenses.L2):
    """A defense of this file."""


def test_defenses_of_the_library_are_not_hashed():
    configuration = Configuration(data="digits", model="mlp", defense=defenses.L2())
    assert configuration.untraceable() is None
    assert own_code(configuration) == {}
    assert list(own_code(configuration.but(defense=Own()))) == [f"{__name__}.Own"]
