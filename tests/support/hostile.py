"""Values that nobody should hand in, and everybody does: by name, made anew for each use.

`HOSTILE` are the same for every argument. `TWISTED` are made from what a valid call has in its
place: half of it, with another axis, with a NaN.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

# The first use of such a tensor loads a part of torch, which takes a second by itself.
(torch.zeros(2, device="meta") - 1).abs().mean()


def ragged() -> list:
    return [[1, 2], [3]]


def generator():
    yield from (0.0, 1.0, 0.0)


def cyclic() -> list:
    """A list that holds itself."""
    values: list = [1]
    values.append(values)
    return values


HOSTILE: dict[str, Callable[[], object]] = {
    "None": lambda: None,
    "text": lambda: "text",
    "the text False": lambda: "False",
    "no text": lambda: "",
    "bytes": lambda: b"bytes",
    "True": lambda: True,
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "-1": lambda: -1,
    "0": lambda: 0,
    "2**31": lambda: 2**31,
    "2**70": lambda: 2**70,
    "1.5": lambda: 1.5,
    "a complex number": lambda: 1 + 2j,
    "an empty list": list,
    "an empty dict": dict,
    "a dict": lambda: {"text": 1},
    "ragged rows": ragged,
    "a list that holds itself": cyclic,
    "an empty array": lambda: np.zeros(0),
    "an array of objects": lambda: np.array([None, "text", 1.5], dtype=object),
    "an array of text": lambda: np.array(["a", "b", "c"]),
    "a complex array": lambda: np.array([1 + 1j, 2, 3]),
    "a masked array": lambda: np.ma.masked_array([0.0, 1.0, 2.0], mask=[True, False, False]),
    "an array with NaN": lambda: np.array([np.nan, 1.0, 2.0]),
    "an array with three axes": lambda: np.zeros((2, 3, 4)),
    "an array of dates": lambda: np.array(["2020-01-01"], dtype="datetime64[D]"),
    "a tensor": lambda: torch.tensor([0.5, 1.5]),
    "a scalar tensor": lambda: torch.tensor(0.5),
    "a tensor with a graph": lambda: torch.ones(3, requires_grad=True) * 2,
    "a meta tensor": lambda: torch.zeros(3, device="meta"),
    "a generator": generator,
    "a class": lambda: int,
    "a function": lambda: len,
    "an object": object,
}


def half(value: Any) -> Any:
    return value[: len(value) // 2]


def none_of(value: Any) -> Any:
    return value[:0]


def deeper(value: Any) -> Any:
    return value[None]


def with_nan(value: Any) -> Any:
    """Its first number is no number."""
    if isinstance(value, torch.Tensor):
        changed = value.detach().clone() if value.is_floating_point() else value.double()
    else:
        changed = value.astype(np.result_type(value, np.float16))
    changed.reshape(-1)[:1] = float("nan")
    return changed


def negative(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.kind == "u":
        value = value.astype(np.int64)
    return value * -3 - 1


def as_list(value: Any) -> Any:
    return value.tolist()


def half_of_its_rows(value: Any) -> Any:
    return value.take(np.arange(len(value) // 2))


def none_of_its_rows(value: Any) -> Any:
    return value.take(np.arange(0))


TWISTED: dict[str, Callable[[Any], object]] = {
    "half of it": half,
    "none of it": none_of,
    "with another axis": deeper,
    "with a NaN": with_nan,
    "below zero": negative,
    "as a list": as_list,
}
TWISTED_RECORDS: dict[str, Callable[[Any], object]] = {
    "half of its rows": half_of_its_rows,
    "none of its rows": none_of_its_rows,
}


def twists_of(value: Any) -> list[str]:
    """The names of what can be made of a valid value."""
    if isinstance(value, np.ndarray | torch.Tensor):
        if value.ndim == 0:
            return []
        numbers = np.asarray(value).dtype.kind in "iuf"
        return [name for name in TWISTED if numbers or name not in ("with a NaN", "below zero")]
    if hasattr(value, "take") and hasattr(value, "__len__"):
        return [name for name, twist in TWISTED_RECORDS.items() if is_possible(twist, value)]
    return []


def is_possible(twist: Callable[[Any], object], value: Any) -> bool:
    """What refuses to be made, such as records without a record, cannot be handed in."""
    try:
        twist(value)
    except ValueError:
        return False
    return True


def made(name: str, original: Any) -> object:
    """The hostile value of this name in the place of `original`."""
    if name in HOSTILE:
        return HOSTILE[name]()
    return (TWISTED | TWISTED_RECORDS)[name](original)
