"""Exercises that ask for a judgement: sentences to sign, or blanks to fill.

signed_all(answer(), {"A": Sentence(True, "the first figure"), …})      # a complaint, or None
filled_all(answer(), {"weak": "more"}, choices=("less", "more"))        # likewise
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Sentence(NamedTuple):
    """Whether the lesson supports a sentence, and where the reader finds that."""

    holds: bool
    look: str


def signed_all(signed: object, sentences: Mapping[str, Sentence]) -> str | None:
    """A complaint about the first letter that should be signed and is not, or is and should not."""
    letters = "".join(sentences)
    if not isinstance(signed, str) or set(signed) - set(letters):
        return (
            f"Expected a text of letters from {letters}, such as {letters[:2]!r}, found {signed!r}."
        )
    for letter, sentence in sentences.items():
        if sentence.holds and letter not in signed:
            return f"The lesson does support {letter}: {sentence.look}"
        if letter in signed and not sentence.holds:
            return f"Would you sign {letter}? {sentence.look}"
    return None


def filled_all(
    filled: object, expected: Mapping[str, str], *, choices: Sequence[str]
) -> str | None:
    """A complaint about the first blank that holds something else than the results say."""
    if not isinstance(filled, Mapping) or set(filled) != set(expected):
        return f"Expected a dictionary with the keys {', '.join(expected)}, found {filled!r}."
    for blank, right in expected.items():
        if filled[blank] not in choices:
            return f"{blank}: {filled[blank]!r} is none of {', '.join(choices)}."
        if filled[blank] != right:
            return f"{blank}: the results do not say {filled[blank]!r}. Read that interval again."
    return None
