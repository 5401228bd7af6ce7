"""What was measured, as text for a terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mialib import markdown
from mialib.benchmarks.measuring import Measured
from mialib.benchmarks.timing import HEADING, Row
from mialib.benchmarks.training import Speed

SENT = "The line to send us:"
ESTIMATED = (
    "Estimates, from a few batches of noise in each profile's shapes, one training at a time"
)


def as_text(measured: Measured) -> str:
    """The tables, what was left out, and the line to send us."""
    lines = [f"{name}: {fact}" for name, fact in measured.facts.items()]
    if measured.rows:
        lines += ["", HEADING, *map(str, measured.rows)]
    if measured.speeds:
        lines += ["", f"{ESTIMATED}:", *map(_speed_line, measured.speeds)]
    lines += [f"left out: {what} ({reason})" for what, reason in measured.skipped.items()]
    return "\n".join([*lines, "", SENT, measured.line()])


def _speed_line(speed: Speed) -> str:
    return (
        f"{speed.profile + ', ' + speed.network:<30}{speed.images_per_second:>12,.0f} images/s"
        f"{speed.models_per_minute:>12.3g} models per minute"
    )


def as_markdown(measured: Measured) -> str:
    """The same, as sections of a page."""
    lines = [f"- {name}: {fact}" for name, fact in measured.facts.items()]
    if measured.rows:
        lines += ["", *rows_table(measured.rows)]
    if measured.speeds:
        lines += ["", f"{ESTIMATED}:", "", *_speeds_table(measured.speeds)]
    if measured.skipped:
        lines += ["", *(f"- left out: {what} ({why})" for what, why in measured.skipped.items())]
    return "\n".join([*lines, "", SENT, "", f"`{measured.line()}`"])


def rows_table(rows: Iterable[Row]) -> list[str]:
    """Comparisons as a table of Markdown."""
    cells = [
        (
            row.what,
            told_seconds(row.seconds),
            told_seconds(row.baseline),
            f"{row.ratio:.3g}",
            "" if row.aim is None else f"{row.aim:g}" + (", missed" if row.missed else ""),
        )
        for row in rows
    ]
    return table(("work", "mialib", "plain way or limit", "ratio", "aim"), cells)


def _speeds_table(speeds: Iterable[Speed]) -> list[str]:
    cells = [
        (
            speed.profile,
            speed.network,
            f"{speed.images_per_second:,.0f}",
            f"{speed.models_per_minute:.3g}",
        )
        for speed in speeds
    ]
    return table(("profile", "network", "images per second", "models per minute"), cells)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a table of Markdown."""
    return markdown.table(head, rows).splitlines()


def told_seconds(seconds: float) -> str:
    """Seconds in a unit that leaves three digits.

    >>> told_seconds(0.00123), told_seconds(2.5)
    ('1.23 ms', '2.5 s')
    """
    if seconds < 1e-3:
        return f"{1e6 * seconds:.3g} µs"
    if seconds < 1:
        return f"{1000 * seconds:.3g} ms"
    return f"{seconds:.3g} s"
