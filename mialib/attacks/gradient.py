"""White-box attack by the input gradient (Grad-x): what a model has fitted well it no longer wants to change.

`observe.watch(run, gradient=True)` collects the norms; this is a threshold on them.

Introduced in notebook 04.
"""

from collections.abc import Sequence

import numpy as np

from mialib.attacks.threshold import threshold_attack
from mialib.signals import Signals


def gradient_attack(
    shadow: Signals | Sequence[Signals], target: Signals, *, norm: str = "l2", per_class: bool = False
) -> np.ndarray:
    """Minus the ℓ1 or ℓ2 norm of the input gradient, shifted so that 0 is the threshold of the shadow: (n,)."""
    return threshold_attack(shadow, target, score=lambda s: -s.column(f"gradient_{norm}"), per_class=per_class)
