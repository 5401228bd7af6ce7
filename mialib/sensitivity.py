"""Where membership lives: how much the loss gap depends on each parameter.

    gradients = gap_gradient(model, side.train, side.inference)   # {module: ∂(L_non-member − L_member) / ∂w}
    weights = {name: adaptive_weight(g) for name, g in gradients.items()}   # PAST's γ
    concentration(weights)                                        # how few parameters carry it

A *module* is the weight of one convolution, linear layer or normalisation; biases are left out, as in PAST's code.
Gradients are taken in eval mode, so model and BatchNorm statistics stay as they were. Introduced in notebook 07."""

from collections.abc import Collection, Iterable, Mapping

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mialib.data.records import Records
from mialib.errors import as_array, check_choice, check_range, refuse
from mialib.signals import eval_mode
from mialib.training import Pair, to_device

NORMS = (nn.modules.batchnorm._BatchNorm, nn.GroupNorm)
KINDS = {"convolution": nn.modules.conv._ConvNd, "linear": nn.Linear, "normalisation": NORMS}
By = Mapping[str, Tensor]  # a tensor for each module


def weights(model: nn.Module, kinds: Collection[str] = tuple(KINDS)) -> dict[str, nn.Parameter]:
    """The weights of the modules of these kinds, by the module's name; frozen ones are left out."""
    types = (
        tuple(np.hstack([KINDS[check_choice("kind of module", kind, KINDS)] for kind in kinds]))
        if kinds
        else ()
    )
    found = {
        name: module.weight for name, module in model.named_modules() if isinstance(module, types)
    }
    found = {
        name: weight
        for name, weight in found.items()
        if weight is not None and weight.requires_grad
    }
    expected = f"at least one module of kind {' or '.join(kinds)} whose weight is not frozen"
    refuse(
        not found,
        f"Expected {expected}, found none. Choose other kinds, or call requires_grad_() on the model.",
    )
    return found


def kinds(model: nn.Module) -> dict[str, str]:
    """What each module of `weights` is: convolution, linear or normalisation."""
    modules = {name: model.get_submodule(name) for name in weights(model)}
    return {
        name: kind
        for kind in KINDS
        for name, module in modules.items()
        if isinstance(module, KINDS[kind])
    }


def mean_gradient(
    model: nn.Module, records: Records | Pair, *, batch_size: int = 500
) -> dict[str, Tensor]:
    """The gradient of the records' mean loss for each module's weight; zero where the output does not depend on it."""
    chosen = weights(model)
    total = {name: torch.zeros_like(weight) for name, weight in chosen.items()}
    x, y = (
        to_device(records, next(model.parameters()).device)
        if isinstance(records, Records)
        else records
    )
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
    """∂G/∂w for each module's weight, where G is the non-members' mean loss minus the members' (PAST, Eq. 2)."""
    ours, theirs = mean_gradient(model, members), mean_gradient(model, non_members)
    return {name: theirs[name] - ours[name] for name in ours}


def adaptive_weight(gradient: Tensor) -> Tensor:
    """PAST's γ: the absolute gradients of one module over their mean (Eq. 3, with the absolute value of its code). As
    printed, without it, γ can be negative, and its power α is NaN unless α is whole."""
    size = gradient.abs()
    return size / size.mean().clamp(min=torch.finfo(size.dtype).eps)  # All zeros stay zeros.


def flat(values: By | Iterable) -> np.ndarray:
    """All modules' values in one array (n,)."""
    if isinstance(values, Mapping):
        values = torch.cat([value.detach().flatten().cpu() for value in values.values()])
    return as_array(values).astype(np.float64).ravel()


def concentration(
    sizes: By | Iterable, *, top: float = 0.2, low: float = 0.1
) -> tuple[float, float]:
    """(share of the total that the largest `top` of |sizes| carry, share of them below `low`); Fig. 1b for γ."""
    check_range(0, 1, top=top)
    values = np.sort(np.abs(flat(sizes)))
    total, largest = values.sum(), values[-max(round(top * len(values)), 1) :].sum()
    return float(largest / total) if total > 0 else 0.0, float((values < low).mean())


def migration(before: By | Iterable, after: By | Iterable, *, top: float = 0.2) -> float:
    """The share of the most sensitive `top` that were not among the most sensitive before (Fig. 12)."""
    first, second = np.abs(flat(before)), np.abs(flat(after))
    number = max(round(top * len(first)), 1)
    top_first, top_second = (
        np.argpartition(-values, number - 1)[:number] for values in (first, second)
    )
    return 1 - len(np.intersect1d(top_first, top_second)) / number


def gini(values: By | Iterable, *, shifted: bool = False) -> float:
    """Gini's index of |w|: 0 when all are alike, near 1 when few carry all, so it rises with sparsity. `shifted` takes
    w − min(w) in place of |w|, as PAST's code does; that *falls* when weights gather round zero."""
    w = flat(values)
    ordered = np.sort(w - w.min() if shifted else np.abs(w))
    n, total = len(ordered), ordered.sum()
    return (
        float(((2 * np.arange(1, n + 1) - n - 1) * ordered).sum() / (n * total))
        if total > 0
        else 0.0
    )


def hoyer(values: By | Iterable) -> float:
    """Hoyer's sparsity (√n − ℓ1/ℓ2) / (√n − 1): 0 when all sizes are alike, 1 when one carries all."""
    w = flat(values)
    root, length = np.sqrt(len(w)), np.linalg.norm(w)
    return (
        float((root - np.abs(w).sum() / length) / (root - 1)) if length > 0 and len(w) > 1 else 0.0
    )
