"""Pruning by magnitude: which weights are the smallest, and how they are kept at zero.

    hold(model, smallest_pruned(model, 0.2))    # a fifth of the weights is zero, and stays so
    release(model)                              # plain weights again
    remaining(model)                            # 80.1: in percent, as the sparsity paper counts

A pruned weight is exactly zero, so the weights carry their masks. Introduced in notebook 12.
"""

import math
from collections.abc import Iterable, Mapping

import torch
from torch import Tensor, nn
from torch.nn.utils import prune

from mialib.errors import check_range

Masks = dict[str, Tensor]  # for each layer, by name: True where its weight remains


def layers(model: nn.Module) -> dict[str, nn.Conv2d | nn.Linear]:
    """The convolution and linear layers by name; a bias or a normalisation is never pruned."""
    if not isinstance(model, nn.Module):
        raise ValueError(f"Expected a torch module to prune, found {type(model).__name__}.")
    by_name = {}
    for name, module in model.named_modules(remove_duplicate=False):
        if isinstance(module, nn.Conv2d | nn.Linear):
            by_name[name] = module
    if not by_name:
        raise ValueError(
            f"There is no convolution or linear layer to prune in {type(model).__name__}."
        )
    # All weights are asked for at once, because torch may make a weight anew when it is asked.
    weights = {name: layer.weight for name, layer in by_name.items()}
    shared = [name for name, weight in weights.items() if _count(weight, weights.values()) > 1]
    if shared:
        raise ValueError(
            f"{', '.join(shared)} share one weight, which would be pruned twice. "
            "Give each a weight of its own."
        )
    return by_name


def masks(model: nn.Module) -> Masks:
    """Where the weights are not zero."""
    return {name: layer.weight.detach() != 0 for name, layer in layers(model).items()}


def smallest_pruned(model: nn.Module, share: float) -> Masks:
    """The masks after ⌈share · remaining⌉ more weights are pruned: the smallest of all layers."""
    check_range(0, 1, share=share)
    sizes = {name: layer.weight.detach().abs() for name, layer in layers(model).items()}
    not_pruned = torch.cat([size[size > 0] for size in sizes.values()])
    ordered = not_pruned.sort().values
    count = math.ceil(share * len(ordered))
    threshold = ordered[count - 1] if count else 0.0
    if not (ordered > threshold).any():  # Equal weights go together, so fewer may suffice.
        raise ValueError(
            f"Pruning {count} of {len(ordered)} weights leaves none. Prune a smaller share."
        )
    return {name: size > threshold for name, size in sizes.items()}


def hold(model: nn.Module, masks: Masks) -> None:
    """Set what is masked to zero, and keep it there through training, until `release`."""
    by_name = layers(model)
    _check_masks(masks, by_name)
    for name, layer in by_name.items():
        prune.custom_from_mask(layer, "weight", masks[name])
        original = layer.get_parameter("weight_orig")
        original.data.mul_(layer.get_buffer("weight_mask"))  # Weight decay would move what hides.


def release(model: nn.Module) -> None:
    """Make the masks permanent: plain weights again, zero where they were masked."""
    for layer in layers(model).values():
        prune.remove(layer, "weight")


def remaining(model: nn.Module) -> float:
    """Percent of the parameters that are not pruned.

    As in the paper, what is never pruned counts as remaining.
    """
    pruned = sum((~mask).sum().item() for mask in masks(model).values())
    total = sum(parameter.numel() for parameter in model.parameters())
    return 100 * (1 - pruned / total)


def _count(weight: Tensor, weights: Iterable[Tensor]) -> int:
    """How many of the weights are this very tensor."""
    return sum(weight is other for other in weights)


def _check_masks(masks: Masks, by_name: dict[str, nn.Conv2d | nn.Linear]) -> None:
    """Every layer has a mask of its shape, and some weight is kept."""
    if not isinstance(masks, Mapping):
        raise ValueError(f"Expected a mask for each layer by name, found {type(masks).__name__}.")
    if set(masks) != set(by_name):
        raise ValueError(
            f"Expected a mask for each of {', '.join(by_name)}; "
            f"found {', '.join(map(str, masks)) or 'none'}."
        )
    for name, layer in by_name.items():
        mask = masks[name]
        if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
            kind = getattr(mask, "dtype", type(mask))
            raise ValueError(
                f"The mask of {name} must be a tensor of True and False, found {kind}."
            )
        if mask.shape != layer.weight.shape:
            raise ValueError(
                f"The mask of {name} must have the shape of its weight, "
                f"{tuple(layer.weight.shape)}; found {tuple(mask.shape)}."
            )
    if not any(mask.any() for mask in masks.values()):
        raise ValueError("These masks leave no weight. Keep at least one.")
