"""Where a class or a function comes from, and a hash of code that is not `mialib`'s.

    origin(L2)                      # 'mialib.defenses.simple.L2'
    origin(MyDefense)               # '__main__.MyDefense'
    code_hash(MyDefense)            # changes when the class is edited and run again

A run is found again by what made it. `mialib`'s own code has a version (`CODE_VERSION`); anybody
else's is told apart by this hash. It covers the source and what it was compiled to, and whatever
of one's own the code refers to: base classes, helper functions, constants, captured variables.
Python's and installed packages' code is left out. Code without a source, such as what `exec` made,
has no hash, and neither has code that uses what cannot be written down, such as a trained network.
"""

import ast
import dataclasses
import dis
import hashlib
import inspect
import linecache
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...), np.generic)
INSTALLED = ("site-packages", "dist-packages")
GENERATED = ("<string>", dataclasses.__file__)  # where the methods that `dataclass` adds are from


class UntraceableError(Exception):
    """There is no telling whether the code is the same as before; the message says why."""


def origin(thing: Any) -> str:
    """The module and the name of a class or function; of a partial call, those of its function."""
    if isinstance(thing, partial):
        return origin(thing.func)
    if not isinstance(thing, type) and not hasattr(thing, "__qualname__"):
        return origin(type(thing))
    return f"{thing.__module__}.{thing.__qualname__}"


def is_of_mialib(thing: Any) -> bool:
    """Whether a class or function is part of this library."""
    return origin(thing).partition(".")[0] == __name__.partition(".")[0]


def code_hash(thing: Any) -> str:
    """A hash of a class's or function's code and of all code of one's own that it refers to."""
    reader = _Reader()
    reader.read(thing)
    text = "\n".join(reader.pieces)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class _Reader:
    """Follows code from one thing to the next and notes each piece once, in order."""

    def __init__(self):
        self.pieces: list[str] = []
        self.seen: dict[int, Any] = {}  # by id; what is kept here keeps its id

    def read(self, thing: Any) -> None:
        if id(thing) in self.seen:
            return
        if isinstance(thing, PLAIN):
            self.pieces.append(repr(thing))
            return
        self.seen[id(thing)] = thing
        if isinstance(thing, FunctionType):
            self._read_function(thing)
        elif isinstance(thing, type):
            self._read_class(thing)
        elif isinstance(thing, partial):
            for part in (thing.func, thing.args, thing.keywords):
                self.read(part)
        elif isinstance(thing, classmethod | staticmethod):
            self.read(thing.__func__)
        elif isinstance(thing, property):
            for part in (thing.fget, thing.fset, thing.fdel):
                self.read(part)
        elif not isinstance(thing, ModuleType | BuiltinFunctionType):
            self._read_value(thing)

    def _read_function(self, function: FunctionType) -> None:
        if not _is_ones_own(function):
            self.pieces.append(origin(function))
            return
        self.pieces.append(function.__code__.co_code.hex())
        inner: Any = inspect.unwrap(function)  # what is written below a decorator
        self.pieces.append(_source(inner))
        self._read_code(inner)

    def _read_code(self, function: FunctionType) -> None:
        """What the function was compiled to, its defaults, and what it refers to."""
        for code in _codes(function.__code__):
            # The source may have been edited without being run again; this is what runs.
            self.pieces.append(code.co_code.hex())
            self.pieces.extend(code.co_names)
            self.read([one for one in code.co_consts if not isinstance(one, CodeType)])
            for name in _global_names(code):
                if name in function.__globals__:
                    self._read_named(name, function.__globals__[name])
        self.read(function.__defaults__)
        self.read(function.__kwdefaults__)
        for name, cell in zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=True
        ):
            try:
                self._read_named(name, cell.cell_contents)
            except ValueError:  # An empty cell: nothing was captured yet.
                continue

    def _read_named(self, name: str, thing: Any) -> None:
        self.pieces.append(name)
        try:
            self.read(thing)
        except UntraceableError as error:
            raise UntraceableError(f"it uses `{name}`: {error}") from None

    def _read_class(self, cls: type) -> None:
        if not _is_ones_own(cls):
            self.pieces.append(origin(cls))
            return
        self._read_class_body(cls)
        for base in cls.__bases__:
            self.read(base)
        for function in _functions(cls):
            self._read_code(function)

    def _read_class_body(self, cls: type) -> None:
        source = _class_source(cls)
        if source is not None:
            self.pieces.append(source)
            return
        if any(True for _ in _functions(cls)):
            raise UntraceableError(f"{cls.__qualname__} has no source")
        # A class without methods, written in a notebook, is its settings and nothing else.
        self.pieces.append(repr(vars(cls).get("__annotations__", {})))
        for name, value in vars(cls).items():
            if not name.startswith("__"):
                self._read_named(name, value)

    def _read_value(self, value: Any) -> None:
        """Containers, arrays and dataclasses of what can be written down."""
        self.pieces.append(type(value).__name__)
        if isinstance(value, tuple | list):
            for one in value:
                self.read(one)
        elif isinstance(value, set | frozenset):
            self.pieces.extend(sorted(map(repr, value)))
        elif isinstance(value, Mapping):
            for name, one in value.items():
                self.read(name)
                self.read(one)
        elif isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
            self.pieces.append(f"{value.dtype} {value.shape}")
            self.pieces.append(hashlib.sha256(np.ascontiguousarray(value).data).hexdigest())
        elif dataclasses.is_dataclass(value):
            self.read(type(value))
            for field in dataclasses.fields(value):
                self.read(getattr(value, field.name))
        else:
            raise UntraceableError(f"the content of a {type(value).__name__} cannot be compared")


