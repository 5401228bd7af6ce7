"""What an attacker observes of one model: arrays only, whatever the model was.

    signals = Signals(logits, labels, is_member)        # (n, classes), (n,), (n,)
    signals.loss(), signals.phi()                       # what most attacks look at
    signals.public()                                    # what the attacker of this model may see
    Signals.from_probabilities(softmax, labels)         # where only probabilities are known

`mialib.query` makes such a table from a torch model. Introduced in notebook 01.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from mialib.errors import as_array, check_range
from mialib.foreign import listed, read_arrays, write_arrays

# The kind of each column (see `as_array`), and its name in a file.
KINDS = {"logits": "biuf", "labels": "iu", "is_member": "b", "record_index": "iu"}
NAMES_IN_FILES = {
    "logits": "logits",
    "labels": "labels",
    "is_member": "is_member",
    "record_index": "record",
}
EXTRA_IN_FILES = "more."  # what stands before the name of an extra column
# Numbers that are worked on at once: 128 KB of float64, which a cache holds and the system need not
# hand out anew for every slice.
AT_A_TIME = 2**14
FEWEST_AT_A_TIME = 256  # records in a slice, however many numbers each has


@dataclass(frozen=True, eq=False)
class Signals:
    """What one model shows, one row per record.

    Attacks read all of it but `is_member` of the *target*, which is for the metrics alone;
    `public()` is the table without it.

    logits        (n, classes): the model's outputs before the softmax
    labels        (n,): the true class of each record
    is_member     (n,) bool: whether the model was trained on the record, if that is known
    record_index  (n,): the record's place in its dataset, if it has one
    extra         name → (n, …): what some attacks also ask for, such as "noise" or "rotations"
    population    the same model's signals on records that are surely nobody's members
    """

    logits: np.ndarray
    labels: np.ndarray
    is_member: np.ndarray | None = None
    record_index: np.ndarray | None = None
    extra: dict[str, np.ndarray] = field(default_factory=dict)
    population: Signals | None = None

    def __post_init__(self):
        for name, kind in KINDS.items():
            column = getattr(self, name)
            if column is not None or name in ("logits", "labels"):
                object.__setattr__(self, name, as_array(column, kind=kind, what=name))
        object.__setattr__(self, "extra", _extra_columns(self.extra))
        self._check_logits()
        self._check_lengths()
        self._check_population()

    def _check_logits(self) -> None:
        logits = self.logits
        labels = self.labels
        if logits.ndim != 2 or labels.shape != logits.shape[:1] or labels.size == 0:
            raise ValueError(
                "Signals need logits (n, classes) and n ≥ 1 labels, "
                f"found shapes {logits.shape} and {labels.shape}."
            )
        check_labels(labels, logits.shape[1])
        is_bad = ~np.isfinite(logits).all(axis=1)
        if is_bad.any():
            raise ValueError(
                f"{is_bad.sum()} of {len(labels)} records have NaN or infinite logits "
                f"(the first is row {is_bad.argmax()}): the model diverged. "
                "Train it with a lower rate, or leave those records out."
            )
        check_not_probabilities(logits)

    def _check_lengths(self) -> None:
        n = len(self.labels)
        for name, column in (self._columns() | self.extra).items():
            if column.shape[:1] != (n,):
                raise ValueError(
                    f"{name} must have one entry for each of the {n} records, "
                    f"found shape {column.shape}."
                )
        for name in ("is_member", "record_index"):
            column = getattr(self, name)
            if column is not None and column.ndim != 1:
                raise ValueError(f"{name} must have shape ({n},), found {column.shape}.")

    def _check_population(self) -> None:
        if self.population is None:
            return
        if not isinstance(self.population, Signals):
            found = type(self.population).__name__
            raise ValueError(f"The population must be Signals of the same model, found {found}.")
        classes = self.logits.shape[1]
        found = self.population.logits.shape[1]
        if found != classes:
            raise ValueError(
                f"The population needs answers of the same model in {classes} classes, "
                f"found {found}."
            )

    @classmethod
    def from_probabilities(
        cls, probabilities: ArrayLike, labels: ArrayLike, **columns: Any
    ) -> Signals:
        """The signals of a model of which the softmax outputs (n, classes) are known.

        The logits are log p, which give the same loss and the same φ. A probability that was
        rounded to 0 is taken for the smallest number there is. The columns are those of `Signals`.

        >>> Signals.from_probabilities([[0.9, 0.1]], [0]).probabilities()
        array([[0.9, 0.1]])
        """
        array = as_array(probabilities, what="probabilities").astype(np.float64)
        if array.ndim != 2 or array.shape[1] < 2 or not _are_probabilities(array):
            raise ValueError(
                "Probabilities must be numbers from 0 to 1 in rows (n, classes) that sum to 1, "
                f"with 2 classes or more; found shape {array.shape}. "
                "Logits go into Signals(logits, labels)."
            )
        smallest = np.finfo(np.float64).tiny
        logits = np.log(np.maximum(array, smallest))
        return cls(logits, as_array(labels, kind="iu", what="labels"), **columns)

    def __len__(self) -> int:
        return len(self.labels)

    # What follows from the logits.

    def loss(self) -> np.ndarray:
        """Cross-entropy of each record, in nats: (n,)."""

        def minus_own(log_p: np.ndarray, labels: np.ndarray) -> np.ndarray:
            return -log_p[np.arange(len(labels)), labels]

        return self.in_slices(minus_own)

    def log_probabilities(self) -> np.ndarray:
        """Log-softmax of the logits in float64: (n, classes)."""
        return _log_softmax(self.logits)

    def probabilities(self) -> np.ndarray:
        """Softmax of the logits: (n, classes)."""
        return np.exp(self.log_probabilities())

    def in_slices(self, function: PerRecord) -> np.ndarray:
        """One number per record from log-probabilities (k, classes) and labels (k,): (n,).

        `function` is handed k records at a time, so that there is never a second table as large as
        the logits.
        """
        numbers = [
            function(_log_softmax(self.logits[records]), self.labels[records])
            for records in record_slices(len(self), width=self.logits.shape[1])
        ]
        return np.concatenate(numbers)

    def phi(self) -> np.ndarray:
        """LiRA's φ of each record, and of its other views if there are any: (queries, n)."""
        own = phi_of_checked(self.logits, self.labels)
        if "views" not in self.extra:
            return own[None]
        views = self.extra["views"].astype(np.float64)  # (n, views)
        if views.ndim != 2 or not np.isfinite(views).all():
            raise ValueError(
                f"views must be finite numbers ({len(self)}, views), found shape {views.shape}."
            )
        return np.vstack([own, views.T])

    def correct(self) -> np.ndarray:
        """Whether the model predicts each record's label: (n,) bool."""
        return self.logits.argmax(axis=1) == self.labels

    # Parts of the table.

    def column(self, name: str) -> np.ndarray:
        """One of `extra`, or an error that says how to get it."""
        if not isinstance(name, str) or name not in self.extra:
            there = ", ".join(self.extra) or "logits"
            raise ValueError(
                f"These signals have no {name!r}, only {there}. "
                "Ask the model for it: mialib.query.ask, or Run.ask."
            )
        return self.extra[name]

    def public(self) -> Signals:
        """What the attacker of this model may see: everything but membership."""
        return replace(self, is_member=None)

    def members(self) -> Signals:
        is_member = self.truth()
        if not is_member.any():
            raise ValueError(f"None of these {len(self)} records is a member.")
        return self.take(is_member)

    def non_members(self) -> Signals:
        is_member = self.truth()
        if is_member.all():
            raise ValueError(f"All of these {len(self)} records are members.")
        return self.take(~is_member)

    def truth(self) -> np.ndarray:
        """`is_member`, or an error if these are signals without it."""
        if self.is_member is None:
            raise ValueError(
                "These signals do not say who is a member. Use the table before `public()`."
            )
        return self.is_member

    def take(self, rows: ArrayLike | slice) -> Signals:
        """Some of the records, by a mask or by their positions."""
        rows = as_rows(rows, len(self))
        columns = {name: column[rows] for name, column in self._columns().items()}
        extra = {name: column[rows] for name, column in self.extra.items()}
        return replace(self, **columns, extra=extra)

    # Files.

    def save(self, path: Path) -> None:
        """Write an `.npz` without pickle; the population is left out."""
        arrays: dict[str, Any] = {}
        for name, column in self._columns().items():
            arrays[NAMES_IN_FILES[name]] = column
        for name, column in self.extra.items():
            arrays[EXTRA_IN_FILES + name] = column
        write_arrays(path, arrays)

    @classmethod
    def read(cls, path: Path) -> Signals:
        arrays: dict[str, Any] = read_arrays(path)
        if not {"logits", "labels"} <= set(arrays):
            raise ValueError(
                f"{path} holds no signals: it has no logits and labels, only {listed(arrays)}."
            )
        columns = {
            name: arrays[in_file] for name, in_file in NAMES_IN_FILES.items() if in_file in arrays
        }
        extra = {
            in_file.removeprefix(EXTRA_IN_FILES): column
            for in_file, column in arrays.items()
            if in_file.startswith(EXTRA_IN_FILES)
        }
        return cls(**columns, extra=extra)

    def _columns(self) -> dict[str, np.ndarray]:
        """The columns that are there, by name; `extra` aside."""
        columns = {name: getattr(self, name) for name in KINDS}
        return {name: column for name, column in columns.items() if column is not None}


