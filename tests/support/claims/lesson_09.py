"""What lesson 09 says of PAST in fixed words."""

from __future__ import annotations

from claims import Claim, minus, over_trainings
from mialib.course.tunings import Tunings
from mialib.estimates import Estimate
from mialib.results import Results


def penalty_protects(past: Results) -> Estimate:
    tunings = Tunings(past)
    return minus(tunings.find(lam=1e-3, alpha=1.5).paired(tunings.undefended, "mean"))


def penalty_closes_the_gap(past: Results) -> Estimate:
    tunings = Tunings(past)
    weak = tunings.find(lam=3e-4, alpha=1.5)
    return minus(weak.paired(tunings.undefended, "loss_gap"))


def extra_epochs_do_not_protect(past: Results) -> Estimate:
    """Tuning with λ = 0 lowers the mean advantage by less than 0.02, if at all."""
    tunings = Tunings(past)
    return _shifted(tunings.unpunished.paired(tunings.undefended, "mean"), 0.02)


def few_epochs_close_the_gap(past: Results) -> Estimate:
    tunings = Tunings(past)
    lengths = tunings.by("epochs", lam=1e-3, alpha=1.5)
    return minus(lengths[min(lengths)].paired(tunings.undefended, "loss_gap"))


def focus_acts(past: Results) -> Estimate:
    """At equal pull: α = 1 against α = 0."""
    tunings = Tunings(past)
    focused = tunings.find(lam=2e-3, alpha=1.0)
    return minus(focused.paired(tunings.find(lam=2e-3, alpha=0.0), "mean"))


def focus_acts_on_squares(past: Results) -> Estimate:
    tunings = Tunings(past)
    focused = tunings.find(lam=1e-2, alpha=1.5, penalty="l2")
    return minus(focused.paired(tunings.find(lam=1e-2, alpha=0.0, penalty="l2"), "mean"))


def direct_is_more_accurate(past: Results) -> Estimate:
    """Of the three strengths, the least accurate."""
    tuned = Tunings(past).find(lam=1e-3, alpha=1.5)
    differences = [
        one.paired(tuned, "accuracy") for one in past.where(defense="LossGap").settings()
    ]
    return min(differences, key=lambda difference: difference.value)


def direct_leaks_less(past: Results) -> Estimate:
    tuned = Tunings(past).find(lam=1e-3, alpha=1.5)
    return minus(past.find(defense="LossGap", a=0.5).paired(tuned, "mean"))


def direct_favours_its_inference_set(past: Results) -> Estimate:
    rows = past.find(defense="LossGap", a=0.3).rows
    excess = [row.accuracy["inference"] - row.accuracy["test"] for row in rows]
    return over_trainings(excess)


def _moments(epochs: Results, lam: float) -> list[Results]:
    """PAST's epochs, or those of λ = 0."""
    return epochs.where(defense="Past", lam=lam, alpha=1.5).settings()


def accuracy_dips(epochs: Results) -> Estimate:
    moments = _moments(epochs, 1e-3)
    return minus(moments[5].paired(moments[0], "accuracy"))


def leak_climbs(epochs: Results) -> Estimate:
    moments = _moments(epochs, 1e-3)
    return moments[-1].paired(moments[5], "highest")


def restart_alone_does_no_harm(epochs: Results) -> Estimate:
    """With λ = 0 at most 0.05 of the accuracy is lost by epoch 5."""
    moments = _moments(epochs, 0.0)
    return _shifted(moments[5].paired(moments[0], "accuracy"), 0.05)


def better_in_accuracy(baskets: Results) -> Estimate:
    tunings = Tunings(baskets)
    return tunings.find(lam=1e-3, alpha=1.5).paired(tunings.undefended, "accuracy")


def better_in_privacy(baskets: Results) -> Estimate:
    tunings = Tunings(baskets)
    return minus(tunings.find(lam=1e-3, alpha=1.5).paired(tunings.undefended, "highest"))


def _shifted(estimate: Estimate, by: float) -> Estimate:
    return Estimate(estimate.value + by, estimate.low + by, estimate.high + by)


CLAIMS = [
    Claim("09", "PAST lowers the mean advantage", "past", penalty_protects),
    Claim("09", "a weak λ closes the gap, too", "past", penalty_closes_the_gap),
    Claim("09", "extra epochs alone do not protect", "past", extra_epochs_do_not_protect),
    Claim("09", "the first epochs close most of the gap", "past", few_epochs_close_the_gap),
    Claim("09", "at equal pull the focus lowers the leak", "past", focus_acts),
    Claim("09", "with γ the curve of ℓ2 runs lower", "past", focus_acts_on_squares),
    Claim("09", "every LossGap is more accurate than PAST", "past", direct_is_more_accurate),
    Claim("09", "LossGap at a = 0.5 leaks less than PAST", "past", direct_leaks_less),
    Claim("09", "LossGap gives away the inference set", "past", direct_favours_its_inference_set),
    Claim("09", "under PAST the accuracy dips", "epochs", accuracy_dips),
    Claim("09", "accuracy and leak climb together", "epochs", leak_climbs),
    Claim("09", "the restart alone does no harm", "epochs", restart_alone_does_no_harm),
    Claim("09", "PAST is better in accuracy on baskets", "baskets", better_in_accuracy),
    Claim("09", "PAST is better in privacy on baskets", "baskets", better_in_privacy),
]
