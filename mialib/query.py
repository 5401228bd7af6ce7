"""Asking a torch model: what an attacker hears, in eval mode, in batches, on the model's device.

    signals = ask(model, side, rotations=rotation_degrees(4), noise=True, gradient=True)
    signals.logits                      # (n, classes): members first, then non-members
    signals.column("rotations")         # (n, 9) bool: is the label still predicted?
    ask_about(model, records)           # records of which nobody says who is a member

Every question takes a model and records, so it serves a network of one's own as well as a stored
run (`Run.ask`). From top to bottom: where a model is; its answers (`predict`, `collect`); several
questions at once (`ask`); turned and shifted copies; noise, input gradients and margins; the way to
the boundary, by labels alone; losses over checkpoints. Copies are made from the records as they are
stored, before scaling. Introduced in notebooks 01 (`predict`, `collect`), 03 (noise) and 04
(copies, gradients).
"""

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

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
PARTNERS = 10  # The way to the boundary begins towards the nearest of so many records beyond it.
TURN = 0.5  # how much of the boundary's normal is added to the direction
RADIUS = 0.1  # how far around a boundary point labels are asked for, as a share of the distance


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
    inputs: bool = False,
    boundary: bool = False,
    checkpoints: Iterable[nn.Module] | None = None,
) -> Signals:
    """The model's signals with the columns that `extra_columns` describes."""
    columns = extra_columns(
        model,
        members_then_nonmembers(side),
        rotations=rotations,
        shifts=shifts,
        noise=noise,
        gradient=gradient,
        inputs=inputs,
        boundary=boundary,
        checkpoints=checkpoints,
    )
    return replace(collect(model, side), extra=columns)


def ask_about(model: nn.Module, records: Records, **queries: Any) -> Signals:
    """The model's signals on records of which nobody says who is a member, such as a population.

    The questions are those of `extra_columns`.
    """
    logits = predict(model, records)
    columns = extra_columns(model, records, **queries)
    return Signals(logits, records.y, record_index=records.index, extra=columns)


def extra_columns(
    model: nn.Module,
    records: Records,
    *,
    rotations: Iterable[float] = (),
    shifts: Iterable[tuple[int, int]] = (),
    noise: bool = False,
    gradient: bool = False,
    inputs: bool = False,
    boundary: bool = False,
    checkpoints: Iterable[nn.Module] | None = None,
) -> dict[str, np.ndarray]:
    """What some attacks ask beside the logits, by name, one row per record.

    `rotations` (such as `rotation_degrees(4)`) and `shifts` (such as `l1_shifts(1)`) ask about
    copies: (n, copies) bool, whether the label is still predicted. `noise` gives "noise" (n,
    classes); `gradient` gives "gradient_l1" and "gradient_l2" (n,); `inputs` puts what the model
    sees of each record into "inputs" (n, …). `boundary` gives "boundary" (n,), by about 300 labels
    for each record; `checkpoints`, the model as it was earlier, "trajectory" (n, checkpoints).
    """
    check_records(records=records)
    check_flag(noise=noise, gradient=gradient, inputs=inputs, boundary=boundary)
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
    if inputs:
        columns["inputs"] = records.scaled()
    if boundary:
        columns["boundary"] = boundary_distances(model, records).distance
    if checkpoints is not None:
        columns["trajectory"] = loss_trajectory(checkpoints, records)
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

    def response(x: Tensor) -> Tensor:
        outputs = _answer(model, x).softmax(dim=1)
        moved = torch.zeros_like(outputs)
        for _ in range(draws):
            step = torch.randn(x.shape, generator=generator).to(x.device)
            moved = moved + (model(x + epsilon * step).softmax(dim=1) - outputs).abs()
        return moved / (draws * epsilon)

    with torch.no_grad(), eval_mode(model):
        return torch.cat(_by_batches(response, x)).cpu().numpy()


