"""Sentences for bad input: what was expected, what was found, what to do."""

import difflib
from collections.abc import Iterable


def nearest(kind: str, name: str, known: Iterable[str]) -> str:
    """Say that `name` is unknown and suggest the nearest one.

    >>> nearest("model", "resnet2", ["mlp", "resnet20"])
    "There is no model 'resnet2'; did you mean 'resnet20'? Known: mlp, resnet20."
    """
    known = list(known)
    guess = difflib.get_close_matches(str(name), known, n=1, cutoff=0.5)
    hint = f"; did you mean {guess[0]!r}?" if guess else "."
    return f"There is no {kind} {name!r}{hint} Known: {', '.join(known)}."
