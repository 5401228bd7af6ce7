"""Make the signal bank that the course ships: train the models, ask them, write the file.

    python tools/bank.py                # mialib/shipped/bank/letters.npz

The models go through the run store, so an interrupted call resumes and a second one only asks
again. Each record is held by half of the models. Every model is also asked about each record
shifted by one pixel to the left and to the right, and about a population of fresh records that no
model holds. Logits are kept as float16.
"""

from __future__ import annotations

import hashlib

import numpy as np
from torch import nn
from tqdm import tqdm

from mialib import data, profiles, query, runs
from mialib.bank import Bank
from mialib.configurations import Configuration
from mialib.signals import phi_from_logits
from mialib.splits import in_out_mask
from mialib.store import read_json, write_json
from paths import ROOT

POPULATION = 400
SHIFTS = ((0, -1), (0, 1))
PATH = ROOT / "mialib" / "shipped" / "bank" / "letters.npz"


def logits_of(model: nn.Module, records: data.Records) -> np.ndarray:
    """(n, classes), as they are kept."""
    return query.predict(model, records).astype(np.float16)


def phi_of_views(model: nn.Module, records: data.Records) -> np.ndarray:
    """φ on the shifted views: (views, n)."""
    views = [query.predict(model, query.shifted(records, *by)) for by in SHIFTS]
    phi = [phi_from_logits(logits, records.y) for logits in views]
    return np.stack(phi).astype(np.float16)


def make() -> tuple[Bank, dict]:
    """The bank and where it comes from."""
    configuration = profiles.load("quick").experiments["bank"]
    models = configuration.split_options["models"]
    done = runs.get_all([configuration.but(side=f"model-{k}") for k in range(models)])
    records = configuration.records()
    fresh = data.load(configuration.data, size=POPULATION, seed=configuration.data_seed + 1)
    networks = [run.load_model() for run in tqdm(done, "loading")]
    population = Bank(
        logits=np.stack([logits_of(network, fresh) for network in networks]),
        labels=fresh.y,
        is_member=np.zeros((models, len(fresh)), bool),
        views=np.stack([phi_of_views(network, fresh) for network in networks]),
    )
    bank = Bank(
        logits=np.stack([logits_of(network, records) for network in networks]),
        labels=records.y,
        is_member=in_out_mask(len(records), models, seed=configuration.split_seed),
        views=np.stack([phi_of_views(network, records) for network in networks]),
        population=population,
        x=records.x,
    )
    return bank, facts_about(configuration, done)


def facts_about(configuration: Configuration, done: list[runs.Run]) -> dict:
    """What a reader of the bank's file must know of it."""
    accuracies = [run.metrics["accuracy"] for run in done]
    provenances = [read_json(run.folder / "provenance.json") for run in done]
    described = read_json(done[0].folder / "config.json")
    fresh_seed = configuration.data_seed + 1
    facts = {
        "configuration": described | {"side": f"model-0 … model-{len(done) - 1}"},
        "views": ["as it is", *(f"shifted by {by} pixels (down, right)" for by in SHIFTS)],
        "population": f"{POPULATION} records of data_seed {fresh_seed}, held by no model",
        "accuracy": {
            part: float(np.mean([one[part] for one in accuracies])) for part in ("train", "test")
        },
        "seconds": sum(one["seconds"] for one in provenances),
    }
    kept = ("mialib", "code_version", "torch", "numpy", "records")
    return facts | {name: provenances[0][name] for name in kept}


def main() -> None:
    bank, facts = make()
    PATH.parent.mkdir(parents=True, exist_ok=True)
    bank.save(PATH)
    facts["sha256"] = hashlib.sha256(PATH.read_bytes()).hexdigest()
    write_json(PATH.with_suffix(".json"), facts)
    print(f"{bank}\n{PATH.stat().st_size / 1e6:.1f} MB, accuracy {facts['accuracy']}")


if __name__ == "__main__":
    main()
