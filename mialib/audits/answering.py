"""What a model answers: torch's in eval mode on its own device, scikit-learn's by probabilities.

    signals_of(model, inside, outside, notes, Asked())     # members first, then non-members
    describe(model)                                        # class, parameters, hash of weights

Arrays are handed to a torch model as they are, in the model's own precision; `Records` are scaled
as they say. The model is left as it was.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from mialib import query
from mialib.audits.evidence import as_columns, as_labels, as_signals
from mialib.audits.findings import Model
from mialib.audits.parts import Part
from mialib.data.records import Records
from mialib.errors import as_array
from mialib.signals import Signals

TURNS = 4  # degrees to either side, as in the course
STEPS = 1  # pixels


class Asked(NamedTuple):
    """What is asked of a model beside its answers and gradients.

    widely       answers on noisy and, of images, on turned and shifted copies
    boundary     distances to the boundary, by some 300 answers for each record
    checkpoints  the same model earlier in its training: the loss of each record then
    """

    widely: bool = False
    boundary: bool = False
    checkpoints: tuple[nn.Module, ...] = ()


def signals_of(model: Any, inside: Part, outside: Part, notes: list[str], asked: Asked) -> Signals:
    """The model's signals on both parts, with what else is asked."""
    is_member = np.repeat([True, False], [len(inside), len(outside)])
    signals = replace(answers(model, (inside, outside), notes), is_member=is_member)
    extras = [
        extra_columns(model, part, labels, asked)
        for part, labels in zip(
            (inside, outside), np.split(signals.labels, [len(inside)]), strict=True
        )
    ]
    common = [name for name in extras[0] if name in extras[1]]
    columns = {name: np.concatenate([extra[name] for extra in extras]) for name in common}
    return replace(signals, extra=columns)


def answers(model: Any, parts: Sequence[Part], notes: list[str]) -> Signals:
    """What the model answers to all of these records, as signals without membership."""
    outputs = np.concatenate([outputs_of(model, part) for part in parts])
    y = np.concatenate([part.y for part in parts])
    if not isinstance(model, nn.Module):
        return Signals.from_probabilities(outputs, _places(model, y, notes))
    columns = as_columns(outputs, "outputs", notes)
    labels = as_labels(y, columns.shape[1], notes)
    return as_signals(columns, labels, None, notes)


def outputs_of(model: Any, part: Part) -> np.ndarray:
    """A torch module's outputs, or a classifier's probabilities: (n, classes)."""
    if isinstance(model, nn.Module):
        return as_array(query.logits_of(model, as_tensor(model, part.x)), what="outputs")
    if hasattr(model, "predict_proba") and hasattr(model, "classes_"):
        x = part.x.scaled() if isinstance(part.x, Records) else part.x
        if isinstance(x, Tensor):
            x = as_array(x, what="x")
        if isinstance(x, np.ndarray) and x.ndim > 2:
            x = x.reshape(len(x), -1)
        return np.asarray(model.predict_proba(x))
    raise ValueError(
        "The model must be a torch module, or a fitted classifier with predict_proba, "
        f"found {type(model).__name__}. Of any other model, hand in its outputs: "
        "audit.from_outputs(logits=…, labels=…, is_member=…)."
    )


def _places(model: Any, y: np.ndarray, notes: list[str]) -> np.ndarray:
    """Labels as their places among a classifier's classes."""
    classes = np.asarray(model.classes_)
    is_known = np.isin(y, classes)
    if y.ndim != 1 or not is_known.all():
        raise ValueError(
            f"The labels must be among the classes of {type(model).__name__}, "
            f"{', '.join(map(str, classes[:10]))}; found {y[~is_known].ravel()[:3].tolist()}."
        )
    if not np.array_equal(classes, np.arange(len(classes))):
        notes.append(f"Classes are numbered as in the model's classes_: {classes.tolist()[:10]}.")
    places = {label: place for place, label in enumerate(classes.tolist())}
    return np.array([places[label] for label in y.tolist()])


def as_tensor(model: nn.Module, x: Any) -> Tensor:
    """x on the model's device, in the model's precision; whole numbers stay for an embedding."""
    device = query.device_of(model)
    if isinstance(x, Records):
        tensor, _ = query.to_device(x, device)
    else:
        tensor = torch.as_tensor(x if isinstance(x, Tensor) else as_array(x, what="x"))
    if tensor.is_floating_point() or not _reads_whole_numbers(model):
        tensor = tensor.to(next(model.parameters()).dtype)
    return tensor.to(device)


def _reads_whole_numbers(model: nn.Module) -> bool:
    return any(isinstance(module, nn.Embedding | nn.EmbeddingBag) for module in model.modules())


def extra_columns(
    model: Any, part: Part, labels: np.ndarray, asked: Asked
) -> dict[str, np.ndarray]:
    """Gradients, and what else is asked; nothing where it cannot be had."""
    records = _as_records(model, part, labels)
    if records is None:
        return {}
    turned = asked.widely and records.x.ndim == 4
    return query.extra_columns(
        model,
        records,
        gradient=True,
        noise=asked.widely,
        rotations=query.rotation_degrees(TURNS) if turned else (),
        shifts=query.l1_shifts(STEPS) if turned else (),
        boundary=asked.boundary,
        checkpoints=asked.checkpoints or None,
    )


def _as_records(model: Any, part: Part, labels: np.ndarray) -> Records | None:
    """The part as `Records`, if the model is torch's and takes them in single precision."""
    if not isinstance(model, nn.Module) or _reads_whole_numbers(model):
        return None
    outputs = query.logits_of(model, as_tensor(model, part.x)[:1])
    if next(model.parameters()).dtype != torch.float32 or outputs.shape[1] < 2:
        return None
    if isinstance(part.x, Records):
        return replace(part.x, y=labels)
    x = as_array(part.x, what="x")
    if x.ndim not in (2, 4):
        return None
    return Records("records", x.astype(np.float32), labels, outputs.shape[1])


# About the model.


def note_mode(model: Any, notes: list[str]) -> None:
    """Say what the model was switched to, and where it was asked."""
    if not isinstance(model, nn.Module):
        return
    if any(module.training for module in model.modules()):
        notes.append("The model was in train mode; it was asked in eval mode, and put back.")
    device = query.device_of(model)
    if device.type != "cpu":
        notes.append(f"The model was asked where it is, on {device}.")


def describe(model: Any) -> Model:
    """The model's class, how many parameters it has, and a hash of its weights."""
    name = type(model).__name__
    if not isinstance(model, nn.Module):
        return Model(name)
    digest = hashlib.sha256()
    for key, tensor in model.state_dict().items():
        digest.update(f"{key} {tuple(tensor.shape)} {tensor.dtype}".encode())
        digest.update(np.ascontiguousarray(as_array(tensor, what=key)).tobytes())
    parameters = sum(parameter.numel() for parameter in model.parameters())
    return Model(name, parameters, digest.hexdigest())
