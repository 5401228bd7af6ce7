"""Keep LEDGER.md and the README's totals true to the shipped results.

python tools/ledger_page.py
"""

from __future__ import annotations

from mialib.reproductions import ledger
from paths import ROOT
from readme import filled

PAGE = ROOT / "LEDGER.md"
README = ROOT / "README.md"


def main() -> None:
    entries = ledger.entries()
    PAGE.write_text(ledger.as_markdown(entries), encoding="utf-8")
    text = README.read_text(encoding="utf-8")
    README.write_text(filled(text, ledger=ledger.coverage(entries)), encoding="utf-8")


if __name__ == "__main__":
    main()