Shadows = Signals | Sequence[Signals]  # one shadow, or several
PerRecord = Callable[[np.ndarray, np.ndarray], np.ndarray]  # log p and labels → (k,)


def pool(shadows: Shadows) -> Signals:
    """Several shadows' records as one table; one shadow stays as it is."""
    if isinstance(shadows, Signals):
        return shadows
    if not isinstance(shadows, Sequence) or isinstance(shadows, str):
        found = type(shadows).__name__
        raise ValueError(f"Shadows are Signals, or a list of them, found {found}.")
    if not shadows:
        raise ValueError("At least one shadow is needed.")
    for shadow in shadows:
        if not isinstance(shadow, Signals):
            found = type(shadow).__name__
            raise ValueError(f"Every shadow must be Signals, found {found}.")
    if len({shadow.logits.shape[1] for shadow in shadows}) > 1:
        raise ValueError(
            "The shadows have different numbers of classes. Train them all on the target's task."
        )
    common = set.intersection(*(set(shadow.extra) for shadow in shadows))
    extra = {
        name: np.concatenate([shadow.extra[name] for shadow in shadows]) for name in sorted(common)
    }
    return Signals(
        logits=np.concatenate([shadow.logits for shadow in shadows]),
        labels=np.concatenate([shadow.labels for shadow in shadows]),
        is_member=np.concatenate([shadow.truth() for shadow in shadows]),
        extra=extra,
    )


