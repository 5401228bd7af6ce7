"""Run a plan: train what is missing, attack, and write one results file.

    run("past", "quick")                # through the store, side by side; resumes after a kill
    finished("past", "quick")           # what is there so far, without training anything
    results("past", "quick")            # one's own file, or the one that ships

One's own results lie in `home()/results/PROFILE/PLAN.npz`; the shipped ones in `mialib/shipped`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from joblib import Parallel

from mialib import __version__, clusters, progress, runs, shipped
from mialib.configurations import CODE_VERSION, Configuration
from mialib.data import short_name
from mialib.errors import check_choice, check_range
from mialib.experiments import plans
from mialib.experiments.plans import Plan, PlannedRow
from mialib.experiments.rows import (
    MadeRow,
    find_row,
    has_row,
    make_row,
    row_key,
    rows_of,
    write_rows,
)
from mialib.query import members_then_nonmembers, pick_device
from mialib.results.tables import RECORDS, Results
from mialib.runs import Attempt, Failure
from mialib.store import Store, as_store, home


class Work(NamedTuple):
    """Rows that are to be made, and the trainings that they need."""

    rows: list[PlannedRow]
    trainings: int
    # Of each row; a training that several rows share counts with the first of them.
    epochs_by_row: list[int]

    @property
    def epochs(self) -> int:
        return sum(self.epochs_by_row)

    def __str__(self) -> str:
        return f"{len(self.rows)} rows, {self.trainings} trainings of {self.epochs:,} epochs in all"


def run(
    name: str,
    profile: str,
    *,
    seeds: int | None = None,
    data: str | None = None,
    jobs: int | None = None,
    store: Store | None = None,
) -> Results:
    """Do what is missing of a plan, write its results file, and return what is in it.

    A training that diverges becomes a row that says so; the others go on. If another error ends a
    row, the others are made and kept all the same; then a `RunsFailedError` names those that
    failed.
    """
    plan = plans.load(name, profile)
    store = as_store(store)
    planned = plan.rows(seeds=seeds, data=data)
    restore(plan, planned, store)
    make_all(plan, missing(plan, planned, store), store, jobs=jobs)
    return write(plan, planned, store)


def finished(
    name: str,
    profile: str,
    *,
    seeds: int | None = None,
    data: str | None = None,
    store: Store | None = None,
) -> Results:
    """The rows that the store has already; it trains nothing, and writes nothing."""
    plan = plans.load(name, profile)
    return gather(plan, plan.rows(seeds=seeds, data=data), as_store(store))


def write(plan: Plan, planned: Sequence[PlannedRow], store: Store) -> Results:
    """The rows that the store has, written to the plan's results file."""
    gathered = gather(plan, planned, store)
    gathered.save(own_path(plan.name, plan.profile))
    return gathered


def restore(plan: Plan, planned: Sequence[PlannedRow], store: Store) -> None:
    """Put the rows of results files into the store: they may come from another machine."""
    for path in (own_path(plan.name, plan.profile), shipped_path(plan.name, plan.profile)):
        if not path.exists():
            continue
        known = Results.read(path)
        for row in planned:
            made = rows_of(known, row_key(row, plan.attacks, plan.facts))
            if made:
                store.get(made[0].row.key, partial(write_rows, made))


# What there is to do.


def missing(plan: Plan, planned: Sequence[PlannedRow], store: Store | None = None) -> Work:
    """The rows that the store does not have, and the trainings that these need.

    To know what the store has, it loads the records, and downloads them where they are not here.
    """
    _check_planned(plan, planned)
    store = as_store(store)
    rows = [row for row in planned if not has_row(row, plan.attacks, plan.facts, store)]
    return _work(rows, partial(runs.missing, store=store))


def in_all(planned: Sequence[PlannedRow]) -> Work:
    """What the rows need where nothing is there yet; it is told without the records."""
    return _work(planned, lambda configuration: configuration.chain)


def _work(
    rows: Sequence[PlannedRow], trainings_of: Callable[[Configuration], Sequence[Configuration]]
) -> Work:
    """Each training once, though several rows need it."""
    known: set[tuple[Configuration, bool]] = set()
    epochs_by_row = []
    for row in rows:
        new = _trainings(row, trainings_of) - known
        known |= new
        epochs_by_row.append(_epochs(new))
    return Work(list(rows), len(known), epochs_by_row)


