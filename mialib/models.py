"""Networks: `features` turns records into vectors, `classify` turns vectors into logits.

`norm="group"` takes GroupNorm for BatchNorm, which mixes the records of a batch. No layer works in place. So
DP-SGD's per-record gradients need only this option; the two DenseNets, which are torchvision's, do not have it. Which
paper uses which network is in ARCHITECTURE.md."""

import math
from functools import partial
from itertools import pairwise

import torch  # torchvision is imported where it is used: that takes as long as importing torch
from torch import Tensor, nn
from torch.nn import functional as F

from mialib.errors import check_choice, check_range, refuse
from mialib.sparsity.butterfly import convert

Shape = tuple[int, ...]
STEMS = {
    "cifar": {"kernel_size": 3, "padding": 1},
    "imagenet": {"kernel_size": 7, "stride": 2, "padding": 3},
}
SMALLEST = {
    "vgg11": 32,
    "densenet121": 29,
    "densenet3": 4,
}  # pixels a side: of fewer, the pools leave nothing


class Network(nn.Module):
    """A network in two named steps; the last layer of `classify` is linear."""

    def __init__(self, features: nn.Module, classify: nn.Module):
        super().__init__()
        self.features, self.classify = features, classify

    def forward(self, x: Tensor) -> Tensor:
        return self.classify(self.features(x))


def convolution(
    before: int, after: int, *, norm: str, bias: bool = False, **options
) -> nn.Sequential:
    """A convolution, its normalization and ReLU; GroupNorm has CRL's 32 groups, or fewer of at least two channels."""
    groups = max((g for g in range(1, 33) if after % g == 0 and after >= 2 * g), default=1)
    norms = {"batch": nn.BatchNorm2d, "group": partial(nn.GroupNorm, groups)}
    normalization = norms[check_choice("norm", norm, norms)](after)
    return nn.Sequential(nn.Conv2d(before, after, bias=bias, **options), normalization, nn.ReLU())


class Block(nn.Module):
    """Two 3×3 convolutions and a shortcut; where the channels change, the image is halved, also by the shortcut."""

    def __init__(self, before: int, after: int, *, norm: str):
        super().__init__()
        stride = 1 if before == after else 2
        self.conv1, self.norm1, _ = convolution(
            before, after, norm=norm, kernel_size=3, stride=stride, padding=1
        )
        self.conv2, self.norm2, _ = convolution(after, after, norm=norm, kernel_size=3, padding=1)
        self.shortcut = nn.Identity()
        if before != after:
            self.shortcut = convolution(before, after, norm=norm, kernel_size=1, stride=stride)[
                :2
            ]  # without ReLU

    def forward(self, x: Tensor) -> Tensor:
        inner = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(inner)) + self.shortcut(x))


def pool() -> tuple[nn.Module, nn.Module]:
    """(n, channels, height, width) → (n, channels)."""
    return nn.AdaptiveAvgPool2d(1), nn.Flatten()


def he_normal(network: nn.Module) -> nn.Module:
    """Draw the convolutions from N(0, 2 / (k² · channels out)), as torchvision's ResNet and CRL's code do."""
    for layer in (module for module in network.modules() if isinstance(module, nn.Conv2d)):
        nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
        if layer.bias is not None:
            nn.init.zeros_(layer.bias)
    return network


def mlp(shape: Shape, classes: int, *, widths: tuple[int, ...] = (1024, 512, 256, 128)) -> Network:
    """The Tanh perceptron of PAST for Purchase100 and Texas100."""
    check_range(1, math.inf, whole=True, widths=widths)
    sizes = [math.prod(shape), *widths]
    hidden = [layer for pair in pairwise(sizes) for layer in (nn.Linear(*pair), nn.Tanh())]
    return Network(nn.Sequential(nn.Flatten(), *hidden), nn.Linear(sizes[-1], classes))


def resnet20(
    shape: Shape,
    classes: int,
    *,
    width: int = 16,
    norm: str = "batch",
    segments: int = 0,
    factors: int = 2,
) -> Network:
    """The ResNet-20 with projection shortcuts: 272,474 parameters at width 16 on colour images. The 3×3 convolutions of
    its last `segments`, of three blocks each, are butterflies of so many `factors`, or none are."""
    check_range(1, math.inf, whole=True, width=width)
    check_range(0, 3, whole=True, segments=segments)
    stem = convolution(shape[0], width, norm=norm, **STEMS["cifar"])
    widths = [width] * 4 + [2 * width] * 3 + [4 * width] * 3  # of the stem, then of each block
    blocks = nn.ModuleList(Block(*pair, norm=norm) for pair in pairwise(widths))
    if segments:
        convert(blocks[-3 * segments :], factors)
    return Network(nn.Sequential(*stem, *blocks, *pool()), nn.Linear(4 * width, classes))


def resnet18(
    shape: Shape, classes: int, *, stem: str = "cifar", norm: str = "batch", pretrained=False
) -> Network:
    """The ResNet-18 with a 3×3 stem, or torchvision's, which PAST feeds 32×32 images. `pretrained`: see densenet121."""
    if pretrained and (stem, norm) != ("imagenet", "batch"):
        expected = "resnet18 has pretrained weights for stem='imagenet' with norm='batch' only"
        raise ValueError(
            f"{expected}, found stem={stem!r} with norm={norm!r}. Change them, or train from scratch."
        )
    first = convolution(shape[0], 64, norm=norm, **STEMS[check_choice("stem", stem, STEMS)])
    blocks = [
        Block(*pair, norm=norm) for pair in pairwise([64] * 3 + [128] * 2 + [256] * 2 + [512] * 2)
    ]
    if stem == "imagenet":
        first.append(nn.MaxPool2d(3, stride=2, padding=1))
        he_normal(nn.Sequential(*first, *blocks))
    network = Network(nn.Sequential(*first, *blocks, *pool()), nn.Linear(512, classes))
    if pretrained:
        from torchvision.models import get_model

        theirs = get_model("resnet18", weights="IMAGENET1K_V1").state_dict()
        # The same layers in the same order under other names, and a last one, which stays behind.
        network.features.load_state_dict(
            dict(zip(network.features.state_dict(), theirs.values(), strict=False))
        )
    return network


