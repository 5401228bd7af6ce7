"""Every configuration of every profile builds and takes two steps; the shapes it is tried with are the real ones."""

import dry_run
import pytest

from mialib import data, profiles
from mialib.configurations import describe, parse

EXPERIMENTS = {
    f"{profile.name} {name}": configuration
    for profile in profiles.PROFILES.values()
    for name, configuration in profile.experiments.items()
    if not (profile.name == "paper" and name in ("images", "baskets"))  # They stand there twice.
}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_dry_run_passes(name):
    sizes = dry_run.dry_run(EXPERIMENTS[name])
    assert sizes["test"] in (sizes["train"], sizes["train"] + sizes.get("validation", 0))


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_configuration_survives_being_written_down(name):
    assert parse(describe(EXPERIMENTS[name])) == EXPERIMENTS[name]


@pytest.mark.parametrize("name", ["letters", "shoppers"])
def test_the_dry_run_knows_the_embedded_shapes(name):
    records = data.load(name)
    assert dry_run.SHAPES[name] == (len(records), records.x.shape[1:], records.classes)


def test_members_of_the_sparsity_paper_are_fourteen_thousand():
    sizes = dry_run.dry_run(EXPERIMENTS["paper sparsity dense"])
    assert sizes == {"train": 14_000, "test": 14_000, "validation": 1_000}


def test_crl_rates_follow_the_authors_table():
    """0.01 in the first epoch, then 0.1, 0.01 from 50 and 0.001 from 80 (CIFAR-100, ResNet-18)."""
    import torch

    recipe = EXPERIMENTS["paper crl cifar100 resnet18"].recipe
    optimizer = recipe.optimizer(torch.nn.Linear(1, 1))
    schedule, rates = recipe.scheduler(optimizer), []
    for _ in range(recipe.epochs):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    assert [rates[at] for at in (0, 1, 49, 50, 79, 80, 99)] == pytest.approx([0.01, 0.1, 0.1, 0.01, 0.01, 1e-3, 1e-3])


def test_an_unknown_profile_suggests_the_nearest():
    with pytest.raises(ValueError, match="did you mean 'quick'"):
        profiles.load("quik")
