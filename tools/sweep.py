"""Make the shipped tables: every setting of a sweep, target and shadow, attacked by every attack
(`mialib.course.sweeps`).

    python tools/sweep.py simple            # names in SWEEPS; all of them take about an hour

Runs go through the store, side by side, so that a second call does only what is missing. With
--keep, settings that the shipped table has already are not made again: another machine rounds
differently, and so would every number.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from itertools import product

import numpy as np
from joblib import Parallel, delayed
from tqdm.auto import tqdm

from mialib import metrics, profiles, query, runs, sensitivity
from mialib.configurations import Configuration, imp
from mialib.course.sweeps import EDGES, FPRS, MARGINS, Sweep, load
from mialib.defenses import (
    CRL,
    DMP,
    DPSGD,
    L1,
    L2,
    AdvReg,
    BestCheckpoint,
    ConfidencePenalty,
    Distillation,
    Dropout,
    EarlyStopping,
    LabelSmoothing,
    LossGap,
    MixupMMD,
    Past,
    Plain,
    RelaxLoss,
    Stop,
)
from mialib.query import predict
from mialib.signals import Signals, loss_gap
from mialib.sparsity.magnitude import layers, masks, remaining
from mialib.training import Defense, fit
from paths import ROOT
from record import every_attack

QUICK = profiles.load("quick")
IMAGES = QUICK.experiments["images short"]
ALPHAS, STRENGTHS, EPOCHS = (
    (0.0, 0.5, 1.0, 1.5, 2.0, 2.5),
    (1e-4, 5e-4, 1e-3, 2e-3, 5e-3),
    (5, 10, 20, 40),
)
LEFT_OUT = ("loss per class", "neural (CRL)", "gradient ℓ1")  # near relatives of others


@dataclass
class Seen:
    """One model at one moment: what the attacks ask of it, and facts."""

    settings: dict
    signals: Signals
    facts: dict


def simple() -> Iterator[Configuration]:
    """Every simple defense at several strengths on the course's images."""
    base = IMAGES.but(
        trace=0, validation=0.1
    )  # Early stopping needs it, and all must have the same members.
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


def tuned(base: Configuration, defense: Defense, epochs: int = 20) -> Configuration:
    experiment = "images short tuned" if base.data == IMAGES.data else "baskets tuned"
    return base.then(defense, replace(QUICK.experiments[experiment].recipe, epochs=epochs))


def past() -> Iterator[Configuration]:
    """PAST over α and λ on the course's images, with its controls, variants and tuning epochs."""
    base = IMAGES
    yield base
    yield tuned(base, Past(0.0))
    for strength in STRENGTHS:
        yield from (tuned(base, Past(strength, alpha)) for alpha in ALPHAS)
    yield from (
        tuned(base, Past(strength, 0.0)) for strength in (3e-3, 7e-3)
    )  # to match an accuracy
    for alpha in (0.0, 1.5):
        yield from (tuned(base, Past(s, alpha, penalty="l2")) for s in (3e-3, 1e-2, 3e-2))
    for changes in (
        {"per": "epoch"},
        {"proximal": True},
        {"mixed_statistics": True},
        {"clamp": 10.0},
    ):
        yield from (tuned(base, Past(2e-3, alpha, **changes)) for alpha in (1.5, 2.5))
    for alpha in (0.0, 1.5):
        yield from (tuned(base, Past(2e-3, alpha), epochs) for epochs in EPOCHS if epochs != 20)
    yield from (base.but(defense=LossGap(a), trace=0) for a in (0.1, 0.3, 0.5))


def baskets() -> Iterator[Configuration]:
    """PAST over α on the shopping baskets, three seeds of the setting that the tests hold to its
    promise.
    """
    base = QUICK.baskets
    for seed in range(3):
        yield base.but(seed=seed)
        yield tuned(base.but(seed=seed), Past(1e-3, 1.5))
    yield from (tuned(base, Past(*setting)) for setting in ((0.0, 0.0), (1e-3, 0.0), (1e-3, 2.5)))


LONG = QUICK.experiments["images long"]


