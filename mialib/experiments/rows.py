"""One row of a plan: train target and shadows, ask them, attack, measure; kept in the store.

    made = make_row(planned, attacks, facts, store)     # a MadeRow for each epoch that is watched,
                                                        # otherwise one

A row is kept as soon as it is made, so a plan that is interrupted goes on where it was. A training
that diverges gives a row, too: it says why it has no scores.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from mialib import progress, query, runs, sensitivity
from mialib.attacks import suite
from mialib.configurations import Configuration
from mialib.experiments.facts import FACTS, HISTORY, absolute_gap_gradient
from mialib.experiments.plans import PlannedRow
from mialib.foreign import read_arrays, read_json, said
from mialib.query import predict
from mialib.results.tables import Results, Row, as_ranks
from mialib.signals import Signals, loss_gap
from mialib.splits import Side
from mialib.store import Store, write_json
from mialib.training import DivergedError

ROW_VERSION = 2  # Raise it when the same models would give other rows.
ROTATIONS = (-4, 0, 4)  # degrees, as PAST's attack turns images
DIGITS = 5  # of the numbers in a history


@dataclass(frozen=True, eq=False)
class MadeRow:
    """A row, and what was found of each of n records; a row that failed has none of it.

    ranks, thresholds, losses and correct are those of `Results`, of one row.
    """

    row: Row
    attacks: tuple[str, ...]
    ranks: np.ndarray
    thresholds: np.ndarray
    losses: np.ndarray
    correct: np.ndarray
    is_member: np.ndarray


@dataclass(frozen=True, eq=False)
class Watched:
    """One model at one moment: what attacks may ask of it, and what else is told of it."""

    signals: Signals
    accuracy: dict[str, float]
    facts: dict[str, Any]


def row_key(planned: PlannedRow, attacks: Sequence[str], facts: Sequence[str]) -> str:
    """The name of the row's folder in the store."""
    content = [
        planned.configuration.key,
        [shadow.key for shadow in planned.shadows],
        planned.watch,
        list(attacks),
        list(facts),
        ROW_VERSION,
    ]
    digest = hashlib.sha256(json.dumps(content).encode()).hexdigest()
    return f"row-{digest[:24]}"


def make_row(
    planned: PlannedRow, attacks: Sequence[str], facts: Sequence[str], store: Store
) -> list[MadeRow]:
    """The row from the store, or made now."""
    key = row_key(planned, attacks, facts)
    folder = store.get(key, lambda place: _make(planned, attacks, facts, store, place))
    return read_rows(planned, folder)


def has_row(
    planned: PlannedRow, attacks: Sequence[str], facts: Sequence[str], store: Store
) -> bool:
    """Whether the store has the row."""
    return store.find(row_key(planned, attacks, facts)) is not None


def find_row(
    planned: PlannedRow, attacks: Sequence[str], facts: Sequence[str], store: Store
) -> list[MadeRow] | None:
    """The row, if the store has it."""
    folder = store.find(row_key(planned, attacks, facts))
    return None if folder is None else read_rows(planned, folder)


def read_rows(planned: PlannedRow, folder: Path) -> list[MadeRow]:
    """What `write_rows` wrote; the settings are the plan's, which may call it otherwise by now."""
    try:
        return _rows_in(planned, folder)
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{folder.name} does not hold what a row is made of: {said(error)}. "
            "Delete the folder and run the plan again."
        ) from None


def _rows_in(planned: PlannedRow, folder: Path) -> list[MadeRow]:
    described = read_json(folder / "rows.json")
    arrays = read_arrays(folder / "rows.npz")
    rows = [Row(**one) for one in described["rows"]]
    made = []
    for number, row in enumerate(rows):
        moment = {"epoch": row.settings["epoch"]} if "epoch" in row.settings else {}
        made.append(
            MadeRow(
                row=replace(row, settings=planned.settings | moment, key=folder.name),
                attacks=tuple(described["attacks"]),
                ranks=arrays["ranks"][number],
                thresholds=arrays["thresholds"][number],
                losses=arrays["losses"][number],
                correct=arrays["correct"][number],
                is_member=arrays["is_member"],
            )
        )
    return made


