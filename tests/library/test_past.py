"""PAST: its step against the authors' algorithm written again, its limits, and what it does to a
model that leaks.
"""

import contextlib
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from torch import nn
from torch.nn import functional as F

from mialib import data, models, runs, splits
from mialib.defenses import Past, Plain, past
from mialib.metrics import best_advantage
from mialib.query import collect, to_device
from mialib.training import Recipe, fit
from small_networks import perceptron

STEPS = Recipe(
    epochs=3, batch_size=60, lr=0.05, schedule="constant"
)  # Every epoch is one step over all members.
ONE = Recipe(epochs=1, batch_size=60, lr=0.1, momentum=0.0, weight_decay=0.0)
SMALL = Recipe(epochs=2, batch_size=16, lr=0.05)
EPS = torch.finfo(torch.float32).eps


pytestmark = pytest.mark.usefixtures("one_thread")


def normalised():
    """A convolution, BatchNorm and a linear layer: all three kinds of modules."""
    torch.manual_seed(1)
    features = [nn.Conv2d(1, 3, 3, stride=2), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten()]
    return models.Network(nn.Sequential(*features), nn.Linear(27, 10))


def tuned(model, members, others, defense, recipe=STEPS, **options):
    """A copy of the model's state after `fit`."""
    fit(model, members, recipe, defense=defense, inference=others, device="cpu", **options)
    return {name: value.clone() for name, value in model.state_dict().items()}


def assert_same(found, expected, **tolerance):
    assert set(found) == set(expected)
    for name, value in expected.items():
        assert_allclose(found[name], value, err_msg=name, **tolerance)


def assert_equal(found, expected):
    assert_same(found, expected, rtol=0, atol=0)


def penalised(model):
    """The modules whose weights the authors' code penalises."""
    return [
        module
        for module in model.modules()
        if isinstance(module, nn.Conv2d | nn.Linear | nn.BatchNorm2d)
    ]


def authors_step(
    model, optimizer, members, others, *, lam, alpha, clamp=1e4, norm="l1", restore=False
):
    """One step of `train_sparse`: non-members first, then members, both in train mode; then the
    penalty.
    """
    model.train()
    modules, gradients = penalised(model), []
    for records in (others, members):
        kept = {name: value.clone() for name, value in model.named_buffers()}
        x, y = to_device(records, torch.device("cpu"))
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        gradients.append([module.weight.grad.clone() for module in modules])
        if restore and records is others:
            model.load_state_dict(kept, strict=False)
    for module, theirs, ours in zip(modules, *gradients, strict=True):
        gap = (ours - theirs).abs()
        weight = ((gap / max(gap.mean().item(), EPS)) ** alpha).clamp(0, clamp)
        direction = module.weight.data.sign() if norm == "l1" else 2 * module.weight.data
        module.weight.grad += lam * weight * direction
    optimizer.step()


def by_authors(model, members, others, *, steps=3, **settings):
    optimizer = torch.optim.SGD(model.parameters(), 0.05, 0.9, weight_decay=5e-4)
    for _ in range(steps):
        authors_step(model, optimizer, members, others, **settings)
    return model.state_dict()


def own_gamma(model, members, others):
    """γ of each weight from whole sets, in eval mode."""
    model.eval()
    layers, gradients = penalised(model), []
    for records in (members, others):
        x, y = to_device(records, torch.device("cpu"))
        loss = F.cross_entropy(model(x), y)
        gradients.append(torch.autograd.grad(loss, [layer.weight for layer in layers]))
    gaps = [(a - b).abs() for a, b in zip(*gradients, strict=True)]
    return [gap / gap.mean() for gap in gaps]


# ---------------------------------------------------------------- the authors' algorithm


