"""The networks, each a function of the records' shape and the classes. Build them with `models.build`."""

import math
from functools import partial
from itertools import pairwise

from torch import nn

from mialib.errors import between, known
from mialib.models.parts import Network, convolution, he_normal, pool, residual_blocks

# torchvision is imported where it is used: that takes as long as importing torch.

Shape = tuple[int, ...]
STEMS = {"cifar": {"kernel_size": 3, "padding": 1}, "imagenet": {"kernel_size": 7, "stride": 2, "padding": 3}}


def mlp(shape: Shape, classes: int, *, widths: tuple[int, ...] = (1024, 512, 256, 128)) -> Network:
    """The Tanh perceptron of PAST for Purchase100 and Texas100."""
    between(1, math.inf, whole=True, widths=widths)
    sizes = [math.prod(shape), *widths]
    layers = [nn.Flatten()]
    for before, after in pairwise(sizes):
        layers += [nn.Linear(before, after), nn.Tanh()]
    return Network(nn.Sequential(*layers), nn.Linear(sizes[-1], classes))


def resnet20(shape: Shape, classes: int, *, width: int = 16, norm: str = "batch") -> Network:
    """The ResNet-20 with projection shortcuts: 272,474 parameters at width 16 on colour images."""
    between(1, math.inf, whole=True, width=width)
    stem = convolution(shape[0], width, norm=norm, **STEMS["cifar"])
    features = nn.Sequential(*stem, *residual_blocks((width, 2 * width, 4 * width), 3, norm), *pool())
    return Network(features, nn.Linear(4 * width, classes))


def resnet18(
    shape: Shape, classes: int, *, stem: str = "cifar", norm: str = "batch", pretrained: bool = False
) -> Network:
    """The ResNet-18, with a stem for small images (3×3) or torchvision's (7×7, stride 2, then a max pool).

    PAST feeds 32×32 images to the ImageNet stem. Before using `pretrained`, see `densenet121`.
    """
    if pretrained and (stem, norm) != ("imagenet", "batch"):
        expected = "resnet18 has pretrained weights for stem='imagenet' with norm='batch' only"
        raise ValueError(f"{expected}, found stem={stem!r} with norm={norm!r}. Change them, or train from scratch.")
    first = convolution(shape[0], 64, norm=norm, **STEMS[known("stem", stem, STEMS)])
    blocks = residual_blocks((64, 128, 256, 512), 2, norm)
    if stem == "imagenet":
        first.append(nn.MaxPool2d(3, stride=2, padding=1))
        he_normal(nn.Sequential(*first, *blocks))
    features = nn.Sequential(*first, *blocks, *pool())
    network = Network(features, nn.Linear(512, classes))
    if pretrained:
        from torchvision.models import get_model

        _check_images("a pretrained resnet18", shape, colour=True)
        theirs = get_model("resnet18", weights="IMAGENET1K_V1").state_dict()
        # The same layers in the same order under other names, and a last one, which stays behind.
        features.load_state_dict(dict(zip(features.state_dict(), theirs.values(), strict=False)))
    return network


def vgg11(shape: Shape, classes: int, *, norm: str = "batch", dropout: float = 0.5) -> Network:
    """The VGG11-BN of CRL: its features are the second hidden layer before ReLU, with dropout before both."""
    _check_images("vgg11", shape, pixels=32)
    layers, before = [], shape[0]
    for widths in ((64,), (128,), (256, 256), (512, 512), (512, 512)):
        for after in widths:
            layers += convolution(before, after, norm=norm, kernel_size=3, padding=1, bias=True)
            before = after
        layers.append(nn.MaxPool2d(2))
    hidden = [nn.Dropout(dropout), nn.Linear(512, 512), nn.ReLU(), nn.Dropout(dropout), nn.Linear(512, 512)]
    features = he_normal(nn.Sequential(*layers, *pool(), *hidden))
    return Network(features, nn.Sequential(nn.ReLU(), nn.Linear(512, classes)))