def _trainings(
    row: PlannedRow, trainings_of: Callable[[Configuration], Sequence[Configuration]]
) -> set[tuple[Configuration, bool]]:
    """What the row needs, and whether it is watched: such a training is done anew, and not kept."""
    needed = set()
    for last in (row.configuration, *row.shadows):
        kept = last.start if row.watch else last
        if row.watch:
            needed.add((last, True))
        if kept is not None:
            needed |= {(one, False) for one in trainings_of(kept)}
    return needed


def _epochs(trainings: Iterable[tuple[Configuration, bool]]) -> int:
    return sum(configuration.recipe.epochs for configuration, _ in trainings)


def _check_planned(plan: object, planned: object) -> None:
    if not isinstance(plan, Plan):
        raise TypeError(f"Expected a plan, as load(…) gives it, found {plan!r}.")
    is_list = isinstance(planned, list | tuple)
    if not is_list or not all(isinstance(row, PlannedRow) for row in planned):
        raise TypeError(f"Expected a plan's rows, as plan.rows() gives them, found {planned!r}.")


# Doing it.


def make_all(plan: Plan, work: Work, store: Store, *, jobs: int | None = None) -> None:
    """The rows side by side, by `jobs` processes; each is kept as soon as it is made.

    Unless told, that is one process per core, or 1 with a GPU; on a cluster its workers do the
    work. The bar counts epochs, because rows differ in length. If some rows fail, the others are
    made all the same; then a `RunsFailedError` names those that failed. A disk that refuses ends
    all at once.
    """
    if jobs is not None:
        check_range(1, np.inf, whole=True, jobs=jobs)
    if not work.rows:
        return
    on_cpu = pick_device(work.rows[0].configuration.device).type == "cpu"
    jobs = runs.processes(jobs, pieces=len(work.rows), on_cpu=on_cpu)
    workers = Parallel(
        n_jobs=jobs, return_as="generator_unordered", pre_dispatch=clusters.pre_dispatch()
    )
    title = f"{plan.name} at {plan.profile}"
    folder = clusters.counting_folder(store)
    with progress.shared_bar(title, work.epochs_by_row, unit="epoch", folder=folder) as counts:
        task = clusters.task(_make_counted, folder=counts[0].file.parent)
        tasks = [
            task(plan, row, store, count, jobs)
            for row, count in zip(work.rows, counts, strict=True)
        ]
        # What was made is in the store.
        failures = [failure for failure in workers(tasks) if failure is not None]
        if failures:
            command = f"mialib run {plan.name} --profile {plan.profile} --finished"
            raise runs.failed(
                failures,
                of=f"{len(work.rows)} missing rows",
                kept=f"made again; `{command}` writes it",
            )


def _make_counted(
    plan: Plan, row: PlannedRow, store: Store, count: progress.Count, jobs: int
) -> Failure | None:
    """Make one row, in whatever process; count its epochs."""
    name = row.configuration.name
    with (
        Attempt(name, jobs) as attempt,
        progress.forwarded(count.add_one),
    ):
        make_row(row, plan.attacks, plan.facts, store)
        count.complete()  # It may have stopped early, or found what another row has trained.
    return attempt.failure


def gather(plan: Plan, planned: Sequence[PlannedRow], store: Store) -> Results:
    """The results of all rows that are there."""
    plans.check_one_split(plan.name, planned)
    by_row = {}
    for number, row in enumerate(planned):
        found = find_row(row, plan.attacks, plan.facts, store)
        if found is not None:
            by_row[number] = found
    if not by_row:
        raise ValueError(
            f"Nothing of the plan {plan.name!r} at {plan.profile!r} is finished yet. "
            f"Run it: mialib run {plan.name} --profile {plan.profile}"
        )
    made = [one for found in by_row.values() for one in found]
    played = next((one.attacks for one in made if not one.row.failure), made[0].attacks)
    made = [_with_attacks(one, played) for one in made]
    there = [planned[number] for number in by_row]
    seconds = [sum(one.row.seconds for one in found) for found in by_row.values()]
    return Results(
        rows=tuple(one.row for one in made),
        attacks=played,
        ranks=np.stack([one.ranks for one in made]),
        thresholds=np.stack([one.thresholds for one in made]),
        losses=np.stack([one.losses for one in made]),
        correct=np.stack([one.correct for one in made]),
        is_member=made[0].is_member,
        about=_about(plan, there) | {"seconds": _seconds_in_all(there, seconds)},
    )


