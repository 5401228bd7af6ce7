"""A folder of finished folders: made once, checked when read, never half there.

    store = Store(home() / "runs")
    folder = store.get(key, make)       # `make(folder)` fills an empty folder, if there is none yet

A result is written into a folder beside its place and renamed into it as the last act;
`manifest.json` holds the checksum of every file. A lock for each key keeps two processes from doing
the same work twice.
"""

import errno
import glob
import hashlib
import json
import os
import shutil
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from mialib.errors import as_path
from mialib.foreign import opened, read_json

MANIFEST = "manifest.json"
LONGEST_KEY = 200  # Most disks allow 255 bytes, and the store puts a word before some.
# What a disk may say when it is full, read-only or somebody else's.
REFUSALS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM}


@dataclass(frozen=True)
class Store:
    """Finished results by key, under `root`."""

    root: Path

    def __post_init__(self):
        if not isinstance(self.root, str | Path):
            raise ValueError(f"A store is asked for by its folder, found {self.root!r}.")
        object.__setattr__(self, "root", Path(self.root))

    def get(self, key: str, make: Callable[[Path], object]) -> Path:
        """The folder of `key`; if there is none, `make(folder)` is called to fill an empty one."""
        if not callable(make):
            raise TypeError(f"make must be a function that fills a folder, found {make!r}.")
        found = self.find(key)
        if found is not None:
            return found
        folder = self.root / key
        with self._locked(key):
            if not folder.exists():  # Another process may have made it since `find` looked.
                self._make(folder, make)
        return folder

    def find(self, key: str) -> Path | None:
        """The folder of `key` if it is there and whole; one that is not whole is moved aside."""
        _check_key(key)
        folder = self.root / key
        if not folder.exists():
            return None
        if _fault(folder) is None:
            return folder
        with self._locked(key):
            # Another process may have mended it meanwhile.
            fault = _fault(folder) if folder.exists() else None
            if fault is not None:
                self._move_aside(folder, fault)
        return folder if folder.exists() else None

    def _move_aside(self, folder: Path, fault: str) -> None:
        aside = self.root / f".broken-{folder.name}-{time.time_ns()}"
        folder.rename(aside)
        warnings.warn(
            f"{folder} is not whole: {fault} is missing or damaged. "
            f"The folder was moved to {aside.name} and is made again.",
            stacklevel=4,
        )

    @contextmanager
    def _locked(self, key: str) -> Iterator[None]:
        """Only one process at a time works on `key`; errors of the disk are explained."""
        locks = self.root / ".locks"
        try:
            locks.mkdir(parents=True, exist_ok=True)
            with FileLock(locks / f"{key}.lock"):
                yield
        except OSError as error:
            if error.errno not in REFUSALS:
                raise
            explained = (
                f"{error.strerror}. Free some space, or set MIALIB_HOME to a folder that you may "
                "write. Nothing finished was lost"
            )
            raise type(error)(error.errno, explained, str(self.root)) from error

    def _make(self, folder: Path, make: Callable[[Path], object]) -> None:
        """Fill a folder beside its place, and put it there when all is on the disk."""
        # This is called under the lock of its key, so unfinished folders of this key belong to
        # processes that died.
        for left_over in self.root.glob(f".unfinished-{glob.escape(folder.name)}-????????"):
            shutil.rmtree(left_over, ignore_errors=True)
        work = self.root / f".unfinished-{folder.name}-{os.urandom(4).hex()}"
        work.mkdir()
        try:
            make(work)
            checksums = {path.name: _checksum(path) for path in sorted(work.iterdir())}
            write_json(work / MANIFEST, checksums)
            for path in work.iterdir():
                _flush(path)
            work.rename(folder)
            _flush(self.root)
        finally:
            shutil.rmtree(work, ignore_errors=True)  # Once it is renamed, there is nothing.


def as_store(store: Store | None) -> Store:
    """The store that is handed in; without one, that of all runs under `home()`."""
    if store is None:
        return Store(home() / "runs")
    if not isinstance(store, Store):
        raise TypeError(f"A store must be a mialib.store.Store, found {store!r}.")
    return store


def home() -> Path:
    """The folder for runs and downloads. It is made when something is first written."""
    chosen = os.environ.get("MIALIB_HOME")
    if chosen:
        return Path(chosen).expanduser()
    checkout = Path(__file__).resolve().parents[1]
    if (checkout / "notebooks" / "source").is_dir():
        return checkout / "data"
    return Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "mialib"


def write_json(path: Path, content: object) -> None:
    try:
        text = json.dumps(content, indent=1, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path} cannot be written as JSON: {error}.") from None
    as_path(path).write_text(text + "\n", encoding="utf-8")


def _check_key(key: str) -> None:
    is_text = isinstance(key, str)
    if not is_text or not key or key != Path(key).name or key.startswith(".") or "\0" in key:
        raise ValueError(
            f"A key must be a plain name that does not begin with a dot, found {key!r}."
        )
    if len(key.encode()) > LONGEST_KEY:
        raise ValueError(
            f"A key must be a plain name of at most {LONGEST_KEY} bytes, as folders are; "
            f"found {len(key.encode())}."
        )


def _fault(folder: Path) -> str | None:
    """The first file that is not as it was written; None if the folder is whole."""
    try:
        checksums = read_json(folder / MANIFEST)
    except (OSError, ValueError):
        return MANIFEST
    for name, checksum in checksums.items():
        if name != Path(name).name:  # It lies elsewhere, and says nothing of this folder.
            return MANIFEST
        if not _is_as_written(folder / name, checksum):
            return name
    return None


def _is_as_written(path: Path, checksum: str) -> bool:
    try:
        return path.is_file() and _checksum(path) == checksum
    except FileNotFoundError:  # Another process moved the folder aside since `is_file` looked.
        return False


def _checksum(path: Path) -> str:
    with opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _flush(path: Path) -> None:
    """Ask the system to put a file or folder on the disk before going on."""
    if os.name == "nt" and path.is_dir():
        return  # Windows cannot open a folder.
    handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
