"""Who holds which records: every model gets a `Side`, and the parts of a side never overlap.

    sides = split("six_parts", records, validation=0.1)
    sides["target"].train                       # the target's members
    Side(train=mine, test=yours)                # two datasets of one's own
    canaries = plant(spare, 200, seed=7)        # records to audit by, each IN by a fair coin
    canaries.among(sides["target"].train)       # the members with those canaries that fell IN

The schemes are `six_parts` (PAST), `halves` (CRL), `quarters` (sparsity), `in_out` (reference
attacks) and `coins` (audits in one run). Each deals positions to its sides, sets a share
`validation` of every training part aside, and leaves out what its parts do not divide.
"""

import warnings
from collections import UserDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from mialib.data.records import Records, row_hashes
from mialib.errors import check_choice, check_range, plain_number

LARGEST_PLAN = 2**27  # positions that a split may deal, over all its models: a gigabyte of them
MOST_MODELS = 10_000
MOST_CANARIES = 100_000
FEW_COPIES = 0.01  # Of two datasets, this share may be equal by chance.


@dataclass(frozen=True)
class Side:
    """The records around one model.

    train       its members
    test        its non-members in every evaluation
    inference   non-members that a defense may tune on, so they are never evaluated on
    validation  set aside from the training part: neither member nor non-member
    """

    train: Records
    test: Records
    inference: Records | None = None
    validation: Records | None = None

    def __post_init__(self):
        for name, part in self.parts().items():
            if not isinstance(part, Records):
                raise ValueError(f"{name} must be Records, found {type(part).__name__}.")
        for first, second in combinations(self.parts(), 2):
            _check_disjoint(first, getattr(self, first), second, getattr(self, second))

    def parts(self) -> dict[str, Records]:
        """The parts that exist, by name; train and test always do."""
        parts = {"train": self.train, "test": self.test}
        if self.inference is not None:
            parts["inference"] = self.inference
        if self.validation is not None:
            parts["validation"] = self.validation
        return parts


def _check_disjoint(first_name: str, first: Records, second_name: str, second: Records) -> None:
    """Refuse two parts that share records.

    Parts of one dataset are compared by their places in it, where equal records at two places are
    two records. Other parts are compared by their contents.
    """
    if first.is_of_one_dataset_with(second):
        shared = len(np.intersect1d(first.index, second.index))
        is_by_chance = False
    else:
        copies = _copies(first, second)
        shared = copies.shared
        is_by_chance = copies.are_by_chance()
    if shared == 0:
        return
    if is_by_chance:
        warnings.warn(
            f"{shared} records of {first_name} and {second_name} are equal, as records of few or "
            "rounded numbers may be by chance. Nobody can tell such members from non-members.",
            stacklevel=4,
        )
        return
    raise ValueError(
        f"{first_name} and {second_name} share {shared} records, so some would count as members "
        "and as non-members. Split the dataset into parts that do not overlap."
    )


@dataclass(frozen=True)
class _Copies:
    """How often contents repeat in two datasets.

    shared        records of the smaller one that are in the larger one, too
    share         the same as a share of the smaller one
    share_within  records of the larger one that are in it twice or more, as a share
    """

    shared: int
    share: float
    share_within: float

    def are_by_chance(self) -> bool:
        """Whether the two repeat each other about as often as the larger one repeats itself."""
        return self.share <= 2 * self.share_within + FEW_COPIES


def _copies(first: Records, second: Records) -> _Copies:
    if first.x.shape[1:] != second.x.shape[1:]:
        return _Copies(shared=0, share=0.0, share_within=0.0)
    if first.x.dtype == second.x.dtype:
        hashes = [first.content_hashes, second.content_hashes]
    else:
        # Equal numbers of two types have different bytes.
        common = np.result_type(first.x, second.x)
        hashes = [row_hashes(first.x.astype(common)), row_hashes(second.x.astype(common))]
    smaller, larger = sorted(hashes, key=len)
    is_shared = np.isin(smaller, larger)
    _, counts = np.unique(larger, return_counts=True)
    repeated = counts[counts > 1].sum()
    return _Copies(
        shared=int(is_shared.sum()),
        share=float(is_shared.mean()),
        share_within=float(repeated / len(larger)),
    )


@dataclass
class Positions:
    """Where in the dataset the records of one side stand; an empty part does not exist."""

    train: np.ndarray
    test: np.ndarray
    inference: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    validation: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))

    def side(self, records: Records) -> Side:
        """The side itself, which copies its records."""
        return Side(
            train=records.take(self.train),
            test=records.take(self.test),
            inference=records.take(self.inference) if len(self.inference) else None,
            validation=records.take(self.validation) if len(self.validation) else None,
        )


