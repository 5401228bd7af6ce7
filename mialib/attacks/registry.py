"""Every attack by its one name, and those that the inputs at hand allow.

    ATTACKS["RMIA"]                          # RMIA() with the paper's settings
    at_hand = suite(target, shadow=shadow)
    at_hand.attacks                          # name → attack
    at_hand.lacking                          # name → what it lacks, in a sentence
    at_hand.only(SHADOW_SUITE).scores(target, shadow=shadow)

After `ATTACKS["mine"] = MyAttack()`, `suite` knows an attack of one's own, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from mialib.attacks.augmentation import Augmentation
from mialib.attacks.base import ATTACKS, Attack, FittedAttack, Need, check_target, pooled_shadow
from mialib.attacks.discriminator import Discriminator
from mialib.attacks.lira import LiRA
from mialib.attacks.neural import NeuralCrl, NeuralPast
from mialib.attacks.percentile import AttackP, AttackR
from mialib.attacks.quantile import QMIA
from mialib.attacks.reference import ReferenceAttack
from mialib.attacks.rmia import RMIA
from mialib.attacks.threshold import BoundaryDistance, GradientNorm, MetricThreshold
from mialib.attacks.trajectory import LossTrajectory
from mialib.bank import Bank
from mialib.errors import check_choice
from mialib.signals import Shadows, Signals

ATTACKS.update(
    {
        "correctness": MetricThreshold("correctness"),
        "loss": MetricThreshold("loss"),
        "max confidence": MetricThreshold("max confidence"),
        "entropy": MetricThreshold("entropy"),
        "modified entropy": MetricThreshold("modified entropy"),
        "loss per class": MetricThreshold("loss", per_class=True),
        "neural (PAST)": NeuralPast(),
        "neural (CRL)": NeuralCrl(),
        "discriminator": Discriminator(),
        "rotation (PAST)": Augmentation("rotations", form="past"),
        "translation (PAST)": Augmentation("shifts", form="past"),
        "rotation": Augmentation("rotations"),
        "translation": Augmentation("shifts"),
        "boundary": BoundaryDistance(),
        "gradient ℓ1": GradientNorm("l1"),
        "gradient ℓ2": GradientNorm("l2"),
        "trajectory": LossTrajectory(),
        "LiRA": LiRA(),
        "LiRA offline": LiRA(online=False),
        "RMIA": RMIA(),
        "Attack R": AttackR(),
        "Attack P": AttackP(),
        "QMIA": QMIA(),
    }
)

# The attacks over which a highest advantage is to be taken: those that one shadow allows with every
# query asked. The shipped tables are older, and hold the part of it that each one names
# (`Sweep.attacks`). The label-only attacks are here in PAST's form; their original form is a second
# network on the same bits.
SHADOW_SUITE = (
    "correctness",
    "loss",
    "max confidence",
    "entropy",
    "modified entropy",
    "loss per class",
    "neural (PAST)",
    "neural (CRL)",
    "discriminator",
    "rotation (PAST)",
    "translation (PAST)",
    "gradient ℓ1",
    "gradient ℓ2",
)

# What each of these needs is called among the columns of signals, and how to ask for it.
COLUMNS = {
    Need.NOISE: ("noise",),
    Need.ROTATIONS: ("rotations",),
    Need.SHIFTS: ("shifts",),
    Need.BOUNDARY: ("boundary",),
    Need.GRADIENTS: ("gradient_l1", "gradient_l2"),
    Need.TRAJECTORY: ("trajectory",),
}
REMEDIES = {
    Need.NOISE: "ask both models with query.ask(…, noise=True)",
    Need.ROTATIONS: "ask both models with query.ask(…, rotations=…)",
    Need.SHIFTS: "ask both models with query.ask(…, shifts=…)",
    Need.BOUNDARY: "ask both models with query.ask(…, boundary=True)",
    Need.GRADIENTS: "ask both models with query.ask(…, gradient=True)",
    Need.TRAJECTORY: "ask both models with query.ask(…, checkpoints=…)",
    Need.SHADOW: "train one and give suite(target, shadow=…)",
    Need.REFERENCES: "train some and give suite(target, references=…)",
    Need.IN_REFERENCES: "train some and give suite(target, references=…)",
    Need.POPULATION: "ask the target about known non-members and give Signals(…, population=…)",
    Need.INPUTS: "ask the target about both, records and population, with inputs=True",
}


@dataclass(frozen=True, eq=False)
class Suite:
    """`attacks`: those that can be played, by name; `lacking`: a sentence on each that cannot."""

    attacks: dict[str, Attack]
    lacking: dict[str, str]

    def only(self, names: Iterable[str]) -> Suite:
        """The part of the suite with these names, in the suite's order."""
        wanted = self._checked(names)
        return Suite(
            {name: attack for name, attack in self.attacks.items() if name in wanted},
            {name: sentence for name, sentence in self.lacking.items() if name in wanted},
        )

    def without(self, names: Iterable[str]) -> Suite:
        """The suite but for these names."""
        unwanted = self._checked(names)
        return self.only(name for name in self._names() if name not in unwanted)

    def fit(
        self, *, shadow: Shadows | None = None, references: Bank | None = None
    ) -> dict[str, FittedAttack]:
        """Every attack of the suite, fitted on what it is fitted on."""
        fitted = {}
        for name, attack in self.attacks.items():
            if references is not None and isinstance(attack, ReferenceAttack):
                fitted[name] = attack.fit(references)
            else:
                fitted[name] = attack.fit(shadow)  # pyright: ignore[reportArgumentType]
        return fitted

    def scores(
        self, target: Signals, *, shadow: Shadows | None = None, references: Bank | None = None
    ) -> dict[str, np.ndarray]:
        """Every attack's scores of the target's records, higher = member: (n,) each."""
        fitted = self.fit(shadow=shadow, references=references)
        return {name: attack.score(target) for name, attack in fitted.items()}

    def calls(
        self, target: Signals, *, shadow: Shadows | None = None, references: Bank | None = None
    ) -> dict[str, np.ndarray]:
        """Whom every attack calls a member, at its own threshold: (n,) bool each."""
        fitted = self.fit(shadow=shadow, references=references)
        return {name: attack.calls(target) for name, attack in fitted.items()}

    def _checked(self, names: Iterable[str]) -> set[str]:
        is_scalar = getattr(names, "shape", None) == ()
        if isinstance(names, str) or is_scalar or not isinstance(names, Iterable):
            raise ValueError(f"Expected a list of attacks' names, found {names!r}.")
        return {check_choice("attack", name, self._names()) for name in list(names)}

    def _names(self) -> list[str]:
        return [*self.attacks, *self.lacking]


