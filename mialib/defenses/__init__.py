"""Defenses: changes to training. Each is a frozen dataclass of settings that changes a hook or two of `Plain`.

What must last from one step to the next lives on the `Training` that every hook is given, never on the defense,
so one defense object serves any number of runs."""

from mialib.defenses.advreg import AdvReg
from mialib.defenses.crl import CRL
from mialib.defenses.distillation import DMP, Distillation
from mialib.defenses.dpsgd import DPSGD
from mialib.defenses.mixup_mmd import MixupMMD
from mialib.defenses.past import Past
from mialib.defenses.pruning import Pruning
from mialib.defenses.relaxloss import RelaxLoss
from mialib.defenses.simple import L1, L2, ConfidencePenalty, Dropout, LabelSmoothing, LossGap
from mialib.defenses.stopping import BestCheckpoint, EarlyStopping, Stop
from mialib.errors import check_choice
from mialib.training import Plain

_ALL = (Plain, L1, L2, Dropout, LabelSmoothing, ConfidencePenalty, EarlyStopping, LossGap, Past)
_ALL += (RelaxLoss, CRL, AdvReg, MixupMMD, Distillation, DMP, DPSGD, BestCheckpoint, Stop, Pruning)
DEFENSES = {defense.__name__: defense for defense in _ALL}


def named(name: str, **settings) -> Plain:
    """The defense called `name` with these settings."""
    return DEFENSES[check_choice("defense", name, DEFENSES)](**settings)


__all__ = ["DEFENSES", "named", *DEFENSES]
