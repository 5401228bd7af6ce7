"""Where membership lives: how much the loss gap depends on each parameter.

    gradients = gap_gradient(model, side.train, side.inference)  # ∂G/∂w of every module's weight
    gamma = {name: adaptive_weight(g) for name, g in gradients.items()}  # PAST's γ
    concentration(gamma)  # how few parameters carry it

G is the loss gap, the mean loss of non-members minus that of members. A *module* is the weight of
one convolution, linear layer or normalisation; biases are left out, as in PAST's code. Gradients
are taken in eval mode, so model and BatchNorm statistics stay as they were. Introduced in
notebook 07.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mialib.data.records import Records
from mialib.errors import as_array, check_choice, check_flag, check_range
from mialib.query import Pair, device_of, eval_mode, to_device

KINDS: dict[str, tuple[type[nn.Module], ...]] = {
    "convolution": (nn.modules.conv._ConvNd,),
    "linear": (nn.Linear,),
    "normalisation": (nn.modules.batchnorm._BatchNorm, nn.GroupNorm),
}
TensorsByModule = Mapping[str, Tensor]


class Concentration(NamedTuple):
    """How unequal sizes are."""

    top_share: float  # of the total, what the largest carry
    low_share: float  # of the values, how many are small


# The gradient of the loss gap.


def weights(model: nn.Module, kinds: Collection[str] = tuple(KINDS)) -> dict[str, nn.Parameter]:
    """The weights of the modules of these kinds, by the module's name; frozen ones are left out."""
    if not isinstance(model, nn.Module):
        raise ValueError(f"Expected a torch module, found {type(model).__name__}.")
    if not isinstance(kinds, tuple | list | set | frozenset | dict):
        raise ValueError(f"kinds must be a list of some of {', '.join(KINDS)}, found {kinds!r}.")
    types: tuple[type[nn.Module], ...] = ()
    for kind in kinds:
        types += KINDS[check_choice("kind of module", kind, KINDS)]
    by_name = {}
    for name, module in model.named_modules():
        weight = module.weight if isinstance(module, types) else None
        if weight is not None and weight.requires_grad:
            by_name[name] = weight
    if not by_name:
        raise ValueError(
            f"Expected at least one module of kind {' or '.join(kinds)} whose weight is not "
            "frozen, found none. Choose other kinds, or call requires_grad_() on the model. "
            "(The factors of a butterfly layer are of no kind.)"
        )
    return by_name


def kinds(model: nn.Module) -> dict[str, str]:
    """What each module of `weights` is: convolution, linear or normalisation."""
    modules = {name: model.get_submodule(name) for name in weights(model)}
    by_name = {}
    for kind, types in KINDS.items():
        for name, module in modules.items():
            if isinstance(module, types):
                by_name[name] = kind
    return by_name


def mean_gradient(
    model: nn.Module, records: Records | Pair, *, batch_size: int = 500
) -> dict[str, Tensor]:
    """The gradient of the records' mean loss for each module's weight.

    It is zero where the output does not depend on a weight.
    """
    check_range(1, np.inf, whole=True, batch_size=batch_size)
    chosen = weights(model)
    x, y = _as_pair(records, device_of(model))
    total = {name: torch.zeros_like(weight) for name, weight in chosen.items()}
    with eval_mode(model):
        for inputs, labels in zip(x.split(batch_size), y.split(batch_size), strict=True):
            loss = F.cross_entropy(model(inputs), labels, reduction="sum") / len(y)
            gradients = torch.autograd.grad(loss, list(chosen.values()), materialize_grads=True)
            for name, gradient in zip(total, gradients, strict=True):
                total[name] += gradient
    return total


def gap_gradient(
    model: nn.Module, members: Records | Pair, non_members: Records | Pair
) -> dict[str, Tensor]:
    """∂G/∂w for each module's weight, of the loss gap G (PAST, Eq. 2)."""
    member_gradient = mean_gradient(model, members)
    other_gradient = mean_gradient(model, non_members)
    return {name: other_gradient[name] - member_gradient[name] for name in member_gradient}


