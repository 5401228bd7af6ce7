"""What strangers hand over, files and names: taken within bounds, or refused with a sentence.

    arrays = read_arrays(path)          # an .npz: plain numbers and text, by name
    table = read_table(path)            # a .csv: names above, a line for each record below
    settings = read_json(path)          # a table; parse_json and parse_toml take the text
    check_weights(path)                 # what a .safetensors file says of its tensors
    for member in members_of(path):     # the files of a .tgz, one after the other
    in_markdown(name)                   # a name as plain text, whatever stands in it
    with atomically(path) as unfinished:    # a file is there whole or not at all

A file of a kilobyte may say that it holds a terabyte, and one that says it holds little may unpack
without end. So nothing is believed: what a header says is compared with the file before memory is
taken, and what comes out is counted. How much may come out is relative, so that large files that
are honest pass: `RATIO` times the size of the file, `FREE` in any case, and at most `LARGEST` or
the caller's `limit`. Nothing is unpacked to the disk, and nothing is executed.
"""

from __future__ import annotations

import ast
import csv
import gzip
import io
import json
import math
import os
import re
import stat
import tarfile
import tomllib
import zipfile
import zlib
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PureWindowsPath
from typing import IO, Any, NamedTuple

import numpy as np

from mialib.errors import as_path, check_flag, check_range

LARGEST = 16 << 30  # bytes that one file may unpack to; set `foreign.LARGEST` for larger ones
FREE = 64 << 20  # bytes that a file may unpack to however small it is
RATIO = 200  # Zeros and ones of 6,169 columns shrink by 60, logits by 2, a bomb by 1,000.
DEFLATED = 1032  # Nothing that deflate makes grows by more when it is unpacked.
AT_ONCE = 1 << 20  # bytes that are read in one piece, and the largest directory of an .npz
LARGEST_JSON = 16 << 20  # A text of brackets takes 50 times its size as Python's lists.
LARGEST_TOML = 1 << 18
LONGEST_KEY = 32  # parts of a TOML key with dots, whose time grows with their square
LONGEST_HEADER = 4096  # bytes before an array's numbers
LONGEST_LINE = 4 << 20  # bytes of a line of a table
LONGEST_TEXT = 200  # characters of a text in a table, such as a group's name
MOST_MEMBERS = 2_000  # entries of a .tgz
LONGEST_NAME = 80  # characters of a name that a sentence shows
MOST_NAMES = 8  # names that a sentence lists

# A plain file and its size.


def opened(path: Path) -> io.BufferedReader:
    """A file to read; a pipe or a device, which might never end, is refused."""
    path = as_path(path)
    if not stat.S_ISREG(path.stat().st_mode):
        raise ValueError(f"{shown(path.name)} is no plain file. Give the path of a file.")
    return path.open("rb")


def _size(file: IO[bytes] | io.FileIO) -> int:
    return os.fstat(file.fileno()).st_size


def check_unpacked(unpacked: int, size: int, *, limit: int | None = None) -> None:
    """Refuse a file of `size` bytes that unpacks to more than such a file may."""
    most = LARGEST if limit is None else limit
    check_range(1, math.inf, whole=True, limit=most)
    check_range(0, math.inf, whole=True, unpacked=unpacked, size=size)
    allowed = min(most, max(FREE, RATIO * size))
    if unpacked > allowed:
        raise ValueError(
            f"it has {_bytes(size)} and would unpack to {_bytes(unpacked)}, where "
            f"{_bytes(allowed)} are allowed"
        )


def _bytes(number: int) -> str:
    """
    >>> _bytes(3 << 29)
    '1.5 GB'
    """
    for unit, power in (("GB", 30), ("MB", 20), ("kB", 10)):
        if number >= 1 << power:
            return f"{number / (1 << power):,.3g} {unit}"
    return f"{number} bytes"


def _check_name(name: str) -> None:
    """Refuse a file in an archive that would lie outside of it if it were unpacked."""
    place = PureWindowsPath(name)  # It knows every way out: both slashes, drives and "..".
    if place.anchor or ".." in place.parts:
        raise ValueError(f"{shown(name)} climbs out or is a link")


