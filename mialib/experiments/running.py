"""Run a plan: train what is missing, attack, and write one results file.

    run("past", "quick")                # through the store, side by side; resumes after a kill
    finished("past", "quick")           # what is there so far, without training anything
    results("past", "quick")            # one's own file, or the one that ships

One's own results lie in `home()/results/PROFILE/PLAN.npz`; the shipped ones in `mialib/shipped`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from joblib import Parallel, delayed

from mialib import __version__, progress, runs, shipped
from mialib.configurations import CODE_VERSION
from mialib.data import short_name
from mialib.errors import check_choice, check_range
from mialib.experiments import plans
from mialib.experiments.plans import Plan, PlannedRow
from mialib.experiments.rows import MadeRow, find_row, make_row
from mialib.experiments.tables import Results
from mialib.query import pick_device
from mialib.store import Store, home


class Missing(NamedTuple):
    """What a plan still needs."""

    rows: list[PlannedRow]
    trainings: int
    epochs: int

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

    A training that diverges becomes a row that says so; the others go on.
    """
    plan = plans.load(name, profile)
    store = store or Store(home() / "runs")
    planned = plan.rows(seeds=seeds, data=data)
    todo = missing(plan, planned, store)
    if todo.rows:
        _make_all(plan, todo.rows, store, jobs)
    gathered = gather(plan, planned, store)
    gathered.save(own_path(name, profile))
    return gathered


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
    return gather(plan, plan.rows(seeds=seeds, data=data), store or Store(home() / "runs"))


def missing(plan: Plan, planned: Sequence[PlannedRow], store: Store) -> Missing:
    """The rows that the store does not have, and the trainings that these need."""
    rows = [row for row in planned if find_row(row, plan.attacks, plan.facts, store) is None]
    wanted = {}
    for row in rows:
        for configuration in (row.configuration, *row.shadows):
            for one, key in runs.missing(configuration, store):
                wanted[key] = one.recipe.epochs
    return Missing(rows, len(wanted), sum(wanted.values()))


def _make_all(plan: Plan, rows: Sequence[PlannedRow], store: Store, jobs: int | None) -> None:
    """Every row in a process of its own; each is kept as soon as it is made."""
    if jobs is None:
        on_cpu = pick_device(rows[0].configuration.device).type == "cpu"
        jobs = -1 if on_cpu else 1
    else:
        check_range(1, np.inf, whole=True, jobs=jobs)
    work = [delayed(_make_quietly)(row, plan.attacks, plan.facts, store) for row in rows]
    workers = Parallel(n_jobs=jobs, return_as="generator_unordered")
    title = f"{plan.name} at {plan.profile}"
    with progress.bar(title, total=len(rows), unit="row", delay=0) as advance:
        for _ in workers(work):
            advance()


def _make_quietly(
    row: PlannedRow, attacks: Sequence[str], facts: Sequence[str], store: Store
) -> None:
    """In another process, whose bars nobody sees. What was made is in the store."""
    with progress.forwarded(_nothing):
        make_row(row, attacks, facts, store)


def _nothing() -> None:
    """Where the steps of a bar go that nobody sees."""


def gather(plan: Plan, planned: Sequence[PlannedRow], store: Store) -> Results:
    """The results of all rows that are there."""
    made = []
    for row in planned:
        made += find_row(row, plan.attacks, plan.facts, store) or []
    if not made:
        raise ValueError(
            f"Nothing of the plan {plan.name!r} at {plan.profile!r} is finished yet. "
            f"Run it: mialib run {plan.name} --profile {plan.profile}"
        )
    played = next((one.attacks for one in made if not one.row.failure), made[0].attacks)
    made = [_with_attacks(one, played) for one in made]
    first = made[0]
    for one in made:
        if not np.array_equal(one.is_member, first.is_member):
            raise ValueError(
                f"The rows of {plan.name!r} have different members: {first.row.settings} and "
                f"{one.row.settings}. A plan compares models of the same records."
            )
    return Results(
        rows=tuple(one.row for one in made),
        attacks=played,
        ranks=np.stack([one.ranks for one in made]),
        thresholds=np.stack([one.thresholds for one in made]),
        losses=np.stack([one.losses for one in made]),
        correct=np.stack([one.correct for one in made]),
        is_member=first.is_member,
        about=_about(plan, planned),
    )


def _with_attacks(made: MadeRow, attacks: tuple[str, ...]) -> MadeRow:
    """A row that failed was asked nothing: it has as many empty columns as the others have full."""
    if made.attacks == attacks:
        return made
    if not made.row.failure:
        raise ValueError(f"Expected the attacks {attacks}, found {made.attacks}.")
    n = len(made.is_member)
    return MadeRow(
        row=made.row,
        attacks=attacks,
        ranks=np.zeros((len(attacks), n), np.uint16),
        thresholds=np.zeros(len(attacks), np.uint16),
        losses=made.losses,
        correct=made.correct,
        is_member=made.is_member,
    )


def _about(plan: Plan, planned: Sequence[PlannedRow]) -> dict[str, Any]:
    """What a reader must know of the numbers."""
    configuration = planned[0].configuration
    return {
        "plan": plan.name,
        "profile": plan.profile,
        "about": plan.about,
        "data": short_name(configuration.data),
        "fingerprint": configuration.records().fingerprint,
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

    Where neither is there, those of `quick` serve. `about["source"]` says in a sentence what they
    are, and how to make one's own.
    """
    check_choice("plan", name, plans.names())
    check_choice("profile", profile, plans.profiles.NAMES)
    own = own_path(name, profile)
    if own.exists():
        return _from(own, f"Your own results of `{name}` at profile `{profile}`.")
    for nearest in dict.fromkeys((profile, "quick")):
        path = shipped_path(name, nearest)
        if path.exists():
            command = f"mialib run {name} --profile {profile}"
            return _from(
                path,
                f"Shipped results of `{name}` at profile `{nearest}`; `{command}` makes your own.",
            )
    raise ValueError(
        f"There are no results of the plan {name!r} at {profile!r}. "
        f"Make them: mialib run {name} --profile {profile}"
    )


def _from(path: Path, source: str) -> Results:
    found = Results.read(path)
    seconds = sum(row.seconds for row in found.rows)
    found.about["source"] = f"{source} {_cost(seconds, found.about)}"
    return found


def _cost(seconds: float, about: dict[str, Any]) -> str:
    hours = seconds / 3600
    time_taken = f"{hours:.1f} hours" if hours >= 1 else f"{seconds / 60:.0f} minutes"
    return f"Their trainings took {time_taken} of one core ({about.get('device', 'cpu')})."
