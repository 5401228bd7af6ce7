"""One attack of one toolkit on the arrays of a file, timed in this process: `peers` starts it.

    ENVIRONMENT/bin/python tools/bench/peer_process.py PEER ATTACK arrays.npz scores.npy ROUNDS

It runs in the toolkit's environment, without mialib, but for the peer `mialib`. What a toolkit
wants its arrays to be (tables, lists) is made before the clock starts; its own call is timed, the
best of several, and for PrivacyGuard's LiRA the means and deviations that it asks for. The memory
is what the call adds at its peak.
"""

from __future__ import annotations

import contextlib
import json
import logging
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

Arrays = dict[str, np.ndarray]
Work = Callable[[], np.ndarray]
FEW = 200  # records on which a toolkit warms up
ENOUGH = 1.0  # seconds, after which no further round begins


def expit(phi: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-phi))


# mialib


def mialib_lira(a: Arrays) -> Work:
    from mialib.attacks import lira_scores

    return lambda: lira_scores(a["phi"], a["phi_references"], a["is_in"])


def mialib_rmia(a: Arrays) -> Work:
    from mialib.attacks import likelihood_ratios, rmia_scores

    def work() -> np.ndarray:
        ratio = likelihood_ratios(a["phi"], a["phi_references"], a["is_in"], online=True)
        population = likelihood_ratios(a["z_phi"], a["z_phi_references"], offline_a=1.0)
        return rmia_scores(ratio, population)

    return work


def mialib_loss(a: Arrays) -> Work:
    """The scores, their ROC and its area, as TensorFlow's call gives them."""
    from mialib import metrics
    from mialib.attacks import METRICS
    from mialib.signals import Signals

    def work() -> np.ndarray:
        scores = METRICS["loss"](Signals(a["logits"], a["labels"]))
        curve = metrics.roc(scores, a["is_member"])
        metrics.area(curve.fpr, curve.tpr)
        return scores

    return work


def mialib_correctness(a: Arrays) -> Work:
    from mialib.attacks import METRICS
    from mialib.signals import Signals

    return lambda: METRICS["correctness"](Signals(a["logits"], a["labels"]))


# The others


def privacyguard_lira(a: Arrays) -> Work:
    """The toolkit takes means and deviations of each record: they are computed in the call."""
    import pandas as pd
    from privacy_guard.analysis.mia.aggregate_analysis_input import AggregationType
    from privacy_guard.attacks.lira_attack import LiraAttack

    held = a["is_member"]
    is_in = a["is_in"]
    records = pd.DataFrame({"user_id": range(len(held)), "score_orig": a["phi"]})
    sides = {True: records[held].copy(), False: records[~held].copy()}

    def work() -> np.ndarray:
        for where, mask in (("in", is_in), ("out", ~is_in)):
            chosen = np.where(mask, a["phi_references"], np.nan)
            mean = np.nanmean(chosen, axis=0)
            deviation = np.nanstd(chosen, axis=0)
            for is_held, side in sides.items():
                side[f"score_mean_{where}"] = mean[held == is_held]
                side[f"score_std_{where}"] = deviation[held == is_held]
        attack = LiraAttack(sides[True], sides[False], AggregationType.NONE, online_attack=True)
        return in_order(attack.run_attack(), held)

    return work


def privacyguard_rmia(a: Arrays) -> Work:
    import pandas as pd
    from privacy_guard.analysis.mia.aggregate_analysis_input import AggregationType
    from privacy_guard.attacks.rmia_attack import RmiaAttack

    def frame(phi: np.ndarray, references: np.ndarray, is_in: np.ndarray) -> pd.DataFrame:
        first = pd.DataFrame({"user_id": range(len(phi)), "score_orig": expit(phi)})
        scores = pd.DataFrame(expit(references.T)).add_prefix("score_ref_")
        held = pd.DataFrame(is_in.T).add_prefix("member_ref_")
        return pd.concat([first, scores, held], axis=1)

    records = frame(a["phi"], a["phi_references"], a["is_in"])
    nobody = np.zeros(a["z_phi_references"].shape, bool)
    population = frame(a["z_phi"], a["z_phi_references"], nobody)
    held = a["is_member"]
    settings = {"online": True, "num_reference_models": len(a["is_in"])}
    sides = (records[held].copy(), records[~held].copy(), population)

    def work() -> np.ndarray:
        found = RmiaAttack(*sides, AggregationType.NONE, **settings).run_attack()
        return in_order(found, held)

    return work


def in_order(found: object, held: np.ndarray) -> np.ndarray:
    """PrivacyGuard's scores in the order of the records."""
    scores = np.empty(len(held))
    scores[held] = found.df_train_user["score"]
    scores[~held] = found.df_test_user["score"]
    return scores


def tf_lira(a: Arrays) -> Work:
    from tensorflow_privacy.privacy.privacy_tests.membership_inference_attack import advanced_mia

    inside, outside = by_record(a)
    target = a["phi"][:, None]
    compute = advanced_mia.compute_score_lira
    return lambda: -compute(target, inside, outside, median_or_mean="mean")