@pytest.mark.parametrize("make", [perceptron, normalised])
@pytest.mark.parametrize(
    "settings",
    [
        {"lam": 0.01, "alpha": 1.5},
        {"lam": 0.002, "alpha": 2.5},
        {"lam": 0.002, "alpha": 2.5, "clamp": 1.5},
        {"lam": 0.01, "alpha": 1.5, "norm": "l2"},
    ],
)
def test_each_step_equals_the_authors_algorithm(members, others, make, settings):
    expected = by_authors(make(), members, others, **settings)
    chosen = {"penalty" if name == "norm" else name: value for name, value in settings.items()}
    assert_same(
        tuned(make(), members, others, Past(**chosen, mixed_statistics=True)), expected, atol=2e-5
    )
    plain = tuned(make(), members, others, Plain())
    assert (
        plain["classify.weight"] - expected["classify.weight"]
    ).abs().max() > 5e-4  # more than the tolerance


def test_the_penalty_that_joins_the_gradient_is_the_one_computed_by_hand():
    """The oracle: γ = [[1, 1], [2, 0]], so γ^2.5 = [[1, 1], [5.656854, 0]], by λ and the signs of
    the weights.
    """
    layer = nn.Linear(2, 2, bias=False)
    layer.weight.data = torch.tensor([[0.5, -0.1], [-3.0, 2.0]])
    layer.weight.grad = torch.tensor([[0.3, -0.1], [0.0, 0.2]])
    other_gradient = torch.tensor([[0.1, 0.1], [-0.4, 0.2]])
    defense = Past(lam=0.1, alpha=2.5)
    importance = defense.importance(other_gradient - layer.weight.grad)
    defense.add_penalty([layer.weight], [importance])
    assert_allclose(layer.weight.grad, [[0.3 + 0.1, -0.1 - 0.1], [-0.5656854, 0.2]], atol=1e-6)
    assert_allclose(importance, [[1, 1], [5.656854, 0]], atol=1e-5)


def test_statistics_of_members_alone_differ_from_mixed_ones_as_two_passes_do(members, others):
    """After one step from running statistics 0 and 1, with the means of the first convolution by
    hand.
    """
    means = []
    for records in (members, others):
        x, _ = to_device(records, torch.device("cpu"))
        means.append(normalised().features[0](x).mean(dim=(0, 2, 3)).detach())
    alone, mixed = (
        tuned(normalised(), members, others, Past(0.01, mixed_statistics=mix), ONE)
        for mix in (False, True)
    )
    assert_allclose(alone["features.1.running_mean"], 0.1 * means[0], atol=1e-5)
    assert_allclose(
        mixed["features.1.running_mean"], 0.9 * 0.1 * means[1] + 0.1 * means[0], atol=1e-5
    )
    assert (alone["features.1.num_batches_tracked"], mixed["features.1.num_batches_tracked"]) == (
        1,
        2,
    )
    plain = tuned(normalised(), members, others, Plain(), ONE)
    for name in ("features.1.running_mean", "features.1.running_var"):
        assert torch.equal(alone[name], plain[name])
        assert not torch.allclose(mixed[name], plain[name], atol=1e-3)


def test_members_statistics_are_all_that_sets_it_apart_from_the_authors_code(members, others):
    expected = by_authors(normalised(), members, others, lam=0.01, alpha=1.5, restore=True)
    assert_same(tuned(normalised(), members, others, Past(0.01, 1.5)), expected, atol=2e-5)


def test_batchnorm_goes_on_counting_after_tuning(members, others):
    model = normalised()
    tuned(model, members, others, Past(0.01), ONE)
    assert model.features[1].track_running_stats


# ---------------------------------------------------------------- limits


