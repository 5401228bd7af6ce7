"""Lesson 13: most of its verbs on trained butterflies come from the run."""

from claims import Claim
from mialib.estimates import Estimate
from mialib.results import Results


def memorised(butterflies: Results) -> Estimate:
    """By how much the sparsest network's accuracy on members exceeds 0.9, in its worst training."""
    sparsest = butterflies.find(segments=3, factors=3)
    by_training = sparsest.correct[:, sparsest.is_member].mean(axis=1)
    above = float(by_training.min()) - 0.9
    return Estimate(above, above, above)


CLAIMS = [
    Claim("13", "fewer parameters are still enough to memorise", "butterflies", memorised),
]
