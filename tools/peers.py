"""Do other toolkits find the same AUC on the same arrays?

Optional: each runs in an environment of its own. The three steps, here and there:

    python tools/peers.py export arrays.npz                  # target, shadow and references
    ENVIRONMENT/bin/python tools/peers.py art arrays.npz > art.json
    python tools/peers.py record art.json tf.json privacyguard.json

The second runs there, without mialib (also `tf` and `privacyguard`); the third writes the results
beside mialib's into data/peers/peers.json. It says what to install, which of their calls stands
beside which attack of mialib, and why they differ where they do: those are written by hand, the
results by `record`. With MIALIB_PEERS=FOLDER, a folder of environments called art, tf and
privacyguard, tests/tools/test_peers.py repeats it all.
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

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "data" / "peers"
RECORD = FOLDER / "peers.json"
BANK = FOLDER / "bank.npz"  # 64 models on 2,400 letters; what made them lies beside it
TARGET = 0
SHADOW = 2
REFERENCES = slice(2, None)  # Model 1 is the target's complement.
Arrays = dict[str, np.ndarray]


def compared_bank(*, views: bool = False):
    """The bank that every toolkit was asked about; it stays as it is when the course's changes."""
    from mialib.bank import Bank, without_views

    bank = Bank.read(BANK)
    return bank if views else without_views(bank)


def mialib_auc(row: dict) -> float:
    """What mialib finds for a row of the record."""
    from mialib import metrics
    from mialib.attacks import ATTACKS
    from mialib.attacks.base import Need

    models = compared_bank(views="views" in row["arrays"])
    target = models.signals(TARGET)
    references = models.take(REFERENCES)
    if "31 references" in row["arrays"]:
        # Each of them twice, because a bank and its population have equally many models.
        twice = references.population.take(np.tile(np.arange(31), 2))
        references = replace(references, population=twice)
    attack = replace(ATTACKS[row["mialib"]], **row["mialib_settings"])
    learns_from = references if Need.REFERENCES in attack.needs else models.signals(SHADOW)
    scores = attack.fit(learns_from).score(target.public())
    return metrics.auc(scores, target.is_member)


def export(path: Path) -> None:
    """Write outputs (n, classes), φ (n, views) and the references' φ (n, models, views)."""
    models = compared_bank(views=True)
    target = models.signals(TARGET)
    shadow = compared_bank().signals(SHADOW)
    references = models.take(REFERENCES)
    phi = references.phi.transpose(2, 0, 1)  # (models, views, n) → (n, models, views)
    is_in = references.is_member.T
    arrays = {
        "is_member": target.is_member,
        "labels": target.labels,
        "logits": target.logits.astype(float),
        "probabilities": target.probabilities(),
        "phi": target.phi().T,
        "phi_references": phi,
        "is_in": is_in,
        "phi_in": phi[is_in].reshape(len(phi), -1, 3),
        "phi_out": phi[~is_in].reshape(len(phi), -1, 3),
        "z_phi": target.population.phi()[0],
        "z_phi_references": references.population.phi[:, 0].T,
        "shadow_phi": shadow.phi().T,
        "shadow_probabilities": shadow.probabilities(),
        "shadow_in": shadow.is_member,
    }
    np.savez(path, **arrays)


def art(row: dict, a: Arrays) -> float:
    from art.attacks.inference import membership_inference
    from art.estimators.classification import BlackBoxClassifier
    from sklearn.metrics import roc_auc_score

    classes = a["logits"].shape[1]
    labels = a["labels"]
    held = a["shadow_in"]
    # The records that the classifier is asked about are its answers.
    answers = BlackBoxClassifier(lambda x: x, (classes,), classes)
    attack = getattr(membership_inference, row["attack"])(answers, **row["settings"])
    if not row["settings"]:
        return roc_auc_score(a["is_member"], attack.infer(a["logits"], labels))
    if "labels" in row["arrays"]:
        own, shadow = a["probabilities"], a["shadow_probabilities"]
        y_in, y_out, y = labels[held], labels[~held], labels
    else:
        own, shadow = a["phi"][:, :1], a["shadow_phi"]
        y_in = y_out = y = None
    attack.fit(None, y_in, None, y_out, pred=shadow[held], test_pred=shadow[~held])
    scores = attack.infer(None, y, pred=own, probabilities=True)[:, 0]
    return roc_auc_score(a["is_member"], scores)


