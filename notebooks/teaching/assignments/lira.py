"""Assignment: LiRA from scratch, on a target whose members only your teacher knows.

python lira.py students/target.npz ada.npz      writes your scores, one per letter of the bank
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from mialib import bank
from mialib.signals import phi_from_logits


def lira(phi: np.ndarray, reference_phi: np.ndarray, is_in: np.ndarray) -> np.ndarray:
    """The log-likelihood ratio of IN to OUT for every record, higher for members: (n,).

    phi            (n,): the target's scaled score of each record
    reference_phi  (models, n): the references'
    is_in          (models, n) bool: which reference holds which record
    """
    raise NotImplementedError


def main(target: Path, out: Path) -> None:
    references = bank.load("letters")
    with np.load(target) as arrays:
        phi = phi_from_logits(arrays["logits"].astype(float), references.labels)
    scores = lira(phi, references.phi[:, 0], references.is_member)
    np.savez(out, scores=np.asarray(scores, dtype=float))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
