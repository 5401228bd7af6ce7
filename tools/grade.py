"""Hand out the graded assignments, mark what comes back, and keep the leaderboard.

    python tools/grade.py hand-out audit             three models to judge
    python tools/grade.py hand-out lira              a target whose members are hidden
    python tools/grade.py mark audit students/answers.json
    python tools/grade.py mark lira ada.npz
    python tools/grade.py mark reproduce FOLDER      a folder of `mialib reproduce`
    python tools/grade.py leaderboard ada.npz bob.npz

What is handed out lies in `students`. What lies in `kept` is the teacher's: chance made it, and it
is written nowhere else. The marks are those that a program can give; the rubrics in
notebooks/teaching/assignments say what a person marks.
"""

from __future__ import annotations

import argparse
import csv
import secrets
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

import hidden
from mialib import attacks, audit, bank, data, metrics, query
from mialib.audits import Audit
from mialib.data.records import Records
from mialib.estimates import Evaluation
from mialib.experiments.banks import dealt_to_models
from mialib.foreign import read_arrays, read_json, write_arrays
from mialib.signals import Signals
from mialib.store import write_json

REMEMBERS = "it remembers its members"
DIFFER = "the two sets differ"
NOTHING = "nothing found"
PALER = 0.55  # what another scanner does to a letter
AUDITED = 1600  # records in each file of the audit
MOST_DRAWS = 20
FEWEST_SEEDS = 3
# The points that a program gives, by assignment and criterion; a test compares the rubrics.
POINTS = {
    "audit": {"verdicts": 45, "strongest attack": 10, "in the corner": 5},
    "lira": {"one score per record": 10, "better than the loss": 25, "as good as LiRA": 35},
    "reproduce": {"files": 15, "seeds": 10, "verdicts": 35},
}


@dataclass(frozen=True)
class Mark:
    """The points for one criterion, out of so many, and why."""

    criterion: str
    points: float
    out_of: int
    why: str


def _mark(assignment: str, criterion: str, share: float, why: str) -> Mark:
    out_of = POINTS[assignment][criterion]
    return Mark(criterion, round(share * out_of, 1), out_of, why)


def _nothing(assignment: str, why: str) -> list[Mark]:
    """No point for any criterion, for one reason."""
    return [_mark(assignment, criterion, 0.0, why) for criterion in POINTS[assignment]]


# ---------------------------------------------------------------- 1: audit three models


def hand_out_audit(out: Path, keep: Path) -> None:
    """Three files of outputs, a.npz to c.npz, and what each of them is."""
    is_member = hidden.toss(len(dealt_to_models(hidden.configuration("plain"))))
    model = hidden.train("plain", is_member)
    names = secrets.SystemRandom().sample("abc", 3)
    cases = {REMEMBERS: partial(_seen, is_member), NOTHING: _strangers, DIFFER: _scanned}
    for name, (verdict, draw) in zip(names, cases.items(), strict=True):
        write_arrays(out / f"{name}.npz", _clear_case(model, verdict, draw), packed=True)
    write_json(keep / "audit.json", dict(sorted(zip(names, cases, strict=True))))


def _clear_case(model: nn.Module, verdict: str, draw: Callable[[], Records]) -> dict[str, Any]:
    """Outputs on records of which an audit says what is so.

    Of many audits of nothing some find something, by chance. That would be nobody's fault, and
    cannot be marked, so such records are drawn again.
    """
    for _ in range(MOST_DRAWS):
        records = draw()
        outputs = {
            "logits": query.predict(model, records).astype(np.float32),
            "labels": records.y,
            "is_member": np.arange(AUDITED) < AUDITED // 2,
            "inputs": records.x,
        }
        if concluded(audit.from_outputs(**outputs)) == verdict:
            return outputs
    raise RuntimeError(f"In {MOST_DRAWS} draws no audit said {verdict!r}. Has the recipe changed?")


def concluded(report: Audit) -> str:
    """What a careful reader concludes: first whether the result can be believed."""
    if report.belief.blind.finds_a_shift:
        return DIFFER
    return REMEMBERS if report.strongest.auc.low > 0.5 else NOTHING


