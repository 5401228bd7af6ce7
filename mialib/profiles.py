"""The settings of every experiment at each profile. A profile is only numbers.

>>> load("quick").images.recipe.epochs
14
"""

from dataclasses import dataclass, replace

from mialib.configurations import Configuration
from mialib.defenses import BestCheckpoint, Past
from mialib.defenses.pruning import imp
from mialib.errors import known
from mialib.training import Recipe


@dataclass(frozen=True)
class Profile:
    """Named experiments, each the configuration of its target; the shadow is `.but(side="shadow")`."""

    name: str
    images: Configuration  # the course's image classifier
    baskets: Configuration  # the course's classifier of shopping baskets
    experiments: dict[str, Configuration]  # these two, and more


_LETTERS = Configuration(options={"width": 8}, recipe=Recipe(14, 40, lr=0.03, weight_decay=1e-3), trace=3)
_HALF_IN = {"split": "in_out", "split_options": {"models": 64}, "side": "model-0"}
QUICK = {
    "images": _LETTERS,
    "bank": _LETTERS.but(size=2400, data_seed=1, trace=0, **_HALF_IN),  # its 64 models ship as signals
    "baskets": (_SHOPPERS := Configuration(data="shoppers", model="mlp", recipe=Recipe(epochs=40, lr=0.05))),
    # Relaxing needs epochs; larger batches make them cheap.
    "images long": Configuration(size=6000, options={"width": 8}, recipe=Recipe(epochs=30, lr=0.05)),
    # Pruning takes the best epoch by validation records; with more epochs than "images" all late ones are good.
    "images dense": (_DENSE := _LETTERS.but(recipe=replace(_LETTERS.recipe, epochs=20), validation=0.1, trace=0)),
    "images pruned": imp(_DENSE, 8, share=0.36)[-1],  # Two of the paper's rounds in one.
    "images butterfly": _DENSE.but(defense=BestCheckpoint(), options={"width": 8, "segments": 3, "factors": 2}),
    "images tuned": _LETTERS.then(Past(2e-3, 1.5), Recipe(20, lr=0.1, weight_decay=1e-3)),
    "baskets tuned": _SHOPPERS.then(Past(1e-3, 1.5), Recipe(20, lr=0.01)),
}

# Real data on a patient laptop: six parts of 3,000 CIFAR-10 images, no augmentation.
CPU = {
    "images": Configuration(data="cifar10", size=18_000, recipe=Recipe(epochs=50), trace=10),
    "baskets": Configuration(data="purchase100", size=24_000, model="mlp", recipe=Recipe(epochs=60, lr=0.05)),
}
CPU["images pruned"] = imp(CPU["images"], 3, share=0.45, best=False)[-1]  # The last epoch: all have the same members.
CPU["images butterfly"] = CPU["images"].but(options={"segments": 2, "factors": 2})
CPU["images butterfly 3"] = CPU["images"].but(options={"segments": 2, "factors": 3})
CPU["images tuned"] = CPU["images"].then(Past(1e-3, 1.5, per="epoch", sample=256), Recipe(50, lr=0.05), trace=5)
CPU["baskets tuned"] = CPU["baskets"].then(Past(1e-3, 1.5), Recipe(20, lr=0.01))

# A free GPU and a lesson's patience.
CLASS = {
    "images": CPU["images"].but(size=30_000, model="resnet18", recipe=Recipe(epochs=30), trace=5, device="auto"),
    "baskets": CPU["baskets"].but(size=60_000, device="auto"),
}
CLASS["images tuned"] = CLASS["images"].then(Past(1e-3, 1.5), Recipe(epochs=20, lr=0.05))
CLASS["baskets tuned"] = CLASS["baskets"].then(Past(1e-3, 1.5), Recipe(20, lr=0.01))