def vgg11(shape: Shape, classes: int, *, norm: str = "batch", dropout: float = 0.5) -> Network:
    """The VGG11-BN of CRL: its features are the second hidden layer before ReLU, with dropout before both."""
    layers = []
    for number, pair in enumerate(
        pairwise((shape[0], 64, 128, 256, 256, 512, 512, 512, 512)), start=1
    ):
        layers += convolution(*pair, norm=norm, kernel_size=3, padding=1, bias=True)
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
    """torchvision's DenseNet-121 with a new classifier; `pretrained` starts from ImageNet, as PAST's code does. **That
    contaminates membership**: a record that was in ImageNet has been trained on, whatever the split says, and the
    attack is measured against wrong labels. The weights also expect ImageNet's normalisation of the colours."""
    from torchvision.models import get_model

    theirs = get_model("densenet121", weights="IMAGENET1K_V1" if pretrained else None)
    return Network(_dense_features(theirs.features), nn.Linear(1024, classes))


def densenet3(shape: Shape, classes: int, *, growth: int = 12, layers: int = 19) -> Network:
    """The DenseNet-BC of CRL: three dense blocks, which halve the channels and the image between them."""
    from torchvision.models import DenseNet

    check_range(1, math.inf, whole=True, growth=growth, layers=layers)
    theirs = DenseNet(growth, (layers,) * 3, num_init_features=2 * growth)
    stem = nn.Conv2d(shape[0], 2 * growth, 3, padding=1, bias=False)
    # torchvision begins with a 7×7 convolution, norm, ReLU and pool; small images enter the first block whole.
    features = he_normal(_dense_features(nn.Sequential(stem, *list(theirs.features)[4:])))
    return Network(features, nn.Linear(theirs.classifier.in_features, classes))


def _dense_features(layers: nn.Sequential) -> nn.Sequential:
    """torchvision's dense layers, none in place, and the ReLU and pool that it keeps in its `forward`."""
    for module in layers.modules():
        if isinstance(module, nn.ReLU):
            module.inplace = False
    return nn.Sequential(*layers, nn.ReLU(), *pool())


def googlenet(shape: Shape, classes: int, *, norm: str = "batch", dropout: float = 0.4) -> Network:
    """torchvision's GoogLeNet with the changes of CRL: a 3×3 stem for small images, and two 3×3 for a 5×5. CRL's code
    gives a BatchNorm of each block its width as ε, a slip, and biases that BatchNorm cancels; not so here."""
    from torchvision.models.googlenet import GoogLeNet, Inception

    small = partial(convolution, norm=norm, kernel_size=3, padding=1)

    def inception(*sizes: int) -> nn.Module:
        block, five = Inception(*sizes, conv_block=partial(convolution, norm=norm)), sizes[5]
        block.branch3.append(
            small(five, five)
        )  # torchvision has a single 3×3 where the paper has a 5×5.
        return block

    blocks = [
        lambda before, after, **_: small(shape[0] if before == 3 else before, after),
        inception,
        None,
    ]
    theirs = GoogLeNet(classes, aux_logits=False, init_weights=False, blocks=blocks)
    first, _, *layers, _, _, last = (
        theirs.children()
    )  # without the first pool, the mean and dropout
    layers = [
        nn.MaxPool2d(3, stride=2, padding=1) if isinstance(layer, nn.MaxPool2d) else layer
        for layer in layers
    ]
    return Network(nn.Sequential(first, *layers, *pool()), nn.Sequential(nn.Dropout(dropout), last))


MODELS = {
    make.__name__: make
    for make in (mlp, resnet20, resnet18, vgg11, densenet121, densenet3, googlenet)
}


def build(name: str, *, shape: Shape, classes: int, seed: int = 0, **options) -> Network:
    """Build a network whose weights are drawn from `seed` alone; `options` are those of the network's own function."""
    make = MODELS[check_choice("model", name, MODELS)]
    for option in options:
        check_choice(f"{name} option", option, make.__kwdefaults__)
    expected = f"{name} needs records of shape (channels, height, width), or (features,) for 'mlp'"
    refuse(len(shape) != 3 and (name, len(shape)) != ("mlp", 1), f"{expected}; found {shape}.")
    check_range(1, math.inf, whole=True, shape=shape, classes=classes)
    pixels, found = SMALLEST.get(name, 1), "×".join(map(str, shape[1:]))
    too_small = f"{name} needs images of at least {pixels}×{pixels}, found {found}"
    refuse(
        pixels > min(shape[1:], default=1), f"{too_small}. Enlarge the images, or use 'resnet20'."
    )
    pretrained = bool(options.get("pretrained"))
    fault = (
        f"{'a pretrained ' * pretrained}{name} takes colour images (3 channels), found {shape[0]}"
    )
    refuse(shape[0] != 3 and (pretrained or name == "densenet121"), f"{fault}. Repeat the channel.")
    with torch.random.fork_rng(devices=[]):
        # torch.manual_seed would also seed every GPU, and fork_rng gives only the CPU's state back.
        torch.default_generator.manual_seed(int(seed))
        return make(shape, classes, **options)
