"""A lesson without its trainings: every statement that can do without them runs.

    told = run(lesson, "class")         # with the results that `home()` has
    told.skipped                        # what waits for a training that was not made

A statement that trains is skipped, and so is whatever asks for a name that it would have made.
"""

import ast
from dataclasses import dataclass, field

import notebooks

LOOKUPS = ("results(", ".find(", ".where(", ".by(", "by_name(")


class TrainsError(Exception):
    """Raised where a lesson would train."""


def trains(*arguments, **options):
    raise TrainsError


@dataclass
class Told:
    """What a lesson did."""

    names: dict
    ran: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


def run(lesson: notebooks.Lesson, profile: str) -> Told:
    told = Told({"PROFILE": profile, "__name__": "lesson"})
    for cell in lesson.cells:
        if cell.cell_type == "code":
            statements = ast.parse(cell.source).body
            sources = [ast.get_source_segment(cell.source, one) or "" for one in statements]
        else:
            sources = [f"f'''{{{one}}}'''" for one in notebooks.BRACES.findall(cell.source)]
        for source in sources:
            _run_one(source, told)
    return told


def _run_one(source: str, told: Told) -> None:
    # Without assertions: they compare what was trained.
    code = compile(source, "<lesson>", "exec", optimize=1)
    try:
        exec(code, told.names)
    except (TrainsError, NameError) as error:
        told.skipped.append(source)
        _forget(_set_by(source), told.names)
        if isinstance(error, TrainsError):
            _forget(_empty(told.names), told.names)
    except Exception as error:
        raise AssertionError(f"{type(error).__name__}: {error} in\n{source}") from error
    else:
        told.ran.append(source)


def _forget(gone: set[str], names: dict) -> None:
    for name in gone & names.keys():
        del names[name]


def _set_by(source: str) -> set[str]:
    """The names that a statement gives a value, or an entry."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        entry = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
        name = node.value if entry else node
        if isinstance(name, ast.Name) and (entry or isinstance(name.ctx, ast.Store)):
            found.add(name.id)
    return found


def _empty(names: dict) -> set[str]:
    """Lists and dictionaries that a training would have filled."""
    return {name for name, one in names.items() if isinstance(one, list | dict) and not one}
