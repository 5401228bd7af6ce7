"""CRL's Fig. 2 and 3, which the paper draws by hand: where its scenarios pull, and its phases.

Fig. 2 is drawn from networks with two features, trained here on 300 digits: their pulls are
measured. Fig. 3 is drawn from the histories of trainings: how often each loss was relaxed.
"""

from __future__ import annotations

import torch

from mialib import data
from mialib.course import figures
from mialib.course.gathering import GATHERING, Gathered, gathered
from mialib.course.plots.picture import Picture
from mialib.defenses import CRL
from mialib.reproductions.comparing import SHARE, over_trainings
from mialib.reproductions.crl.common import ACTIVE, DEFAULT, PLANS, components, usual
from mialib.reproductions.items import Evidence, Item, Line, Made
from mialib.results import Results

SEEDS = 3
# Which loss pulls in each scenario: α_rcl below every center loss or above it, and the epoch.
SCENARIOS = {
    "(a) L_ct > α_rcl": (0.0, 1),
    "(b) L_ct < α_rcl, even": (9.0, 2),
    "(c) L_ct < α_rcl, odd": (9.0, 1),
}


def fig_2(evidence: Evidence) -> Made:
    """Where each scenario pulls the records of three classes."""
    digits = data.load("digits", size=300)
    drawn = [_scenarios(gathered(digits, seed=seed)) for seed in range(SEEDS)]
    lines = []
    for scenario in SCENARIOS:
        shares = [picture.numbers[f"nearer to its center, {scenario}"] for picture in drawn]
        what = f"share of the records that scenario {scenario} brings nearer to their center"
        lines.append(Line("crl-fig-2", what, None, over_trainings(shares, limits=SHARE)))
    return Made({"crl-fig-2": drawn[0]}, tuple(lines))


def _scenarios(batch: Gathered) -> Picture:
    pulls = {}
    for scenario, (alpha, epoch) in SCENARIOS.items():
        # Features and centers are normalised already.
        defense = CRL(alpha_rcl=alpha, tau_rcl=0.0)
        places = batch.places.clone().requires_grad_()
        others = (batch.logits, batch.labels, batch.centers)
        loss = defense.relaxed_center_loss(places, *others, epoch=epoch).relaxed
        (gradient,) = torch.autograd.grad(loss * len(places), places)
        pulls[scenario] = -gradient.numpy()
    return figures.scenarios(
        batch.places.numpy(),
        batch.labels.numpy(),
        batch.centers.numpy(),
        pulls,
        radius=(2 * GATHERING.alpha_rcl) ** 0.5,
    )


def fig_3(evidence: Evidence) -> Made:
    """Both losses by epoch, with inert and with active centers."""
    arms = components(evidence)
    inert = usual(arms[DEFAULT])
    active = usual(arms[ACTIVE])
    panels = {
        f"L_lce, {DEFAULT}": figures.Phase.of(inert, "rce"),
        f"L_ct, {DEFAULT}": figures.Phase.of(inert, "rcl"),
        f"L_lce, {ACTIVE}": figures.Phase.of(active, "rce"),
        f"L_ct, {ACTIVE}": figures.Phase.of(active, "rcl"),
    }
    lines = []
    for name, one in ((ACTIVE, active), (DEFAULT, inert)):
        for part, loss in (("rcl", "center loss"), ("rce", "cross-entropy")):
            what = f"{name}: share of batches whose {loss} is below its α at the end"
            shares = [phase.relaxed() for phase in _phases(one, part)]
            lines.append(Line("crl-fig-3", what, None, over_trainings(shares, limits=SHARE)))
    for name, one in ((ACTIVE, active), (DEFAULT, inert)):
        what = f"{name}: center loss of the last epoch, that of the first being 1"
        fallen = [phase.loss[-1] / phase.loss[0] for phase in _phases(one, "rcl")]
        lines.append(Line("crl-fig-3", what, None, over_trainings(fallen)))
    return Made({"crl-fig-3": figures.phases(panels)}, tuple(lines))


def _phases(trainings: Results, part: str) -> list[figures.Phase]:
    """Of each training by itself."""
    return [figures.Phase.of(one, part) for one in by_training(trainings)]


def by_training(trainings: Results) -> list[Results]:
    return [trainings.seeds([row.seed]) for row in trainings.rows]


ITEMS = (
    Item(
        name="crl-fig-2",
        paper="CRL",
        shows="Where the three scenarios of the relaxed center loss pull",
        data="",
        plans={},
        make=fig_2,
    ),
    Item(
        name="crl-fig-3",
        paper="CRL",
        shows="The phases of CRL's training: each loss by epoch, and how often it is relaxed",
        data="cifar10",  # The paper's is a drawing.
        plans=PLANS,
        make=fig_3,
    ),
)
