"""Make the shipped tables: every setting of a sweep, target and shadow, attacked by every attack (`lessonlib.sweeps`).

    python tools/sweep.py simple            # one of the names in SWEEPS, or several; all of them takes about an hour

Runs go through the store, side by side, so that a second call does only what is missing.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from types import SimpleNamespace

import numpy as np
from joblib import Parallel, delayed
from record import every_attack
from tqdm.auto import tqdm

from lessonlib.sweeps import EDGES, Sweep
from mialib import observe, profiles, runs, sensitivity
from mialib.configurations import Configuration
from mialib.defenses import (
    L1,
    L2,
    ConfidencePenalty,
    Dropout,
    EarlyStopping,
    LabelSmoothing,
    LossGap,
    Past,
    Plain,
)  # fmt: skip
from mialib.signals import Signals, collect, loss_gap, predict
from mialib.training import fit
from notebooks import ROOT

QUICK = profiles.load("quick")
ALPHAS, STRENGTHS, EPOCHS = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5), (1e-4, 5e-4, 1e-3, 2e-3, 5e-3), (5, 10, 20, 40)
LEFT_OUT = ("loss, a threshold a class", "neural, CRL", "gradient ℓ1")  # near relatives of others


@dataclass
class Seen:
    """One model at one moment: what the attacks ask of it, and facts."""

    settings: dict
    signals: Signals
    facts: dict


def simple() -> Iterator[Configuration]:
    """Every simple defense at several strengths on the course's images."""
    base = QUICK.images.but(trace=0, validation=0.1)  # Early stopping needs it, and all must have the same members.
    yield base
    for make, strengths in (
        (L1, (3e-4, 1e-3, 2e-3, 4e-3)),
        (L2, (5e-3, 1e-2, 2e-2, 4e-2)),
        (Dropout, (0.1, 0.3, 0.5, 0.8)),
        (LabelSmoothing, (0.1, 0.3, 0.5, 0.8)),
        (ConfidencePenalty, (0.1, 0.3, 1.0, 3.0)),
    ):
        yield from (base.but(defense=make(strength)) for strength in strengths)
    yield from (base.but(defense=EarlyStopping(patience)) for patience in (1, 2, 4))


def tuned(base: Configuration, defense: Plain, epochs: int = 20) -> Configuration:
    experiment = "images tuned" if base.data == QUICK.images.data else "baskets tuned"
    return base.then(defense, replace(QUICK.experiments[experiment].recipe, epochs=epochs))


def past() -> Iterator[Configuration]:
    """PAST over α and λ on the course's images, with its controls, variants and tuning epochs."""
    base = QUICK.images
    yield base
    yield tuned(base, Past(0.0))
    for strength in STRENGTHS:
        yield from (tuned(base, Past(strength, alpha)) for alpha in ALPHAS)
    yield from (tuned(base, Past(strength, 0.0)) for strength in (3e-3, 7e-3))  # to match an accuracy
    for alpha in (0.0, 1.5):
        yield from (tuned(base, Past(s, alpha, penalty="l2")) for s in (3e-3, 1e-2, 3e-2))
    for changes in ({"per": "epoch"}, {"proximal": True}, {"mixed_statistics": True}, {"clamp": 10.0}):
        yield from (tuned(base, Past(2e-3, alpha, **changes)) for alpha in (1.5, 2.5))
    for alpha in (0.0, 1.5):
        yield from (tuned(base, Past(2e-3, alpha), epochs) for epochs in EPOCHS if epochs != 20)
    yield from (base.but(defense=LossGap(a), trace=0) for a in (0.1, 0.3, 0.5))


def baskets() -> Iterator[Configuration]:
    """PAST over α on the shopping baskets, three seeds of the setting that the tests hold to its promise."""
    base = QUICK.baskets
    for seed in range(3):
        yield base.but(seed=seed)
        yield tuned(base.but(seed=seed), Past(1e-3, 1.5))
    yield from (tuned(base, Past(*setting)) for setting in ((0.0, 0.0), (1e-3, 0.0), (1e-3, 2.5)))


def by_configuration(configurations: list[Configuration]) -> list[tuple]:
    """What the attacks said of each configuration's target, worked out side by side."""
    runs.get_all([c.but(side=side) for c in configurations for side in ("target", "shadow")])
    work = Parallel(n_jobs=-1, return_as="generator")(delayed(of_configuration)(c) for c in configurations)
    return list(tqdm(work, "attacks", total=len(configurations)))


def of_configuration(configuration: Configuration) -> tuple:
    pair = (runs.get(configuration.but(side=side)) for side in ("target", "shadow"))
    return attacked(*(seen(run.load_model(), run.side, run.configuration, run.history[-1]["epoch"]) for run in pair))