# Arrays


def read_arrays(
    path: Path, *, only: Container[str] | None = None, limit: int | None = None
) -> dict[str, np.ndarray]:
    """The arrays of an `.npz` by their names: numbers, True and False, or text; nothing else.

    `only` names those that are wanted, so that the others stay packed. `limit` is how many bytes
    all of them may take; unless told, `LARGEST`.
    """
    path = as_path(path)
    opened(path).close()
    try:
        with _Cautious(path) as file, zipfile.ZipFile(file) as archive:
            size = _size(file)
            _check_members(archive.infolist(), size, limit)
            return {
                _array_name(one): _array(archive, one)
                for one in archive.infolist()
                if only is None or _array_name(one) in only
            }
    except Exception as error:  # A damaged byte may trip any of the readers beneath.
        raise ValueError(
            f"{shown(path.name)} could not be read: {said(error)}. "
            "Write plain numbers with np.savez."
        ) from None


class _Cautious(io.FileIO):
    """A file that gives little at once: an archive's directory is read in one piece."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > AT_ONCE:
            raise ValueError(f"its directory of {_bytes(size)} is larger than {_bytes(AT_ONCE)}")
        return super().read(size)


def _check_members(members: list[zipfile.ZipInfo], size: int, limit: int | None) -> None:
    """Refuse entries that cannot be what they say, before any is unpacked."""
    for member in members:
        _check_member(member)
    repeated = [name for name, times in Counter(map(_array_name, members)).items() if times > 1]
    if repeated:
        raise ValueError(f"{listed(repeated)} is there more than once")
    if sum(member.compress_size for member in members) > size:
        raise ValueError("its entries are larger than the file, or lie over each other")
    check_unpacked(sum(member.file_size for member in members), size, limit=limit)


def _check_member(member: zipfile.ZipInfo) -> None:
    _check_name(member.filename)
    name = shown(member.filename)
    if stat.S_ISLNK(member.external_attr >> 16):
        raise ValueError(f"{name} climbs out or is a link")
    if not member.filename.endswith(".npy"):
        raise ValueError(f"{name} is no array")
    if member.flag_bits & 1:
        raise ValueError(f"{name} is encrypted")
    is_stored = member.compress_type == zipfile.ZIP_STORED
    if not is_stored and member.compress_type != zipfile.ZIP_DEFLATED:
        raise ValueError(f"{name} is packed in a way that np.savez does not know")
    growth = 1 if is_stored else DEFLATED
    if member.file_size > growth * member.compress_size:
        raise ValueError(
            f"{name} says that {_bytes(member.compress_size)} unpack to {_bytes(member.file_size)}"
        )


def _array_name(member: zipfile.ZipInfo) -> str:
    return member.filename.removesuffix(".npy")


class _Header(NamedTuple):
    """What stands before an array's numbers."""

    length: int  # its own, in bytes
    kind: np.dtype
    shape: tuple[int, ...]
    is_fortran: bool

    @property
    def bytes(self) -> int:
        """Of the numbers that follow."""
        return math.prod(self.shape) * self.kind.itemsize


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    """One array, if it is as large as its header says."""
    name = shown(_array_name(member))
    with archive.open(member) as stream:
        header = _header(stream, name)
        found = member.file_size - header.length
        if header.bytes != found:
            raise ValueError(
                f"{name} should have {_bytes(header.bytes)} by its shape "
                f"{_short(header.shape)}, but has {_bytes(found)}"
            )
        flat = np.empty(header.bytes, np.uint8)
        _fill(flat, stream, name)
    return _shaped(flat, header)


def _fill(flat: np.ndarray, stream: IO[bytes], name: str) -> None:
    """Read until the array is full; the stream must end there, where its checksum is compared."""
    room = flat.data
    done = 0
    while done < len(room):
        piece = stream.read(AT_ONCE)
        if not piece:
            raise ValueError(f"{name} ends early")
        room[done : done + len(piece)] = piece
        done += len(piece)
    if stream.read(1):
        raise ValueError(f"{name} does not end where it should")


