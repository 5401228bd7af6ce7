"""Files that nobody should open: each is made in a few milliseconds and claims what is not so.

`ARCHIVES` are what may be done to an `.npz` of any arrays, `TEXTS` to JSON, `TOMLS` to TOML,
`WEIGHTS` to a .safetensors file, `TABLES` to a .csv, `TARS` to a .tgz and `IMAGES` to an image.
"""

import gzip
import io
import json
import os
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
from PIL import Image

TEN_GIGABYTES = 10 << 30
MEGABYTE = 1 << 20
SCRIPT = "<script>alert('x')</script><img src=x onerror=alert(1)>"


# A zip file by hand, because no library writes one that lies.


@dataclass(frozen=True)
class Entry:
    """One file of a zip. What is None is said truly."""

    name: str
    packed: bytes
    unpacked: int | None = None  # the size that is said
    said_packed: int | None = None
    method: int = zipfile.ZIP_STORED
    checksum: int | None = None
    flags: int = 0
    mode: int = 0
    at: int | None = None  # where the directory says that it begins

    def fields(self) -> tuple[int, int, int]:
        checksum = zlib.crc32(self.packed) if self.checksum is None else self.checksum
        packed = len(self.packed) if self.said_packed is None else self.said_packed
        unpacked = len(self.packed) if self.unpacked is None else self.unpacked
        return checksum, packed, unpacked


def zipped(entries: list[Entry]) -> bytes:
    """Sizes stand in the fields for large files, which hold any number."""
    body = bytearray()
    directory = bytearray()
    for entry in entries:
        name = entry.name.encode()
        checksum, packed, unpacked = entry.fields()
        start = len(body) if entry.at is None else entry.at
        common = struct.pack("<HHHHH", 45, entry.flags, entry.method, 0, 33)
        sizes = struct.pack("<LLL", checksum, 0xFFFFFFFF, 0xFFFFFFFF)
        extra = struct.pack("<HHQQ", 1, 16, unpacked, packed)
        lengths = struct.pack("<HH", len(name), len(extra))
        if entry.at is None:
            body += b"PK\3\4" + common + sizes + lengths + name + extra + entry.packed
        places = struct.pack("<HHHLL", 0, 0, 0, entry.mode << 16, start)
        made_by = struct.pack("<H", 3 << 8 | 45)
        directory += b"PK\1\2" + made_by + common + sizes + lengths + places + name + extra
    count = min(len(entries), 0xFFFF)
    end = struct.pack("<4sHHHHLLH", b"PK\5\6", 0, 0, count, count, len(directory), len(body), 0)
    return bytes(body + directory + end)


def npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, allow_pickle=True)
    return buffer.getvalue()


def headed(header: str, numbers: bytes = b"", version: int = 1, length: int | None = None) -> bytes:
    """An array with any header."""
    text = header.encode()
    said = len(text) if length is None else length
    width = "<H" if version == 1 else "<L"
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack(width, said) + text + numbers


def shaped(shape: str, kind: str = "'<f4'", numbers: bytes = bytes(64)) -> bytes:
    header = f"{{'descr': {kind}, 'fortran_order': False, 'shape': {shape}, }}"
    return headed(header, numbers)


