"""The small network of the learned attacks, and its answer as log-odds of membership.

    network = fit_perceptron(x, is_member, hidden=(64, 32), rate=1e-3, epochs=100, batch=128)
    scores = log_odds(network, target_x, prior=prior_log_odds(is_member))

`neural`, `discriminator`, `augmentation` and `trajectory` differ in what they feed it with.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from mialib.signals import Signals

SMALLEST_P = 1e-15  # A network that is sure must not give infinite log-odds.


def fit_perceptron(
    x: np.ndarray,
    is_member: np.ndarray,
    *,
    hidden: tuple[int, ...],
    rate: float,
    epochs: int,
    batch: int,
    seed: int = 0,
) -> Any:
    """Scikit-learn's network, trained by Adam for exactly so many epochs, no weight decay."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    network = MLPClassifier(
        hidden,
        batch_size=min(batch, len(x)),  # pyright: ignore[reportArgumentType]
        learning_rate_init=rate,
        max_iter=epochs,
        n_iter_no_change=epochs + 1,
        tol=0,
        alpha=0.0,
        random_state=seed,
    )
    # So small a network only waits for a second thread; and the papers fix the number of epochs.
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        # In float32 a wide network learns in half the time.
        network.fit(np.asarray(x, np.float32), is_member)
    # Log-odds need float64: in float32 a sure answer would be 1.
    network.coefs_ = [weights.astype(np.float64) for weights in network.coefs_]
    network.intercepts_ = [biases.astype(np.float64) for biases in network.intercepts_]
    return network


def log_odds(network: Any, x: np.ndarray, *, prior: float) -> np.ndarray:
    """log p/(1 − p) of membership, less the `prior` of the network's own records: (n,)."""
    x = np.asarray(x, np.float64)
    p = network.predict_proba(x)[:, 1]
    p = p.clip(SMALLEST_P, 1 - SMALLEST_P)
    odds = p / (1 - p)
    return np.log(odds) - prior


def prior_log_odds(is_member: np.ndarray) -> np.float64:
    """The log-odds of membership among these records: 0 where half of them are members."""
    return np.log(is_member.sum() / (~is_member).sum())


def outputs_and_label(signals: Signals) -> np.ndarray:
    """Softmax and one-hot label side by side: (n, 2 × classes)."""
    classes = signals.logits.shape[1]
    one_hot = np.eye(classes)[signals.labels]
    return np.hstack([signals.probabilities(), one_hot])
