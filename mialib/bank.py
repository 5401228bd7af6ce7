"""The signals of many models on the same records, and which model holds which record.

    letters = load("letters")                       # 64 models on 2,400 records
    letters.signals(7)                              # what model 7 shows
    letters.phi                                     # LiRA's φ: (models, queries, n)
    attacks.game(letters, target=7)                 # model 7 plays the target

The course ships banks that `mialib bank` made (`experiments.banks`); what each was made of lies
beside it. Introduced in notebook 03.
"""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mialib import shipped
from mialib.errors import as_array, check_flag, check_range
from mialib.foreign import listed, read_arrays, write_arrays
from mialib.signals import (
    Signals,
    as_rows,
    check_labels,
    check_not_probabilities,
    phi_of_checked,
)

KINDS = {"logits": "biuf", "labels": "iu", "is_member": "b", "views": "biuf", "x": "biuf"}
POPULATION_IN_FILES = "population."  # what stands before the name of one of its arrays


@dataclass(frozen=True, eq=False)
class Bank:
    """Models and records in one table each.

    logits      (models, n, classes): every model's answer on every record
    labels      (n,): the true class of each record
    is_member   (models, n) bool: which model was trained on which record
    views       (models, views, n): φ of other views of the records, if models were asked about them
    population  the same models on records that none of them holds
    x           the records themselves, for pictures
    known_phi   `phi`, where it is known already; `replace` forgets it, because arrays may change
    """

    logits: np.ndarray
    labels: np.ndarray
    is_member: np.ndarray
    views: np.ndarray | None = None
    population: Bank | None = None
    x: np.ndarray | None = None
    known_phi: InitVar[np.ndarray | None] = None
    _known_phi: np.ndarray | None = field(init=False, repr=False)

    def __post_init__(self, known_phi: np.ndarray | None):
        for name, kind in KINDS.items():
            array = getattr(self, name)
            if array is not None or name in ("logits", "labels", "is_member"):
                object.__setattr__(self, name, as_array(array, kind=kind, what=name))
        if known_phi is not None:
            known_phi = as_array(known_phi, kind="f", what="known_phi")
        object.__setattr__(self, "_known_phi", known_phi)
        self._check_shapes()
        self._check_logits()
        self._check_views()
        self._check_population()
        self._check_phi()

    def _check_shapes(self) -> None:
        models_and_records = self.is_member.shape
        if (
            self.logits.ndim != 3
            or self.logits.shape[:2] != models_and_records
            or self.labels.shape != models_and_records[1:]
            or self.is_member.size == 0
        ):
            shapes = f"{self.logits.shape}, {self.labels.shape} and {models_and_records}"
            raise ValueError(
                "A bank needs logits (models, n, classes), labels (n,) and is_member (models, n), "
                f"found shapes {shapes}."
            )
        n = len(self.labels)
        if self.x is not None and self.x.shape[:1] != (n,):
            raise ValueError(
                f"x must have one entry for each of the {n} records, found shape {self.x.shape}."
            )

    def _check_logits(self) -> None:
        check_labels(self.labels, self.logits.shape[2])
        # One model after another: a mask of all would be half as large as the logits.
        is_bad = np.array([not np.isfinite(logits).all() for logits in self.logits])
        if is_bad.any():
            raise ValueError(
                f"{is_bad.sum()} of {len(self)} models have NaN or infinite logits (the first is "
                f"number {is_bad.argmax()}): they diverged. Train them anew, or leave them out."
            )
        check_not_probabilities(self.logits)

    def _check_views(self) -> None:
        if self.views is None:
            return
        models, n = self.is_member.shape
        shape = self.views.shape
        fits = self.views.ndim == 3 and shape[0] == models and shape[2] == n
        if not fits or not np.isfinite(self.views).all():
            raise ValueError(f"views must be finite numbers ({models}, views, {n}), found {shape}.")

    def _check_population(self) -> None:
        if self.population is None:
            return
        if not isinstance(self.population, Bank):
            found = type(self.population).__name__
            raise ValueError(f"The population must be a bank of the same models, found {found}.")
        models, _, classes = self.logits.shape
        found_models, _, found_classes = self.population.logits.shape
        if (found_models, found_classes) != (models, classes):
            raise ValueError(
                f"The population needs answers of the same {models} models in the same {classes} "
                f"classes, found {found_models} models in {found_classes}."
            )

    def _check_phi(self) -> None:
        if self._known_phi is None:
            return
        models, n = self.is_member.shape
        queries = 1 if self.views is None else 1 + self.views.shape[1]
        found = np.shape(self._known_phi)
        if found != (models, queries, n):
            raise ValueError(f"known_phi must have shape {(models, queries, n)}, found {found}.")

    def __len__(self) -> int:
        return len(self.is_member)

    def __repr__(self) -> str:
        models, n, classes = self.logits.shape
        queries = "1 query" if self.views is None else f"{1 + self.views.shape[1]} queries"
        others = ""
        if self.population is not None:
            others = f"; population {len(self.population.labels):,}"
        return (
            f"<Bank of {models} models on {n:,} records of {classes} classes, "
            f"{queries} each{others}>"
        )

    def signals(self, model: int) -> Signals:
        """What one of the models shows, with its membership and its answers on the population."""
        check_range(-len(self), len(self) - 1, whole=True, model=model)
        extra = {}
        if self.views is not None:
            extra["views"] = self.views[model].T  # (views, n) → (n, views)
        population = None
        if self.population is not None:
            population = self.population.signals(model).public()
        return Signals(
            logits=self.logits[model],
            labels=self.labels,
            is_member=self.is_member[model],
            extra=extra,
            population=population,
        )

    @cached_property
    def phi(self) -> np.ndarray:
        """LiRA's φ of every model on every view: (models, queries, n)."""
        if self._known_phi is not None:
            return self._known_phi
        models, n = self.is_member.shape
        queries = 1 if self.views is None else 1 + self.views.shape[1]
        phi = np.empty((models, queries, n))
        for model in range(models):
            phi[model, 0] = phi_of_checked(self.logits[model], self.labels)
        if self.views is not None:
            phi[:, 1:] = self.views
        return phi

    def take(
        self, models: ArrayLike | slice | range, records: ArrayLike | slice = slice(None)
    ) -> Bank:
        """Some of the models on some of the records; the population stays whole."""
        models = as_rows(models, len(self), what="models")
        records = as_rows(records, len(self.labels), what="records")
        return Bank(
            logits=_part(self.logits, models, records),
            labels=self.labels[records],
            is_member=_part(self.is_member, models, records),
            views=None if self.views is None else self.views[models][:, :, records],
            population=None if self.population is None else self.population.take(models),
            x=None if self.x is None else self.x[records],
            known_phi=self.phi[models][:, :, records],  # computed once for all games
        )

    def save(self, path: Path) -> None:
        """Write an `.npz` without pickle, the population's arrays beside the others."""
        arrays: dict[str, Any] = self._arrays()
        if self.population is not None:
            for name, array in self.population._arrays().items():
                if name != "is_member":  # Nobody holds its records.
                    arrays[POPULATION_IN_FILES + name] = array
        write_arrays(path, arrays, packed=True)

    @classmethod
    def read(cls, path: Path) -> Bank:
        arrays: dict[str, Any] = read_arrays(path)
        own = {name: arrays[name] for name in KINDS if name in arrays}
        others = {
            name: arrays[POPULATION_IN_FILES + name]
            for name in KINDS
            if POPULATION_IN_FILES + name in arrays
        }
        if not {"logits", "labels", "is_member"} <= set(own):
            raise ValueError(
                f"{path} holds no bank: it lacks logits, labels or is_member; "
                f"it has {listed(arrays)}."
            )
        if not others:
            return cls(**own)
        if set(others) & {"logits", "labels", "is_member"} != {"logits", "labels"}:
            raise ValueError(
                f"{path} holds no bank: its population needs logits and labels, and is nobody's; "
                f"it has {listed(others)}."
            )
        nobody = np.zeros(others["logits"].shape[:2], bool)
        return cls(**own, population=cls(**others, is_member=nobody))

    def _arrays(self) -> dict[str, np.ndarray]:
        """The arrays that are there, by name."""
        arrays = {name: getattr(self, name) for name in KINDS}
        return {name: array for name, array in arrays.items() if array is not None}


def _part(table: np.ndarray, models: np.ndarray | slice, records: np.ndarray | slice) -> np.ndarray:
    """Some models and records of a table (models, n, …), without a copy on the way."""
    if isinstance(models, slice) or isinstance(records, slice):
        return table[models][:, records]  # A slice is no copy.
    return table[np.ix_(np.arange(len(table))[models], np.arange(table.shape[1])[records])]


def load(name: str = "letters", *, views: bool = False) -> Bank:
    """The shipped bank called `name`; with `views`, also the models' answers on shifted records."""
    check_flag(views=views)
    bank = Bank.read(shipped.find("signal bank", "bank", name))
    return bank if views else without_views(bank)


def without_views(bank: Bank) -> Bank:
    """The bank as if its models had been asked about each record once, as it is."""
    if not isinstance(bank, Bank):
        raise TypeError(f"Expected a Bank, found {type(bank).__name__}.")
    population = bank.population
    if population is not None:
        population = replace(population, views=None)
    return replace(bank, views=None, population=population)
