"""Without names, measure all and write benchmarks/RESULTS.md; with names, print those groups."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from bench import (
    attacks,
    cluster,
    data,
    defenses,
    growth,
    past,
    reasons,
    report,
    shadows,
    sparsity,
    training,
)
from bench.timing import HEADING, Row

GROUPS = {
    "training": training,
    "shadows": shadows,
    "cluster": cluster,
    "past": past,
    "defenses": defenses,
    "sparsity": sparsity,
    "attacks": attacks,
    "data": data,
}
SECTIONS = {
    "peers": report.peers_section,
    "browser": report.browser_section,
    "memory": report.memory_section,
}
# What trains for minutes is measured when it is named, and not for the page.
SLOW = ("past", "defenses")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    names = [*GROUPS, "growth", *SECTIONS, "reasons"]
    parser.add_argument("groups", nargs="*", help=f"some of: {', '.join(names)}")
    parser.add_argument("--out", type=Path, default=report.PAGE, help="the page that is written")
    chosen = parser.parse_args(arguments)
    unknown = set(chosen.groups) - set(names)
    if unknown:
        parser.error(
            f"there is no group {', '.join(sorted(unknown))}; choose from {', '.join(names)}"
        )
    if chosen.groups:
        show(chosen.groups)
    else:
        write_page(chosen.out)


def show(names: list[str]) -> None:
    """Print the rows of these groups."""
    for name in names:
        if name == "growth":
            for what, job in growth.jobs().items():
                print(growth.as_line(growth.grown(what, job)), flush=True)
        elif name in SECTIONS:
            print("\n".join(printed(name)))
        elif name == "reasons":
            print("\n".join(reasons.reasons()))
        else:
            print(HEADING)
            print_rows(name)
    if "sparsity" in names:
        for one in sparsity.growth():
            print(growth.as_line(one))
    if "shadows" in names:
        shadows.print_fast_bank()
        shadows.print_costs()
    if "attacks" in names:
        what, seconds = attacks.whole_suite()
        print(f"\n{what:<74}{seconds:>9.4f}s")


def printed(name: str) -> list[str]:
    """A section as the page has it; its picture is thrown away."""
    with tempfile.TemporaryDirectory() as folder:
        return SECTIONS[name](Path(folder))


def print_rows(name: str) -> list[Row]:
    rows = GROUPS[name].rows()
    for row in rows:
        print(row, flush=True)
    return rows


def write_page(path: Path) -> None:
    """Every group but the slow ones, then the sections of the page; about a quarter of an hour."""
    rows: dict[str, list[Row]] = {}
    failures = {name: f"`make bench ONLY={name}` prints it, some minutes" for name in SLOW}
    print(HEADING)
    for name in GROUPS:
        if name in SLOW:
            continue
        try:
            rows[name] = print_rows(name)
        except Exception as error:  # The other groups are worth having without it.
            failures[name] = f"{type(error).__name__}: {error}"
    report.write(rows, failures, path)
    print(f"Written: {path.name}")


if __name__ == "__main__":
    main()
