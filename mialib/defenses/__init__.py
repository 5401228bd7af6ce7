"""Defenses: changes to training, each one short file.

A defense is a frozen dataclass of settings with up to four hooks; `Plain` has them all and changes nothing.
Whatever must last from one step to the next lives on the `Training` that every hook is given, never on the
defense, so one defense object serves any number of runs.
"""

from mialib.defenses.plain import Plain
from mialib.defenses.simple import LabelSmoothing

__all__ = ["DEFENSES", "LabelSmoothing", "Plain"]

DEFENSES = {"Plain": Plain, "LabelSmoothing": LabelSmoothing}