def rows_of(known: Results, key: str) -> list[MadeRow]:
    """The rows with this key; those of watched epochs share one."""
    return [
        MadeRow(
            row=row,
            attacks=known.attacks,
            ranks=known.ranks[number],
            thresholds=known.thresholds[number],
            losses=known.losses[number],
            correct=known.correct[number],
            is_member=known.is_member,
        )
        for number, row in enumerate(known.rows)
        if row.key == key
    ]


def _make(
    planned: PlannedRow,
    attacks: Sequence[str],
    facts: Sequence[str],
    store: Store,
    folder: Path,
) -> None:
    """Fill the row's folder."""
    try:
        made = _attacked(planned, attacks, facts, store)
    except DivergedError as error:
        made = [failed_row(planned, attacks, str(error))]
    write_rows(made, folder)


def write_rows(made: Sequence[MadeRow], folder: Path) -> None:
    rows = [asdict(one.row) for one in made]
    write_json(folder / "rows.json", {"rows": rows, "attacks": made[0].attacks})
    np.savez_compressed(
        folder / "rows.npz",
        ranks=np.stack([one.ranks for one in made]),
        thresholds=np.stack([one.thresholds for one in made]),
        losses=np.stack([one.losses for one in made]),
        correct=np.stack([one.correct for one in made]),
        is_member=made[0].is_member,
    )


def _attacked(
    planned: PlannedRow, attacks: Sequence[str], facts: Sequence[str], store: Store
) -> list[MadeRow]:
    if planned.watch:
        return _attacked_by_epoch(planned, attacks, facts, store)
    target = runs.get(planned.configuration, store=store)
    shadows = [runs.get(shadow, store=store) for shadow in planned.shadows]
    seen = _seen_run(target, attacks, facts)
    known = [_seen_run(shadow, attacks, ()).signals for shadow in shadows]
    seconds = sum(_seconds(run) for run in (target, *shadows))
    return [attack(planned, seen, known, attacks, seconds=seconds)]


def _attacked_by_epoch(
    planned: PlannedRow, attacks: Sequence[str], facts: Sequence[str], store: Store
) -> list[MadeRow]:
    """A row for each moment: the shadow of an epoch is the shadow after as many epochs."""
    started = time.perf_counter()
    target = watched_training(planned.configuration, attacks, facts, store)
    shadows = [watched_training(shadow, attacks, (), store) for shadow in planned.shadows]
    each = (time.perf_counter() - started) / len(target)
    made = []
    for epoch, seen in enumerate(target):
        known = [_at_epoch(shadow, epoch).signals for shadow in shadows]
        moment = replace(planned, settings=planned.settings | {"epoch": epoch})
        made.append(attack(moment, seen, known, attacks, seconds=each))
    return made


def _at_epoch(moments: Sequence[Watched], epoch: int) -> Watched:
    """A model that stopped early stays as it was at its end."""
    return moments[min(epoch, len(moments) - 1)]


def attack(
    planned: PlannedRow,
    target: Watched,
    shadows: list[Signals],
    attacks: Sequence[str],
    *,
    seconds: float,
) -> MadeRow:
    """Fit every attack on the shadows, and score the target's records."""
    public = target.signals.public()
    possible = [name for name in attacks if _is_for(name, public)]
    fitted = suite(public, shadow=shadows).only(possible).fit(shadow=shadows)
    ranks = []
    thresholds = []
    for one in fitted.values():
        assert one.threshold is not None  # Attacks on one shadow always fit one.
        of_records, of_threshold = as_ranks(one.score(public), one.threshold)
        ranks.append(of_records)
        thresholds.append(of_threshold)
    row = Row(
        settings=planned.settings,
        seed=planned.seed,
        accuracy=target.accuracy,
        loss_gap=loss_gap(target.signals),
        seconds=round(seconds, 3),
        facts=target.facts,
    )
    return MadeRow(
        row=row,
        attacks=tuple(fitted),
        ranks=np.stack(ranks),
        thresholds=np.array(thresholds, np.uint32),
        losses=target.signals.loss().clip(max=6e4).astype(np.float16),
        correct=target.signals.correct(),
        is_member=target.signals.truth(),
    )


