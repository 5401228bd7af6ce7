"""Capture the flag: four models, and a scorer that does not know who was a member.

    python tools/flags.py check answers.json                 which flags do these answers open?
    python tools/flags.py make --out DIR --keep ANSWERS      a new game; the answers stay with you

Each question shows two teams of records and asks which of the two was in the training set: just one
was, the whole of it, by a fair coin. The 48 answers to one model's questions of one kind are a
flag. What is shipped of a flag is a salt and the scrypt hash of its answers, so it opens when all
48 are right and says nothing before. notebooks/teaching/flags/README.md has the rules, and says
what the scorer resists.
"""

from __future__ import annotations

import argparse
import hashlib
import hmac
import secrets
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import hidden
from mialib.experiments.banks import dealt_to_models
from mialib.foreign import read_arrays, read_json, write_arrays
from mialib.store import write_json
from paths import ROOT

FOLDER = ROOT / "notebooks" / "teaching" / "flags"
QUESTIONS = 48
TEAMS = {"squads": 16, "fours": 4, "pairs": 1}  # records in each of the two teams
SCRYPT = {"n": 2**14, "r": 8, "p": 1}  # 16 MiB, and 0.05 s or more, for each guess
SALT_BYTES = 16
MEMORY = 2**26


@dataclass(frozen=True)
class Secret:
    """What only the maker knows: the teams, the answers and so the members of one model.

    teams      by kind of question: (questions, 2, records in a team), record numbers
    answers    by kind of question: 48 letters, A where the first team was in
    is_member  (n,) bool
    """

    teams: dict[str, np.ndarray]
    answers: dict[str, str]
    is_member: np.ndarray


def deal(n: int) -> Secret:
    """Teams and answers by the operating system's randomness; half of n records are members."""
    chance = secrets.SystemRandom()
    left = chance.sample(range(n), n)
    is_member = np.zeros(n, bool)
    teams, answers = {}, {}
    for kind, size in TEAMS.items():
        count = 2 * size * QUESTIONS
        taken = left[:count]
        left = left[count:]
        teams[kind] = np.array(taken).reshape(QUESTIONS, 2, size)
        answers[kind] = "".join(chance.choice("AB") for _ in range(QUESTIONS))
        for both, answer in zip(teams[kind], answers[kind], strict=True):
            is_member[both["AB".index(answer)]] = True
    is_member[left[: len(left) // 2]] = True  # Nobody is asked about these.
    return Secret(teams, answers, is_member)


def digest(answers: str, salt: bytes) -> bytes:
    """The slow hash of a flag's answers."""
    return hashlib.scrypt(answers.encode(), salt=salt, maxmem=MEMORY, dklen=32, **SCRYPT)


def sealed(answers: str) -> dict[str, str]:
    """What is shipped of a flag."""
    salt = secrets.token_bytes(SALT_BYTES)
    return {"salt": salt.hex(), "hash": digest(answers, salt).hex()}


def opens(answers: str, flag: dict[str, str]) -> bool:
    """Whether all answers are right; how many are is not known to anyone."""
    found = digest(answers, bytes.fromhex(flag["salt"]))
    return hmac.compare_digest(found, bytes.fromhex(flag["hash"]))


def make(out: Path, kinds: list[str]) -> dict[str, dict[str, str]]:
    """Write a new game to a folder; returns the answers, which are written nowhere else."""
    out.mkdir(parents=True, exist_ok=True)
    flags, kept = {}, {}
    for kind in kinds:
        n = len(dealt_to_models(hidden.configuration(kind)))
        secret = deal(n)
        said = {"answers": hidden.answers(kind, secret.is_member)}
        teams = {name: team.astype(np.uint16) for name, team in secret.teams.items()}
        write_arrays(out / f"{kind}.npz", said | teams, packed=True)
        flags[kind] = {name: sealed(answer) for name, answer in secret.answers.items()}
        kept[kind] = secret.answers
    write_json(out / "flags.json", {"scrypt": SCRYPT, "flags": flags})
    return kept


def read(kind: str, folder: Path = FOLDER) -> dict[str, np.ndarray]:
    """What a player sees of one model: its `answers` on the bank's letters, and the teams."""
    return read_arrays(folder / f"{kind}.npz")


def check(submitted: Any, folder: Path = FOLDER) -> dict[tuple[str, str], bool]:
    """Which of the submitted flags open, by model and kind of question."""
    flags = read_json(folder / "flags.json")["flags"]
    if not isinstance(submitted, dict):
        raise ValueError(
            f'Expected an object {{"plain": {{"squads": "AB…"}}}}, found {submitted!r}.'
        )
    opened = {}
    for kind, by_question in submitted.items():
        if kind not in flags:
            raise ValueError(f"There is no model {kind!r}; there are {', '.join(flags)}.")
        if not isinstance(by_question, dict):
            raise ValueError(
                f'{kind}: expected an object {{"squads": "AB…"}}, found {by_question!r}.'
            )
        for name, answers in by_question.items():
            if name not in flags[kind]:
                raise ValueError(f"{kind} has no questions {name!r}; it has {', '.join(TEAMS)}.")
            opened[kind, name] = opens(_checked(answers, f"{kind}, {name}"), flags[kind][name])
    return opened


def _checked(answers: Any, what: str) -> str:
    if not isinstance(answers, str) or len(answers) != QUESTIONS or set(answers) - set("AB"):
        raise ValueError(
            f"{what}: expected a text of {QUESTIONS} letters A or B, found {answers!r}."
        )
    return answers


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    checking = commands.add_parser("check")
    checking.add_argument("answers", type=Path)
    checking.add_argument("--folder", type=Path, default=FOLDER, help="of another game")
    making = commands.add_parser("make")
    making.add_argument("--out", type=Path, required=True)
    making.add_argument("--keep", type=Path, help="where the answers go; without it, nowhere")
    chosen = parser.parse_args()
    if chosen.command == "make":
        kept = make(chosen.out, list(hidden.KINDS))
        if chosen.keep is not None:
            write_json(chosen.keep, kept)
        return
    try:
        opened = check(read_json(chosen.answers), chosen.folder)
    except ValueError as error:
        sys.exit(str(error))
    except FileNotFoundError as error:
        sys.exit(f"There is no file {error.filename}.")
    for (kind, name), is_open in opened.items():
        print(f"{kind:<8}{name:<8}{'captured' if is_open else 'not yet'}")


if __name__ == "__main__":
    main()
