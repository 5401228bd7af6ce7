"""Defenses: changes to training. Each is a frozen dataclass of settings that changes a hook or two of `Plain`.

What must last from one step to the next lives on the `Training` that every hook is given, never on the defense,
so one defense object serves any number of runs.
"""

from mialib.defenses.simple import LabelSmoothing
from mialib.training import Plain

__all__ = ["DEFENSES", "LabelSmoothing", "Plain"]

DEFENSES = {defense.__name__: defense for defense in (Plain, LabelSmoothing)}
