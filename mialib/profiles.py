"""The settings of every experiment at each profile. A profile is only numbers.

>>> load("quick").images.recipe.epochs
14
>>> sorted(load("paper").experiments)[:3]
['baskets', 'crl cifar10 densenet3', 'crl cifar10 resnet18']

Lessons ask for `images` (the target; its shadow is `.but(side="shadow")`) and for `baskets`. At `paper`, every
experiment of the three papers stands under its own name too.
"""

from dataclasses import dataclass

from mialib.errors import nearest
from mialib.runs import Configuration
from mialib.training import Recipe


@dataclass(frozen=True)
class Profile:
    """Named experiments, each the configuration of its target."""

    name: str
    experiments: dict[str, Configuration]

    @property
    def images(self) -> Configuration:
        """The course's image classifier."""
        return self.experiments["images"]

    @property
    def baskets(self) -> Configuration:
        """The course's classifier of shopping baskets."""
        return self.experiments["baskets"]


def _quick() -> dict[str, Configuration]:
    letters = Recipe(epochs=14, batch_size=40, lr=0.03, weight_decay=1e-3)
    images = Configuration(data="letters", options={"width": 8}, recipe=letters, trace=3)
    half_in = {"split": "in_out", "split_options": {"models": 64}, "side": "model-0"}
    return {
        "images": images,
        "bank": images.but(size=2400, data_seed=1, trace=0, **half_in),  # its 64 models ship as signals
        "baskets": Configuration(data="shoppers", model="mlp", recipe=Recipe(epochs=40, lr=0.05)),
    }


def _cpu() -> dict[str, Configuration]:
    """Real data on a patient laptop: six parts of 3,000 CIFAR-10 images, no augmentation."""
    return {
        "images": Configuration(data="cifar10", size=18_000, recipe=Recipe(epochs=50), trace=10),
        "baskets": Configuration(data="purchase100", size=24_000, model="mlp", recipe=Recipe(epochs=60, lr=0.05)),
    }


def _class() -> dict[str, Configuration]:
    """A free GPU and a lesson's patience."""
    images = Configuration(
        data="cifar10", size=30_000, model="resnet18", recipe=Recipe(epochs=30), trace=5, device="auto"
    )
    baskets = Configuration(
        data="purchase100", size=60_000, model="mlp", recipe=Recipe(epochs=60, lr=0.05), device="auto"
    )
    return {"images": images, "baskets": baskets}


def _paper() -> dict[str, Configuration]:
    """PAST's own set-up for the lessons, and every experiment of the papers by name."""
    past = {f"past {name}": configuration for name, configuration in _past().items()}
    crl = {f"crl {name}": configuration for name, configuration in _crl().items()}
    lessons = {"images": past["past cifar10"], "baskets": past["past purchase100"]}
    return lessons | past | crl | {"sparsity cifar10 resnet20": _sparsity()}


def _past() -> dict[str, Configuration]:
    """SGD 0.01 with a cosine over 100 epochs, batch 128; crops and flips in training (its code augments everywhere)."""
    tables = Configuration(model="mlp", recipe=Recipe(epochs=100, lr=0.01), device="auto")
    photos = tables.but(recipe=Recipe(epochs=100, lr=0.01, augment=True))
    flipped = tables.but(recipe=Recipe(epochs=100, lr=0.01, augment="flip"))
    return {
        "cifar10": photos.but(data="cifar10_past", model="resnet18", options={"stem": "imagenet"}),
        "cifar100": photos.but(data="cifar100_past", model="densenet121", options={"pretrained": True}),
        "imagenet": flipped.but(data="imagenet", size=60_000, model="densenet121", options={"pretrained": True}),
        "purchase100": tables.but(data="purchase100"),
        "texas100": tables.but(data="texas100"),
    }


def _crl() -> dict[str, Configuration]:
    """Learning rates by epoch as in the authors' settings; k = 5 shadows on re-shuffled halves."""

    def steps(epochs: int, lr: float, *changes: tuple[int, float], **more) -> Recipe:
        milestones, factors = zip(*((at / epochs, rate / lr) for at, rate in changes), strict=True)
        return Recipe(
            epochs, more.pop("batch_size", 256), lr, schedule="steps", milestones=milestones, factors=factors, **more
        )

    c100 = {"augment": True}
    recipes = {
        "cifar10 vgg11": steps(120, 0.05, (50, 0.01), (80, 0.005), (100, 0.001)),
        "cifar10 resnet18": steps(100, 0.01, (50, 1e-3), (80, 1e-4)),
        "cifar10 densenet3": steps(50, 0.1, (20, 0.01), (40, 1e-3), batch_size=32),
        "cifar100 googlenet": steps(80, 0.1, (40, 0.01), (60, 1e-3), **c100),
        "cifar100 resnet18": steps(100, 0.1, (0, 0.01), (1, 0.1), (50, 0.01), (80, 1e-3), **c100),
        "cifar100 densenet3": steps(100, 0.1, (40, 0.01), (70, 1e-3), (90, 1e-4), batch_size=32, **c100),
        "svhn vgg11": steps(40, 0.1, (10, 0.01), (30, 1e-3)),
        "svhn resnet18": steps(40, 0.1, (10, 0.01), (30, 1e-3)),
    }
    plain = Configuration(split="halves", split_options={"shadows": 5}, device="auto")
    return {
        name: plain.but(data=name.split()[0], model=name.split()[1], recipe=recipe) for name, recipe in recipes.items()
    }


def _sparsity() -> Configuration:
    """The dense network of the sparsity paper's Table 1: 14,000 members, 1,000 validation records a side."""
    recipe = Recipe(300, 256, lr=0.03, weight_decay=5e-3, schedule="steps", augment=True)
    return Configuration(data="cifar10", split="quarters", validation=1 / 15, recipe=recipe, device="auto")


PROFILES = {
    name: Profile(name, make())
    for name, make in {"quick": _quick, "cpu": _cpu, "class": _class, "paper": _paper}.items()
}


def load(name: str) -> Profile:
    """The profile called `name`."""
    if name not in PROFILES:
        raise ValueError(nearest("profile", name, PROFILES))
    return PROFILES[name]