def _with_attacks(made: MadeRow, attacks: tuple[str, ...]) -> MadeRow:
    """A row that failed was asked nothing: it has as many empty columns as the others have full."""
    if made.attacks == attacks:
        return made
    if not made.row.failure:
        raise ValueError(
            f"Expected the attacks {attacks} in every row, found {made.attacks} in "
            f"{made.row.settings}. A plan compares models that the same attacks can be made on."
        )
    n = len(made.is_member)
    return MadeRow(
        row=made.row,
        attacks=attacks,
        ranks=np.zeros((len(attacks), n), np.uint16),
        thresholds=np.zeros(len(attacks), np.uint32),
        losses=made.losses,
        correct=made.correct,
        is_member=made.is_member,
    )


def _seconds_in_all(planned: Sequence[PlannedRow], seconds: Sequence[float]) -> int:
    """Of one core, for all trainings, each once; from what every row took with those it shares."""
    total = 0.0
    new_epochs = in_all(planned).epochs_by_row
    for row, new, taken in zip(planned, new_epochs, seconds, strict=True):
        total += taken * new / in_all([row]).epochs
    return round(total)


def _about(plan: Plan, planned: Sequence[PlannedRow]) -> dict[str, Any]:
    """What a reader must know of the numbers."""
    configuration = planned[0].configuration
    return {
        "plan": plan.name,
        "profile": plan.profile,
        "about": plan.about,
        "data": short_name(configuration.data),
        "fingerprint": configuration.records().fingerprint,
        RECORDS: members_then_nonmembers(configuration.side_records()).fingerprint,
        "seeds": sorted({row.seed for row in planned}),
        "device": pick_device(configuration.device).type,
        "mialib": __version__,
        "code_version": CODE_VERSION,
        "torch": torch.__version__,
        "made": time.strftime("%Y-%m-%d", time.gmtime()),
    }


# Reading.


def own_path(name: str, profile: str) -> Path:
    """Where one's own results of a plan lie."""
    return home() / "results" / profile / f"{name}.npz"


def shipped_path(name: str, profile: str) -> Path:
    return shipped.FOLDER / "results" / profile / f"{name}.npz"


def results(name: str, profile: str) -> Results:
    """One's own results of this plan at this profile, if there are any, else the shipped ones.

    Where neither is there, those of `quick` serve, and those of `cpu` for a plan that has none
    there. `about["source"]` says in a sentence what they are, and how to make one's own.
    """
    check_choice("plan", name, plans.names())
    check_choice("profile", profile, plans.profiles.NAMES)
    asked = profile if profile in plans.profiles_of(name) else None
    for nearest in dict.fromkeys((profile, "quick", "cpu")):
        found = results_at(name, nearest, asked=asked)
        if found is not None:
            return found
    raise ValueError(
        f"There are no results of the plan {name!r} at {profile!r}. "
        f"Make them: mialib run {name} --profile {profile}"
    )


def results_at(name: str, profile: str, *, asked: str | None = None) -> Results | None:
    """One's own results at just this profile, or the shipped ones, or nothing.

    `asked` is the profile at which the sentence on shipped results says how to make one's own.
    """
    check_choice("plan", name, plans.names())
    check_choice("profile", profile, plans.profiles.NAMES)
    own = own_path(name, profile)
    if own.exists():
        return _from(own, f"Your own results of `{name}` at profile `{profile}`.")
    path = shipped_path(name, profile)
    if not path.exists():
        return None
    command = f"mialib run {name} --profile {asked or profile}"
    return _from(
        path, f"Shipped results of `{name}` at profile `{profile}`; `{command}` makes your own."
    )


def about_at(name: str, profile: str) -> dict[str, Any] | None:
    """What the results at just this profile say of themselves, or nothing; no score is unpacked."""
    check_choice("plan", name, plans.names())
    check_choice("profile", profile, plans.profiles.NAMES)
    for path in (own_path(name, profile), shipped_path(name, profile)):
        if path.exists():
            return Results.read_about(path)
    return None


def _from(path: Path, source: str) -> Results:
    found = Results.read(path)
    found.about["source"] = f"{source} {_cost(found.about)}".strip()
    return found


def _cost(about: dict[str, Any]) -> str:
    """What the trainings took, in a sentence; nothing where the file does not say.

    Seconds are those of a clock, so they include waiting for a processor that had other work.
    """
    if "seconds" not in about:
        return ""
    seconds = about["seconds"]
    hours = seconds / 3600
    minutes = max(1, math.ceil(seconds / 60))
    time_taken = f"{hours:.1f} hours" if hours >= 1 else f"{minutes} min"
    device = about.get("device", "cpu")
    where = "one core" if device == "cpu" else f"one device ({device})"
    return f"Their trainings took at most {time_taken} of {where}."
