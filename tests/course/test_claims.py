"""Every fixed claim of a lesson holds over all shipped trainings, and turns with no other seeds."""

import importlib
import pkgutil
from functools import cache

import pytest

import claims
from claims import Claim
from mialib.experiments.running import shipped_path
from mialib.results import Results

MODULES = [module.name for module in pkgutil.iter_modules(claims.__path__)]
CLAIMS = [claim for name in MODULES for claim in importlib.import_module(f"claims.{name}").CLAIMS]


@cache
def shipped(plan: str, profile: str) -> Results:
    return Results.read(shipped_path(plan, profile))


def told(claim: Claim) -> str:
    return f"{claim.lesson}: {claim.says}"


@pytest.mark.parametrize("claim", CLAIMS, ids=told)
def test_a_claim_holds_over_all_trainings(claim):
    found = claim.difference(shipped(claim.plan, claim.profile))
    assert found.low > 0, f"{claim.says}: {found}"


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("claim", CLAIMS, ids=told)
def test_a_claim_does_not_turn_with_other_seeds(claim, first):
    """Two sets of trainings that have none in common: the even seeds, and the odd ones."""
    everything = shipped(claim.plan, claim.profile)
    seeds = sorted({row.seed for row in everything.rows})
    found = claim.difference(everything.seeds(seeds[first::2]))
    assert found.value > 0, f"{claim.says}: {found} by every second seed from {first}"
