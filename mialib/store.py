"""A folder of finished folders: made once, checked when read, never half there.

    store = Store(home() / "runs")
    folder = store.get(key, make)       # `make(folder)` fills an empty folder, if there is none yet

A result is written into a folder beside its place and renamed into it as the last act;
`manifest.json` holds the checksum of every file. A lock for each key keeps two processes from doing
the same work twice. Some disks that machines share have no locks, or locks that other machines do
not see: work may be done twice there, and the first result to be finished is the one that stays.
"""

import errno
import glob
import hashlib
import json
import os
import platform
import shutil
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

try:
    import fcntl
except ImportError:  # Windows, where filelock has locks of another kind.
    fcntl = None

from mialib.errors import as_path
from mialib.foreign import opened, read_json

MANIFEST = "manifest.json"
LONGEST_KEY = 200  # Most disks allow 255 bytes, and the store puts a word before some.
# What a disk may say when it is full, read-only or somebody else's.
REFUSALS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM}
ADVICE = (
    "Free some space, or set MIALIB_HOME to a folder that you may write. Nothing finished was lost"
)
# What a disk may say that has no locks.
NO_LOCKS = {errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP}
# What it says of a folder that is to be renamed to one that is there.
IS_THERE = {errno.ENOTEMPTY, errno.EEXIST}


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
        with self._locked(key) as alone:
            if not folder.exists():  # Another process may have made it since `find` looked.
                if alone:
                    self._clear_left_overs(folder)
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
        try:
            folder.rename(aside)
        except FileNotFoundError:  # Another process, which no lock kept out, was quicker.
            return
        warnings.warn(
            f"{folder} is not whole: {fault} is missing or damaged. "
            f"The folder was moved to {aside.name} and is made again.",
            stacklevel=4,
        )

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Inside, a disk that refuses is explained, with what to do."""
        try:
            yield
        except OSError as error:
            is_explained = ADVICE in str(error)  # What is made may need the store itself.
            if error.errno not in REFUSALS or is_explained:
                raise
            explained = f"{error.strerror}. {ADVICE}"
            raise type(error)(error.errno, explained, str(self.root)) from error

    @contextmanager
    def _locked(self, key: str) -> Iterator[bool]:
        """Only one process at a time works on `key`; False where the disk has no locks for that."""
        locks = self.root / ".locks"
        with self.explained():
            locks.mkdir(parents=True, exist_ok=True)
            if _has_locks(locks):
                with FileLock(locks / f"{key}.lock"):
                    yield True
            else:
                # Files that mark a lock would stay when a worker dies, and others wait for ever.
                warnings.warn(
                    f"The disk of {self.root} has no locks, so two processes may do the same work "
                    "at the same time. Nothing is mixed up or lost by that.",
                    stacklevel=4,
                )
                yield False

    def _clear_left_overs(self, folder: Path) -> None:
        """Remove what died unfinished on this machine; only under the lock of the folder's key.

        Another machine may be at work there all the same, because not every lock reaches it.
        """
        for left_over in self.root.glob(f"{glob.escape(_unfinished(folder))}-????????"):
            shutil.rmtree(left_over, ignore_errors=True)

    def _make(self, folder: Path, make: Callable[[Path], object]) -> None:
        """Fill a folder beside its place, and put it there when all is on the disk."""
        work = self.root / f"{_unfinished(folder)}-{os.urandom(4).hex()}"
        work.mkdir()
        try:
            make(work)
            checksums = {path.name: _checksum(path) for path in sorted(work.iterdir())}
            write_json(work / MANIFEST, checksums)
            for path in work.iterdir():
                _flush(path)
            self._put(work, folder)
            _flush(self.root)
        finally:
            shutil.rmtree(work, ignore_errors=True)  # Once it is renamed, there is nothing.

    def _put(self, work: Path, folder: Path) -> None:
        """Rename the folder to its place; a whole one that came there meanwhile stays."""
        try:
            work.rename(folder)
        except OSError as error:
            if error.errno not in IS_THERE:
                raise
            fault = _fault(folder)
            if fault is not None:
                self._move_aside(folder, fault)
                work.rename(folder)


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


def _unfinished(folder: Path) -> str:
    """How the names of folders begin that this machine fills for this one."""
    machine = hashlib.sha256(platform.node().encode()).hexdigest()[:8]
    return f".unfinished-{folder.name}-{machine}"


def _has_locks(folder: Path) -> bool:
    """Whether the disk can lock a file: some that machines share cannot.

    filelock is not asked, because its versions differ: one raises, one waits for ever.
    """
    if fcntl is None:
        return True
    handle = os.open(folder / ".tried", os.O_RDONLY | os.O_CREAT, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)  # Shared, so that nobody is in the way.
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
        return False
    finally:
        os.close(handle)
    return True


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