@cache
def zeros(size: int) -> bytes:
    """So many zeros, deflated; made at once, because one piece is repeated."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    piece = packer.compress(bytes(MEGABYTE)) + packer.flush(zlib.Z_FULL_FLUSH)
    return piece * (size // MEGABYTE) + zlib.compressobj(9, zlib.DEFLATED, -15).flush()


def deflated(content: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(content) + packer.flush()


def bomb(name: str, *, unpacked: int | None = None, checksum: int = 0) -> Entry:
    """An array of 10 GB of zeros in 10 MB."""
    header = shaped(f"({TEN_GIGABYTES},)", "'|u1'", b"")
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    start = packer.compress(header) + packer.flush(zlib.Z_FULL_FLUSH)
    size = len(header) + TEN_GIGABYTES
    return Entry(
        name,
        start + zeros(TEN_GIGABYTES),
        unpacked=size if unpacked is None else unpacked,
        method=zipfile.ZIP_DEFLATED,
        checksum=checksum,
    )


Arrays = Mapping[str, np.ndarray]


def entries_of(arrays: Arrays) -> list[Entry]:
    return [Entry(f"{name}.npy", npy(array)) for name, array in arrays.items()]


def changed(content: bytes | None = None, **fields) -> Callable[[Arrays], bytes]:
    """The first array replaced by this content, or with these fields."""

    def make(arrays: Arrays) -> bytes:
        first, *others = entries_of(arrays)
        if content is not None:
            first = replace(first, packed=content)
        return zipped([replace(first, **fields), *others])

    return make


def with_more(*more: Entry) -> Callable[[Arrays], bytes]:
    return lambda arrays: zipped([*entries_of(arrays), *more])


def in_front(make: Callable[[str], Entry]) -> Callable[[Arrays], bytes]:
    """The first array replaced by an entry of its name."""

    def made(arrays: Arrays) -> bytes:
        first, *others = entries_of(arrays)
        return zipped([make(first.name), *others])

    return made


def cut(arrays: Arrays) -> bytes:
    content = zipped(entries_of(arrays))
    return content[: len(content) // 2]


def over_each_other(arrays: Arrays) -> bytes:
    """A hundred names for one file."""
    large = Entry("large.npy", npy(np.zeros(10_000, np.uint8)))
    same = [replace(large, name=f"{k}.npy", at=0) for k in range(100)]
    return zipped([large, *same, *entries_of(arrays)])


@cache
def many_names() -> bytes:
    return zipped([Entry(f"{k:06}.npy", b"") for k in range(20_000)])


CODE = "__import__('pathlib').Path('executed').touch()"
EMPTY = npy(np.zeros(0))
ARCHIVES: dict[str, Callable[[Arrays], bytes]] = {
    "object array": changed(npy(np.array([{}, []], dtype=object))),
    "10 GB": in_front(bomb),
    "10 GB, said to be 100 bytes": in_front(lambda name: bomb(name, unpacked=100)),
    "10 GB in 100 bytes": changed(
        unpacked=TEN_GIGABYTES, said_packed=100, method=zipfile.ZIP_DEFLATED
    ),
    "10 GB behind the end": changed(unpacked=TEN_GIGABYTES, said_packed=TEN_GIGABYTES),
    "2**63 bytes": changed(unpacked=2**63, said_packed=2**63),
    "absurd shape": changed(shaped("(1000000000, 1000000000)")),
    "shape of 4,000 digits": changed(shaped(f"({'9' * 3900},)")),
    "negative shape": changed(shaped("(-16, -1)")),
    "shape of -1": changed(shaped("(-1,)")),
    "shape of True": changed(shaped("(True, 16)")),
    "shape of text": changed(shaped("'16'")),
    "no numbers, and 10**30 of them": changed(shaped(f"(0, {10**30})", numbers=b"")),
    "100 axes": changed(shaped(f"({'1, ' * 100})", numbers=bytes(4))),
    "empty text, 10**12 times": changed(shaped(f"({10**12},)", "'<U0'", b"")),
    "text of 2 GB": changed(shaped("(1,)", "'<U536870911'")),
    "fields": changed(shaped("(4,)", "[('a', '<f8'), ('b', '<f8')]")),
    "a kind of many": changed(shaped("(1,)", "'(9999,9999,9999)f4'")),
    "dates": changed(shaped("(8,)", "'<M8[s]'")),
    "unknown kind": changed(shaped("(8,)", "'zzz'")),
    "a header of 4 GB": changed(headed("{}", version=2, length=2**32 - 1)),
    "a header of 60 kB": changed(headed(" " * 60_000)),
    "a header of brackets": changed(headed("(" * 4000)),
    "a header of signs": changed(headed("-" * 4000 + "1")),
    "a header that is code": changed(headed(CODE)),
    "a header that is a list": changed(headed("[1, 2]")),
    "another version": changed(headed("{}", version=9)),
    "no array": changed(b"text"),
    "an empty array": changed(b""),
    "a pickle": changed(b"\x80\x04cos\nsystem\n(S'touch executed'\ntR."),
    "another checksum": changed(checksum=1),
    "climbs": with_more(Entry("../up.npy", EMPTY)),
    "climbs on Windows": with_more(Entry("..\\up.npy", EMPTY)),
    "at the root": with_more(Entry("/up.npy", EMPTY)),
    "a link": with_more(Entry("link.npy", b"/etc/passwd", mode=stat.S_IFLNK | 0o777)),
    "twice": lambda arrays: zipped(entries_of(arrays) * 2),
    "no .npy": with_more(Entry("setup.py", b"import os")),
    "encrypted": changed(flags=1),
    "packed by LZMA": changed(method=zipfile.ZIP_LZMA),
    "over each other": over_each_other,
    "20,000 entries": lambda arrays: many_names(),
    "cut": cut,
    "empty": lambda arrays: b"",
    "not a zip": lambda arrays: b"nothing of the kind",
    "a name without end": with_more(Entry("n" * 60_000 + ".npy", b"")),
}


# Texts


DEEP = 200_000
TEXTS: dict[str, bytes] = {
    "deep lists": b"[" * DEEP,
    "deep tables": b'{"a":' * DEEP,
    "deep and whole": b'{"a":' + b"[" * DEEP + b"]" * DEEP + b"}",
    "17 MB": b'{"a": "' + b"x" * (17 * MEGABYTE) + b'"}',
    "a number of a million digits": b'{"a": ' + b"9" * 1_000_000 + b"}",
    "a list": b"[1, 2]",
    "a number": b"1",
    "nothing": b"",
    "no UTF-8": b'{"a": "\xff\xfe\xfd"}',
    "zero bytes": bytes(1000),
    "text": b"nothing of the kind",
    "cut": b'{"a": [1, 2',
}
TOMLS: dict[str, str] = {
    "deep lists": "a = " + "[" * 100_000,
    "deep tables": "a = " + "{a = " * 40_000,
    "a key of dots": "a." * 100_000 + "b = 1",
    "a table of dots": "[" + '"a" . ' * 30_000 + "b]",
    "a megabyte": "a = '" + "x" * MEGABYTE + "'",
    "a number of many digits": "a = " + "9" * 200_000,
    "a name without end": "a" * 200_000,
    "spaces": "a" + " " * 200_000,
    "text": "nothing of the kind",
    "twice": "a = 1\na = 2",
}


# Weights


def weights(header: object, numbers: bytes = bytes(64), length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + numbers


def tensor(shape: list, start: object, stop: object, kind: str = "F32") -> dict:
    return {"dtype": kind, "shape": shape, "data_offsets": [start, stop]}


WEIGHTS: dict[str, bytes] = {
    "a header of 2**63 bytes": weights({}, length=2**63),
    "a header of 10 GB": weights({}, length=TEN_GIGABYTES),
    "a header of 99 MB": weights({}, length=99 * MEGABYTE),
    "a header longer than the file": weights({}, length=1000),
    "overlapping": weights({"a": tensor([16], 0, 64), "b": tensor([8], 32, 64)}),
    "out of range": weights({"a": tensor([TEN_GIGABYTES], 0, 4 * TEN_GIGABYTES)}),
    "a gap": weights({"a": tensor([4], 0, 16), "b": tensor([4], 48, 64)}),
    "backwards": weights({"a": tensor([16], 64, 0)}),
    "below zero": weights({"a": tensor([16], -64, 0)}),
    "negative shape": weights({"a": tensor([-4, -4], 0, 64)}),
    "absurd shape": weights({"a": tensor([2**40, 2**40], 0, 64)}),
    "shape of text": weights({"a": tensor(["16"], 0, 64)}),
    "offsets of text": weights({"a": tensor([16], "0", "64")}),
    "offsets of two kinds": weights({"a": tensor([8], "0", 3), "b": tensor([8], 32, 64)}),
    "unknown kind": weights({"a": tensor([16], 0, 64, "OBJ")}),
    "no offsets": weights({"a": {"dtype": "F32", "shape": [16]}}),
    "a list": weights({"a": [1, 2, 3]}),
    "deep": weights(b'{"a":' + b"[" * DEEP),
    "too long": weights({"a": tensor([8], 0, 32)}),
    "other names": weights({"a": tensor([16], 0, 64)}),
    "empty": b"",
    "a pickle": b"\x80\x04cos\nsystem\n(S'touch executed'\ntR.",
}


# Tables

TABLES: dict[str, bytes] = {
    "another width": b"a,b\n1,2\n1,2,3\n",
    "wider than its names": b"a,b\n1,2,3\n1,2,3\n",
    "narrower": b"a,b\n1,2\n1\n",
    "text": b"a,b\n1,x\n",
    "no names": b"1,2\n3,4\n",
    "names twice": b"a,a\n1,2\n",
    "a name is missing": b"a,\n1,2\n",
    "names alone": b"a,b\n",
    "empty": b"",
    "a blank line": b"\n\n",
    "zero bytes": bytes(10_000),
    "no UTF-8": b"a,\xff\xfe\n1,2\n",
    "a line without end": b"a,b\n" + b"1," * (3 * MEGABYTE),
    "names without end": b"a," * (3 * MEGABYTE),
    "a quote that is never closed": b'a,"b\n1,2\n',
    "a zip": zipped([Entry("a.npy", EMPTY)]),
    "a formula": b"a,b\n=cmd|' /C calc'!A0,2\n",
}


# Archives


def tarred(*entries: tarfile.TarInfo, content: bytes = b"") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for entry in entries:
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def tar_entry(name: str, **fields) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    for field, value in fields.items():
        setattr(entry, field, value)
    return entry


def tar_bomb(kind: bytes) -> bytes:
    """An entry of 10 GB of zeros, or a name of an entry that is so long."""
    entry = tar_entry("large", size=TEN_GIGABYTES, type=kind)
    head = entry.tobuf(tarfile.GNU_FORMAT)
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    start = packer.compress(head) + packer.flush(zlib.Z_FULL_FLUSH)
    member = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"  # how a gzip file begins
    return member + start + zeros(TEN_GIGABYTES) + bytes(8)


def many_entries(count: int) -> bytes:
    head = b"".join(tar_entry(f"{k}").tobuf() for k in range(count))
    return gzip.compress(head + bytes(1024), 1)


TARS: dict[str, Callable[[], bytes]] = {
    "10 GB": lambda: tar_bomb(tarfile.REGTYPE),
    "a name of 10 GB": lambda: tar_bomb(tarfile.GNUTYPE_LONGNAME),
    "a header of 10 GB": lambda: tar_bomb(tarfile.XHDTYPE),
    "climbs": lambda: tarred(tar_entry("../up")),
    "climbs on Windows": lambda: tarred(tar_entry("a\\..\\..\\up")),
    "at the root": lambda: tarred(tar_entry("/up")),
    "a link": lambda: tarred(tar_entry("a", type=tarfile.SYMTYPE, linkname="/etc/passwd")),
    "a hard link": lambda: tarred(tar_entry("a", type=tarfile.LNKTYPE, linkname="../up")),
    "a device": lambda: tarred(tar_entry("a", type=tarfile.CHRTYPE)),
    "a pipe": lambda: tarred(tar_entry("a", type=tarfile.FIFOTYPE)),
    "twice": lambda: tarred(tar_entry("a"), tar_entry("./a")),
    "3,000 entries": lambda: many_entries(3_000),
    "cut": lambda: tarred(tar_entry("a", size=100_000), content=os.urandom(100_000))[:50_000],
    "no tar": lambda: gzip.compress(b"nothing of the kind" * 100),
    "no gzip": lambda: b"nothing of the kind",
    "empty": lambda: b"",
}


# Images


def black_png(side: int) -> bytes:
    """A black square, in a thousandth of the bytes that it takes."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        checksum = struct.pack(">L", zlib.crc32(kind + content))
        return struct.pack(">L", len(content)) + kind + content + checksum

    head = struct.pack(">LLBBBBB", side, side, 8, 2, 0, 0, 0)
    rows = zlib.compress(bytes(min((3 * side + 1) * side, MEGABYTE)), 9)
    start = b"\x89PNG\r\n\x1a\n"
    return start + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def painted(kind: str, **options) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(np.arange(192, dtype=np.uint8).reshape(8, 8, 3)).save(buffer, kind, **options)
    return buffer.getvalue()


