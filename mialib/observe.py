"""What a patient attacker asks beside the logits: turned, shifted and noisy copies; from inside, input gradients.

    signals = watch(run, rotations=angles(4), shifts=shell(1), noise=True, gradient=True)
    signals.column("rotations")     # (n, 9) bool: is the label still predicted?

The copies are made from the records as they are stored, before scaling. Introduced in notebooks 03 (noise) and 04."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import scipy
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from tqdm.auto import tqdm

from mialib.data import Records
from mialib.errors import check_range, refuse
from mialib.runs import Run
from mialib.signals import Signals, eval_mode, predict
from mialib.splits import Side
from mialib.training import to_device


def angles(r: int) -> np.ndarray:
    """The 2r + 1 whole degrees from −r to r (the label-only paper's code; PAST's asks for −r, 0 and r alone)."""
    check_range(0, np.inf, whole=True, r=r)
    return np.linspace(-r, r, 2 * r + 1)


def shell(d: int) -> list[tuple[int, int]]:
    """No shift, and the 4d shifts (down, right) with |down| + |right| = d."""
    check_range(0, np.inf, whole=True, d=d)
    steps = range(-d, d + 1)
    return [(0, 0), *((i, j) for i in steps for j in steps if abs(i) + abs(j) == d and d)]


def rotated(records: Records, degrees: float, *, order: int = 1) -> Records:
    """Turn every image about its centre by a spline of this `order` (1: bilinear; the original code has 3, PAST's 0).
    The edge is repeated outside: 0, as in the original, blackens half of it, and a model that knows pixels notices."""
    x = _images(records).astype(np.float32)
    turned = scipy.ndimage.rotate(
        x, degrees, axes=(3, 2), reshape=False, order=order, mode="nearest"
    )
    return replace(records, x=turned.clip(x.min(), x.max()))


def shifted(records: Records, down: int, right: int, *, border: str = "edge") -> Records:
    """Move every image by whole pixels; the edge is repeated, or with border="constant" filled with 0."""
    x, far = _images(records), max(abs(down), abs(right))
    padded = np.pad(x, ((0, 0), (0, 0), (far, far), (far, far)), mode=border)
    rows, columns = (
        slice(far - by, far - by + size)
        for by, size in zip((down, right), x.shape[2:], strict=True)
    )
    return replace(records, x=padded[:, :, rows, columns])


def watch(
    run: Run,
    *,
    rotations: Iterable[float] = (),
    shifts: Iterable[tuple[int, int]] = (),
    noise=False,
    gradient=False,
) -> Signals:
    """The run's signals with more columns: `rotations` (by `angles`) and `shifts` (by a `shell`) (n, views) bool,
    `noise` (n, classes), `gradient_l1` and `gradient_l2` (n,)."""
    model, records, more = run.load_model(), everyone(run.side), {}
    for name, change, settings in (
        ("rotations", rotated, [(a,) for a in rotations]),
        ("shifts", shifted, shifts),
    ):
        if views := [change(records, *setting) for setting in settings]:
            guesses = [
                predict(model, view).argmax(axis=1)
                for view in tqdm(views, name, delay=2, leave=False)
            ]
            more[name] = np.stack(guesses, axis=1) == records.y[:, None]
    if noise:
        more["noise"] = noise_response(model, records)
    if gradient:
        more |= dict(
            zip(
                ("gradient_l1", "gradient_l2"),
                gradient_norms(model, records, p=(1, 2)),
                strict=True,
            )
        )
    return replace(run.signals, more=run.signals.more | more)


def everyone(side: Side) -> Records:
    """Members, then non-members: the order of a run's signals."""
    both = {
        name: np.concatenate([getattr(side.train, name), getattr(side.test, name)])
        for name in ("x", "y", "index")
    }
    return replace(side.train, **both)


def noise_response(
    model: nn.Module, records: Records, *, epsilon=1e-3, draws: int = 5, seed: int = 0
) -> np.ndarray:
    """(1/ε)·E|R(x) − R(x + εN)| of the softmax outputs R (sparsity paper, its discriminator): (n, classes)."""
    check_range(1e-9, np.inf, epsilon=epsilon)
    check_range(1, np.inf, whole=True, draws=draws)
    generator, found = torch.Generator().manual_seed(seed), []
    with torch.no_grad(), eval_mode(model):
        for x, _ in _batches(model, records):
            plain, moved = model(x).softmax(dim=1), 0
            for _ in range(draws):
                step = torch.randn(x.shape, generator=generator).to(x.device)
                moved = moved + (model(x + epsilon * step).softmax(dim=1) - plain).abs()
            found.append((moved / (draws * epsilon)).cpu().numpy())
    return np.concatenate(found)


def gradient_norms(
    model: nn.Module, records: Records, *, p: float | tuple[float, ...] = 2
) -> np.ndarray:
    """ℓp norm of each record's loss gradient with respect to its input (Grad-x): (n,), or for several p (ps, n). As in
    eval mode no record of a batch touches another, the gradient of the summed loss holds every record's own."""
    found = []
    with eval_mode(model):
        for x, y in _batches(model, records):
            x = x.detach().requires_grad_()
            (gradient,) = torch.autograd.grad(F.cross_entropy(model(x), y, reduction="sum"), x)
            found.append(
                np.stack([gradient.flatten(1).norm(p=one, dim=1).cpu() for one in np.atleast_1d(p)])
            )
    norms = np.concatenate(found, axis=1)  # (ps, n)
    return norms if np.ndim(p) else norms[0]


def margins(model: nn.Module, records: Records) -> np.ndarray:
    """Signed distance of each record's features to the decision boundary, below 0 if misclassified: (n,). It is
    min over j ≠ y of (g_y − g_j) / ‖w_y − w_j‖, with the logits g and the rows w of the last linear layer."""
    last, found = (
        [module for module in model.classify.modules() if isinstance(module, nn.Linear)][-1],
        [],
    )
    apart = torch.cdist(last.weight, last.weight).detach()  # (classes, classes)
    with torch.no_grad(), eval_mode(model):
        for x, y in _batches(model, records):
            logits = model(x)
            distance = (logits.gather(1, y[:, None]) - logits) / apart[
                y
            ]  # (n, classes); 0 / 0 for the class itself
            found.append(distance.scatter(1, y[:, None], np.inf).amin(dim=1).cpu().numpy())
    return np.concatenate(found)


def _batches(
    model: nn.Module, records: Records, *, size: int = 500
) -> Iterator[tuple[Tensor, Tensor]]:
    x, y = to_device(records, next(model.parameters()).device)
    return zip(x.split(size), y.split(size), strict=True)


def _images(records: Records) -> np.ndarray:
    fault = f"Only images can be turned or shifted, found records of shape {records.x.shape[1:]}"
    refuse(records.x.ndim != 4, f"{fault}. For tables use an attack on the outputs.")
    return records.x