def relaxed() -> Iterator[Configuration]:
    """RelaxLoss and CRL over their settings, trained for longer than the course's models; some by
    three seeds.
    """
    for seed in range(3):
        for defense in (Plain(), RelaxLoss(0.5), RelaxLoss(1.0), CRL(0.5), CRL(1.0)):
            yield LONG.but(defense=defense, seed=seed)
        yield from (LONG.but(defense=CRL(alpha, lam=0.0), seed=seed) for alpha in (0.5, 1.0))
    more = [RelaxLoss(0.25), RelaxLoss(1.5), RelaxLoss(0.5, form="crl"), RelaxLoss(1.0, form="crl")]
    more += [CRL(alpha, lam=weight) for alpha in (0.25, 1.5) for weight in (0.0, 0.1)]
    for alpha in (0.5, 1.0):
        more += [CRL(alpha, lam=0.3)]
        more += [CRL(alpha, limit) for limit in (0.75, 1.0)]
        more += [CRL(alpha, tau_rce=tau) for tau in (0.0, 0.2)]
        more += [
            CRL(alpha, 10.0, 0.0, 0.0, weight) for weight in (1e-3, 1e-2)
        ]  # centers without normalisation
    more += [CRL(tau_rcl=0.3), CRL(tau_rcl=3.0), CRL(lam=1.0), CRL(printed_step=True)]
    # Limits that the center loss comes below, so that it relaxes.
    more += [CRL(alpha, 25.0, 0.0, 0.0, 1e-2) for alpha in (0.5, 1.0)]
    more += [CRL(alpha_rcl=0.65, lam=0.3), CRL(alpha_rcl=3.5, tau_rcl=0.3)]
    yield from (LONG.but(defense=defense) for defense in more)
    for seed in (1, 2):  # What lesson 10 recommends.
        yield from (LONG.but(defense=one, seed=seed) for one in (CRL(lam=0.3), CRL(tau_rcl=0.3)))


def learned() -> Iterator[Configuration]:
    """The defenses of lesson 11 at several strengths, with what each is compared with; PAST on top
    of some.
    """
    yield LONG
    usual, longer = LONG.recipe, replace(LONG.recipe, epochs=60)
    private = LONG.but(options=LONG.options | {"norm": "group"})
    yield from (LONG.but(defense=AdvReg(strength)) for strength in (0.3, 1.0, 3.0))
    yield from (LONG.but(defense=MixupMMD(strength)) for strength in (0.0, 1.0, 3.0, 10.0))
    yield from (LONG.but(defense=MixupMMD(strength, mixup=0.0)) for strength in (1.0, 3.0, 10.0))
    yield from (
        LONG.then(defense, longer)
        for defense in (DMP(source="selected"), DMP(), DMP(source="synthetic"))
    )
    yield from (LONG.then(Distillation(temperature), usual) for temperature in (1.0, 4.0))
    yield private
    yield from (
        private.but(defense=DPSGD(noise), recipe=replace(usual, lr=0.5))
        for noise in (0.3, 1.0, 3.0)
    )
    tuning = replace(usual, epochs=20, lr=0.02)
    for defense in (Plain(), RelaxLoss(0.5), CRL(0.5), AdvReg(1.0), MixupMMD(3.0)):
        yield from (
            LONG.but(defense=defense).then(Past(strength, 1.5), tuning)
            for strength in (0.0, 1e-3, 1e-2)
        )


DENSE = QUICK.experiments["images dense"]


def pruned() -> Iterator[Configuration]:
    """IMP by three seeds, also with rewinding; the same rounds without pruning, and one-shot
    pruning; and, for their accuracy, dense networks that are stopped early or narrow.
    """
    for seed in range(3):
        base = DENSE.but(seed=seed)
        yield from imp(base, 8, share=0.36)
        yield from imp(base, 3, share=0.0)[1:]
        yield from (imp(base, 1, share=round(1 - 0.64**k, 4))[-1] for k in (4, 8))
        yield from (base.but(defense=Stop(after)) for after in (3, 5, 7, 9, 12))
        yield from (
            base.but(options={"width": width}, defense=BestCheckpoint()) for width in (2, 3, 5)
        )
        yield from imp(base, 8, share=0.36, rewind=True)[1:]


def butterflies() -> Iterator[Configuration]:
    """Butterflies in the last S segments with L factors, by three seeds; dense ones first."""
    for seed in range(3):
        base = DENSE.but(seed=seed, defense=BestCheckpoint())
        yield base
        for segments, factors in product((1, 2, 3), (2, 3)):
            yield base.but(options=base.options | {"segments": segments, "factors": factors})


def by_configuration(
    configurations: list[Configuration], of: Callable[[Configuration], tuple]
) -> list[tuple]:
    """What the attacks said of each configuration's target, worked out side by side."""
    runs.get_all([c.but(side=side) for c in configurations for side in ("target", "shadow")])
    work = Parallel(n_jobs=-1, return_as="generator")(delayed(of)(c) for c in configurations)
    return list(tqdm(work, "attacks", total=len(configurations)))


def of_configuration(configuration: Configuration) -> tuple:
    pair = [runs.get(configuration.but(side=side)) for side in ("target", "shadow")]
    return attacked(
        *(
            seen(run.load_model(), run.side, run.configuration, run.history[-1]["epoch"])
            for run in pair
        )
    )


