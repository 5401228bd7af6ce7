"""The self-checks of lesson 14: advice for three clients, and a winner measured elsewhere.

`winner` has the numbers of the second exercise's solution.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from mialib.course import arena, contenders
from mialib.course.arena import Arena
from mialib.course.exercises.check import Answer, check


class Client(NamedTuple):
    """Somebody who asks for a defense."""

    data: str  # how the name of the arena begins
    promise: float  # of accuracy, to be given up at most
    need: str


CLIENTS = {
    "clinic": Client("photographs", 0.05, "no records beside the members"),
    "shop": Client("letters · CNN, 1,000", 0.02, "the model is trained already"),
    "student": Client("photographs", 0.05, "neither more records nor more time"),
}


@cache
def advised() -> dict[str, str]:
    """What the arena advises, by client."""
    rings = contenders.arenas("quick")
    found = {}
    for name, client in CLIENTS.items():
        ring = next(one for place, one in rings.items() if place.startswith(client.data))
        lines = arena.advice(ring, promise=client.promise)
        (line,) = (one for one in lines if one.need == client.need)
        found[name] = line.one.name if line.one else "nobody"
    return found


@check
def check_for_clients(answer: Answer) -> str | None:
    """Exercise 14.1: the setting that serves each client."""
    found = dict(answer())
    if set(found) != set(CLIENTS):
        return f"Expected a setting for each of {', '.join(CLIENTS)}; found {sorted(found)}."
    for name, setting in advised().items():
        if found[name] != setting:
            client = CLIENTS[name]
            return (
                f"The {name}: expected {setting!r}, found {found[name]!r}. Their data are "
                f"{client.data.split(' · ')[0]}, they give up {client.promise:.0%} at most, and "
                f"their need is {client.need!r}."
            )
    return None


class Winner(NamedTuple):
    """What the setting with the lowest leak has on two halves of the records."""

    chosen_by: float  # on the half by which it is the lowest
    measured_by: float  # on the other one


def winner(ring: Arena, number: str) -> Winner:
    """Of all that compete in an arena, by this number."""
    choosing, measuring = ring.halves
    best = min(choosing.competitors, key=lambda one: one.mean(number))
    return Winner(best.mean(number), measuring[best.name].mean(number))


@check
def check_honest_winner(answer: Answer) -> str | None:
    """Exercise 14.2: the winner of the first half, and its number on the second half."""
    rng = np.random.default_rng(0)
    for count in (1, 3, 20):
        choosing = rng.random(count)
        measuring = rng.random(count)
        expected = measuring[choosing.argmin()]
        found = answer(choosing.copy(), measuring.copy())
        if np.isclose(found, expected):
            continue
        case = f"For {count} settings expected {expected:.4f}, found {float(found):.4f}."
        if np.isclose(found, choosing.min()):
            return f"{case} That is the number that chose it; take the other half's."
        if np.isclose(found, measuring.min()):
            return f"{case} The second half chose, too; let it only measure."
        return f"{case} Which setting is lowest in `choosing`?"
    return None