def gradient_norms(
    model: nn.Module, records: Records, *, p: float | tuple[float, ...] = 2
) -> np.ndarray:
    """ℓp norm of each record's loss gradient with respect to its input (Grad-x).

    (n,), or for several p (ps, n). In eval mode no record of a batch touches another, so the
    gradient of the summed loss holds every record's own.
    """
    powers = _powers(p)

    def norms(x: Tensor, y: Tensor) -> Tensor:
        x = x.detach().requires_grad_()
        logits = _answer(model, x)
        _check_labels(records, logits)
        loss = F.cross_entropy(logits, y, reduction="sum")
        (gradient,) = torch.autograd.grad(loss, x)
        rows = gradient.flatten(1)
        return torch.stack([rows.norm(p=power, dim=1) for power in powers])

    with eval_mode(model):
        found = _by_batches(norms, *to_device(records, device_of(model)))
    every_p = torch.cat(found, dim=1).cpu().numpy()  # (ps, n)
    return every_p if np.ndim(p) else every_p[0]


def margins(model: nn.Module, records: Records) -> np.ndarray:
    """Signed distance of each record's features to the decision boundary: (n,).

    It is min over j ≠ y of (g_y − g_j) / ‖w_y − w_j‖, with the logits g and the rows w of the last
    linear layer; below 0 if the record is misclassified.
    """
    weight = _last_linear(model).weight
    apart = torch.cdist(weight, weight).detach()  # (classes, classes)

    def distances(x: Tensor, y: Tensor) -> Tensor:
        logits = _answer(model, x)
        _check_labels(records, logits)
        own = logits.gather(1, y[:, None])
        lead = (own - logits) / apart[y]  # (n, classes); 0 / 0 for the class itself
        return lead.scatter(1, y[:, None], torch.inf).amin(dim=1)

    with torch.no_grad(), eval_mode(model):
        found = _by_batches(distances, *to_device(records, device_of(model)))
    return torch.cat(found).cpu().numpy()


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


# The distance to the boundary, by labels alone.


class Boundary(NamedTuple):
    """How far each record is from another label, (n,), and how many labels were asked for."""

    distance: np.ndarray
    queries: int


def boundary_distances(
    model: nn.Module,
    records: Records,
    *,
    rounds: int = 10,
    probes: int = 20,
    steps: int = 8,
    seed: int = 0,
) -> Boundary:
    """ℓ2 distance from each record, as the model sees it, to an input with another label.

    A short form of HopSkipJump (Chen, Jordan and Wainwright 2020), which sees predicted labels
    alone. The way leads first towards a record that the model gives another label, and is halved
    `steps` times to find where the label changes. In each of the `rounds`, the labels of `probes`
    points around that place tell which way the boundary faces; the way turns there if that makes it
    shorter. So every distance is that of an input whose label was seen to differ: never below the
    true one, and nearer to it with more rounds and probes. A record that is classified wrongly has
    0.
    """
    check_range(0, 10_000, whole=True, rounds=rounds)
    check_range(2, 10_000, whole=True, probes=probes)
    check_range(1, 50, whole=True, steps=steps)
    check_range(0, LARGEST_SEED, whole=True, seed=seed)
    generator = torch.Generator().manual_seed(int(seed))
    x, y = to_device(records, device_of(model))
    guesses = logits_of(model, x).argmax(dim=1)
    is_right = guesses == y
    partners = _records_of_other_labels(guesses.cpu(), generator)

    def distances(x_right: Tensor, y_right: Tensor, partners_right: Tensor) -> tuple:
        way = _Way(model, x_right, y_right)
        way.start(x, partners_right)
        way.shorten(way.direction, steps)
        for _ in range(rounds):
            turned = way.direction + TURN * way.normal(probes, generator)
            way.shorten(F.normalize(turned, dim=1), steps)
        return way.distance.cpu(), way.queries

    found = torch.zeros(len(x))
    queries = len(x)
    if is_right.any():
        with torch.no_grad(), eval_mode(model):
            batches = _by_batches(distances, x[is_right], y[is_right], partners[is_right.cpu()])
        found[is_right.cpu()] = torch.cat([distance for distance, _ in batches])
        queries += sum(asked for _, asked in batches)
    return Boundary(found.numpy(), queries)


def _records_of_other_labels(guesses: Tensor, generator: torch.Generator) -> Tensor:
    """For each record the positions of some that the model gives another label: (n, PARTNERS)."""
    partners = torch.empty(len(guesses), PARTNERS, dtype=torch.long)
    for label in guesses.unique():
        own = guesses == label
        others = torch.nonzero(~own).flatten()
        if len(others) == 0:
            raise ValueError(
                f"The model gives all {len(guesses)} records the label {int(label)}, so there is "
                "no boundary to walk to. Ask about records of several classes."
            )
        shape = (int(own.sum()), PARTNERS)
        partners[own] = others[torch.randint(len(others), shape, generator=generator)]
    return partners


