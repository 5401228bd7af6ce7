"""One loop and its hooks: the same bits by the same seed, and room for every kind of defense."""

import math
import pickle
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from torch import nn
from torch.nn import functional as F

from mialib import models
from mialib.data import Records
from mialib.defenses import Plain
from mialib.query import pick_device, predict, to_device
from mialib.signals import Signals
from mialib.training import Defense, DivergedError, Recipe, Training, fit
from small_networks import Collapsing

TINY = Recipe(epochs=2, batch_size=16, lr=0.05)


pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def others(digits):
    return digits.take(np.arange(60, 120))


def network(seed=0, dropout=0.0):
    built = models.build("mlp", shape=(1, 8, 8), classes=10, seed=seed, widths=(16,))
    built.features.append(nn.Dropout(dropout))
    return built


def trained(members, recipe=TINY, *, model=None, **options):
    """The weights after `fit`, as one vector."""
    model = model or network()
    fit(model, members, recipe, device="cpu", **options)
    return nn.utils.parameters_to_vector(model.parameters()).detach()


# ---------------------------------------------------------------- four defenses in a scratch file


@dataclass(frozen=True)
class LabelSmoothing(Defense):
    epsilon: float
    strength_field: ClassVar[str] = "epsilon"

    def loss(self, training, x, y):
        return F.cross_entropy(training.model(x), y, label_smoothing=self.epsilon)


@dataclass(frozen=True)
class L1(Defense):
    lam: float
    strength_field: ClassVar[str] = "lam"

    def after_backward(self, training):
        for weight in training.model.parameters():
            weight.grad.add_(weight.sign(), alpha=self.lam)


@dataclass(frozen=True)
class PastLike(Defense):
    """An ℓ1 weighted by how far the gradients on members and on non-members differ."""

    lam: float
    alpha: float = 2.5
    strength_field: ClassVar[str] = "lam"

    def after_backward(self, training):
        x, y = training.inference_batch()
        weights = list(training.model.parameters())
        nonmember = torch.autograd.grad(F.cross_entropy(training.model(x), y), weights)
        for weight, gradient in zip(weights, nonmember, strict=True):
            gamma = adaptive_weight(weight.grad, gradient)
            weight.grad.add_(gamma**self.alpha * weight.sign(), alpha=self.lam)


def adaptive_weight(member_gradient, nonmember_gradient):
    """γ: the gradients' absolute difference over its mean."""
    gap = (member_gradient - nonmember_gradient).abs()
    return gap / gap.mean()


@dataclass(frozen=True)
class LearnedOffset(Defense[nn.Parameter]):
    """Trains something of its own beside the model, as CRL does its centers."""

    weight: float
    strength_field: ClassVar[str] = "weight"

    def prepare(self, training):
        offset = nn.Parameter(torch.zeros(10))
        training.optimizer.add_param_group({"params": [offset]})
        return offset

    def loss(self, training, x, y):
        return F.cross_entropy(training.model(x) + self.weight * training.state, y)


SCRATCH = [LabelSmoothing, L1, PastLike, LearnedOffset]


@pytest.mark.parametrize("defense", SCRATCH)
def test_strength_zero_is_plain_bit_for_bit(members, others, defense):
    assert torch.equal(trained(members, defense=defense(0.0), inference=others), trained(members))


@pytest.mark.parametrize("defense", SCRATCH)
def test_a_strong_defense_changes_the_weights(members, others, defense):
    assert not torch.equal(
        trained(members, defense=defense(0.3), inference=others), trained(members)
    )


def test_one_defense_object_serves_many_runs(members, others):
    defense = PastLike(0.1)
    first, second = (trained(members, defense=defense, inference=others) for _ in range(2))
    assert torch.equal(first, second)
    assert vars(defense) == {"lam": 0.1, "alpha": 2.5}


def test_a_penalty_after_backward_enters_the_step(members):
    recipe = Recipe(epochs=1, batch_size=len(members), lr=0.1, momentum=0.0, weight_decay=0.0)
    start = nn.utils.parameters_to_vector(network().parameters())
    difference = trained(members, recipe, defense=L1(0.01)) - trained(members, recipe)
    assert_allclose(difference, -0.1 * 0.01 * start.sign().detach(), atol=1e-7)


