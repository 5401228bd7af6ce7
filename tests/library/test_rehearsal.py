"""Rehearsals: what a plan would train builds and takes two steps, without any download."""

import os

import pytest

from mialib import profiles
from mialib.configurations import Configuration
from mialib.defenses import DMP, MixupMMD
from mialib.experiments import plans, rehearsal
from mialib.reproductions import ITEMS
from mialib.training import Recipe

SMALL = Configuration(
    data="digits",
    size=360,
    model="mlp",
    options={"widths": (16,)},
    recipe=Recipe(epochs=2, batch_size=32, lr=0.05),
)


@pytest.mark.parametrize("defense", [MixupMMD(3.0), DMP()])
def test_defenses_that_ask_more_of_their_records_are_rehearsed(defense):
    assert rehearsal.rehearse(SMALL.defended(defense))["train"] == 60


def test_settings_that_differ_in_strength_alone_are_rehearsed_once():
    rows = plans.load("baskets", "quick").rows()
    assert len({str(row.settings) for row in rows}) == 8
    assert rehearsal.rehearse_all(rows) == 2  # plain, and tuned by PAST


def test_a_dataset_whose_shape_nobody_knows_is_refused():
    with pytest.raises(ValueError, match="no dataset 'mine'"):
        rehearsal.rehearse(SMALL.but(data="mine.npz"))


def test_seconds_of_an_epoch_grow_with_the_members():
    images = profiles.load("quick").images
    few = rehearsal.seconds_per_epoch(images.but(size=1200))
    many = rehearsal.seconds_per_epoch(images.but(size=24_000))
    assert 0 < few < many


def kinds_of_items(profile):
    """What all items would train at a profile, each network and defense once."""
    names = {name for item in ITEMS.values() for name in item.plans.get(profile, ())}
    rows = [row for name in sorted(names) for row in plans.load(name, profile).rows(seeds=1)]
    return list(rehearsal.kinds(rows).values())


# The large networks of the papers take minutes: `make soak` rehearses them, too.
REHEARSED = [
    name for name in profiles.NAMES if name != "paper" or os.environ.get("MIALIB_REHEARSE") == "all"
]


@pytest.mark.parametrize("profile", REHEARSED)
def test_whatever_an_item_needs_builds_and_takes_two_steps(profile):
    for configuration in kinds_of_items(profile):
        rehearsal.rehearse(configuration)
