"""benchmarks/RESULTS.md: every section that could be measured, and why the others could not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from bench import browser, growth, memory, peers, reasons, sparsity
from bench.browser import Answers
from bench.growth import Growth
from bench.memory import Peak
from bench.peers import Compared, Comparison
from mialib import benchmarks
from mialib.benchmarks.timing import Row
from mialib.benchmarks.writing import rows_table, table, told_seconds
from mialib.course import plots
from mialib.course.plots.picture import Picture
from mialib.foreign import atomically
from paths import ROOT

PAGE = ROOT / "benchmarks" / "RESULTS.md"
DRAWN = {
    "attack: loss": "loss threshold",
    "attack: LiRA": "LiRA, 16 references",
    "attack: RMIA": "RMIA, 16 references",
    "attack: Attack R": "Attack R, 16 references",
}
FEWEST_SIZES = 3  # that tell how something grows
HEAD = """\
# Speed, memory and growth

Written by `make bench` in one run. A ratio compares two pieces of work on the same arrays by turns,
so a busy machine moves both; the seconds belong to this machine. Numbers that were not measured
whole are marked as estimates.
"""
Section = Callable[[Path], list[str]]  # the folder for pictures → lines of Markdown


def write(rows: dict[str, list[Row]], failures: dict[str, str], path: Path = PAGE) -> None:
    """The page, section by section, so that a run that is stopped leaves what it has.

    A section that fails is named with the reason.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [HEAD, "## Against plain forms", "", *plain_forms(rows, failures), ""]
    save(path, lines)
    for title, section in SECTIONS.items():
        print(f"{title} …", flush=True)
        try:
            body = section(path.parent)
        except Exception as error:  # The other sections are worth having without it.
            body = [f"Left out: {type(error).__name__}: {error}"]
        lines += [f"## {title}", "", *body, ""]
        save(path, lines)


def save(path: Path, lines: list[str]) -> None:
    with atomically(path) as unfinished:
        unfinished.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


def plain_forms(rows: dict[str, list[Row]], failures: dict[str, str]) -> list[str]:
    together = [row for group in rows.values() for row in group]
    left_out = [f"- left out: {group} ({reason})" for group, reason in failures.items()]
    return [*rows_table(together), "", *left_out]


# The sections


def reasons_section(folder: Path) -> list[str]:
    return [f"- {reason}" for reason in reasons.reasons()]


def machine(folder: Path) -> list[str]:
    return [benchmarks.as_markdown(benchmarks.measure("auto"))]


def growth_section(folder: Path) -> list[str]:
    found = [*growth.all_growth(), *sparsity.growth()]
    picture = growth_picture(found)
    (folder / "growth.png").write_bytes(picture.png)
    steep = [one.what for one in found if one.is_too_steep]
    verdict = "None grows faster than expected."
    if steep:
        verdict = f"Steeper than expected: {', '.join(steep)}."
    few = [one.what for one in found if len(one.sizes) < FEWEST_SIZES]
    if few:
        verdict += f" Of {', '.join(few)} a larger size would take too long to be sure."
    return [
        "Processor seconds at growing sizes; the exponent is the slope of their logarithms: 1 is "
        f"linear, n log n about 1.1. {verdict}",
        "",
        f"![{picture.alt}](growth.png)",
        "",
        *growth_table(found),
    ]


def growth_table(found: Iterable[Growth]) -> list[str]:
    cells = [
        (
            one.what,
            f"{one.sizes[0]:,} to {one.sizes[-1]:,}",
            told_seconds(one.seconds[-1]),
            f"{one.exponent:.2f}",
            one.expected + (", exceeded" if one.is_too_steep else ""),
        )
        for one in found
    ]
    return table(("work", "sizes", "at the largest", "exponent", "expected"), cells)


def growth_picture(found: Iterable[Growth]) -> Picture:
    sizes = np.array(growth.SIZES, float)
    curves = {DRAWN[one.what]: filled(one, sizes) for one in found if one.what in DRAWN}
    shape = sizes * np.log(sizes)
    first = next(iter(curves.values()))
    curves["n log n"] = first[0] * shape / shape[0]
    return plots.lines(sizes, curves, xlabel="records", ylabel="processor milliseconds", log="xy")


def filled(one: Growth, sizes: np.ndarray) -> np.ndarray:
    """The milliseconds at every size; NaN where it was not measured."""
    known = dict(zip(one.sizes, one.seconds, strict=True))
    return 1000 * np.array([known.get(int(n), np.nan) for n in sizes])


def memory_section(folder: Path) -> list[str]:
    records, models, classes = memory.LARGE
    in_bank, of_bank, classes_of_bank = memory.BANK
    return [
        f"{records:,} records, {models} references (φ in float32), {classes} classes; the last row "
        f"begins with logits of {of_bank} models on {in_bank:,} records in {classes_of_bank} "
        f"classes, and plays LiRA and RMIA, which may take {memory.SECONDS:.0f} s. Each in a fresh "
        f"process; the limit is {memory.LIMIT:,.0f} MB for the whole process.",
        "",
        *memory_table(memory.table()),
    ]