def test_past_weights_equal_the_hand_computed_ones():
    gamma = adaptive_weight(
        torch.tensor([[0.3, -0.1], [0, 0.2]]), torch.tensor([[0.1, 0.1], [-0.4, 0.2]])
    )
    assert_allclose(gamma, [[1, 1], [2, 0]], atol=1e-6)
    assert_allclose(gamma**2.5, [[1, 1], [5.656854, 0]], atol=1e-5)


def test_the_hooks_come_in_order(members):
    calls = []

    class Spy(Plain):
        def prepare(self, training):
            calls.append(("prepare", training.epoch))

        def start_epoch(self, training):
            calls.append(("start_epoch", training.epoch))

        def batches(self, training, generator):
            calls.append(("batches", training.epoch))
            return super().batches(training, generator)

        def loss(self, training, x, y):
            calls.append(("loss", len(y)))
            return super().loss(training, x, y)

        def after_backward(self, training):
            assert all(weight.grad is not None for weight in training.model.parameters())
            calls.append(("after_backward", training.epoch))

        def after_step(self, training):
            calls.append(("after_step", training.epoch))

        def end_epoch(self, training):
            assert len(training.history) == training.epoch, "the epoch is in the history by now"
            calls.append(("end_epoch", training.epoch))

    def note(model, epoch):
        calls.append(("on_epoch", epoch))

    recipe = Recipe(epochs=2, batch_size=40)
    fit(network(), members, recipe, defense=Spy(), device="cpu", on_epoch=note)
    expected = [("prepare", 0)]
    for number in (1, 2):
        expected += [("start_epoch", number), ("batches", number)]
        for size in (40, 20):
            expected += [("loss", size), ("after_backward", number), ("after_step", number)]
        expected += [("end_epoch", number), ("on_epoch", number)]
    assert calls == expected


def test_what_prepare_returns_is_the_state_of_that_training_alone(members):
    @dataclass
    class Steps:
        number: int = 0

    finished = []

    class Counts(Defense[Steps]):
        def prepare(self, training):
            assert training.state is None
            return Steps()

        def after_step(self, training):
            training.state.number += 1

        def end_epoch(self, training):
            finished.append(training.state.number)
            return False

    defense = Counts()
    for _ in range(2):
        fit(network(), members, TINY, defense=defense, device="cpu")
    assert finished == [4, 8, 4, 8]
    assert vars(defense) == {}


def test_a_defense_may_draw_its_own_batches(members):
    """As DP-SGD does: here every batch holds the same first ten members."""
    seen = []

    class FirstTen(Plain):
        def batches(self, training, generator):
            x, y = training.members
            for _ in range(3):
                yield x[:10], y[:10]

        def loss(self, training, x, y):
            seen.append(y.tolist())
            return super().loss(training, x, y)

    fit(network(), members, replace(TINY, epochs=1), defense=FirstTen(), device="cpu")
    assert seen == [members.y[:10].tolist()] * 3


def test_the_generator_of_the_batches_decides_their_order(members):
    """The order of the members is drawn by it and by nothing else."""

    class Same(Plain):
        def batches(self, training, generator):
            return training.shuffled(training.members, torch.Generator().manual_seed(7))

    plain = trained(members, seed=7, recipe=replace(TINY, epochs=1))
    assert torch.equal(
        trained(members, seed=3, recipe=replace(TINY, epochs=1), defense=Same()), plain
    )


def test_a_training_can_be_had_without_a_loop(members, others):
    """A test or a lesson calls a hook on it."""
    training = Training.begin(network(), members, TINY, inference=others, seed=4)
    x, y = training.members
    assert torch.equal(Plain().loss(training, x, y), F.cross_entropy(training.model(x), y))
    assert training.epoch == 0
    assert training.state is None
    _, labels = training.inference_batch()
    assert len(labels) == 16
    assert training.eval_logits(x).shape == (60, 10)
    batches = list(Plain().batches(training, torch.Generator().manual_seed(0)))
    assert [len(labels) for _, labels in batches] == [16, 16, 16, 12]


@pytest.mark.parametrize("defense", [L1(0.25), PastLike(0.25), LabelSmoothing(0.25)])
def test_any_defense_says_how_strong_it_is(defense):
    assert defense.strength == 0.25
    stronger = defense.with_strength(0.5)
    assert stronger == type(defense)(0.5)
    assert stronger.strength == 0.5


def test_a_defense_without_a_number_says_so():
    assert Plain().strength is None
    with pytest.raises(ValueError, match="Plain has no single number"):
        Plain().with_strength(0.5)


