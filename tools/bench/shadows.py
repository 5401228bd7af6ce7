"""Many shadow models: stacked or one by one, by the fast recipe, and what 256 of them cost.

    python -m bench shadows         # from the folder tools/; a few minutes

- **Stacked** by `torch.func`, 16 perceptrons take each step together, as one product of three axes.
  Measured is processor time in one thread: 16 models alone keep any number of cores busy, so what
  counts is the work. The library would stack from a ratio of 1.5 on. It is 0.5 to 0.6 on a CPU, so
  it does not: a layer of such a perceptron, of 1.3 million weights in all, is large enough for a
  core by itself, and 16 of them with their gradients and momenta leave its cache.
- **The fast bank** trains references by fewer epochs and larger batches. Its targets are the models
  of the usual bank, so what differs is what the attacker spends. Make it first: `mialib bank
  --profile cpu --experiment "bank fast"`.
- **What 256 cost** is an estimate: a few steps on noise, times the steps of them all.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap
from torch.nn import functional as F

from bench.timing import Row
from mialib import profiles
from mialib.attacks import RMIA, Attack, AttackR, LiRA, game, scores_per_target
from mialib.bank import Bank
from mialib.configurations import Configuration
from mialib.course.costs import one_thread
from mialib.experiments import banks, rehearsal
from mialib.query import Pair, pick_device, to_device
from mialib.results.repeats import InTurn, in_turn, in_turn_apart
from mialib.training import Recipe

SHADOWS = 16
ATTACKS: dict[str, Attack] = {"LiRA": LiRA(), "RMIA": RMIA(), "Attack R": AttackR()}


def rows() -> list[Row]:
    return [stacked_row(profiles.load("quick").baskets)]


# Stacked, or one by one.


def stacked_row(configuration: Configuration, *, rounds: int = 3) -> Row:
    """One epoch of all shadows, in seconds of the processor."""
    members = to_device(configuration.side_records().train, torch.device("cpu"))
    together = alone = float("inf")
    with one_thread():
        for _ in range(rounds):  # by turns, as `fastest` does it by the clock on the wall
            together = min(together, _processor_seconds(train_stacked, configuration, members))
            alone = min(alone, _processor_seconds(train_alone, configuration, members))
    what = f"{SHADOWS} shadows stacked against one by one, {configuration.model}, processor time"
    return Row(what, together, alone)


def _processor_seconds(train: Callable, configuration: Configuration, members: Pair) -> float:
    networks = [configuration.but(seed=seed).build_model() for seed in range(SHADOWS)]
    started = time.process_time()
    train(networks, members, configuration.recipe)
    return time.process_time() - started


def train_alone(networks: Sequence[nn.Module], members: Pair, recipe: Recipe) -> None:
    """One epoch of each network, in place; each has an order of its own."""
    x, y = members
    for network, order in zip(networks, _orders(len(y), len(networks)), strict=True):
        optimizer = recipe.optimizer(network)
        for chosen in order.split(recipe.batch_size):
            optimizer.zero_grad()
            F.cross_entropy(network(x[chosen]), y[chosen]).backward()
            optimizer.step()


def train_stacked(
    networks: Sequence[nn.Module], members: Pair, recipe: Recipe
) -> dict[str, Tensor]:
    """The same, every step taken by all networks together: their weights, (networks, …) each."""
    x, y = members
    weights, buffers = stack_module_state(list(networks))
    optimizer = torch.optim.SGD(
        weights.values(), recipe.lr, recipe.momentum, weight_decay=recipe.weight_decay
    )

    def loss(weights: dict, buffers: dict, x: Tensor, y: Tensor) -> Tensor:
        return F.cross_entropy(functional_call(networks[0], (weights, buffers), (x,)), y)

    orders = torch.stack(_orders(len(y), len(networks)))  # (networks, n)
    for chosen in orders.split(recipe.batch_size, dim=1):
        optimizer.zero_grad()
        # A network's weights are in no loss but its own, so the sum's gradient holds each one's.
        vmap(loss)(weights, buffers, x[chosen], y[chosen]).sum().backward()
        optimizer.step()
    return weights


def _orders(n: int, networks: int) -> list[Tensor]:
    return [
        torch.randperm(n, generator=torch.Generator().manual_seed(seed)) for seed in range(networks)
    ]


# The fast recipe.


class Compared(NamedTuple):
    """An attack by two banks of references, on the same targets: the usual models."""

    usual: InTurn
    fast: InTurn
    difference: InTurn  # fast − usual
    among_fast: InTurn  # where the targets, too, are trained by the fast recipe


def fast_against_usual(usual: Bank, fast: Bank) -> dict[str, Compared]:
    """Every attack, with each model of the usual bank as the target in turn."""
    if not np.array_equal(usual.is_member, fast.is_member):
        raise ValueError("The models of both banks must hold the same records; these do not.")
    compared = {}
    for name, attack in ATTACKS.items():
        with_usual = scores_per_target(usual, attack)
        with_fast = np.stack(list(_scores_by_others(usual, fast, attack)))
        compared[name] = Compared(
            usual=in_turn(with_usual, usual.is_member),
            fast=in_turn(with_fast, usual.is_member),
            difference=in_turn_apart(with_fast, with_usual, usual.is_member),
            among_fast=in_turn(scores_per_target(fast, attack), fast.is_member),
        )
    return compared


def _scores_by_others(targets: Bank, references: Bank, attack: Attack) -> Iterator[np.ndarray]:
    """The scores of each target by references that do not give its membership away."""
    for model, truth in enumerate(targets.is_member):
        is_other = (references.is_member != truth).any(axis=1)
        is_no_complement = (references.is_member == truth).any(axis=1)
        chosen = np.flatnonzero(is_other & is_no_complement)
        played = game(targets.signals(model), shadow=references.take(chosen))
        yield played.scores(attack)


def print_fast_bank(profile: str = "cpu") -> None:
    usual = banks.references_at(profile, "bank")
    fast = banks.references_at(profile, "bank fast")
    if usual is None or fast is None:
        command = f'mialib bank --profile {profile} --experiment "bank fast"'
        print(f"\nThe fast bank is not here. {command} makes it.")
        return
    models, n = usual.bank.is_member.shape
    print(
        f"\nReferences by the fast recipe: {models} models and targets, {n:,} records, `{profile}`"
    )
    print(f"{'AUC':<12}{'usual':>24}{'fast':>24}{'fast − usual':>26}{'targets fast, too':>24}")
    for name, one in fast_against_usual(usual.bank, fast.bank).items():
        numbers = f"{one.usual.auc!s:>24}{one.fast.auc!s:>24}{one.difference.auc!s:>26}"
        print(f"{name:<12}{numbers}{one.among_fast.auc!s:>24}")


# What many cost.


class Cost(NamedTuple):
    """What some models would take here, by a few steps of noise: an estimate."""

    models: int
    epochs: int
    members: int  # of each model
    seconds_per_epoch: float

    @property
    def examples_per_second(self) -> float:
        return self.members / self.seconds_per_epoch

    @property
    def hours(self) -> float:
        """Of all models, one after another."""
        return self.models * self.epochs * self.seconds_per_epoch / 3600


def cost_of(configuration: Configuration, models: int = 256) -> Cost:
    """Measured on this device; on a CPU with one core, by the time that this process was given."""
    dataset = rehearsal.dataset_of(configuration)
    on_cpu = pick_device(configuration.device).type == "cpu"
    clock = time.process_time if on_cpu else time.perf_counter
    with one_thread():
        seconds = rehearsal.seconds_per_epoch(configuration, clock=clock)
    members = rehearsal.part_sizes(configuration, dataset)["train"]
    return Cost(models, configuration.recipe.epochs, members, seconds)


def print_costs() -> None:
    for name in ("bank", "bank fast"):
        configuration = profiles.load("paper").experiments[name]
        device = pick_device(configuration.device)
        cost = cost_of(configuration)
        print(
            f"\nEstimate, `{name}` of `paper` on this {device.type}: {cost.models} × "
            f"{configuration.model}, {cost.members:,} records, {cost.epochs} epochs: "
            f"{cost.examples_per_second:,.0f} examples/s, {cost.hours:,.1f} hours in all "
            f"({cost.hours * 60 / cost.models:,.1f} minutes per model)."
        )
