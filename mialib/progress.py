"""One progress bar at a time, with the time left, that ends green.

    with bar("training", total=30, unit="epoch") as advance:
        for epoch in range(30):
            ...
            advance()

A bar that is left early because the work was done counts as complete; only an error leaves it
unfinished, which a notebook shows in red. Work that has a bar of its own inside another's shows
none. With `forwarded(to)` the steps of the next bar inside are handed to `to` instead of being
shown: `runs.get_all` counts in this way the epochs of trainings that go on in other processes.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from tqdm.auto import tqdm

Step = Callable[[], object]
_outer: ContextVar[Step | None] = ContextVar("outer", default=None)


@contextmanager
def bar(description: str, *, total: int, unit: str, delay: float = 2.0) -> Iterator[Step]:
    """A bar that appears after `delay` seconds; call what it gives after each step."""
    outer = _outer.get()
    if outer is not None:
        with forwarded(_nowhere):
            yield outer
        return
    shown = tqdm(desc=description, total=total, unit=unit, delay=delay)
    try:
        with forwarded(_nowhere):
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


def _finish(shown: tqdm) -> None:
    """Say that nothing is left, so that a notebook's bar closes full and green."""
    shown.total = shown.n
    widget = getattr(shown, "container", None)  # in a notebook: text, strip, text
    if widget is not None:
        _, strip, _ = widget.children
        strip.max = max(shown.n, 1)


def _nowhere() -> None:
    """Where the steps of a bar inside another go."""