def test_a_setting_is_called_by_its_symbol_and_not_strength():
    with pytest.raises(TypeError, match=r"Mine: name the setting by its paper's symbol"):

        @dataclass(frozen=True)
        class Mine(Defense):
            strength: float = 0.1


def test_by_default_a_defense_is_one_training_of_the_same_network():
    defense = L1(0.1)
    assert defense.trainings() == (defense,)
    assert defense.network_options() == {}


def test_what_is_done_after_a_step_stays(members):
    class Rounds(Plain):
        def after_step(self, training):
            with torch.no_grad():
                for weight in training.model.parameters():
                    weight.copy_(weight.sign())

    assert set(trained(members, defense=Rounds()).tolist()) == {-1, 1}


def test_a_defense_may_end_the_training(members):
    class Ends(Plain):
        def end_epoch(self, training):
            return training.epoch == 2

    model, recipe = network(), Recipe(epochs=5, schedule="constant")
    assert len(fit(model, members, recipe, defense=Ends(), device="cpu")) == 2
    weights = nn.utils.parameters_to_vector(model.parameters()).detach()
    assert torch.equal(weights, trained(members, replace(recipe, epochs=2)))


def test_inference_batches_go_through_all_records_before_they_repeat(members, others):
    passes = []

    class Spy(Plain):
        def start_epoch(self, training):
            batches = [training.inference_batch() for _ in range(4)]
            assert [len(y) for _, y in batches] == [16, 16, 16, 12]
            passes.append(torch.cat([x for x, _ in batches]).flatten(1))

    assert torch.equal(
        trained(members, defense=Spy(), inference=others), trained(members)
    )  # Members keep their order.
    rows = [set(map(tuple, one.tolist())) for one in passes]
    assert rows[0] == rows[1] == set(map(tuple, others.scaled().reshape(60, -1).tolist()))
    assert not torch.equal(*passes)


def test_a_defense_may_leave_the_model_in_eval_mode(members):
    class Looks(Plain):
        def start_epoch(self, training):
            training.model.eval()

    with_dropout = [
        trained(members, model=network(dropout=0.5), defense=defense)
        for defense in (Plain(), Looks())
    ]
    assert torch.equal(*with_dropout)


def test_a_defense_that_draws_does_not_change_the_members_order(members):
    class Draws(Plain):
        def start_epoch(self, training):
            torch.rand(3, generator=training.generator)

    recipe = replace(TINY, augment=True)
    assert torch.equal(trained(members, recipe, defense=Draws()), trained(members, recipe))


# ---------------------------------------------------------------- seeds


def test_the_same_seed_gives_the_same_weights_bit_for_bit(members):
    first = trained(members, model=network(dropout=0.5), seed=3)
    torch.rand(5)  # Something else draws in between.
    assert torch.equal(trained(members, model=network(dropout=0.5), seed=3), first)


def test_another_seed_gives_other_weights(members):
    assert not torch.equal(trained(members, seed=1), trained(members, seed=2))


def test_the_seed_decides_what_layers_draw(members):
    """Dropout has no generator of its own: it draws from the global one."""
    drawn = []

    class Draws(Plain):
        def prepare(self, training):
            drawn.append(float(torch.rand(1)))

    for seed in (1, 1, 2):
        trained(members, defense=Draws(), seed=seed)
    assert drawn[0] == drawn[1] != drawn[2]


def test_fit_leaves_the_global_generator_alone(members):
    before = torch.random.get_rng_state()
    trained(members, model=network(dropout=0.5))
    assert torch.equal(torch.random.get_rng_state(), before)


def test_looking_at_the_model_does_not_change_it(members, others):
    def look(model, epoch):
        return {"correct": float(Signals(predict(model, others), others.y).correct().mean())}

    watched = trained(members, model=network(dropout=0.5), on_epoch=look)
    assert torch.equal(watched, trained(members, model=network(dropout=0.5)))


# ---------------------------------------------------------------- the loop against a loop by hand


def test_full_batch_training_equals_sgd_by_hand(members):
    recipe = Recipe(epochs=4, batch_size=len(members), lr=0.1, momentum=0.9, weight_decay=0.01)
    model = network()
    x, y = to_device(members, torch.device("cpu"))
    velocity = [torch.zeros_like(weight) for weight in model.parameters()]
    for epoch in range(4):
        lr = 0.1 * (1 + math.cos(math.pi * epoch / 4)) / 2
        gradients = torch.autograd.grad(F.cross_entropy(model(x), y), list(model.parameters()))
        with torch.no_grad():
            for weight, gradient, v in zip(model.parameters(), gradients, velocity, strict=True):
                v.mul_(0.9).add_(gradient + 0.01 * weight)
                weight.sub_(lr * v)
    by_hand = nn.utils.parameters_to_vector(model.parameters()).detach()
    assert_allclose(trained(members, recipe), by_hand, atol=1e-5)


