"""Who holds which records: every model gets a `Side`, and the parts of a side never overlap.

    split("six_parts", records, validation=0.1)["target"].train

The schemes are `six_parts` (PAST), `halves` (CRL), `quarters` (sparsity) and `in_out` (reference attacks). Each sets a
share `validation` of every training part aside, and leaves out what its parts do not divide."""

from collections import UserDict
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from mialib.data.records import Records
from mialib.errors import check_choice, check_range, refuse


@dataclass(frozen=True)
class Side:
    """The records around one model."""

    train: Records  # its members
    test: Records  # its non-members in every evaluation
    inference: Records | None = (
        None  # non-members that a defense may tune on, so never evaluated on
    )
    validation: Records | None = (
        None  # set aside from the training part: neither member nor non-member
    )

    def __post_init__(self):
        for (a, first), (b, second) in combinations(self.parts().items(), 2):
            if shared := len(np.intersect1d(first.index, second.index)):
                fault = f"{a} and {b} share {shared} records, so some would count as members and as non-members"
                raise ValueError(f"{fault}. Split the dataset into parts that do not overlap.")

    def parts(self) -> dict[str, Records]:
        """The parts that exist, by name."""
        return {name: part for name, part in vars(self).items() if part is not None}


class Sides(UserDict):
    """Sides by name. A side is made when it is asked for, so that a hundred models do not copy the data at once."""

    def __init__(self, records: Records, plan: dict[str, dict[str, np.ndarray]]):
        super().__init__(plan)  # side → part → positions in `records`
        self.records = records

    def __getitem__(self, name: str) -> Side:
        return Side(
            **{part: self.records.take(positions) for part, positions in self.data[name].items()}
        )


def six_parts(records: Records, *, seed: int = 0, validation: float = 0) -> Sides:
    """PAST's split: train, inference and test for the target, the same for the shadow, all equal."""
    six = _equal_parts(np.random.default_rng(seed).permutation(len(records)), 6)
    return _sides(
        "six_parts", 6, records, {"target": six[[0, 2, 1]], "shadow": six[[3, 5, 4]]}, validation
    )


def halves(
    records: Records,
    *,
    seed: int = 0,
    validation: float = 0,
    shadows: int = 1,
    inference: float = 0,
) -> Sides:
    """CRL's split: a half to `target`, the other, shuffled anew for each, to `shadow-0`, `shadow-1`, …"""
    check_range(1, np.inf, whole=True, shadows=shadows)
    check_range(
        0, 1, inference=inference
    )  # the share of each half for defenses that tune on non-members
    ours, theirs = _equal_parts(np.random.default_rng(seed).permutation(len(records)), 2)
    orders = {
        f"shadow-{k}": np.random.default_rng([seed, k]).permutation(theirs) for k in range(shadows)
    }
    orders, aside = {"target": ours} | orders, round(inference * len(ours))
    dealt = {
        name: (*_equal_parts(order[aside:], 2), order[:aside]) for name, order in orders.items()
    }
    return _sides("halves", 4, records, dealt, validation)


def quarters(records: Records, *, seed: int = 0, validation: float = 0) -> Sides:
    """The sparsity paper's split: train and test for the target, the same for the shadow."""
    four = _equal_parts(np.random.default_rng(seed).permutation(len(records)), 4)
    sides = _sides("quarters", 4, records, {"target": four[:2], "shadow": four[2:]}, validation)
    for parts in (
        sides.data.values()
    ):  # The test part gives up as many as validation takes, to be as large as train.
        parts["test"] = parts["test"][: len(parts["train"])]
    return sides


def in_out(records: Records, *, seed: int = 0, validation: float = 0, models: int = 16) -> Sides:
    """Reference attacks' split: `model-0`, `model-1`, …, any of which may play the target; test is what it lacks."""
    dealt = {}
    for k, holds in enumerate(in_out_mask(len(records), models, seed=seed)):
        members = np.random.default_rng([seed, k]).permutation(np.flatnonzero(holds))
        dealt[f"model-{k}"] = (members, np.flatnonzero(~holds))
    return _sides("in_out", 2, records, dealt, validation)


def in_out_mask(n: int, models: int, *, seed: int = 0) -> np.ndarray:
    """Which model holds which record: (models, n) bool, each record in exactly half. Every pair of models deals them
    out anew, so the other rows betray a target's membership: an attack may look only at the models that it is given."""
    check_range(2, np.inf, whole=True, models=models)
    refuse(
        models % 2,
        f"models must be even, so that a record can be in exactly half of them; found {models}.",
    )
    rng = np.random.default_rng(seed)
    shuffles = [rng.permutation(n) for _ in range(models // 2)]
    first = (
        np.argsort(shuffles, axis=1) < n // 2
    )  # Whoever stands in the first half of a pair's shuffle.
    return np.stack([first, ~first], axis=1).reshape(models, n)


SPLITS = {"six_parts": six_parts, "halves": halves, "quarters": quarters, "in_out": in_out}


def split(name: str, records: Records, *, seed: int = 0, **options) -> Sides:
    """Split by a scheme's name; the options are the scheme's own."""
    scheme = SPLITS[check_choice("split", name, SPLITS)]
    for option in options:
        check_choice(f"{name} option", option, scheme.__kwdefaults__)
    return scheme(records, seed=seed, **options)


def _equal_parts(order: np.ndarray, parts: int) -> np.ndarray:
    """(parts, n // parts) positions; the remainder is left out."""
    return order[: len(order) // parts * parts].reshape(parts, -1)


def _sides(scheme: str, parts: int, records: Records, dealt: dict, validation: float) -> Sides:
    """Set validation aside from the positions dealt to each side: (train, test) or (train, test, inference)."""
    check_range(0, 1, validation=validation)
    if len(records) < (
        need := parts * records.classes
    ):  # Every part should have about one of each class.
        found = f"{records.name} has {len(records)}. Load more records or fewer classes."
        raise ValueError(
            f"{scheme} needs at least {parts} × {records.classes} = {need} records, but {found}"
        )
    plan = {}
    for name, (train, *others) in dealt.items():
        held_out = round(validation * len(train))
        refuse(
            held_out == len(train),
            f"validation = {validation} leaves no records to train on. Choose less.",
        )
        side = {"train": train[held_out:], "validation": train[:held_out]}
        side |= zip(("test", "inference"), others, strict=False)
        plan[name] = {part: positions for part, positions in side.items() if len(positions)}
    return Sides(records, plan)