POSTSCRIPT = (
    b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 8 8\n%%EndComments\n(executed) (w) file\n"
)
IMAGES: dict[str, Callable[[], bytes]] = {
    "60,000 × 60,000": lambda: black_png(60_000),
    "12,000 × 12,000": lambda: black_png(12_000),
    "6,000 × 6,000": lambda: black_png(6_000),
    "2**31 × 2**31": lambda: black_png(2**31 - 1),
    "0 × 0": lambda: black_png(0),
    "a program": lambda: POSTSCRIPT,
    "a GIF": lambda: painted("GIF"),
    "cut": lambda: painted("PNG")[:45],
    "cut behind its head": lambda: painted("JPEG")[:400],
    "empty": lambda: b"",
    "text": lambda: b"nothing of the kind",
}


def self_linked(folder: Path) -> Path:
    """A class that holds a link to itself, and two that hold each other."""
    for name in ("cat", "dog"):
        (folder / name).mkdir(parents=True)
        Image.new("RGB", (8, 8)).save(folder / name / "0.png")
    (folder / "cat" / "again").symlink_to(folder / "cat")
    (folder / "cat" / "other").symlink_to(folder / "dog")
    (folder / "dog" / "other").symlink_to(folder / "cat")
    return folder


def branching(folder: Path) -> Path:
    """Folders that each hold two links to the next: 2**40 ways to the last."""
    steps = [folder / "cat", *(folder.parent / f"step{k}" for k in range(40))]
    for step, following in pairwise(steps):
        step.mkdir(parents=True)
        (step / "left").symlink_to(following)
        (step / "right").symlink_to(following)
    steps[-1].mkdir()
    Image.new("RGB", (8, 8)).save(steps[-1] / "0.png")
    return folder
