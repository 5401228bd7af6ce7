"""`mialib reproduce` and `mialib ledger`: published results made anew, and the account of them."""

from __future__ import annotations

import argparse
import time
from functools import cache
from pathlib import Path

from mialib import data, profiles
from mialib.experiments import plans, rehearsal, running
from mialib.experiments.plans import Plan, PlannedRow
from mialib.experiments.running import Work
from mialib.reproductions import ITEMS, Evidence, Item, find, ledger, writing
from mialib.store import as_store

NEEDS_NO_DOWNLOAD = "quick"


def reproduce(chosen: argparse.Namespace) -> int:
    """Make one item, or list them all."""
    if chosen.item is None:
        print(listing())
        return 0
    item = find(chosen.item)
    names = _plans_of(item, chosen.profile, short=chosen.short)
    print(f"{item.name}, {item.paper}: {item.shows}.")
    loaded = [plans.load(name, chosen.profile) for name in names]
    if chosen.dry_run:
        return _rehearse(loaded)
    for plan in loaded:
        _run_missing(plan, chosen)
    evidence = Evidence(chosen.profile)
    made = item.make(evidence)
    folder = writing.write(item, evidence, made, Path(chosen.out))
    for one in evidence.read.values():
        print(one.about["source"])
    print(writing.as_text(made.lines))
    print(f"Written: {folder}")
    return 0


def _plans_of(item: Item, profile: str, *, short: bool) -> tuple[str, ...]:
    names = item.plans_at(profile)
    if not short:
        return names
    if profile not in item.variants:
        raise ValueError(f"{item.name} has no shorter variant at the profile {profile!r}.")
    return (item.variants[profile],)


def _rehearse(loaded: list[Plan]) -> int:
    """Two steps of every network and defense, on noise."""
    started = time.perf_counter()
    rows = [row for plan in loaded for row in plan.rows()]
    count = rehearsal.rehearse_all(rows)
    seconds = time.perf_counter() - started
    print(
        f"{len(rows)} rows; {count} kinds of training built and took two steps in {seconds:.0f} s."
    )
    return 0


def _run_missing(plan: Plan, chosen: argparse.Namespace) -> None:
    """Train what no results file has; say beforehand how much that is, and how long it takes."""
    known = running.about_at(plan.name, plan.profile)
    if known is not None and chosen.data is None and chosen.seeds is None:
        print(f"The plan {plan.name} at {plan.profile} is there already.")
        return
    planned = plan.rows(seeds=chosen.seeds, data=chosen.data)
    _say_data(planned)
    store = as_store(None)
    running.restore(plan, planned, store)
    todo = running.missing(plan, planned, store)
    print(f"The plan {plan.name} at {plan.profile}: missing {todo}.")
    if todo.rows:
        print(_told_hours(todo))
    running.make_all(plan, todo, store, jobs=chosen.jobs)
    running.write(plan, planned, store)


def _told_hours(todo: Work) -> str:
    """By the speed of this device, measured on the first of the trainings."""
    configuration = todo.rows[0].configuration
    seconds = rehearsal.seconds_per_epoch(configuration) * todo.epochs
    return (
        f"That is about {_duration(seconds)} of {configuration.device} by its speed on a few "
        "batches, one training at a time; asking and attacking come on top."
    )


def _say_data(planned: list[PlannedRow]) -> None:
    """Say where records come from that are not here, and which profile needs none."""
    name = planned[0].configuration.data
    if data.is_here(name):
        return
    print(f"The records of {name} are not here. {data.published.origin(name)}")
    print(
        f"They are fetched now; --data takes a file of yours instead, and --profile "
        f"{NEEDS_NO_DOWNLOAD} needs no download."
    )


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    if seconds < 5400:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours"


# The lists.


def listing() -> str:
    """Every item: what it shows, and its state and cost at each profile."""
    evidence = {profile: Evidence(profile) for profile in profiles.NAMES}
    lines = []
    for item in ITEMS.values():
        lines.append(f"{item.name:<18}{item.shows}")
        for profile in profiles.NAMES:
            if profile in item.plans:
                lines.append(f"{'':<18}{profile:<7}{_standing(item, evidence[profile])}")
    lines.append("\nmialib reproduce ITEM --profile PROFILE makes one.")
    return "\n".join(lines)


def _standing(item: Item, evidence: Evidence) -> str:
    """The state at one profile, and what all of its trainings take."""
    names = item.plans[evidence.profile]
    rows = [row for name in names for row in _planned(name, evidence.profile)]
    work = running.in_all(rows)
    told = f"{item.state(evidence):<10}{work.trainings} trainings of {work.epochs:,} epochs"
    read = [evidence.about(name) or {} for name in names]
    taken = sum(about.get("seconds", 0) for about in read)
    return f"{told}; took {_duration(taken)} of one core" if taken else told


@cache
def _planned(name: str, profile: str) -> list[PlannedRow]:
    """Several items need one plan."""
    return plans.load(name, profile).rows()


def print_ledger(chosen: argparse.Namespace) -> int:
    """Print where we stand; fail on a row that lacks its section, its state or its reason."""
    entries = ledger.entries()
    print(ledger.as_text(entries))
    if chosen.write:
        Path(chosen.write).write_text(ledger.as_markdown(entries), encoding="utf-8")
        print(f"Written: {chosen.write}")
    faults = ledger.faults(entries)
    for fault in faults:
        print(f"Fault: {fault}")
    return 1 if faults else 0
