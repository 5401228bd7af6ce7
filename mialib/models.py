"""Networks: `features` turns records into vectors, `classify` turns vectors into logits.

>>> network = build("resnet20", shape=(3, 32, 32), classes=10)
>>> sum(p.numel() for p in network.parameters())
272474

No layer works in place, so that per-record gradients (DP-SGD) need no other network.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mialib.errors import nearest


class Network(nn.Module):
    """A network in two named steps."""

    def __init__(self, features: nn.Module, classify: nn.Module):
        super().__init__()
        self.features = features
        self.classify = classify

    def forward(self, x: Tensor) -> Tensor:
        return self.classify(self.features(x))


def mlp(shape: tuple[int, ...], classes: int, *, widths: tuple[int, ...] = (1024, 512, 256, 128)) -> Network:
    """The Tanh perceptron of PAST for Purchase100 and Texas100."""
    sizes = [math.prod(shape), *widths]
    layers = [nn.Flatten()]
    for before, after in zip(sizes, sizes[1:], strict=False):
        layers += [nn.Linear(before, after), nn.Tanh()]
    return Network(nn.Sequential(*layers), nn.Linear(sizes[-1], classes))


class Block(nn.Module):
    """Two 3×3 convolutions and a shortcut, which is a 1×1 convolution where the shape changes."""

    def __init__(self, before: int, after: int, stride: int):
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(after)
        self.shortcut = nn.Identity()
        if stride != 1 or before != after:
            self.shortcut = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x: Tensor) -> Tensor:
        inner = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(inner)) + self.shortcut(x))


def resnet20(shape: tuple[int, ...], classes: int, *, width: int = 16) -> Network:
    """The ResNet-20 with projection shortcuts: 272,474 parameters at width 16 on colour images."""
    layers = [nn.Conv2d(shape[0], width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
    before = width
    for segment, stride in enumerate((1, 2, 2)):
        after = width * 2**segment
        layers += [Block(before, after, stride), Block(after, after, 1), Block(after, after, 1)]
        before = after
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return Network(nn.Sequential(*layers), nn.Linear(before, classes))


MODELS = {"mlp": mlp, "resnet20": resnet20}


def build(name: str, *, shape: tuple[int, ...], classes: int, seed: int = 0, **options) -> Network:
    """Build a network with PyTorch's default initialisation, drawn from `seed` and from no global state."""
    if name not in MODELS:
        raise ValueError(nearest("model", name, MODELS))
    if name != "mlp" and len(shape) != 3:
        raise ValueError(f"{name} needs images (channels, height, width), found records of shape {shape}. Use 'mlp'.")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return MODELS[name](shape, classes, **options)