@pytest.mark.parametrize("per", ["batch", "epoch"])
def test_alpha_zero_is_uniform_l1_on_the_modules_weights_step_for_step(members, others, per):
    model, seen = normalised(), []
    x, y = to_device(members, torch.device("cpu"))
    velocity = {name: torch.zeros_like(value) for name, value in model.named_parameters()}
    for _ in range(3):
        model.train()
        gradients = torch.autograd.grad(F.cross_entropy(model(x), y), list(model.parameters()))
        with torch.no_grad():
            for (name, value), gradient in zip(model.named_parameters(), gradients, strict=True):
                penalty = 0.01 * value.sign() if name.endswith("weight") else 0.0
                velocity[name].mul_(0.9).add_(gradient + penalty + 5e-4 * value)
                value.sub_(0.05 * velocity[name])
        seen.append({name: value.clone() for name, value in model.state_dict().items()})

    def compare(model, epoch):
        assert_same(model.state_dict(), seen[epoch - 1], atol=1e-5)

    tuned(normalised(), members, others, Past(0.01, 0.0, per=per), on_epoch=compare)


@pytest.mark.parametrize(
    "variant",
    [{}, {"per": "epoch"}, {"proximal": True}, {"penalty": "l2"}, {"mixed_statistics": True}],
)
def test_strength_zero_is_plain_training_bit_for_bit(members, others, variant):
    plain = tuned(normalised(), members, None, Plain(), SMALL)
    assert_equal(tuned(normalised(), members, others, Past(0.0, **variant), SMALL), plain)
    assert_equal(
        tuned(normalised(), members, None, Past(0.0, **variant), SMALL), plain
    )  # Nothing to tune on.


def test_strength_zero_is_plain_tuning_of_a_trained_model_bit_for_bit(tiny, store):
    zero, plain, past = (
        runs.get(tiny.then(defense, tiny.recipe), store=store)
        for defense in (Past(0.0), Plain(), Past(0.01))
    )
    assert_equal(zero.load_model().state_dict(), plain.load_model().state_dict())
    assert not torch.equal(past.load_model().classify.weight, plain.load_model().classify.weight)


@pytest.mark.parametrize("variant", [{}, {"per": "epoch"}, {"proximal": True}])
def test_the_same_records_on_both_sides_are_plain_training(members, variant):
    """One record eight times, so that the order of a batch rounds nothing; its copies have other
    places.
    """
    one = members.take(np.zeros(8, int))
    same = replace(one, index=one.index + 1000)
    plain = tuned(perceptron(), one, same, Plain())
    assert_equal(tuned(perceptron(), one, same, Past(0.1, 1.5, **variant)), plain)
    uniform = tuned(perceptron(), one, same, Past(0.1, 0.0, **variant))
    assert (uniform["classify.weight"] - plain["classify.weight"]).abs().max() > 0.01


def test_modules_of_zeros_get_no_weight_and_no_nan():
    assert torch.equal(Past(1.0, 2.5).importance(torch.zeros(3, 2)), torch.zeros(3, 2))


# ---------------------------------------------------------------- γ within training


@dataclass(frozen=True)
class Watched(Past):
    """Notes γ^α after every step."""

    def after_step(self, training):
        super().after_step(training)
        training.model.noted.append((training.epoch, list(training.state.importance)))


def noted(model, members, others, recipe=SMALL, **settings):
    model.noted = []
    tuned(model, members, others, Watched(**settings), recipe)
    return model.noted


@pytest.mark.parametrize("per", ["batch", "epoch"])
def test_gamma_is_detached_and_has_mean_one_in_every_module(members, others, per):
    for _, modules in noted(normalised(), members, others, alpha=1.0, per=per):
        assert [weight.shape for weight in modules] == [(3, 1, 3, 3), (3,), (10, 27)]
        for weight in modules:
            assert weight.grad_fn is None
            assert not weight.requires_grad
            assert weight.mean().item() == pytest.approx(1, abs=1e-5)


def test_gamma_follows_every_batch(members, others):
    first, second = (modules[-1] for _, modules in noted(normalised(), members, others)[:2])
    assert not torch.allclose(first, second, atol=0.1)