def test_an_epoch_visits_every_member_once_in_a_new_order(members):
    seen = []

    class Spy(Plain):
        def loss(self, training, x, y):
            seen.append(x.flatten(1))
            return super().loss(training, x, y)

    fit(network(), members, Recipe(epochs=2, batch_size=60), defense=Spy(), device="cpu")
    first, second = (set(map(tuple, epoch.tolist())) for epoch in seen)
    assert first == second == set(map(tuple, members.scaled().reshape(60, -1).tolist()))
    assert not torch.equal(*seen)


def test_the_history_holds_the_mean_loss_of_all_members(members):
    model = network()
    expected = Signals(predict(model, members), members.y).loss().mean()
    history = fit(model, members, Recipe(epochs=2, batch_size=7, lr=0.0), device="cpu")
    assert [epoch["epoch"] for epoch in history] == [1, 2]
    assert_allclose([epoch["loss"] for epoch in history], expected, rtol=1e-5)


def test_training_fits_the_members(members):
    model = network()
    history = fit(model, members, Recipe(epochs=30, batch_size=16, lr=0.1), device="cpu")
    assert history[-1]["loss"] < 0.1 < history[0]["loss"]
    assert Signals(predict(model, members), members.y).correct().mean() > 0.98


def test_on_epoch_adds_to_the_history(members):
    history = fit(
        network(), members, TINY, device="cpu", on_epoch=lambda model, epoch: {"square": epoch**2}
    )
    assert [epoch["square"] for epoch in history] == [1, 4]


def test_augmentation_changes_what_is_learned(members):
    assert not torch.equal(trained(members, replace(TINY, augment=True)), trained(members))


# ---------------------------------------------------------------- what a defense says and sees


def test_what_is_logged_stands_in_the_history_as_the_mean_over_the_epoch(members):
    class Logs(Plain):
        def start_epoch(self, training):
            if training.epoch == 2:
                training.log(rare=7)

        def loss(self, training, x, y):
            training.log(size=float(len(y)), epoch_squared=torch.tensor(training.epoch**2))
            return super().loss(training, x, y)

        def end_epoch(self, training):
            training.log(last=training.epoch)

    history = fit(network(), members, TINY, defense=Logs(), device="cpu")
    assert [epoch["size"] for epoch in history] == [15, 15]  # 16, 16, 16 and 12
    assert [epoch["epoch_squared"] for epoch in history] == [1, 4]
    assert [epoch["last"] for epoch in history] == [1, 2]
    assert [epoch.get("rare") for epoch in history] == [None, 7]
    assert all(isinstance(epoch["epoch_squared"], float) for epoch in history)


def test_what_the_end_of_an_epoch_logs_joins_what_its_batches_logged(members):
    class Logs(Plain):
        def loss(self, training, x, y):
            training.log(mixed=1.0, batches=torch.tensor(2.0))
            return super().loss(training, x, y)

        def end_epoch(self, training):
            training.log(mixed=torch.tensor(6.0))

    history = fit(network(), members, TINY, defense=Logs(), device="cpu")
    assert [epoch["mixed"] for epoch in history] == [2.0, 2.0]  # 1, 1, 1, 1 and 6
    assert [epoch["batches"] for epoch in history] == [2.0, 2.0]
    assert list(history[0]) == ["epoch", "loss", "mixed", "batches"]


def test_what_is_logged_is_not_rounded(members):
    """Only float32 is float32; nor does it matter what else is fetched beside it."""
    third = torch.tensor(1 / 3, dtype=torch.float64)

    class Logs(Plain):
        def end_epoch(self, training):
            training.log(python=1 / 3, double=third, whole=torch.tensor(2**24 + 1).double())
            training.log(single=third.float(), one=torch.tensor([[0.5]]), number=np.float64(0.1))

    (epoch,) = fit(network(), members, replace(TINY, epochs=1), defense=Logs(), device="cpu")
    assert epoch["python"] == epoch["double"] == 1 / 3
    assert epoch["whole"] == 2**24 + 1
    assert epoch["single"] == float(np.float32(1 / 3))
    assert (epoch["one"], epoch["number"]) == (0.5, 0.1)


