"""One progress bar at a time, with the time left, that ends green.

    with bar("training", total=30, unit="epoch") as advance:
        for epoch in range(30):
            ...
            advance()

A bar that is left early because the work was done counts as complete; only an error leaves it
unfinished, which a notebook shows in red. Work that has a bar of its own inside another's shows
none. With `forwarded(to)` the steps of the next bar inside are handed to `to` instead of being
shown. Work in several processes has one bar, which counts what each of them does:

    with shared_bar("runs", [30, 20], unit="epoch") as (first, second):
        ...                             # in another process, first.add_one() after each step
"""

import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from tqdm.auto import tqdm

POLL_SECONDS = 0.2  # how often a shared bar asks what the other processes have done
Step = Callable[[], object]
_outer: ContextVar[Step | None] = ContextVar("outer", default=None)


@contextmanager
def bar(description: str, *, total: int, unit: str, delay: float = 2.0) -> Iterator[Step]:
    """A bar that appears after `delay` seconds; call what it gives after each step."""
    outer = _outer.get()
    if outer is not None:
        with silent():
            yield outer
        return
    shown = tqdm(desc=description, total=total, unit=unit, delay=delay)
    _name(shown, description)
    try:
        with silent():
            yield shown.update
        _finish(shown)
    finally:
        shown.close()


@contextmanager
def forwarded(to: Step) -> Iterator[None]:
    """Inside, no bar is shown; every step of one calls `to`."""
    token = _outer.set(to)
    try:
        yield
    finally:
        _outer.reset(token)


@contextmanager
def silent() -> Iterator[None]:
    """Inside, no bar is shown, and no step counts."""
    with forwarded(_nowhere):
        yield


def _nowhere() -> None:
    """Where steps go that nobody counts."""


def _name(shown: tqdm, description: str) -> None:
    """A notebook shows "null" where one points at a widget without a tooltip."""
    widget = getattr(shown, "container", None)  # in a notebook: text, strip, text
    if widget is not None:
        for part in widget.children:
            part.tooltip = description


def _finish(shown: tqdm) -> None:
    """Say that nothing is left, so that a notebook's bar closes full and green."""
    shown.total = shown.n
    widget = getattr(shown, "container", None)
    if widget is not None:
        _, strip, _ = widget.children
        strip.max = max(shown.n, 1)


# One bar for several processes.


@dataclass(frozen=True)
class Count:
    """How many of `total` steps one process has done: a file that grows by one byte per step.

    A full disk must not end the work for it.
    """

    file: Path
    total: int

    def add_one(self) -> None:
        with suppress(OSError), self.file.open("ab") as opened:
            opened.write(b".")

    def complete(self) -> None:
        """Nothing is left, however many steps it took."""
        with suppress(OSError):
            self.file.write_bytes(bytes(self.total))

    def done(self) -> int:
        if not self.file.exists():
            return 0
        return min(self.file.stat().st_size, self.total)


@contextmanager
def shared_bar(
    description: str, totals: Sequence[int], *, unit: str, folder: Path | None = None
) -> Iterator[list[Count]]:
    """One bar over several pieces of work with so many steps each; a `Count` for each piece.

    The counts lie in a folder of their own, inside `folder` where the processes are on machines
    that share no other.
    """
    # A process that outlives an interrupt may still write there while the folder is removed.
    made = tempfile.TemporaryDirectory(prefix=".counts-", dir=folder, ignore_cleanup_errors=True)
    with made as own:
        counts = [Count(Path(own, str(k)), total) for k, total in enumerate(totals)]
        with (
            bar(description, total=sum(totals), unit=unit, delay=0) as advance,
            _shown(counts, advance),
        ):
            yield counts


@contextmanager
def _shown(counts: Sequence[Count], advance: Step) -> Iterator[None]:
    """Inside, look at the counts now and then, and advance the bar."""
    finished = threading.Event()
    watcher = threading.Thread(target=_watch, args=(counts, advance, finished), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        finished.set()
        watcher.join()


def _watch(counts: Sequence[Count], advance: Step, finished: threading.Event) -> None:
    told = 0
    is_last_look = False
    while not is_last_look:
        is_last_look = finished.wait(POLL_SECONDS)
        done = sum(count.done() for count in counts)
        for _ in range(done - told):
            advance()
        told = max(told, done)  # A file that is being rewritten is empty for a moment.
