"""Iterative magnitude pruning: a round walked step by step, whole rounds written again, and chains
of runs.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from torch import nn
from torch.nn import functional as F

from mialib import models, runs
from mialib.attacks import MetricThreshold
from mialib.configurations import Configuration, describe, imp, parse
from mialib.defenses import L1, BestCheckpoint, Plain, Pruning
from mialib.query import predict, to_device
from mialib.sparsity.magnitude import layers, masks, remaining
from mialib.training import Recipe, fit
from small_networks import Collapsing, normalised, perceptron

pytestmark = pytest.mark.usefixtures("one_thread")

ROUND = Recipe(epochs=5, batch_size=16, lr=0.1, weight_decay=0.01)


def steady():
    """A convolution, BatchNorm and a linear layer; nothing draws."""
    return normalised(dropout=0.0)


def small_resnet():
    return models.build("resnet20", shape=(1, 8, 8), classes=10, width=2)


def trained(members, defense, recipe=ROUND, *, model=None, **options):
    model = model or steady()
    history = fit(model, members, recipe, defense=defense, device="cpu", **options)
    return model, history


def state(model):
    return {name: value.clone() for name, value in model.state_dict().items()}


def assert_same(found, expected):
    assert set(found) == set(expected)
    for name, value in expected.items():
        assert torch.equal(found[name], value), name


def test_a_training_that_fails_leaves_a_plain_network(members):
    class Spoiled(Pruning):
        def start_epoch(self, training):
            training.model.classify.bias.data[0] = math.nan

    model = steady()
    with pytest.raises(FloatingPointError):
        trained(members, Spoiled(share=0.5, best=False), model=model)
    assert set(model.state_dict()) == set(steady().state_dict())
    assert 40 < remaining(model) < 70


def kept_by_hand(model, share):
    """The masks without ⌈share · remaining⌉ of the smallest, by sorting all weights in one list."""
    weights = {
        n: m.weight.detach()
        for n, m in model.named_modules()
        if isinstance(m, nn.Conv2d | nn.Linear)
    }
    every = sorted(
        abs(value) for weight in weights.values() for value in weight.flatten().tolist() if value
    )
    smallest = set(every[: math.ceil(share * len(every))])
    return {
        name: torch.tensor(
            [bool(v) and abs(v) not in smallest for v in weight.flatten().tolist()]
        ).view(weight.shape)
        for name, weight in weights.items()
    }


# ---------------------------------------------------------------- a round, step by step


@dataclass
class Walk:
    """What must hold after every step of a round: the masks, and the weights after the last."""

    kept: dict
    values: dict
    steps: int = 0


@dataclass(frozen=True)
class Walked(Pruning):
    """Looks at everything after every step: what is pruned is exactly zero, and so is all that
    could move it.
    """

    def prepare(self, training):
        wanted = kept_by_hand(training.model, self.share)
        best_epoch = super().prepare(training)
        values = {}
        for name, layer in layers(training.model).items():
            assert torch.equal(layer.weight_mask.bool(), wanted[name]), name
            values[name] = layer.weight_orig.detach().clone()
        training.model.walk = Walk(wanted, values)
        return best_epoch

    def after_backward(self, training):
        kept = training.model.walk.kept
        for name, layer in layers(training.model).items():
            assert not layer.weight_orig.grad[~kept[name]].any(), name
            assert layer.weight_orig.grad[kept[name]].any(), name

    def after_step(self, training):
        walk = training.model.walk
        walk.steps += 1
        assert set(training.optimizer.state) == set(training.model.parameters())
        for name, layer in layers(training.model).items():
            kept, weight = walk.kept[name], layer.weight_orig.detach()
            momentum = training.optimizer.state[layer.weight_orig]["momentum_buffer"]
            assert not weight[~kept].any(), name
            assert not momentum[~kept].any(), name
            assert weight[kept].all(), name
            assert (weight != walk.values[name])[kept].float().mean() > 0.9, name
            walk.values[name] = weight.clone()


@pytest.mark.parametrize("best", [True, False])
@pytest.mark.parametrize("make", [perceptron, steady, small_resnet])
def test_what_is_pruned_is_zero_after_every_step_with_all_that_could_move_it(
    members, others, make, best
):
    model = make()
    names = set(model.state_dict())
    trained(members, Plain(), replace(ROUND, epochs=1), model=model)
    before, share = None, 0.3
    for _ in range(2):
        kept = kept_by_hand(model, share)
        trained(
            members,
            Walked(share, best=best),
            replace(ROUND, epochs=2),
            model=model,
            validation=others,
        )
        assert model.walk.steps == 8
        del model.walk
        for name, mask in masks(model).items():
            assert torch.equal(mask, kept[name])
            assert before is None or not (mask & ~before[name]).any()
        assert set(model.state_dict()) == names
        assert all(isinstance(layer.weight, nn.Parameter) for layer in layers(model).values())
        before = kept
    assert not any(module._forward_pre_hooks for module in model.modules())


# ---------------------------------------------------------------- whole rounds, written again


def round_by_hand(model, members, validation, kept, *, best, lr=0.1, decay=0.01, epochs=5):
    """One training with masks multiplied in by hand; what it ends with, and the accuracy after
    each epoch.
    """
    x, y = to_device(members, torch.device("cpu"))
    order = torch.Generator().manual_seed(0)
    values = dict(model.named_parameters())
    masked = {values[f"{name}.weight"]: mask for name, mask in kept.items()}
    for value, mask in masked.items():
        value.data[~mask] = 0
    velocity = {value: torch.zeros_like(value) for value in values.values()}
    states, right = [], []
    for epoch in range(epochs):
        rate = lr * (1 + math.cos(math.pi * epoch / epochs)) / 2  # begins anew in every round
        for chosen in torch.randperm(len(y), generator=order).split(16):
            gradients = torch.autograd.grad(
                F.cross_entropy(model.train()(x[chosen]), y[chosen]), list(values.values())
            )
            with torch.no_grad():
                for value, gradient in zip(values.values(), gradients, strict=True):
                    velocity[value] = 0.9 * velocity[value] + gradient + decay * value
                    value -= rate * velocity[value]
                    if value in masked:
                        value[~masked[value]] = 0
                        velocity[value][~masked[value]] = 0
        seen = torch.from_numpy(predict(model.eval(), validation)).argmax(dim=1).numpy()
        right.append(float((seen == validation.y).mean()))
        states.append(state(model))
    model.load_state_dict(states[right.index(max(right)) if best else -1])
    return right


@pytest.mark.parametrize("best", [True, False])
@pytest.mark.parametrize("make", [perceptron, steady])
def test_three_rounds_equal_the_loop_written_by_hand(members, others, make, best):
    found, expected = make(), make()
    for number, share in enumerate((0.0, 0.3, 0.3)):
        kept = kept_by_hand(expected, share) if number else masks(expected)
        round_by_hand(expected, members, others, kept, best=best)
        first = BestCheckpoint() if best else Plain()
        trained(
            members, Pruning(share, best=best) if number else first, model=found, validation=others
        )
        for name, mask in masks(found).items():
            assert torch.equal(mask, kept[name]), (number, name)
        for name, value in expected.state_dict().items():
            assert_allclose(found.state_dict()[name], value, atol=1e-4, err_msg=f"{number} {name}")


def looked_at(members, defense, *, model, validation, **options):
    """The states after each epoch as `on_epoch` sees them, by the names of a plain network, and
    the accuracies.
    """
    states, right = [], []

    def look(one, epoch):
        right.append(float((predict(one, validation).argmax(axis=1) == validation.y).mean()))
        held = state(one)
        plain = {
            name.replace("weight_orig", "weight"): value
            for name, value in held.items()
            if "_mask" not in name
        }
        states.append(plain)

    fit(
        model,
        members,
        defense=defense,
        device="cpu",
        validation=validation,
        on_epoch=look,
        **options,
    )
    return states, right


LONG = Recipe(epochs=12, batch_size=16, lr=0.05, weight_decay=0.01)


def test_a_round_ends_with_the_first_of_its_best_epochs(members, others):
    """Without choosing, the same steps are taken, so every epoch of them can be seen."""
    start, few = trained(members, Plain())[0].state_dict(), others.take(np.arange(12))
    shown, chosen, last = (steady() for _ in range(3))
    for model in (shown, chosen, last):
        model.load_state_dict(start)
    states, right = looked_at(
        members, Pruning(0.3, best=False), model=shown, validation=few, recipe=LONG
    )
    trained(members, Pruning(0.3), LONG, model=chosen, validation=few)
    trained(members, Pruning(0.3, best=False), LONG, model=last)
    best = [epoch for epoch, one in enumerate(right) if one == max(right)]
    assert 0 < best[0] < best[-1]  # More than one is best, and the very first is not.
    assert_same(chosen.state_dict(), states[best[0]])
    assert_same(last.state_dict(), states[-1])


def test_the_last_look_is_at_the_plain_network_that_is_kept(members, others):
    seen = []

    def look(model, epoch):
        seen.append(state(model))
        return {"left": remaining(model)}

    model, history = trained(members, Pruning(0.5), validation=others, on_epoch=look)
    assert_same(seen[-1], model.state_dict())
    assert len({epoch["left"] for epoch in history}) == 1
    assert history[0]["left"] == remaining(model)
    assert len(history) == 5


def test_every_round_has_a_new_optimizer_and_the_rates_from_the_beginning(members, others):
    seen = []

    @dataclass(frozen=True)
    class Rates(Pruning):
        def start_epoch(self, training):
            rate = training.optimizer.param_groups[0]["lr"]
            seen.append(
                (training.epoch, round(rate, 9), len(training.optimizer.state), training.optimizer)
            )

    steps = Recipe(epochs=4, batch_size=60, lr=0.1, schedule="steps")
    model = perceptron()
    for _ in range(3):
        trained(members, Rates(0.2), steps, model=model, validation=others)
    expected = [(1, 0.1), (2, 0.1), (3, 0.01), (4, 0.001)]
    assert [one[:2] for one in seen] == expected * 3
    assert [one[2] for one in seen[::4]] == [0, 0, 0]
    assert len({one[3] for one in seen}) == 3


@pytest.mark.parametrize("make", [perceptron, steady])
def test_nothing_pruned_is_the_best_checkpoint_or_plain_training(members, others, make):
    for defense, other in ((Pruning(0.0), BestCheckpoint()), (Pruning(0.0, best=False), Plain())):
        found, expected = (
            trained(members, one, model=make(), validation=others)[0] for one in (defense, other)
        )
        for name, value in expected.state_dict().items():
            assert_allclose(found.state_dict()[name], value, atol=1e-5, err_msg=name)
        assert remaining(found) == 100


def test_one_object_serves_many_rounds_and_networks(members):
    defense = Pruning(0.5, best=False)
    first, second = (trained(members, defense)[0] for _ in range(2))
    assert_same(first.state_dict(), second.state_dict())
    assert vars(defense) == {"share": 0.5, "rewind": False, "best": False}


# ---------------------------------------------------------------- rewinding


@pytest.mark.parametrize("best", [True, False])
def test_rewinding_gives_the_survivors_their_very_first_weights(members, others, best):
    model, first = steady(), state(steady())
    trained(members, Plain(), model=model)
    for _ in range(2):
        kept, seen = kept_by_hand(model, 0.3), []

        @dataclass(frozen=True)
        class Seen(Pruning):
            def prepare(self, training, seen=seen):
                best_epoch = super().prepare(training)
                seen.append(state(training.model))
                return best_epoch

        defense = Seen(0.3, rewind=True, best=best)
        trained(members, defense, model=model, validation=others, build_initial_model=steady)
        for name, value in seen[0].items():
            layer = name.rpartition(".")[0]
            if name.endswith("weight_mask"):
                assert torch.equal(value.bool(), kept[layer])
            elif name.endswith("weight_orig"):
                assert torch.equal(value, first[name.replace("_orig", "")] * kept[layer])
            else:
                assert torch.equal(value, first[name]), (
                    name
                )  # biases, and BatchNorm's statistics too
        assert all(torch.equal(mask, kept[name]) for name, mask in masks(model).items())
        assert not torch.equal(
            model.classify.weight, first["classify.weight"] * kept["classify"]
        )  # It trained.


def test_without_rewinding_the_survivors_go_on_from_where_they_were(members):
    model, _ = trained(members, Plain())
    before, kept = state(model), kept_by_hand(model, 0.3)
    trained(
        members,
        Pruning(0.3, best=False),
        replace(ROUND, lr=0.0),
        model=model,
        build_initial_model=steady,
    )
    for name, mask in kept.items():
        assert torch.equal(model.state_dict()[f"{name}.weight"], before[f"{name}.weight"] * mask)


def test_rewinding_without_the_first_weights_is_explained(members):
    with pytest.raises(
        ValueError,
        match=r"Rewinding needs the first weights: pass fit\(\.\.\., build_initial_model=build\)",
    ):
        trained(members, Pruning(0.3, rewind=True, best=False))


# ---------------------------------------------------------------- what may go wrong on the way


@dataclass(frozen=True)
class Collapses(Collapsing, Pruning):
    """A round of pruning whose classifier collapses."""


@pytest.mark.parametrize("best", [True, False])
@pytest.mark.parametrize("epochs", [(5,), (4, 5), (2,)])
def test_pruned_stays_pruned_where_the_classifier_collapses(members, others, epochs, best):
    start, _ = trained(members, Plain())
    kept = kept_by_hand(start, 0.4)
    defense = type("Collapsing", (Collapses,), {"epochs": epochs})(0.4, best=best)
    states, _ = looked_at(members, defense, model=start, validation=others, recipe=ROUND)
    assert all(torch.equal(mask, kept[name]) for name, mask in masks(start).items())
    assert set(start.state_dict()) == set(steady().state_dict())
    assert len(np.unique(predict(start, members).argmax(axis=1))) > 1
    if not best and 5 in epochs:
        assert_same(start.state_dict(), states[min(epochs) - 2])  # the last that was good


def test_a_round_that_diverges_leaves_the_weights_from_before_with_their_zeros(members):
    model, _ = trained(members, Plain())
    before, kept = state(model), kept_by_hand(model, 0.4)

    class Diverges(Pruning):
        def loss(self, training, x, y):
            return super().loss(training, x, y) * (math.nan if training.epoch == 1 else 1)

    with pytest.raises(FloatingPointError, match=r"epoch 1.*Lower the learning rate"):
        trained(members, Diverges(0.4, best=False), model=model)
    assert set(model.state_dict()) == set(before)  # Nothing of torch's pruning holds it any more.
    assert not any(module._forward_pre_hooks for module in model.modules())
    for name, mask in kept.items():
        assert torch.equal(model.state_dict()[f"{name}.weight"], before[f"{name}.weight"] * mask)


@pytest.mark.parametrize(
    "recipe", [replace(ROUND, augment=True), replace(ROUND, epochs=1, batch_size=1000)]
)
def test_pruning_holds_with_other_recipes(members, others, recipe):
    model, _ = trained(members, Plain())
    kept = kept_by_hand(model, 0.4)
    trained(members, Pruning(0.4), recipe, model=model, validation=others, inference=others, seed=5)
    assert all(torch.equal(mask, kept[name]) for name, mask in masks(model).items())


def test_pruning_a_butterfly_network_leaves_its_factors_dense(members, others):
    model = models.build("resnet20", shape=(1, 8, 8), classes=10, width=4, segments=1)
    before = sum(value.numel() for name, value in model.named_parameters() if ".factors." in name)
    trained(members, Pruning(0.5), replace(ROUND, epochs=1), model=model, validation=others)
    factors = [value for name, value in model.named_parameters() if ".factors." in name]
    assert sum(int((value != 0).sum()) for value in factors) == before > 0
    assert remaining(model) < 100


# ---------------------------------------------------------------- chains of runs


@pytest.fixture
def base(tiny):
    return tiny.but(validation=0.25, trace=1)


@pytest.fixture
def fits(monkeypatch):
    """The defenses that are trained from here on, and how they were called."""
    trained = []

    def noted(*args, **options):
        trained.append(options | {"recipe": args[2]})
        return fit(*args, **options)

    monkeypatch.setattr(runs, "fit", noted)
    return trained


@pytest.mark.parametrize("options", [{}, {"share": 0.36}, {"rewind": True, "share": 0.5}])
def test_a_chain_is_the_dense_training_and_as_many_prunings(base, options):
    found = imp(base, 3, **options)
    assert len(found) == 4
    assert found[0] == base.but(defense=BestCheckpoint())
    for number, one in enumerate(found):
        assert len(one.before) == number
        assert (one.recipe, one.trace, one.validation) == (base.recipe, base.trace, base.validation)
        assert one.defense == (Pruning(**options) if number else BestCheckpoint())
        assert one.start == (found[number - 1] if number else None)
        assert parse(describe(one)) == one
    assert len({one.key for one in found}) == 4


def test_a_chain_by_the_last_epochs_begins_with_the_training_as_it_is(base):
    found = imp(base, 2, best=False, share=0.4)
    assert found[0] == base
    assert [one.defense for one in found[1:]] == [Pruning(0.4, best=False)] * 2
    assert imp(base, 0) == [base.but(defense=BestCheckpoint())]
    assert imp(base, 0, best=False) == [base]


def test_the_defaults_are_the_papers():
    assert Pruning() == Pruning(share=0.2, rewind=False, best=True)


def test_a_chain_goes_on_from_what_is_in_the_store(base, store, fits):
    found = imp(base, 3, share=0.4)
    run = runs.get(found[2], store=store)
    assert [one["defense"] for one in fits] == [BestCheckpoint(), Pruning(0.4), Pruning(0.4)]
    assert all(
        one["recipe"] == base.recipe and one["build_initial_model"] is not None for one in fits
    )
    assert len({one["seed"] for one in fits}) == 3
    fits.clear()
    runs.get(found[3], store=store)
    assert len(fits) == 1
    runs.get(found[2], store=store)
    runs.get(found[0], store=store)
    assert len(fits) == 1
    assert run.configuration == found[2]


def test_the_runs_of_a_chain_are_rounds_by_hand(base, store):
    """Dense, pruned, pruned again: each by `fit` from the weights of the one before, with its own
    seed.
    """
    found = imp(base, 2, share=0.4)
    side, model = base.side_records(), base.build_model()
    count = sum(layer.weight.numel() for layer in layers(model).values())
    left = count
    for number, one in enumerate(found):
        kept = kept_by_hand(model, 0.4) if number else None
        options = {
            "inference": side.inference,
            "validation": side.validation,
            "seed": one.seed_for("fit"),
        }
        fit(model, side.train, one.recipe, defense=one.defense, device="cpu", **options)
        run = runs.get(one, store=store)
        loaded = run.load_model()
        for name, value in model.state_dict().items():
            assert torch.equal(loaded.state_dict()[name], value), (number, name)
        if number:
            left -= math.ceil(0.4 * left)
            assert all(torch.equal(mask, kept[name]) for name, mask in masks(loaded).items())
        assert sum(int(mask.sum()) for mask in masks(loaded).values()) == left
        logits = np.concatenate([predict(loaded, part) for part in (run.side.train, run.side.test)])
        assert_array_equal(logits, run.signals.logits)  # bit for bit
        assert len(run.traced) == base.recipe.epochs


def test_a_rewound_run_starts_from_its_sides_first_weights(base, store):
    still = base.but(recipe=replace(base.recipe, lr=0.0))
    for side in ("target", "shadow"):
        dense, pruned = imp(base.but(side=side), 1, share=0.4, rewind=True, best=False)
        pruned = pruned.but(recipe=still.recipe)  # The rewound weights do not move.
        first, kept = (
            dense.build_model().state_dict(),
            kept_by_hand(runs.get(dense, store=store).load_model(), 0.4),
        )
        found = runs.get(pruned, store=store).load_model().state_dict()
        for name, mask in kept.items():
            assert torch.equal(found[f"{name}.weight"], first[f"{name}.weight"] * mask)


def test_the_shadow_is_pruned_by_itself_in_the_same_way(base, store):
    target = imp(base, 2, share=0.4)
    shadow = [one.but(side="shadow") for one in target]
    assert shadow == imp(base.but(side="shadow"), 2, share=0.4)
    assert [one.start for one in shadow] == [None, *shadow[:-1]]
    target_run, shadow_run = (runs.get(one[-1], store=store) for one in (target, shadow))
    assert all(store.find(one.key) for one in (*target, *shadow))
    assert target_run.configuration.before == shadow_run.configuration.before
    assert not set(target_run.side.train.index) & set(shadow_run.side.train.index)
    first, second = (run.load_model() for run in (target_run, shadow_run))
    assert remaining(first) == remaining(second) < 50
    assert any(not torch.equal(mask, masks(second)[name]) for name, mask in masks(first).items())
    dense, once = (runs.get(one, store=store).load_model() for one in shadow[:2])
    kept = kept_by_hand(dense, 0.4)  # The shadow's own dense weights chose its first mask.
    assert all(torch.equal(mask, kept[name]) for name, mask in masks(once).items())


def test_attacks_on_a_pruned_model_learn_from_a_pruned_shadow(base, store):
    """What the attack is given is the signals of both pruned models, never of a dense one."""
    pruned = imp(base, 2, share=0.6)[-1]
    target, shadow = (runs.get(pruned.but(side=side), store=store) for side in ("target", "shadow"))
    for run in (target, shadow):
        assert remaining(run.load_model()) < 20
        dense = runs.get(imp(base, 0)[0].but(side=run.configuration.side), store=store)
        logits = np.concatenate(
            [predict(run.load_model(), part) for part in (run.side.train, run.side.test)]
        )
        assert_array_equal(run.signals.logits, logits)
        assert not np.array_equal(dense.signals.logits, run.signals.logits)
    fitted_on = [shadow, runs.get(imp(base, 0)[0].but(side="shadow"), store=store)]
    fitted, naive = (MetricThreshold("loss").fit(run.signals) for run in fitted_on)
    assert np.isfinite(fitted.score(target.signals.public())).all()
    assert fitted.threshold != naive.threshold  # A dense shadow chooses another threshold.


def test_a_pruned_run_survives_its_json(base):
    one = imp(base, 2, share=0.3, rewind=True, best=False)[-1]
    assert parse(describe(one)) == one
    assert parse(describe(one)).key == one.key
    assert "after=Plain+Pruning" in one.name


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize("share", [-0.1, 1.5, math.nan, math.inf, "a", None, True])
def test_a_share_that_is_none_is_refused(share):
    for make in (lambda: Pruning(share), lambda: imp(None, 3, share=share)):
        with pytest.raises(ValueError, match=r"share must be a number in 0 … 1, found"):
            make()


@pytest.mark.parametrize("share", [1, 1.0, np.float64(1)])
def test_pruning_everything_is_refused(share):
    with pytest.raises(ValueError, match=r"A share of 1 prunes everything.*below 1"):
        Pruning(share)


def test_a_round_that_would_leave_nothing_is_refused_and_leaves_the_network(members):
    model = perceptron()
    before = state(model)
    with pytest.raises(ValueError, match=r"Pruning \d+ of \d+ weights leaves none"):
        trained(members, Pruning(0.99999, best=False), model=model)
    assert_same(model.state_dict(), before)


@pytest.mark.parametrize("prunings", [-1, 1.5, math.nan, None, "2"])
def test_a_number_of_prunings_that_is_none_is_refused(base, prunings):
    with pytest.raises(ValueError, match="prunings must be a whole number, at least 0, found"):
        imp(base, prunings)


def test_choosing_the_best_without_validation_is_explained(members, tiny, store):
    with pytest.raises(
        ValueError,
        match=r"Pruning needs validation records, found none.*Configuration\(validation=0\.1",
    ):
        trained(members, Pruning(0.3))
    with pytest.raises(ValueError, match="BestCheckpoint needs validation records"):
        runs.get(imp(tiny, 1)[-1], store=store)
    assert runs.get(imp(tiny, 1, best=False)[-1], store=store).metrics


def test_a_layer_in_two_places_is_refused(members):
    layer = nn.Linear(64, 64)
    model = models.Network(nn.Sequential(nn.Flatten(), layer, nn.Tanh(), layer), nn.Linear(64, 10))
    with pytest.raises(ValueError, match=r"features\.1, features\.3 share one weight"):
        trained(members, Pruning(0.3, best=False), model=model)


def test_a_chain_by_the_last_epochs_may_begin_with_a_defended_model(base, store):
    found = imp(base.but(defense=L1(1e-3)), 1, best=False)
    assert found[0].defense == L1(1e-3)
    assert found[1].before[0].defense == L1(1e-3)
    assert remaining(runs.get(found[1], store=store).load_model()) < 100


def test_a_defense_is_not_replaced_by_the_best_epoch_without_a_word():
    tiny = Configuration(data="digits", size=360, model="mlp", validation=0.1, defense=L1(1e-3))
    with pytest.raises(ValueError, match=r"would take the place of L1.*best=False"):
        imp(tiny, 1)
    assert imp(tiny, 1, best=False)[0] == tiny