def _is_ones_own(thing: Any) -> bool:
    """Whether the code is neither `mialib`'s, nor Python's, nor an installed package's."""
    if is_of_mialib(thing):
        return False
    module = str(thing.__module__)
    if module == "__main__":
        return True
    if module.partition(".")[0] in sys.stdlib_module_names:
        return False
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return not any(place in file for place in INSTALLED)


def _source(function: FunctionType) -> str:
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        raise UntraceableError(f"{function.__qualname__} has no source") from None


def _class_source(cls: type) -> str | None:
    """The class as it is written, in a file or in a notebook's cell; None if that is not known."""
    try:
        return inspect.getsource(cls)
    except (OSError, TypeError):
        # In a notebook only functions know which cell they are from.
        for function in _functions(cls):
            source = _enclosing_class(cls, function.__code__)
            if source is not None:
                return source
    return None


def _enclosing_class(cls: type, code: CodeType) -> str | None:
    """The source of the class around this method, from the lines that the interpreter remembers."""
    text = "".join(linecache.getlines(code.co_filename))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ClassDef) and node.name == cls.__name__:
            end = node.end_lineno or node.lineno
            if node.lineno <= code.co_firstlineno <= end:
                return ast.get_source_segment(text, node)
    return None


def _functions(cls: type) -> Iterator[FunctionType]:
    """The functions that are written in the class itself, also those in properties and the like."""
    for value in vars(cls).values():
        if isinstance(value, classmethod | staticmethod):
            value = value.__func__
        if isinstance(value, property):
            value = value.fget
        if not isinstance(value, FunctionType):
            continue
        inner: Any = inspect.unwrap(value)
        if not _is_generated(inner):
            yield inner


def _is_generated(function: FunctionType) -> bool:
    """Whether `dataclass` added it: such a method has no lines of its own."""
    is_special = function.__name__.startswith("__")
    return is_special and function.__code__.co_filename in GENERATED


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A function's code, and that of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _global_names(code: CodeType) -> Iterator[str]:
    """The names that the code looks up outside itself."""
    loads = ("LOAD_GLOBAL", "LOAD_NAME")
    names = (step.argval for step in dis.get_instructions(code) if step.opname in loads)
    return iter(dict.fromkeys(names))