def _shaped(flat: np.ndarray, header: _Header) -> np.ndarray:
    values = flat.view(header.kind)
    if header.is_fortran:
        return values.reshape(header.shape[::-1]).T
    return values.reshape(header.shape)


def _header(stream: IO[bytes], name: str) -> _Header:
    """Read what NumPy writes before the numbers: a magic word, a version, a length and a dict."""
    start = stream.read(8)
    version = start[6] if len(start) == 8 else 0
    if start[:6] != b"\x93NUMPY" or version not in (1, 2, 3):
        raise ValueError(f"{name} is no array")
    width = 2 if version == 1 else 4
    length = int.from_bytes(stream.read(width), "little")
    if length > LONGEST_HEADER:
        raise ValueError(f"the header of {name} has {_bytes(length)}")
    described = ast.literal_eval(stream.read(length).decode("utf-8" if version == 3 else "latin-1"))
    if not isinstance(described, dict) or described.keys() != {"descr", "fortran_order", "shape"}:
        raise ValueError(f"the header of {name} does not say what its numbers are")
    return _Header(
        length=8 + width + length,
        kind=_checked_kind(described["descr"], name),
        shape=_checked_shape(described["shape"], name),
        is_fortran=described["fortran_order"] is True,
    )


def _checked_kind(described: object, name: str) -> np.dtype:
    if str(described).lstrip("|") == "O":
        raise ValueError(f"{name} is an object array, and such arrays may hold code")
    if re.fullmatch(r"[<>|=]?[biufcSU][1-9]\d{0,8}", str(described)) is None:
        raise ValueError(f"{name} holds {_short(described)}, neither numbers nor text")
    return np.dtype(str(described))


def _checked_shape(shape: object, name: str) -> tuple[int, ...]:
    if not isinstance(shape, tuple) or not all(type(side) is int and side >= 0 for side in shape):
        raise ValueError(f"{name} says that its shape is {_short(shape)}")
    return shape


# Tables


class Table(NamedTuple):
    """A table of n records: numbers in columns that have names, and columns of text."""

    names: tuple[str, ...]  # of the columns of numbers
    values: np.ndarray  # (n, columns)
    texts: dict[str, list[str]]


def read_table(path: Path, *, texts: Collection[str] = (), limit: int | None = None) -> Table:
    """A `.csv`: a line of names, then a line for each record, with a number under each name.

    True and False count as 1 and 0. Under the names that are `texts`, any short text may stand.
    `limit` is how many bytes the file may have; unless told, `LARGEST`.
    """
    path = as_path(path)
    with opened(path) as file:
        try:
            check_unpacked(_size(file), _size(file), limit=limit)
            return _table(file, texts)
        except Exception as error:  # NumPy's reader knows many faults.
            raise ValueError(
                f"{shown(path.name)} could not be read: {said(error)}. Write a line of names, "
                "then a line of numbers for each record, with commas between."
            ) from None


def _table(file: IO[bytes], texts: Collection[str]) -> Table:
    names = _column_names(_line(file))
    start = file.tell()
    numbers = [place for place, name in enumerate(names) if name not in texts]
    values = _columns(_as_numbers(_rows(file, len(names))), numbers, np.float64)
    found = {}
    for place, name in enumerate(names):
        if name in texts:
            file.seek(start)
            column = _columns(_rows(file, len(names)), [place], object)
            found[name] = [_short_text(text) for text in column[:, 0].tolist()]
    return Table(tuple(names[place] for place in numbers), values, found)


def _line(file: IO[bytes]) -> bytes:
    line = file.readline(LONGEST_LINE + 1)
    if len(line) > LONGEST_LINE:
        raise ValueError(f"a line is longer than {_bytes(LONGEST_LINE)}")
    return line


