"""Attacks: functions from signals to scores; higher = member.

What must be fitted is fitted on the shadow. No attack is given the target's membership.
"""

from mialib.attacks.threshold import loss_score, threshold_attack

__all__ = ["loss_score", "threshold_attack"]