def test_gamma_of_an_epoch_is_that_of_its_first_weights(members, others):
    """Four steps an epoch, from samples that hold all records: by hand, in eval mode."""
    model, starts = normalised(), []
    starts.append(own_gamma(model, members, others))
    tuned(
        model,
        members,
        others,
        Past(0.05, 1.5, per="epoch"),
        replace(SMALL, epochs=1, schedule="constant"),
    )
    starts.append(own_gamma(model, members, others))
    steps = noted(
        normalised(),
        members,
        others,
        replace(SMALL, schedule="constant"),
        lam=0.05,
        per="epoch",
    )
    assert [epoch for epoch, _ in steps] == [1] * 4 + [2] * 4
    for epoch, modules in steps:
        for weight, gamma in zip(modules, starts[epoch - 1], strict=True):
            assert_allclose(weight, gamma**1.5, rtol=1e-3, atol=1e-4)
    assert not torch.allclose(starts[0][-1], starts[1][-1], atol=0.1)


def test_an_epoch_looks_once_at_no_more_than_its_sample(members, others, monkeypatch):
    looked, measure = [], past.gap_gradient
    monkeypatch.setattr(
        past, "gap_gradient", lambda model, *sides: looked.append(sides) or measure(model, *sides)
    )
    tuned(
        perceptron(), members, others, Past(0.01, per="epoch", sample=20), replace(SMALL, epochs=3)
    )
    assert [[len(y) for _, y in sides] for sides in looked] == [[20, 20]] * 3
    for place, records in enumerate((members, others)):
        whole = set(map(tuple, records.scaled().reshape(len(records), -1).tolist()))
        drawn = [set(map(tuple, sides[place][0].flatten(1).tolist())) for sides in looked]
        assert set.union(*drawn) <= whole
        assert drawn[0] != drawn[1]
    looked.clear()
    tuned(
        perceptron(), members, others, Past(0.01, per="epoch"), SMALL
    )  # More is asked for than there is.
    assert [[len(y) for _, y in sides] for sides in looked] == [[60, 50]] * 2


def test_the_clamp_binds(members, others):
    free, held = (
        noted(normalised(), members, others, ONE, alpha=2.5, clamp=clamp)[0][1]
        for clamp in (1e4, 3.0)
    )
    for without, within in zip(free, held, strict=True):
        assert_allclose(within, without.clamp(max=3.0), rtol=1e-5)
    assert max(weight.max() for weight in free) > 10


# ---------------------------------------------------------------- what is penalised, and how

WEIGHTS = {
    "convolution": "features.0.weight",
    "normalisation": "features.1.weight",
    "linear": "classify.weight",
}


@pytest.mark.parametrize(
    "chosen", [("linear",), ("convolution",), ("normalisation", "linear"), tuple(WEIGHTS)]
)
@pytest.mark.parametrize("per", ["batch", "epoch"])
def test_kinds_choose_the_weights_that_pay(members, others, chosen, per):
    found = tuned(normalised(), members, others, Past(0.1, kinds=chosen, per=per), ONE)
    plain = tuned(normalised(), members, others, Plain(), ONE)
    assert {name for name in plain if not torch.equal(found[name], plain[name])} == {
        WEIGHTS[kind] for kind in chosen
    }


