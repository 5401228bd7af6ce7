"""What all defenses have in common: plain settings, and the shapes of what a loss is handed.

The checks look at kinds and shapes, never at values, so nothing waits for the device.
"""

from collections.abc import Callable
from dataclasses import fields

import torch
from torch import Tensor, nn

from mialib.errors import plain_tuple
from mialib.training import Defense


def plain_settings(defense: Defense) -> None:
    """Turn numbers of NumPy and torch into Python's own, and lists and arrays into tuples.

    So equal settings are equal and hashable, whatever they were made from.
    """
    for setting in fields(defense):
        value = plain_tuple(getattr(defense, setting.name))
        object.__setattr__(defense, setting.name, value)


def check_rows(**tables: Tensor) -> None:
    """Refuse what is no table of real numbers with one row for each record or class."""
    for name, table in tables.items():
        check_tensors(**{name: table})
        if table.ndim != 2 or not table.is_floating_point():
            shape = tuple(table.shape)
            raise ValueError(f"{name} must be rows of numbers, found {table.dtype} of {shape}.")


def check_tensors(**values: Tensor) -> None:
    """Refuse what is no tensor, or one on the device "meta", which holds nothing."""
    for name, value in values.items():
        if not isinstance(value, Tensor) or value.is_meta:
            raise TypeError(f"{name} must be a tensor with numbers, found {type(value).__name__}.")


def check_batch(logits: Tensor, y: Tensor) -> None:
    """Refuse what are not the logits (n, classes) and the labels (n,) of one batch."""
    check_rows(logits=logits)
    check_tensors(y=y)
    if y.dtype != torch.long or y.shape != logits.shape[:1]:
        raise ValueError(
            f"y must be {len(logits)} labels of type torch.long, one for each row of logits; "
            f"found {y.dtype} of shape {tuple(y.shape)}."
        )


class Parts:
    """A network as the two parts that some defenses reach between: `features`, then `classify`."""

    def __init__(self, model: nn.Module):
        self.features = self._part(model, "features")
        self.classify = self._part(model, "classify")

    @staticmethod
    def _part(model: nn.Module, name: str) -> Callable[[Tensor], Tensor]:
        part = getattr(model, name, None)
        if not callable(part):
            raise ValueError(
                "This defense reaches between the parts `features` and `classify` of a network, "
                f"but {type(model).__name__} has no `{name}`. See mialib.models.Network."
            )
        return part  # type: ignore[return-value]