def of_longer_run(configuration: Configuration) -> tuple:
    """What lessons 10 and 11 draw: the history, the distances to the boundary and the ROC of the
    loss.
    """
    pair = [runs.get(configuration.but(side=side)) for side in ("target", "shadow")]
    found = []
    for run in pair:
        model, truth = run.load_model(), run.signals.is_member
        records = query.members_then_nonmembers(run.side)
        margin = query.margins(model, records).clip(MARGINS[0], MARGINS[-1])
        fpr, tpr, _ = metrics.roc(-run.signals.loss(), truth)
        facts = {
            "loss_gap": loss_gap(run.signals),
            "train_accuracy": float(run.signals.members().correct().mean()),
            "history": [
                {name: round(value, 4) for name, value in epoch.items()} for epoch in run.history
            ],
            "margins": [
                np.histogram(margin[rows], MARGINS)[0].tolist() for rows in (truth, ~truth)
            ],
            "roc": [round(float(tpr[fpr <= limit].max()), 4) for limit in FPRS],
        }
        found.append(
            Seen(described(configuration, run.history[-1]["epoch"]), asked(model, run.side), facts)
        )
    return attacked(*found)


def of_sparse_run(configuration: Configuration) -> tuple:
    """What lessons 12 and 13 draw: how much remains, where, and how large; the discriminator is
    asked too.
    """
    found = []
    for run in (runs.get(configuration.but(side=side)) for side in ("target", "shadow")):
        model, signals = run.load_model(), run.signals
        kept = masks(model)
        facts = {
            "loss_gap": loss_gap(signals),
            "train_accuracy": float(signals.members().correct().mean()),
            "remaining": remaining(model),
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
            "by_layer": {name: float(mask.float().mean()) for name, mask in kept.items()},
            "weights": measured({name: layer.weight for name, layer in layers(model).items()}),
        }
        if configuration in imp(DENSE, 8, share=0.36):  # The slider over rounds shows them.
            facts["masks"] = {
                name: np.packbits(mask.numpy()).tobytes().hex() for name, mask in kept.items()
            }
        settings = described(configuration, run.history[-1]["epoch"]) | {
            "rounds": len(configuration.before)
        }
        settings |= {"width": 8, "segments": 0, "factors": 0} | configuration.options
        found.append(Seen(settings, asked(model, run.side, noise=True), facts))
    return attacked(*found)


def epochs() -> Iterator[tuple]:
    """What the attacks said after every epoch of plain training, then of tuning by PAST and with λ
    = 0.
    """
    for configuration in (IMAGES, *(tuned(IMAGES, Past(s, 1.5)) for s in (2e-3, 0.0))):
        pair = [watched_fit(configuration.but(side=side)) for side in ("target", "shadow")]
        yield from (attacked(target, shadow) for target, shadow in zip(*pair, strict=True))


def watched_fit(configuration: Configuration) -> list[Seen]:
    """The model of this configuration, trained as `runs` does it, looked at before the first and
    after every epoch.
    """
    side, start = configuration.side_records(), configuration.start
    model = runs.get(start).load_model() if start else configuration.build_model()
    found = [seen(model, side, configuration, 0)]

    def look(model, epoch: int) -> None:
        found.append(seen(model, side, configuration, epoch, found[-1].facts["gradients"]))

    about = {
        "defense": configuration.defense,
        "seed": configuration.seed_for("fit"),
        "device": configuration.device,
    }
    fit(model, side.train, configuration.recipe, **about, inference=side.inference, on_epoch=look)
    return found


def seen(model, side, configuration: Configuration, epoch: int, before: dict | None = None) -> Seen:
    """Ask the model everything, and measure its weights and their sensitivity."""
    signals = asked(model, side)
    gradients = {
        name: g.abs() for name, g in sensitivity.gap_gradient(model, side.train, side.test).items()
    }
    tuned_weights = sensitivity.weights(model)
    facts = {
        "loss_gap": loss_gap(signals),
        "train_accuracy": float(signals.members().correct().mean()),
        "inference_accuracy": float(
            (predict(model, side.inference).argmax(axis=1) == side.inference.y).mean()
        ),
        "weights": measured(tuned_weights),
        "sensitivity": shared(gradients, sensitivity.kinds(model)),
        "gradients": gradients,
    }
    if before is not None:
        facts["migration"] = sensitivity.migration(before, gradients)
    return Seen(described(configuration, epoch), signals, facts)


def asked(model, side, *, noise: bool = False) -> Signals:
    """All that the attacks ask of a model; the discriminator, if there is to be one, asks about
    `noise`.
    """
    if side.train.x.ndim != 4:
        return query.ask(model, side, noise=noise, gradient=True)
    shifts = query.l1_shifts(1)
    return query.ask(model, side, rotations=(-4, 0, 4), shifts=shifts, noise=noise, gradient=True)


