"""Defenses: changes to training. Each is a frozen dataclass of settings with a hook or two.

    configuration.defended(L1(lam=1e-4))            # one way to write it, for every defense
    DEFENSES["RelaxLoss"](alpha=0.5)                # by name
    defense.strength, defense.with_strength(0.3)    # its one number, by whatever symbol

| module | defenses |
|---|---|
| `simple` | L1, L2, Dropout, LabelSmoothing, ConfidencePenalty, LossGap |
| `stopping` | EarlyStopping, BestCheckpoint, Stop |
| `past` | Past |
| `relaxloss`, `crl` | RelaxLoss, CRL |
| `advreg`, `mixup_mmd` | AdvReg, MixupMMD |
| `distillation` | Distillation, DMP |
| `dpsgd` | DPSGD |
| `pruning`, `butterfly` | Pruning, IMP, Butterfly |

What must last from one step to the next is the state that `prepare` returns, never the defense's
own, so one defense object serves any number of runs.
"""

from mialib.defenses.advreg import AdvReg
from mialib.defenses.butterfly import Butterfly
from mialib.defenses.crl import CRL
from mialib.defenses.distillation import DMP, Distillation
from mialib.defenses.dpsgd import DPSGD
from mialib.defenses.mixup_mmd import MixupMMD
from mialib.defenses.past import Past
from mialib.defenses.pruning import IMP, Pruning
from mialib.defenses.relaxloss import RelaxLoss
from mialib.defenses.simple import L1, L2, ConfidencePenalty, Dropout, LabelSmoothing, LossGap
from mialib.defenses.stopping import BestCheckpoint, EarlyStopping, Stop
from mialib.errors import check_choice
from mialib.training import Defense, Plain

_ALL: tuple[type[Defense], ...] = (
    Plain,
    L1,
    L2,
    Dropout,
    LabelSmoothing,
    ConfidencePenalty,
    EarlyStopping,
    LossGap,
    Past,
    RelaxLoss,
    CRL,
    AdvReg,
    MixupMMD,
    Distillation,
    DMP,
    DPSGD,
    BestCheckpoint,
    Stop,
    Pruning,
    IMP,
    Butterfly,
)
DEFENSES = {defense.__name__: defense for defense in _ALL}
BUILT_IN = dict(DEFENSES)  # what these names mean as long as nobody registers something else


def named(name: str, **settings) -> Defense:
    """The defense called `name` with these settings."""
    return DEFENSES[check_choice("defense", name, DEFENSES)](**settings)


__all__ = [
    "DEFENSES",
    "DMP",
    "DPSGD",
    "IMP",
    "L1",
    "L2",
    "CRL",
    "AdvReg",
    "BestCheckpoint",
    "Butterfly",
    "ConfidencePenalty",
    "Defense",
    "Distillation",
    "Dropout",
    "EarlyStopping",
    "LabelSmoothing",
    "LossGap",
    "MixupMMD",
    "Past",
    "Plain",
    "Pruning",
    "RelaxLoss",
    "Stop",
    "named",
]