def by_record(a: Arrays) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """φ of the IN and of the OUT models, an array (models, 1) for each record."""
    pairs = list(zip(a["phi_references"].T, a["is_in"].T, strict=True))
    inside = [phi[held][:, None] for phi, held in pairs]
    outside = [phi[~held][:, None] for phi, held in pairs]
    return inside, outside


def tf_loss(a: Arrays) -> Work:
    from tensorflow_privacy.privacy.privacy_tests.membership_inference_attack import (
        data_structures,
    )
    from tensorflow_privacy.privacy.privacy_tests.membership_inference_attack import (
        membership_inference_attack as mia,
    )

    held = a["is_member"]
    kind = data_structures.AttackType.THRESHOLD_ATTACK
    given = {
        "logits_train": a["logits"][held],
        "logits_test": a["logits"][~held],
        "labels_train": a["labels"][held],
        "labels_test": a["labels"][~held],
    }

    def work() -> np.ndarray:
        inputs = data_structures.AttackInputData(**given)
        found = mia.run_attacks(inputs, None, [kind]).single_attack_results[0]
        found.get_auc()
        scores = np.empty(len(held))
        scores[held] = -inputs.get_loss_train()
        scores[~held] = -inputs.get_loss_test()
        return scores

    return work


def art_correctness(a: Arrays) -> Work:
    from art.attacks.inference.membership_inference import MembershipInferenceBlackBoxRuleBased
    from art.estimators.classification import BlackBoxClassifier

    classes = a["logits"].shape[1]
    # The records that the classifier is asked about are its answers.
    answers = BlackBoxClassifier(lambda x: x, (classes,), classes)
    attack = MembershipInferenceBlackBoxRuleBased(answers)
    return lambda: attack.infer(a["logits"], a["labels"])


def sacro_lira(a: Arrays) -> Work:
    """Its LiRA trains its own shadows; what follows then, from their φ to the scores, is timed."""
    from sacroml.attacks.likelihood_attack import LIRAAttack

    logging.disable()
    inside, outside = by_record(a)
    in_phi = dict(enumerate(phi[:, 0] for phi in inside))
    out_phi = dict(enumerate(phi[:, 0] for phi in outside))
    p = expit(a["phi"])
    answers = np.column_stack([1 - p, p])
    labels = np.ones(len(p), int)
    attack = LIRAAttack(write_report=False, mode="online-carlini")

    def work() -> np.ndarray:
        scores, _ = attack._compute_scores(labels, answers, out_phi, in_phi)
        return np.array(scores)[:, 1]

    return work


WORKS = {
    ("mialib", "LiRA"): mialib_lira,
    ("mialib", "RMIA"): mialib_rmia,
    ("mialib", "loss"): mialib_loss,
    ("mialib", "correctness"): mialib_correctness,
    ("privacyguard", "LiRA"): privacyguard_lira,
    ("privacyguard", "RMIA"): privacyguard_rmia,
    ("tf", "LiRA"): tf_lira,
    ("tf", "loss"): tf_loss,
    ("art", "correctness"): art_correctness,
    ("sacro", "LiRA"): sacro_lira,
}


class Memory:
    """The megabytes that are added at the peak from its making on."""

    def __init__(self) -> None:
        # Linux can forget the peak that making the arrays had.
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")
        self.before = self._status("VmRSS")

    def growth(self) -> float | None:
        peak = self._status("VmHWM")
        if peak is None or self.before is None:
            return None
        return max(peak - self.before, 0.0)

    @staticmethod
    def _status(name: str) -> float | None:
        try:
            lines = Path("/proc/self/status").read_text().splitlines()
        except OSError:
            return None
        kilobytes = next(line.split()[1] for line in lines if line.startswith(name))
        return int(kilobytes) * 1024 / 1e6


def first_records(a: Arrays) -> Arrays:
    """The arrays of the first records; the population stays whole."""
    few = {name: array[:FEW] for name, array in a.items()}
    for name in ("phi_references", "is_in"):
        few[name] = a[name][:, :FEW]  # (models, records)
    for name in ("z_phi", "z_phi_references"):
        few[name] = a[name]
    return few


def main(peer: str, attack: str, arrays: str, out: str, rounds: str) -> None:
    with contextlib.redirect_stdout(sys.stderr):  # Some of them print.
        given = dict(np.load(arrays))
        prepare = WORKS[peer, attack]
        prepare(first_records(given))()  # What is loaded at the first call is loaded now.
        work = prepare(given)
        memory = Memory()
        growth = None
        seconds: list[float] = []
        scores = np.empty(0)
        while len(seconds) < int(rounds) and sum(seconds) < ENOUGH:
            started = time.perf_counter()
            scores = work()
            seconds.append(time.perf_counter() - started)
            if len(seconds) == 1:
                growth = memory.growth()
    np.save(out, np.asarray(scores, float))
    print(json.dumps({"seconds": min(seconds), "megabytes": growth}))


if __name__ == "__main__":
    main(*sys.argv[1:])
