"""Configurations: one way to defend, plain settings, and bad ones refused with a sentence."""

import json
from dataclasses import dataclass, replace

import numpy as np
import pytest

from mialib import defenses, models
from mialib.configurations import Configuration, Stage, describe, imp, parse
from mialib.defenses import (
    DEFENSES,
    DMP,
    DPSGD,
    IMP,
    L1,
    L2,
    BestCheckpoint,
    Butterfly,
    Defense,
    Distillation,
    Past,
    Plain,
    Pruning,
)
from mialib.training import Recipe

SHORT = Recipe(epochs=1, lr=0.01)


@pytest.fixture
def resnet(tiny):
    return tiny.but(model="resnet20", options={"width": 4})


# ---------------------------------------------------------------- one way to defend


def old_door(configuration, defense):
    """How each defense was written before there was `defended`."""
    if isinstance(defense, Butterfly):
        options = {"segments": defense.segments, "factors": defense.factors}
        return configuration.but(options=configuration.options | options)
    if isinstance(defense, IMP):
        dense = configuration.but(defense=BestCheckpoint()) if defense.best else configuration
        for _ in range(defense.prunings):
            dense = dense.then(defense.round(), dense.recipe)
        return dense
    if isinstance(defense, DPSGD):
        return configuration.but(defense=defense, options=configuration.options | {"norm": "group"})
    if isinstance(defense, Past | Distillation | DMP | Pruning):
        return configuration.then(defense, configuration.recipe)
    return configuration.but(defense=defense)


@pytest.mark.parametrize("name", DEFENSES)
def test_every_defense_enters_by_one_door_and_equals_the_old_one(resnet, name):
    defense = DEFENSES[name]()
    defended = resnet.defended(defense)
    assert defended == old_door(resnet, defense)
    assert parse(json.loads(json.dumps(describe(defended)))) == defended
    assert defended.but(side="shadow") == resnet.but(side="shadow").defended(defense)


@pytest.mark.parametrize(
    ("defense", "recipes"),
    [
        (L1(), ["new"]),
        (Past(), ["old", "new"]),
        (IMP(prunings=2), ["old", "new", "new"]),
        (Butterfly(), ["new"]),
    ],
)
def test_the_recipe_is_that_of_the_defenses_own_trainings(resnet, defense, recipes):
    defended = resnet.defended(defense, SHORT)
    expected = [SHORT if which == "new" else resnet.recipe for which in recipes]
    assert [stage.recipe for stage in (*defended.before, defended)] == expected


def test_what_is_traced_stays_traced(resnet):
    defended = resnet.but(trace=1).defended(Past())
    assert (defended.trace, defended.before[0].trace) == (1, 1)


def test_a_network_without_normalization_needs_none_that_is_private(tiny):
    assert tiny.defended(DPSGD()) == tiny.but(defense=DPSGD())


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {}),
        ({"norm": "none"}, {"norm": "none"}),
        ({"norm": "batch", "width": 4}, {"norm": "group", "width": 4}),
        ({"norm": "group"}, {"norm": "group"}),
    ],
)
def test_dp_sgd_replaces_the_normalization_that_a_cnn_has(tiny, options, expected):
    plain = tiny.but(model="cnn", options=options)
    assert plain.defended(DPSGD()) == plain.but(defense=DPSGD(), options=expected)


def test_a_defense_is_not_dropped_without_a_word(tiny):
    defended = tiny.defended(L1())
    with pytest.raises(ValueError, match=r"L2\(.*would take the place of L1"):
        defended.defended(L2())
    assert defended.defended(L1()) == defended
    assert defended.defended(Past()).before[0].defense == L1()


def test_imp_lists_every_round(tiny):
    rounds = imp(tiny, 3, share=0.4)
    assert rounds[-1] == tiny.defended(IMP(prunings=3, share=0.4))
    assert rounds[0] == tiny.but(defense=BestCheckpoint())
    assert [one.start for one in rounds] == [None, *rounds[:-1]]
    assert imp(tiny.then(L1(), SHORT), 1, best=False)[0] == tiny.then(L1(), SHORT)


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        ((None, 1), {}, "must be a Configuration"),
        ((Configuration(), 2**31), {}, "prunings may be at most"),
        ((Configuration(), None), {}, "prunings must be a whole number"),
        ((Configuration(), 1), {"shares": 0.2}, "no option of imp 'shares'; did you mean 'share'"),
    ],
)
def test_a_bad_imp_is_refused(arguments, options, words):
    with pytest.raises((TypeError, ValueError), match=words):
        imp(*arguments, **options)


# ---------------------------------------------------------------- plain settings


def test_equal_settings_are_equal_whatever_they_were_made_from(tiny):
    made = [
        tiny.but(options={"widths": widths}, seed=seed, validation=share)
        for widths, seed, share in (
            ((16,), 3, 0.25),
            ([16], np.int64(3), np.float64(0.25)),
            (np.array([16]), np.array(3), np.float32(0.25)),
        )
    ]
    assert made[0] == made[1] == made[2]
    assert len({hash(one) for one in made}) == 1
    assert len({one.key for one in made}) == 1
    assert len(set(made)) == 1


