"""The self-checks of lesson 11: a defense for each client, and the privacy an attack refutes."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from mialib.course.exercises.check import Answer, check, same_as
from mialib.epsilon import least_epsilon
from mialib.experiments.running import shipped_path
from mialib.results import Results

# Exercise 11.1. What a defense asks for beside the members, from nothing to most.
DATA = ("nothing", "records without labels", "records with labels")


class Family(NamedTuple):
    """A defense of the lesson: its name among the results, and what it asks for."""

    defense: str
    fixed: dict[str, object]
    needs: str
    promises: bool = False


class Client(NamedTuple):
    """Who asks: what there is beside the members, how much accuracy may go, what must be proven."""

    has: str
    may_lose: float
    wants_promise: bool = False


FAMILIES = {
    "AdvReg": Family("AdvReg", {}, DATA[2]),
    "Mixup+MMD": Family("MixupMMD", {"mixup": 1.0}, DATA[2]),
    "distillation": Family("Distillation", {}, DATA[0]),
    "DMP, all": Family("DMP", {"source": "all"}, DATA[1]),
    "DMP, synthetic": Family("DMP", {"source": "synthetic"}, DATA[0]),
    "DP-SGD": Family("DPSGD", {}, DATA[0], promises=True),
}
NONE = "none"
CLIENTS = {
    "shop": Client(DATA[1], 0.1),
    "school": Client(DATA[2], 0.05),
    "clinic": Client(DATA[0], 0.1),
    "bank": Client(DATA[0], 1.0, wants_promise=True),
}


@check
def check_choices(answer: Answer) -> str | None:
    """Exercise 11.1: of what a client can use and may pay for, the defense that leaks least."""
    found = answer()
    if not isinstance(found, dict):
        return f"Answer with a dictionary by client; found {type(found).__name__}."
    for name, client in CLIENTS.items():
        complaint = _choice_complaint(found.get(name), client)
        if complaint:
            return f"The {name}: {complaint}"
    return None


def _choice_complaint(choice: object, client: Client) -> str | None:
    if choice not in (*FAMILIES, NONE):
        return f"answer one of {', '.join((*FAMILIES, NONE))}; found {choice!r}."
    leaks = usable(client)
    best = min(leaks, key=leaks.__getitem__) if leaks else NONE
    if choice == best:
        return None
    if choice == NONE:
        return "one of them does help here. Go through the table of results once more."
    family = FAMILIES[str(choice)]
    if DATA.index(family.needs) > DATA.index(client.has):
        return f"{choice} asks for {family.needs}; this client has {client.has}."
    if client.wants_promise and not family.promises:
        return f"{choice} was measured against some attacks. What holds for every attack?"
    if choice not in leaks:
        return f"{choice} costs too much accuracy, or does not leak less than undefended."
    return f"another one leaks less than {choice} and loses no more than {client.may_lose:g}."


def usable(client: Client) -> dict[str, float]:
    """The highest advantage of what this client can use, where it is significantly lower."""
    leaks = {}
    for name, family in FAMILIES.items():
        has_data = DATA.index(family.needs) <= DATA.index(client.has)
        if has_data and (family.promises or not client.wants_promise):
            fitting = [one for one in _settings(name) if _fits(one, client)]
            if fitting:
                leaks[name] = min(float(one.by_seed("highest").mean()) for one in fitting)
    return leaks


def _fits(one: Results, client: Client) -> bool:
    change = one.paired(_plain(), "highest")
    lost = -one.paired(_plain(), "accuracy").value
    return change.high < 0 and lost <= client.may_lose


@cache
def _table() -> Results:
    """The shipped one, whatever a reader has trained since."""
    return Results.read(shipped_path("learned", "quick"))


@cache
def _plain() -> Results:
    return _table().find(defense="Plain")


@cache
def _settings(name: str) -> list[Results]:
    family = FAMILIES[name]
    found = _table().where(defense=family.defense, **family.fixed)
    return [one.finished() for one in found.settings()]


# Exercise 11.2: both inequalities, never below 0, and infinite where a promise is broken at once.
check_least_epsilon = same_as(
    least_epsilon,
    (0.5, 0.1, 0.0),
    (0.999, 0.5, 1e-5),
    (0.2, 0.6, 1e-5),
    (0.05, 0.01, 0.1),
    (0.3, 0.0, 1e-5),
    (1.0, 0.4, 1e-5),
    hint="Take the larger ε of the two promises, TPR ≤ e^ε·FPR + δ and "
    "1 − FPR ≤ e^ε·(1 − TPR) + δ, at least 0, and infinite where a rate above δ meets 0.",
)
