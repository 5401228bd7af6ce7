"""The commands: `mialib audit · run · plans · bank · reproduce · ledger · bench · doctor`.

`python -m mialib` is the same.

    mialib audit outputs.npz --out audit.html       # a report on a model of one's own
    mialib plans                            # what can be run, at which profiles
    mialib run past --profile class         # train what is missing, attack, write the results
    mialib run photographs --profile cpu --data cifar10.npz --finished
    mialib bank --profile cpu --data cifar10.npz    # reference models, for LiRA and RMIA
    mialib reproduce                        # every figure and table of the papers: state and cost
    mialib reproduce past-fig-3 --profile cpu       # make one, beside the published numbers
    mialib ledger                           # one row per published result
    mialib bench                            # how fast it is on this device
    mialib doctor                           # versions, device, store

Every command says beforehand what it will do, and goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from mialib import doctor, profiles
from mialib.cli import auditing, benchmarking, reproducing, running
from mialib.clusters import ClusterError
from mialib.experiments import banks, plans
from mialib.runs import RunsFailedError
from mialib.training import DivergedError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; what it returns is the exit code."""
    parser = _parser()
    chosen = parser.parse_args(arguments)
    if chosen.command is None:
        parser.print_help()
        return 2
    try:
        return chosen.command(chosen)
    except (ValueError, OSError, ClusterError, RunsFailedError, DivergedError) as error:
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
    auditing.add_command(commands)
    run = commands.add_parser(
        "run",
        help="train, attack and measure what a plan says",
        parents=[_training_options("rows")],
    )
    run.add_argument("plan", help="one of: " + ", ".join(plans.names()))
    run.add_argument("--seeds", type=int, help="how many of each setting; the plan says otherwise")
    run.add_argument("--scheduler", help="a Dask cluster that does the work: tcp://HOST:8786")
    run.add_argument(
        "--finished", action="store_true", help="train nothing: write what is finished so far"
    )
    run.add_argument("--dry-run", action="store_true", help="only say what is missing")
    run.set_defaults(command=running.run)
    listing = commands.add_parser("plans", help="every plan and its profiles")
    listing.set_defaults(command=running.list_plans)
    bank = commands.add_parser(
        "bank",
        help="train reference models and keep their answers",
        parents=[_training_options("models")],
    )
    bank.add_argument("--experiment", default="bank", help=", ".join(banks.EXPERIMENTS))
    bank.add_argument("--scheduler", help="a Dask cluster that does the work: tcp://HOST:8786")
    bank.add_argument("--dry-run", action="store_true", help="only say what is missing")
    bank.set_defaults(command=running.make_bank)
    again = commands.add_parser(
        "reproduce",
        help="a figure or table of a paper, made anew",
        parents=[_training_options("rows")],
    )
    again.add_argument("item", nargs="?", help="such as past-fig-3; without one, all are listed")
    again.add_argument(
        "--seeds", type=int, help="how many of each setting; the plan says otherwise"
    )
    again.add_argument("--out", default="reproduced", help="the folder for figure and table")
    again.add_argument(
        "--short", action="store_true", help="the item's shorter variant, where it has one"
    )
    again.add_argument(
        "--dry-run", action="store_true", help="build every configuration and take two steps"
    )
    again.set_defaults(command=reproducing.reproduce)
    account = commands.add_parser("ledger", help="every published result and where we stand")
    account.add_argument("--write", metavar="PAGE", help="write the readable page to this file")
    account.set_defaults(command=reproducing.print_ledger)
    benchmarking.add_command(commands)
    health = commands.add_parser("doctor", help="versions, device and store")
    health.set_defaults(command=_doctor)
    return parser


def _training_options(what: str) -> argparse.ArgumentParser:
    """What every command takes that trains some of these side by side."""
    options = argparse.ArgumentParser(add_help=False)
    options.add_argument("--profile", default="quick", help=", ".join(profiles.NAMES))
    options.add_argument(
        "--data", help="an .npz or image folder in place of the profile's download"
    )
    options.add_argument(
        "--jobs", type=int, help=f"how many {what} side by side; one per core, or 1"
    )
    return options


def _doctor(chosen: argparse.Namespace) -> int:
    return doctor.main()
