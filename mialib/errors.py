"""What users hand in: taken as it is meant, or refused with a sentence.

The sentence says what was expected, what was found and, where it helps, what to do.

    check_choice("attack", name, ATTACKS)               # one of these names
    check_range(1, np.inf, whole=True, epochs=epochs)   # one number in this range
    check_flag(online=online)                           # True or False, and not "False"
    labels = as_array(labels, kind="iu", what="labels") # an array of integers
    object.__setattr__(self, "milestones", plain_tuple(self.milestones))   # a frozen setting
"""

import difflib
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

LARGEST_EXACT = 2**53  # From here on float64 skips whole numbers.
DEEPEST = 32  # how deep a setting may be nested


def check_choice(kind: str, name: str, names: Collection[str], *, more: str = "") -> str:
    """Return `name` if it is one of `names`; otherwise suggest the nearest one, and say `more`.

    >>> check_choice("colour", "bleu", ["red", "blue"])
    Traceback (most recent call last):
    ...
    ValueError: There is no colour 'bleu'; did you mean 'blue'? Known: red, blue.
    """
    if isinstance(name, str) and name in names:
        return name
    guess = difflib.get_close_matches(str(name), list(names), n=1, cutoff=0.5)
    meant = f"; did you mean {guess[0]!r}?" if guess else "."
    known = ", ".join(names) or "none"
    raise ValueError(f"There is no {kind} {name!r}{meant} Known: {known}.{more}")


def check_range(
    low: float,
    high: float,
    /,
    *,
    whole: bool = False,
    many: bool = False,
    **values: Any,
) -> None:
    """Refuse what is not one finite number in low … high.

    With `many`, arrays and tuples of such numbers pass, and an empty one has nothing to refuse.
    True and False are no numbers here.

    >>> check_range(1, 10, whole=True, epochs=2.5)
    Traceback (most recent call last):
    ...
    ValueError: epochs must be a whole number in 1 … 10, found 2.5.
    """
    for name, value in values.items():
        wrong = _first_outside(value, low, high, whole=whole, many=many)
        if wrong is None:
            continue
        number = "whole number" if whole else "number"
        allowed = f" in {low} … {high}" if high < np.inf else f", at least {low}"
        raise ValueError(f"{name} must be a {number}{allowed}, found {wrong}.")


def _first_outside(value: Any, low: float, high: float, *, whole: bool, many: bool) -> str | None:
    """The first number of `value` that is not finite and in low … high, as text, or None."""
    try:
        array = _as_numpy(value)
    except ValueError:
        return _shortened(value)
    if array.ndim > 0 and not many:
        return _shortened(value)
    if array.size == 0:
        return None
    if array.dtype.kind not in ("iu" if whole else "iuf"):
        return _shortened(value)
    inside = (array >= low) & (array <= high) & np.isfinite(array)
    outside = array[~inside]
    return str(outside.flat[0]) if outside.size else None


def check_flag(**values: object) -> None:
    """Refuse what is not True or False, text such as "False" above all.

    >>> check_flag(online="False")
    Traceback (most recent call last):
    ...
    ValueError: online must be True or False, found 'False'.
    """
    for name, value in values.items():
        if not isinstance(value, bool | np.bool_):
            raise ValueError(f"{name} must be True or False, found {_shortened(value)}.")


def plain_number(value: Any) -> Any:
    """A number of NumPy or torch, or an array without axes, as Python's own; all else as it is.

    Settings call it, so that equal settings are equal and hashable whatever they were made from.

    >>> plain_number(np.float64(0.5)), plain_number(np.array(3)), plain_number("a")
    (0.5, 3, 'a')
    """
    is_scalar = getattr(value, "shape", None) == ()
    return _as_listed(value) if is_scalar else value