@pytest.mark.parametrize(("penalty", "pull"), [("l1", torch.sign), ("l2", lambda w: 2 * w)])
def test_one_step_pulls_by_strength_and_gamma(members, others, penalty, pull):
    """Without BatchNorm, γ in train mode is γ in eval mode."""
    start = [layer.weight.detach() for layer in penalised(perceptron())]
    gamma = own_gamma(perceptron(), members, others)
    found = tuned(perceptron(), members, others, Past(0.05, 1.5, penalty=penalty), ONE)
    plain = tuned(perceptron(), members, others, Plain(), ONE)
    for name, weight, g in zip(("features.1.weight", "classify.weight"), start, gamma, strict=True):
        assert_allclose(
            found[name] - plain[name], -0.1 * 0.05 * g**1.5 * pull(weight), rtol=1e-3, atol=1e-5
        )
    assert torch.equal(found["classify.bias"], plain["classify.bias"])


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_a_proximal_step_shrinks_what_the_plain_step_left(members, others, penalty):
    gamma = own_gamma(perceptron(), members, others)
    found = tuned(
        perceptron(), members, others, Past(0.05, 1.5, penalty=penalty, proximal=True), ONE
    )
    plain = tuned(perceptron(), members, others, Plain(), ONE)
    for name, g in zip(("features.1.weight", "classify.weight"), gamma, strict=True):
        shrink, size = 0.1 * 0.05 * g**1.5, plain[name].abs()
        expected = torch.relu(size - shrink) if penalty == "l1" else size / (1 + 2 * shrink)
        assert_allclose(found[name], plain[name].sign() * expected, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_proximal_and_sub_gradient_steps_agree_as_the_step_goes_to_zero(
    members, others, momentum, penalty
):
    """The same way in steps of a third and a ninth: the difference shrinks with them."""
    differences = []
    for steps in (10, 30, 90):
        rate = (1 - momentum) / steps
        recipe = Recipe(steps, 60, rate, momentum, weight_decay=0.0, schedule="constant")
        pair = [
            tuned(
                perceptron(),
                members,
                others,
                Past(0.02, 1.5, penalty=penalty, proximal=proximal),
                recipe,
            )
            for proximal in (False, True)
        ]
        differences.append((pair[0]["classify.weight"] - pair[1]["classify.weight"]).norm().item())
    assert differences[1] < 0.7 * differences[0]
    assert differences[2] < 0.7 * differences[1]


def test_only_the_proximal_step_makes_exact_zeros(members, others):
    zeros = {}
    for proximal in (False, True):
        found = tuned(
            perceptron(),
            members,
            others,
            Past(0.05, 1.5, proximal=proximal),
            replace(SMALL, epochs=20),
        )
        zeros[proximal] = int(
            (found["classify.weight"] == 0).sum() + (found["features.1.weight"] == 0).sum()
        )
    assert zeros[False] == 0
    assert zeros[True] > 50


# ---------------------------------------------------------------- modules that are out of reach


class WithUnused(models.Network):
    """A network with a linear layer that its output does not need."""

    def __init__(self):
        whole = normalised()
        super().__init__(whole.features, whole.classify)
        self.unused = nn.Linear(2, 2)


VARIANTS = [
    {},
    {"alpha": 0.0},
    {"per": "epoch"},
    {"proximal": True},
    {"proximal": True, "alpha": 0.0},
]


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_module_without_gradient_stays_and_changes_nothing(members, others, variant):
    model = WithUnused()
    start = {f"unused.{name}": value.clone() for name, value in model.unused.state_dict().items()}
    found = tuned(model, members, others, Past(**{"lam": 0.05} | variant), SMALL)
    assert_equal({name: found.pop(name) for name in start}, start)
    assert_equal(
        found, tuned(normalised(), members, others, Past(**{"lam": 0.05} | variant), SMALL)
    )


@pytest.mark.parametrize("variant", VARIANTS)
def test_penalising_only_what_has_no_gradient_is_plain_training(members, others, variant):
    model = WithUnused()
    model.classify = nn.Conv2d(3, 10, 3)  # The one linear layer left is unused.
    model.features[3] = nn.Identity()
    model.forward = lambda x: model.classify(model.features(x)).flatten(1)
    start = {name: value.clone() for name, value in model.state_dict().items()}
    found = tuned(model, members, others, Past(0.05, kinds=("linear",), **variant), ONE)
    model.load_state_dict(start)
    assert_equal(found, tuned(model, members, others, Plain(), ONE))


@pytest.mark.parametrize("variant", VARIANTS)
def test_frozen_parameters_never_change(members, others, variant):
    model = normalised()
    model.features[0].requires_grad_(False)
    model.classify.bias.requires_grad_(False)
    start = {name: value.clone() for name, value in model.state_dict().items()}
    found = tuned(model, members, others, Past(**{"lam": 0.05} | variant), SMALL)
    same = {name for name in start if torch.equal(found[name], start[name])}
    assert same == {"features.0.weight", "features.0.bias", "classify.bias"}


def test_a_model_that_is_frozen_altogether_is_refused(members, others):
    with pytest.raises(ValueError, match=r"not frozen, found none.*requires_grad_"):
        tuned(normalised().requires_grad_(False), members, others, Past())


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    "defense", [Past(), Past(alpha=0.0), Past(per="epoch"), Past(proximal=True)]
)
def test_tuning_without_non_members_is_refused_before_the_first_step(members, defense):
    model = perceptron()
    start = model.classify.weight.detach().clone()
    with pytest.raises(ValueError, match=r"no inference set.*six_parts"):
        tuned(model, members, None, defense)
    assert torch.equal(model.classify.weight, start)


