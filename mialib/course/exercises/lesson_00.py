"""The self-checks of lesson 00: an attack on labels alone, and what a newspaper may print."""

import numpy as np

from mialib.course.exercises.check import chosen, same_as

# Exercise 0.1: guess *member* where the prediction is right.
check_gap_attack = same_as(
    np.equal,
    (np.array([3, 1, 2, 2]), np.array([3, 2, 2, 0])),
    hint="Members are what the model gets right.",
)

# Exercise 0.2: sentences for a newspaper.
check_may_be_printed = chosen(
    "BD",
    A="The advantage is a difference: the share of members caught minus the share of non-members "
    "accused. The share that is caught is higher.",
    B="The interval over ten trainings says what the next training may give.",
    C="It says that one attack found little. A stronger one may find more.",
    D="The table has a row for it: TPR at 1 % FPR.",
    E="Seeds were changed, and the letters were not: nothing is known of other data.",
)