def suite(
    target: Signals, *, shadow: Shadows | None = None, references: Bank | None = None
) -> Suite:
    """The attacks of `ATTACKS` that these inputs allow, and what each of the others lacks."""
    check_target(target)
    at_hand = needs_at_hand(target, shadow, references)
    attacks = {}
    lacking = {}
    for name, attack in ATTACKS.items():
        sentence = lack_of(attack, at_hand)
        if not sentence and isinstance(attack, ReferenceAttack) and references is not None:
            sentence = refusal(attack, references, target)
        if sentence:
            lacking[name] = sentence
        else:
            attacks[name] = attack
    return Suite(attacks, lacking)


def needs_at_hand(
    target: Signals, shadow: Shadows | None, references: Bank | None
) -> frozenset[Need]:
    """What can be had of this target, this shadow and these references."""
    at_hand = {Need.OUTPUTS, Need.PREDICTED_LABELS}
    columns = set(target.extra)
    if shadow is not None:
        pooled = pooled_shadow(shadow)
        check_target(target, classes=pooled.logits.shape[1])
        at_hand.add(Need.SHADOW)
        columns &= set(pooled.extra)
    at_hand |= {need for need, asked in COLUMNS.items() if columns.issuperset(asked)}
    if target.population is not None:
        at_hand.add(Need.POPULATION)
        if "inputs" in target.extra and "inputs" in target.population.extra:
            at_hand.add(Need.INPUTS)
    if references is not None:
        if not isinstance(references, Bank):
            raise ValueError(f"References are a Bank, found {type(references).__name__}.")
        at_hand |= {Need.REFERENCES, Need.IN_REFERENCES}
    return frozenset(at_hand)


def lack_of(
    attack: Attack, at_hand: frozenset[Need], *, remedies_of: Mapping[Need, str] = REMEDIES
) -> str:
    """What the attack lacks, in a sentence; nothing where it lacks nothing."""
    missing = [need for need in Need if need in attack.needs - at_hand]
    if not missing:
        return ""
    if Need.IN_REFERENCES in missing and Need.REFERENCES in missing:
        missing.remove(Need.REFERENCES)  # The other one says it.
    remedies = dict.fromkeys(remedies_of[need] for need in missing)
    return f"It lacks {' and '.join(missing)}: {'; '.join(remedies)}."


def refusal(attack: ReferenceAttack, references: Bank, target: Signals) -> str:
    """Why the attack refuses these references, in a sentence; nothing where it takes them."""
    try:
        attack.fit(references).score(target)
    except ValueError as error:
        return str(error)
    return ""
