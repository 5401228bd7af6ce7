"""Plans: what a table stands for, and what is refused before anything is trained."""

from dataclasses import replace

import pytest

from mialib import profiles
from mialib.attacks import SHADOW_SUITE
from mialib.defenses import Past
from mialib.experiments import plans
from mialib.experiments.plans import parse

HEAD = 'about = "a test"\n[quick]\nseeds = 2\n'


def plan(text, profile="quick"):
    return parse("test", profile, HEAD + text)


def settings_of(rows):
    return [(row.settings["defense"], row.settings.get("lam"), row.seed) for row in rows]


def test_a_list_is_swept_and_seeds_come_one_after_the_other():
    rows = plan(
        '[[quick.settings]]\n[[quick.settings]]\ndefense = {name="L1", lam=[1e-3, 1e-2]}'
    ).rows()
    assert settings_of(rows) == [
        ("Plain", None, 0),
        ("L1", 1e-3, 0),
        ("L1", 1e-2, 0),
        ("Plain", None, 1),
        ("L1", 1e-3, 1),
        ("L1", 1e-2, 1),
    ]


def test_every_combination_of_two_lists_is_a_setting():
    rows = plan('[[quick.settings]]\ndefense = {name="Past", lam=[1, 2], alpha=[0, 1, 2]}').rows(
        seeds=1
    )
    pairs = [(row.settings["lam"], row.settings["alpha"]) for row in rows]
    assert pairs == [(1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2)]


def test_a_row_is_the_configuration_that_defended_gives():
    base = profiles.load("quick").images.but(trace=0)
    text = '[[quick.settings]]\ndefense = {name="Past", lam=1e-3}\nrecipe = {epochs=7, lr=0.02}'
    (row,) = plan(text).rows(seeds=1)
    expected = base.defended(Past(1e-3), replace(base.recipe, epochs=7, lr=0.02))
    assert row.configuration == expected
    assert row.shadows == [expected.but(side="shadow")]
    assert row.settings["epochs"] == 7
    assert row.settings["tuned"] is True


def test_pruning_has_a_row_for_every_round():
    text = (
        '[[quick.settings]]\nexperiment = "resnet"\nrounds = true\n'
        'defense = {name="IMP", prunings=3, share=0.36}'
    )
    rows = plan(text).rows(seeds=1)
    assert [row.settings["round"] for row in rows] == [0, 1, 2, 3]
    assert [len(row.configuration.before) for row in rows] == [0, 1, 2, 3]
    assert rows[3].configuration.start == rows[2].configuration


def test_past_on_top_of_another_defense():
    text = (
        '[[quick.settings]]\nafter = {name="RelaxLoss", alpha=0.5}\n'
        'defense = {name="Past", lam=1e-3}\nrecipe = {epochs=3}'
    )
    (row,) = plan(text).rows(seeds=1)
    assert row.configuration.before[-1].defense.alpha == 0.5
    assert row.settings["after"] == "RelaxLoss"


def test_crls_halves_have_five_shadows():
    text = 'about = "x"\n[paper]\nseeds = 1\n[[paper.settings]]\nexperiment = "crl cifar10 vgg11"'
    (row,) = parse("test", "paper", text).rows()
    assert [shadow.side for shadow in row.shadows] == [f"shadow-{k}" for k in range(5)]


def test_seeds_may_be_listed_and_a_profile_may_be_like_another():
    text = (
        'about = "x"\n[class]\nseeds = [3, 5]\n[[class.settings]]\n'
        '[paper]\nlike = "class"\nseeds = 1\n'
    )
    assert [row.seed for row in parse("test", "class", text).rows()] == [3, 5]
    rows = parse("test", "paper", text).rows()
    assert [row.seed for row in rows] == [0]
    assert rows[0].configuration.recipe == profiles.load("paper").images.recipe


def test_other_records_take_the_place_of_the_profiles():
    rows = plan("[[quick.settings]]").rows(data="mine.npz")
    assert {row.configuration.data for row in rows} == {"mine.npz"}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('[[quick.settings]]\ndefense = {name="Pats"}', "did you mean 'Past'"),
        ('[[quick.settings]]\ndefense = {name="Past", alfa=1}', "did you mean 'alpha'"),
        ('[[quick.settings]]\ndefense = {name="Past", lam=-1}', "lam"),
        ('[[quick.settings]]\nexperiment = "image"', "did you mean 'images'"),
        ("[[quick.settings]]\nrecipe = {epoch=3}", "did you mean 'epochs'"),
        ("[[quick.settings]]\nepochs = 3", "There is no word of a setting 'epochs'"),
        ("[[quick.settings]]\nrounds = true", "rounds = true is for IMP"),
        ("[[quick.settings]]\nseeds = 0", "seeds"),
        ("[[quick.settings]]\nwatch = 3", "watch"),
        ("[[quick.settings]]\nrecipe = 3", "recipe must be a table"),
        ('[[quick.settings]]\ndefense = "Past"', "defense must be a table"),
        ("settings = []", "settings]] at least"),
        ("[[quick.settings]]\n[[clas.settings]]", "did you mean 'class'"),
        ('like = "class"\n[class]\nlike = "quick"', "no profile to be like 'quick'"),
        ("[[quick.settings]]\nseeds = []", "one seed at least"),
        ("[[quick.settings]]\nseeds = [1, 1]", "each of them once"),
        ('[[quick.settings]]\n[[quick.settings]]\nexperiment = "baskets"', "different members, by"),
        ("[[quick.settings]]\n[[quick.settings]]", "two settings with the same words"),
        ("[[quick.settings]]\nrecipe = {batch_size=[10, 20]}", "tell them apart by `called`"),
    ],
)
def test_a_setting_that_means_nothing_is_refused_before_anything_trains(text, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        plan(text)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ('attacks = ["los"]', "did you mean 'loss'"),
        ('facts = ["weigths"]', "did you mean 'weights'"),
        ("seed = 3", "did you mean 'seeds'"),
    ],
)
def test_a_plan_that_asks_for_what_is_not_there_is_refused(line, sentence):
    with pytest.raises(ValueError, match=sentence):
        plan(f"{line}\n[[quick.settings]]")


def test_a_profile_that_the_plan_does_not_have_is_said():
    with pytest.raises(ValueError, match="There is no profile of the plan 'test' 'paper'"):
        plan("[[quick.settings]]", "paper")
    with pytest.raises(ValueError, match="did you mean 'past'"):
        plans.load("pats", "quick")


@pytest.mark.parametrize("name", plans.names())
def test_every_plan_can_be_read_at_each_of_its_profiles(name):
    for profile in plans.profiles_of(name):
        planned = plans.load(name, profile)
        rows = planned.rows()
        assert rows
        assert planned.about.endswith((".", "?"))
        assert set(planned.attacks) <= set(SHADOW_SUITE)
        names = {tuple(sorted(map(str, row.settings.items()))) for row in rows}
        keys = {(row.configuration, row.watch) for row in rows}
        assert len(keys) == len(rows), "the same training twice"
        assert len(names) * len({row.seed for row in rows}) >= len(rows)
