"""Attacks: functions from signals to scores; higher = member.

    attack(shadow, target, **settings) → scores (n,)

What must be fitted is fitted on `shadow`: signals of one shadow, a list of them, or for reference attacks a bank. No
attack is given the target's membership; `game` sees to it."""

from mialib.attacks.game import fitted, game, in_turn
from mialib.attacks.neural import augmentation_attack, discriminator_attack, neural_attack
from mialib.attacks.reference import attack_p, attack_r, lira, rmia
from mialib.attacks.threshold import METRICS, gradient_attack, loss_score, threshold_attack
