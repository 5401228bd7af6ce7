"""Models to audit, made or trained in a blink, of which the truth is known."""

from functools import cache

import numpy as np
import torch
from torch import nn

FEATURES = 20
CLASSES = 4


def outputs(n=1000, *, leak=0.0, classes=CLASSES, seed=0):
    """(logits, labels, is_member): members' own logits are higher by `leak` times a random part."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(classes, size=n)
    is_member = np.arange(n) % 2 == 0
    logits = rng.normal(size=(n, classes))
    logits[np.arange(n), labels] += 1 + leak * is_member * rng.exponential(size=n)
    return logits, labels, is_member


@cache
def drawn(seed, n=300, shift=0.0):
    """(x, y): labels that depend on x, and on luck, which only memory can know."""
    weights = np.random.default_rng(99).normal(size=(FEATURES, CLASSES))
    rng = np.random.default_rng(seed)
    x = (rng.normal(size=(n, FEATURES)) + shift).astype(np.float32)
    y = (x @ weights + 4 * rng.normal(size=(n, CLASSES))).argmax(axis=1)
    return x, y


@cache
def trained(seed=0, steps=150):
    """A perceptron that has seen `drawn(seed)`: with 150 steps by heart, with 3 hardly."""
    x, y = (torch.from_numpy(part) for part in drawn(seed))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = nn.Sequential(nn.Linear(FEATURES, 64), nn.ReLU(), nn.Linear(64, CLASSES))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(steps):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    return model.eval()


@cache
def trained_privately(seed=0, *, sigma=6.0, sample_rate=0.2, steps=60, clip=1.0):
    """A perceptron that has seen `drawn(seed)` by DP-SGD, as `epsilon.dp_sgd` counts it.

    Each record is in a batch by a coin of its own, its gradient is clipped, and the sum has noise.
    """
    x, y = (torch.from_numpy(part) for part in drawn(seed))
    generator = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = nn.Sequential(nn.Linear(FEATURES, 64), nn.ReLU(), nn.Linear(64, CLASSES))
    weights = {name: weight.detach().clone() for name, weight in model.named_parameters()}

    def loss(weights, x, y):
        return nn.functional.cross_entropy(torch.func.functional_call(model, weights, x), y)

    of_each = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))
    for _ in range(steps):
        batch = torch.rand(len(x), generator=generator) < sample_rate
        gradients = of_each(weights, x[batch], y[batch])
        norms = sum(one.flatten(1).square().sum(dim=1) for one in gradients.values()).sqrt()
        kept = (clip / norms).clamp(max=1)
        for name, gradient in gradients.items():
            total = torch.tensordot(kept, gradient, dims=1)
            noise = sigma * clip * torch.randn(total.shape, generator=generator)
            weights[name] -= 0.5 * (total + noise) / (sample_rate * len(x))
    model.load_state_dict(weights)
    return model.eval()
