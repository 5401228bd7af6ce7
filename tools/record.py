"""Record a real experiment: train target and shadow, attack, keep numbers, signals and provenance in data/measured/.

    python tools/record.py cpu images --data ../photos/cifar10.npz --note "JPEG copies"

Runs go through the store, so a second call, or one after an interruption, does only what is missing. Weights stay
in the store; what is kept here is small: config, metrics, provenance and signals of each model, and the result.
"""

from __future__ import annotations

import argparse
import dataclasses
import shutil

from mialib import attacks, metrics, profiles, runs
from mialib.data import short_name
from mialib.store import read_json, write_json
from notebooks import ROOT

KEPT = ("config.json", "metrics.json", "provenance.json", "signals.npz", "trace.npz")
MEASURED = ROOT / "data" / "measured"


def record(profile: str, experiment: str, data: str | None = None, note: str = "") -> dict:
    """Do what is missing, copy what is kept, and return the result as it is written."""
    configuration = profiles.load(profile).experiments[experiment]
    if data:
        configuration = configuration.but(data=data)
    pair = runs.get_all([configuration, configuration.but(side="shadow")])
    name = short_name(configuration.data)
    folder = MEASURED / f"{profile}-{experiment}-{name}-{type(configuration.defense).__name__.lower()}"
    for run in pair:
        place = folder / run.configuration.side
        place.mkdir(parents=True, exist_ok=True)
        for name in KEPT:
            if (run.folder / name).exists():
                shutil.copy(run.folder / name, place / name)
    records = read_json(pair[0].folder / "provenance.json")["records"]
    result = {"profile": profile, "experiment": experiment, "records": records, "note": note} | summary(*pair)
    write_json(folder / "result.json", result)
    return result


def summary(target: runs.Run, shadow: runs.Run) -> dict:
    """The loss attack on the target, with intervals, and whether the target memorised enough to count."""
    scores = attacks.threshold_attack(shadow.signals, target.signals.public())
    evaluation = dataclasses.asdict(metrics.evaluate(scores, target.signals.is_member))
    accuracy = target.metrics["accuracy"]
    counts = accuracy["train"] >= 0.99 and evaluation["advantage"]["value"] >= 0.3
    return {"counts": counts, "accuracy": accuracy, "loss_gap": target.metrics["loss_gap"], "loss attack": evaluation}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("profile", choices=profiles.PROFILES)
    parser.add_argument("experiment")
    parser.add_argument("--data", help="an .npz or image folder to use in place of the download")
    parser.add_argument("--note", default="", help="what a reader must know of that data; needed with --data")
    arguments = parser.parse_args()
    if arguments.data and not arguments.note:
        parser.error("--data needs a --note that says how it differs from the download")
    result = record(arguments.profile, arguments.experiment, arguments.data, arguments.note)
    print(f"accuracy {result['accuracy']}\nadvantage {result['loss attack']['advantage']}\ncounts: {result['counts']}")


if __name__ == "__main__":
    main()
