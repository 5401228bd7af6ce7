"""Who holds which records: every model gets a `Side`, and the parts of a side never overlap.

>>> from mialib import data
>>> sides = split("six_parts", data.load("digits"), validation=0.1)
>>> {name: len(part) for name, part in sides["target"].parts().items()}
{'train': 269, 'test': 299, 'inference': 299, 'validation': 30}

- `six_parts` (PAST): train, inference and test for the target, the same for the shadow.
- `halves` (CRL): one half to the target, the other to all shadows, each of which shuffles it anew.
- `quarters` (sparsity): train and test for the target, the same for the shadow, evaluated on equal numbers.
- `in_out` (LiRA, RMIA, Attack R): many models, every record in exactly half of them.

Each sets a share `validation` of every training part aside, and leaves out what its parts do not divide.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from mialib.data.records import Records
from mialib.errors import between, known, nearest


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
            if shared := len(np.intersect1d(first.index, second.index)):
                fault = f"{a} and {b} share {shared} records, so some would count as members and as non-members"
                raise ValueError(f"{fault}. Split the dataset into parts that do not overlap.")

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
    """PAST's split: six equal parts at random."""
    _enough("six_parts", records, parts=6)
    plan, six = {}, _equal_parts(_shuffled(len(records), seed), 6)
    for name, (train, inference, test) in (("target", six[:3]), ("shadow", six[3:])):
        plan[name] = _side(train, test, validation, inference)
    return Sides(records, plan)


def halves(
    records: Records, *, seed: int = 0, validation: float = 0.0, shadows: int = 1, inference: float = 0.0
) -> Sides:
    """CRL's split: half of the records to `target`, half to `shadow-0`, `shadow-1`, …, each half into train and test.

    Every shadow shuffles the same half with a seed of its own, so the shadows overlap with each other and never
    with the target. `inference` sets that share of each half aside for defenses that tune on non-members.
    """
    _enough("halves", records, parts=4)
    between(1, np.inf, whole=True, shadows=shadows)
    between(0, 1, inference=inference)
    ours, theirs = _equal_parts(_shuffled(len(records), seed), 2)
    orders = {"target": ours}
    orders |= {f"shadow-{k}": _shuffled(theirs, [seed, k]) for k in range(shadows)}
    plan, aside = {}, round(inference * len(ours))
    for name, order in orders.items():
        train, test = _equal_parts(order[aside:], 2)
        plan[name] = _side(train, test, validation, order[:aside])
    return Sides(records, plan)


def quarters(records: Records, *, seed: int = 0, validation: float = 0.0) -> Sides:
    """The sparsity paper's split: four equal parts.

    Its 1,000 validation records of 15,000 are 1/15; the test part gives up as many, to be as large as the members.
    """
    _enough("quarters", records, parts=4)
    plan, four = {}, _equal_parts(_shuffled(len(records), seed), 4)
    for name, (train, test) in (("target", four[:2]), ("shadow", four[2:])):
        plan[name] = _side(train, test, validation)
        plan[name]["test"] = test[: len(plan[name]["train"])]
    return Sides(records, plan)


def in_out(records: Records, *, seed: int = 0, validation: float = 0.0, models: int = 16) -> Sides:
    """The split of reference attacks: `model-0`, `model-1`, …; train is what a model holds, test the rest.

    Any model may play the target; the others are its references. Validation records stay out of the test part.
    """
    _enough("in_out", records, parts=2)
    plan = {}
    for k, holds in enumerate(in_out_mask(len(records), models, seed=seed)):
        train, test = _shuffled(np.flatnonzero(holds), [seed, k]), np.flatnonzero(~holds)
        plan[f"model-{k}"] = _side(train, test, validation)
    return Sides(records, plan)


def in_out_mask(n: int, models: int, *, seed: int = 0) -> np.ndarray:
    """Which model holds which record: (models, n) bool, every record in exactly half of the models.

    Each pair of models deals the records out afresh, one half to the first and the rest to the second. The other
    models' columns betray the target's membership: an attack may look only at the models that it is given.

    >>> in_out_mask(6, 4).sum(axis=0), in_out_mask(6, 4).sum(axis=1)
    (array([2, 2, 2, 2, 2, 2]), array([3, 3, 3, 3]))
    """
    between(2, np.inf, whole=True, models=models)
    if models % 2:
        raise ValueError(f"models must be even, so that a record can be in exactly half of them; found {models}.")
    rng = np.random.default_rng(seed)
    first = np.zeros((models // 2, n), bool)
    for row in first:
        row[rng.permutation(n)[: n // 2]] = True
    return np.stack([first, ~first], axis=1).reshape(models, n)


SPLITS = {"six_parts": six_parts, "halves": halves, "quarters": quarters, "in_out": in_out}


def split(name: str, records: Records, *, seed: int = 0, **options) -> Sides:
    """Split by a scheme's name; the options are the scheme's own."""
    scheme = SPLITS[known("split", name, SPLITS)]
    names = [option for option in scheme.__kwdefaults__ if option != "seed"]
    if unknown := [option for option in options if option not in names]:
        raise ValueError(f"In {name}: {nearest('option', unknown[0], names)}")
    return scheme(records, seed=seed, **options)


def _enough(scheme: str, records: Records, *, parts: int) -> None:
    """Refuse too few records: every part should have about one of each class."""
    if len(records) < (need := parts * records.classes):
        found = f"{records.name} has {len(records)}. Load more records or fewer classes."
        raise ValueError(f"{scheme} needs at least {parts} × {records.classes} = {need} records, but {found}")


def _shuffled(positions: int | np.ndarray, seed: int | list[int]) -> np.ndarray:
    return np.random.default_rng(seed).permutation(positions)


def _equal_parts(order: np.ndarray, parts: int) -> np.ndarray:
    """(parts, n // parts) positions; the remainder is left out."""
    return order[: len(order) // parts * parts].reshape(parts, -1)


def _side(train: np.ndarray, test: np.ndarray, validation: float, inference: Sequence[int] = ()) -> dict:
    """The plan of a side: its validation share comes out of the training part."""
    between(0, 1, validation=validation)
    held_out = round(validation * len(train))
    if held_out == len(train):
        raise ValueError(f"validation = {validation} leaves no records to train on. Choose a smaller share.")
    return {"train": train[held_out:], "test": test, "inference": inference, "validation": train[:held_out]}