def test_only_single_numbers_are_logged(members):
    training = Training.begin(network(), members, TINY)
    with pytest.raises(ValueError, match=r"log\(far=…\) takes one number, found \(3, 2\)"):
        training.log(far=torch.zeros(3, 2))


def test_a_look_is_at_eval_mode_and_leaves_nothing_behind(members):
    """Dropout is off, statistics stay, no graph is kept, and more records than fit into one batch
    are seen.
    """
    model, found = network(dropout=0.5), []
    model.features.append(nn.BatchNorm1d(16))

    class Looks(Plain):
        def loss(self, training, x, y):
            many = training.members[0].repeat(10, 1, 1, 1)  # 600
            before = {name: value.clone() for name, value in training.model.state_dict().items()}
            found.append(training.eval_logits(many))
            assert training.model.training
            assert all(
                torch.equal(value, before[name])
                for name, value in training.model.state_dict().items()
            )
            assert_allclose(
                found[-1], np.tile(predict(training.model, members), (10, 1)), atol=1e-5
            )
            return super().loss(training, x, y)

    assert torch.equal(
        trained(members, model=model, defense=Looks()), trained(members, model=same_network())
    )
    assert found[0].shape == (600, 10)
    assert not found[0].requires_grad


def same_network():
    model = network(dropout=0.5)
    model.features.append(nn.BatchNorm1d(16))
    return model


# ---------------------------------------------------------------- a classifier that collapses


@dataclass(frozen=True)
class Collapses(Collapsing, Plain):
    epochs: tuple[int, ...]


def collapsing(members, epochs, *, of=4, **options):
    """The history, the model, and its state after each epoch."""
    model, states = network(dropout=0.2), []
    model.features.append(nn.BatchNorm1d(16))

    def look(model, epoch):
        states.append({name: value.clone() for name, value in model.state_dict().items()})

    recipe = replace(TINY, epochs=of, schedule="constant")
    history = fit(
        model, members, recipe, defense=Collapses(epochs), device="cpu", on_epoch=look, **options
    )
    return history, model, states


@pytest.mark.parametrize(
    ("epochs", "kept"), [((4,), 3), ((3, 4), 2), ((2, 3, 4), 1), ((1, 3, 4), 2)]
)
def test_a_classifier_that_ends_collapsed_is_said_and_gets_the_last_good_weights(
    members, epochs, kept
):
    history, model, states = collapsing(members, epochs)
    assert [
        epoch["epoch"] for epoch in history if epoch.get("collapsed") and epoch["epoch"] > 1
    ] == [number for number in epochs if number > 1]
    assert history[-1]["weights_of_epoch"] == kept
    for name, value in states[kept - 1].items():
        assert torch.equal(model.state_dict()[name], value), name
        assert torch.equal(
            states[-1][name], value
        )  # The last look is at the weights that are kept.
    assert len(np.unique(predict(model, members).argmax(axis=1))) > 1


def test_a_classifier_that_recovers_is_said_but_keeps_its_own_weights(members):
    history, model, states = collapsing(members, (2, 3))
    assert [epoch["epoch"] for epoch in history if epoch.get("collapsed")] == [2, 3]
    assert not any("weights_of_epoch" in epoch for epoch in history)
    assert all(torch.equal(model.state_dict()[name], value) for name, value in states[-1].items())


def test_a_classifier_that_never_was_good_is_said_and_left(members):
    history, model, _ = collapsing(members, (1, 2, 3, 4))
    assert history[-1]["collapsed"]
    assert "weights_of_epoch" not in history[-1]
    assert set(predict(model, members).argmax(axis=1)) == {3}


def test_one_member_that_is_told_apart_is_no_collapse(members):
    """The look at a few of them does not decide alone: the one stands between those."""
    many = members.take(np.arange(1920) % 59)
    x = many.x.astype(np.float32)
    x[:], x[1] = 0.0, 255.0
    odd = replace(many, x=x, index=np.arange(1920))

    class Told(nn.Module):
        def __init__(self):
            super().__init__()
            self.classify = nn.Linear(10, 10)

        def forward(self, x):
            bright = (x.flatten(1).mean(dim=1) > 1).float()
            return (
                torch.eye(10)[0] * (1 - bright)[:, None]
                + torch.eye(10)[1] * bright[:, None]
                + 0 * self.classify.bias
            )

    history = fit(Told(), odd, Recipe(2, 960, 0.01, weight_decay=0.0), device="cpu")
    assert not any("collapsed" in epoch for epoch in history)


