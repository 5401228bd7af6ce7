"""What an epoch of RelaxLoss, CRL and the learned defenses costs beside a plain one (ResNet-20).

The ratio is plain over the defense, so 0.87 means 1.15 times the time.
"""

from __future__ import annotations

from dataclasses import replace

from bench.timing import Row
from mialib import profiles
from mialib.course.costs import epoch_costs
from mialib.defenses import CRL, DMP, DPSGD, AdvReg, Distillation, MixupMMD, RelaxLoss

# With gap=0 Mixup+MMD has its second pass in every epoch.
DEFENSES = (RelaxLoss(), CRL(), AdvReg(), MixupMMD(gap=0.0), Distillation(), DMP(), DPSGD())
AIMS = {"CRL": 0.87}


def rows() -> list[Row]:
    dense = profiles.load("quick").experiments["resnet"]
    recipe = replace(dense.recipe, batch_size=128, lr=0.05)
    images = dense.but(size=3072, options={"width": 16}, recipe=recipe, validation=0.0)
    costs = epoch_costs(images, DEFENSES, rounds=3)
    plain, _ = costs.pop("Plain")
    return [
        Row(f"an epoch of {name}, resnet20, 512 letters", seconds, plain, AIMS.get(name))
        for name, (seconds, _) in costs.items()
    ]