class Sides(UserDict):
    """Sides by name.

    A side is made when it is asked for, so that a hundred models do not copy the data at once.
    """

    def __init__(self, records: Records, plan: Mapping[str, Positions]):
        super().__init__(plan)
        self.records = records

    def __getitem__(self, name: str) -> Side:
        positions = self.data[check_choice("side", name, self.data)]
        return positions.side(self.records)


# The schemes.


def six_parts(records: Records, *, seed: int = 0, validation: float = 0) -> Sides:
    """PAST's split: train, inference and test for the target and for the shadow, all equal."""
    _check_enough("six_parts", records, parts=6)
    six = _equal_parts(_shuffled(records, seed), 6)
    target_train, target_inference, target_test = six[:3]
    shadow_train, shadow_inference, shadow_test = six[3:]
    plan = {
        "target": Positions(train=target_train, test=target_test, inference=target_inference),
        "shadow": Positions(train=shadow_train, test=shadow_test, inference=shadow_inference),
    }
    return _with_validation(records, plan, validation)


def halves(
    records: Records,
    *,
    seed: int = 0,
    validation: float = 0,
    shadows: int = 1,
    inference: float = 0,
) -> Sides:
    """CRL's split: one half to `target`; the other, shuffled anew for each, to `shadow-0`, ….

    `inference` is the share of each half for defenses that tune on non-members.
    """
    _check_enough("halves", records, parts=4)
    check_range(1, np.inf, whole=True, shadows=shadows)
    check_range(0, 1, inference=inference)
    _check_plan(len(records), shadows=shadows)
    target_half, shadow_half = _equal_parts(_shuffled(records, seed), 2)
    plan = {"target": _halved(target_half, inference)}
    for k in range(shadows):
        order = np.random.default_rng([int(seed), k]).permutation(shadow_half)
        plan[f"shadow-{k}"] = _halved(order, inference)
    return _with_validation(records, plan, validation)


def _halved(order: np.ndarray, inference: float) -> Positions:
    """A side of one half: the inference share first, then train and test of one size."""
    aside = round(float(inference) * len(order))
    train, test = _equal_parts(order[aside:], 2)
    return Positions(train=train, test=test, inference=order[:aside])


def quarters(records: Records, *, seed: int = 0, validation: float = 0) -> Sides:
    """The sparsity paper's split: train and test for the target, the same for the shadow."""
    _check_enough("quarters", records, parts=4)
    target_train, target_test, shadow_train, shadow_test = _equal_parts(_shuffled(records, seed), 4)
    plan = {
        "target": Positions(train=target_train, test=target_test),
        "shadow": Positions(train=shadow_train, test=shadow_test),
    }
    sides = _with_validation(records, plan, validation)
    for positions in sides.data.values():
        # The test part gives up as many as validation takes, to be as large as train.
        positions.test = positions.test[: len(positions.train)]
    return sides


def in_out(
    records: Records,
    *,
    seed: int = 0,
    validation: float = 0,
    models: int = 16,
    inference: float = 0.0,
) -> Sides:
    """Reference attacks' split: `model-0`, `model-1`, …, any of which may play the target.

    A model's test part is what it does not train on. The last records, a share called `inference`,
    are dealt to no model: a defense may tune on them.
    """
    _check_enough("in_out", records, parts=2)
    dealt = dealt_records(len(records), inference)
    aside = np.arange(dealt, len(records))
    plan = {}
    for k, is_member in enumerate(in_out_mask(dealt, models, seed=seed)):
        members = np.flatnonzero(is_member)
        order = np.random.default_rng([int(seed), k]).permutation(members)
        others = np.flatnonzero(~is_member)
        plan[f"model-{k}"] = Positions(train=order, test=others, inference=aside)
    return _with_validation(records, plan, validation)


def dealt_records(n: int, inference: float = 0.0) -> int:
    """How many of n records `in_out` deals to its models: the first ones.

    >>> dealt_records(3000, inference=0.2)
    2400
    """
    check_range(0, np.inf, whole=True, n=n)
    check_range(0, 0.5, inference=inference)
    return n - round(float(inference) * n)


