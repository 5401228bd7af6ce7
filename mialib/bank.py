"""The signals of many models on the same records, and which model holds which record.

Any model can play the target while the others are its references (`attacks.game(bank, target=k)`). The course ships
one bank, `load("letters")`, made by tools/bank.py; its provenance lies beside it. Introduced in notebook 03."""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from mialib import shipped
from mialib.errors import as_array, refuse
from mialib.signals import Signals


@dataclass(frozen=True, eq=False)
class Bank:
    """`logits` (models, n, classes), `labels` (n,), `is_member` (models, n) bool; `views` (models, more queries, n): φ
    of other views; `population`: the same models on records that none of them holds; `x`: the records, for pictures."""

    logits: np.ndarray
    labels: np.ndarray
    is_member: np.ndarray
    views: np.ndarray | None = None
    population: "Bank | None" = None
    x: np.ndarray | None = None

    def __post_init__(self):
        for name, kind in (
            ("logits", "biuf"),
            ("labels", "iu"),
            ("is_member", "b"),
            ("views", "biuf"),
        ):
            if (array := getattr(self, name)) is not None:
                object.__setattr__(self, name, as_array(array, kind=kind, what=name))
        logits, labels, held, views = self.logits, self.labels, self.is_member, self.views
        fit = (
            logits.ndim == 3
            and logits.shape[:2] == held.shape
            and labels.shape == held.shape[1:]
            and held.size
        )
        found = f"found shapes {logits.shape}, {labels.shape} and {held.shape}"
        refuse(
            not fit,
            f"A bank needs logits (models, n, classes), labels (n,) and is_member (models, n), {found}.",
        )
        models, n, classes = logits.shape
        if views is not None:
            fit = views.ndim == 3 and views.shape[::2] == (models, n) and np.isfinite(views).all()
            refuse(
                not fit,
                f"views must be finite numbers ({models}, queries, {n}), found {views.shape}.",
            )
        if self.x is not None:
            refuse(
                len(self.x) != n,
                f"x must have one entry for each of the {n} records, found {len(self.x)}.",
            )
        if self.population:
            found, expected = (
                self.population.logits.shape[::2],
                f"{models} models in the same {classes} classes",
            )
            refuse(
                found != (models, classes),
                f"The population needs answers of the same {expected}, found {found}.",
            )

    def __len__(self) -> int:
        return len(self.is_member)

    def __repr__(self) -> str:
        models, n, classes = self.logits.shape
        queries = "1 query" if self.views is None else f"{1 + self.views.shape[1]} queries"
        extra = f"; population {len(self.population.labels):,}" if self.population else ""
        return f"<Bank of {models} models on {n:,} records of {classes} classes, {queries} each{extra}>"

    def signals(self, model: int) -> Signals:
        """What one of the models shows, with its membership and its answers on the population."""
        more = {} if self.views is None else {"views": self.views[model].T}
        population = self.population.signals(model).public() if self.population else None
        return Signals(
            self.logits[model], self.labels, self.is_member[model], more=more, population=population
        )

    @cached_property
    def confidence(self) -> np.ndarray:
        """φ of every model on every view: (models, queries, n)."""
        return np.stack([self.signals(model).confidence() for model in range(len(self))])

    def take(
        self, models: np.ndarray | list[int], records: np.ndarray | slice = slice(None)
    ) -> "Bank":
        """Some of the models on some of the records; the population stays whole."""
        logits, is_member = (table[models][:, records] for table in (self.logits, self.is_member))
        views = None if self.views is None else self.views[models][:, :, records]
        population = self.population.take(models) if self.population else None
        x = None if self.x is None else self.x[records]
        taken = Bank(logits, self.labels[records], is_member, views, population, x)
        vars(taken)["confidence"] = self.confidence[models][
            :, :, records
        ]  # Computed once for all games.
        return taken

    def save(self, path: Path) -> None:
        """Write an `.npz` without pickle, the population's arrays beside the others."""
        names = ("logits", "labels", "is_member", "views", "x")
        kept = {name: getattr(self, name) for name in names}
        if self.population:
            kept |= {
                f"population.{name}": getattr(self.population, name)
                for name in names
                if name != "is_member"
            }
        np.savez_compressed(
            path, **{name: array for name, array in kept.items() if array is not None}
        )

    @classmethod
    def read(cls, path: Path) -> "Bank":
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
        extra = {name.partition(".")[2]: arrays.pop(name) for name in list(arrays) if "." in name}
        if extra:
            extra = {
                "population": cls(**extra, is_member=np.zeros(extra["logits"].shape[:2], bool))
            }
        return cls(**arrays, **extra)


def load(name: str = "letters", *, views: bool = False) -> Bank:
    """The shipped bank called `name`; with `views`, also the models' answers on shifted records."""
    bank = Bank.read(shipped.find("signal bank", "bank", name))
    return (
        bank
        if views
        else replace(bank, views=None, population=replace(bank.population, views=None))
    )
