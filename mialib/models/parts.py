"""What the networks are made of. Nothing here works in place."""

from torch import Tensor, nn
from torch.nn import functional as F

from mialib.errors import known


class Network(nn.Module):
    """A network in two named steps; the last layer of `classify` is linear."""

    def __init__(self, features: nn.Module, classify: nn.Module):
        super().__init__()
        self.features = features
        self.classify = classify

    def forward(self, x: Tensor) -> Tensor:
        return self.classify(self.features(x))


def normalization(norm: str, channels: int) -> nn.Module:
    """`"batch"` or `"group"`: 32 groups as in CRL's code, fewer where a group would hold less than two channels.

    >>> [normalization("group", channels).num_groups for channels in (512, 64, 16, 6, 5)]
    [32, 32, 8, 3, 1]
    """
    if known("norm", norm, ("batch", "group")) == "batch":
        return nn.BatchNorm2d(channels)
    groups = max((g for g in range(1, 33) if channels % g == 0 and channels >= 2 * g), default=1)
    return nn.GroupNorm(groups, channels)


def convolution(before: int, after: int, *, norm: str, bias: bool = False, **options) -> nn.Sequential:
    """A convolution, its normalization and ReLU."""
    return nn.Sequential(nn.Conv2d(before, after, bias=bias, **options), normalization(norm, after), nn.ReLU())


class Block(nn.Module):
    """Two 3×3 convolutions and a shortcut, which is a 1×1 convolution where the shape changes."""

    def __init__(self, before: int, after: int, stride: int, norm: str = "batch"):
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, padding=1, bias=False)
        self.norm1 = normalization(norm, after)
        self.conv2 = nn.Conv2d(after, after, 3, padding=1, bias=False)
        self.norm2 = normalization(norm, after)
        self.shortcut = nn.Identity()
        if stride != 1 or before != after:
            projection = nn.Conv2d(before, after, 1, stride, bias=False)
            self.shortcut = nn.Sequential(projection, normalization(norm, after))

    def forward(self, x: Tensor) -> Tensor:
        inner = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(inner)) + self.shortcut(x))


def residual_blocks(widths: tuple[int, ...], repeat: int, norm: str) -> list[Block]:
    """`repeat` residual blocks at each width; every width but the first begins by halving the image."""
    layers, before = [], widths[0]
    for segment, width in enumerate(widths):
        layers.append(Block(before, width, 2 if segment else 1, norm))
        layers += [Block(width, width, 1, norm) for _ in range(repeat - 1)]
        before = width
    return layers


def pool() -> tuple[nn.Module, nn.Module]:
    """(n, channels, height, width) → (n, channels)."""
    return nn.AdaptiveAvgPool2d(1), nn.Flatten()


def he_normal(network: nn.Module) -> nn.Module:
    """Draw the convolutions from N(0, 2 / (k² · channels out)), as torchvision's ResNet and CRL's code do."""
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            if module.bias is not None:
                nn.init.zeros_(module.bias)
    return network
