"""From a plan to a table of scores (`mialib.results`), at any profile.

- `plans`: what to train and attack, as TOML.
- `rows`, `facts`: one setting with one seed, made and kept in the store.
- `running`: all rows of a plan, side by side, resumable; `results` reads what came out.
- `banks`: reference models at any profile.

    mialib run past --profile quick     # the same from a shell
"""

from mialib.experiments.plans import Plan, PlannedRow, load, names
from mialib.experiments.running import finished, missing, results, run
from mialib.results.tables import Results, Row

__all__ = [
    "Plan",
    "PlannedRow",
    "Results",
    "Row",
    "finished",
    "load",
    "missing",
    "names",
    "results",
    "run",
]
