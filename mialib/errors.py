"""What users hand in: taken as it is meant, or refused with what was expected, what was found and what to do."""

import difflib
from collections.abc import Collection

import numpy as np
from numpy.typing import ArrayLike


def nearest(kind: str, name: str, names: Collection[str]) -> str:
    """Say that `name` is unknown and suggest the nearest one.

    >>> nearest("model", "resnet2", ["mlp", "resnet20"])
    "There is no model 'resnet2'; did you mean 'resnet20'? Known: mlp, resnet20."
    """
    guess = difflib.get_close_matches(str(name), list(names), n=1, cutoff=0.5)
    hint = f"; did you mean {guess[0]!r}?" if guess else "."
    return f"There is no {kind} {name!r}{hint} Known: {', '.join(names)}."


def known(kind: str, name: str, names: Collection[str]) -> str:
    """Return `name` if it is one of `names`, else refuse it."""
    if name not in names:
        raise ValueError(nearest(kind, name, names))
    return name


def between(low: float, high: float, /, *, whole: bool = False, **values: ArrayLike) -> None:
    """Refuse what is not a finite number (or an array of them) in low … high.

    >>> between(1, np.inf, whole=True, epochs=2.5)
    Traceback (most recent call last):
    ValueError: epochs must be a whole number, at least 1, found 2.5.
    """
    for name, value in values.items():
        array = np.asarray(value)
        if not array.size or array.dtype.kind in ("iu" if whole else "iuf"):
            outside = array[~((array >= low) & (array <= high) & np.isfinite(array))]
            if not outside.size:  # An empty array has nothing to refuse.
                continue
            value = outside.flat[0]
        kind = "a whole number" if whole else "a number"
        allowed = f" in {low} … {high}" if high < np.inf else f", at least {low}"
        raise ValueError(f"{name} must be {kind}{allowed}, found {value}.")


def as_array(values: ArrayLike, *, kind: str = "biuf", what: str = "values") -> np.ndarray:
    """`values` as an array of one of NumPy's `kind`s; a torch tensor is taken from its graph and its device.

    Whole numbers stored as floats pass for integers; nothing else is converted behind the user's back.
    """
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = (values.float() if str(values.dtype) == "torch.bfloat16" else values).numpy()
    array = np.asarray(values)
    if kind == "iu" and array.dtype.kind == "f" and ((np.abs(array) < 2**53) & (array == array.round())).all():
        return array.astype(np.int64)
    if array.dtype.kind not in kind:
        wanted = {"iu": "integers", "b": "True or False for each record"}.get(kind, "real numbers")
        raise ValueError(f"{what} must be {wanted}, found an array of {array.dtype}.")
    return array