def _column_names(line: bytes) -> list[str]:
    names = [name.strip() for name in _split(line.decode("utf-8-sig"))]
    if not names or not all(names):
        raise ValueError("its first line does not name every column")
    if all(_is_number(name) for name in names):
        raise ValueError("its first line holds numbers, not the names of the columns")
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise ValueError(f"more than one column is called {listed(repeated)}")
    return names


def _split(line: str) -> list[str]:
    """The entries of one line."""
    rows = list(csv.reader([line.rstrip("\r\n")], strict=True))
    return rows[0] if rows else []


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _rows(file: IO[bytes], columns: int) -> Iterator[str]:
    """The lines below the names that are not blank, each of so many entries."""
    number = 1
    found = 0
    while line := _line(file).decode():
        number += 1
        if line.isspace():
            continue
        found += 1
        entries = len(_split(line)) if '"' in line else line.count(",") + 1
        if entries != columns:
            raise ValueError(f"line {number} has {entries} entries under {columns} names")
        yield line
    if not found:
        raise ValueError("there is no record below the names")


def _as_numbers(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        yield line.lower().replace("true", "1").replace("false", "0")


def _columns(lines: Iterator[str], places: list[int], kind: type) -> np.ndarray:
    """Some of the columns: (n, columns)."""
    return np.loadtxt(
        lines, kind, comments=None, delimiter=",", quotechar='"', usecols=places, ndmin=2
    )


def _short_text(text: str) -> str:
    if len(text) > LONGEST_TEXT:
        raise ValueError(f"a text has {len(text):,} characters, and {LONGEST_TEXT} are allowed")
    return text.strip()


# JSON and TOML


def read_json(path: Path) -> dict[str, Any]:
    """The table that a JSON file holds."""
    path = as_path(path)
    with opened(path) as file:
        content = file.read(LARGEST_JSON + 1)
    try:
        return parse_json(content)
    except ValueError as error:
        raise ValueError(f"{shown(path.name)} could not be read: {error}") from None


def parse_json(text: str | bytes) -> dict[str, Any]:
    """The table that a JSON text describes.

    >>> parse_json('{"a": [1, 2]}')
    {'a': [1, 2]}
    """
    _check_text(text, LARGEST_JSON, "JSON")
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"Expected a JSON text, but {said(error)}.") from None
    if not isinstance(content, dict):
        raise ValueError(f"Expected a table such as {{…}} in JSON, found {_short(content)}.")
    return content


def parse_toml(text: str) -> dict[str, Any]:
    """The tables that a TOML text describes.

    >>> parse_toml("[quick]\\nseeds = 5")
    {'quick': {'seeds': 5}}
    """
    _check_text(text, LARGEST_TOML, "TOML")
    if not isinstance(text, str):
        raise ValueError("Expected a TOML text, found bytes. Decode them first.")
    if _LONG_KEY.search(text):
        raise ValueError(f"Expected TOML keys of at most {LONGEST_KEY} parts, found a longer one.")
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"Expected a TOML text, but {said(error)}.") from None


