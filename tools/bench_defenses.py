"""What an epoch of each defense costs beside a plain one: RelaxLoss, CRL and the learned defenses on ResNet-20."""

from __future__ import annotations

from mialib import profiles
from mialib.course.costs import epoch_costs
from mialib.defenses import CRL, DMP, DPSGD, AdvReg, Distillation, MixupMMD, RelaxLoss

# MixupMMD's second pass in every epoch.
DEFENSES = (RelaxLoss(), CRL(), AdvReg(), MixupMMD(gap=0.0), Distillation(), DMP(), DPSGD())
AIMS = {"CRL": 0.87}  # a step of at most 1.15 times a plain one


def rows() -> list[tuple]:
    """(what, ours, theirs, ratio, aim): the ratio is plain over ours, so 0.87 means 1.15 times the time."""
    images = profiles.load("quick").experiments["images long"].but(size=3072, options={"width": 16})
    found = epoch_costs(images, DEFENSES, rounds=3)
    plain, _ = found.pop("Plain")
    return [
        (
            f"an epoch of {name}, resnet20, 512 letters",
            seconds,
            plain,
            plain / seconds,
            AIMS.get(name, ""),
        )
        for name, (seconds, _) in found.items()
    ]


if __name__ == "__main__":
    for row in rows():
        print("{:<72}{:>9.4f}s{:>9.4f}s{:>8.2f}{:>7}".format(*row))
