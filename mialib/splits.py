"""Who holds which records: every model gets a `Side`, and the parts of a side never overlap.

>>> from mialib import data
>>> sides = six_parts(data.load("digits"), validation=0.1)
>>> {name: len(part) for name, part in sides["target"].parts().items()}
{'train': 269, 'test': 299, 'inference': 299, 'validation': 30}
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from mialib.data.records import Records
from mialib.errors import nearest


@dataclass(frozen=True)
class Side:
    """The records around one model: `train` are its members, `test` its non-members in every evaluation.

    `inference` holds non-members that a defense may tune on, so it never serves to evaluate; `validation` is
    set aside from the training part and is neither.
    """

    train: Records
    test: Records
    inference: Records | None = None
    validation: Records | None = None

    def __post_init__(self):
        for (a, first), (b, second) in combinations(self.parts().items(), 2):
            shared = np.intersect1d(first.index, second.index)
            if len(shared):
                raise ValueError(
                    f"{a} and {b} share {len(shared)} records (the first is number {shared[0]}), so some members "
                    "would also count as non-members. Split the dataset into parts that do not overlap."
                )

    def parts(self) -> dict[str, Records]:
        """The parts that exist, by name."""
        return {name: part for name, part in vars(self).items() if part is not None}


def six_parts(records: Records, *, seed: int = 0, validation: float = 0.0) -> dict[str, Side]:
    """PAST's split: six equal parts at random; train, inference and test for the target, the same for the shadow.

    `validation` sets that share of each training part aside. What six does not divide is left out.
    """
    need = 6 * records.classes
    if len(records) < need:
        raise ValueError(
            f"six_parts needs at least 6 × {records.classes} = {need} records, about one of each class in every "
            f"part, but {records.name} has {len(records)}. Load more records or fewer classes."
        )
    if not 0 <= validation < 1:
        raise ValueError(f"validation is a share of the training part, from 0 up to but not 1; found {validation}.")
    order = np.random.default_rng(seed).permutation(len(records))
    parts = order[: len(order) // 6 * 6].reshape(6, -1)
    sides = {}
    for name, (train, inference, test) in (("target", parts[:3]), ("shadow", parts[3:])):
        held_out = round(validation * len(train))
        sides[name] = Side(
            records.take(train[held_out:]),
            records.take(test),
            records.take(inference),
            records.take(train[:held_out]) if held_out else None,
        )
    return sides


SPLITS = {"six_parts": six_parts}


def split(name: str, records: Records, *, seed: int = 0, **options) -> dict[str, Side]:
    """Split by a scheme's name."""
    if name not in SPLITS:
        raise ValueError(nearest("split", name, SPLITS))
    return SPLITS[name](records, seed=seed, **options)
