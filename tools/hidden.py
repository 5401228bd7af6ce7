"""Models whose members nobody can look up: trained on letters that only chance has chosen.

    is_member = toss(2400)                  # by the operating system's randomness, with no seed
    answers("plain", is_member)             # what a model says that holds just these records

The records are those of the course's bank, so its 64 models are references for all of them. Who is
a member, the first weights and the order of the batches all come from `secrets`: no seed that could
be tried stands anywhere, and the weights are thrown away. Only answers are kept.
"""

from __future__ import annotations

import secrets
from dataclasses import replace

import numpy as np
from torch import nn

from mialib import models, profiles, query
from mialib.configurations import Configuration
from mialib.defenses import DPSGD
from mialib.experiments.banks import dealt_to_models
from mialib.runs import threads
from mialib.training import fit

SEED_BITS = 62
KINDS = {
    "plain": "trained without a defense; it answers with logits",
    "labels": "trained without a defense; it answers with nothing but a letter",
    "past": "tuned by PAST, λ = 0.001 and α = 1.5; it answers with logits",
    "dp": "trained by DP-SGD with σ = 3, for 20 epochs; it answers with logits",
}


def configuration(kind: str) -> Configuration:
    """How a model of this kind is trained; `labels` differs from `plain` in its answers alone."""
    experiments = profiles.load("quick").experiments
    plain = experiments["bank"]
    if kind == "past":
        return experiments["bank tuned"]
    if kind == "dp":
        return plain.defended(DPSGD(sigma=3.0), replace(plain.recipe, epochs=20))
    if kind not in KINDS:
        raise ValueError(f"Expected one of {', '.join(KINDS)}, found {kind!r}.")
    return plain


def toss(n: int) -> np.ndarray:
    """Half of n records, drawn without a seed: (n,) bool."""
    is_member = np.zeros(n, bool)
    is_member[secrets.SystemRandom().sample(range(n), n // 2)] = True
    return is_member


def train(kind: str, is_member: np.ndarray) -> nn.Module:
    """A model that holds the bank's records where `is_member` (n,) says so."""
    chosen = configuration(kind)
    everything = chosen.records()
    records = dealt_to_models(chosen)
    model = models.build(
        chosen.model,
        shape=records.x.shape[1:],
        classes=records.classes,
        seed=secrets.randbits(SEED_BITS),
        **chosen.options,
    )
    with threads(chosen.threads):
        for stage in chosen.chain:
            fit(
                model,
                records.take(np.flatnonzero(is_member)),
                stage.recipe,
                defense=stage.defense,
                inference=everything.take(np.arange(len(records), len(everything))),
                seed=secrets.randbits(SEED_BITS),
                device=stage.device,
            )
    return model


def answers(kind: str, is_member: np.ndarray) -> np.ndarray:
    """What such a model says of all the bank's records: logits (n, classes) or labels (n,)."""
    model = train(kind, is_member)
    logits = query.predict(model, dealt_to_models(configuration(kind)))
    if kind == "labels":
        return logits.argmax(axis=1).astype(np.uint8)
    return logits.astype(np.float16)
