"""The exercises of a lesson, read from its cells, and what their code needs of the lesson.

    for exercise in of_lesson(notebook.cells):
        exercise.number, exercise.minutes, exercise.difficulty
        exercise.code        # the stub and its self-check
        exercise.solved()    # the same cell, with the solution in the stub's place

An exercise begins at a heading such as *Exercise 3.1 · difficulty 2/5 · about 10 minutes*, of rank
two or three, and ends before the next one of these ranks. One that has a stub, a self-check and
code in its solution is marked by that check; any other one asks for a judgement, which a person
must read.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable
from dataclasses import dataclass

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

HEADING = re.compile(
    r"^###? Exercise (?P<number>\d+\.\d+)(?P<title>[^·\n]*)"
    r"· difficulty (?P<difficulty>\d)/5 · about (?P<minutes>\d+) minutes"
)
ANY_HEADING = re.compile(r"^(?=###? )", re.M)
FOLD = re.compile(r"<details>\s*<summary>(?P<title>[^<]*)</summary>(?P<body>.*?)</details>", re.S)
FENCE = re.compile(r"^```python\n(.*?)^```", re.S | re.M)
STUB = re.compile(r"^ +raise NotImplementedError.*\n?", re.M)
CHECK = re.compile(r"^checks\.\w+\(.*\)$", re.M)
BUILTINS = frozenset(dir(builtins)) | {"PROFILE"}


@dataclass(frozen=True)
class Exercise:
    """One exercise of a lesson.

    number    such as 3.1
    text      what it asks, as Markdown, without heading and folds
    code      its code up to the self-check; empty where the answer is not code
    solution  the code in the solution's fold; empty where there is none
    answer    the whole fold: the code, and what there is to say about it
    context   statements of the lesson, before the exercise, that its code relies on
    """

    number: str
    title: str
    difficulty: int
    minutes: int
    text: str
    code: str
    solution: str
    answer: str
    context: tuple[str, ...]

    @property
    def checks(self) -> list[str]:
        """The calls of its self-checks."""
        return CHECK.findall(self.code)

    @property
    def is_checked(self) -> bool:
        """Whether a self-check can mark it; otherwise somebody has to read the answer."""
        return bool(STUB.search(self.code) and self.checks and self.solution)

    def stub(self) -> str:
        """Its code without the calls of the self-checks."""
        return CHECK.sub("", self.code).strip()

    def solved(self, begin: str = "", end: str = "") -> str:
        """The stub with the solution in its place, between the marks of an autograder."""
        stubs = [function for function in _functions(self.stub()) if _is_stub(function)]
        written = {function.name: function for function in _functions(self.solution)}
        helpers = self._helpers({stub.name for stub in stubs})
        bodies = []
        for stub in stubs:
            body = _body_lines(written[stub.name], self.solution)
            bodies.append(_region([*helpers, *body], begin=begin, end=end))
            helpers = []  # They stand in the first function alone.
        answers = iter(bodies)
        return STUB.sub(lambda _: next(answers), self.stub() + "\n").strip()

    def _helpers(self, answers: set[str]) -> list[str]:
        """What the solution has beside the asked functions, indented to stand inside one."""
        lines = self.solution.splitlines()
        kept = []
        for statement in ast.parse(self.solution).body:
            if getattr(statement, "name", None) not in answers:
                kept += lines[statement.lineno - 1 : statement.end_lineno]
        return [f"    {line}" if line else line for line in kept]


def of_lesson(cells: list[NotebookNode]) -> list[Exercise]:
    """The exercises among the cells of a lesson, in order."""
    pieces = [piece for cell in cells for piece in _by_heading(cell)]
    starts = [at for at, piece in enumerate(pieces) if _is_exercise(piece)]
    return [_exercise(pieces, start) for start in starts]


def _by_heading(cell: NotebookNode) -> list[NotebookNode]:
    """A text cell, cut before each of its headings; other cells stay whole."""
    if cell.cell_type != "markdown":
        return [cell]
    texts = [text for text in ANY_HEADING.split(cell.source) if text.strip()]
    return [new_markdown_cell(text) for text in texts]


def _is_exercise(cell: NotebookNode) -> bool:
    return cell.cell_type == "markdown" and HEADING.match(cell.source) is not None


def _exercise(cells: list[NotebookNode], start: int) -> Exercise:
    own = [cells[start]]
    for cell in cells[start + 1 :]:
        if cell.cell_type == "markdown" and ANY_HEADING.match(cell.source):
            break
        own.append(cell)
    heading = HEADING.match(own[0].source)
    assert heading is not None
    prose = "\n\n".join(cell.source for cell in own if cell.cell_type == "markdown")
    folds = [fold["body"].strip() for fold in FOLD.finditer(prose) if _is_solution(fold)]
    answer = "\n\n".join(folds)
    code = _code_to_check(own)
    solution = "\n".join(FENCE.findall(answer)).strip()
    return Exercise(
        number=heading["number"],
        title=heading["title"].strip(" :"),
        difficulty=int(heading["difficulty"]),
        minutes=int(heading["minutes"]),
        text=_asked(own, heading.end()),
        code=code,
        solution=solution,
        answer=answer,
        context=relied_on(f"{code}\n{solution}", _statements(cells[:start])),
    )


def _is_solution(fold: re.Match) -> bool:
    return fold["title"].strip().startswith("Solution")


def _asked(cells: list[NotebookNode], end_of_heading: int) -> str:
    """The text before the first fold; what follows the solution belongs to the lesson again."""
    prose = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    return prose[end_of_heading:].split("<details>")[0].strip()


def _code_to_check(cells: list[NotebookNode]) -> str:
    """The code up to the first self-check, or up to the solution where there is no check."""
    code = []
    has_check = any(CHECK.search(cell.source) for cell in cells if cell.cell_type == "code")
    for cell in cells:
        if cell.cell_type == "code":
            code.append(cell.source)
            if CHECK.search(cell.source):
                break
        elif not has_check and "<summary>Solution" in cell.source:
            break
    return "\n\n\n".join(code)


# ---------------------------------------------------------------- functions of a cell


def _functions(code: str) -> list[ast.FunctionDef]:
    return [one for one in ast.parse(code).body if isinstance(one, ast.FunctionDef)]


def _is_stub(function: ast.FunctionDef) -> bool:
    last = function.body[-1]
    return isinstance(last, ast.Raise) and "NotImplementedError" in ast.unparse(last)


def _body_lines(function: ast.FunctionDef, code: str) -> list[str]:
    """The lines of a function below its signature and its docstring, which the stub has."""
    body = function.body
    if ast.get_docstring(function) is not None and len(body) > 1:
        body = body[1:]
    return code.splitlines()[body[0].lineno - 1 : function.end_lineno]


def _region(lines: list[str], *, begin: str, end: str) -> str:
    marked = [f"    {begin}", *lines, f"    {end}"] if begin else lines
    return "\n".join(marked) + "\n"


# ---------------------------------------------------------------- what code relies on


@dataclass(frozen=True)
class Statement:
    """One statement of a lesson: what it reads, what it binds anew and what it changes."""

    source: str
    reads: frozenset[str]
    binds: frozenset[str]
    changes: frozenset[str]


def relied_on(code: str, statements: list[Statement]) -> tuple[str, ...]:
    """The statements without which `code` lacks names, found from the last to the first."""
    wanted = set(_names_read(ast.parse(code)))
    kept = []
    for statement in reversed(statements):
        if wanted & (statement.binds | statement.changes):
            kept.append(statement.source)
            wanted -= statement.binds
            wanted |= statement.reads
    return tuple(reversed(kept))


def _statements(cells: Iterable[NotebookNode]) -> list[Statement]:
    found = []
    for cell in cells:
        if cell.cell_type == "code" and "setup" not in cell.metadata.get("tags", []):
            code = CHECK.sub("", cell.source)  # An exercise needs no other one's check.
            found += [_statement(node, code) for node in ast.parse(code).body]
    return found


def _statement(node: ast.stmt, source: str) -> Statement:
    segment = ast.get_source_segment(source, node)
    assert segment is not None
    changes = frozenset(_names_changed(node))
    return Statement(
        source=segment,
        reads=_names_read(node) | changes,
        binds=frozenset(_names_bound(node)) - changes,
        changes=changes,
    )


def _names_bound(node: ast.stmt) -> set[str]:
    """The names that a statement leaves behind."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(one.asname or one.name).split(".")[0] for one in node.names}
    return {one.id for one in ast.walk(node) if _is_stored(one)}


def _is_stored(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _names_changed(node: ast.stmt) -> set[str]:
    """Names that a statement may change: `rows.append(…)`, `table[key] = …`, `total += 1`.

    What is bound inside of a loop or a condition may have had a value before.
    """
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return set()
    may_be_skipped = isinstance(node, ast.AugAssign | ast.For | ast.While | ast.If)
    changed = _names_bound(node) if may_be_skipped else set()
    for one in ast.walk(node):
        if isinstance(one, ast.Subscript | ast.Attribute) and isinstance(one.ctx, ast.Store):
            changed |= _roots(one)
        if isinstance(one, ast.Expr) and isinstance(one.value, ast.Call):
            changed |= _roots(one.value.func)
    return changed


def _roots(node: ast.AST) -> set[str]:
    """The name at the root of `name.attribute[key]`; none of a name that stands alone."""
    if isinstance(node, ast.Name):
        return set()
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return {node.id} if isinstance(node, ast.Name) else set()


def _names_read(tree: ast.AST) -> frozenset[str]:
    """Names that code reads and does not bind itself."""
    read, bound = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom):
            bound |= _names_bound(node)
    return frozenset(read - bound - BUILTINS)
