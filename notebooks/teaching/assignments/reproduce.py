"""Assignment: judge every line of a table that you have made anew.

mialib reproduce past-fig-1 --profile class --seeds 3 --out made
python reproduce.py made/past-fig-1/class       writes verdicts.json there
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

VERDICTS = ("agrees", "differs", "cannot tell")


def verdict(published: float | None, low: float | None, high: float | None) -> str:
    """What you may say of one line: the paper's number, and the ends of your own interval."""
    raise NotImplementedError


def number(cell: str) -> float | None:
    return float(cell) if cell else None


def main(folder: Path) -> None:
    with (folder / "table.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    verdicts = {}
    for row in rows:
        ends = [number(row[name]) for name in ("published", "low", "high")]
        verdicts[row["what"]] = verdict(*ends)
    (folder / "verdicts.json").write_text(json.dumps(verdicts, indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
