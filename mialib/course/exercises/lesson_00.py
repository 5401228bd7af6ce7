"""The self-check of lesson 00: the first attack, which asks only whether a prediction is right."""

import numpy as np

from mialib.course.exercises.check import same_as

# Exercise 0.1: guess *member* where the prediction is right.
check_gap_attack = same_as(
    np.equal,
    (np.array([3, 1, 2, 2]), np.array([3, 2, 2, 0])),
    hint="Members are what the model gets right.",
)
