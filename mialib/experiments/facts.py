"""What a row may say of its target beside the attacks' scores: each fact is a function of a run.

A plan names the facts that it wants. They are plain JSON, so that a results file holds them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from torch import Tensor, nn

from mialib import metrics, models, query, sensitivity
from mialib.configurations import Configuration
from mialib.data.records import Records
from mialib.results.edges import EDGES, MARGINS
from mialib.sparsity.magnitude import layers, masks, remaining
from mialib.splits import Side

MOST_SHOWN = 400  # of the last layer's weights
MOST_PLACED = 150  # members, and non-members, whose place is told one by one


def weights(model: nn.Module, side: Side, configuration: Configuration) -> dict[str, Any]:
    """How sparse the weights are, by every measure, and their histogram."""
    return weight_statistics(sensitivity.weights(model))


def weight_statistics(by_module: dict[str, Any]) -> dict[str, Any]:
    flat = sensitivity.flat(by_module)
    clipped = flat.clip(EDGES[0], EDGES[-1])
    return {
        "gini": sensitivity.gini(flat),
        "hoyer": sensitivity.hoyer(flat),
        "shifted gini": sensitivity.gini(flat, shifted=True),
        "near zero": float((np.abs(flat) < 1e-3).mean()),
        "histogram": np.histogram(clipped, EDGES)[0].tolist(),
    }


def gap_sensitivity(model: nn.Module, side: Side, configuration: Configuration) -> dict[str, Any]:
    """How concentrated the loss gap's gradient is, overall and in each module."""
    gradients = absolute_gap_gradient(model, side)
    overall = sensitivity.concentration(gradients)
    gamma = {name: sensitivity.adaptive_weight(size) for name, size in gradients.items()}
    kinds = sensitivity.kinds(model)
    modules = {
        name: {
            "kind": kinds[name],
            "mean": float(size.mean()),
            "top": sensitivity.concentration(size).top_share,
            "size": size.numel(),
        }
        for name, size in gradients.items()
    }
    last_layer = list(gradients.values())[-1].flatten()[:MOST_SHOWN]
    return {
        "top": overall.top_share,
        "below 0.1": overall.low_share,
        "gamma below 0.1": sensitivity.concentration(gamma).low_share,
        "mean": float(sensitivity.flat(gradients).mean()),
        "modules": modules,
        "last": [round(float(value), 5) for value in last_layer],
    }


def absolute_gap_gradient(model: nn.Module, side: Side) -> dict[str, Tensor]:
    """|∂G/∂w| of every module's weight, on members and non-members."""
    gradients = sensitivity.gap_gradient(model, side.train, side.test)
    return {name: gradient.abs() for name, gradient in gradients.items()}


def margins(model: nn.Module, side: Side, configuration: Configuration) -> dict[str, Any]:
    """How far members and non-members lie from the decision boundary: a histogram of each."""
    counts = {}
    for name, part in (("members", side.train), ("non_members", side.test)):
        distances = query.margins(model, part).clip(MARGINS[0], MARGINS[-1])
        counts[name] = np.histogram(distances, MARGINS)[0].tolist()
    return counts


def distances(model: nn.Module, side: Side, configuration: Configuration) -> dict[str, Any]:
    """How far features lie from the origin and from the decision boundary, and how well the latter
    tells members from non-members; single records of the first few."""
    parts = {"members": side.train, "non_members": side.test}
    origin = {name: _feature_lengths(model, part) for name, part in parts.items()}
    boundary = {name: query.margins(model, part) for name, part in parts.items()}
    is_member = np.arange(len(side.train) + len(side.test)) < len(side.train)
    told: dict[str, Any] = {
        "AUC": metrics.auc(np.concatenate(list(boundary.values())), is_member),
    }
    for name in parts:
        told[name] = {
            "origin": _rounded(origin[name][:MOST_PLACED]),
            "boundary": _rounded(boundary[name][:MOST_PLACED]),
            "origin, median": float(np.median(origin[name])),
            "boundary, median": float(np.median(boundary[name])),
        }
    return told


def _feature_lengths(model: nn.Module, records: Records) -> np.ndarray:
    """‖q‖ of each record's features q: (n,)."""
    assert isinstance(model.features, nn.Module)  # as every network of mialib.models has it
    return np.linalg.norm(query.predict(model.features, records), axis=1)


def _rounded(values: np.ndarray) -> list[float]:
    return [round(float(value), 4) for value in values]


def sparsity(model: nn.Module, side: Side, configuration: Configuration) -> dict[str, Any]:
    """How many parameters there are and remain, overall and in each layer; and the weights."""
    kept = masks(model)
    dense = _dense_parameters(configuration)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    return {
        "remaining": remaining(model) * parameters / dense,
        "parameters": parameters,
        "by_layer": {name: float(mask.float().mean()) for name, mask in kept.items()},
        "weights": weight_statistics({name: one.weight for name, one in layers(model).items()}),
    }


def kept_weights(model: nn.Module, side: Side, configuration: Configuration) -> dict[str, Any]:
    """Which weights remain in each layer, as bits in hexadecimal."""
    kept = masks(model).items()
    return {name: np.packbits(mask.numpy()).tobytes().hex() for name, mask in kept}


def _dense_parameters(configuration: Configuration) -> int:
    """Of the network without butterflies."""
    butterfly = ("segments", "factors")
    options = {
        name: value for name, value in configuration.options.items() if name not in butterfly
    }
    network: models.Network = configuration.but(options=options).build_model()
    return sum(parameter.numel() for parameter in network.parameters())


Fact = Callable[[nn.Module, Side, Configuration], dict[str, Any]]
FACTS: dict[str, Fact] = {
    "weights": weights,
    "sensitivity": gap_sensitivity,
    "margins": margins,
    "distances": distances,
    "sparsity": sparsity,
    "kept weights": kept_weights,
}
# The history is a fact of the run, and needs no model.
HISTORY = "history"
