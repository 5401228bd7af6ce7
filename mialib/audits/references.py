"""Reference models for an audit, trained by the user's own function.

    audit(model, members, non_members, train=train)          # train(records, seed) → a model

Members and non-members are put together and dealt out: each model is trained on a random half of
them, its partner on the other half (`splits.in_out_mask`). So every record is in half of the
models, which LiRA and Attack R want; with `population=` RMIA and Attack P can be played too.
`train` is handed `Records` if it was such that the user handed in, and a pair (x, y) otherwise.

Each model is forgotten once it has answered. Its answers are kept in the store, under a key of the
function's code (`origins`), the records and the seed: asked again, nothing is trained again. Code
that cannot be told apart from other code is trained every time, and a note says so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel

from mialib import clusters, origins, progress, query, splits
from mialib.audits.answering import answers
from mialib.audits.parts import Part, inputs_of, taken
from mialib.bank import Bank
from mialib.errors import check_range
from mialib.foreign import read_arrays
from mialib.signals import Signals
from mialib.store import Store, home

FILE = "answers.npz"
VERSION = 1  # of what is kept; raise it when the same function would give other answers


class ReferenceTraining(NamedTuple):
    """How references are trained.

    train   a function (records, seed) → a trained model
    models  how many are trained, an even number
    jobs    how many processes train side by side; one per core, or one with an accelerator
    seed    of the dealing; model k is trained with seed + k
    """

    train: Callable[[Any, int], Any]
    models: int = 8
    jobs: int | None = None
    seed: int = 0

    def check(self) -> None:
        if not callable(self.train):
            raise ValueError(
                f"train must be a function (records, seed) → model, found {self.train!r}."
            )
        check_range(4, 10_000, whole=True, trainings=self.models)
        if self.jobs is not None:
            check_range(1, 10_000, whole=True, jobs=self.jobs)


class Question(NamedTuple):
    """What every reference is asked about."""

    inside: Part
    outside: Part
    population: Part | None


def train_references(
    training: ReferenceTraining,
    inside: Part,
    outside: Part,
    population: Part | None,
    target: Signals,
    notes: list[str],
) -> Bank:
    """A bank of references on members and non-members, in this order."""
    question = Question(inside, outside, population)
    is_in = splits.in_out_mask(len(target), int(training.models), seed=training.seed)
    identity = _identity(training.train, question, notes)
    jobs = training.jobs
    if jobs is None:
        jobs = -1 if query.pick_device().type == "cpu" else 1
    task = clusters.task(_answers_of_one)
    # One after the other, because on a cluster each carries all records with it.
    work = (
        task(training.train, question, mask, training.seed + number, identity)
        for number, mask in enumerate(is_in)
    )
    workers = Parallel(n_jobs=jobs, return_as="generator")
    found = []
    with progress.bar("references", total=len(is_in), unit="model") as advance:
        for answered in workers(work):
            found.append(answered)
            advance()
    notes.append(
        f"{len(is_in)} references were trained on random halves of members and non-members, "
        f"{int(is_in[0].sum()):,} records each."
    )
    return _as_bank(found, is_in, target)


def _as_bank(found: list[dict[str, np.ndarray]], is_in: np.ndarray, target: Signals) -> Bank:
    logits = np.stack([one["logits"] for one in found])
    if logits.shape[2] != target.logits.shape[1]:
        raise ValueError(
            f"train gave models with {logits.shape[2]} outputs, the audited model has "
            f"{target.logits.shape[1]}. Train them on the same task."
        )
    population = None
    if target.population is not None:
        on_population = np.stack([one["population"] for one in found])
        nobody = np.zeros(on_population.shape[:2], bool)
        population = Bank(on_population, target.population.labels, nobody)
    return Bank(logits, target.labels, is_in, population=population)


def _answers_of_one(
    train: Callable[[Any, int], Any],
    question: Question,
    is_in: np.ndarray,
    seed: int,
    identity: str | None,
) -> dict[str, np.ndarray]:
    """What one reference answers: from the store, or trained now."""
    if identity is None:
        return _trained(train, question, is_in, seed)
    digest = hashlib.sha256(f"{identity} {seed}".encode())
    digest.update(np.packbits(is_in).tobytes())
    key = f"reference-{digest.hexdigest()[:24]}"
    make = partial(_fill, train, question, is_in, seed)
    folder = Store(home() / "audits").get(key, make)
    return read_arrays(folder / FILE)


def _fill(
    train: Callable[[Any, int], Any],
    question: Question,
    is_in: np.ndarray,
    seed: int,
    folder: Path,
) -> None:
    """Train one reference, and write what it answers."""
    arrays: dict[str, Any] = _trained(train, question, is_in, seed)
    np.savez(folder / FILE, **arrays)


def _trained(
    train: Callable[[Any, int], Any], question: Question, is_in: np.ndarray, seed: int
) -> dict[str, np.ndarray]:
    parts = (question.inside, question.outside)
    model = train(taken(parts, is_in), seed)
    if model is None:
        raise ValueError("train must return the model that it has trained, found None.")
    found = {"logits": answers(model, parts, []).logits}
    if question.population is not None:
        found["population"] = answers(model, (question.population,), []).logits
    return found


def _identity(train: Callable[[Any, int], Any], question: Question, notes: list[str]) -> str | None:
    """A hash of the function and of all records; None where they cannot be told from others."""
    digest = hashlib.sha256()
    try:
        digest.update(f"{VERSION} {origins.code_hash(train)}".encode())
    except origins.UntraceableError as error:
        notes.append(f"References are trained anew in every audit: {error}.")
        return None
    asked: list[tuple[Part, ...]] = [(question.inside, question.outside)]
    if question.population is not None:
        asked.append((question.population,))
    for parts in asked:
        inputs = inputs_of(parts, [])
        if inputs is None:
            notes.append("References are trained anew in every audit: the inputs are no numbers.")
            return None
        digest.update(np.ascontiguousarray(inputs).data)
        for part in parts:
            digest.update(repr(part.y.tolist()).encode())
    return digest.hexdigest()
