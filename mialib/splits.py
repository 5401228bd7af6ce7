"""Who holds which records: every model gets a `Side`, and the parts of a side never overlap.

>>> from mialib import data
>>> sides = six_parts(data.load("digits"), validation=0.1)
>>> {name: len(part) for name, part in sides["target"].parts().items()}
{'train': 269, 'test': 299, 'inference': 299, 'validation': 30}

- `six_parts` (PAST): train, inference and test for the target, the same for the shadow.
- `halves` (CRL): one half to the target, the other to all shadows, each of which shuffles it anew.
- `quarters` (sparsity): train and test for the target, the same for the shadow, evaluated on equal numbers.
- `in_out` (LiRA, RMIA, Attack R): many models, every record in exactly half of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from mialib.data.records import Records
from mialib.errors import between, nearest


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


@dataclass(frozen=True, eq=False)
class Sides(Mapping):
    """Sides by name. A side is made when it is asked for, so that a hundred models do not copy the data at once."""

    records: Records
    plan: dict[str, dict[str, np.ndarray]]  # side → part → positions in `records`

    def __getitem__(self, name: str) -> Side:
        plan = {part: where for part, where in self.plan[name].items() if len(where) or part in ("train", "test")}
        return Side(**{part: self.records.take(where) for part, where in plan.items()})

    def __iter__(self) -> Iterator[str]:
        return iter(self.plan)

    def __len__(self) -> int:
        return len(self.plan)


def six_parts(records: Records, *, seed: int = 0, validation: float = 0.0) -> Sides:
    """PAST's split: six equal parts at random; train, inference and test for the target, the same for the shadow.

    `validation` sets that share of each training part aside. What six does not divide is left out.
    """
    _enough("six_parts", records, parts=6)
    six = _equal_parts(_shuffled(len(records), seed), 6)
    plan = {}
    for name, (train, inference, test) in (("target", six[:3]), ("shadow", six[3:])):
        plan[name] = _hold_out(train, validation) | {"test": test, "inference": inference}
    return Sides(records, plan)


def halves(
    records: Records, *, seed: int = 0, validation: float = 0.0, shadows: int = 1, inference: float = 0.0
) -> Sides:
    """CRL's split: half of the records to the target, half to the shadows, each half into train and test.

    The sides are `target` and `shadow-0` … `shadow-(k−1)`. Every shadow shuffles the same half with a seed of
    its own, so the shadows overlap with each other and never with the target. `inference` sets that share of
    each half aside for defenses that tune on non-members.

    >>> from mialib import data
    >>> sides = halves(data.load("digits"), shadows=2)
    >>> {name: (len(side.train), len(side.test)) for name, side in sides.items()}
    {'target': (449, 449), 'shadow-0': (449, 449), 'shadow-1': (449, 449)}
    """
    _enough("halves", records, parts=4)
    between(1, np.inf, whole=True, shadows=shadows)
    between(0, 1, inference=inference)
    ours, theirs = _equal_parts(_shuffled(len(records), seed), 2)
    plan = {"target": _train_and_test(ours, inference, validation)}
    for k in range(shadows):
        again = np.random.default_rng([seed, k]).permutation(theirs)
        plan[f"shadow-{k}"] = _train_and_test(again, inference, validation)
    return Sides(records, plan)


def quarters(records: Records, *, seed: int = 0, validation: float = 0.0) -> Sides:
    """The sparsity paper's split: four equal parts; train and test for the target, the same for the shadow.

    `validation` sets that share of each training part aside (the paper's 1,000 of 15,000 are 1/15); members are
    the rest, and the test part gives up as many records, so that members and non-members are equally many.

    >>> from mialib import data
    >>> sides = quarters(data.load("digits"), validation=1 / 15)
    >>> {name: len(part) for name, part in sides["shadow"].parts().items()}
    {'train': 419, 'test': 419, 'validation': 30}
    """
    _enough("quarters", records, parts=4)
    four = _equal_parts(_shuffled(len(records), seed), 4)
    plan = {}
    for name, (train, test) in (("target", four[:2]), ("shadow", four[2:])):
        plan[name] = _hold_out(train, validation)
        plan[name]["test"] = test[: len(plan[name]["train"])]
    return Sides(records, plan)


def in_out(records: Records, *, seed: int = 0, validation: float = 0.0, models: int = 16) -> Sides:
    """The split of reference attacks: sides `model-0` … `model-(k−1)`; train is what a model holds, test the rest.

    Any of the models may play the target, and the others are its references. `validation` sets that share of
    each training part aside; those records stay out of that model's test part too.

    >>> from mialib import data
    >>> sides = in_out(data.load("digits"), models=4)
    >>> list(sides), len(sides["model-0"].train), len(sides["model-1"].train)
    (['model-0', 'model-1', 'model-2', 'model-3'], 898, 899)
    """
    _enough("in_out", records, parts=2)
    plan = {}
    for k, holds in enumerate(in_out_mask(len(records), models, seed=seed)):
        train = np.random.default_rng([seed, k]).permutation(np.flatnonzero(holds))
        plan[f"model-{k}"] = _hold_out(train, validation) | {"test": np.flatnonzero(~holds)}
    return Sides(records, plan)


def in_out_mask(n: int, models: int, *, seed: int = 0) -> np.ndarray:
    """Which model holds which record: (models, n) bool, every record in exactly half of the models.

    Models come in pairs, and each pair deals the records out afresh: one half to the first, the rest to the
    second. So the rows are balanced too. The columns of the other models betray the target's membership;
    an attack may look at nothing but the models that it is given for a record.

    >>> in_out_mask(6, 4).sum(axis=0), in_out_mask(6, 4).sum(axis=1)
    (array([2, 2, 2, 2, 2, 2]), array([3, 3, 3, 3]))
    """
    between(2, np.inf, whole=True, models=models)
    if models % 2:
        raise ValueError(f"models must be even, so that a record can be in exactly half of them; found {models}.")
    rng = np.random.default_rng(seed)
    mask = np.zeros((models, n), bool)
    for pair in range(0, models, 2):
        mask[pair, rng.permutation(n)[: n // 2]] = True
        mask[pair + 1] = ~mask[pair]
    return mask


SPLITS = {"six_parts": six_parts, "halves": halves, "quarters": quarters, "in_out": in_out}


def split(name: str, records: Records, *, seed: int = 0, **options) -> Sides:
    """Split by a scheme's name; the options are the scheme's own.

    >>> from mialib import data
    >>> list(split("halves", data.load("digits"), shadows=2))
    ['target', 'shadow-0', 'shadow-1']
    """
    if name not in SPLITS:
        raise ValueError(nearest("split", name, SPLITS))
    known = [option for option in SPLITS[name].__kwdefaults__ if option != "seed"]
    for option in options:
        if option not in known:
            raise ValueError(f"In {name}: {nearest('option', option, known)}")
    return SPLITS[name](records, seed=seed, **options)


def _shuffled(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).permutation(n)


def _equal_parts(order: np.ndarray, parts: int) -> np.ndarray:
    """(parts, n // parts) positions; the remainder is left out."""
    return order[: len(order) // parts * parts].reshape(parts, -1)


def _train_and_test(half: np.ndarray, inference: float, validation: float) -> dict[str, np.ndarray]:
    aside = round(inference * len(half))
    train, test = _equal_parts(half[aside:], 2)
    return _hold_out(train, validation) | {"test": test, "inference": half[:aside]}


def _hold_out(train: np.ndarray, validation: float) -> dict[str, np.ndarray]:
    """A training part without its validation share, and that share."""
    between(0, 1, validation=validation)
    held_out = round(validation * len(train))
    if held_out == len(train):
        raise ValueError(f"validation = {validation} leaves no records to train on. Choose a smaller share.")
    return {"train": train[held_out:], "validation": train[:held_out]}


def _enough(scheme: str, records: Records, *, parts: int) -> None:
    need = parts * records.classes
    if len(records) < need:
        raise ValueError(
            f"{scheme} needs at least {parts} × {records.classes} = {need} records, about one of each class in every "
            f"part, but {records.name} has {len(records)}. Load more records or fewer classes."
        )
