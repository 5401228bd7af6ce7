"""The shape of the library and of lessonlib: what imports what, how long modules are, and what must not be in them."""

import ast
import graphlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import mialib
import mialib.course


def modules(package):
    root = Path(package.__file__).parent
    return {
        ".".join((root.name, *path.relative_to(root).with_suffix("").parts)).removesuffix(
            ".__init__"
        ): path
        for path in sorted(root.rglob("*.py"))
    }


MODULES, LESSONS = modules(mialib), modules(lessonlib)
BOTH = MODULES | LESSONS
ARRAYS = "metrics errors bank store splits signals attacks data".split()
ARRAY_LAYER = [name for name in MODULES if name.split(".")[1:2] and name.split(".")[1] in ARRAYS]


def run(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def imports_at_import_time(path):
    """Names of our modules that a module imports outside functions and `if TYPE_CHECKING`."""
    waiting, found = list(ast.parse(path.read_text(encoding="utf-8")).body), set()
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            named = [f"{node.module}.{alias.name}" for alias in node.names]
            found |= {name if name in BOTH else node.module for name in named}
        elif not isinstance(node, ast.FunctionDef) and not (
            isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        ):
            waiting += ast.iter_child_nodes(node)
    return found & set(BOTH)


def test_the_array_layer_is_not_empty():
    assert {"mialib.metrics", "mialib.signals", "mialib.attacks.threshold"} <= set(ARRAY_LAYER)
    assert {"mialib.course.exercises.check", "mialib.course.widgets"} <= set(LESSONS)


def test_the_array_layer_and_lessonlib_load_no_torch():
    loaded = run(
        f"import sys, {', '.join([*ARRAY_LAYER, *LESSONS])}; print('torch' in sys.modules)"
    )
    assert loaded == "False"


def test_metrics_and_attacks_are_imported_in_half_a_second():
    code = (
        "import sys, time; start = time.process_time(); import mialib, mialib.metrics, mialib.attacks; "
        "print(time.process_time() - start, 'torch' in sys.modules)"  # not the clock: others may keep the machine busy
    )
    answers = [run(code).split() for _ in range(3)]
    assert min(float(seconds) for seconds, _ in answers) < 0.5
    assert {torch_loaded for _, torch_loaded in answers} == {"False"}


@pytest.mark.parametrize(("chosen", "expected"), [(None, "100000"), ("7", "7")])
def test_waiting_threads_spin_briefly_unless_the_user_says_otherwise(monkeypatch, chosen, expected):
    monkeypatch.delenv("GOMP_SPINCOUNT", raising=False)
    if chosen:
        monkeypatch.setenv("GOMP_SPINCOUNT", chosen)
    assert run("import mialib, os; print(os.environ['GOMP_SPINCOUNT'])") == expected


def test_no_module_imports_itself_by_a_detour():
    graph = {name: imports_at_import_time(path) - {name} for name, path in BOTH.items()}
    assert "mialib.training" in graph["mialib.runs"]
    graphlib.TopologicalSorter(graph).prepare()  # CycleError names the modules of a cycle.


def test_the_library_never_needs_lessonlib():
    """But for two doors: the doctor, whom no other module asks, and the lessons' data, when they are asked for."""
    found = [
        name for name, path in MODULES.items() if "lessonlib" in path.read_text(encoding="utf-8")
    ]
    assert found == ["mialib.data", "mialib.doctor"]
    assert not any("mialib.doctor" in imports_at_import_time(path) for path in MODULES.values())
    assert (
        run(
            "import sys, mialib.data, mialib.runs, mialib.profiles; print('lessonlib' in sys.modules)"
        )
        == "False"
    )


def test_every_module_opens_with_a_map():
    assert [
        name for name, path in BOTH.items() if not ast.get_docstring(ast.parse(path.read_text()))
    ] == []


@pytest.mark.parametrize(
    ("package", "most"), [(MODULES, 4000), (LESSONS, 3000)], ids=["mialib", "lessonlib"]
)
def test_the_library_stays_thin(package, most):
    lines = {
        name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in package.items()
    }
    assert {name: n for name, n in lines.items() if n > 250} == {}
    assert sum(lines.values()) <= most


@pytest.mark.parametrize(
    ("pattern", "except_in"),
    [
        (r"\.cuda\(", []),
        (r"torch\.load\(", []),
        (r"^\s*(import|from) pickle|allow_pickle=True", []),
        (r"except:", []),
        (r"import \*", []),
        (r"^\s*print\(", ["mialib.doctor"]),
    ],
)
def test_the_library_never_says(pattern, except_in):
    forbidden = re.compile(pattern, re.MULTILINE)
    found = [
        name for name, path in BOTH.items() if forbidden.search(path.read_text(encoding="utf-8"))
    ]
    assert set(found) <= set(except_in)