def adaptive_weight(gradient: Tensor) -> Tensor:
    """PAST's γ: the absolute gradients of one module over their mean (Eq. 3).

    The absolute value is in the authors' code. As printed, without it, γ can be negative, and its
    power α is NaN unless α is whole.

    >>> adaptive_weight(torch.tensor([0.2, -0.2, 0.4, 0.0]))
    tensor([1., 1., 2., 0.])
    """
    if not isinstance(gradient, Tensor) or not gradient.is_floating_point() or gradient.is_meta:
        raise ValueError(f"Expected a tensor of gradients, found {type(gradient).__name__}.")
    size = gradient.abs()
    smallest = torch.finfo(size.dtype).eps  # All zeros stay zeros.
    return size / size.mean().clamp(min=smallest)


# How unequal sensitivities or weights are.


def flat(values: TensorsByModule | Iterable) -> np.ndarray:
    """All modules' values in one array (n,)."""
    if isinstance(values, Mapping):
        if not values:
            return np.empty(0)
        return np.concatenate([flat(value) for value in values.values()])
    return as_array(values).astype(np.float64).ravel()


def concentration(
    sizes: TensorsByModule | Iterable, *, top: float = 0.2, low: float = 0.1
) -> Concentration:
    """What the largest share `top` of |sizes| carries, and how many are below `low` (Fig. 1b)."""
    check_range(0, 1, top=top)
    check_range(-np.inf, np.inf, low=low)
    low = float(low)
    ordered = np.sort(np.abs(_finite(sizes)))
    total = ordered.sum()
    largest = ordered[-_count_of(top, ordered) :].sum()
    return Concentration(
        top_share=float(largest / total) if total > 0 else 0.0,
        low_share=float((ordered < low).mean()),
    )


def migration(
    before: TensorsByModule | Iterable, after: TensorsByModule | Iterable, *, top: float = 0.2
) -> float:
    """The share of the most sensitive `top` that was not among the most sensitive before.

    PAST, Fig. 12.
    """
    check_range(0, 1, top=top)
    first = np.abs(_finite(before))
    second = np.abs(_finite(after))
    if len(first) != len(second):
        raise ValueError(
            f"Expected the same parameters before and after, found {len(first)} and {len(second)}."
        )
    number = _count_of(top, first)
    top_before = np.argpartition(-first, number - 1)[:number]
    top_after = np.argpartition(-second, number - 1)[:number]
    return 1 - len(np.intersect1d(top_before, top_after)) / number


def gini(values: TensorsByModule | Iterable, *, shifted: bool = False) -> float:
    """Gini's index of |w|: 0 when all are alike, near 1 when few carry all.

    So it rises with sparsity. `shifted` takes w − min(w) in place of |w|, as PAST's code does; that
    *falls* when weights gather round zero.
    """
    check_flag(shifted=shifted)
    w = _finite(values)
    sizes = w - w.min() if shifted else np.abs(w)
    ordered = np.sort(sizes)
    n = len(ordered)
    total = ordered.sum()
    if not total > 0:
        return 0.0
    rank = 2 * np.arange(1, n + 1) - n - 1
    return float((rank * ordered).sum() / (n * total))


def hoyer(values: TensorsByModule | Iterable) -> float:
    """Hoyer's sparsity (√n − ℓ1/ℓ2) / (√n − 1): 0 when all are alike, 1 when one carries all."""
    w = _finite(values)
    root = np.sqrt(len(w))
    l1 = np.abs(w).sum()
    l2 = np.linalg.norm(w)
    if l2 == 0 or len(w) == 1:
        return 0.0
    return float((root - l1 / l2) / (root - 1))


def _count_of(share: float, values: np.ndarray) -> int:
    """How many values a share of them is, at least one."""
    return max(round(float(share) * len(values)), 1)


def _finite(values: TensorsByModule | Iterable) -> np.ndarray:
    """The values in one array, if there are any and all are numbers."""
    array = flat(values)
    if not array.size:
        raise ValueError("Expected at least one value, found none.")
    if not np.isfinite(array).all():
        wrong = int((~np.isfinite(array)).sum())
        raise ValueError(f"Expected finite values, found {wrong} that are NaN or infinite.")
    return array


def _as_pair(records: Records | Pair, device: torch.device) -> Pair:
    if isinstance(records, Records):
        return to_device(records, device)
    if not _is_pair(records):
        raise ValueError(
            "Expected Records, or inputs and labels as two tensors of one length above 0, "
            f"found {type(records).__name__}."
        )
    return records


def _is_pair(records: object) -> bool:
    if not isinstance(records, tuple | list) or len(records) != 2:
        return False
    if not all(isinstance(part, Tensor) and part.ndim for part in records):
        return False
    x, y = records
    return len(x) == len(y) > 0
