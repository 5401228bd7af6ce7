"""Values that fit nowhere, or not everywhere, and the one demand on what is handed them.

A function that is handed junk answers rightly, or refuses with a sentence, within a second."""

import time
from decimal import Decimal

import numpy as np

JUNK = {
    "None": None,
    "True": True,
    "text": "abc",
    "a number as text": "7",
    "False as text": "False",
    "bytes": b"abc",
    "nan": float("nan"),
    "inf": float("inf"),
    "-1": -1,
    "0": 0,
    "0.5": 0.5,
    "2^31": 2**31,
    "2^70": 2**70,
    "complex": 1 + 2j,
    "Decimal": Decimal("0.5"),
    "object": object(),
    "function": len,
    "slice": slice(0, 2),
    "bad slice": slice("a", "b"),
    "list": [],
    "ragged list": [[1, 2], [3]],
    "list of None": [None, None],
    "list of text": ["a", "b"],
    "dict": {"a": 1},
    "set": {1, 2},
    "no numbers": np.empty(0),
    "two numbers": np.array([0.5, 0.25]),
    "a NaN": np.array([0.5, np.nan]),
    "a table": np.zeros((2, 2)),
    "a block": np.zeros((2, 3, 4)),
    "complex array": np.array([1j, 2]),
    "object array": np.array([object(), 3], dtype=object),
    "text array": np.array(["False", "True"]),
    "dates": np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[D]"),
    "masked": np.ma.array([1.0, 2.0], mask=[True, False]),
    "records": np.zeros(2, dtype=[("a", int), ("b", float)]),
}


def refused(work, *, seconds: float | None = None) -> bool:
    """Whether `work` refuses its input; the error must be of the right kind and a sentence."""
    start = time.perf_counter()
    try:
        work()
        refusal = None
    except (ValueError, TypeError) as error:
        refusal = error
    if seconds is not None:
        assert time.perf_counter() - start < seconds, "too slow to answer or to refuse"
    if refusal is None:
        return False
    assert len(str(refusal).split()) >= 5, f"not a sentence: {refusal!r}"
    return True