def test_a_split_without_an_inference_part_is_refused(tiny, store):
    with pytest.raises(ValueError, match="no inference set"):
        runs.get(tiny.but(split="quarters").then(Past(), tiny.recipe), store=store)


@pytest.mark.parametrize("bad", [-1e-9, math.nan, math.inf, "1", None])
@pytest.mark.parametrize("name", ["lam", "alpha", "clamp"])
def test_a_strength_or_power_that_is_no_number_from_zero_is_refused(name, bad):
    with pytest.raises(ValueError, match=f"{name} must be a number"):
        Past(**{name: bad})


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"per": "epochs"}, "did you mean 'epoch'"),
        ({"penalty": "l3"}, "did you mean 'l"),
        ({"kinds": ("convolutional",)}, "did you mean 'convolution'"),
        ({"sample": 0}, "sample must be a whole number"),
        ({"per": "epoch", "mixed_statistics": True}, "mixed_statistics needs per='batch'"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(settings, complaint):
    with pytest.raises(ValueError, match=complaint):
        Past(**settings)


def test_a_strength_that_is_far_too_high_is_named_and_leaves_good_weights(members, others):
    model = perceptron()
    with pytest.raises(FloatingPointError, match=r"epoch \d.*Past\(lam=1e\+38, alpha=1.5"):
        tuned(model, members, others, Past(1e38), SMALL)
    assert all(weight.isfinite().all() for weight in model.parameters())


@pytest.mark.parametrize("lam", [0.01, 1e38])
def test_tuning_leaves_small_numbers_to_others(members, others, lam):
    """It flushes denormals while it works on γ; after it, also after a failure, they are there
    again.
    """
    with contextlib.suppress(FloatingPointError):
        tuned(perceptron(), members, others, Past(lam), SMALL)
    assert (torch.tensor([1e-40]) * 1).item() > 0


# ---------------------------------------------------------------- what it is for


@pytest.mark.parametrize("seed", range(3))
def test_tuning_halves_what_the_loss_gives_away_and_costs_no_accuracy(seed):
    """A perceptron as deep as the course's, but narrower, after it has learned most of its baskets
    by heart.

    Measured: the best advantage of the loss falls from 0.58 … 0.60 to 0.19 … 0.20, accuracy rises
    by 1 to 3 points.
    """
    side = splits.split("six_parts", data.load("shoppers", size=18_000))["target"]
    model = models.build("mlp", shape=(600,), classes=100, widths=(256, 128, 64, 32), seed=seed)
    found = []
    for defense, epochs in ((Plain(), 30), (Past(1e-3, 2.5), 15)):
        recipe = Recipe(epochs=epochs, lr=0.05)
        fit(
            model,
            side.train,
            recipe,
            defense=defense,
            inference=side.inference,
            seed=seed,
            device="cpu",
        )
        signals = collect(model, side)
        accuracy = signals.non_members().correct().mean()
        found.append((accuracy, best_advantage(-signals.loss(), signals.is_member)))
    (accuracy, advantage), (accuracy_after, advantage_after) = found
    assert 0.5 < advantage < 0.7
    assert advantage_after < advantage / 2
    assert accuracy_after > accuracy - 0.01
