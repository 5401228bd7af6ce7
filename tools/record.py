"""Record a real experiment: train target and shadow, attack, keep numbers, signals and provenance
in data/measured/.

    python tools/record.py cpu images --data ../photos/cifar10.npz --note "JPEG copies"
    python tools/record.py cpu "images tuned" --data … --note … --defense Past lam=1e-3 alpha=2
    python tools/record.py cpu images --data … --note … --then DMP      # from the trained model

Runs go through the store, so a second call, or one after an interruption, does only what is
missing. Weights stay in the store; what is kept here is small: config, metrics, provenance and
signals of each model, and the result.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import shutil
from collections.abc import Collection
from pathlib import Path

from mialib import metrics, profiles, query, runs
from mialib.attacks import SHADOW_SUITE, FittedAttack, suite
from mialib.configurations import Configuration
from mialib.data import short_name
from mialib.defenses import named
from mialib.signals import Signals
from mialib.sparsity.magnitude import remaining
from mialib.store import read_json, write_json
from mialib.training import Defense
from paths import ROOT

KEPT = ("config.json", "metrics.json", "provenance.json", "trace.npz")
MEASURED = ROOT / "data" / "measured"


def record(
    profile: str,
    experiment: str,
    data: str | None = None,
    note: str = "",
    defense: Defense | None = None,
    stage: bool = False,
    noise: bool = True,
) -> dict:
    """Do what is missing, copy what is kept, and return the result as it is written. As a `stage`
    the defense trains on from the experiment's models, by the same recipe; else it takes the place
    of the experiment's own.

    Without `noise` the discriminator is left out, which asks as much of a model as all other
    attacks together.
    """
    configuration = profiles.load(profile).experiments[experiment]
    configuration = configuration.but(data=data or configuration.data)
    if stage:
        configuration = configuration.then(defense, configuration.recipe, trace=configuration.trace)
    elif defense:
        configuration = configuration.but(defense=defense)
    pair = runs.get_all([configuration, configuration.but(side="shadow")])
    folder = MEASURED / "-".join(
        [profile, *experiment.split(), short_name(configuration.data), label(configuration)]
    )
    for run in pair:
        place = folder / run.configuration.side
        place.mkdir(parents=True, exist_ok=True)
        for name in KEPT:
            if (run.folder / name).exists():
                shutil.copy(run.folder / name, place / name)
        watch(run, noise).save(place / "signals.npz")
    records = read_json(pair[0].folder / "provenance.json")["records"]
    about = {"profile": profile, "experiment": experiment, "records": records, "note": note}
    result = about | {"remaining": remains(pair[0])} | summary(folder)
    write_json(folder / "result.json", result)
    return result


def label(configuration: Configuration) -> str:
    """The defense and those of its settings that differ from the defaults."""
    defense = configuration.defense
    usual = vars(type(defense)())
    return "-".join(
        [
            type(defense).__name__.lower(),
            *(f"{k}={v}" for k, v in vars(defense).items() if usual[k] != v),
        ]
    )


def watch(run: runs.Run, noise: bool) -> Signals:
    """All that the attacks below ask of a model, as PAST asks it: three angles, five shifts."""
    return run.ask(rotations=(-4, 0, 4), shifts=query.l1_shifts(1), noise=noise, gradient=True)


def remains(run: runs.Run) -> float:
    """Percent of the dense network's parameters that this one has and has not pruned."""
    options = {
        name: value
        for name, value in run.configuration.options.items()
        if name not in ("segments", "factors")
    }
    network, dense = run.load_model(), run.configuration.but(options=options).build_model()
    size, full = (
        sum(parameter.numel() for parameter in model.parameters()) for model in (network, dense)
    )
    return remaining(network) * size / full


def every_attack(
    shadow: Signals, target: Signals, *, leave_out: Collection[str] = ()
) -> dict[str, FittedAttack]:
    """Every attack that one shadow and these signals allow, fitted on the shadow."""
    at_hand = suite(target, shadow=shadow).only(SHADOW_SUITE).without(leave_out)
    return at_hand.fit(shadow=shadow)


def summary(folder: Path) -> dict:
    """Every attack on the target with intervals, and whether the target memorised enough to
    count.
    """
    target = Signals.read(folder / "target" / "signals.npz")
    shadow = Signals.read(folder / "shadow" / "signals.npz")
    evaluated = {}
    for name, attack in every_attack(shadow, target.public()).items():
        scores = attack.score(target.public())
        evaluation = metrics.evaluate(scores, target.is_member, threshold=attack.threshold)
        evaluated[name] = dataclasses.asdict(evaluation)
    facts = read_json(folder / "target" / "metrics.json")
    counts = facts["accuracy"]["train"] >= 0.99 and evaluated["loss"]["advantage"]["value"] >= 0.3
    result = {
        "counts": counts,
        "accuracy": facts["accuracy"],
        "loss_gap": facts["loss_gap"],
        "attacks": evaluated,
    }
    if "discriminator" in evaluated:
        result["defense_level"] = defense_level(evaluated["discriminator"]["advantage"])
    return result


def defense_level(advantage: dict[str, float]) -> dict[str, float]:
    """The sparsity paper's D, with its interval; of as many members as others, A = 50 +
    50·advantage percent.
    """
    value, low, high = (
        metrics.defense_level(50 + 50 * advantage[name]) for name in ("value", "high", "low")
    )
    return {"value": value, "low": low, "high": high}


def parse_defense(name: str, *settings: str) -> Defense:
    """`Past`, `lam=1e-3`, `per=epoch` → Past(lam=1e-3, per="epoch")."""
    given = {}
    for setting in settings:
        key, _, value = setting.partition("=")
        try:
            given[key] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            given[key] = value
    return named(name, **given)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("profile", choices=profiles.PROFILES)
    parser.add_argument("experiment")
    parser.add_argument("--data", help="an .npz or image folder to use in place of the download")
    parser.add_argument(
        "--note", default="", help="what a reader must know of that data; needed with --data"
    )
    parser.add_argument(
        "--defense", nargs="+", default=[], help="a name and settings: LabelSmoothing epsilon=0.3"
    )
    parser.add_argument(
        "--then", nargs="+", default=[], help="the same, trained on from the experiment's models"
    )
    parser.add_argument("--no-noise", action="store_true", help="leave out the discriminator")
    arguments = parser.parse_args()
    if arguments.data and not arguments.note:
        parser.error("--data needs a --note that says how it differs from the download")
    if arguments.defense and arguments.then:
        parser.error(
            "--defense takes the place of the experiment's defense, --then follows it; give one"
        )
    named = arguments.defense or arguments.then
    defense = parse_defense(*named) if named else None
    about = (arguments.profile, arguments.experiment, arguments.data, arguments.note)
    result = record(*about, defense, stage=bool(arguments.then), noise=not arguments.no_noise)
    print(f"accuracy {result['accuracy']}\ncounts: {result['counts']}")
    for name, evaluation in result["attacks"].items():
        auc = evaluation["auc"]["value"]
        print(f"{name:<28}AUC {auc:.3f}   advantage {evaluation['advantage']['value']:.3f}")


if __name__ == "__main__":
    main()
