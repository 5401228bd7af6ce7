"""What lessons 00 to 04 say in fixed words: of the ten trainings, and of one on photographs."""

from __future__ import annotations

import numpy as np

from claims import Claim, over_trainings
from mialib.estimates import Estimate
from mialib.results import Results

FAR = 0.2  # "far less often", and far from alike
NEARLY_ALL = 0.9
HARDLY_ANY = 0.03  # of the members, at 1 % false alarms
CLOSE = 0.05  # what "adds little" and "near the mean" allow


def plain(base: Results) -> Results:
    return base.find(defense="Plain")


def smoothed(base: Results) -> Results:
    return base.find(defense="LabelSmoothing")


def less(limit: float, estimate: Estimate) -> Estimate:
    """How far a number lies below a limit."""
    return Estimate(limit - estimate.value, limit - estimate.high, limit - estimate.low)


def knows_members_by_heart(base: Results) -> Estimate:
    parts = [row.accuracy for row in plain(base).rows]
    return over_trainings([one["train"] - one["test"] - FAR for one in parts])


def members_have_lower_losses(base: Results) -> Estimate:
    one = plain(base)
    losses = one.losses.astype(float)
    outside = np.median(losses[:, ~one.is_member], axis=1)
    return over_trainings(outside - np.median(losses[:, one.is_member], axis=1))


def high_losses_are_non_members(base: Results) -> Estimate:
    one = plain(base)
    shares = [1 - one.is_member[losses > 0.1].mean() for losses in one.losses]
    return over_trainings([share - NEARLY_ALL for share in shares])


def trainings_are_near_each_other(base: Results) -> Estimate:
    """How much less than CLOSE a training lies from the mean of all."""
    advantages = plain(base).by_seed("advantage", "loss")
    return over_trainings(CLOSE - np.abs(advantages - advantages.mean()))


def strict_thresholds_find_hardly_any(base: Results) -> Estimate:
    return less(HARDLY_ANY, plain(base).tpr("loss", fpr=0.01))


def gap_and_advantage_part(by_epoch: Results) -> Estimate:
    """In the second half of training the gap falls, and the advantage by less than 0.02."""
    training = by_epoch.where(defense="Plain").settings()
    half, end = training[len(training) // 2], training[-1]
    fall = half.by_seed("loss_gap") - end.by_seed("loss_gap")
    rise = end.by_seed("advantage", "loss") - half.by_seed("advantage", "loss")
    return over_trainings(np.minimum(fall, rise + 0.02))


def smoothing_leaves_a_leak(base: Results) -> Estimate:
    found = smoothed(base).advantage("loss")
    return Estimate(found.value - FAR, found.low - FAR, found.high - FAR)


def surest_are_non_members(base: Results) -> Estimate:
    """Of the smoothed model's lowest losses, fewer are members' than chance would have it."""
    return less(0.01, smoothed(base).tpr("loss", fpr=0.01))


def networks_find_more_in_the_corner(base: Results) -> Estimate:
    return smoothed(base).between("neural (PAST)", "loss", "tpr", fpr=0.01)


def noise_adds_little(what: str):
    """To CRL's network, which reads output and label alone."""

    def difference(base: Results) -> Estimate:
        return less(CLOSE, plain(base).between("discriminator", "neural (CRL)", what))

    return difference


def outputs_tell_more_than_one_bit(base: Results) -> Estimate:
    return plain(base).between("loss", "correctness")


def labels_find_nothing_in_the_corner(attack: str):
    """Less than hardly any; a coin would have 0.01."""

    def difference(base: Results) -> Estimate:
        return less(HARDLY_ANY, plain(base).tpr(attack, fpr=0.01))

    return difference


def hiding_outputs_does_more(base: Results) -> Estimate:
    """What the outputs add to the label, minus what the weights add to the outputs, in AUC."""
    by_attack = {
        name: plain(base).by_seed("auc", name) for name in ("correctness", "loss", "gradient ℓ2")
    }
    of_outputs = by_attack["loss"] - by_attack["correctness"]
    return over_trainings(of_outputs - (by_attack["gradient ℓ2"] - by_attack["loss"]))


CLAIMS = [
    Claim("00", "the target knows its own records by heart", "base", knows_members_by_heart),
    Claim("00", "members have low loss, others a higher one", "base", members_have_lower_losses),
    Claim(
        "00", "nearly every loss above 0.1 is a non-member's", "base", high_losses_are_non_members
    ),
    Claim(
        "00", "trained again, the advantage is near the mean", "base", trainings_are_near_each_other
    ),
    Claim("00", "at 1 % few members are found", "base", strict_thresholds_find_hardly_any),
    Claim("01", "being strict does not help", "base", strict_thresholds_find_hardly_any),
    Claim("01", "late on photographs they part", "epochs", gap_and_advantage_part, "cpu"),
    Claim("02", "smoothing did not make members alike", "base", smoothing_leaves_a_leak),
    Claim("02", "the surest answers go to non-members", "base", surest_are_non_members),
    Claim("03", "on smoothed letters networks find more", "base", networks_find_more_in_the_corner),
    *(
        Claim("03", f"noise adds little by {what}", "base", noise_adds_little(what))
        for what in ("advantage", "auc")
    ),
    Claim("04", "the outputs bring more than one bit", "base", outputs_tell_more_than_one_bit),
    *(
        Claim(
            "04",
            f"in the corner {name} has nothing",
            "base",
            labels_find_nothing_in_the_corner(name),
        )
        for name in ("correctness", "rotation (PAST)", "translation (PAST)")
    ),
    Claim("04", "hiding outputs does more than hiding weights", "base", hiding_outputs_does_more),
]
