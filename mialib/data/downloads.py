"""Fetch a file from the first address that answers, prove that it is the right one, and keep it whole or not at all.

>>> import tempfile
>>> path = Path(tempfile.mkdtemp()) / "hello"
>>> path.write_bytes(b"hello")
5
>>> verify(path, "git-blob:b6fc4c620b67d95f953a5c1c1230aaab5db5a1b0")

Nothing is ever unpacked onto the disk: `read_archive` reads the files of an archive where they lie.
"""

import hashlib
import tarfile
import uuid
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath
from typing import Any, BinaryIO

import numpy as np

PATIENCE = 30  # seconds without an answer before an address counts as dead


@dataclass(frozen=True)
class Remote:
    """A file elsewhere: its name, its checksum (`sha256:…` or `git-blob:…`) and where it may be had, best first."""

    file: str
    checksum: str
    addresses: tuple[str, ...]


def fetch(remote: Remote, folder: Path) -> Path:
    """Return the verified file in `folder`, from the first address that gives the right one."""
    place, faults = folder / remote.file, []
    if place.exists():
        try:
            verify(place, remote.checksum)
            return place
        except ValueError as error:
            faults.append(str(error))
    for address in remote.addresses:
        try:
            with atomically(place) as unfinished:
                _download(address, unfinished, remote.file)
                verify(unfinished, remote.checksum)
            return place
        except (OSError, ValueError) as error:  # What requests raises is an OSError.
            faults.append(f"{address}: {error}")
    tried = "\n  ".join([f"{remote.file} could not be had from any of its {len(remote.addresses)} addresses:", *faults])
    raise ConnectionError(f"{tried}\nConnect to the internet and try again, or put the file into {folder} yourself.")


def _download(address: str, place: Path, name: str) -> None:
    from pooch import HTTPDownloader
    from tqdm.auto import tqdm

    with tqdm(desc=name, total=1, unit="B", unit_scale=True, delay=2, leave=False) as bar:
        HTTPDownloader(progressbar=bar, timeout=PATIENCE)(address, str(place), None)


def verify(path: Path, checksum: str) -> None:
    """Raise unless the file has this checksum, `sha256:…` or `git-blob:…`."""
    algorithm, _, expected = checksum.partition(":")
    size = path.stat().st_size
    # Git hashes a file's size before its content.
    started = {"sha256": hashlib.sha256(), "git-blob": hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)}
    if algorithm not in started:
        raise ValueError(f"A checksum starts with 'sha256:' or 'git-blob:', found {algorithm!r}.")
    with path.open("rb") as file:
        found = hashlib.file_digest(file, lambda: started[algorithm]).hexdigest()
    if found != expected.lower():
        wrong = f"{path.name} ({size:,} bytes) is not the file that was expected"
        raise ValueError(f"{wrong}: its {algorithm} is {found[:12]}…, not {expected[:12]}….")


@contextmanager
def atomically(path: Path) -> Iterator[Path]:
    """Give a path beside `path` to write; it takes its place at the end, or vanishes if anything goes wrong."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.unfinished")
    try:
        yield unfinished
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def read_archive(path: Path, readers: dict[str, Callable[[BinaryIO], Any]]) -> dict[str, Any]:
    """Read files of a .tgz, each by its reader; all entries must be plain and stay inside the archive."""
    found, seen = {}, []
    try:
        with tarfile.open(path, "r|gz") as archive:
            for entry in archive:
                place = PureWindowsPath(entry.name)  # It knows every way out: both slashes, drives and "..".
                if place.anchor or ".." in place.parts or not (entry.isfile() or entry.isdir()):
                    fault = f"its entry {entry.name!r} climbs out of its folder, or is a link or a device"
                    raise ValueError(f"{path.name} is not safe: {fault}. Delete it; nothing of it was used.")
                seen.append(name := place.as_posix())
                if name in readers and entry.isfile():
                    found[name] = readers[name](archive.extractfile(entry))
    except (tarfile.ReadError, EOFError, zlib.error) as error:
        raise ValueError(f"{path.name} is not a whole .tgz archive: {error}. Delete it and load again.") from error
    if missing := sorted(readers.keys() - found.keys()):
        raise ValueError(f"{path.name} should hold {', '.join(missing)}, but holds {', '.join(seen) or 'nothing'}.")
    return found


def cached(path: Path, make: Callable[[], dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """The arrays in `path`, an `.npz` without pickle; if it is missing or damaged, `make` them and write it."""
    try:
        with np.load(path, allow_pickle=False) as file:
            return dict(file)
    except FileNotFoundError:
        pass
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        warnings.warn(f"{path.name} is damaged ({error}); it is made again.", stacklevel=2)
    arrays = make()
    with atomically(path) as unfinished, unfinished.open("wb") as file:
        np.savez(file, **arrays)
    return arrays
