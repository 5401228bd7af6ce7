"""The commands: `mialib run · plans · bank · doctor`, also as `python -m mialib`.

    mialib plans                            # what can be run, at which profiles
    mialib run past --profile class         # train what is missing, attack, write the results
    mialib run photographs --profile cpu --data cifar10.npz --finished
    mialib bank --profile cpu --data cifar10.npz    # reference models, for LiRA and RMIA
    mialib doctor                           # versions, device, store

Every command says beforehand what it will do, and goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from mialib import data, doctor, profiles, runs
from mialib.experiments import PlannedRow, Results, banks, plans, running
from mialib.store import as_store


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; what it returns is the exit code."""
    parser = _parser()
    chosen = parser.parse_args(arguments)
    if chosen.command is None:
        parser.print_help()
        return 2
    try:
        return chosen.command(chosen)
    except (ValueError, OSError) as error:
        print(f"mialib: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped. What is finished is kept; the same command goes on.", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mialib",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(command=None)
    commands = parser.add_subparsers(title="commands")
    run = commands.add_parser("run", help="train, attack and measure what a plan says")
    run.add_argument("plan", help="one of: " + ", ".join(plans.names()))
    run.add_argument("--profile", default="quick", help=", ".join(profiles.NAMES))
    run.add_argument("--seeds", type=int, help="how many of each setting; the plan says otherwise")
    run.add_argument("--data", help="an .npz or image folder in place of the profile's download")
    run.add_argument("--jobs", type=int, help="how many rows side by side; one per core, or 1")
    run.add_argument(
        "--finished", action="store_true", help="train nothing: write what is finished so far"
    )
    run.add_argument("--dry-run", action="store_true", help="only say what is missing")
    run.set_defaults(command=_run)
    listing = commands.add_parser("plans", help="every plan and its profiles")
    listing.set_defaults(command=_plans)
    bank = commands.add_parser("bank", help="train reference models and keep their answers")
    bank.add_argument("--profile", default="quick", help=", ".join(profiles.NAMES))
    bank.add_argument("--experiment", default="bank", help=", ".join(banks.EXPERIMENTS))
    bank.add_argument("--data", help="an .npz or image folder in place of the profile's download")
    bank.add_argument("--jobs", type=int, help="how many models side by side; one per core, or 1")
    bank.add_argument("--dry-run", action="store_true", help="only say what is missing")
    bank.set_defaults(command=_bank)
    health = commands.add_parser("doctor", help="versions, device and store")
    health.set_defaults(command=_doctor)
    return parser


def _run(chosen: argparse.Namespace) -> int:
    plan = plans.load(chosen.plan, chosen.profile)
    planned = plan.rows(seeds=chosen.seeds, data=chosen.data)
    store = as_store(None)
    print(f"{plan.name} at {plan.profile}: {plan.about}")
    if not _say_data(planned) and chosen.dry_run:
        return 0
    todo = running.missing(plan, planned, store)
    print(f"{len(planned)} rows; missing: {todo}.")
    if chosen.dry_run:
        return 0
    started = time.perf_counter()
    if not chosen.finished:
        running.make_all(plan, todo, store, jobs=chosen.jobs)
    made = running.write(plan, planned, store)
    print(f"{made!r} in {time.perf_counter() - started:.0f} s")
    print(f"Written: {running.own_path(plan.name, plan.profile)}")
    _say_failures(made)
    print(table(made))
    return 0


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


def _plans(chosen: argparse.Namespace) -> int:
    for name in plans.names():
        print(f"{name:<14}{', '.join(plans.profiles_of(name))}")
    return 0


def _bank(chosen: argparse.Namespace) -> int:
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
    path = banks.make(chosen.profile, chosen.experiment, data=chosen.data, jobs=chosen.jobs)
    print(f"Written: {path}")
    return 0


def _doctor(chosen: argparse.Namespace) -> int:
    return doctor.main()
