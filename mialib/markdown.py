"""Tables in Markdown, as notebooks, pages and the repository's documents show them.

    table(["attack", "AUC"], [["loss", "0.70"], ["entropy", "0.65"]])

Cells are texts; what a stranger has named goes through `foreign.in_markdown` before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], lines: Iterable[Iterable[str]]) -> str:
    """A head, and a line for each row.

    >>> print(table(["attack", "AUC"], [["loss", "0.70"]]))
    | attack | AUC |
    | --- | --- |
    | loss | 0.70 |
    """
    rule = ["---"] * len(head)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *lines))