def in_out_mask(n: int, models: int, *, seed: int = 0) -> np.ndarray:
    """Which model holds which record: (models, n) bool, each record in exactly half.

    Every pair of models deals the records out anew. So the other rows betray a target's membership:
    an attack may look only at the models that it is given.
    """
    check_range(1, np.inf, whole=True, n=n)
    check_range(2, np.inf, whole=True, models=models)
    check_range(0, np.inf, whole=True, seed=seed)
    if models % 2:
        raise ValueError(
            f"models must be even, so that a record can be in exactly half of them; found {models}."
        )
    _check_plan(n, models=models)
    rng = np.random.default_rng(int(seed))
    shuffles = [rng.permutation(n) for _ in range(models // 2)]
    # The first of a pair holds whoever stands in the first half of the pair's shuffle.
    first = np.argsort(shuffles, axis=1) < n // 2
    second = ~first
    return np.stack([first, second], axis=1).reshape(models, n)  # from (pairs, 2, n)


def coins(
    records: Records,
    *,
    seed: int = 0,
    validation: float = 0,
    models: int = 1,
    inference: float = 0.0,
) -> Sides:
    """Audits' split: `model-0`, …; a fair coin for each record and model says who is a member.

    No toss depends on another, as theorems on audits in one run assume (Steinke, Nasr and Jagielski
    2023). Unlike in the other schemes, `validation` is a share of all records, and is set aside,
    like `inference`, before the coins are tossed: taken from the members, it would tell of those
    that are left who is one. A model's test part is what it does not train on.
    """
    _check_enough("coins", records, parts=2)
    check_range(1, np.inf, whole=True, models=models)
    check_range(0, 0.5, inference=inference, validation=validation)
    _check_plan(len(records), models=models)
    order = _shuffled(records, seed)
    first = round(float(validation) * len(order))
    last = first + round(float(inference) * len(order))
    tossed = order[last:]
    if len(tossed) < 2:
        raise ValueError("validation and inference leave no records to toss for. Choose less.")
    plan = {}
    for k in range(models):
        is_member = _stream(seed, "coins", k).random(len(tossed)) < 0.5
        plan[f"model-{k}"] = Positions(
            train=tossed[is_member],
            test=tossed[~is_member],
            inference=order[first:last],
            validation=order[:first],
        )
    return Sides(records, plan)


def _stream(seed: int, use: str, number: int = 0) -> np.random.Generator:
    """Draws for one use of a seed, that have nothing to do with those for another use.

    NumPy fills a short key up with zeros, so no part of a key may be 0: [seed, 0] is [seed].
    """
    uses = ("coins", "canaries", "tosses")
    return np.random.default_rng([int(seed), 1 + uses.index(use), 1 + number])


SPLITS: dict[str, Callable[..., Sides]] = {
    "six_parts": six_parts,
    "halves": halves,
    "quarters": quarters,
    "in_out": in_out,
    "coins": coins,
}


def split(name: str, records: Records, *, seed: int = 0, **options) -> Sides:
    """Split by a scheme's name; the options are the scheme's own."""
    scheme = SPLITS[check_choice("split", name, SPLITS)]
    allowed: Iterable[str] = scheme.__kwdefaults__ or ()
    for option in options:
        check_choice(f"{name} option", option, tuple(allowed))
    plain = {option: plain_number(value) for option, value in options.items()}
    return scheme(records, seed=plain_number(seed), **plain)


# Canaries.


@dataclass(frozen=True, eq=False)
class Canaries:
    """Records that are planted to audit a training by: they are surely IN or OUT by chance alone.

        signals = replace(query.ask_about(model, canaries.records), is_member=canaries.is_in)

    records  the canaries, IN and OUT
    is_in    (n,) bool: which a fair coin put into the training set; nothing else depends on it
    kind     "mislabelled" or "noise"
    seed     what decided all of it
    """

    records: Records
    is_in: np.ndarray
    kind: str
    seed: int

    def __len__(self) -> int:
        return len(self.records)

    def among(self, train: Records) -> Records:
        """The training set with the IN canaries behind its own records, which stay as dealt."""
        if not isinstance(train, Records):
            raise ValueError(f"Canaries are planted among Records, found {type(train).__name__}.")
        _check_same_task(train, self.records)
        _check_disjoint("The training set", train, "the canaries", self.records)
        if not self.is_in.any():
            return train
        own = self.records.take(self.is_in)
        return replace(
            train,
            x=np.concatenate([train.x, own.x]),
            y=np.concatenate([train.y, own.y]),
            index=np.concatenate([train.index, own.index]),
        )


def _check_same_task(train: Records, canaries: Records) -> None:
    """Refuse canaries that the model would see otherwise than its other members."""

    def described(records: Records) -> str:
        return (
            f"shape {records.x.shape[1:]}, {records.classes} classes, shift {records.shift} and "
            f"scale {records.scale}"
        )

    if described(train) != described(canaries):
        raise ValueError(
            f"The training set has records of {described(train)}; the canaries of "
            f"{described(canaries)}. Make them from the same dataset."
        )


def plant(records: Records, n: int, *, kind: str = "mislabelled", seed: int = 0) -> Canaries:
    """n canaries, made from `records` that neither training nor evaluation uses.

    "mislabelled": n of the records, each with one of the other labels, all equally likely.
    "noise": like no record: every number is drawn by itself, evenly over what its channel or
    feature has in `records`, with any label. A model must learn either by heart, so they show what
    the training can give away, not what it gives away of others.
    """
    if not isinstance(records, Records):
        raise ValueError(f"Canaries are made from Records, found {type(records).__name__}.")
    check_choice("kind of canaries", kind, tuple(CANARIES))
    check_range(0, np.inf, whole=True, seed=seed)
    check_range(1, MOST_CANARIES, whole=True, n=n)
    if records.classes < 2:
        raise ValueError("A canary's label is drawn among at least two classes, found one.")
    made = CANARIES[kind](records, int(n), _stream(seed, "canaries"))
    # Nothing about a canary may tell how its coin fell, so the coins are tossed apart.
    is_in = _stream(seed, "tosses").random(int(n)) < 0.5
    return Canaries(made, is_in, kind, int(seed))


def _mislabelled(records: Records, n: int, rng: np.random.Generator) -> Records:
    if n > len(records):
        raise ValueError(
            f"{n} canaries cannot be made by giving {len(records)} records another label. "
            "Hand in more records, or plant kind='noise'."
        )
    chosen = records.take(rng.choice(len(records), n, replace=False))
    step = rng.integers(1, records.classes, size=n)
    return replace(chosen, y=(chosen.y + step) % records.classes)


def _noise(records: Records, n: int, rng: np.random.Generator) -> Records:
    low, high = _extremes(records.x)
    shape = (n, *records.x.shape[1:])
    if records.x.dtype.kind == "f":
        x = rng.uniform(low, high, shape)
    else:
        x = rng.integers(low.astype(np.int64), high.astype(np.int64), shape, endpoint=True)
    x = x.astype(records.x.dtype)
    y = rng.integers(records.classes, size=n)
    return replace(records, name=f"{records.name} noise", x=x, y=y, index=np.arange(n))


def _extremes(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The smallest and largest value of each channel of images, or of each feature of tables."""
    axes = tuple(axis for axis in range(x.ndim) if axis != 1)
    return x.min(axis=axes, keepdims=True)[0], x.max(axis=axes, keepdims=True)[0]


CANARIES: dict[str, Callable[[Records, int, np.random.Generator], Records]] = {
    "mislabelled": _mislabelled,
    "noise": _noise,
}


# What the schemes share.


def _check_enough(scheme: str, records: Records, *, parts: int) -> None:
    """Every part should have about one record of each class."""
    if not isinstance(records, Records):
        raise ValueError(f"{scheme} splits Records, found {type(records).__name__}.")
    needed = parts * records.classes
    if len(records) < needed:
        raise ValueError(
            f"{scheme} needs at least {parts} × {records.classes} = {needed} records, "
            f"but {records.name} has {len(records)}. Load more records or fewer classes."
        )


def _check_plan(n: int, **models: int) -> None:
    """Refuse more models than positions can be dealt to."""
    most = min(LARGEST_PLAN // n, MOST_MODELS)
    for what, number in models.items():
        if most < 2:
            raise ValueError(
                f"{n:,} records are more than can be dealt out. "
                f"Choose at most {LARGEST_PLAN // 2:,}."
            )
        if number > most:
            raise ValueError(
                f"{what} = {number:,} is more than fits with {n:,} records. "
                f"Choose at most {most:,}."
            )


def _shuffled(records: Records, seed: int) -> np.ndarray:
    check_range(0, np.inf, whole=True, seed=seed)
    return np.random.default_rng(int(seed)).permutation(len(records))


def _equal_parts(order: np.ndarray, parts: int) -> np.ndarray:
    """(parts, n // parts) positions; the remainder is left out."""
    used = len(order) // parts * parts
    return order[:used].reshape(parts, -1)


def _with_validation(records: Records, plan: Mapping[str, Positions], share: float) -> Sides:
    """Set the first share of every training part aside."""
    check_range(0, 1, validation=share)
    for positions in plan.values():
        aside = round(float(share) * len(positions.train))
        if aside == len(positions.train):
            raise ValueError(f"validation = {share} leaves no records to train on. Choose less.")
        positions.validation = positions.train[:aside]
        positions.train = positions.train[aside:]
    return Sides(records, plan)