_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+"""
_LONG_KEY = re.compile(rf"(?<![\w\-.]){_PART}(?:{_PART}){{{LONGEST_KEY}}}")


def _check_text(text: object, largest: int, kind: str) -> None:
    if not isinstance(text, str | bytes):
        raise ValueError(f"Expected a {kind} text, found {_short(text)}.")
    if len(text) > largest:
        raise ValueError(f"Expected at most {_bytes(largest)} of {kind}, found more.")


# Weights

# Bytes of a number of each kind that a .safetensors file knows.
WIDTHS = {
    **{kind: 1 for kind in ("BOOL", "U8", "I8", "F8_E4M3", "F8_E5M2")},
    **{kind: 2 for kind in ("I16", "U16", "F16", "BF16")},
    **{kind: 4 for kind in ("I32", "U32", "F32")},
    **{kind: 8 for kind in ("I64", "U64", "F64")},
}


def check_weights(path: Path) -> dict[str, tuple[int, ...]]:
    """The shape of each tensor of a `.safetensors` file.

    It is refused unless its tensors lie one behind the other, from its header to its end.
    """
    path = as_path(path)
    with opened(path) as file:
        try:
            size = _size(file)
            length = int.from_bytes(file.read(8), "little")
            if length > min(size - 8, LARGEST_JSON):
                raise ValueError(f"its header should have {_bytes(length)}, but that is too much")
            tensors = parse_json(file.read(length))
            tensors.pop("__metadata__", None)
            _check_offsets(tensors, size - 8 - length)
            return {name: tuple(tensor["shape"]) for name, tensor in tensors.items()}
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(
                f"{shown(path.name)} could not be read: {said(error)}. Train the model again."
            ) from None


def _check_offsets(tensors: Mapping[str, Any], size: int) -> None:
    """Refuse tensors that overlap, leave gaps, or are not as large as their shape says."""
    end = 0
    for name, tensor in sorted(tensors.items(), key=lambda one: one[1]["data_offsets"]):
        start, stop = tensor["data_offsets"]
        shape = _checked_shape(tuple(tensor["shape"]), shown(name))
        if start != end or stop - start != math.prod(shape) * WIDTHS[tensor["dtype"]]:
            raise ValueError(
                f"{shown(name)} of shape {_short(shape)} cannot lie at {_short(start)} to "
                f"{_short(stop)}"
            )
        end = stop
    if end != size:
        raise ValueError(f"its tensors take {_bytes(end)} of {_bytes(size)}")


# Archives


class Member(NamedTuple):
    """A file in an archive; its stream is read before the next member is asked for."""

    name: str
    stream: IO[bytes]


def members_of(path: Path, *, limit: int | None = None) -> Iterator[Member]:
    """The files of a `.tgz`, as they come; each must be a plain one that stays inside."""
    path = as_path(path)
    with opened(path) as file, gzip.GzipFile(fileobj=file) as unpacked:
        try:
            yield from _members(_Counted(unpacked, _size(file), limit))
        except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
            raise ValueError(
                f"{shown(path.name)} is not a whole .tgz archive: {said(error)}. "
                "Delete it and load again."
            ) from None
        except ValueError as error:
            raise ValueError(f"{shown(path.name)} is not safe: {said(error)}. Delete it.") from None


class _Counted(io.RawIOBase):
    """A stream that refuses to unpack to more than a file of this size may."""

    def __init__(self, stream: gzip.GzipFile, size: int, limit: int | None):
        self.stream = stream
        self.size = size
        self.limit = limit
        self.unpacked = 0
        self.expected = 0

    def read(self, size: int = -1, /) -> bytes:
        piece = self.stream.read(size)
        self.unpacked += len(piece)
        if self.unpacked > self.expected + AT_ONCE:
            raise ValueError(f"an entry begins with more than {_bytes(AT_ONCE)} about itself")
        return piece

    def expect(self, end: int) -> None:
        """An entry ends there; only what the next one says of itself may follow."""
        check_unpacked(end, self.size, limit=self.limit)
        self.expected = end


def _members(unpacked: _Counted) -> Iterator[Member]:
    known: set[str] = set()
    with tarfile.open(fileobj=unpacked, mode="r|") as archive:
        for number, entry in enumerate(archive):
            if number == MOST_MEMBERS:
                raise ValueError(f"it has more than {MOST_MEMBERS:,} entries")
            unpacked.expect(entry.offset_data + entry.size)
            _check_name(entry.name)
            if not (entry.isfile() or entry.isdir()) or entry.issparse():
                raise ValueError(f"{shown(entry.name)} climbs out or is a link")
            stream = archive.extractfile(entry)
            if stream is None:
                continue
            name = PureWindowsPath(entry.name).as_posix()
            if name in known:
                raise ValueError(f"{shown(name)} is there more than once")
            known.add(name)
            yield Member(name, stream)


# What is written


@contextmanager
def atomically(path: Path) -> Iterator[Path]:
    """A path to write, beside `path`: the file takes its place at the end.

    If the end is never reached, it vanishes, and what was at `path` is there as before.
    """
    path = as_path(path)
    if not path.name:
        raise ValueError(f"Expected the path of a file to write, found {shown(path)!r}.")
    unfinished = path.with_name(f".{path.stem}-{os.urandom(4).hex()}{path.suffix}")
    try:
        yield unfinished
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray], *, packed: bool = False) -> None:
    """An `.npz` that `read_arrays` reads; like NumPy, it adds the ending where it is missing."""
    path = as_path(path)
    check_flag(packed=packed)
    if path.suffix != ".npz":
        path = path.parent / f"{path.name}.npz"
    save: Any = np.savez_compressed if packed else np.savez
    with atomically(path) as unfinished, unfinished.open("wb") as file:
        save(file, **arrays)


# Names


# As entities these characters are shown, and never read as Markdown or HTML.
_MARKUP = re.compile(r"[&<>*_`#\[\]|~$\\]|:(?=//)")
# In a sentence of one's own, Markdown's emphasis and an interval's brackets stay.
_FOREIGN_MARKUP = re.compile(r"[&<>|$]|:(?=//)|(?<=\])[(\[:]")


def in_markdown(text: str) -> str:
    """A text as Markdown and HTML show it, on one line: no markup, no link, no formula.

    >>> in_markdown("<b>loss</b> | x")
    '&#60;b&#62;loss&#60;/b&#62; &#124; x'
    """
    if not isinstance(text, str):
        raise ValueError(f"Expected a text to show, found {_short(text)}.")
    return _as_entities(text, _MARKUP)


def in_sentence(text: str) -> str:
    """A sentence of one's own in which a stranger's name may stand, as Markdown: without HTML,
    links and formulas.

    >>> in_sentence("*AUC* of <b>: 0.7 [0.6, 0.8]")
    '*AUC* of &#60;b&#62;: 0.7 [0.6, 0.8]'
    """
    if not isinstance(text, str):
        raise ValueError(f"Expected a text to show, found {_short(text)}.")
    return _as_entities(text, _FOREIGN_MARKUP)


def _as_entities(text: str, markup: re.Pattern[str]) -> str:
    one_line = " ".join(text.splitlines())
    return markup.sub(lambda match: f"&#{ord(match[0])};", one_line)


def in_spreadsheet(text: str) -> str:
    """A name as a cell of a .csv: a spreadsheet would compute what begins like a formula.

    >>> in_spreadsheet("=1+1"), in_spreadsheet("PAST")
    ("'=1+1", 'PAST')
    """
    if not isinstance(text, str):
        raise ValueError(f"Expected a text to show, found {_short(text)}.")
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def shown(name: object) -> str:
    """A name as a sentence shows it: what a terminal would obey is left out, and a long one cut.

    >>> shown("red\\x1b[31m.npz")
    'red?[31m.npz'
    """
    plain = "".join(character if character.isprintable() else "?" for character in str(name))
    return plain if len(plain) <= LONGEST_NAME else plain[: LONGEST_NAME - 1] + "…"


def listed(names: Iterable[str]) -> str:
    """The first of some names as a sentence lists them, or "nothing".

    >>> listed(["x", "y"]), listed([])
    ('x, y', 'nothing')
    """
    every = list(names)
    more = [f"and {len(every) - MOST_NAMES} more"] if len(every) > MOST_NAMES else []
    return ", ".join([*map(shown, every[:MOST_NAMES]), *more]) or "nothing"


def _short(value: object) -> str:
    """What was found, cut where it would fill the screen."""
    try:
        return shown(repr(value))
    except (RecursionError, ValueError):  # It is nested too deep, or a number of too many digits.
        return f"a {type(value).__name__} that is too large to be shown"


def said(error: Exception) -> str:
    """What an error says, as the middle of a sentence."""
    if isinstance(error, RecursionError):
        return "it is nested too deep"
    if isinstance(error, MemoryError):
        return "it does not fit into the memory"
    told = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return told if len(told) <= 4 * LONGEST_NAME else told[: 4 * LONGEST_NAME] + "…"
