"""Networks: `features` turns records into vectors, `classify` turns vectors into logits.

>>> network = build("resnet20", shape=(3, 32, 32), classes=10)
>>> sum(p.numel() for p in network.parameters())
272474

| name        | features | parameters (10 classes) | where the papers use it                                |
|-------------|----------|-------------------------|--------------------------------------------------------|
| mlp         | 128      | by the records' length  | PAST on Purchase100 and Texas100                       |
| resnet20    | 64       | 272,474                 | sparsity on CIFAR-10                                   |
| resnet18    | 512      | 11,173,962              | CRL; with stem="imagenet" (11,181,642) PAST            |
| vgg11       | 512      | 9,756,426               | CRL                                                    |
| densenet121 | 1,024    | 6,964,106               | PAST                                                   |
| densenet3   | 405      | 1,020,550               | CRL, whose code calls it DenseNet121                   |
| googlenet   | 1,024    | 6,302,602               | CRL                                                    |

`norm="group"` takes GroupNorm for BatchNorm, which mixes the records of a batch. No layer works in place. So
DP-SGD's per-record gradients need only this option; the two DenseNets, which are torchvision's, do not have it.
"""

import math

import torch

from mialib.errors import between, known
from mialib.models.networks import densenet3, densenet121, googlenet, mlp, resnet18, resnet20, vgg11
from mialib.models.parts import Network

MODELS = {make.__name__: make for make in (mlp, resnet20, resnet18, vgg11, densenet121, densenet3, googlenet)}


def build(name: str, *, shape: tuple[int, ...], classes: int, seed: int = 0, **options) -> Network:
    """Build a network whose weights are drawn from `seed` alone; `options` are those of the network's own function.

    The initialisation is PyTorch's default, or the one of the code that a network follows where that differs.
    """
    make = MODELS[known("model", name, MODELS)]
    for option in options:
        if option == "pretrained" and option not in make.__kwdefaults__:
            raise ValueError(f"{name} has no pretrained weights: only resnet18 (stem='imagenet') and densenet121 do.")
        known(f"{name} option", option, make.__kwdefaults__)
    if len(shape) != 3 and (name, len(shape)) != ("mlp", 1):
        raise ValueError(
            f"{name} needs records of shape (channels, height, width), or (features,) for 'mlp'; found {shape}."
        )
    between(1, math.inf, whole=True, shape=shape, classes=classes)
    with torch.random.fork_rng(devices=[]):
        # torch.manual_seed would also seed every GPU, and fork_rng gives only the CPU's state back.
        torch.default_generator.manual_seed(int(seed))
        return make(shape, classes, **options)
