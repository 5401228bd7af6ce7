"""Asking a torch model: what an attacker hears, in eval mode, in batches, on the model's device.

    signals = ask(model, side, rotations=rotation_degrees(4), noise=True, gradient=True)
    signals.logits                      # (n, classes): members first, then non-members
    signals.column("rotations")         # (n, 9) bool: is the label still predicted?

Every question takes a model and records, so it serves a network of one's own as well as a stored
run (`Run.ask`). From top to bottom: where a model is; its answers (`predict`, `collect`); several
questions at once (`ask`); turned and shifted copies; noise, input gradients and margins. Copies are
made from the records as they are stored, before scaling. Introduced in notebooks 01 (`predict`,
`collect`), 03 (noise) and 04 (copies, gradients).
"""

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
import scipy
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mialib import progress
from mialib.data.records import Records
from mialib.errors import check_choice, check_flag, check_range, plain_tuple
from mialib.signals import Signals
from mialib.splits import Side

T = TypeVar("T")
Pair = tuple[Tensor, Tensor]  # x and y on the device
BATCH = 500  # records that a model is asked about at once
LARGEST_SEED = 2**63 - 1


# Where a model is, and in which mode.


def pick_device(device: str | torch.device = "auto") -> torch.device:
    """`"auto"` takes the accelerator (CUDA, MPS) if there is one, and the CPU otherwise."""
    accelerator = torch.accelerator.current_accelerator(check_available=True)
    best = accelerator or torch.device("cpu")
    if isinstance(device, str) and device == "auto":
        return best
    if not isinstance(device, str | torch.device) or not _exists(device):
        raise ValueError(
            f"There is no device {str(device)!r} here; use 'auto', which takes '{best}', or 'cpu'."
        )
    return torch.device(device)


def _exists(device: str | torch.device) -> bool:
    """Whether a tensor can be put there; those on "meta" hold nothing."""
    try:
        return torch.empty(0, device=device).device.type != "meta"
    except (RuntimeError, AssertionError, NotImplementedError):
        return False


def device_of(model: nn.Module) -> torch.device:
    """Where the model's parameters are."""
    check_model(model)
    return next(model.parameters()).device


def to_device(records: Records, device: torch.device) -> Pair:
    """The records as (x, y) tensors; images are channels last, which convolutions prefer."""
    check_records(records=records)
    if not isinstance(device, torch.device):
        device = pick_device(device)
    x = torch.from_numpy(records.scaled()).to(device)
    if x.ndim == 4:
        x = x.contiguous(memory_format=torch.channels_last)
    y = torch.tensor(records.y, dtype=torch.long, device=device)
    return x, y


@contextmanager
def eval_mode(model: nn.Module) -> Iterator[None]:
    """Evaluate, then give every part of the model back the mode it was in."""
    if not isinstance(model, nn.Module):
        raise TypeError(f"model must be a torch module, found {type(model).__name__}.")
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode


# What the model answers.


def logits_of(model: nn.Module, x: Tensor, *, batch_size: int = BATCH) -> Tensor:
    """The logits of tensors on the model's device: (n, classes), in eval mode, without a graph."""
    check_model(model)
    if not isinstance(x, Tensor) or x.ndim == 0:
        raise TypeError(f"x must be a tensor of records, found {type(x).__name__}.")
    check_range(1, np.inf, whole=True, batch_size=batch_size)
    size = int(min(batch_size, max(len(x), 1)))
    with torch.no_grad(), eval_mode(model):
        return torch.cat(_by_batches(partial(_answer, model), x, size=size))


def predict(model: nn.Module, records: Records, *, batch_size: int = BATCH) -> np.ndarray:
    """The logits of records, as an array (n, classes); the model is left in the mode it was in."""
    x, _ = to_device(records, device_of(model))
    return logits_of(model, x, batch_size=batch_size).cpu().numpy()


def collect(model: nn.Module, side: Side) -> Signals:
    """The signals of a model on its members (train) and non-members (test), un-augmented."""
    check_side(side)
    return Signals(
        logits=np.concatenate([predict(model, side.train), predict(model, side.test)]),
        labels=np.concatenate([side.train.y, side.test.y]),
        is_member=np.repeat([True, False], [len(side.train), len(side.test)]),
        record_index=np.concatenate([side.train.index, side.test.index]),
    )


