"""Pruning by magnitude: which weights are the smallest, and how they are kept at zero.

    hold(model, smallest_pruned(model, 0.2))        # a fifth of the weights is zero, and stays so through training
    release(model)                                  # plain weights again
    remaining(model)                                # 80.1: in percent, as the sparsity paper counts

A pruned weight is exactly zero, so the weights carry their masks. Introduced in notebook 12."""

import math

import torch
from torch import Tensor, nn
from torch.nn.utils import prune

from mialib.errors import check_range, refuse

Masks = dict[str, Tensor]  # for each layer, by name: True where its weight remains


def layers(model: nn.Module) -> dict[str, nn.Module]:
    """The convolution and linear layers by name; a bias or a normalisation is never pruned."""
    named = model.named_modules(remove_duplicate=False)
    found = {name: module for name, module in named if isinstance(module, nn.Conv2d | nn.Linear)}
    refuse(
        not found, f"There is no convolution or linear layer to prune in {type(model).__name__}."
    )
    weights = [
        layer.weight for layer in found.values()
    ]  # All at once: torch may make a weight anew when asked.
    shared = ", ".join(
        name
        for name, w in zip(found, weights, strict=True)
        if sum(w is other for other in weights) > 1
    )
    refuse(
        bool(shared),
        f"{shared} share one weight, which would be pruned twice. Give each a weight of its own.",
    )
    return found


def masks(model: nn.Module) -> Masks:
    """Where the weights are not zero."""
    return {name: layer.weight.detach() != 0 for name, layer in layers(model).items()}


def smallest_pruned(model: nn.Module, share: float) -> Masks:
    """The masks after pruning ⌈share · remaining⌉ more of the weights: the smallest, in all layers together."""
    check_range(0, 1, share=share)
    sizes = {name: layer.weight.detach().abs() for name, layer in layers(model).items()}
    remaining = torch.cat([size[size > 0] for size in sizes.values()]).sort().values
    count = math.ceil(share * len(remaining))
    threshold = remaining[count - 1] if count else 0.0
    none = not (remaining > threshold).any()  # Equal weights go together, so fewer may suffice.
    refuse(none, f"Pruning {count} of {len(remaining)} weights leaves none. Prune a smaller share.")
    return {name: size > threshold for name, size in sizes.items()}


def hold(model: nn.Module, masks: Masks) -> None:
    """Set what is masked to zero, and keep it there through training by torch's pruning, until `release`."""
    found = layers(model)
    given = ", ".join(masks) or "none"
    refuse(
        set(masks) != set(found), f"Expected a mask for each of {', '.join(found)}; found {given}."
    )
    for name, layer in found.items():
        kind = getattr(masks[name], "dtype", type(masks[name]))
        refuse(
            kind != torch.bool,
            f"The mask of {name} must be a tensor of True and False, found {kind}.",
        )
        shape, expected = tuple(masks[name].shape), tuple(layer.weight.shape)
        refuse(
            shape != expected,
            f"The mask of {name} must have the shape of its weight, {expected}; found {shape}.",
        )
    refuse(
        not any(mask.any() for mask in masks.values()),
        "These masks leave no weight. Keep at least one.",
    )
    for name, layer in found.items():
        prune.custom_from_mask(layer, "weight", masks[name])
        layer.weight_orig.data.mul_(
            layer.weight_mask
        )  # Else weight decay and momentum would move what is hidden.


def release(model: nn.Module) -> None:
    """Make the masks permanent: plain weights again, zero where they were masked."""
    for layer in layers(model).values():
        prune.remove(layer, "weight")


def remaining(model: nn.Module) -> float:
    """Percent of the parameters that are not pruned. As in the paper, what is never pruned counts as remaining."""
    total = sum(parameter.numel() for parameter in model.parameters())
    return 100 * (1 - sum((~mask).sum().item() for mask in masks(model).values()) / total)