def test_good_training_says_nothing_of_a_collapse(members):
    assert all(
        set(epoch) == {"epoch", "loss"} for epoch in fit(network(), members, TINY, device="cpu")
    )


# ---------------------------------------------------------------- learning rates


@pytest.mark.parametrize(
    ("recipe", "expected"),
    [
        (Recipe(epochs=4, lr=0.2, schedule="constant"), [0.2, 0.2, 0.2, 0.2]),
        (Recipe(epochs=4, lr=0.2, schedule="steps"), [0.2, 0.2, 0.02, 0.002]),
        (
            Recipe(epochs=4, lr=0.2, schedule="steps", milestones=(0.25, 0.75)),
            [0.2, 0.02, 0.02, 0.002],
        ),
        (
            Recipe(epochs=4, lr=0.2, schedule="steps", milestones=(0.25,), factors=(0.5,)),
            [0.2, 0.1, 0.1, 0.1],
        ),
        (
            Recipe(epochs=4, lr=0.2),
            [0.2, 0.1 * (1 + math.sqrt(0.5)), 0.1, 0.1 * (1 - math.sqrt(0.5))],
        ),
    ],
)
def test_the_schedule_sets_the_learning_rate_of_each_epoch(members, recipe, expected):
    rates = []

    class Spy(Plain):
        def start_epoch(self, training):
            rates.append(training.optimizer.param_groups[0]["lr"])

    fit(network(), members, recipe, defense=Spy(), device="cpu")
    assert_allclose(rates, expected)


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_loss_that_is_no_number_stops_training(members, bad):
    class Faulty(Plain):
        def loss(self, training, x, y):
            return super().loss(training, x, y) * (bad if training.epoch == 2 else 1)

    recipe = replace(
        TINY, batch_size=len(members)
    )  # One batch: the weights that it spoils are not used again.
    with pytest.raises(FloatingPointError, match=r"epoch 2.*Lower the learning rate \(0.05\)"):
        trained(members, recipe, defense=Faulty())


def test_the_error_tells_the_history_up_to_the_epoch_that_diverged(members):
    with pytest.raises(DivergedError) as caught:
        fit(network(), members, replace(TINY, epochs=4), defense=Spoils("loss"), device="cpu")
    first, second = caught.value.history
    assert first["epoch"] == 1
    assert first["loss"] > 0
    assert second == {"epoch": 2, "diverged": True}


def test_the_error_comes_whole_out_of_another_process():
    error = DivergedError("too fast", [{"epoch": 1, "diverged": True}])
    copied = pickle.loads(pickle.dumps(error))
    assert str(copied) == "too fast"
    assert copied.history == error.history
    assert DivergedError("too fast").history == []


@dataclass(frozen=True)
class Spoils(Plain):
    """Makes the loss NaN, or a weight after the last step, or one before the first, in the second
    epoch.
    """

    what: str

    def start_epoch(self, training):
        if training.epoch == 2 and self.what == "start":
            training.model.classify.bias.data[3] = math.nan

    def loss(self, training, x, y):
        return super().loss(training, x, y) * (
            math.nan if training.epoch == 2 and self.what == "loss" else 1
        )

    def after_step(self, training):
        training.steps = getattr(training, "steps", 0) + 1
        if self.what == "weight" and training.steps == 8:
            training.model.classify.bias.data[3] = math.inf


@pytest.mark.parametrize("what", ["loss", "weight", "start"])
def test_the_model_keeps_the_weights_from_before_the_epoch_that_spoils_them(members, what):
    recipe = replace(TINY, epochs=4, schedule="constant")  # four steps an epoch
    model, expected = (network() for _ in range(2))
    for one in (model, expected):
        one.features.append(nn.BatchNorm1d(16))
    with pytest.raises(
        FloatingPointError,
        match=rf"epoch 2\..*\(0\.05\).*Spoils\(what='{what}'\).*before that epoch",
    ):
        fit(model, members, recipe, defense=Spoils(what), device="cpu")
    fit(expected, members, replace(recipe, epochs=1), device="cpu")
    for name, value in expected.state_dict().items():
        assert torch.equal(model.state_dict()[name], value), name


