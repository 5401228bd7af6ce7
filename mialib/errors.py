"""Sentences for bad input: what was expected, what was found, what to do."""

import difflib
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike


def nearest(kind: str, name: str, known: Iterable[str]) -> str:
    """Say that `name` is unknown and suggest the nearest one.

    >>> nearest("model", "resnet2", ["mlp", "resnet20"])
    "There is no model 'resnet2'; did you mean 'resnet20'? Known: mlp, resnet20."
    """
    known = list(known)
    guess = difflib.get_close_matches(str(name), known, n=1, cutoff=0.5)
    hint = f"; did you mean {guess[0]!r}?" if guess else "."
    return f"There is no {kind} {name!r}{hint} Known: {', '.join(known)}."


def between(low: float, high: float, **values: ArrayLike) -> None:
    """Refuse numbers (or arrays of them) outside low … high; NaN passes, for it says that there is no number.

    >>> between(0, 1, prior=50)
    Traceback (most recent call last):
    ValueError: prior must lie in 0 … 1, found 50.
    """
    for name, value in values.items():
        array = np.asarray(value)
        outside = array[(array < low) | (array > high)]
        if outside.size:
            allowed = f"lie in {low} … {high}" if high < np.inf else f"be at least {low}"
            raise ValueError(f"{name} must {allowed}, found {outside.flat[0]}.")
