"""Learned attacks: a small network tells members from non-members by what a model answers.

- `neural_attack(form="past")`: PAST's, the outputs through hidden layers of 64 and 32, Adam.
- `neural_attack(form="crl")`: CRL's, softmax and label through 128 and 64 with dropout, SGD; meant for k = 5 shadows.
- `discriminator_attack`: the sparsity paper's, which also sees how the outputs answer to noise on the input.
- `augmentation_attack` sees predicted labels alone: a model is right on more copies of a record that it has memorised.

All are fitted on shadows alone. Scores are log-odds, so 0 is the network's own threshold; where a shadow's members and
non-members are not equally many, their odds are taken out. Introduced in notebooks 03 and 04."""

import warnings
from itertools import product

import numpy as np
from threadpoolctl import threadpool_limits

from mialib.attacks.threshold import fitted_on
from mialib.errors import check_choice, refuse
from mialib.signals import Shadows, Signals, predict


def neural_attack(
    shadow: Shadows, target: Signals, *, form="past", outputs="softmax", seed: int = 0
) -> np.ndarray:
    """Log-odds of membership by PAST's or CRL's attack network: (n,). PAST's paper feeds the network with logits, its
    code with the softmax; `outputs` chooses. CRL's always sees the softmax and the label."""
    check_choice("neural attack", form, ("past", "crl"))
    check_choice("kind of outputs", outputs, ("softmax", "logits"))
    shadow = fitted_on(shadow, target)
    if form == "crl":
        return _crl(shadow, target, seed)
    ours, theirs = (
        s.probabilities() if outputs == "softmax" else s.logits for s in (shadow, target)
    )
    network = perceptron(
        ours, shadow.is_member, hidden=(64, 32), rate=1e-3, epochs=100, batch=128, seed=seed
    )
    return log_odds(network, theirs, shadow.is_member)


def perceptron(
    x: np.ndarray,
    is_member: np.ndarray,
    *,
    hidden,
    rate: float,
    epochs: int,
    batch: int,
    seed: int = 0,
):
    """Scikit-learn's network, trained by Adam for exactly so many epochs and without weight decay."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    exactly = {
        "max_iter": epochs,
        "n_iter_no_change": epochs + 1,
        "tol": 0,
        "alpha": 0.0,
        "random_state": seed,
    }
    network = MLPClassifier(
        hidden, batch_size=min(batch, len(x)), learning_rate_init=rate, **exactly
    )
    with (
        warnings.catch_warnings(),
        threadpool_limits(1),
    ):  # So small a network only waits for a second thread.
        warnings.simplefilter("ignore", ConvergenceWarning)  # The papers fix the number of epochs.
        return network.fit(np.asarray(x, np.float64), is_member)


def log_odds(network, x: np.ndarray, is_member: np.ndarray) -> np.ndarray:
    """log p/(1 − p) of membership, less the log-odds among the records that the network was trained on."""
    p = network.predict_proba(np.asarray(x, np.float64))[:, 1].clip(1e-15, 1 - 1e-15)
    return np.log(p / (1 - p)) - np.log(is_member.sum() / (~is_member).sum())


def outputs_and_label(signals: Signals) -> np.ndarray:
    """Softmax and one-hot label side by side: (n, 2 × classes)."""
    return np.hstack([signals.probabilities(), np.eye(signals.logits.shape[1])[signals.labels]])


def _crl(shadow: Signals, target: Signals, seed: int) -> np.ndarray:
    """CRL's network: 100 epochs of SGD, the rate divided by ten after 30, 60 and 90."""
    from torch import default_generator, nn, random

    from mialib.data import Records
    from mialib.training import Recipe, fit

    ours, theirs = (outputs_and_label(signals).astype(np.float32) for signals in (shadow, target))
    with random.fork_rng(devices=[]):
        default_generator.manual_seed(seed)
        layers = [
            nn.Linear(ours.shape[1], 128),
            nn.ReLU(),
            nn.Dropout(0.2),
            nn.Linear(128, 64),
            nn.ReLU(),
        ]
        network = nn.Sequential(*layers, nn.Dropout(0.2), nn.Linear(64, 64), nn.Linear(64, 2))
    steps = {"schedule": "steps", "milestones": (0.3, 0.6, 0.9), "factors": (0.1, 0.01, 0.001)}
    labelled = Records("attack", ours, shadow.is_member.astype(int), 2)
    with threadpool_limits(1):
        fit(network, labelled, Recipe(100, 256, lr=0.1, **steps), seed=seed, device="cpu")
    out, member = predict(network, Records("attack", theirs, np.zeros(len(theirs), int), 2)).T
    return (member - out).astype(np.float64) - np.log(
        shadow.is_member.sum() / (~shadow.is_member).sum()
    )