def epochs() -> Iterator[tuple]:
    """What the attacks said after every epoch of plain training, then of tuning by PAST and with λ = 0."""
    for configuration in (QUICK.images, *(tuned(QUICK.images, Past(s, 1.5)) for s in (2e-3, 0.0))):
        pair = [watched_fit(configuration.but(side=side)) for side in ("target", "shadow")]
        yield from (attacked(target, shadow) for target, shadow in zip(*pair, strict=True))


def watched_fit(configuration: Configuration) -> list[Seen]:
    """The model of this configuration, trained as `runs` does it, looked at before the first and after every epoch."""
    side, start = configuration.side_records(), configuration.start
    model = runs.get(start).load_model() if start else configuration.build_model()
    found = [seen(model, side, configuration, 0)]

    def look(model, epoch: int) -> None:
        found.append(seen(model, side, configuration, epoch, found[-1].facts["gradients"]))

    about = {"defense": configuration.defense, "seed": configuration.seed_for("fit"), "device": configuration.device}
    fit(model, side.train, configuration.recipe, **about, reference=side.inference, on_epoch=look)
    return found


def seen(model, side, configuration: Configuration, epoch: int, before: dict | None = None) -> Seen:
    """Ask the model everything, and measure its weights and their sensitivity."""
    images = side.train.x.ndim == 4
    views = {"rotations": (-4, 0, 4), "shifts": observe.shell(1)} if images else {}
    run = SimpleNamespace(load_model=lambda: model, side=side, signals=collect(model, side))
    signals = observe.watch(run, gradient=True, **views)
    gradients = {name: g.abs() for name, g in sensitivity.gap_gradient(model, side.train, side.test).items()}
    tuned_weights = sensitivity.weights(model)
    facts = {
        "loss_gap": loss_gap(signals),
        "train_accuracy": float(signals.members().correct().mean()),
        "inference_accuracy": float((predict(model, side.inference).argmax(axis=1) == side.inference.y).mean()),
        "weights": measured(tuned_weights),
        "sensitivity": shared(gradients, sensitivity.kinds(model)),
        "gradients": gradients,
    }
    if before is not None:
        facts["migration"] = sensitivity.migration(before, gradients)
    settings = {"defense": type(configuration.defense).__name__, **asdict(configuration.defense)}
    settings |= {"epochs": configuration.recipe.epochs, "epoch": epoch, "seed": configuration.seed}
    return Seen(settings | {"tuning": bool(configuration.before)}, signals, facts)


def measured(weights: dict) -> dict:
    """How sparse the weights are, by every measure, and their histogram."""
    w = sensitivity.flat(weights)
    sparsity = {"gini": sensitivity.gini(w), "hoyer": sensitivity.hoyer(w)}
    sparsity["shifted gini"] = sensitivity.gini(w, shifted=True)
    counts = np.histogram(w.clip(EDGES[0], EDGES[-1]), EDGES)[0].tolist()
    return sparsity | {"near zero": float((np.abs(w) < 1e-3).mean()), "histogram": counts}


def shared(gradients: dict, kinds: dict) -> dict:
    """Concentration of the sensitivity overall and in each module, and the last layer's, parameter by parameter."""
    overall, low = sensitivity.concentration(gradients)
    gamma = {name: sensitivity.adaptive_weight(g) for name, g in gradients.items()}
    modules = {
        name: {"kind": kinds[name], "mean": float(g.mean()), "top": sensitivity.concentration(g)[0], "size": g.numel()}
        for name, g in gradients.items()
    }
    last = [round(float(value), 5) for value in list(gradients.values())[-1].flatten()[:400]]
    about = {"top": overall, "below 0.1": low, "gamma below 0.1": sensitivity.concentration(gamma)[1]}
    return about | {"mean": float(sensitivity.flat(gradients).mean()), "modules": modules, "last": last}


def attacked(target: Seen, shadow: Seen) -> tuple[dict, dict[str, np.ndarray], Signals]:
    """(settings and facts, whom each attack calls a member, signals) of the target."""
    scores = every_attack(shadow.signals, target.signals.public(), leave_out=LEFT_OUT)
    row = target.settings | {name: fact for name, fact in target.facts.items() if name != "gradients"}
    return row, {name: one >= 0 for name, one in scores.items()}, target.signals


def table(found: Iterable[tuple]) -> Sweep:
    rows, votes, signals = zip(*found, strict=True)
    said = np.stack([np.stack(list(each.values())) for each in votes])  # (rows, attacks, n)
    right = np.stack([each.correct() for each in signals])
    return Sweep(list(rows), list(votes[0]), said, right, signals[0].is_member)


SWEEPS = {"simple": simple, "past": past, "baskets": baskets}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", choices=[*SWEEPS, "epochs"])
    for name in parser.parse_args().names:
        found = epochs() if name == "epochs" else by_configuration(list(SWEEPS[name]()))
        (ROOT / "data" / "sweeps").mkdir(exist_ok=True)
        table(found).save(ROOT / "data" / "sweeps" / f"{name}.npz")


if __name__ == "__main__":
    main()