def densenet121(shape: Shape, classes: int, *, pretrained: bool = False) -> Network:
    """torchvision's DenseNet-121 with a new classifier.

    `pretrained` starts from ImageNet, as PAST's code does (its text does not say so). **It contaminates
    membership**: a record that was in ImageNet has been trained on, whatever the split says, and the attack
    is then measured against wrong labels. The weights also expect ImageNet's normalisation of the colours.
    """
    from torchvision.models import get_model

    _check_images("densenet121", shape, pixels=29, colour=True)
    theirs = get_model("densenet121", weights="IMAGENET1K_V1" if pretrained else None)
    return Network(_dense_features(theirs.features), nn.Linear(1024, classes))


def densenet3(shape: Shape, classes: int, *, growth: int = 12, layers: int = 19) -> Network:
    """The DenseNet-BC of CRL: three dense blocks, which halve the channels and the image between them."""
    from torchvision.models import DenseNet

    between(1, math.inf, whole=True, growth=growth, layers=layers)
    _check_images("densenet3", shape, pixels=4)
    theirs = DenseNet(growth, (layers,) * 3, num_init_features=2 * growth)
    stem = nn.Conv2d(shape[0], 2 * growth, 3, padding=1, bias=False)
    # torchvision begins with a 7×7 convolution, norm, ReLU and pool; small images enter the first block whole.
    features = he_normal(_dense_features(nn.Sequential(stem, *list(theirs.features)[4:])))
    return Network(features, nn.Linear(theirs.classifier.in_features, classes))


# Channels of each Inception block (Szegedy et al. 2015, Table 1): 1×1; reduction, 3×3; reduction, 5×5; after the pool.
INCEPTIONS = (
    (64, 96, 128, 16, 32, 32),
    (128, 128, 192, 32, 96, 64),
    (192, 96, 208, 16, 48, 64),
    (160, 112, 224, 24, 64, 64),
    (128, 128, 256, 24, 64, 64),
    (112, 144, 288, 32, 64, 64),
    (256, 160, 320, 32, 128, 128),
    (256, 160, 320, 32, 128, 128),
    (384, 192, 384, 48, 128, 128),
)


def googlenet(shape: Shape, classes: int, *, norm: str = "batch", dropout: float = 0.4) -> Network:
    """The GoogLeNet of CRL: a 3×3 stem for small images, two 3×3 for a 5×5, no auxiliary heads.

    CRL's code gives a BatchNorm of each block its width as ε, a slip, and biases that BatchNorm cancels; not so here.
    """
    from torchvision.models.googlenet import Inception

    unit = partial(convolution, norm=norm)
    small = partial(unit, kernel_size=3, padding=1)
    layers, before = [small(shape[0], 64), small(64, 64), small(64, 192)], 192
    for number, sizes in enumerate(INCEPTIONS):
        if number in (0, 2, 7):
            layers.append(nn.MaxPool2d(3, stride=2, padding=1))
        one, _, three, _, five, pooled = sizes
        inception = Inception(before, *sizes, conv_block=unit)
        inception.branch3.append(small(five, five))  # torchvision has a single 3×3 where the paper has a 5×5.
        layers.append(inception)
        before = one + three + five + pooled
    return Network(nn.Sequential(*layers, *pool()), nn.Sequential(nn.Dropout(dropout), nn.Linear(before, classes)))


def _dense_features(layers: nn.Sequential) -> nn.Sequential:
    """torchvision's dense layers, none in place, and the ReLU and pool that it keeps in its `forward`."""
    for module in layers.modules():
        if isinstance(module, nn.ReLU):
            module.inplace = False
    return nn.Sequential(*layers, nn.ReLU(), *pool())


def _check_images(name: str, shape: Shape, *, pixels: int = 1, colour: bool = False) -> None:
    """Refuse images of which the pools would leave nothing, and grey ones where the first layer needs colours."""
    if colour and shape[0] != 3:
        raise ValueError(f"{name} takes colour images (3 channels), found {shape[0]}. Repeat the channel.")
    if min(shape[1:]) < pixels:
        found = f"needs images of at least {pixels}×{pixels}, found {shape[1]}×{shape[2]}"
        raise ValueError(f"{name} {found}. Enlarge the images, or use 'resnet20'.")
