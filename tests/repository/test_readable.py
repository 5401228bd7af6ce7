"""How dense the library's lines are, held to what code that reads well has.

open_lth has 7.9 AST nodes per line of function body, nanoGPT 8.8, jax_privacy 5.5, opacus 4.7.
There is no limit on the number of lines.
"""

import ast
import statistics
from pathlib import Path

import pytest

import mialib

FILES = sorted(Path(mialib.__file__).parent.rglob("*.py"))
TEXTS = {path: path.read_text(encoding="utf-8") for path in FILES}
TREES = {path: ast.parse(text) for path, text in TEXTS.items()}
LINES = [line for text in TEXTS.values() for line in text.splitlines()]
FUNCTIONS = [
    (path, node)
    for path, tree in TREES.items()
    for node in ast.walk(tree)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
]
SILENT = (ast.Load, ast.Store, ast.Del)  # nodes that no character of the source stands for


def statements(function: ast.FunctionDef) -> list[ast.stmt]:
    """The body without its docstring."""
    first = function.body[0]
    is_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return function.body[1:] if is_docstring else function.body


def used_lines(path: Path, body: list[ast.stmt]) -> int:
    """Lines of a body that are neither blank nor a comment."""
    lines = TEXTS[path].splitlines()
    places = {k for one in body for k in range(one.lineno - 1, one.end_lineno)}
    return sum(bool(lines[k].strip()) and not lines[k].strip().startswith("#") for k in places)


def per_thousand_lines(kind) -> float:
    count = sum(kind(node) for tree in TREES.values() for node in ast.walk(tree))
    return 1000 * count / len(LINES)


def is_packed(node: ast.AST) -> bool:
    """`a, b = x, y`."""
    return (
        isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Tuple)
        and isinstance(node.value, ast.Tuple)
    )


def test_a_line_holds_one_idea():
    nodes = 0
    lines = 0
    for path, function in FUNCTIONS:
        body = statements(function)
        nodes += sum(not isinstance(node, SILENT) for one in body for node in ast.walk(one))
        lines += used_lines(path, body)
    assert nodes / lines <= 9


def test_few_assignments_pack_two_things():
    assert per_thousand_lines(is_packed) <= 5


def test_few_names_are_born_inside_an_expression():
    assert per_thousand_lines(lambda node: isinstance(node, ast.NamedExpr)) <= 1.5


def test_few_lines_are_wider_than_a_page():
    assert sum(len(line) > 100 for line in LINES) / len(LINES) <= 0.03


def test_functions_are_short():
    lengths = [node.end_lineno - node.lineno + 1 for _, node in FUNCTIONS]
    assert statistics.median(lengths) <= 10
    assert statistics.quantiles(lengths, n=10)[-1] <= 30


@pytest.mark.parametrize(
    ("code", "packed"), [("a, b = 1, 2", True), ("a, b = pair", False), ("a = 1, 2", False)]
)
def test_packed_is_what_is_meant_by_it(code, packed):
    assert is_packed(ast.parse(code).body[0]) == packed
