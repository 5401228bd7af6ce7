"""Every configuration of every profile builds and takes two steps, in the real shapes."""

import math
import re
from dataclasses import replace

import pytest

from mialib import data, defenses, models, profiles
from mialib.configurations import describe, imp, parse
from mialib.experiments import rehearsal
from paths import ROOT

TWICE = ("images", "baskets", "images tuned", "baskets tuned")  # under other names, too
EXPERIMENTS = {
    f"{profile.name} {name}": configuration
    for profile in profiles.PROFILES.values()
    for name, configuration in profile.experiments.items()
    if not (profile.name == "paper" and name in TWICE)
}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_dry_run_passes(name):
    sizes = rehearsal.rehearse(EXPERIMENTS[name])
    assert sizes["test"] in (sizes["train"], sizes["train"] + sizes.get("validation", 0))


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_configuration_survives_being_written_down(name):
    assert parse(describe(EXPERIMENTS[name])) == EXPERIMENTS[name]


LESSONS = [path.read_text("utf-8") for path in (ROOT / "notebooks" / "source").glob("*.py")]
ASKED = {
    name
    for lesson in LESSONS
    for name in re.findall(r'profiles\.load\(PROFILE\)\.experiments\["(.+?)"\]', lesson)
}


@pytest.mark.parametrize("profile", profiles.PROFILES)
def test_a_profile_has_what_lessons_ask_of_any(profile):
    assert "images tuned" in ASKED
    assert set(profiles.load(profile).experiments) >= ASKED


@pytest.mark.parametrize("name", ["letters", "shoppers"])
def test_the_dry_run_knows_the_embedded_shapes(name):
    records = data.load(name)
    assert rehearsal.DATASETS[name] == (len(records), records.x.shape[1:], records.classes)


def test_members_of_the_sparsity_paper_are_fourteen_thousand():
    sizes = rehearsal.rehearse(EXPERIMENTS["paper sparsity dense"])
    assert sizes == {"train": 14_000, "test": 14_000, "validation": 1_000}


def rates_by_epoch(recipe):
    import torch

    optimizer = recipe.optimizer(torch.nn.Linear(1, 1))
    schedule, rates = recipe.scheduler(optimizer), []
    for _ in range(recipe.epochs):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return rates


def test_crl_rates_follow_the_authors_table():
    """0.01 in the first epoch, then 0.1, 0.01 from 50 and 0.001 from 80 (CIFAR-100, ResNet-18)."""
    rates = rates_by_epoch(EXPERIMENTS["paper crl cifar100 resnet18"].recipe)
    assert [rates[at] for at in (0, 1, 49, 50, 79, 80, 99)] == pytest.approx(
        [0.01, 0.1, 0.1, 0.01, 0.01, 1e-3, 1e-3]
    )


# Table 1 of the sparsity paper: the first rate and the weight decay.
SPARSITY = {
    "dense": (0.03, 0.005),
    "imp": (0.03, 0.005),
    "butterfly S=1 L=2": (0.3, 0.0005),
    "butterfly S=1 L=3": (0.3, 0.0001),
    "butterfly S=2 L=2": (0.3, 0.0005),
    "butterfly S=2 L=3": (0.1, 0.001),
    "butterfly S=3 L=2": (0.3, 0.0005),
    "butterfly S=3 L=3": (0.1, 0.001),
}


@pytest.mark.parametrize("name", SPARSITY)
def test_sparse_networks_train_by_the_papers_table(name):
    """300 epochs, batches of 256, momentum 0.9, a tenth of the rate from 150 and from 225."""
    configuration = EXPERIMENTS[f"paper sparsity {name}"]
    lr, decay = SPARSITY[name]
    for stage in (*configuration.before, configuration):
        recipe = stage.recipe
        assert (recipe.epochs, recipe.batch_size, recipe.momentum, recipe.augment) == (
            300,
            256,
            0.9,
            True,
        )
        assert (recipe.lr, recipe.weight_decay) == (lr, decay)
    rates = rates_by_epoch(configuration.recipe)
    expected = [lr] * 2 + [lr / 10] * 2 + [lr / 100] * 2
    assert [rates[at] for at in (0, 149, 150, 224, 225, 299)] == pytest.approx(expected)
    assert (configuration.data, configuration.model, configuration.split) == (
        "cifar10",
        "resnet20",
        "quarters",
    )