def _seen(is_member: np.ndarray) -> Records:
    """Members of the network, then others."""
    chance = secrets.SystemRandom()
    members = chance.sample(list(np.flatnonzero(is_member)), AUDITED // 2)
    others = chance.sample(list(np.flatnonzero(~is_member)), AUDITED // 2)
    return dealt_to_models(hidden.configuration("plain")).take(np.array([*members, *others]))


def _strangers() -> Records:
    """Letters that the network has never seen, the first half no more than the second."""
    return data.load("letters", size=AUDITED, seed=secrets.randbits(31))


def _scanned() -> Records:
    """Strangers, too, of which the second half went through another scanner."""
    return _pale(_strangers(), np.arange(AUDITED) >= AUDITED // 2)


def _pale(records: Records, which: np.ndarray) -> Records:
    """The records, some of which went through another scanner."""
    x = records.x.copy()
    x[which] = (PALER * x[which]).astype(x.dtype)
    return Records("letters", x, records.y, records.classes, records.shift, records.scale)


def mark_audit(submission: Path, keep: Path, files: Path) -> list[Mark]:
    """Three verdicts, and two numbers of the model that remembers."""
    answers = read_json(submission)
    truth = read_json(keep / "audit.json")
    right = [name for name in truth if _entry(answers, name).get("verdict") == truth[name]]
    leaking = next(name for name, verdict in truth.items() if verdict == REMEMBERS)
    report = audit.from_file(files / f"{leaking}.npz")
    corner = max(report.attacks, key=lambda row: row.tpr_at_1_percent.value).tpr_at_1_percent
    told = _entry(answers, leaking)
    found = {"strongest attack": ("auc", report.strongest.auc)}
    found["in the corner"] = ("tpr_at_1_percent", corner)
    marks = [_mark("audit", "verdicts", len(right) / 3, f"{len(right)} of 3 are right.")]
    for criterion, (field, estimate) in found.items():
        value = told.get(field)
        is_close = isinstance(value, int | float) and estimate.low <= value <= estimate.high
        why = f"The report on {leaking} says {estimate}; handed in: {value}."
        marks.append(_mark("audit", criterion, float(is_close), why))
    return marks


def _entry(answers: Any, name: str) -> dict:
    entry = answers.get(name) if isinstance(answers, dict) else None
    return entry if isinstance(entry, dict) else {}


# ---------------------------------------------------------------- 2: LiRA on a hidden target


def hand_out_lira(out: Path, keep: Path) -> None:
    """What a target says of the bank's letters; who was in, and which half the board shows."""
    is_member = hidden.toss(len(bank.load("letters").labels))
    write_arrays(out / "target.npz", {"logits": hidden.answers("plain", is_member)}, packed=True)
    kept = {"is_member": is_member, "on_board": hidden.toss(len(is_member))}
    write_arrays(keep / "lira.npz", kept)


def read_scores(submission: Path, n: int) -> np.ndarray:
    """The scores in a submission: (n,), finite, higher for members."""
    scores = read_arrays(submission).get("scores")
    if scores is None or scores.shape != (n,) or scores.dtype.kind != "f":
        found = "no scores" if scores is None else f"{scores.dtype} of shape {scores.shape}"
        raise ValueError(f"{submission.name}: expected scores, {n} numbers, found {found}.")
    if not np.isfinite(scores).all():
        raise ValueError(
            f"{submission.name}: {(~np.isfinite(scores)).sum()} scores are not finite."
        )
    return scores


def yardsticks(target: Path) -> dict[str, np.ndarray]:
    """The scores of the course's own attacks on the target."""
    references = bank.load("letters")
    signals = Signals(read_arrays(target)["logits"].astype(float), references.labels)
    return {
        "(the loss)": attacks.loss_score(signals),
        "(LiRA, online)": attacks.LiRA().scores(references, signals),
    }


def mark_lira(submission: Path, keep: Path, target: Path) -> list[Mark]:
    """By the records that the leaderboard never showed."""
    kept = read_arrays(keep / "lira.npz")
    try:
        scores = read_scores(submission, len(kept["is_member"]))
    except ValueError as error:
        return _nothing("lira", str(error))
    hidden_half = ~kept["on_board"]
    own = metrics.evaluate(scores[hidden_half], kept["is_member"][hidden_half])
    loss, lira = (
        metrics.evaluate(values[hidden_half], kept["is_member"][hidden_half])
        for values in yardsticks(target).values()
    )
    beats = own.auc.low > loss.auc.high
    reaches = own.tpr_at_1_percent.value >= lira.tpr_at_1_percent.low
    compared = f"AUC {own.auc}; the loss has {loss.auc}."
    corner = f"TPR at 1 % FPR {own.tpr_at_1_percent}; LiRA has {lira.tpr_at_1_percent}."
    return [
        _mark("lira", "one score per record", 1.0, f"{len(scores):,} finite scores."),
        _mark("lira", "better than the loss", float(beats), compared),
        _mark("lira", "as good as LiRA", float(reaches and beats), corner),
    ]


def leaderboard(submissions: Sequence[Path], keep: Path, target: Path) -> str:
    """All submissions and the course's attacks, by TPR at 1 % FPR, as Markdown."""
    kept = read_arrays(keep / "lira.npz")
    shown = kept["on_board"]
    played, refused = _readable(submissions, len(shown))
    rows: dict[str, Evaluation] = {
        name: metrics.evaluate(scores[shown], kept["is_member"][shown])
        for name, scores in (yardsticks(target) | played).items()
    }
    order = sorted(rows, key=lambda name: rows[name].tpr_at_1_percent.value, reverse=True)
    lines = ["| place | name | TPR at 1 % FPR | AUC |", "|---|---|---|---|"]
    for place, name in enumerate(order, 1):
        row = rows[name]
        lines.append(f"| {place} | {name} | {row.tpr_at_1_percent} | {row.auc} |")
    note = f"On {shown.sum():,} of {len(shown):,} records; the marks count the others."
    return "\n".join([*lines, "", note, *refused])


def _readable(submissions: Sequence[Path], n: int) -> tuple[dict[str, np.ndarray], list[str]]:
    """The scores by name, and what is wrong with the others, which must not stop the board."""
    played, refused = {}, []
    for path in submissions:
        try:
            played[path.stem] = read_scores(path, n)
        except ValueError as error:
            refused.append(f"Not on the board: {error}")
    return played, refused


# ---------------------------------------------------------------- 3: reproduce a figure


def expected_verdict(row: dict[str, str]) -> str:
    """What may be said of a line of the table: the published number against the interval."""
    if not row["published"] or not row["low"] or not row["high"]:
        return "cannot tell"
    inside = float(row["low"]) <= float(row["published"]) <= float(row["high"])
    return "agrees" if inside else "differs"


def mark_reproduction(folder: Path) -> list[Mark]:
    """A folder of `mialib reproduce`, with a verdict on every line of its table."""
    needed = ("table.csv", "provenance.json", "verdicts.json")
    missing = [name for name in needed if not (folder / name).is_file()]
    if missing or not list(folder.glob("*.png")):
        return _nothing("reproduce", f"Missing: {', '.join(missing) or 'the figure'}.")
    try:
        seeds = _fewest_seeds(folder)
        rows = _table_rows(folder)
        verdicts = read_json(folder / "verdicts.json")
        right = [row for row in rows if _said(verdicts, row["what"]) == expected_verdict(row)]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        return _nothing("reproduce", f"Not as `mialib reproduce` writes it: {error!r}.")
    return [
        _mark("reproduce", "files", 1.0, "Figure, table, provenance and verdicts are there."),
        _mark("reproduce", "seeds", float(seeds >= FEWEST_SEEDS), f"{seeds} seeds a setting."),
        _mark("reproduce", "verdicts", len(right) / len(rows), f"{len(right)} of {len(rows)}."),
    ]


def _fewest_seeds(folder: Path) -> int:
    results = read_json(folder / "provenance.json")["results"]
    return min(len(one["seeds"]) for one in results.values())


def _table_rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "table.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    if not rows:
        raise ValueError("table.csv has no lines")
    return rows


def _said(verdicts: Any, what: str) -> Any:
    return verdicts.get(what) if isinstance(verdicts, dict) else None


# ---------------------------------------------------------------- the command


def told(marks: Sequence[Mark]) -> str:
    lines = [f"{one.points:>5g} of {one.out_of:<3} {one.criterion}: {one.why}" for one in marks]
    total = sum(one.points for one in marks)
    out_of = sum(one.out_of for one in marks)
    return "\n".join([*lines, f"{total:>5g} of {out_of:<3} by program; the rubric has the rest."])


HAND_OUT: dict[str, Callable[[Path, Path], None]] = {
    "audit": hand_out_audit,
    "lira": hand_out_lira,
}


def marks_for(chosen: argparse.Namespace) -> list[Mark]:
    if chosen.assignment == "audit":
        return mark_audit(chosen.submission, chosen.keep, chosen.out)
    if chosen.assignment == "lira":
        return mark_lira(chosen.submission, chosen.keep, chosen.out / "target.npz")
    return mark_reproduction(chosen.submission)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    handing = commands.add_parser("hand-out")
    handing.add_argument("assignment", choices=sorted(HAND_OUT))
    marking = commands.add_parser("mark")
    marking.add_argument("assignment", choices=sorted(POINTS))
    marking.add_argument("submission", type=Path)
    board = commands.add_parser("leaderboard")
    board.add_argument("submissions", type=Path, nargs="*")
    for command in (handing, marking, board):
        command.add_argument("--out", type=Path, default=Path("students"), help="handed out")
        command.add_argument("--keep", type=Path, default=Path("kept"), help="the teacher's")
    chosen = parser.parse_args()
    try:
        if chosen.command == "hand-out":
            for folder in (chosen.out, chosen.keep):
                folder.mkdir(parents=True, exist_ok=True)
            HAND_OUT[chosen.assignment](chosen.out, chosen.keep)
            print(f"Hand out {chosen.out}, and keep {chosen.keep} to yourself.")
        elif chosen.command == "mark":
            print(told(marks_for(chosen)))
        else:
            print(leaderboard(chosen.submissions, chosen.keep, chosen.out / "target.npz"))
    except ValueError as error:
        sys.exit(str(error))
    except FileNotFoundError as error:
        sys.exit(f"There is no file {error.filename}.")


if __name__ == "__main__":
    main()