# PAST: SGD 0.01 with a cosine over 100 epochs, batch 128; crops and flips in training (its code augments everywhere).
_TABLES = Configuration(model="mlp", recipe=Recipe(epochs=100, lr=0.01), device="auto")
_PHOTOS = _TABLES.but(recipe=Recipe(epochs=100, lr=0.01, augment=True))
_FLIPPED = _TABLES.but(recipe=Recipe(epochs=100, lr=0.01, augment="flip"), size=60_000)
_PRETRAINED = {"model": "densenet121", "options": {"pretrained": True}}
PAST = {
    "past cifar10": _PHOTOS.but(data="cifar10_past", model="resnet18", options={"stem": "imagenet"}),
    "past cifar100": _PHOTOS.but(data="cifar100_past", **_PRETRAINED),
    "past imagenet": _FLIPPED.but(data="imagenet", **_PRETRAINED),
    "past purchase100": _TABLES.but(data="purchase100"),
    "past texas100": _TABLES.but(data="texas100"),
}
# Tuning starts a new optimizer and cosine; λ by dataset, and α = 2.5 as in Table 1; BatchNorm as in the code.
for _name, _strength, _epochs in (
    ("cifar10", 1e-3, 50),
    ("cifar100", 1e-4, 20),
    ("imagenet", 1e-5, 20),
    ("purchase100", 1e-5, 20),
    ("texas100", 1e-5, 20),
):
    _start = PAST[f"past {_name}"]
    _defense = Past(_strength, 2.5, mixed_statistics=True)
    PAST[f"past {_name} tuned"] = _start.then(_defense, replace(_start.recipe, epochs=_epochs))


def _crl(data: str, model: str, epochs: int, lr: float, *changes: tuple[int, float], **more) -> dict:
    """One experiment: learning rates by epoch as in the authors' settings, k = 5 shadows on re-shuffled halves."""
    milestones, factors = zip(*((at / epochs, rate / lr) for at, rate in changes), strict=True)
    more = {"batch_size": 256, "schedule": "steps", "milestones": milestones, "factors": factors} | more
    halves = Configuration(split="halves", split_options={"shadows": 5}, device="auto")
    return {f"crl {data} {model}": halves.but(data=data, model=model, recipe=Recipe(epochs, lr=lr, **more))}


CRL = {
    **_crl("cifar10", "vgg11", 120, 0.05, (50, 0.01), (80, 0.005), (100, 0.001)),
    **_crl("cifar10", "resnet18", 100, 0.01, (50, 1e-3), (80, 1e-4)),
    **_crl("cifar10", "densenet3", 50, 0.1, (20, 0.01), (40, 1e-3), batch_size=32),
    **_crl("cifar100", "googlenet", 80, 0.1, (40, 0.01), (60, 1e-3), augment=True),
    **_crl("cifar100", "resnet18", 100, 0.1, (0, 0.01), (1, 0.1), (50, 0.01), (80, 1e-3), augment=True),
    **_crl("cifar100", "densenet3", 100, 0.1, (40, 0.01), (70, 1e-3), (90, 1e-4), batch_size=32, augment=True),
    **_crl("svhn", "vgg11", 40, 0.1, (10, 0.01), (30, 1e-3)),
    **_crl("svhn", "resnet18", 40, 0.1, (10, 0.01), (30, 1e-3)),
}

# The sparsity paper's Table 1: 14,000 members, 1,000 validation records a side; each round of pruning trains as the
# dense network does. Butterflies in the last S segments with L factors have a rate and weight decay of their own.
_STEPS = Recipe(300, 256, lr=0.03, weight_decay=5e-3, schedule="steps", augment=True)
_QUARTERS = Configuration(data="cifar10", split="quarters", validation=1 / 15, recipe=_STEPS, device="auto")
_BEST, *_, _PRUNED = imp(_QUARTERS, 24)
SPARSITY = {"sparsity dense": _BEST, "sparsity imp": _PRUNED}
for _segments, _factors, _lr, _decay in (
    (1, 2, 0.3, 5e-4),
    (1, 3, 0.3, 1e-4),
    (2, 2, 0.3, 5e-4),
    (2, 3, 0.1, 1e-3),
    (3, 2, 0.3, 5e-4),
    (3, 3, 0.1, 1e-3),
):
    _sparse = {"segments": _segments, "factors": _factors}
    _recipe = replace(_STEPS, lr=_lr, weight_decay=_decay)
    SPARSITY[f"sparsity butterfly S={_segments} L={_factors}"] = _BEST.but(options=_sparse, recipe=_recipe)

# PAST's own set-up for the lessons, and every experiment of the papers by name.
PAPER = {"images": PAST["past cifar10"], "baskets": PAST["past purchase100"], **PAST, **CRL, **SPARSITY}

PROFILES = {
    name: Profile(name, experiments["images"], experiments["baskets"], experiments)
    for name, experiments in {"quick": QUICK, "cpu": CPU, "class": CLASS, "paper": PAPER}.items()
}


def load(name: str) -> Profile:
    """The profile called `name`."""
    return PROFILES[known("profile", name, PROFILES)]