def phi_from_logits(logits: ArrayLike, labels: ArrayLike) -> np.ndarray:
    """LiRA's φ = log p_y − log Σ_{i≠y} p_i of each record: (n,).

    From logits, so that it stays finite where p_y rounds to 1.

    >>> phi_from_logits([[800.0, 0.0]], [0])
    array([800.])
    """
    checked = Signals(as_array(logits, what="logits"), as_array(labels, kind="iu", what="labels"))
    return phi_of_checked(checked.logits, checked.labels)


def phi_of_checked(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """φ of logits (n, classes) and labels (n,) that were checked before: (n,)."""
    if logits.shape[1] < 2:
        raise ValueError("φ compares the label's class with the others; one class alone has none.")
    phi = np.empty(len(labels))
    for records in record_slices(len(labels), width=logits.shape[1]):
        phi[records] = _phi_of_slice(logits[records], labels[records])
    return phi


def _phi_of_slice(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    rows = np.arange(len(labels))
    others = np.array(logits, np.float64)  # A copy, in which the label's own class is struck out.
    own = others[rows, labels]
    others[rows, labels] = -np.inf
    # SciPy's logsumexp also looks for infinities and signs, which takes longer than the sum itself.
    largest = others.max(axis=1)
    others -= largest[:, None]
    sums = np.exp(others, out=others).sum(axis=1)
    return own - largest - np.log(sums)


def _log_softmax(logits: np.ndarray) -> np.ndarray:
    return scipy.special.log_softmax(logits.astype(np.float64), axis=1)


def record_slices(n: int, *, width: int) -> Iterator[slice]:
    """Slices of n records, nearly alike in length, of about `AT_A_TIME` numbers each.

    `width` is how many numbers a record has: classes, or reference models. Work on one slice after
    another needs little memory, and what it works on stays in the processor's cache.

    >>> list(record_slices(750, width=2**18))
    [slice(0, 250, None), slice(250, 500, None), slice(500, 750, None)]
    """
    longest = max(AT_A_TIME // width, FEWEST_AT_A_TIME)
    count = max(-(-n // longest), 1)
    ends = [n * place // count for place in range(count + 1)]
    for start, stop in pairwise(ends):
        yield slice(start, stop)


def loss_gap(signals: Signals) -> float:
    """Mean loss of non-members minus mean loss of members (PAST's G, before its absolute value)."""
    if not isinstance(signals, Signals):
        raise ValueError(f"The loss gap is one of Signals, found {type(signals).__name__}.")
    member_loss = signals.members().loss()
    non_member_loss = signals.non_members().loss()
    return float(non_member_loss.mean() - member_loss.mean())


# What is checked of tables that users hand in.


def check_labels(labels: ArrayLike, classes: int) -> None:
    """Refuse labels that are not the number of one of the classes."""
    check_range(1, np.inf, whole=True, classes=classes)
    labels = as_array(labels, kind="iu", what="labels")
    if labels.size == 0:
        return
    first = labels.min()
    last = labels.max()
    if first < 0 or last >= classes:
        raise ValueError(
            f"Labels must lie in 0 … {classes - 1}, one for each column of the logits; "
            f"found labels from {first} to {last}."
        )


def check_not_probabilities(logits: ArrayLike) -> None:
    """Refuse a softmax's outputs (…, classes), of which φ and the loss would come out wrong."""
    rows = as_array(logits, what="logits")
    if rows.ndim >= 2 and rows.shape[-1] >= 2 and _are_probabilities(rows):
        raise ValueError(
            "These logits are probabilities: no number is negative, and every row sums to 1. "
            "Hand in the model's outputs before the softmax, "
            "or use Signals.from_probabilities(probabilities, labels)."
        )


def _are_probabilities(rows: np.ndarray) -> bool:
    """Whether no number is negative and every row (…, classes) sums to 1."""
    if rows.size == 0 or rows[0].min() < 0:  # The first of them settles it for nearly all logits.
        return False
    if rows.min() < 0:
        return False
    # Rounding to bfloat16 moves a sum by 0.4 %. A few logits may come as near to 1 by chance, so
    # small tables must be nearer.
    is_small = rows.size < 10 * rows.shape[-1]
    tolerance = 1e-4 if is_small else 1e-2
    sums = rows.sum(axis=-1, dtype=np.float64)
    return bool((np.abs(sums - 1) <= tolerance).all())


def as_rows(rows: ArrayLike | slice, n: int, *, what: str = "rows") -> np.ndarray | slice:
    """`rows` as an index into n of something: a slice, a mask (n,) or positions in −n … n − 1."""
    check_range(0, np.inf, whole=True, n=n)
    if isinstance(rows, slice):
        return _as_slice(rows, what)
    array = as_array(rows, kind="biuf", what=what)
    if array.size == 0:
        array = array.astype(np.int64)  # An empty list is one of floats to NumPy.
    if array.dtype.kind == "b":
        if array.shape != (n,):
            raise ValueError(f"A mask of {what} must have shape ({n},), found {array.shape}.")
        return array
    array = as_array(array, kind="iu", what=what)
    if array.ndim != 1 or ((array < -n) | (array >= n)).any():
        raise ValueError(
            f"{what} must be a mask or positions in 0 … {n - 1}, one after the other, "
            f"found shape {array.shape}, {_range_of(array)}."
        )
    return array


def _as_slice(rows: slice, what: str) -> slice:
    try:
        rows.indices(1)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} must be a slice of whole numbers, found {rows}.") from error
    return rows


def _range_of(positions: np.ndarray) -> str:
    return f"from {positions.min()} to {positions.max()}" if positions.size else "nothing"


def _extra_columns(extra: Any) -> dict[str, np.ndarray]:
    if not isinstance(extra, Mapping):
        found = type(extra).__name__
        raise ValueError(f"extra must be columns by their names, as in a dict, found {found}.")
    for name in extra:
        if not isinstance(name, str):
            raise ValueError(f"The columns of extra must have names, found {name!r}.")
    return {name: as_array(column, what=name) for name, column in extra.items()}