def discriminator_attack(
    shadow: Shadows, target: Signals, *, seed: int = 0, grid: list | None = None
) -> np.ndarray:
    """Log-odds by the best of nine perceptrons on class, prediction and answer to noise, the column of signals that
    `observe.watch(run, noise=True)` collects: (n,). A `grid` fitted on this shadow before is not fitted again."""
    shadow, features = (
        fitted_on(shadow, target),
        np.hstack([outputs_and_label(target), target.column("noise")]),
    )
    *_, network = (grid or discriminator_grid(shadow, seed=seed))[0]
    return log_odds(network, features, shadow.is_member)


def discriminator_grid(shadow: Signals, *, seed: int = 0) -> list[tuple]:
    """(hidden layers, rate, accuracy, network) of nine perceptrons, 80 epochs of Adam each; the best first. They are
    compared on a fifth of the shadow's records that none was trained on, never on the target."""
    from sklearn.model_selection import train_test_split

    features, is_member = (
        np.hstack([outputs_and_label(shadow), shadow.column("noise")]),
        shadow.truth(),
    )
    split, found = {"test_size": 0.2, "random_state": seed, "stratify": is_member}, []
    x, x_aside, told, aside = train_test_split(features, is_member, **split)
    for hidden, rate in product(((30,), (30, 30), (100, 100, 100)), (1e-2, 1e-3, 1e-4)):
        network = perceptron(x, told, hidden=hidden, rate=rate, epochs=80, batch=200, seed=seed)
        found.append((hidden, rate, float((network.predict(x_aside) == aside).mean()), network))
    return sorted(found, key=lambda candidate: -candidate[2])


def augmentation_attack(
    shadow: Shadows,
    target: Signals,
    *,
    views="rotations",
    columns=slice(None),
    form="original",
    seed: int = 0,
) -> np.ndarray:
    """Log-odds of membership from bits: is the label still predicted when the image is turned, or shifted? `views` are
    the "rotations" or "shifts" that `observe.watch` collects; `columns` (a slice or a list) picks some of them: (n,).
    `form="original"` (Choquette-Choo and others): one network of two layers of 10 for each class, batch 1, one epoch,
    the rate chosen on the shadow; their activation is a leaky ReLU, ours a plain one. `form="past"` (PAST's code): one
    network of 64 and 32 for all classes, five epochs."""
    check_choice("augmentation attack", form, ("original", "past"))
    shadow = fitted_on(shadow, target)
    bits = [signals.column(views) for signals in (shadow, target)]
    alike, found = (
        bits[0].ndim == 2 and bits[0].shape[1:] == bits[1].shape[1:],
        f"{bits[0].shape} and {bits[1].shape}",
    )
    refuse(
        not alike,
        f"Shadow and target must be asked about the same copies, (n, copies) each; found {found}.",
    )
    ours, theirs = (one[:, columns].astype(np.float64) for one in bits)
    common = perceptron(
        ours, shadow.is_member, hidden=(64, 32), rate=1e-3, epochs=5, batch=128, seed=seed
    )
    scores = log_odds(common, theirs, shadow.is_member)
    for label in np.unique(target.labels) if form == "original" else ():
        own, asked = shadow.labels == label, target.labels == label
        # A class of which the shadow has too little takes the network of all classes.
        if min(np.bincount(shadow.is_member[own], minlength=2)) >= 2:
            known_bits, held = ours[own], shadow.is_member[own]
            settings = {"hidden": (10, 10), "epochs": 1, "batch": 1, "seed": seed}
            networks = [
                perceptron(known_bits, held, rate=rate, **settings)
                for rate in (1e-3, 5e-3, 1e-2, 5e-2)
            ]
            best = max(
                networks, key=lambda network: network.score(known_bits, held)
            )  # as in the original code
            scores[asked] = log_odds(best, theirs[asked], held)
    return scores
