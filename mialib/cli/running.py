"""`mialib run`, `plans` and `bank`: train what is missing, and write what came out."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from mialib import clusters, data, runs
from mialib.experiments import PlannedRow, Results, banks, plans, running
from mialib.store import Store, as_store


def run(chosen: argparse.Namespace) -> int:
    _check_who_works(chosen)
    plan = plans.load(chosen.plan, chosen.profile)
    planned = plan.rows(seeds=chosen.seeds, data=chosen.data)
    store = as_store(None)
    print(f"{plan.name} at {plan.profile}: {plan.about}")
    if not _say_data(planned) and chosen.dry_run:
        return 0
    running.restore(plan, planned, store)
    todo = running.missing(plan, planned, store)
    print(f"{len(planned)} rows; missing: {todo}.")
    if chosen.dry_run:
        return 0
    started = time.perf_counter()
    if not chosen.finished:
        with _workers(chosen.scheduler, store):
            running.make_all(plan, todo, store, jobs=chosen.jobs)
    made = running.write(plan, planned, store)
    print(f"{made!r} in {time.perf_counter() - started:.0f} s")
    print(f"Written: {running.own_path(plan.name, plan.profile)}")
    _say_failures(made)
    print(table(made))
    return 0


def _check_who_works(chosen: argparse.Namespace) -> None:
    if chosen.jobs is not None and chosen.scheduler is not None:
        raise ValueError(
            "--jobs says how many processes of this machine work; with --scheduler the workers of "
            "a cluster do, as many as it has. Leave one of the two out."
        )


def _workers(scheduler: str | None, store: Store) -> AbstractContextManager:
    """Who does the work: this machine's processes, unless a cluster is named."""
    return nullcontext() if scheduler is None else clusters.connected(scheduler, store=store)


def _say_data(planned: Sequence[PlannedRow]) -> bool:
    """Whether the records are here; if not, say so, and what the plan needs without them."""
    name = planned[0].configuration.data
    if data.is_here(name):
        return True
    print(f"{running.in_all(planned)}.")
    print(f"The records of {name} are not here yet, so what is finished cannot be told;")
    print("a run fetches them first, or says how to.")
    return False


def _say_failures(made: Results) -> None:
    for row in made.rows:
        if row.failure:
            print(f"Failed, seed {row.seed}, {row.settings}: {row.failure}")


def table(made: Results) -> str:
    """One line per setting: what differs between settings, and the numbers that everybody asks."""
    settings = [one for one in made.settings() if not all(row.failure for row in one.rows)]
    varied = _varied(settings)
    lines = []
    for one in settings:
        one = one.finished()
        words = [f"{name}={one.rows[0].settings[name]}" for name in varied(one)]
        line = (
            f"{' '.join(words):<70} seeds {len(one)}  accuracy {one.accuracy()}  "
            f"highest advantage {one.highest()}"
        )
        if "loss" in one.attacks:
            line += f"  AUC of the loss {one.auc('loss')}"
        lines.append(line)
    return "\n".join(lines)


def _varied(settings: Sequence[Results]):
    """Which settings of each row tell it from others."""
    values: dict[str, set[str]] = {}
    for one in settings:
        for name, value in one.rows[0].settings.items():
            values.setdefault(name, set()).add(str(value))
    constant = {name for name, seen in values.items() if len(seen) == 1}

    def words_of(one: Results) -> list[str]:
        return [
            name
            for name, value in one.rows[0].settings.items()
            if name == "defense" or (name not in constant and value is not None)
        ]

    return words_of


def list_plans(chosen: argparse.Namespace) -> int:
    for name in plans.names():
        print(f"{name:<14}{', '.join(plans.profiles_of(name))}")
    return 0


def make_bank(chosen: argparse.Namespace) -> int:
    _check_who_works(chosen)
    sides = banks.sides(chosen.profile, chosen.experiment, data=chosen.data)
    print(f"{chosen.experiment} at {chosen.profile}: {len(sides)} reference models")
    if not data.is_here(sides[0].data):
        print(f"The records of {sides[0].data} are not here yet; a run fetches them first.")
        if chosen.dry_run:
            return 0
    todo = {one for side in sides for one in runs.missing(side)}
    epochs = sum(one.recipe.epochs for one in todo)
    print(f"Missing: {len(todo)} trainings of {epochs:,} epochs in all.")
    if chosen.dry_run:
        return 0
    with _workers(chosen.scheduler, as_store(None)):
        path = banks.make(chosen.profile, chosen.experiment, data=chosen.data, jobs=chosen.jobs)
    print(f"Written: {path}")
    return 0
