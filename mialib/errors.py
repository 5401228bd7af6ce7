"""What users hand in: taken as it is meant, or refused with what was expected, what was found and what to do."""

import difflib
from collections.abc import Collection

import numpy as np
from numpy.typing import ArrayLike


def refuse(fault: bool, sentence: str) -> None:
    """Raise this sentence if there is a fault."""
    if fault:
        raise ValueError(sentence)


def check_choice(kind: str, name: str, names: Collection[str], *, more: str = "") -> str:
    """Return `name` if it is one of `names`; else refuse it, suggest the nearest one, and say `more`."""
    if name not in names:
        guess = difflib.get_close_matches(str(name), list(names), n=1, cutoff=0.5)
        meant = f"; did you mean {guess[0]!r}?" if guess else "."
        raise ValueError(f"There is no {kind} {name!r}{meant} Known: {', '.join(names)}.{more}")
    return name


def check_range(low: float, high: float, /, *, whole: bool = False, **values: ArrayLike) -> None:
    """Refuse what is not a finite number (or an array of them) in low … high: `check_range(1, np.inf, epochs=epochs)`."""
    for name, value in values.items():
        array = np.asarray(value)
        if not array.size or array.dtype.kind in ("iu" if whole else "iuf"):
            outside = array[~((array >= low) & (array <= high) & np.isfinite(array))]
            if not outside.size:  # An empty array has nothing to refuse.
                continue
            value = outside.flat[0]
        allowed = f" in {low} … {high}" if high < np.inf else f", at least {low}"
        raise ValueError(f"{name} must be a {'whole ' * whole}number{allowed}, found {value}.")


def as_array(values: ArrayLike, *, kind: str = "biuf", what: str = "values") -> np.ndarray:
    """`values` as an array of one of NumPy's `kind`s; a torch tensor is taken from its graph and its device. Whole
    numbers stored as floats pass for integers; nothing else is converted behind the user's back."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = (values.float() if str(values.dtype) == "torch.bfloat16" else values).numpy()
    array = np.asarray(values)
    if (
        kind == "iu"
        and array.dtype.kind == "f"
        and ((np.abs(array) < 2**53) & (array == array.round())).all()
    ):
        return array.astype(np.int64)
    wanted = {"iu": "integers", "b": "True or False for each record"}.get(kind, "real numbers")
    refuse(
        array.dtype.kind not in kind, f"{what} must be {wanted}, found an array of {array.dtype}."
    )
    return array
