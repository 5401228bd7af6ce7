"""Do other toolkits find the same AUC on the same arrays? Optional: each runs in an environment of its own.

    python tools/peers.py export arrays.npz                          # here: target, shadow and references of the bank
    ENVIRONMENT/bin/python tools/peers.py art arrays.npz > art.json  # there, without mialib; also tf and privacyguard
    python tools/peers.py record art.json tf.json privacyguard.json  # here: beside our AUC, into data/peers.json

data/peers.json says what to install, and in its rows which of their calls stands beside which of ours, and why they
differ where they do: those are written by hand, the results by `record`. With MIALIB_PEERS=FOLDER, a folder of
environments called art, tf and privacyguard, tests/test_peers.py repeats it all.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import numpy as np

RECORD, BANK = (
    Path(__file__).resolve().parents[1] / "data" / name
    for name in ("peers.json", "bank/letters.json")
)
TARGET, SHADOW, REFERENCES = 0, 2, slice(2, None)  # Model 1 is the target's complement.


def our_auc(row: dict) -> float:
    """What mialib finds for a row of the record."""
    from mialib import attacks, bank, metrics

    models = bank.load(views="views" in row["arrays"])
    target, references = models.signals(TARGET), models.take(REFERENCES)
    if (
        "31 references" in row["arrays"]
    ):  # Each of them twice: a bank and its population have equally many models.
        references = replace(
            references, population=references.population.take(np.tile(np.arange(31), 2))
        )
    attack = getattr(attacks, row["ours"], None) or (
        lambda _, target: attacks.METRICS[row["ours"]](target)
    )
    return metrics.auc(attack(references, target.public(), **row["our_settings"]), target.is_member)


def export(path: Path) -> None:
    """Write outputs (n, classes), φ (n, views), and the references' φ (n, models, views), all as float64."""
    from mialib import bank

    models, shadow = bank.load(views=True), bank.load().signals(SHADOW)
    target, references = models.signals(TARGET), models.take(REFERENCES)
    phi, is_in = references.confidence.transpose(2, 0, 1), references.is_member.T
    np.savez(
        path, is_member=target.is_member, labels=target.labels, logits=target.logits.astype(float),
        probabilities=target.probabilities(), phi=target.confidence().T, phi_references=phi, is_in=is_in,
        phi_in=phi[is_in].reshape(len(phi), -1, 3), phi_out=phi[~is_in].reshape(len(phi), -1, 3),
        z_phi=target.population.confidence()[0], z_phi_references=references.population.confidence[:, 0].T,
        shadow_phi=shadow.confidence().T, shadow_probabilities=shadow.probabilities(), shadow_in=shadow.is_member,
    )  # fmt: skip


def art(row: dict, a: dict[str, np.ndarray]) -> float:
    from art.attacks.inference import membership_inference
    from art.estimators.classification import BlackBoxClassifier
    from sklearn.metrics import roc_auc_score

    classes, held, truth, y = a["logits"].shape[1], a["shadow_in"], a["is_member"], a["labels"]
    answers = BlackBoxClassifier(
        lambda x: x, (classes,), classes
    )  # The records it is asked about are its answers.
    attack = getattr(membership_inference, row["attack"])(answers, **row["settings"])
    if not row["settings"]:
        return roc_auc_score(truth, attack.infer(a["logits"], y))
    name, known = (
        ("probabilities", (y[held], y[~held], y))
        if "labels" in row["arrays"]
        else ("phi", (None,) * 3)
    )
    shadow, own = a[f"shadow_{name}"], a[name][:, :1] if name == "phi" else a[name]
    attack.fit(None, known[0], None, known[1], pred=shadow[held], test_pred=shadow[~held])
    return roc_auc_score(truth, attack.infer(None, known[2], pred=own, probabilities=True)[:, 0])


def tf(row: dict, a: dict[str, np.ndarray]) -> float:
    from tensorflow_privacy.privacy.privacy_tests.membership_inference_attack import (
        advanced_mia,
        data_structures,
    )
    from tensorflow_privacy.privacy.privacy_tests.membership_inference_attack import (
        membership_inference_attack as mia,
    )

    kind, columns = row["attack"], [name for name in ("logits", "labels") if name in row["arrays"]]
    if kind.startswith("compute"):
        phi = [
            a[name] if "views" in row["arrays"] else a[name][..., :1]
            for name in ("phi", "phi_in", "phi_out")
        ]
        scores = getattr(advanced_mia, kind)(*phi, **row["settings"])
        kind, columns, a = (
            "THRESHOLD_ATTACK",
            ["loss"],
            a | {"loss": -scores if "offset" in kind else scores},
        )
    sides = (("train", a["is_member"]), ("test", ~a["is_member"]))
    given = {f"{name}_{side}": a[name][rows] for name in columns for side, rows in sides}
    found = mia.run_attacks(
        data_structures.AttackInputData(**given), None, [data_structures.AttackType[kind]]
    )
    return found.single_attack_results[0].get_auc()