def memory_table(peaks: Iterable[Peak]) -> list[str]:
    over = ", over the limit"
    cells = [
        (
            one.case,
            told_seconds(one.seconds) + (over if one.is_too_slow else ""),
            "not measured" if one.growth is None else f"{one.growth:,.0f} MB",
            f"{one.peak:,.0f} MB" + (over if one.is_too_large else ""),
        )
        for one in peaks
    ]
    return table(("attack", "seconds", "beside its arrays", "whole process"), cells)


def browser_section(folder: Path) -> list[str]:
    return [
        "JupyterLab in Chromium, on this machine: the time from a move, by keyboard or mouse, to "
        f"the new picture. The aim is {browser.LIMIT:.0f} ms.",
        "",
        *answers_table(browser.measure()),
    ]


def answers_table(answers: Iterable[Answers]) -> list[str]:
    cells = [
        (
            one.lesson,
            str(one.moves),
            f"{one.milliseconds:.0f} ms" + (", missed" if one.is_too_slow else ""),
        )
        for one in answers
    ]
    return table(("lesson", "moves", "median"), cells)


def peers_section(folder: Path) -> list[str]:
    return comparison_lines(peers.compare(), folder)


def comparison_lines(found: Comparison, folder: Path) -> list[str]:
    left_out = [f"- left out: {what} ({reason})" for what, reason in found.skipped.items()]
    if not found.cells:
        return left_out
    drawn = peers_drawn([one for one in found.cells if one.cell.attack == "LiRA"], folder)
    versions = ", ".join(found.versions.values())
    return [
        f"{versions}; each in an environment of its own, mialib and the toolkit by turns. Timed is "
        "the way from φ or logits to scores; memory is what it adds to its arrays at its peak. "
        "PrivacyGuard's LiRA takes the means and deviations of each record, which `np.nanmean` and "
        "`np.nanstd` compute for it within the time (its own call, on means that are given, "
        "is shorter than mialib's whole way from φ); SACRO-ML's would train its own shadows, and "
        "is timed from their φ on.",
        "",
        *drawn,
        *peers_table(found.cells),
        "",
        *verdicts(found.cells),
        *left_out,
    ]


def peers_drawn(of_lira: Sequence[Compared], folder: Path) -> list[str]:
    if not of_lira:
        return []
    picture = peers_picture(of_lira)
    (folder / "peers.png").write_bytes(picture.png)
    return [f"![{picture.alt}](peers.png)", ""]


def peers_table(cells: Iterable[Compared]) -> list[str]:
    rows = []
    for one in cells:
        size = f"{one.cell.records:,}"
        if one.cell.references is not None:
            size += f" × {one.cell.references}"
        equal = "yes" if one.is_equal else f"AUC {one.auc_difference:+.1e}"
        rows.append(
            (
                peers.NAMES[one.cell.peer],
                one.cell.attack,
                size,
                equal,
                told_seconds(one.mialib.seconds),
                told_seconds(one.peer.seconds),
                f"{one.ratio:.3g}",
                told_memory(one.mialib.megabytes),
                told_memory(one.peer.megabytes),
            )
        )
    head = ("toolkit", "attack", "records × references", "equal scores", "mialib", "toolkit")
    return table((*head, "ratio", "memory, mialib", "memory, toolkit"), rows)


def told_memory(megabytes: float | None) -> str:
    return "unknown" if megabytes is None else f"{megabytes:.1f} MB"


def verdicts(cells: Iterable[Compared]) -> list[str]:
    """The aims that were missed, cell by cell, or a sentence that none was."""
    missed = [sentence for one in cells for sentence in misses(one)]
    return [f"- missed: {sentence}" for sentence in missed] or ["Every aim is met."]


def misses(one: Compared) -> list[str]:
    where = peers.told(one.cell)
    aim = peers.AIM if (one.cell.records, one.cell.references) == (10_000, 16) else 1
    sentences = []
    if not one.is_equal:
        sentences.append(f"{where}: the scores differ, rank correlation {one.correlation:.6f}")
    if one.ratio < aim:
        sentences.append(f"{where}: {one.ratio:.2g} times as fast, the aim is {aim}")
    both = (one.mialib.megabytes, one.peer.megabytes)
    if None not in both and both[0] > both[1] + 1:  # A megabyte is within what a process varies.
        sentences.append(f"{where}: {both[0]:.1f} MB, the toolkit {both[1]:.1f} MB")
    return sentences


def peers_picture(of_lira: Iterable[Compared]) -> Picture:
    """Milliseconds of LiRA by records with 16 references, and of mialib's."""
    sizes = list(peers.RECORDS)
    curves: dict[str, np.ndarray] = {"mialib": np.full(len(sizes), np.nan)}
    for one in of_lira:
        if one.cell.references != 16:
            continue
        place = sizes.index(one.cell.records)
        own = curves["mialib"]
        own[place] = np.fmin(own[place], 1000 * one.mialib.seconds)
        name = peers.NAMES[one.cell.peer]
        curves.setdefault(name, np.full(len(sizes), np.nan))[place] = 1000 * one.peer.seconds
    label = "milliseconds of LiRA, 16 references"
    return plots.lines(sizes, curves, xlabel="records", ylabel=label, log="xy")


SECTIONS: dict[str, Section] = {
    "Where the time goes": reasons_section,
    "Against the machine": machine,
    "Against other toolkits": peers_section,
    "Sliders in a browser": browser_section,
    "Memory": memory_section,
    "Growth": growth_section,
}