class _Way:
    """The way from each record of a batch to another label: x + distance · direction has one.

    Vectors are flat, (n, numbers of a record); `queries` counts the labels that were asked for.
    """

    def __init__(self, model: nn.Module, x: Tensor, y: Tensor):
        self.model = model
        self.shape = x.shape[1:]
        self.x = x.flatten(1)
        self.y = y
        self.distance = torch.full((len(x),), torch.inf, device=x.device)
        self.direction = torch.zeros_like(self.x)
        self.queries = 0

    def start(self, everybody: Tensor, partners: Tensor) -> None:
        """Look towards the nearest of each record's partners."""
        for positions in partners.to(self.x.device).T:
            gap = everybody[positions].flatten(1) - self.x
            distance = gap.norm(dim=1)
            is_nearer = distance < self.distance
            self.distance[is_nearer] = distance[is_nearer]
            self.direction[is_nearer] = F.normalize(gap[is_nearer], dim=1)

    def differs(self, points: Tensor, rows: Tensor | slice = slice(None)) -> Tensor:
        """Whether the points, of these rows, have another label than their records: (n,) bool."""
        self.queries += len(points)
        logits = _answer(self.model, points.reshape(-1, *self.shape))
        return logits.argmax(dim=1) != self.y[rows]

    def shorten(self, direction: Tensor, steps: int) -> None:
        """Go in this direction wherever the label changes before the distance that is known."""
        reached = self.differs(self.x + self.distance[:, None] * direction)
        rows = torch.nonzero(reached).flatten()
        if len(rows) == 0:
            return
        x = self.x[rows]
        along = direction[rows]
        near = torch.zeros_like(self.distance[rows])
        far = self.distance[rows]
        for _ in range(steps):
            middle = (near + far) / 2
            is_other = self.differs(x + middle[:, None] * along, rows)
            far = torch.where(is_other, middle, far)
            near = torch.where(is_other, near, middle)
        self.distance[rows] = far
        self.direction[rows] = along

    def normal(self, probes: int, generator: torch.Generator) -> Tensor:
        """Which way the boundary faces: the mean step to another label, less that to one's own."""
        place = self.x + self.distance[:, None] * self.direction
        radius = RADIUS * self.distance[:, None] / np.sqrt(place.shape[1])
        steps_to_other = torch.zeros_like(place)
        all_steps = torch.zeros_like(place)
        others = torch.zeros_like(self.distance)
        for _ in range(probes):
            step = torch.randn(place.shape, generator=generator).to(place.device)
            is_other = self.differs(place + radius * step)
            steps_to_other += step * is_other[:, None]
            all_steps += step
            others += is_other
        # Less the mean of all steps, so that a place a little beyond the boundary tilts nothing.
        share = (others / probes)[:, None]
        return F.normalize(steps_to_other - share * all_steps, dim=1)


# The same model at earlier times.


def loss_trajectory(checkpoints: Iterable[nn.Module], records: Records) -> np.ndarray:
    """Each record's loss under every checkpoint of a training, in their order: (n, checkpoints).

    The checkpoints may come one by one from a generator, so that they need not fit into memory
    together.
    """
    check_records(records=records)
    is_scalar = getattr(checkpoints, "shape", None) == ()
    is_one = is_scalar or isinstance(checkpoints, nn.Module | str)
    if is_one or not isinstance(checkpoints, Iterable):
        raise TypeError(
            "checkpoints must be models, one for each epoch, "
            f"found {type(checkpoints).__name__}. Write [model] for a single one."
        )
    losses = [Signals(predict(model, records), records.y).loss() for model in checkpoints]
    if not losses:
        raise ValueError("A loss trajectory needs at least one checkpoint, found none.")
    return np.stack(losses, axis=1)


# What the questions share.


def _by_batches(ask: Callable[..., T], *tensors: Tensor, size: int = BATCH) -> list[T]:
    """What `ask` finds in each batch of tensors of one length; it stays on their device.

    So the device is waited for once, when all batches are asked, and not after each of them.
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