def _is_for(attack_name: str, signals: Signals) -> bool:
    """Whether the records can be turned and shifted, as the attack asks: only images can."""
    asks = {"rotation": "rotations", "translation": "shifts"}
    column = asks.get(attack_name.split()[0])
    return column is None or column in signals.extra


def failed_row(planned: PlannedRow, attacks: Sequence[str], reason: str) -> MadeRow:
    """A row that says why it has no scores."""
    side = planned.configuration.side_records()
    n = len(side.train) + len(side.test)
    is_member = np.arange(n) < len(side.train)
    row = Row(planned.settings, planned.seed, {}, float("nan"), 0.0, {}, failure=reason)
    return MadeRow(
        row=row,
        attacks=tuple(attacks),
        ranks=np.zeros((len(attacks), n), np.uint16),
        thresholds=np.zeros(len(attacks), np.uint32),
        losses=np.zeros(n, np.float16),
        correct=np.zeros(n, bool),
        is_member=is_member,
    )


# Asking a model.


def ask(model: nn.Module, side: Side, attacks: Sequence[str]) -> Signals:
    """All that these attacks ask of a model; copies are turned and shifted only where they can."""
    wanted = " ".join(attacks)
    is_image = side.train.x.ndim == 4
    with progress.silent():  # Only epochs of trainings are counted.
        return query.ask(
            model,
            side,
            rotations=ROTATIONS if is_image and "rotation" in wanted else (),
            shifts=query.l1_shifts(1) if is_image and "translation" in wanted else (),
            noise="discriminator" in wanted,
            gradient="gradient" in wanted,
        )


def _seen_run(run: runs.Run, attacks: Sequence[str], facts: Sequence[str]) -> Watched:
    model = run.load_model()
    told: dict[str, Any] = _told(model, run.side, run.configuration, facts)
    if HISTORY in facts:
        told[HISTORY] = [
            {name: _rounded(value) for name, value in epoch.items()} for epoch in run.history
        ]
    return Watched(ask(model, run.side, attacks), run.metrics["accuracy"], told)


def _told(
    model: nn.Module, side: Side, configuration: Configuration, facts: Sequence[str]
) -> dict[str, Any]:
    """The facts that a model tells."""
    return {name: FACTS[name](model, side, configuration) for name in facts if name in FACTS}


def _rounded(value: Any) -> Any:
    return round(value, DIGITS) if isinstance(value, float) else value


def _seconds(run: runs.Run) -> float:
    """That this training took, and those before it."""
    own = read_json(run.folder / "provenance.json")["seconds"]
    start = run.configuration.start
    if start is None:
        return own
    return own + _seconds(runs.get(start, store=Store(run.folder.parent)))


# Every epoch of a training.


def watched_training(
    configuration: Configuration, attacks: Sequence[str], facts: Sequence[str], store: Store
) -> list[Watched]:
    """The model before the first and after every epoch of its last training."""
    side = configuration.side_records()
    start = configuration.start
    if start is None:
        model = configuration.build_model()
    else:
        model = runs.get(start, store=store).load_model()
    moments: list[Watched] = []
    gradients: list[dict] = []

    def watch(model: nn.Module, epoch: int) -> None:
        moments.append(_seen_model(model, side, configuration, attacks, facts))
        if "sensitivity" in facts:
            gradients.append(absolute_gap_gradient(model, side))
        if len(gradients) > 1:
            before, after = gradients[-2:]
            moments[-1].facts["migration"] = sensitivity.migration(before, after)
            del gradients[0]

    with runs.threads(configuration.threads):
        watch(model, 0)
        runs.fit_as_configured(configuration, model, side, on_epoch=watch)
    return moments


def _seen_model(
    model: nn.Module,
    side: Side,
    configuration: Configuration,
    attacks: Sequence[str],
    facts: Sequence[str],
) -> Watched:
    told = _told(model, side, configuration, facts)
    accuracy = {
        name: float((predict(model, part).argmax(axis=1) == part.y).mean())
        for name, part in side.parts().items()
    }
    return Watched(ask(model, side, attacks), accuracy, told)
