"""Self-checks of lesson 10: how low a normalised loss gets, and how a soft label that is not detached sharpens."""

import numpy as np

from mialib.course.exercises.check import _same_as

check_lowest_loss = _same_as(
    lambda classes, tau: np.log1p((classes - 1) * np.exp(-np.sqrt(classes / (classes - 1)) / tau)),
    (10, 1.0), (10, 0.2), (100, 0.05), (2, 0.5),
    hint="The others may be negative: which logits of length 1/τ give the label the longest lead?",
)  # fmt: skip
check_sharpening = _same_as(
    lambda p, classes: p * (1 - p) * np.log((classes - 1) * p / (1 - p)),
    (np.array([0.05, 0.1, 0.6, 0.95]), 10), (np.array([0.3, 0.5, 0.7]), 2),
    hint="The pull is minus the derivative, and by the logit, not by p: it is 0 at p = 1/C and above 0 beyond.",
)  # fmt: skip