def members_then_nonmembers(side: Side) -> Records:
    """All records that a model is judged on, in the order of its signals."""
    check_side(side)
    return replace(
        side.train,
        x=np.concatenate([side.train.x, side.test.x]),
        y=np.concatenate([side.train.y, side.test.y]),
        index=np.concatenate([side.train.index, side.test.index]),
    )


def _answer(model: nn.Module, x: Tensor) -> Tensor:
    """The model's logits of one batch: (n, classes)."""
    try:
        logits = model(x)
    except torch.OutOfMemoryError:
        raise
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        built_for = getattr(model, "shape", None)
        expected = f" It was built for records of shape {built_for}." if built_for else ""
        raise ValueError(
            f"{type(model).__name__} could not be asked about records of shape "
            f"{tuple(x.shape[1:])}.{expected} It said: {error}"
        ) from error
    if not isinstance(logits, Tensor) or logits.ndim != 2 or len(logits) != len(x):
        shape = tuple(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
        raise ValueError(
            f"{type(model).__name__} must give logits (n, classes), one row per record; "
            f"found {shape} for {len(x)} records."
        )
    return logits


# Several questions at once.


def ask(
    model: nn.Module,
    side: Side,
    *,
    rotations: Iterable[float] = (),
    shifts: Iterable[tuple[int, int]] = (),
    noise: bool = False,
    gradient: bool = False,
) -> Signals:
    """The model's signals with the columns that `extra_columns` describes."""
    columns = extra_columns(
        model,
        members_then_nonmembers(side),
        rotations=rotations,
        shifts=shifts,
        noise=noise,
        gradient=gradient,
    )
    return replace(collect(model, side), extra=columns)


def extra_columns(
    model: nn.Module,
    records: Records,
    *,
    rotations: Iterable[float] = (),
    shifts: Iterable[tuple[int, int]] = (),
    noise: bool = False,
    gradient: bool = False,
) -> dict[str, np.ndarray]:
    """What some attacks ask beside the logits, by name, one row per record.

    `rotations` (such as `rotation_degrees(4)`) and `shifts` (such as `l1_shifts(1)`) ask about
    copies: (n, copies) bool, whether the label is still predicted. `noise` gives "noise" (n,
    classes); `gradient` gives "gradient_l1" and "gradient_l2" (n,).
    """
    check_flag(noise=noise, gradient=gradient)
    turns = _list_of_degrees(rotations)
    moves = _list_of_shifts(shifts)
    columns = {}
    if turns:
        columns["rotations"] = _still_right(model, records, rotated, turns, "rotations")
    if moves:
        columns["shifts"] = _still_right(model, records, shifted, moves, "shifts")
    if noise:
        columns["noise"] = noise_response(model, records)
    if gradient:
        l1, l2 = gradient_norms(model, records, p=(1, 2))
        columns["gradient_l1"] = l1
        columns["gradient_l2"] = l2
    return columns


def _still_right(
    model: nn.Module, records: Records, change: Callable, settings: list[tuple], name: str
) -> np.ndarray:
    """Whether the label is predicted for each changed copy: (n, settings) bool."""
    guesses = []
    with progress.bar(name, total=len(settings), unit="copy") as advance:
        for setting in settings:
            guesses.append(predict(model, change(records, *setting)).argmax(axis=1))
            advance()
    return np.stack(guesses, axis=1) == records.y[:, None]


def _list_of_degrees(rotations: Iterable[float]) -> list[tuple[float]]:
    degrees = _listed("rotations", rotations, "degrees, such as rotation_degrees(4)")
    return [(one,) for one in degrees]


def _list_of_shifts(shifts: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    expected = "pairs (down, right), such as l1_shifts(1)"
    moves = []
    for move in _listed("shifts", shifts, expected):
        pair = _listed("shifts", move, expected)
        if len(pair) != 2:
            raise ValueError(f"shifts must be {expected}, found {move!r}.")
        moves.append((pair[0], pair[1]))
    return moves


def _listed(name: str, values: Any, expected: str) -> list:
    is_scalar = getattr(values, "shape", None) == ()
    if isinstance(values, str) or is_scalar or not isinstance(values, Iterable):
        raise ValueError(f"{name} must be {expected}, found {values!r}.")
    return list(values)


# Copies of images.


def rotation_degrees(r: int) -> np.ndarray:
    """The 2r + 1 whole degrees from −r to r.

    So asks the code of the label-only paper; PAST's asks for −r, 0 and r alone.
    """
    check_range(0, 180, whole=True, r=r)
    return np.linspace(-r, r, 2 * r + 1)


def l1_shifts(d: int) -> list[tuple[int, int]]:
    """No shift, and the 4d shifts (down, right) with |down| + |right| = d."""
    check_range(0, 1000, whole=True, d=d)
    shifts = [(0, 0)]
    for down in range(-d, d + 1):
        right = d - abs(down)
        if right > 0:
            shifts.append((down, -right))
            shifts.append((down, right))
        elif down != 0:
            shifts.append((down, 0))
    return shifts


def rotated(records: Records, degrees: float, *, order: int = 1) -> Records:
    """Turn every image about its centre by a spline of this `order`.

    1 is bilinear; the code of the label-only paper has 3, PAST's has 0. The edge is repeated
    outside: 0, as in the original, blackens half of it, and a model that knows pixels notices.
    """
    check_range(-360, 360, degrees=degrees)
    check_range(0, 5, whole=True, order=order)
    x = _images(records).astype(np.float32)
    turned = scipy.ndimage.rotate(
        x, float(degrees), axes=(3, 2), reshape=False, order=int(order), mode="nearest"
    )
    return replace(records, x=turned.clip(x.min(), x.max()))


def shifted(records: Records, down: int, right: int, *, border: str = "edge") -> Records:
    """Move every image by whole pixels.

    The edge is repeated, or with border="constant" filled with 0.
    """
    check_choice("border", border, ("edge", "constant"))
    x = _images(records)
    height, width = x.shape[2:]
    check_range(-height, height, whole=True, down=down)
    check_range(-width, width, whole=True, right=right)
    far = max(abs(down), abs(right))
    around = ((0, 0), (0, 0), (far, far), (far, far))
    padded = np.pad(x, around, mode="edge" if border == "edge" else "constant")
    rows = slice(far - down, far - down + height)
    columns = slice(far - right, far - right + width)
    return replace(records, x=padded[:, :, rows, columns])


def _images(records: Records) -> np.ndarray:
    check_records(records=records)
    if records.x.ndim != 4:
        raise ValueError(
            f"Only images can be turned or shifted, found records of shape {records.x.shape[1:]}. "
            "For tables use an attack on the outputs."
        )
    return records.x


# Numbers that need more than an answer: noise, gradients, distances.


def noise_response(
    model: nn.Module, records: Records, *, epsilon: float = 1e-3, draws: int = 5, seed: int = 0
) -> np.ndarray:
    """s = (1/ε)·E|R(x) − R(x + εN)| of the softmax outputs R, with N ~ N(0, I): (n, classes).

    The discriminator of the sparsity paper reads it; E is the mean over `draws`.
    """
    check_range(1e-9, 1e9, epsilon=epsilon)
    check_range(1, 100_000, whole=True, draws=draws)
    check_range(0, LARGEST_SEED, whole=True, seed=seed)
    generator = torch.Generator().manual_seed(int(seed))
    x, _ = to_device(records, device_of(model))

    def response(x: Tensor) -> np.ndarray:
        outputs = _answer(model, x).softmax(dim=1)
        moved = torch.zeros_like(outputs)
        for _ in range(draws):
            step = torch.randn(x.shape, generator=generator).to(x.device)
            moved = moved + (model(x + epsilon * step).softmax(dim=1) - outputs).abs()
        return (moved / (draws * epsilon)).cpu().numpy()

    with torch.no_grad(), eval_mode(model):
        return np.concatenate(_by_batches(response, x))


def gradient_norms(
    model: nn.Module, records: Records, *, p: float | tuple[float, ...] = 2
) -> np.ndarray:
    """ℓp norm of each record's loss gradient with respect to its input (Grad-x).

    (n,), or for several p (ps, n). In eval mode no record of a batch touches another, so the
    gradient of the summed loss holds every record's own.
    """
    powers = _powers(p)

    def norms(x: Tensor, y: Tensor) -> np.ndarray:
        x = x.detach().requires_grad_()
        logits = _answer(model, x)
        _check_labels(records, logits)
        loss = F.cross_entropy(logits, y, reduction="sum")
        (gradient,) = torch.autograd.grad(loss, x)
        rows = gradient.flatten(1)
        return np.stack([rows.norm(p=power, dim=1).cpu() for power in powers])

    with eval_mode(model):
        found = _by_batches(norms, *to_device(records, device_of(model)))
    every_p = np.concatenate(found, axis=1)  # (ps, n)
    return every_p if np.ndim(p) else every_p[0]


def margins(model: nn.Module, records: Records) -> np.ndarray:
    """Signed distance of each record's features to the decision boundary: (n,).

    It is min over j ≠ y of (g_y − g_j) / ‖w_y − w_j‖, with the logits g and the rows w of the last
    linear layer; below 0 if the record is misclassified.
    """
    weight = _last_linear(model).weight
    apart = torch.cdist(weight, weight).detach()  # (classes, classes)

    def distances(x: Tensor, y: Tensor) -> np.ndarray:
        logits = _answer(model, x)
        _check_labels(records, logits)
        own = logits.gather(1, y[:, None])
        lead = (own - logits) / apart[y]  # (n, classes); 0 / 0 for the class itself
        return lead.scatter(1, y[:, None], torch.inf).amin(dim=1).cpu().numpy()

    with torch.no_grad(), eval_mode(model):
        found = _by_batches(distances, *to_device(records, device_of(model)))
    return np.concatenate(found)


def _powers(p: float | tuple[float, ...]) -> list[float]:
    """Each p of an ℓp norm; ∞ is the largest entry."""
    listed = plain_tuple(p)
    powers = list(listed) if isinstance(listed, tuple) else [listed]
    if not powers:
        raise ValueError("p must be a number, or several; found none.")
    for power in powers:
        if not (isinstance(power, float) and power == np.inf):
            check_range(0, np.inf, p=power)
    return [float(power) for power in powers]


def _last_linear(model: nn.Module) -> nn.Linear:
    check_model(model)
    classify = getattr(model, "classify", None)
    if not isinstance(classify, nn.Module):
        raise ValueError(
            f"{type(model).__name__} has no part `classify` whose last linear layer could be read."
        )
    layers = [module for module in classify.modules() if isinstance(module, nn.Linear)]
    if not layers:
        raise ValueError(f"`classify` of {type(model).__name__} has no linear layer.")
    return layers[-1]


def _by_batches(ask: Callable[..., T], *tensors: Tensor, size: int = BATCH) -> list[T]:
    """What `ask` finds in each batch of tensors of one length.

    Where the device runs out of memory, the rest is asked in batches half as large.
    """
    n = len(tensors[0])
    found = []
    start = 0
    while start < n or not found:
        batch = [tensor[start : start + size] for tensor in tensors]
        try:
            found.append(ask(*batch))
        except torch.OutOfMemoryError:
            size = _halved(size)
            continue
        start += size
    return found


def _halved(size: int) -> int:
    """The next smaller batch, and a sentence on it; a single record must fit."""
    if size == 1:
        raise torch.OutOfMemoryError(
            "The device has too little memory to ask the model about a single record. "
            "Close what else uses it, or ask on the CPU."
        )
    warnings.warn(
        f"The device ran out of memory with batches of {size} records; going on with {size // 2}.",
        stacklevel=2,
    )
    torch.cuda.empty_cache()  # It does nothing where there is no CUDA.
    return size // 2


# What is handed in.


def check_model(model: object) -> None:
    """Refuse what is no torch module, or one without parameters."""
    if not isinstance(model, nn.Module):
        raise TypeError(f"model must be a torch module, found {type(model).__name__}.")
    if next(model.parameters(), None) is None:
        raise ValueError(f"{type(model).__name__} has no parameters, so it has learned nothing.")


def check_records(**named: object) -> None:
    for name, records in named.items():
        if not isinstance(records, Records):
            found = type(records).__name__
            raise TypeError(f"{name} must be Records, found {found}. See mialib.data.")


def check_side(side: object) -> None:
    if not isinstance(side, Side):
        found = type(side).__name__
        raise TypeError(f"side must be a Side with train and test, found {found}.")


def _check_labels(records: Records, logits: Tensor) -> None:
    outputs = logits.shape[1]
    if records.y.max(initial=0) >= outputs:
        raise ValueError(
            f"The records have the label {records.y.max()}, but the model {outputs} outputs."
        )
