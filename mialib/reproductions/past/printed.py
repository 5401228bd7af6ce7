"""What the paper printed, by the names of `mialib.papers`.

printed("advantage of loss", method="Past")         # 0.052
"""

from __future__ import annotations

from mialib import papers


def printed(metric: str, *, item: str = "past-quoted", **names: str) -> float:
    """The one number of PAST with these names; per cent are shares."""
    share = papers.find("past", item=item, metric=metric, **names).share
    assert share is not None
    return share
