"""Capture the flag by the course's methods: LiRA on records, sums over teams, then a search.

    python notebooks/teaching/solutions/capture.py             plays the shipped game
    python notebooks/teaching/solutions/capture.py --games 3   on fresh games: which guess is right?

Every record gets a log-likelihood ratio from the bank's references (lesson 05). A team's evidence
is the sum over its records, and the answer is the team with the larger sum. Answers that are wrong
are most likely those that were close, so the search turns close answers first, in the order of what
turning them costs, and asks the scorer after each.
"""

from __future__ import annotations

import argparse
import heapq
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools"))
import flags

from mialib import attacks, bank
from mialib.signals import Signals

MOST_GUESSES = 200_000
SUREST = 4.0  # What one record may count; the tails of a fitted Gaussian are not to be believed.
BANKS = {"past": "letters tuned"}  # An adaptive attacker trains references in the target's way.


def evidence(kind: str, answers: np.ndarray) -> np.ndarray:
    """The log-likelihood ratio of IN to OUT for every record: (n,)."""
    references = bank.load(BANKS.get(kind, "letters"))
    if kind == "labels":
        return label_evidence(answers, references)
    target = Signals(answers.astype(float), references.labels)
    return attacks.LiRA().scores(references, target).clip(-SUREST, SUREST)


def label_evidence(labels: np.ndarray, references: bank.Bank) -> np.ndarray:
    """The same from right or wrong alone: how often are IN and OUT models right on this record?"""
    is_right = references.logits.argmax(axis=2) == references.labels  # (models, n)
    likelihoods = []
    for mask in (references.is_member, ~references.is_member):
        rate = ((is_right & mask).sum(axis=0) + 0.5) / (mask.sum(axis=0) + 1)
        likelihoods.append(np.where(labels == references.labels, rate, 1 - rate))
    inside, outside = likelihoods
    return np.log(inside / outside)


def margins(scores: np.ndarray, teams: np.ndarray) -> np.ndarray:
    """By how much the first team of each question outweighs the second: (questions,)."""
    first, second = scores[teams].sum(axis=2).T  # (questions, 2, records) → two of (questions,)
    return first - second


def guesses(margin: np.ndarray) -> Iterator[str]:
    """Answers from the likeliest on: those first that turn the least evidence around."""
    best = np.where(margin > 0, "A", "B")
    order = np.argsort(np.abs(margin))  # the closest question first
    cost = np.abs(margin)[order]
    waiting: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    while waiting:
        total, turned = heapq.heappop(waiting)
        guess = best.copy()
        guess[order[list(turned)]] = np.where(guess[order[list(turned)]] == "A", "B", "A")
        yield "".join(guess)
        last = turned[-1] if turned else -1
        if last + 1 < len(cost):
            # Turn the next question as well; or turn it in place of the last one.
            heapq.heappush(waiting, (total + cost[last + 1], (*turned, last + 1)))
            if turned:
                swapped = total - cost[last] + cost[last + 1]
                heapq.heappush(waiting, (swapped, (*turned[:-1], last + 1)))


def capture(kind: str, name: str, *, budget: int, folder: Path = flags.FOLDER) -> str | None:
    """The answers that open a flag, if they are among so many guesses."""
    shown = flags.read(kind, folder)
    flag = flags.read_json(folder / "flags.json")["flags"][kind][name]
    margin = margins(evidence(kind, shown["answers"]), shown[name].astype(int))
    for guess in islice(guesses(margin), budget):
        if flags.opens(guess, flag):
            return guess
    return None


def ranks(kind: str) -> dict[str, str]:
    """On a fresh game of one model: at which guess the right answers come, by kind of question."""
    secret = flags.deal(len(bank.load("letters").labels))
    scores = evidence(kind, flags.hidden.answers(kind, secret.is_member))
    found = {}
    for name, teams in secret.teams.items():
        tried = islice(guesses(margins(scores, teams)), MOST_GUESSES)
        rank = next((at for at, guess in enumerate(tried, 1) if guess == secret.answers[name]), 0)
        found[name] = f"{rank:,}" if rank else f"over {MOST_GUESSES:,}"
    return found


def measure(games: int) -> Iterator[str]:
    """A table of the ranks in so many fresh games, as Markdown."""
    yield f"| model | {' | '.join(flags.TEAMS)} |"
    yield "|---|---|---|---|"
    for kind in flags.hidden.KINDS:
        played = [ranks(kind) for _ in range(games)]
        cells = ["; ".join(one[name] for one in played) for name in flags.TEAMS]
        yield f"| `{kind}` | {' | '.join(cells)} |"


def play(budget: int) -> None:
    """Every flag of the shipped game that so many guesses open."""
    for kind in flags.hidden.KINDS:
        for name in flags.TEAMS:
            found = capture(kind, name, budget=budget)
            print(f"{kind:<8}{name:<8}{found or f'not within {budget} guesses'}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--guesses", type=int, default=64, help="for each flag")
    parser.add_argument("--games", type=int, help="measure on so many fresh games")
    chosen = parser.parse_args()
    if chosen.games:
        print(*measure(chosen.games), sep="\n")
    else:
        play(chosen.guesses)