def privacyguard(row: dict, a: dict[str, np.ndarray]) -> float:
    import pandas as pd
    from privacy_guard.analysis.mia.aggregate_analysis_input import AggregationType
    from privacy_guard.attacks import lira_attack, rmia_attack
    from scipy.special import expit
    from sklearn.metrics import roc_auc_score

    def frame(score: np.ndarray, **more: np.ndarray) -> pd.DataFrame:
        parts = [pd.DataFrame(x).add_prefix(f"{name}_") for name, x in more.items()]
        return pd.concat(
            [pd.DataFrame({"user_id": range(len(score)), "score_orig": score}), *parts], axis=1
        )

    if row["attack"] == "LiraAttack":
        attack, records, population = lira_attack.LiraAttack, frame(a["phi"][:, 0]), []
        for side, phi in (("_in", a["phi_in"]), ("_out", a["phi_out"]), ("", a["phi_out"])):
            records[f"score_mean{side}"] = phi[..., 0].mean(axis=1)
            records[f"score_std{side}"] = phi[..., 0].std(axis=1)
    else:
        attack, p = rmia_attack.RmiaAttack, expit(a["phi_references"][..., 0])
        z = expit(a["z_phi_references"][:, : 31 if "31 references" in row["arrays"] else None])
        records = frame(expit(a["phi"][:, 0]), score_ref=p, member_ref=a["is_in"])
        population = [frame(expit(a["z_phi"]), score_ref=z, member_ref=np.zeros_like(z))]
    sides = (records[a["is_member"]].copy(), records[~a["is_member"]].copy(), *population)
    found = attack(*sides, AggregationType.NONE, **row["settings"]).run_attack()
    scores = np.r_[
        found.df_train_user["score"], found.df_test_user["score"]
    ]  # The members come first.
    return roc_auc_score(np.sort(a["is_member"])[::-1], scores)


def ask(peer: str, path: Path) -> dict:
    """A peer's AUC for each of its rows, in their order."""
    rows = [
        row for row in json.loads(RECORD.read_text(encoding="utf-8"))["rows"] if row["peer"] == peer
    ]
    with contextlib.redirect_stdout(sys.stderr):  # Some of them print.
        found = [float(globals()[peer](row, dict(np.load(path)))) for row in rows]
    return {
        "peer": peer,
        "version": version(rows[0]["package"]),
        "numpy": version("numpy"),
        "auc": found,
    }


def compared(row: dict, theirs: float, ours: float) -> dict:
    """The results of a row."""
    if (abs(theirs - ours) <= 1e-6) == bool(row["why"]):
        pair = f"{row['attack']} has {theirs:.7f}, {row['ours']} {ours:.7f}, unlike what `why` in data/peers.json says."
        raise ValueError(
            f"{pair} Export and ask again if the bank is new; if not, find the reason and correct `why`."
        )
    verdict = f"differs: {row['why']}" if row["why"] else "agrees"
    return {"their_auc": theirs, "our_auc": ours, "difference": theirs - ours, "verdict": verdict}


def record(paths: list[Path]) -> None:
    """Put the peers' results beside ours."""
    kept, bank, *results = (
        json.loads(path.read_text(encoding="utf-8")) for path in (RECORD, BANK, *paths)
    )
    kept["bank"] = bank["sha256"]
    for found in results:
        rows = [row for row in kept["rows"] if row["peer"] == found["peer"]]
        for row, theirs in zip(rows, found.pop("auc"), strict=True):
            row |= found | compared(row, theirs, our_auc(row))
    RECORD.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("step", choices=("export", "art", "tf", "privacyguard", "record"))
    parser.add_argument("files", type=Path, nargs="+")
    step, files = vars(parser.parse_args()).values()
    if step in ("art", "tf", "privacyguard"):
        print(json.dumps(ask(step, files[0])))
    else:
        export(files[0]) if step == "export" else record(files)