@pytest.mark.parametrize("shared", [1, 60])
def test_non_members_that_are_members_are_refused(members, digits, shared):
    overlapping = digits.take(np.arange(60 - shared, 120 - shared))
    with pytest.raises(ValueError, match=f"The inference set holds {shared} members"):
        trained(members, inference=overlapping)


def test_non_members_of_other_classes_are_refused(members, others):
    for classes in (11, 100):
        with pytest.raises(ValueError, match=f"same classes, found 10 and {classes} classes"):
            trained(members, inference=replace(others, classes=classes))


@pytest.mark.parametrize("outputs", [1, 9, 11])
def test_a_model_with_another_number_of_outputs_is_refused(members, outputs):
    model = models.build("mlp", shape=(1, 8, 8), classes=outputs, widths=(16,))
    start = model.classify.weight.detach().clone()
    with pytest.raises(
        ValueError, match=f"The records have 10 classes, but the model {outputs} outputs"
    ):
        fit(model, members, TINY, device="cpu")
    assert torch.equal(model.classify.weight, start)
    assert model.training


def test_other_records_at_the_same_places_are_no_members(members, others):
    elsewhere = replace(others, index=members.index)  # such as the records of another dataset
    assert torch.equal(trained(members, inference=elsewhere), trained(members))


def test_records_that_are_equal_to_members_but_numbered_anew_are_told(members, others):
    """They may be the same; or two records of a dataset happen to be equal, which is nobody's
    fault.
    """
    x = np.concatenate([others.x, members.x[:20]])
    numbered = replace(
        others,
        x=x,
        y=np.concatenate([others.y, members.y[:20]]),
        index=np.arange(1000, 1000 + len(x)),
    )
    expected = "The inference set holds copies of 20 members. Take it from"
    with pytest.warns(UserWarning, match=expected) as warned:
        fit(network(), members, TINY, inference=numbered, device="cpu")
    assert warned[0].filename == __file__, "it names the line that called fit"


def test_a_learning_rate_that_is_far_too_high_is_named(members):
    with pytest.raises(FloatingPointError, match=r"learning rate \(1e\+30\)"):
        trained(members, Recipe(epochs=5, lr=1e30))


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"epochs": 0}, "epochs"),
        ({"epochs": 2**31}, "epochs must be a whole number in 1 … 1000000"),
        ({"epochs": "3"}, "epochs"),
        ({"epochs": True}, "epochs"),
        ({"batch_size": 0}, "batch_size"),
        ({"batch_size": 2.5}, "batch_size"),
        ({"schedule": "cosin"}, "'cosin'"),
        ({"schedule": ["cosine"]}, "no schedule"),
        ({"lr": -0.1}, "lr"),
        ({"lr": None}, "lr"),
        ({"lr": math.nan}, "lr"),
        ({"momentum": 1.5}, "momentum"),
        ({"weight_decay": -1}, "weight_decay"),
        ({"milestones": (60, 90)}, "milestones"),
        ({"milestones": 0.5}, r"milestones must be several numbers, such as \(0.5, 0.75\)"),
        ({"milestones": ((0.5,), (0.75,))}, "milestones must be several numbers"),
        ({"factors": None}, "factors must be several numbers"),
        ({"factors": (0.1, math.inf)}, "factors"),
        ({"augment": "crop"}, "augment must be True, False, 'flip' or 'batch', found 'crop'"),
        ({"augment": 3}, "augment"),
        ({"schedule": "steps", "milestones": (0.5,)}, "Each milestone needs its factor"),
    ],
)
def test_recipes_that_cannot_be_meant_are_refused(settings, complaint):
    with pytest.raises(ValueError, match=complaint):
        Recipe(**settings)


def test_equal_recipes_are_equal_whatever_they_were_made_from():
    made = Recipe(epochs=np.int64(30), lr=torch.tensor(0.5), milestones=[0.5, np.float64(0.75)])
    assert made == Recipe(epochs=30, lr=0.5)
    assert hash(made) == hash(Recipe(lr=0.5))
    assert type(made.lr) is float


