"""Arrays from whatever a user has, and the few formulas that several modules share. No torch.

>>> as_array([1.0, 2.0], kind="iu", what="labels")
array([1, 2])
>>> log_softmax([[0.0, 0.0]]).round(4)
array([[-0.6931, -0.6931]])
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


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


def log_softmax(logits: ArrayLike) -> np.ndarray:
    """Log-probabilities (…, classes) in float64; no exponential can overflow."""
    logits = np.asarray(logits, np.float64)
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def scaled_confidence(logits: ArrayLike, labels: np.ndarray) -> np.ndarray:
    """LiRA's φ = log p_y − log Σ_{i≠y} p_i, from logits so that it stays finite where p_y rounds to 1: (n,).

    >>> scaled_confidence(np.log([[0.7, 0.2, 0.1]]), np.array([0])).round(7)
    array([0.8472979])
    """
    logits = np.array(logits, np.float64)
    if logits.shape[-1] < 2:
        raise ValueError("A confidence compares the label's class with the others; one class alone has none.")
    rows = np.arange(len(labels))
    own = logits[rows, labels]
    logits[rows, labels] = -np.inf
    top = logits.max(axis=-1)
    return own - top - np.log(np.exp(logits - top[:, None]).sum(axis=-1))