def plain_tuple(values: Any) -> Any:
    """A list, range, array or tensor as a tuple of plain numbers, at any depth; all else as it is.

    >>> plain_tuple([1, np.int64(2)]), plain_tuple(np.array([[0.5, 1.5]])), plain_tuple(None)
    ((1, 2), ((0.5, 1.5),), None)
    """
    return _plain_tuple(values, depth=0)


def _plain_tuple(values: Any, depth: int) -> Any:
    if depth > DEEPEST:
        raise ValueError(f"Expected values nested at most {DEEPEST} deep, found a list in itself.")
    values = _as_listed(values)
    if isinstance(values, list | tuple | range):
        return tuple(_plain_tuple(value, depth + 1) for value in values)
    return values


def _as_listed(values: Any) -> Any:
    """An array or a tensor as Python's own numbers; all else as it is."""
    if isinstance(values, type) or not hasattr(values, "tolist"):
        return values
    try:
        return values.tolist()
    except (NotImplementedError, RuntimeError) as error:
        raise ValueError(f"Expected numbers, found a tensor without them ({error}).") from None


def as_path(path: Any) -> Path:
    """A file's or folder's path, from text or a `Path`.

    >>> as_path(None)
    Traceback (most recent call last):
    ...
    ValueError: Expected the path of a file or folder, found None.
    """
    if not isinstance(path, str | Path) or "\0" in str(path):
        raise ValueError(f"Expected the path of a file or folder, found {_shortened(path)}.")
    return Path(path)


def as_array(values: Any, *, kind: str = "biuf", what: str = "values") -> np.ndarray:
    """`values` as an array of one of NumPy's `kind`s ("b" bool, "iu" integers, "f" floats).

    A torch tensor is taken from its graph and its device. Whole numbers stored as floats pass for
    integers; nothing else is converted behind the user's back, and masked entries are refused.

    >>> as_array([[1, 2], [3]], what="scores")
    Traceback (most recent call last):
    ...
    ValueError: scores must be real numbers, found rows of different lengths.
    """
    wanted = {"iu": "integers", "b": "True or False for each record"}.get(kind, "real numbers")
    try:
        array = _as_numpy(values)
    except ValueError as error:
        raise ValueError(f"{what} must be {wanted}, found {error}.") from None
    if kind == "iu" and _holds_whole_floats(array):
        return array.astype(np.int64)
    if array.dtype.kind in kind:
        return array
    found = f"an array of {array.dtype}" if array.ndim else _shortened(values)
    raise ValueError(f"{what} must be {wanted}, found {found}.")


def _as_numpy(values: Any) -> np.ndarray:
    """`values` as NumPy reads them; what it cannot read is a ValueError that says what it is."""
    if hasattr(values, "detach"):
        values = _from_torch(values)
    if isinstance(values, np.ma.MaskedArray):
        values = _without_mask(values)
    try:
        return np.asarray(values)
    except ValueError:
        raise ValueError("rows of different lengths") from None
    except (TypeError, OverflowError, RuntimeError):
        raise ValueError(_shortened(values)) from None


def _from_torch(tensor: Any) -> np.ndarray:
    """A tensor's numbers on the CPU; bfloat16, which NumPy does not have, becomes float32."""
    try:
        values = tensor.detach().cpu()
        if str(values.dtype) == "torch.bfloat16":
            values = values.float()
        return values.numpy()
    except (TypeError, RuntimeError) as error:
        raise ValueError(f"a tensor that NumPy cannot read ({error})") from None


def _without_mask(values: np.ma.MaskedArray) -> np.ndarray:
    masked = int(np.ma.getmaskarray(values).sum())
    if masked:
        raise ValueError(f"{masked} masked entries; leave those records out, or fill them in")
    return values.data


def _holds_whole_floats(array: np.ndarray) -> bool:
    if array.dtype.kind != "f":
        return False
    is_whole = (np.abs(array) < LARGEST_EXACT) & (array == array.round())
    return bool(is_whole.all())


def _shortened(value: object) -> str:
    """`repr(value)`, cut where it would fill the screen."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "…"
