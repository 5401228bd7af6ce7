"""Where text and code differ, as small experiments with their effects measured over trainings.

    players = [differences.Players(target, shadow), …]      # signals, one pair for each seed
    found = differences.rotation(players)
    found.estimate("as coded"), found.effect                # an Estimate each
    differences.table([found])                              # all variants side by side

| module | what it holds |
|---|---|
| `sources` | each difference in words, with repository and commit |
| `base` | `Variant`, `Difference`, `compare` |
| `grading` | attacks that grade themselves: `rotation`, `yeom`, `adaptive` |
| `counting` | numbers that count twice or not at all: `gini`, `twice`, `ties`, `order` |
| `training` | code that does something else: `statistics`, `lira`, `variance`, `hidden`, … |

Nothing here draws (`mialib.course.figures.versus` does) or trains. Introduced in notebook 15.
"""

from mialib.course.differences.base import (
    VARIANTS,
    Curves,
    Difference,
    Dots,
    Evidence,
    Losses,
    Variant,
    compare,
    table,
)
from mialib.course.differences.counting import gini, order, ties, twice
from mialib.course.differences.grading import Players, adaptive, rotation, yeom
from mialib.course.differences.sources import SOURCES, Source
from mialib.course.differences.training import (
    augmentation,
    clamp,
    hidden,
    lira,
    statistics,
    variance,
)

__all__ = [
    "SOURCES",
    "VARIANTS",
    "Curves",
    "Difference",
    "Dots",
    "Evidence",
    "Losses",
    "Players",
    "Source",
    "Variant",
    "adaptive",
    "augmentation",
    "clamp",
    "compare",
    "gini",
    "hidden",
    "lira",
    "order",
    "rotation",
    "statistics",
    "table",
    "ties",
    "twice",
    "variance",
    "yeom",
]