def tf(row: dict, a: Arrays) -> float:
    from tensorflow_privacy.privacy.privacy_tests.membership_inference_attack import (
        advanced_mia,
        data_structures,
    )
    from tensorflow_privacy.privacy.privacy_tests.membership_inference_attack import (
        membership_inference_attack as mia,
    )

    kind = row["attack"]
    columns = [name for name in ("logits", "labels") if name in row["arrays"]]
    if kind.startswith("compute"):
        phi = [a[name] for name in ("phi", "phi_in", "phi_out")]
        if "views" not in row["arrays"]:
            phi = [one[..., :1] for one in phi]
        scores = getattr(advanced_mia, kind)(*phi, **row["settings"])
        a = a | {"loss": -scores if "offset" in kind else scores}
        kind = "THRESHOLD_ATTACK"
        columns = ["loss"]
    sides = {"train": a["is_member"], "test": ~a["is_member"]}
    given = {f"{name}_{side}": a[name][rows] for name in columns for side, rows in sides.items()}
    inputs = data_structures.AttackInputData(**given)
    results = mia.run_attacks(inputs, None, [data_structures.AttackType[kind]])
    return results.single_attack_results[0].get_auc()


def privacyguard(row: dict, a: Arrays) -> float:
    import pandas as pd
    from privacy_guard.analysis.mia.aggregate_analysis_input import AggregationType
    from privacy_guard.attacks import lira_attack, rmia_attack
    from scipy.special import expit
    from sklearn.metrics import roc_auc_score

    def frame(score: np.ndarray, **columns: np.ndarray) -> pd.DataFrame:
        first = pd.DataFrame({"user_id": range(len(score)), "score_orig": score})
        parts = [pd.DataFrame(x).add_prefix(f"{name}_") for name, x in columns.items()]
        return pd.concat([first, *parts], axis=1)

    if row["attack"] == "LiraAttack":
        attack = lira_attack.LiraAttack
        records = frame(a["phi"][:, 0])
        population = []
        for side, phi in (("_in", a["phi_in"]), ("_out", a["phi_out"]), ("", a["phi_out"])):
            records[f"score_mean{side}"] = phi[..., 0].mean(axis=1)
            records[f"score_std{side}"] = phi[..., 0].std(axis=1)
    else:
        attack = rmia_attack.RmiaAttack
        p = expit(a["phi_references"][..., 0])
        records = frame(expit(a["phi"][:, 0]), score_ref=p, member_ref=a["is_in"])
        models = 31 if "31 references" in row["arrays"] else None
        z = expit(a["z_phi_references"][:, :models])
        population = [frame(expit(a["z_phi"]), score_ref=z, member_ref=np.zeros_like(z))]
    sides = (records[a["is_member"]].copy(), records[~a["is_member"]].copy(), *population)
    results = attack(*sides, AggregationType.NONE, **row["settings"]).run_attack()
    members_first = np.r_[results.df_train_user["score"], results.df_test_user["score"]]
    return roc_auc_score(np.sort(a["is_member"])[::-1], members_first)


PEERS = {"art": art, "tf": tf, "privacyguard": privacyguard}


def ask(peer: str, path: Path) -> dict:
    """A peer's AUC for each of its rows, in their order."""
    rows = json.loads(RECORD.read_text(encoding="utf-8"))["rows"]
    rows = [row for row in rows if row["peer"] == peer]
    arrays = dict(np.load(path))
    with contextlib.redirect_stdout(sys.stderr):  # Some of them print.
        aucs = [float(PEERS[peer](row, arrays)) for row in rows]
    versions = {"version": version(rows[0]["package"]), "numpy": version("numpy")}
    return {"peer": peer, **versions, "auc": aucs}


def compared(row: dict, peer_auc: float, own_auc: float) -> dict:
    """The results of a row."""
    agree = abs(peer_auc - own_auc) <= 1e-6
    if agree == bool(row["why"]):
        raise ValueError(
            f"{row['attack']} has {peer_auc:.7f}, {row['mialib']} {own_auc:.7f}, unlike what `why` "
            "in data/peers/peers.json says. Export and ask again if the bank is new; if not, find "
            "the reason and correct `why`."
        )
    return {
        "peer_auc": peer_auc,
        "mialib_auc": own_auc,
        "difference": peer_auc - own_auc,
        "verdict": f"differs: {row['why']}" if row["why"] else "agrees",
    }


def record(paths: list[Path]) -> None:
    """Put the peers' results beside mialib's."""
    kept = json.loads(RECORD.read_text(encoding="utf-8"))
    kept["bank"] = json.loads(BANK.read_text(encoding="utf-8"))["sha256"]
    for path in paths:
        result = json.loads(path.read_text(encoding="utf-8"))
        aucs = result.pop("auc")
        rows = [row for row in kept["rows"] if row["peer"] == result["peer"]]
        for row, peer_auc in zip(rows, aucs, strict=True):
            row |= result | compared(row, peer_auc, mialib_auc(row))
    RECORD.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("step", choices=("export", *PEERS, "record"))
    parser.add_argument("files", type=Path, nargs="+")
    arguments = parser.parse_args()
    if arguments.step == "export":
        export(arguments.files[0])
    elif arguments.step == "record":
        record(arguments.files)
    else:
        print(json.dumps(ask(arguments.step, arguments.files[0])))


if __name__ == "__main__":
    main()
