"""Fetch a file from the first address that answers, prove that it is the right one, and keep it whole or not at all.

>>> import hashlib, tempfile
>>> path = Path(tempfile.mkdtemp()) / "hello"
>>> path.write_bytes(b"hello")
5
>>> verify(path, "git-blob:b6fc4c620b67d95f953a5c1c1230aaab5db5a1b0")
>>> verify(path, "sha256:" + "0" * 64)
Traceback (most recent call last):
ValueError: hello (5 bytes) is not the file that was expected: its sha256 is 2cf24dba5fb0…, not 000000000000….

Nothing is ever unpacked onto the disk: `read_archive` reads the files of an archive where they lie.
"""

from __future__ import annotations

import hashlib
import posixpath
import tarfile
import uuid
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeVar

import numpy as np

T = TypeVar("T")
PATIENCE = 30  # seconds without an answer before an address counts as dead


@dataclass(frozen=True)
class Remote:
    """A file elsewhere: its name, its checksum (`sha256:…` or `git-blob:…`) and where it may be had, best first."""

    file: str
    checksum: str
    addresses: tuple[str, ...]


def fetch(remote: Remote, folder: Path) -> Path:
    """Return the verified file in `folder`, from the first address that gives the right one."""
    place = folder / remote.file
    faults = []
    if place.exists():
        try:
            verify(place, remote.checksum)
            return place
        except ValueError as error:
            faults.append(str(error))
    for address in remote.addresses:
        try:
            with atomically(place) as unfinished:
                _download(address, unfinished, remote)
            return place
        except (OSError, ValueError) as error:  # What requests raises is an OSError.
            faults.append(f"{address}: {error}")
    raise ConnectionError(
        f"{remote.file} could not be had from any of its {len(remote.addresses)} addresses:\n  "
        + "\n  ".join(faults)
        + f"\nConnect to the internet and try again, or put the file into {folder} yourself."
    )


def verify(path: Path, checksum: str) -> None:
    """Raise unless the file has this checksum, `sha256:…` or `git-blob:…`."""
    algorithm, _, expected = checksum.partition(":")
    found = _digest(path, algorithm)
    if found != expected.lower():
        raise ValueError(
            f"{path.name} ({path.stat().st_size:,} bytes) is not the file that was expected: its {algorithm} is "
            f"{found[:12]}…, not {expected[:12]}…."
        )


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


def read_archive(path: Path, readers: dict[str, Callable[[BinaryIO], T]]) -> dict[str, T]:
    """Read files of a .tgz, each by its reader; all entries must be plain and stay inside the archive."""
    found, seen = {}, []
    try:
        with tarfile.open(path, "r|gz") as archive:
            for entry in archive:
                seen.append(_confined(entry, path.name))
                if seen[-1] in readers and entry.isfile():
                    found[seen[-1]] = readers[seen[-1]](archive.extractfile(entry))
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


def _download(address: str, place: Path, remote: Remote) -> None:
    import pooch
    from tqdm.auto import tqdm

    with tqdm(desc=remote.file, total=1, unit="B", unit_scale=True, delay=2, leave=False) as bar:
        pooch.HTTPDownloader(progressbar=bar, timeout=PATIENCE)(address, str(place), None)
    verify(place, remote.checksum)


def _digest(path: Path, algorithm: str) -> str:
    if algorithm not in ("sha256", "git-blob"):
        raise ValueError(f"A checksum starts with 'sha256:' or 'git-blob:', found {algorithm!r}.")
    digest = hashlib.sha256() if algorithm == "sha256" else hashlib.sha1(usedforsecurity=False)
    if algorithm == "git-blob":  # Git hashes a file's size before its content.
        digest.update(b"blob %d\0" % path.stat().st_size)
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: digest).hexdigest()


def _confined(entry: tarfile.TarInfo, archive: str) -> str:
    """The entry's plain name, if it stays inside the archive's own folder."""
    name = posixpath.normpath(entry.name.replace("\\", "/"))
    climbs = name.startswith(("/", "../")) or name == ".." or name[1:2] == ":"
    if climbs or not (entry.isfile() or entry.isdir()):
        kind = "climbs out of its folder" if climbs else "is a link or a device"
        raise ValueError(f"{archive} is not safe: its entry {entry.name!r} {kind}. Delete it; nothing of it was used.")
    return name