def test_the_papers_pruning_has_24_rounds_of_a_fifth():
    dense, pruned = EXPERIMENTS["paper sparsity dense"], EXPERIMENTS["paper sparsity imp"]
    assert dense.defense == defenses.BestCheckpoint()
    assert [stage.defense for stage in pruned.before] == [dense.defense] + [
        defenses.Pruning(0.2)
    ] * 23
    assert pruned.defense == defenses.Pruning(share=0.2, rewind=False, best=True)
    first = pruned
    while first.start is not None:
        first = first.start
    assert first == dense


@pytest.mark.parametrize(("segments", "factors"), [(s, f) for s in (1, 2, 3) for f in (2, 3)])
def test_the_papers_butterflies_have_its_percentages(segments, factors):
    expected = {(1, 2): 32.3, (2, 2): 15.9, (3, 2): 11.8, (1, 3): 29.6, (2, 3): 12.7, (3, 3): 8.5}
    name = f"paper sparsity butterfly S={segments} L={factors}"
    sizes = []
    for one in (EXPERIMENTS[name], EXPERIMENTS["paper sparsity dense"]):
        network = models.build(one.model, shape=(3, 32, 32), classes=10, **one.options)
        sizes.append(sum(parameter.numel() for parameter in network.parameters()))
    assert sizes[1] == 272_474
    assert 100 * sizes[0] / sizes[1] == pytest.approx(expected[segments, factors], abs=0.051)
    assert EXPERIMENTS[name].defense == defenses.BestCheckpoint()


def test_pruning_of_photographs_ends_below_a_fifth():
    """In fewer, larger rounds; each trains as the dense network does, for half as long."""
    pruned = EXPERIMENTS["cpu images pruned"]
    rounds = [
        stage for stage in (*pruned.before, pruned) if isinstance(stage.defense, defenses.Pruning)
    ]
    assert math.prod(1 - stage.defense.share for stage in rounds) < 0.2
    dense = pruned.before[0].recipe
    assert {stage.recipe for stage in rounds} == {replace(dense, epochs=dense.epochs // 2)}
    assert len({stage.defense for stage in rounds}) == 1
    assert rounds[0].defense.best == (pruned.validation > 0)


def test_the_chain_of_the_paper_is_the_one_that_imp_makes():
    """So what a lesson asks for round by round is found where a profile's run was kept."""
    dense = EXPERIMENTS["paper sparsity dense"]
    assert imp(dense, 24)[-1] == EXPERIMENTS["paper sparsity imp"]


@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if "butterfly" in name])
def test_butterflies_differ_from_the_dense_network_in_their_layers_alone(name):
    if name.startswith("paper"):
        dense = EXPERIMENTS["paper sparsity dense"].but(recipe=EXPERIMENTS[name].recipe)
    else:
        dense = EXPERIMENTS["cpu resnet"]
    options = {
        k: v for k, v in EXPERIMENTS[name].options.items() if k not in ("segments", "factors")
    }
    assert EXPERIMENTS[name].but(options=options, defense=dense.defense) == dense
    assert EXPERIMENTS[name].options["segments"] >= 1


def test_the_base_of_the_course_is_the_cnn_and_a_resnet_where_the_architecture_is_the_subject():
    images = EXPERIMENTS["quick images"]
    resnet = EXPERIMENTS["quick resnet"]
    assert (images.model, images.options) == ("cnn", {})
    assert (resnet.model, resnet.options) == ("resnet20", {"width": 8})
    assert EXPERIMENTS["quick resnet best"] == resnet.but(defense=defenses.BestCheckpoint())
    sizes = rehearsal.part_sizes(images, rehearsal.DATASETS[images.data])
    assert sizes == {"train": 1000, "test": 1000, "inference": 1000}


@pytest.mark.parametrize("profile", ["quick", "paper past cifar10"])
def test_past_tunes_at_the_papers_rate_for_half_the_epochs(profile):
    """Tuning starts at the rate that the training started with, 50 epochs after 100."""
    tuned = EXPERIMENTS["quick images tuned" if profile == "quick" else f"{profile} tuned"]
    training, tuning = tuned.start.recipe, tuned.recipe
    assert tuning == replace(training, epochs=training.epochs // 2)


def test_an_unknown_profile_suggests_the_nearest():
    with pytest.raises(ValueError, match="did you mean 'quick'"):
        profiles.load("quik")
