"""Keep LEDGER.md and the README's totals true to the shipped results.

python tools/ledger_page.py
"""

from __future__ import annotations

from collections.abc import Sequence

from mialib.reproductions import ledger
from paths import ROOT
from readme import filled

PAGE = ROOT / "LEDGER.md"
README = ROOT / "README.md"
# LEDGER.md says so at its head; the README's reader meets the totals alone.
STATES = (
    "A *real* one is on its paper's own dataset, or needs none; a *stand-in* is on other data, "
    "letters or photographs."
)


def main() -> None:
    entries = ledger.entries()
    PAGE.write_text(ledger.as_markdown(entries), encoding="utf-8")
    text = README.read_text(encoding="utf-8")
    README.write_text(filled(text, ledger=totals(entries)), encoding="utf-8")


def totals(entries: Sequence[ledger.Entry]) -> str:
    """The README's lines: how many rows have which state, and what the states are."""
    return f"{ledger.coverage(entries)} {STATES}"


if __name__ == "__main__":
    main()