def test_a_batch_may_be_larger_than_the_members(members):
    assert torch.equal(
        trained(members, replace(TINY, batch_size=2**62)),
        trained(members, replace(TINY, batch_size=60)),
    )


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"model": "resnet20"}, "model must be a torch module, found str"),
        ({"model": nn.Tanh()}, "Tanh has no parameters"),
        ({"members": None}, "members must be Records, found NoneType"),
        ({"members": np.zeros((4, 64))}, "members must be Records, found ndarray"),
        ({"recipe": {"epochs": 3}}, "recipe must be a Recipe"),
        ({"recipe": None}, "recipe must be a Recipe"),
        ({"defense": None}, r"defense must be a Defense such as Plain\(\), found None"),
        ({"defense": Plain}, "defense must be a Defense"),
        ({"defense": "L1"}, "defense must be a Defense"),
        ({"inference": "others"}, "inference must be Records, found str"),
        ({"validation": 3}, "validation must be Records, found int"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"seed": 2**64}, "seed must be a whole number"),
        ({"seed": "0"}, "seed must be a whole number"),
        ({"seed": None}, "seed must be a whole number"),
        ({"device": "gpu"}, "There is no device 'gpu' here; use 'auto'"),
        ({"device": "meta"}, "There is no device 'meta'"),
        ({"device": None}, "There is no device 'None'"),
        ({"on_epoch": 3}, "on_epoch must be a function, found 3"),
        ({"build_initial_model": nn.Linear(2, 2)}, None),
        ({"build_initial_model": "net"}, "build_initial_model must be a function"),
    ],
)
def test_wrong_arguments_are_named(members, wrong, complaint):
    given = {"model": network(), "members": members, "recipe": TINY, "device": "cpu"} | wrong
    model, records, recipe = (given.pop(name) for name in ("model", "members", "recipe"))
    if complaint is None:
        fit(model, records, recipe, **given)
        return
    with pytest.raises((ValueError, TypeError), match=complaint):
        fit(model, records, recipe, **given)


def test_records_of_another_shape_than_the_models_are_named(rng):
    table = Records("table", rng.random((20, 5)), rng.integers(0, 10, 20), 10)
    with pytest.raises(
        ValueError, match=r"records of shape \(5,\)\. It was built for records of shape \(1, 8, 8\)"
    ):
        fit(network(), table, TINY, device="cpu")


def test_parts_of_another_shape_than_the_members_are_named(members, rng):
    table = Records("table", rng.random((20, 5)), rng.integers(0, 10, 20), 10)
    for part in ("inference", "validation"):
        with pytest.raises(
            ValueError, match=rf"Members and {part} set .* same shape, found \(1, 8, 8\) and \(5,\)"
        ):
            fit(network(), members, TINY, device="cpu", **{part: table})


def test_a_defense_that_needs_non_members_says_how_to_get_some(members):
    with pytest.raises(ValueError, match=r"no inference set.*fit\(\.\.\., inference=records\)"):
        trained(members, defense=PastLike(0.1))


@pytest.mark.parametrize(
    ("loss", "found"), [(lambda each: None, "NoneType"), (lambda each: each, r"\(16,\)")]
)
def test_a_loss_is_one_number(members, loss, found):
    class Returns(Plain):
        def loss(self, training, x, y):
            return loss(F.cross_entropy(training.model(x), y, reduction="none"))

    with pytest.raises(TypeError, match=rf"Returns.loss\(\) must return .* found {found}"):
        trained(members, defense=Returns())


def test_what_on_epoch_returns_is_a_dictionary(members):
    with pytest.raises(TypeError, match=r"on_epoch must return a dictionary .* found 3"):
        trained(members, on_epoch=lambda model, epoch: 3)


def test_a_model_that_is_copied_and_not_wrapped_is_refused(members):
    class Copies(Plain):
        def prepare(self, training):
            training.model = network()

    with pytest.raises(ValueError, match=r"prepare\(\) must wrap the model that it is given"):
        trained(members, defense=Copies())


def test_what_is_to_be_undone_is_undone_however_the_training_ends(members):
    undone = []

    class Undoes(Plain):
        def prepare(self, training):
            training.cleanup.callback(undone.append, "undone")

    class Fails(Undoes):
        def loss(self, training, x, y):
            raise ZeroDivisionError

    trained(members, defense=Undoes(), on_epoch=lambda model, epoch: {"undone": len(undone)})
    assert undone == ["undone"]
    with pytest.raises(ZeroDivisionError):
        trained(members, defense=Fails())
    assert undone == ["undone", "undone"]


def test_the_device_is_a_parameter():
    assert pick_device("cpu") == pick_device(torch.device("cpu")) == torch.device("cpu")
    expected = "cpu"
    if torch.cuda.is_available():
        expected = "cuda"
    elif torch.backends.mps.is_available():
        expected = "mps"
    assert pick_device("auto").type == expected
