"""Networks: `features` turns records into vectors, `classify` turns vectors into logits.

    network = build("resnet20", shape=(3, 32, 32), classes=10, seed=0, width=16)
    network.features(x)         # (n, 64)
    network(x)                  # (n, 10)

From top to bottom: `Network`, the layers that several share, one function for each network, and
`build`. `norm="group"` takes GroupNorm for BatchNorm, which mixes the records of a batch, and no
layer works in place. So DP-SGD's per-record gradients need only this option; the two DenseNets,
which are torchvision's, do not have it, and the CNN has no normalization unless told. Which paper
uses which network is in ARCHITECTURE.md.
"""

import inspect
import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import torch  # torchvision is imported where it is used: that takes as long as importing torch
from torch import Tensor, nn
from torch.nn import functional as F

from mialib.errors import check_choice, check_flag, check_range, plain_number, plain_tuple
from mialib.sparsity.butterfly import convert

Shape = tuple[int, ...]
STEMS: dict[str, dict[str, Any]] = {
    "cifar": {"kernel_size": 3, "padding": 1},
    "imagenet": {"kernel_size": 7, "stride": 2, "padding": 3},
}
# Pixels a side: of fewer, the pools leave nothing.
SMALLEST = {"cnn": 4, "vgg11": 32, "densenet121": 29, "densenet3": 4}
# Larger networks than these are slips of the pen.
WIDEST = 1024
MOST_LAYERS = 200
MOST_CLASSES = 100_000
MOST_INPUTS = 2**24
MOST_WEIGHTS = 2**30


class Network(nn.Module):
    """A network in two named steps; the last layer of `classify` is linear."""

    shape: Shape | None = None  # of the records that it was built for

    def __init__(self, features: nn.Module, classify: nn.Module):
        super().__init__()
        self.features = features
        self.classify = classify

    def forward(self, x: Tensor) -> Tensor:
        return self.classify(self.features(x))


# Layers that several networks share.


def normalization(channels: int, norm: str) -> nn.Module:
    """BatchNorm, or GroupNorm with CRL's 32 groups, or fewer of at least two channels."""
    check_choice("norm", norm, ("batch", "group"))
    if norm == "batch":
        return nn.BatchNorm2d(channels)
    possible = [g for g in range(1, 33) if channels % g == 0 and channels >= 2 * g]
    return nn.GroupNorm(max(possible, default=1), channels)


def convolution_and_norm(
    before: int, after: int, *, norm: str, bias: bool = False, **options: Any
) -> tuple[nn.Conv2d, nn.Module]:
    """A convolution from `before` to `after` channels, and its normalization."""
    return nn.Conv2d(before, after, bias=bias, **options), normalization(after, norm)


def convolution(before: int, after: int, *, norm: str, **options: Any) -> nn.Sequential:
    """A convolution, its normalization and ReLU."""
    return nn.Sequential(*convolution_and_norm(before, after, norm=norm, **options), nn.ReLU())


class Block(nn.Module):
    """Two 3×3 convolutions and a shortcut.

    Where the channels change, the image is halved, also by the shortcut.
    """

    def __init__(self, before: int, after: int, *, norm: str):
        super().__init__()
        stride = 1 if before == after else 2
        three = partial(convolution_and_norm, norm=norm, kernel_size=3, padding=1)
        self.conv1, self.norm1 = three(before, after, stride=stride)
        self.conv2, self.norm2 = three(after, after)
        self.shortcut: nn.Module = nn.Identity()
        if before != after:
            self.shortcut = nn.Sequential(
                *convolution_and_norm(before, after, norm=norm, kernel_size=1, stride=stride)
            )

    def forward(self, x: Tensor) -> Tensor:
        inner = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(inner)) + self.shortcut(x))


def pool() -> tuple[nn.Module, nn.Module]:
    """(n, channels, height, width) → (n, channels)."""
    return nn.AdaptiveAvgPool2d(1), nn.Flatten()


def he_normal(network: nn.Module) -> nn.Module:
    """Draw the convolutions from N(0, 2 / (k² · channels out)).

    torchvision's ResNet and CRL's code do so.
    """
    for layer in network.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    return network


# The networks.


def mlp(shape: Shape, classes: int, *, widths: tuple[int, ...] = (1024, 512, 256, 128)) -> Network:
    """The Tanh perceptron of PAST for Purchase100 and Texas100."""
    sizes = [math.prod(shape), *_widths(widths)]
    _check_weights(
        "mlp",
        sum(before * after for before, after in pairwise(sizes)),
        f"Choose smaller widths than {widths}, or records with fewer than {sizes[0]:,} features.",
    )
    hidden: list[nn.Module] = []
    for before, after in pairwise(sizes):
        hidden += [nn.Linear(before, after), nn.Tanh()]
    return Network(nn.Sequential(nn.Flatten(), *hidden), nn.Linear(sizes[-1], classes))