def test_the_callers_dictionary_may_change_afterwards(tiny):
    options = {"widths": [16]}
    configuration = tiny.but(options=options)
    options["widths"].append(8)
    assert configuration.options == {"widths": (16,)}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"split_seed": None}, "split_seed must be a whole number"),
        ({"split_seed": 0.5}, "split_seed must be a whole number"),
        ({"data_seed": "0"}, "data_seed must be a whole number"),
        ({"seed": None}, "seed must be a whole number"),
        ({"seed": True}, "seed must be a whole number"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"seed": [1, 2]}, "seed must be a whole number"),
        ({"size": 0}, "size must be a whole number"),
        ({"size": "all"}, "size must be a whole number"),
        ({"validation": None}, "validation must be a number"),
        ({"validation": float("nan")}, "validation must be a number"),
        ({"validation": 1.5}, "validation must be a number"),
        ({"threads": 0}, "threads must be a whole number"),
        ({"threads": 2**31}, "threads must be a whole number in 1 … 1024"),
        ({"trace": -1}, "trace must be a whole number"),
        ({"trace": None}, "trace must be a whole number"),
        ({"data": None}, "data must be a text"),
        ({"model": 3}, "model must be a text"),
        ({"side": ["target"]}, "side must be a text"),
        ({"device": None}, "device must be a text"),
        ({"options": None}, "options must be a dictionary"),
        ({"options": [("widths", 3)]}, "options must be a dictionary"),
        ({"split_options": {3: 4}}, "split_options must be a dictionary"),
        ({"recipe": None}, "recipe must be a Recipe"),
        ({"recipe": {"epochs": 3}}, "recipe must be a Recipe"),
        ({"defense": None}, "defense must be a Defense"),
        ({"defense": L1}, "defense must be a Defense"),
        ({"before": None}, "before must be a tuple of Stages"),
        ({"before": (Recipe(),)}, "before must be a tuple of Stages"),
    ],
)
def test_bad_settings_are_refused_at_once(tiny, changes, words):
    with pytest.raises((TypeError, ValueError), match=words):
        tiny.but(**changes)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((None, SHORT), "defense must be a Defense"),
        ((L1(), None), "recipe must be a Recipe"),
        ((SHORT, L1()), "recipe must be a Recipe"),
    ],
)
def test_a_bad_training_on_is_refused(tiny, arguments, words):
    with pytest.raises(TypeError, match=words):
        tiny.then(*arguments)


@pytest.mark.parametrize("defense", [None, L1, "L1", 3])
def test_only_a_defense_defends(tiny, defense):
    with pytest.raises(TypeError, match="must be a Defense"):
        tiny.defended(defense)


def test_a_setting_that_is_no_field_is_refused(tiny):
    """It would be in no key, so two strengths would be one run."""

    class Careless(Defense):
        def __init__(self, level):
            self.level = level

    with pytest.raises(TypeError, match=r"'level' that is not a field.*@dataclass\(frozen=True\)"):
        tiny.but(defense=Careless(3))


def test_a_setting_that_is_no_plain_value_is_refused_when_it_is_written(tiny):
    with pytest.raises(TypeError, match="must be a number, a text, or a tuple"):
        describe(tiny.but(options={"widths": object()}))


# ---------------------------------------------------------------- written down and read again


@dataclass(frozen=True)
class Twin(Defense):
    """Of this file."""

    lam: float = 0.5


Twin.__name__ = "L2"
Twin.__qualname__ = "L2"


def test_a_class_of_ones_own_is_not_taken_for_the_librarys(tiny, monkeypatch):
    own = tiny.but(defense=Twin())
    librarys = tiny.but(defense=L2(0.5))
    assert describe(own)["defense"] == {"name": "L2", "from": __name__, "lam": 0.5}
    assert describe(librarys)["defense"] == {"name": "L2", "lam": 0.5}
    assert parse(describe(librarys)) == librarys
    with pytest.raises(ValueError, match=f"'L2' of module '{__name__}' is not known here"):
        parse(describe(own))
    monkeypatch.setitem(defenses.DEFENSES, "L2", Twin)
    assert parse(describe(own)) == own


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"seeds": 1}, "no configuration setting 'seeds'; did you mean 'seed'"),
        ({"recipe": {"epoch": 1}}, "no recipe setting 'epoch'; did you mean 'epochs'"),
        ({"defense": {"name": "Past", "strength": 1}}, "no Past setting 'strength'"),
        ({"defense": {"lam": 1}}, "by its name and settings"),
    ],
)
def test_a_description_with_something_unknown_says_what(tiny, change, words):
    with pytest.raises(ValueError, match=words):
        parse(describe(tiny) | change)


@pytest.mark.parametrize("bad", [None, 3, "text", [1]])
def test_what_is_no_description_is_refused(bad):
    with pytest.raises(TypeError, match="A description is a dictionary"):
        parse(bad)
    with pytest.raises(TypeError, match="Only a Configuration"):
        describe(bad)


def test_an_older_description_without_newer_settings_is_read(tiny):
    described = describe(tiny)
    del described["threads"]
    assert parse(described) == tiny


def test_before_start_and_stage_are_one_chain(tiny):
    tuned = tiny.then(Past(), SHORT)
    assert tuned.before == (Stage(tiny.recipe, tiny.defense, tiny.trace),)
    assert tuned.start == tiny
    assert replace(tuned, before=[*tuned.before]) == tuned


def test_a_network_of_ones_own_is_told_by_its_code(tiny, monkeypatch):
    def register(width):
        def own(shape, classes):
            return models.mlp(shape, classes, widths=(width,))

        monkeypatch.setitem(models.MODELS, "own", own)
        return tiny.but(model="own", options={}).key

    assert register(4) == register(4)
    assert register(4) != register(5)
    assert tiny.but(defense=Plain()).key == tiny.key