def described(configuration: Configuration, epoch: int) -> dict:
    settings = {"defense": type(configuration.defense).__name__, **asdict(configuration.defense)}
    settings |= {"epochs": configuration.recipe.epochs, "epoch": epoch, "seed": configuration.seed}
    if configuration.before:
        settings["after"] = type(configuration.before[-1].defense).__name__
    return settings | {
        "tuning": bool(configuration.before),
        "norm": configuration.options.get("norm", "batch"),
    }


def measured(weights: dict) -> dict:
    """How sparse the weights are, by every measure, and their histogram."""
    w = sensitivity.flat(weights)
    sparsity = {"gini": sensitivity.gini(w), "hoyer": sensitivity.hoyer(w)}
    sparsity["shifted gini"] = sensitivity.gini(w, shifted=True)
    counts = np.histogram(w.clip(EDGES[0], EDGES[-1]), EDGES)[0].tolist()
    return sparsity | {"near zero": float((np.abs(w) < 1e-3).mean()), "histogram": counts}


def shared(gradients: dict, kinds: dict) -> dict:
    """Concentration of the sensitivity overall and in each module, and the last layer's, parameter
    by parameter.
    """
    overall, low = sensitivity.concentration(gradients)
    gamma = {name: sensitivity.adaptive_weight(g) for name, g in gradients.items()}
    modules = {
        name: {
            "kind": kinds[name],
            "mean": float(g.mean()),
            "top": sensitivity.concentration(g)[0],
            "size": g.numel(),
        }
        for name, g in gradients.items()
    }
    last = [round(float(value), 5) for value in list(gradients.values())[-1].flatten()[:400]]
    about = {
        "top": overall,
        "below 0.1": low,
        "gamma below 0.1": sensitivity.concentration(gamma)[1],
    }
    return about | {
        "mean": float(sensitivity.flat(gradients).mean()),
        "modules": modules,
        "last": last,
    }


def attacked(target: Seen, shadow: Seen) -> tuple[dict, dict[str, np.ndarray], Signals]:
    """(settings and facts, whom each attack calls a member, signals) of the target."""
    public = target.signals.public()
    fitted = every_attack(shadow.signals, public, leave_out=LEFT_OUT)
    row = target.settings | {
        name: fact for name, fact in target.facts.items() if name != "gradients"
    }
    return row, {name: attack.calls(public) for name, attack in fitted.items()}, target.signals


def table(found: Iterable[tuple]) -> Sweep:
    rows, votes, signals = zip(*found, strict=True)
    said = np.stack([np.stack(list(each.values())) for each in votes])  # (rows, attacks, n)
    right = np.stack([each.correct() for each in signals])
    return Sweep(list(rows), list(votes[0]), said, right, signals[0].is_member)


def extended(
    old: Sweep, configurations: list[Configuration], of: Callable[[Configuration], tuple]
) -> Sweep:
    """The rows of these configurations, from the old table where it has them."""
    asked = [json.loads(json.dumps(described(c, 0))) for c in configurations]
    there = [
        old.all(**{name: value for name, value in one.items() if name != "epoch"}) for one in asked
    ]
    new = table(
        by_configuration(
            [c for c, rows in zip(configurations, there, strict=True) if len(rows) != 1], of
        )
    )
    assert new.attacks == old.attacks
    assert np.array_equal(new.is_member, old.is_member)
    made = iter(range(len(new.rows)))
    places = [(old, *rows) if len(rows) == 1 else (new, next(made)) for rows in there]
    arrays = (
        np.stack([getattr(sweep, name)[k] for sweep, k in places]) for name in ("votes", "correct")
    )
    return Sweep([sweep.rows[k] for sweep, k in places], old.attacks, *arrays, old.is_member)


SWEEPS = {
    "simple": (simple, of_configuration),
    "past": (past, of_configuration),
    "baskets": (baskets, of_configuration),
    "relaxed": (relaxed, of_longer_run),
    "learned": (learned, of_longer_run),
    "pruned": (pruned, of_sparse_run),
    "butterflies": (butterflies, of_sparse_run),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="+", choices=[*SWEEPS, "epochs"])
    parser.add_argument(
        "--keep", action="store_true", help="keep the rows that the shipped table has"
    )
    arguments = parser.parse_args()
    for name in arguments.names:
        if name == "epochs":
            found = table(epochs())
        else:
            configurations, of = SWEEPS[name]
            wanted = list(configurations())
            found = (
                extended(load(name), wanted, of)
                if arguments.keep
                else table(by_configuration(wanted, of))
            )

        found.save(ROOT / "mialib" / "shipped" / "sweeps" / f"{name}.npz")


if __name__ == "__main__":
    main()
