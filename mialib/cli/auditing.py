"""`mialib audit`: from a file of outputs to a report, and to an exit code for somebody's CI.

mialib audit outputs.npz                                    # as text
mialib audit outputs.npz --out audit.html                   # and as a page, JSON and CSV
mialib audit outputs.npz --check advantage=0.1              # a gate
"""

from __future__ import annotations

import argparse
from math import isnan, nan

from mialib.audits import Audit, audit
from mialib.audits.policies import field_of
from mialib.epsilon import dp_sgd
from mialib.errors import as_path
from mialib.foreign import shown

COLUMNS = ("attack", "AUC", "advantage", "TPR at 1 % FPR", "TPR at 0.1 % FPR")


def add_command(commands: argparse._SubParsersAction) -> None:
    """`audit` and its options."""
    command = commands.add_parser("audit", help="audit a model by its outputs")
    command.add_argument(
        "outputs", help="an .npz or .csv with logits or probabilities, labels and is_member"
    )
    command.add_argument("--out", help="a page such as audit.html; JSON and CSV lie beside it")
    command.add_argument(
        "--name", help="what the report calls the audit; the file's name otherwise"
    )
    command.add_argument("--policy", help="rules to hold the numbers to, such as aisvs")
    command.add_argument(
        "--prior", type=float, default=0.01, help="the share of members in reality"
    )
    claims = command.add_mutually_exclusive_group()
    claims.add_argument(
        "--guarantee",
        nargs=2,
        type=float,
        metavar=("EPSILON", "DELTA"),
        help="what the training claims",
    )
    claims.add_argument(
        "--dp-sgd",
        nargs=3,
        type=float,
        metavar=("SIGMA", "SAMPLE_RATE", "STEPS"),
        help="how it was trained, in place of one ε",
    )
    command.add_argument(
        "--by-coin",
        action="store_true",
        help="each record was a member by the toss of a fair coin, as a bound on ε assumes",
    )
    command.add_argument(
        "--check",
        "--limit",
        dest="limits",
        action="append",
        default=[],
        metavar="NUMBER=LIMIT",
        help="exit with 1 if a number is not shown to keep its limit: advantage=0.1",
    )
    command.add_argument("--seed", type=int, default=0, help="of halves and bootstrap")
    command.add_argument("--records", action="store_true", help="also write every record's scores")
    command.set_defaults(command=run)


def run(chosen: argparse.Namespace) -> int:
    """Print the report and write its page; a limit that is not kept is an error."""
    limits = [as_limit(text) for text in chosen.limits]
    if chosen.records and not chosen.out:
        raise ValueError("--records writes beside the page: give --out audit.html, too.")
    guarantee = chosen.guarantee
    if chosen.dp_sgd:
        sigma, sample_rate, steps = chosen.dp_sgd
        guarantee = dp_sgd(sigma=sigma, sample_rate=sample_rate, steps=int(steps))
    report = audit.from_file(
        chosen.outputs,
        name=chosen.name or as_path(chosen.outputs).stem,
        policy=chosen.policy,
        prior=chosen.prior,
        guarantee=guarantee,
        by_coin=chosen.by_coin,
        seed=chosen.seed,
    )
    print(as_text(report))
    if chosen.out:
        written = report.save(chosen.out, records=chosen.records)
        print(f"Written: {', '.join(str(path) for path in written)}")
    if limits:
        report.check(end="high", **dict(limits))  # pyright: ignore[reportArgumentType]
        print("Every limit is kept.")
    return 0


def as_limit(text: str) -> tuple[str, float]:
    """A limit as it is typed.

    >>> as_limit("advantage=0.1")
    ('advantage', 0.1)
    """
    name, equals, limit = text.partition("=")
    try:
        number = float(limit)
    except ValueError:
        number = nan
    if not equals or isnan(number):
        raise ValueError(f"A limit is written as advantage=0.1, found {text!r}.")
    return field_of(name.strip()), number


def as_text(report: Audit) -> str:
    """The report in a terminal: what to believe, the attacks, for and against."""
    head = report.head
    title = (
        f"{shown(head.name)}: {head.members:,} members, {head.non_members:,} non-members, "
        f"{head.classes} classes"
    )
    lines = [title, *head.notes, "", report.summary(), ""]
    if not report.belief.blind.finds_a_shift:  # The summary begins with it otherwise.
        lines.append(report.belief.blind.sentence)
    lines += [f"Thresholds: {report.belief.threshold}.", "", *_table(report), ""]
    lines += [bound.sentence for bound in report.epsilon or ()]
    if report.guarantee_sentence:
        lines.append(report.guarantee_sentence)
    lines += [f"{line.side}: {line.sentence}" for line in report.judgement.lines]
    lines += [f"Not tested: {sentence}" for sentence in report.not_tested]
    return "\n".join(lines)


def _table(report: Audit) -> list[str]:
    rows = [COLUMNS] + [tuple(str(row[name]) for name in COLUMNS) for row in report.table]
    widths = [max(len(row[place]) for row in rows) for place in range(len(COLUMNS))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