def cnn(
    shape: Shape, classes: int, *, width: int = 16, hidden: int = 128, norm: str = "none"
) -> Network:
    """The course's own: two 3×3 convolutions and a hidden layer, small and steady.

    The convolutions have `width` and 2·`width` channels; each is followed by ReLU and a pool that
    halves the image. There is no normalization unless `norm` asks for one.
    """
    check_range(1, WIDEST, whole=True, width=width)
    check_range(1, WIDEST, whole=True, hidden=hidden)
    check_choice("norm", norm, ("none", "batch", "group"))
    layers: list[nn.Module] = []
    for before, after in pairwise((shape[0], width, 2 * width)):
        if norm == "none":
            layers += [nn.Conv2d(before, after, kernel_size=3, padding=1), nn.ReLU()]
        else:
            layers += convolution(before, after, norm=norm, kernel_size=3, padding=1)
        layers.append(nn.MaxPool2d(2))
    pooled = 2 * width * (shape[1] // 4) * (shape[2] // 4)
    _check_weights("cnn", pooled * hidden, "Choose smaller images or a smaller width.")
    layers += [nn.Flatten(), nn.Linear(pooled, hidden), nn.ReLU()]
    return Network(nn.Sequential(*layers), nn.Linear(hidden, classes))


def resnet20(
    shape: Shape,
    classes: int,
    *,
    width: int = 16,
    norm: str = "batch",
    segments: int = 0,
    factors: int = 2,
) -> Network:
    """The ResNet-20 with projection shortcuts: 272,474 parameters at width 16 on colour images.

    The 3×3 convolutions of its last `segments`, of three blocks each, are butterflies of so many
    `factors`, or none are.
    """
    check_range(1, WIDEST, whole=True, width=width)
    check_range(0, 3, whole=True, segments=segments)
    stem = convolution(shape[0], width, norm=norm, **STEMS["cifar"])
    widths = [width] * 4 + [2 * width] * 3 + [4 * width] * 3  # of the stem, then of each block
    blocks = _blocks(widths, norm)
    if segments:
        convert(blocks[-3 * segments :], factors)
    return Network(nn.Sequential(*stem, *blocks, *pool()), nn.Linear(4 * width, classes))


def resnet18(
    shape: Shape,
    classes: int,
    *,
    stem: str = "cifar",
    norm: str = "batch",
    pretrained: bool = False,
) -> Network:
    """The ResNet-18 with a 3×3 stem, or torchvision's, which PAST feeds 32×32 images.

    `pretrained`: see densenet121.
    """
    check_flag(pretrained=pretrained)
    check_choice("stem", stem, STEMS)
    if pretrained and (stem != "imagenet" or norm != "batch"):
        raise ValueError(
            "resnet18 has pretrained weights for stem='imagenet' with norm='batch' only, found "
            f"stem={stem!r} with norm={norm!r}. Change them, or train from scratch."
        )
    first = convolution(shape[0], 64, norm=norm, **STEMS[stem])
    blocks = _blocks([64] * 3 + [128] * 2 + [256] * 2 + [512] * 2, norm)
    if stem == "imagenet":
        first.append(nn.MaxPool2d(3, stride=2, padding=1))
        he_normal(nn.Sequential(*first, *blocks))
    network = Network(nn.Sequential(*first, *blocks, *pool()), nn.Linear(512, classes))
    if pretrained:
        _load_imagenet_features(network)
    return network


def vgg11(shape: Shape, classes: int, *, norm: str = "batch", dropout: float = 0.5) -> Network:
    """The VGG11-BN of CRL.

    Its features are the second hidden layer before ReLU, with dropout before both.
    """
    check_range(0, 1, dropout=dropout)
    channels = (shape[0], 64, 128, 256, 256, 512, 512, 512, 512)
    layers: list[nn.Module] = []
    for number, (before, after) in enumerate(pairwise(channels), start=1):
        layers += convolution(before, after, norm=norm, kernel_size=3, padding=1, bias=True)
        if number in (1, 2, 4, 6, 8):
            layers.append(nn.MaxPool2d(2))
    hidden = [
        nn.Dropout(dropout),
        nn.Linear(512, 512),
        nn.ReLU(),
        nn.Dropout(dropout),
        nn.Linear(512, 512),
    ]
    features = he_normal(nn.Sequential(*layers, *pool(), *hidden))
    return Network(features, nn.Sequential(nn.ReLU(), nn.Linear(512, classes)))


def densenet121(shape: Shape, classes: int, *, pretrained: bool = False) -> Network:
    """torchvision's DenseNet-121 with a new classifier.

    `pretrained` starts from ImageNet, as PAST's code does. **That contaminates membership**: a
    record that was in ImageNet has been trained on, whatever the split says, and the attack is
    measured against wrong labels. The weights also expect ImageNet's normalisation of the colours.
    """
    from torchvision.models import get_model

    check_flag(pretrained=pretrained)
    whole: Any = get_model("densenet121", weights="IMAGENET1K_V1" if pretrained else None)
    return Network(_dense_features(list(whole.features)), nn.Linear(1024, classes))


def densenet3(shape: Shape, classes: int, *, growth: int = 12, layers: int = 19) -> Network:
    """The DenseNet-BC of CRL: three dense blocks of `layers` layers.

    Each layer adds `growth` channels; between the blocks, channels and image are halved.
    """
    from torchvision.models import DenseNet

    check_range(1, WIDEST, whole=True, growth=growth)
    check_range(1, MOST_LAYERS, whole=True, layers=layers)
    three_blocks: Any = (layers, layers, layers)
    whole = DenseNet(growth, three_blocks, num_init_features=2 * growth)
    # torchvision's stem has a 7×7 convolution and a pool; small images enter the first block whole.
    stem = nn.Conv2d(shape[0], 2 * growth, 3, padding=1, bias=False)
    its_stem = ("conv0", "norm0", "relu0", "pool0")
    body = [part for name, part in whole.features.named_children() if name not in its_stem]
    features = he_normal(_dense_features([stem, *body]))
    return Network(features, nn.Linear(whole.classifier.in_features, classes))


def googlenet(shape: Shape, classes: int, *, norm: str = "batch", dropout: float = 0.4) -> Network:
    """GoogLeNet of torchvision's Inception blocks, with the changes of CRL.

    They are a 3×3 stem for small images, and two 3×3 for a 5×5. CRL's code gives a BatchNorm of
    each block its width as ε, a slip, and biases that BatchNorm cancels; not so here.
    """
    check_range(0, 1, dropout=dropout)
    three = partial(convolution, norm=norm, kernel_size=3, padding=1)
    inception = partial(_inception, norm=norm)
    halved = partial(nn.MaxPool2d, 3, stride=2, padding=1)
    features = nn.Sequential(
        three(shape[0], 64),
        three(64, 64),
        three(64, 192),
        halved(),
        # Channels: before; of 1×1; of 3×3, reduced and after; of 5×5, likewise; of the pool.
        inception(192, 64, 96, 128, 16, 32, 32),
        inception(256, 128, 128, 192, 32, 96, 64),
        halved(),
        inception(480, 192, 96, 208, 16, 48, 64),
        inception(512, 160, 112, 224, 24, 64, 64),
        inception(512, 128, 128, 256, 24, 64, 64),
        inception(512, 112, 144, 288, 32, 64, 64),
        inception(528, 256, 160, 320, 32, 128, 128),
        halved(),
        inception(832, 256, 160, 320, 32, 128, 128),
        inception(832, 384, 192, 384, 48, 128, 128),
        *pool(),
    )
    return Network(features, nn.Sequential(nn.Dropout(dropout), nn.Linear(1024, classes)))


MODELS: dict[str, Callable[..., Network]] = {
    "mlp": mlp,
    "cnn": cnn,
    "resnet20": resnet20,
    "resnet18": resnet18,
    "vgg11": vgg11,
    "densenet121": densenet121,
    "densenet3": densenet3,
    "googlenet": googlenet,
}
BUILT_IN = dict(MODELS)  # what these names mean as long as nobody registers something else


def build(name: str, *, shape: Shape, classes: int, seed: int = 0, **options: Any) -> Network:
    """Build a network whose weights are drawn from `seed` alone.

    `shape` is that of one record, and `options` are those of the network's own function. A network
    of one's own is a function in `MODELS`, (shape, classes, **options) → torch module.
    """
    make = MODELS[check_choice("model", name, MODELS)]
    _check_options(name, make, options)
    shape = plain_tuple(shape)
    classes = plain_number(classes)
    _check_shape(name, shape)
    check_range(1, MOST_CLASSES, whole=True, classes=classes)
    check_range(0, 2**63 - 1, whole=True, seed=seed)
    check_flag(pretrained=options.get("pretrained", False))
    if options.get("pretrained"):
        _check_colour(f"a pretrained {name}", shape)
    elif name == "densenet121":
        _check_colour(name, shape)
    with torch.random.fork_rng(devices=[]):
        # torch.manual_seed would also seed every GPU, and fork_rng gives only the CPU's state back.
        torch.default_generator.manual_seed(int(seed))
        network = make(shape, classes, **options)
    if not isinstance(network, nn.Module):
        raise ValueError(
            f"The function in MODELS[{name!r}] must give a torch module, "
            f"found {type(network).__name__}."
        )
    network.shape = shape
    return network


# Parts of single networks.


def _widths(widths: Any) -> tuple[int, ...]:
    numbers = plain_tuple(widths)
    if not isinstance(numbers, tuple):
        raise ValueError(f"widths must be whole numbers, such as (64, 32), found {widths!r}.")
    check_range(1, 2**20, whole=True, many=True, widths=numbers)
    return numbers


def _check_weights(name: str, weights: int, advice: str) -> None:
    """Linear layers grow with the records, so a small setting may be a huge network."""
    if weights > MOST_WEIGHTS:
        article = "An" if name == "mlp" else "A"
        raise ValueError(f"{article} {name} of {weights:,} weights is too large. {advice}")


def _blocks(widths: list[int], norm: str) -> nn.ModuleList:
    """The blocks of a ResNet whose stem and blocks are so wide."""
    return nn.ModuleList(Block(before, after, norm=norm) for before, after in pairwise(widths))


def _load_imagenet_features(network: Network) -> None:
    """torchvision's ResNet-18 has the same layers in the same order, under other names."""
    from torchvision.models import get_model

    weights = get_model("resnet18", weights="IMAGENET1K_V1").state_dict()
    values = [value for name, value in weights.items() if not name.startswith("fc.")]
    names = network.features.state_dict()
    network.features.load_state_dict(dict(zip(names, values, strict=True)))


def _dense_features(layers: list[nn.Module]) -> nn.Sequential:
    """torchvision's dense layers, none in place, and the ReLU and pool that its `forward` has."""
    features = nn.Sequential(*layers, nn.ReLU(), *pool())
    for module in features.modules():
        if isinstance(module, nn.ReLU):
            module.inplace = False
    return features


def _inception(
    before: int,
    after_1x1: int,
    reduced_3x3: int,
    after_3x3: int,
    reduced_5x5: int,
    after_5x5: int,
    after_pool: int,
    *,
    norm: str,
) -> nn.Module:
    """torchvision's block, which has a single 3×3 where the paper has a 5×5, and a second 3×3."""
    from torchvision.models.googlenet import Inception

    block = Inception(
        before,
        after_1x1,
        reduced_3x3,
        after_3x3,
        reduced_5x5,
        after_5x5,
        after_pool,
        conv_block=partial(convolution, norm=norm),
    )
    second = convolution(after_5x5, after_5x5, norm=norm, kernel_size=3, padding=1)
    block.branch3.append(second)
    return block


# What `build` is given.


def _check_options(name: str, make: Callable[..., Any], options: dict[str, Any]) -> None:
    """Refuse options that the network's function does not take, and a function of another kind."""
    parameters = list(inspect.signature(make).parameters.values())
    takes_all = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters)
    known_options = [one.name for one in parameters if one.default is not inspect.Parameter.empty]
    for option in options:
        if not takes_all:
            check_choice(f"{name} option", option, known_options)
    try:
        inspect.signature(make).bind((), 1, **options)
    except TypeError as error:
        raise ValueError(
            f"The function in MODELS[{name!r}] must take (shape, classes) and options with "
            f"defaults, but {error}."
        ) from error


def _check_shape(name: str, shape: Any) -> None:
    """Networks of convolutions take images, and not too small ones."""
    axes = len(shape) if isinstance(shape, tuple) else 0
    takes_tables = name == "mlp" or name not in BUILT_IN
    if axes != 3 and not (takes_tables and axes == 1):
        raise ValueError(
            f"{name} needs records of shape (channels, height, width), or (features,) for 'mlp'; "
            f"found {shape}."
        )
    check_range(1, MOST_INPUTS, whole=True, many=True, shape=shape)
    if axes == 3:
        check_range(1, WIDEST, whole=True, channels=shape[0])
    smallest = SMALLEST.get(name, 1)
    if axes == 3 and min(shape[1:]) < smallest:
        _, height, width = shape
        raise ValueError(
            f"{name} needs images of at least {smallest}×{smallest}, found {height}×{width}. "
            "Enlarge the images, or use 'resnet20'."
        )


def _check_colour(name: str, shape: Shape) -> None:
    if shape[0] != 3:
        raise ValueError(
            f"{name} takes colour images (3 channels), found {shape[0]}. Repeat the channel."
        )
