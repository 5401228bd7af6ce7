"""Make the signal bank that the course ships: train the models, ask them, write mialib/shipped/bank/letters.npz.

    python tools/bank.py

The models go through the run store, so an interrupted call resumes and a second one only asks again. Each record
is held by half of the models. Every model is also asked about each record shifted by one pixel to the left and to the
right, and about a population of fresh records that no model holds. Logits are kept as float16.
"""

from __future__ import annotations

import hashlib

import numpy as np
from tqdm import tqdm

from mialib import bank, data, observe, profiles, runs
from mialib.signals import predict, scaled_confidence
from mialib.splits import in_out_mask
from mialib.store import read_json, write_json
from paths import ROOT

POPULATION = 400
SHIFTS = ((0, -1), (0, 1))


def answers(run: runs.Run, records: data.Records) -> tuple[np.ndarray, np.ndarray]:
    """Logits (n, classes) and φ on the shifted views (views, n) of one model."""
    model = run.load_model()
    shifted = [
        scaled_confidence(predict(model, observe.shifted(records, *by)), records.y) for by in SHIFTS
    ]
    return predict(model, records).astype(np.float16), np.stack(shifted).astype(np.float16)


def make() -> tuple[bank.Bank, dict]:
    """The bank and where it comes from."""
    configuration = profiles.load("quick").experiments["bank"]
    models = configuration.split_options["models"]
    done = runs.get_all([configuration.but(side=f"model-{k}") for k in range(models)])
    records = configuration.records()
    fresh = data.load(configuration.data, size=POPULATION, seed=configuration.data_seed + 1)
    logits, views, more_logits, more_views = map(
        np.stack,
        zip(*((*answers(run, records), *answers(run, fresh)) for run in tqdm(done)), strict=True),
    )
    mask = in_out_mask(len(records), models, seed=configuration.split_seed)
    population = bank.Bank(more_logits, fresh.y, np.zeros(more_logits.shape[:2], bool), more_views)
    made = bank.Bank(logits, records.y, mask, views, population, records.x)
    accuracies = [run.metrics["accuracy"] for run in done]
    first = read_json(done[0].folder / "provenance.json")
    facts = {
        "configuration": read_json(done[0].folder / "config.json")
        | {"side": f"model-0 … model-{models - 1}"},
        "views": ["as it is", *(f"shifted by {by} pixels (down, right)" for by in SHIFTS)],
        "population": f"{POPULATION} records of data_seed {configuration.data_seed + 1}, held by no model",
        "accuracy": {
            part: float(np.mean([one[part] for one in accuracies])) for part in ("train", "test")
        },
        "seconds": sum(read_json(run.folder / "provenance.json")["seconds"] for run in done),
    }
    return made, facts | {
        name: first[name] for name in ("mialib", "code_version", "torch", "numpy", "records")
    }


def main() -> None:
    made, facts = make()
    path = ROOT / "mialib" / "shipped" / "bank" / "letters.npz"
    path.parent.mkdir(parents=True, exist_ok=True)
    made.save(path)
    facts["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    write_json(path.with_suffix(".json"), facts)
    print(f"{made}\n{path.stat().st_size / 1e6:.1f} MB, accuracy {facts['accuracy']}")


if __name__ == "__main__":
    main()
