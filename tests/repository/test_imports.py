"""The shape of the library: what imports what, when, and what must not be in any module.

The order of the modules stands in ARCHITECTURE.md as one sentence; these tests hold every module to
it.
"""

import ast
import graphlib
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import mialib
from paths import ROOT


def module_paths() -> dict[str, Path]:
    """Every module of mialib by its dotted name."""
    root = Path(mialib.__file__).parent
    paths = {}
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root.parent).with_suffix("").parts
        paths[".".join(parts).removesuffix(".__init__")] = path
    return paths


MODULES = module_paths()
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
ORDER = re.search(r"(?m)^errors · .* · __main__$", ARCHITECTURE)[0].split(" · ")
ARRAY_ROOMS = [
    *("errors estimates metrics epsilon signals shipped papers bank".split()),
    *("exposure store data splits attacks".split()),
]
ARRAY_LAYER = [
    name for name in MODULES if name.split(".")[1:2] and name.split(".")[1] in ARRAY_ROOMS
]
DRAWING_ROOMS = ORDER[ORDER.index("course") :]
WITHOUT_COURSE = [
    name for name in MODULES if name == "mialib" or name.split(".")[1] not in DRAWING_ROOMS
]

# Imports of mialib inside a function, each for a reason that ARCHITECTURE.md gives.
LAZY = {
    ("mialib", "mialib.audits"),
    ("mialib.attacks.neural", "mialib.query"),
    ("mialib.attacks.neural", "mialib.training"),
    ("mialib.doctor", "mialib.query"),
}


class Import(NamedTuple):
    """One import of a module of mialib."""

    source: str
    imported: str
    lazy: bool  # inside a function
    for_types: bool  # inside `if TYPE_CHECKING`


def imports_of(source: str, path: Path) -> list[Import]:
    """Every import of mialib's modules in a module, wherever it stands."""
    found = []

    def visit(node: ast.AST, lazy: bool, for_types: bool) -> None:
        for name in imported_names(node):
            found.append(Import(source, name, lazy, for_types))
        lazy = lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for_types = True
        for child in ast.iter_child_nodes(node):
            visit(child, lazy, for_types)

    visit(ast.parse(path.read_text(encoding="utf-8")), False, False)
    return found


def imported_names(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names} & set(MODULES)
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, "relative imports hide where a name comes from"
        names = {f"{node.module}.{alias.name}" for alias in node.names}
        return {name if name in MODULES else node.module for name in names} & set(MODULES)
    return set()


IMPORTS = [one for name, path in MODULES.items() for one in imports_of(name, path)]


def room(module: str) -> str:
    """`mialib.data.records` is in the room `data`."""
    return module.split(".")[1]


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_order_names_every_module_once():
    rooms = {room(name) for name in MODULES if name != "mialib"}
    assert sorted(ORDER) == sorted(rooms)


@pytest.mark.parametrize("name", MODULES)
def test_nothing_imports_from_its_right(name):
    place = {room: k for k, room in enumerate(ORDER)}
    for one in IMPORTS:
        if one.source != name or one.imported == "mialib":
            continue
        if (name, one.imported) in LAZY and name == "mialib":
            continue
        assert name != "mialib", "the package itself imports none of its modules"
        assert place[room(one.imported)] <= place[room(name)], one


def test_no_import_hides_in_a_function_but_the_named_ones():
    lazy = {(one.source, one.imported) for one in IMPORTS if one.lazy}
    assert lazy <= LAZY
    assert ("mialib.attacks.neural", "mialib.training") in lazy, "else torch is loaded with attacks"


def test_no_import_is_for_a_type_checker_alone():
    assert [one for one in IMPORTS if one.for_types] == []


def test_no_module_imports_itself_by_a_detour():
    graph = {name: set() for name in MODULES}
    for one in IMPORTS:
        if one.imported != one.source and one.source != "mialib":
            graph[one.source].add(one.imported)
    assert "mialib.training" in graph["mialib.runs"]
    graphlib.TopologicalSorter(graph).prepare()  # CycleError names the modules of a cycle.


def test_the_array_layer_loads_no_torch():
    assert {"mialib.metrics", "mialib.signals", "mialib.attacks.threshold"} <= set(ARRAY_LAYER)
    assert run(f"import sys, {', '.join(ARRAY_LAYER)}; print('torch' in sys.modules)") == "False"


def test_audit_is_loaded_only_when_it_is_asked_for():
    heavy = "sorted({'torch', 'numpy', 'mialib.audits'} & set(sys.modules))"
    assert run(f"import sys, mialib; print({heavy})") == "[]"
    code = "from mialib import audit; from mialib.audits import Auditor; "
    assert run(code + "print(isinstance(audit, Auditor))") == "True"


def test_the_library_without_the_course_loads_no_drawing_package():
    assert "mialib.runs" in WITHOUT_COURSE
    drawing = "{'matplotlib', 'ipywidgets', 'seaborn', 'mialib.course'}"
    code = f"import sys, {', '.join(WITHOUT_COURSE)}; print(sorted({drawing} & set(sys.modules)))"
    assert run(code) == "[]"


def test_figures_and_sliders_load_no_torch():
    code = "import sys, mialib.course.figures, mialib.course.widgets; print('torch' in sys.modules)"
    assert run(code) == "False"


def test_metrics_and_attacks_are_imported_in_half_a_second():
    # Processor time, not the clock: others may keep the machine busy.
    code = (
        "import sys, time; start = time.process_time(); "
        "import mialib, mialib.metrics, mialib.attacks; "
        "print(time.process_time() - start, 'torch' in sys.modules)"
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


def test_every_module_opens_with_a_map():
    without = [
        name
        for name, path in MODULES.items()
        if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert without == []


@pytest.mark.parametrize(
    ("pattern", "except_in"),
    [
        (r"\.cuda\(", []),
        (r"torch\.load\(", []),
        (r"^\s*(import|from) pickle|allow_pickle=True", []),
        (r"except:", []),
        (r"import \*", []),
        (r"import_module\(", ["mialib.doctor"]),  # The doctor tries whether a package loads.
        (
            r"^\s*print\(",
            [
                "mialib.doctor",
                "mialib.cli.auditing",
                "mialib.cli.benchmarking",
                "mialib.cli.running",
                "mialib.cli.reproducing",
                "mialib.cli",
            ],
        ),
        (r"\b(ours|theirs)\b", []),
    ],
)
def test_the_library_never_says(pattern, except_in):
    forbidden = re.compile(pattern, re.MULTILINE)
    saying = {
        name for name, path in MODULES.items() if forbidden.search(path.read_text(encoding="utf-8"))
    }
    assert saying <= set(except_in)
