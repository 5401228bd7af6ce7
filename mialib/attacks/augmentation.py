"""Label-only attacks: a model is right on more copies of a record that it has memorised.

The attacker sees predicted labels alone. A record's features are bits: is the label still predicted when the image is
turned, or shifted? `observe.watch` collects them. Introduced in notebook 04.

- `form="original"` (Choquette-Choo and others): one network of two layers of 10 for each class, batch 1, one epoch, the
  rate chosen on the shadow. Their activation is a leaky ReLU, ours a plain one.
- `form="past"` (PAST's code): one network of 64 and 32 for all classes, five epochs.
"""

from collections.abc import Sequence

import numpy as np

from mialib.attacks.neural import log_odds, perceptron
from mialib.attacks.threshold import fitted_on
from mialib.errors import known, refuse
from mialib.signals import Shadows, Signals


def augmentation_attack(
    shadow: Shadows,
    target: Signals,
    *,
    views: str = "rotations",
    columns: Sequence[int] | slice = slice(None),
    form: str = "original",
    seed: int = 0,
) -> np.ndarray:
    """Log-odds of membership from the bits in `views`, "rotations" or "shifts": (n,). `columns` picks some of them."""
    known("augmentation attack", form, ("original", "past"))
    shadow = fitted_on(shadow, target)
    bits = [signals.column(views) for signals in (shadow, target)]
    alike = bits[0].ndim == 2 and bits[0].shape[1:] == bits[1].shape[1:]
    found = f"found {bits[0].shape} and {bits[1].shape}"
    refuse(not alike, f"Shadow and target must be asked about the same copies, (n, copies) each; {found}.")
    ours, theirs = (one[:, columns].astype(np.float64) for one in bits)
    common = perceptron(ours, shadow.is_member, hidden=(64, 32), rate=1e-3, epochs=5, batch=128, seed=seed)
    scores = log_odds(common, theirs, shadow.is_member)
    if form == "original":
        for label in np.unique(target.labels):
            own, asked = shadow.labels == label, target.labels == label
            # A class of which the shadow has too little takes the network of all classes.
            if min(np.bincount(shadow.is_member[own], minlength=2)) >= 2:
                known_bits, held = ours[own], shadow.is_member[own]
                settings = {"hidden": (10, 10), "epochs": 1, "batch": 1, "seed": seed}
                networks = [perceptron(known_bits, held, rate=rate, **settings) for rate in (1e-3, 5e-3, 1e-2, 5e-2)]
                best = max(networks, key=lambda network: network.score(known_bits, held))  # as in the original code
                scores[asked] = log_odds(best, theirs[asked], held)
    return scores
