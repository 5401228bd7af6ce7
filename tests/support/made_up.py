"""What a plan would give at a profile, without a training: its rows, with scores that are made up.

    made_up_results("past", "class")        # every setting and seed of the plan, and every fact

Numbers are drawn at random; names are the plan's own. So whatever a lesson looks up is there, or is
missing in the plan, too.
"""

import json
from functools import cache
from typing import Any

import numpy as np

from mialib import data, profiles, splits
from mialib.data import PUBLISHED, Records
from mialib.experiments import facts, plans
from mialib.experiments.running import shipped_path
from mialib.results import Results
from mialib.results.tables import RECORDS, Row
from small_results import ranked

N = 480  # records; half of them members, so that half of those still tell a TPR at 1 % FPR
OF_WEIGHTS = ("sparsity", "kept weights")  # facts that need a network, and no records
IMAGES = ("cifar", "imagenet", "svhn")


def pretended_records(name: str, *, size: int | None = None, seed: int = 0) -> Records:
    """Few records, of the form of those that are published."""
    is_image = name.startswith(IMAGES)
    shape = (3, 32, 32) if is_image else (600,)
    rng = np.random.default_rng(seed)
    return Records(
        name=name,
        x=rng.integers(0, 2, (N * 6, *shape)).astype(np.float32),
        y=np.arange(N * 6) % 10,
        classes=10 if is_image else 100,
    )


def pretended_loaders() -> dict[str, Any]:
    """What takes the place of `data.LOADERS`' downloads."""

    def loader(name: str):
        return lambda size=None, seed=0: pretended_records(name, size=size, seed=seed)

    return {name: loader(name) for name in PUBLISHED}


def made_up_results(name: str, profile: str) -> Results:
    """The plan's rows at this profile; it needs the pretended loaders."""
    plan = plans.load(name, profile)
    attacks = plan.attacks
    if plan.rows()[0].configuration.records().x.ndim != 4:
        attacks = tuple(one for one in attacks if not one.startswith(("rotation", "translation")))
    rng = np.random.default_rng(0)
    rows = [row for planned in plan.rows() for row in _rows(planned, plan)]
    is_member = np.arange(N) < N // 2
    scores = rng.normal(size=(len(rows), len(attacks), N)) + is_member
    first = plan.rows()[0].configuration
    return Results(
        rows=tuple(rows),
        attacks=attacks,
        **ranked(scores),
        losses=rng.exponential(size=(len(rows), N)).astype(np.float16),
        correct=rng.random((len(rows), N)) < 0.7,
        is_member=is_member,
        about={
            "plan": name,
            "profile": profile,
            "data": first.data,
            RECORDS: _dealt(first),
        },
    )


def _dealt(configuration) -> str:
    """The same for the same members, as a fingerprint would be."""
    return repr([getattr(configuration, word) for word in plans.SPLIT])


def _rows(planned: plans.PlannedRow, plan: plans.Plan) -> list[Row]:
    """One, or one for each epoch that is watched."""
    moments: list[dict[str, Any]] = [{}]
    if planned.watch:
        moments = [{"epoch": k} for k in range(planned.configuration.recipe.epochs + 1)]
    rng = np.random.default_rng(planned.seed)
    parts = _parts(planned.configuration.split, planned.configuration.validation)
    return [
        Row(
            settings=planned.settings | moment,
            seed=planned.seed,
            accuracy={part: float(rng.uniform(0.5, 0.9)) for part in parts},
            loss_gap=1.0,
            # A tuning comes after a training.
            seconds=2.0 if planned.settings.get("tuned") else 1.0,
            facts=_facts(planned, plan, moment),
        )
        for moment in moments
    ]


@cache
def _parts(split: str, validation: float) -> tuple[str, ...]:
    """The names of the parts that this split makes."""
    sides = splits.split(split, data.load("digits"), validation=validation)
    return tuple(sides["target"].parts())


def _facts(planned: plans.PlannedRow, plan: plans.Plan, moment: dict) -> dict[str, Any]:
    told = {}
    options = json.dumps(planned.configuration.options)
    for fact in plan.facts:
        if fact in OF_WEIGHTS:
            told[fact] = _of_weights(fact, planned.settings["experiment"], options, plan.profile)
        else:
            told[fact] = _shipped(plan.name, fact, planned.settings)
    if moment and moment["epoch"] and "sensitivity" in plan.facts:
        told["migration"] = 0.5
    return told


@cache
def _of_weights(fact: str, experiment: str, options: str, profile: str) -> dict[str, Any]:
    """The fact of a network that was never trained."""
    configuration = profiles.load(profile).experiments[experiment]
    changed = configuration.but(options=configuration.options | json.loads(options))
    return facts.FACTS[fact](changed.build_model(), None, changed)  # type: ignore[arg-type]


@cache
def _shipped_rows(name: str) -> tuple[Row, ...]:
    return Results.read(shipped_path(name, "quick")).rows


def _shipped(name: str, fact: str, settings: dict[str, Any]) -> Any:
    """As that training on letters told it whose settings are most alike: histories differ."""
    told = [row for row in _shipped_rows(name) if not row.failure]
    alike = [row for row in told if row.settings["defense"] == settings["defense"]]
    nearest = max(alike, key=lambda row: len(row.settings.items() & settings.items()))
    return nearest.facts[fact]
