"""A folder of finished folders: made once, checked when read, never half there.

A result is written into a folder beside its place and renamed into it as the last act; `manifest.json` holds
the checksum of every file. A lock for each key keeps two processes from doing the same work twice."""

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

MANIFEST = "manifest.json"
REFUSALS = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EROFS,
    errno.EACCES,
    errno.EPERM,
}  # what a disk may say


@dataclass(frozen=True)
class Store:
    """Finished results by key, under `root`."""

    root: Path

    def get(self, key: str, make: Callable[[Path], None]) -> Path:
        """Return the folder of `key`; if there is none, call `make(folder)` to fill an empty one."""
        folder = self.root / key
        if self.find(key) is None:
            with self._locked(key):
                if not folder.exists():  # Another process may have made it since `find` looked.
                    self._make(folder, make)
        return folder

    def find(self, key: str) -> Path | None:
        """The finished folder of `key`, if it is there and whole; one that is not is moved aside."""
        if not key or key != Path(key).name or key.startswith(".") or "\0" in key:
            raise ValueError(
                f"A key must be a plain name that does not begin with a dot, found {key!r}."
            )
        folder = self.root / key
        if folder.exists() and _fault(folder):
            with self._locked(key):
                if folder.exists() and (
                    fault := _fault(folder)
                ):  # Another process may have mended it meanwhile.
                    aside = folder.rename(self.root / f".broken-{key}-{time.time_ns()}").name
                    remedy = f"The folder was moved to {aside} and is made again."
                    warnings.warn(
                        f"{folder} is not whole: {fault} is missing or damaged. {remedy}",
                        stacklevel=3,
                    )
        return folder if folder.exists() else None

    @contextmanager
    def _locked(self, key: str) -> Iterator[None]:
        """Only one process at a time works on `key`; errors of the disk are explained."""
        try:
            (self.root / ".locks").mkdir(parents=True, exist_ok=True)
            with FileLock(self.root / ".locks" / f"{key}.lock"):
                yield
        except OSError as error:
            if error.errno not in REFUSALS:
                raise
            advice = "Free some space, or set MIALIB_HOME to a folder that you may write. Nothing finished was lost"
            raise type(error)(error.errno, f"{error.strerror}. {advice}", str(self.root)) from error

    def _make(self, folder: Path, make: Callable[[Path], None]) -> None:
        """Called under the lock of its key, so unfinished folders of this key belong to processes that died."""
        for left_over in self.root.glob(f".unfinished-{glob.escape(folder.name)}-????????"):
            shutil.rmtree(left_over, ignore_errors=True)
        work = self.root / f".unfinished-{folder.name}-{os.urandom(4).hex()}"
        work.mkdir()
        try:
            make(work)
            write_json(
                work / MANIFEST, {path.name: _checksum(path) for path in sorted(work.iterdir())}
            )
            for path in work.iterdir():
                _flush(path)
            work.rename(folder)
            _flush(self.root)
        finally:
            shutil.rmtree(work, ignore_errors=True)  # Once it is renamed, there is nothing.


def home() -> Path:
    """The folder for runs and downloads. It is made when something is first written."""
    if chosen := os.environ.get("MIALIB_HOME"):
        return Path(chosen).expanduser()
    checkout = Path(__file__).resolve().parents[1]
    if (checkout / "notebooks" / "source").is_dir():
        return checkout / "data"
    return Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "mialib"


def write_json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_json(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def _fault(folder: Path) -> str | None:
    """The first file that is not as it was written; None if the folder is whole."""
    try:
        written = read_json(folder / MANIFEST).items()
    except (OSError, ValueError, AttributeError):
        return MANIFEST
    files = ((folder / name, checksum) for name, checksum in written)
    return next(
        (
            path.name
            for path, checksum in files
            if not path.is_file() or _checksum(path) != checksum
        ),
        None,
    )


def _checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _flush(path: Path) -> None:
    """Ask the system to put a file or folder on the disk before going on."""
    if os.name == "nt" and path.is_dir():
        return  # Windows cannot open a folder.
    handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
