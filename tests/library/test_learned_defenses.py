"""AdvReg, Mixup+MMD, distillation, DMP and DP-SGD: what each learns from, what it leaves alone,
and its formula.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from torch import nn
from torch.nn import functional as F

from mialib import models, runs
from mialib.configurations import describe, parse
from mialib.data import Records
from mialib.defenses import (
    CRL,
    DEFENSES,
    DMP,
    DPSGD,
    AdvReg,
    Distillation,
    MixupMMD,
    Past,
    Plain,
    RelaxLoss,
)
from mialib.defenses.mixup_mmd import Matching, mmd2
from mialib.query import predict, to_device
from mialib.training import Recipe, fit
from small_networks import normalised, perceptron

SMALL = Recipe(epochs=3, batch_size=16, lr=0.05)
ONE = Recipe(
    epochs=1, batch_size=60, lr=0.1, momentum=0.0, weight_decay=0.0
)  # one step over all members
LONG = Recipe(epochs=40, batch_size=16, lr=0.1)
CPU = torch.device("cpu")

pytestmark = pytest.mark.usefixtures("one_thread")


def state(model):
    return {name: value.clone() for name, value in model.state_dict().items()}


def trained(members, defense, recipe=SMALL, *, model=None, **options):
    model = model or perceptron()
    fit(model, members, recipe, defense=defense, device="cpu", **options)
    return state(model)


def assert_equal(found, expected):
    assert set(found) == set(expected)
    for name, value in expected.items():
        assert torch.equal(found[name], value), name


def assert_close(found, expected, atol=1e-6):
    for name, value in expected.items():
        assert_allclose(found[name], value, atol=atol, err_msg=name)


def stepped(model, loss, lr=0.1):
    """The model's state after one step of plain gradient descent."""
    gradients = torch.autograd.grad(loss, list(model.parameters()))
    pairs = zip(model.named_parameters(), gradients, strict=True)
    return {name: (value - lr * gradient).detach() for (name, value), gradient in pairs}


def rows(x):
    return set(map(tuple, torch.as_tensor(x).flatten(1).tolist()))


def spying(defense, **hooks):
    """The same defense; after its own hooks come these, which are given the training."""

    def also(name):
        def hook(self, training, *batch):
            found = getattr(type(defense), name)(self, training, *batch)
            if name == "prepare":
                training.state = found  # as `fit` does
            hooks[name](training, *batch)
            return found

        return hook

    return type("Spying", (type(defense),), {name: also(name) for name in hooks})(**vars(defense))


# ---------------------------------------------------------------- all of them


@pytest.mark.parametrize("make", [perceptron, normalised])
@pytest.mark.parametrize("defense", [AdvReg(0.0), MixupMMD(0.0, mixup=0.0)])
def test_strength_zero_is_plain_training_bit_for_bit(members, others, defense, make):
    plain = trained(members, Plain(), model=make())
    assert_equal(trained(members, defense, model=make(), inference=others), plain)


@pytest.mark.parametrize(
    "defense", [AdvReg(3.0), MixupMMD(0.0), MixupMMD(3.0, mixup=0.0, gap=0.0), DPSGD(0.1)]
)
def test_a_strength_changes_the_weights(members, others, defense):
    found, plain = (trained(members, one, inference=others) for one in (defense, Plain()))
    assert (found["classify.weight"] - plain["classify.weight"]).abs().max() > 1e-3


@pytest.mark.parametrize(
    "defense", [AdvReg(1.0), MixupMMD(3.0, gap=0.0), DMP(source="synthetic"), DPSGD(1.0)]
)
def test_one_object_serves_many_runs_and_the_seed_decides(members, others, defense):
    start = trained(members, Plain(), LONG)
    found = []
    for seed in (0, 0, 1):
        model = perceptron()
        model.load_state_dict(start)
        torch.rand(3)  # Something else draws in between.
        found.append(trained(members, defense, SMALL, model=model, inference=others, seed=seed))
    assert_equal(found[0], found[1])
    assert not torch.equal(found[0]["classify.weight"], found[2]["classify.weight"])


@pytest.mark.parametrize("bad", [-0.1, math.nan, math.inf, "0.1", None])
@pytest.mark.parametrize(
    ("make", "name"),
    [
        (AdvReg, "alpha"),
        (AdvReg, "attacker_lr"),
        (MixupMMD, "lam"),
        (MixupMMD, "mixup"),
        (MixupMMD, "gap"),
        (Distillation, "temperature"),
        (DMP, "temperature"),
        (DMP, "share"),
        (DPSGD, "sigma"),
        (DPSGD, "clip"),
        (DPSGD, "delta"),
    ],
)
def test_a_setting_that_is_no_number_from_zero_is_refused(make, name, bad):
    with pytest.raises(ValueError, match=f"{name} must be a number"):
        make(**{name: bad})


@pytest.mark.parametrize(
    ("make", "settings", "complaint"),
    [
        (AdvReg, {"first": 0}, "first must be a whole number, at least 1"),
        (AdvReg, {"later": 1.5}, "later must be a whole number, at least 1"),
        (MixupMMD, {"gap": 1.1}, "gap must be a number in 0 … 1"),
        (Distillation, {"temperature": 0.0}, "temperature must be"),
        (DMP, {"share": 1.1}, "share must be a number in 0 … 1"),
        (DMP, {"source": "synthetics"}, "did you mean 'synthetic'"),
        (DPSGD, {"clip": 0.0}, "clip must be"),
        (DPSGD, {"delta": 0.0}, "delta must be"),
        (DPSGD, {"delta": 1.0}, "delta must be"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(make, settings, complaint):
    with pytest.raises(ValueError, match=complaint):
        make(**settings)


@pytest.mark.parametrize(
    "defense", [AdvReg(), MixupMMD(), DMP(source="all"), DMP(source="selected")]
)
def test_a_defense_that_needs_non_members_says_so_before_it_changes_a_weight(members, defense):
    model = perceptron()
    start = trained(members, Plain(), LONG, model=model)
    with pytest.raises(ValueError, match=r"no inference set.*six_parts"):
        trained(members, defense, model=model)
    assert_equal(state(model), start)


EACH = [
    RelaxLoss(0.5),
    RelaxLoss(0.5, form="crl"),
    CRL(0.5),
    CRL(0.5, printed_step=True),
    AdvReg(1.0),
    MixupMMD(3.0),
    Distillation(temperature=2.0),
    DMP(),
    DMP(0.3, source="selected"),
    DMP(source="synthetic"),
    DPSGD(0.5),
]


@pytest.mark.parametrize("defense", EACH)
def test_each_is_a_run_that_can_be_kept_read_and_tuned_further_by_past(
    tiny, defense, tmp_path_factory
):
    from mialib.store import Store

    store = Store(tmp_path_factory.getbasetemp() / "learned")  # Those that distil share a teacher.
    first = tiny.but(size=400, recipe=replace(SMALL, epochs=8, lr=0.1))
    chosen = (
        first.then(defense, SMALL)
        if isinstance(defense, Distillation)
        else first.but(defense=defense)
    )
    tuned = chosen.then(Past(0.01), SMALL)
    for configuration in (chosen, tuned):
        assert parse(describe(configuration)) == configuration
    before, after = (runs.get(configuration, store=store) for configuration in (chosen, tuned))
    assert len(before.history) == chosen.recipe.epochs
    assert_allclose(
        before.signals.logits[: len(before.side.train)],
        predict(before.load_model(), before.side.train),
    )
    weights = [run.load_model().classify.weight for run in (before, after)]
    assert not torch.equal(*weights)
    assert not any(isinstance(value, str) for value in before.history[-1].values())
    assert type(defense).__name__ in before.configuration.name


def test_every_defense_can_be_named():
    assert {type(defense).__name__ for defense in EACH} < set(DEFENSES)


# ---------------------------------------------------------------- AdvReg


@pytest.fixture(scope="module")
def noisy(members):
    """Members of which two in three have a wrong label, so that fitting them is memorising."""
    y = np.random.default_rng(0).permutation(members.y)
    return replace(members, y=np.where(np.arange(60) % 3 == 0, members.y, y))


def wide():
    return models.build("mlp", shape=(1, 8, 8), classes=10, widths=(128,))


def test_the_attacker_beats_chance_on_an_undefended_model_that_memorises(noisy, others, digits):
    """Also on non-members that it never saw."""
    kept, model = [], wide()
    watched = spying(AdvReg(0.0), end_epoch=lambda training: kept.append(training.state.attacker))
    history = fit(
        model, noisy, replace(LONG, lr=0.2), defense=watched, inference=others, device="cpu"
    )
    assert (predict(model, noisy).argmax(axis=1) == noisy.y).mean() > 0.95
    assert "attacker_accuracy" not in history[0]
    assert history[-1]["attacker_accuracy"] > 0.8
    said = []
    for records in (noisy, digits.take(np.arange(120, 180))):
        with torch.no_grad():
            said.append(
                kept[-1](torch.tensor(predict(model, records)), torch.tensor(records.y)) > 0
            )
    assert (said[0].float().mean() + (~said[1]).float().mean()).item() / 2 > 0.75


def test_every_layer_of_the_attacker_learns(members, others):
    kept, start = [], []
    watched = spying(
        AdvReg(1.0),
        prepare=lambda training: start.append(state(training.state.attacker)),
        end_epoch=lambda training: kept.append(state(training.state.attacker)),
    )
    trained(members, watched, inference=others)
    assert_equal(kept[0], start[0])  # In the first epoch the classifier is alone.
    assert len(start[0]) >= 2 * (3 + 2 + 2)  # weights and biases: outputs, label, both
    for name, value in start[0].items():
        assert not torch.equal(kept[1][name], value), name
        assert not torch.equal(kept[2][name], kept[1][name]), name


def test_attacker_and_classifier_take_turns(members, others):
    """While one learns, the other's weights, statistics and gradients stay."""
    noted, at_rest = [], []

    class Turns(AdvReg):
        def start_epoch(self, training):
            before, attacker = state(training.model), state(training.state.attacker)
            training.optimizer.zero_grad()
            super().start_epoch(training)
            assert_equal(state(training.model), before)
            assert all(weight.grad is None for weight in training.model.parameters())
            noted.append(
                not torch.equal(
                    state(training.state.attacker)["label.0.weight"], attacker["label.0.weight"]
                )
            )
            at_rest.append(state(training.state.attacker))

        def end_epoch(self, training):
            assert_equal(state(training.state.attacker), at_rest[-1])
            return False

    trained(members, Turns(1.0), model=normalised(), inference=others)
    assert noted == [False, True, True]


def test_the_attacker_goes_over_all_records_five_times_before_the_second_epoch_and_once_later(
    members, others
):
    """Of 60 members and 50 others, 60 of each: four batches, of which every record is in one or
    two.
    """
    calls, steps = [], []

    def begin(training):
        training.state.attacker.register_forward_hook(
            lambda module, given, out: calls.append((training.epoch, *given))
        )

    def note(training):
        taken = training.state.optimizer.state.values()
        steps.append(max((int(one["step"]) for one in taken), default=0))

    watched = spying(AdvReg(0.0), prepare=begin, end_epoch=note)
    fit(
        perceptron(),
        members,
        replace(SMALL, epochs=4),
        defense=watched,
        inference=others,
        device="cpu",
    )
    assert steps == [0, 20, 24, 28]
    third = [(logits, y) for epoch, logits, y in calls if epoch == 3]
    ours, theirs = (torch.cat([y for _, y in third[side::2]]) for side in (0, 1))
    assert len(ours) == len(theirs) == 60
    assert_allclose(ours.bincount(minlength=10), np.bincount(members.y, minlength=10))
    extra = theirs.bincount(minlength=10).numpy() - np.bincount(others.y, minlength=10)
    assert extra.min() >= 0
    assert extra.sum() == 10


def test_the_attacker_sees_what_the_model_says_in_eval_mode(members, others):
    calls, expected = [], []

    class Watched(AdvReg):
        def prepare(self, training):
            prepared = super().prepare(training)
            prepared.attacker.register_forward_hook(
                lambda module, given, out: calls.append(given[0])
            )
            return prepared

        def start_epoch(self, training):
            with torch.no_grad():
                expected.append(training.model.eval()(training.members[0]))
            calls.clear()
            super().start_epoch(training)
            if training.epoch > 1:
                ours = torch.cat(calls[::2][:4])  # four batches a pass, in turn with the others'
                assert_allclose(ours.sort(dim=0).values, expected[-1].sort(dim=0).values, atol=1e-5)

    trained(members, Watched(0.0), model=normalised(), inference=others)
    assert len(expected) == 3


def test_the_classifier_pays_for_what_the_attacker_says(members, others):
    """L + α (mean attacker output − ½), with the attacker's output a probability; by hand, with
    gradients.
    """
    checked = []

    def compare(training, x, y):
        if training.epoch == 1:
            return
        logits = training.model(x)
        inputs = torch.cat(
            [
                training.state.attacker.outputs(logits.softmax(1)),
                training.state.attacker.label(one_hot(y)),
            ],
            dim=1,
        )
        said = 1 / (1 + torch.exp(-training.state.attacker.both(inputs)))
        pays = F.cross_entropy(logits, y) + 3.0 * (said.mean() - 0.5)
        weights = list(training.model.parameters())
        found = torch.autograd.grad(AdvReg.loss(AdvReg(3.0), training, x, y), weights)
        for one, other in zip(found, torch.autograd.grad(pays, weights), strict=True):
            assert_allclose(one, other, atol=1e-6)
        checked.append(training.epoch)

    first = []
    start = spying(
        AdvReg(3.0), loss=compare, end_epoch=lambda training: first.append(state(training.model))
    )
    trained(members, start, inference=others)
    assert checked == [2] * 4 + [3] * 4
    one = trained(members, Plain(), replace(SMALL, epochs=1))
    assert_equal(first[0], one)  # The first epoch is plain.


def one_hot(y):
    return torch.eye(10)[y]


def test_the_attacker_takes_probabilities_and_labels(members, others):
    kept = []
    trained(
        members,
        spying(AdvReg(), end_epoch=lambda training: kept.append(training.state.attacker)),
        inference=others,
    )
    logits, y = torch.randn(5, 10, generator=torch.Generator().manual_seed(0)), torch.arange(5)
    plain = kept[-1](logits, y)
    assert plain.shape == (5,)
    assert_allclose(
        kept[-1](logits + 7.0, y).detach(), plain.detach(), atol=1e-5
    )  # Softmax forgets what is common.
    assert not torch.allclose(kept[-1](logits, y + 1), plain, atol=1e-6)


def test_a_strong_adversary_makes_members_look_like_the_others(noisy, others, digits):
    """The mean confidence in the label, of members over that of fresh non-members."""
    gaps = []
    for alpha in (0.0, 20.0):
        model = wide()
        fit(
            model,
            noisy,
            replace(LONG, lr=0.2, epochs=15),
            defense=AdvReg(alpha),
            inference=others,
            device="cpu",
        )
        sure = []
        for records in (noisy, digits.take(np.arange(120, 240))):
            p = torch.tensor(predict(model, records)).softmax(dim=1)
            sure.append(p.gather(1, torch.tensor(records.y)[:, None]).mean().item())
        gaps.append(sure[0] - sure[1])
    assert gaps[1] < 0.6 * gaps[0]


# ---------------------------------------------------------------- mixup and MMD

X, Y = torch.tensor([[0.9, 0.1], [0.8, 0.2]]), torch.tensor([[0.6, 0.4], [0.5, 0.5]])


def test_mmd2_is_the_one_computed_by_hand():
    assert mmd2(X, Y).item() == pytest.approx(0.1696520, abs=1e-6)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (3, 5), (7, 2), (20, 20)])
def test_mmd2_equals_a_loop_over_pairs_is_symmetric_and_never_negative(n, m):
    generator = torch.Generator().manual_seed(n)
    x, y = (torch.randn(size, 4, generator=generator).softmax(dim=1) for size in (n, m))

    def mean(a, b):
        return np.mean([math.exp(-sum((p - q) ** 2) / 2) for p in a.numpy() for q in b.numpy()])

    assert mmd2(x, y).item() == pytest.approx(mean(x, x) + mean(y, y) - 2 * mean(x, y), abs=1e-6)
    assert mmd2(x, y).item() == pytest.approx(mmd2(y, x).item(), abs=1e-6)
    assert mmd2(x, y) >= -1e-6
    assert mmd2(x, x.flip(0)).item() == pytest.approx(0, abs=1e-6)


LABELS = torch.tensor([2, 0, 2, 5, 0, 2, 2])  # Class 5 has one record, and 1, 3 and 4 have none.


def test_partners_are_of_the_same_class_and_every_record_of_it_is_drawn():
    matching, generator = (
        Matching(torch.tensor([0, 2, 5]), LABELS),
        torch.Generator().manual_seed(0),
    )
    y = torch.tensor([0, 2, 5, 2]).repeat(2000)
    drawn = matching.draw(y, generator)
    assert torch.equal(LABELS[drawn], y)
    counts = drawn.bincount(minlength=7)
    assert_allclose(counts, [1000, 1000, 1000, 2000, 1000, 1000, 1000], rtol=0.15)


def test_a_class_without_partners_is_named():
    with pytest.raises(ValueError, match=r"no record of class 1, 7\. Take a larger inference set"):
        Matching(torch.tensor([7, 0, 1, 2]), LABELS)


def test_a_class_that_the_inference_set_lacks_is_refused_before_the_first_step(members, others):
    model, some = perceptron(), others.take(np.flatnonzero(others.y != 8))
    with pytest.raises(ValueError, match=r"no record of class 8\."):
        trained(members, MixupMMD(), model=model, inference=some)
    assert_equal(state(model), state(perceptron()))
    trained(
        members.take(np.flatnonzero(members.y != 8)), MixupMMD(), inference=some
    )  # Nobody asks for it.


@pytest.fixture(scope="module")
def one_each(others):
    """A reference of one record a class: whatever is drawn, the partners are known."""
    return others.take(np.array([np.flatnonzero(others.y == label)[0] for label in range(10)]))


@pytest.mark.parametrize("make", [perceptron, normalised])
def test_the_second_pass_goes_down_mmd_in_eval_mode_and_moves_only_the_members(
    members, one_each, make
):
    """One step of cross-entropy, one of 2·MMD² between epochs, one of cross-entropy: by hand."""
    states, recipe = [], replace(ONE, epochs=2, schedule="constant")
    watched = spying(
        MixupMMD(2.0, mixup=0.0, gap=0.0),
        start_epoch=lambda training: states.append(state(training.model)),
        end_epoch=lambda training: states.append(state(training.model)),
    )
    history = fit(make(), members, recipe, defense=watched, inference=one_each, device="cpu")
    model = make().eval()
    model.load_state_dict(states[1])
    x, y = to_device(members, CPU)
    partners = to_device(one_each, CPU)[0][y]  # The record of class k stands at place k.
    with torch.no_grad():
        theirs = model(partners).softmax(dim=1)
    distance = mmd2(model(x).softmax(dim=1), theirs)
    expected = states[1] | stepped(
        model, 2.0 * distance
    )  # BatchNorm's statistics stay as they were.
    assert_close(states[2], expected)
    assert (states[2]["classify.weight"] - states[1]["classify.weight"]).abs().max() > 1e-5
    free = mmd2(model(x).softmax(dim=1), model(partners).softmax(dim=1))
    wrong = stepped(model, 2.0 * free)["classify.weight"]
    assert (wrong - expected["classify.weight"]).abs().max() > 1e-5  # The test would notice.
    assert history[1]["mmd2"] == pytest.approx(distance.item(), abs=1e-6)
    assert "mmd2" not in history[0]


def test_there_is_no_second_pass_after_the_last_epoch(members, others):
    defense = MixupMMD(3.0, mixup=0.0, gap=0.0)
    recipe = replace(SMALL, schedule="constant", epochs=1)
    assert_equal(
        trained(members, defense, recipe, inference=others), trained(members, Plain(), recipe)
    )


def test_the_second_pass_waits_until_the_accuracies_differ(members, others):
    plain = trained(members, Plain())
    assert_equal(trained(members, MixupMMD(3.0, mixup=0.0, gap=1.0), inference=others), plain)
    apart = [0.0]

    def look(model, epoch):
        right = [
            (predict(model, records).argmax(axis=1) == records.y).mean()
            for records in (members, others)
        ]
        apart.append(abs(right[0] - right[1]))

    defense = MixupMMD(3.0, mixup=0.0, gap=0.25)
    history = fit(
        perceptron(), members, LONG, defense=defense, inference=others, device="cpu", on_epoch=look
    )
    told = ["mmd2" in epoch for epoch in history]
    assert told == [gap >= 0.25 for gap in apart[:-1]]
    assert 3 < sum(told) < 38


def test_mixup_takes_one_weight_a_batch_and_mixes_inputs_and_losses():
    """Record k is 1 in column k and 0 elsewhere, so a mixture tells what it was made of."""
    records = Records("pixels", np.eye(60, dtype=np.float32), np.arange(60) % 10, 10)
    inputs, weights = [], []

    class Mixed(MixupMMD):
        def loss(self, training, x, y):
            found, mixed = super().loss(training, x, y), inputs[-1]
            own = x.argmax(dim=1)
            weight = mixed.gather(
                1, own[:, None]
            ).min()  # A record that is its own partner has 1 there.
            rest = (mixed - weight * x) / (1 - weight)
            assert sorted(rest.argmax(dim=1).tolist()) == sorted(own.tolist())
            assert_allclose(rest.sort(dim=1).values[:, -2:], [[0.0, 1.0]] * len(y), atol=1e-3)
            logits = training.model(mixed)
            both = [F.cross_entropy(logits, labels) for labels in (y, rest.argmax(dim=1) % 10)]
            assert found.item() == pytest.approx(
                (weight * both[0] + (1 - weight) * both[1]).item(), abs=1e-4
            )
            weights.append(weight.item())
            return found

    model = models.build("mlp", shape=(60,), classes=10, widths=(12,))
    model.register_forward_pre_hook(lambda module, given: inputs.append(given[0]))
    trained(records, Mixed(0.0), replace(SMALL, epochs=10), model=model)
    assert np.mean(weights) == pytest.approx(0.5, abs=0.15)  # Beta(1, 1): 40 draws from 0 … 1 alike
    assert np.std(weights) == pytest.approx(12**-0.5, abs=0.1)


@pytest.mark.parametrize("mixup", [0.2, 1.0, 20.0])
def test_mixup_draws_from_a_symmetric_beta(mixup):
    """Beta(a, a) has the mean ½ and the variance 1 / (8a + 4). Black and white mix to two greys, w
    and 1 − w.
    """
    x, greys = np.repeat(np.array([[1], [0]], np.float32), 20, axis=0), []
    records = Records("greys", x, np.arange(40) % 2, 2)
    model = models.build("mlp", shape=(1,), classes=2, widths=(2,))
    model.register_forward_pre_hook(
        lambda module, given: greys.append(given[0]) if module.training else None
    )
    fit(model, records, Recipe(150, 40, 0.0), defense=MixupMMD(0.0, mixup=mixup), device="cpu")
    between = np.concatenate([x[(x > 1e-7) & (x < 1 - 1e-7)].unique().numpy() for x in greys])
    assert between.mean() == pytest.approx(0.5, abs=0.01)
    assert between.std() == pytest.approx((8 * mixup + 4) ** -0.5, rel=0.15)


# ---------------------------------------------------------------- distillation


@pytest.fixture(scope="module")
def teacher(members):
    """The weights of a perceptron that knows its members."""
    return trained(members, Plain(), LONG)


def taught(teacher, members, defense, recipe=SMALL, *, hooks=None, **options):
    """The student after `fit`; `hooks` are looked in on."""
    model = perceptron()
    model.load_state_dict(teacher)
    trained(members, spying(defense, **hooks or {}), recipe, model=model, **options)
    return model


SOURCES = [Distillation(), DMP(source="all"), DMP(0.4, source="selected"), DMP(source="synthetic")]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("defense", SOURCES)
def test_an_untrained_teacher_is_refused(members, others, defense, seed):
    """Also one that by luck gets more right than naming one class would."""
    model = models.build("mlp", shape=(1, 8, 8), classes=10, widths=(12,), seed=seed)
    start = state(model)
    with pytest.raises(
        ValueError,
        match=rf"Distil a trained model, by configuration\.then\({type(defense).__name__}",
    ):
        trained(members, defense, model=model, inference=others)
    assert_equal(state(model), start)


def test_a_run_without_a_teacher_is_refused(tiny, store):
    with pytest.raises(ValueError, match="Distil a trained model"):
        runs.get(tiny.but(defense=DMP()), store=store)


@pytest.mark.parametrize("defense", SOURCES)
def test_the_student_starts_from_fresh_weights(teacher, members, others, defense):
    starts = []
    hooks = {"prepare": lambda training: starts.append(state(training.model))}
    for seed in (1, 2):
        model = taught(teacher, members, defense, hooks=hooks, inference=others, seed=seed)
    bounds = {
        "features.1": 1 / 8,
        "classify": 12**-0.5,
    }  # torch draws a linear layer from ± 1 / √inputs
    for name, value in starts[0].items():
        bound = bounds[name.rpartition(".")[0]]
        assert value.abs().max() <= bound
        assert value.std().item() == pytest.approx(bound / 3**0.5, rel=0.5)
        assert not torch.equal(value, starts[1][name])
        assert (value - teacher[name]).abs().max() > 0.01
    model.load_state_dict(starts[0])
    assert (predict(model, members).argmax(axis=1) == members.y).mean() < 0.4


def test_the_student_forgets_the_teachers_statistics(members):
    found, model = [], normalised()
    trained(members, Plain(), LONG, model=model)
    hooks = {"prepare": lambda training: found.append(state(training.model))}
    trained(members, spying(Distillation(), **hooks), model=model)
    assert found[0]["features.1.running_mean"].abs().max() == 0
    assert found[0]["features.1.num_batches_tracked"] == 0


class Scaled(nn.Module):
    """A module with a weight and no way to draw it anew."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x):
        return self.scale * x


def test_a_student_that_would_keep_the_teachers_weights_is_refused(members):
    model = perceptron()
    model.features.append(Scaled())
    trained(members, Plain(), LONG, model=model)
    with pytest.raises(
        ValueError,
        match=r"starts afresh: each module with weights of its own needs reset_parameters",
    ):
        trained(members, Distillation(), model=model)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 4.0])
def test_a_step_goes_down_the_divergence_from_the_teachers_answers(teacher, members, temperature):
    """τ²·KL of both at the temperature, the mean over records."""
    starts = []
    hooks = {"prepare": lambda training: starts.append(state(training.model))}
    found = taught(teacher, members, Distillation(temperature), ONE, hooks=hooks)
    old, student, (x, _) = perceptron(), perceptron(), to_device(members, CPU)
    old.load_state_dict(teacher)
    student.load_state_dict(starts[0])
    p = torch.softmax(old(x) / temperature, dim=1).detach()
    q = torch.softmax(student(x) / temperature, dim=1)
    divergence = sum((p[k] * (p[k] / q[k]).log()).sum() for k in range(60)) / 60
    assert_close(state(found), stepped(student, temperature**2 * divergence))


def batches_of(teacher, members, defense, recipe=SMALL, **options):
    """What the student was shown, over all epochs, in one piece."""
    seen = []
    taught(
        teacher,
        members,
        defense,
        recipe,
        hooks={"loss": lambda training, x, y: seen.append((x, y))},
        **options,
    )
    return tuple(map(torch.cat, zip(*seen, strict=True)))


def answers(teacher, x):
    model = perceptron().eval()
    model.load_state_dict(teacher)
    with torch.no_grad():
        return torch.softmax(model(x), dim=1)


def test_plain_distillation_shows_the_members_with_the_teachers_answers(teacher, members):
    x, y = batches_of(teacher, members, Distillation())
    assert rows(x) == rows(members.scaled())
    assert len(x) == 3 * 60
    assert_allclose(y, answers(teacher, x), atol=1e-5)


def test_dmp_shows_all_of_the_inference_set_and_never_a_member(teacher, members, others):
    x, y = batches_of(teacher, members, DMP(source="all"), inference=others)
    assert rows(x) == rows(others.scaled())
    assert not rows(x) & rows(members.scaled())
    assert len(x) == 3 * 50
    assert_allclose(y, answers(teacher, x), atol=1e-5)


@pytest.mark.parametrize(("share", "count"), [(0.0, 1), (0.1, 5), (0.5, 25), (1.0, 50)])
def test_dmp_selects_the_records_of_the_lowest_entropy(teacher, members, others, share, count):
    x, _ = batches_of(teacher, members, DMP(share=share, source="selected"), inference=others)
    every = torch.tensor(others.scaled())
    p = answers(teacher, every).double()
    entropy = -(p * p.log()).sum(dim=1)
    assert rows(x) == rows(every[entropy.argsort()[:count]])
    assert len(x) == 3 * count


def test_dmp_makes_as_many_records_as_there_are_members_none_of_which_is_one(teacher, members):
    x, y = batches_of(teacher, members, DMP(source="synthetic"))
    every = torch.tensor(members.scaled())
    assert len(rows(x)) == 60
    assert x.shape == (3 * 60, 1, 8, 8)
    assert not rows(x) & rows(every)
    assert every.min() <= x.min() < x.max() <= every.max()
    assert_allclose(y, answers(teacher, x), atol=1e-5)


def test_synthetic_records_are_like_the_members(teacher, members):
    """The mean picture is theirs, and so is the spread of its pixels, to some degree; noise would
    have neither.
    """
    x, _ = batches_of(teacher, members, DMP(source="synthetic"), replace(SMALL, epochs=1))
    ours, made = torch.tensor(members.scaled()).flatten(1), x.flatten(1)
    assert np.corrcoef(ours.mean(dim=0), made.mean(dim=0))[0, 1] > 0.9
    assert np.corrcoef(ours.std(dim=0), made.std(dim=0))[0, 1] > 0.5
    assert made.std(dim=0).mean() > 0.1 * ours.std(dim=0).mean()


@pytest.mark.parametrize("shape", [(3, 8, 8), (20,)])
def test_synthetic_records_have_the_shape_and_layout_of_the_members(rng, shape):
    y = np.arange(40) % 4
    records = Records(
        "own",
        rng.normal(size=(40, *shape)).astype(np.float32) + y.reshape(-1, *[1] * len(shape)),
        y,
        4,
    )
    torch.manual_seed(0)
    model, seen = models.Network(nn.Flatten(), nn.Linear(math.prod(shape), 4)), []
    trained(records, Plain(), LONG, model=model)
    hooks = {"loss": lambda training, x, y: seen.append(x)}
    trained(records, spying(DMP(source="synthetic"), **hooks), SMALL, model=model)
    assert seen[0].shape[1:] == shape
    if len(shape) == 3:
        assert seen[0].is_contiguous(memory_format=torch.channels_last)


def test_dmp_does_not_read_the_labels_of_the_inference_set(teacher, members, others):
    shuffled = replace(others, y=others.y[::-1].copy())
    pair = [
        state(taught(teacher, members, DMP(), inference=records)) for records in (others, shuffled)
    ]
    assert_equal(*pair)


@pytest.mark.parametrize("defense", [Distillation(2.0), DMP(source="all"), DMP(source="synthetic")])
def test_the_student_learns_what_the_teacher_knows(teacher, members, others, digits, defense):
    model = taught(teacher, members, defense, LONG, inference=others)
    fresh = digits.take(np.arange(120, 240))
    mine, right = (
        predict(model, fresh).argmax(axis=1),
        answers(teacher, torch.tensor(fresh.scaled())).argmax(dim=1),
    )
    assert (mine == right.numpy()).mean() > 0.5


# ---------------------------------------------------------------- DP-SGD


def convolutional(channels=1):
    """Two convolutions in a row: per-record gradients of the second depend on how its input lies
    in memory.
    """
    torch.manual_seed(1)
    first = [nn.Conv2d(channels, 4, 3, padding=1), nn.GroupNorm(2, 4), nn.ReLU()]
    features = nn.Sequential(*first, nn.Conv2d(4, 6, 3, stride=2), nn.ReLU(), nn.Flatten())
    return models.Network(features, nn.Linear(54, 10))


@pytest.fixture(scope="module")
def coloured(members):
    colours = np.array([1.0, 0.5, 0.2], np.float32).reshape(1, 3, 1, 1)
    return replace(members, x=members.x * colours, shift=(0.0,), scale=(6.0,))


NETWORKS = {"perceptron": perceptron, "grey": convolutional, "colour": lambda: convolutional(3)}


def clipped_by_hand(model, batches, *, clip, expected, lr):
    """DP-SGD without noise, one record at a time."""
    for x, y in batches:
        total = [torch.zeros_like(value) for value in model.parameters()]
        for k in range(len(y)):
            loss = F.cross_entropy(model(x[k : k + 1].clone()), y[k : k + 1])
            gradient = torch.autograd.grad(loss, list(model.parameters()))
            length = torch.cat([one.flatten() for one in gradient]).norm().item()
            for whole, one in zip(total, gradient, strict=True):
                whole += one * min(1, clip / length)
        with torch.no_grad():
            for value, whole in zip(model.parameters(), total, strict=True):
                value -= lr * whole / expected
    return state(model)


@pytest.mark.parametrize("augment", [False, "flip", True])
@pytest.mark.parametrize("clip", [1e9, 0.5])
@pytest.mark.parametrize("network", NETWORKS)
def test_without_noise_its_steps_are_sums_of_clipped_gradients(
    members, coloured, network, clip, augment
):
    """With a huge clip these are plain steps on the same batches, divided by the expected size."""
    seen, model, records = [], NETWORKS[network](), coloured if network == "colour" else members
    watched = spying(DPSGD(0.0, clip=clip), loss=lambda training, x, y: seen.append((x.clone(), y)))
    recipe = replace(ONE, batch_size=20, augment=augment)
    fit(model, records, recipe, defense=watched, device="cpu")
    expected = clipped_by_hand(NETWORKS[network](), seen, clip=clip, expected=20, lr=0.1)
    assert_close(state(model), expected, atol=2e-6)
    assert [len(y) for _, y in seen] != [20, 20, 20]


@pytest.mark.parametrize("network", NETWORKS)
def test_with_a_huge_clip_and_no_noise_the_first_step_is_a_plain_step(members, coloured, network):
    """All records in one batch: then Poisson sampling takes each of them."""
    records = coloured if network == "colour" else members
    found = trained(records, DPSGD(0.0, clip=1e9), ONE, model=NETWORKS[network]())
    assert_close(found, trained(records, Plain(), ONE, model=NETWORKS[network]()))
    assert (found["classify.weight"] - NETWORKS[network]().classify.weight).abs().max() > 1e-3


@pytest.mark.parametrize("clip", [0.1, 1.0])
def test_one_record_can_move_the_weights_by_no_more_than_its_share_of_the_clip(members, clip):
    """One record becomes a hundred times as bright: at most two clipped gradients lie between the
    two steps.
    """
    bright = members.x.astype(np.float32)
    bright[7] *= 100
    moved = {}
    for defense in (Plain(), DPSGD(0.0, clip=clip)):
        pair = [trained(replace(members, x=x), defense, ONE) for x in (members.x, bright)]
        moved[type(defense)] = math.hypot(
            *((pair[0][name] - pair[1][name]).norm().item() for name in pair[0])
        )
    assert 0 < moved[DPSGD] <= 0.1 * 2 * clip / 60 * 1.001
    assert moved[Plain] > 0.1 * 2 * clip / 60


def test_each_batch_takes_every_record_with_the_same_probability(members):
    seen = []
    watched = spying(DPSGD(0.0), loss=lambda training, x, y: seen.append(x))
    trained(members, watched, replace(ONE, epochs=100, batch_size=15))
    sizes = [len(x) for x in seen]
    assert len(sizes) == 400  # as many steps as a shuffled pass has
    assert np.mean(sizes) == pytest.approx(15, abs=0.6)
    assert np.std(sizes) == pytest.approx((60 * 0.25 * 0.75) ** 0.5, rel=0.15)
    assert all(len(rows(x)) == len(x) for x in seen)  # never twice in a batch
    picked = np.array(
        [sum(row in batch for batch in map(rows, seen)) for row in sorted(rows(members.scaled()))]
    )
    assert_allclose(picked, 100, atol=5 * (400 * 0.25 * 0.75) ** 0.5)


@pytest.mark.parametrize(("sigma", "clip"), [(2.0, 1.0), (0.5, 3.0)])
def test_the_noise_has_the_promised_size(members, sigma, clip):
    """σ · clip on the sum of gradients, over the batch's size."""
    loud, quiet = (trained(members, DPSGD(noise, clip=clip), ONE) for noise in (sigma, 0.0))
    noise = torch.cat([(loud[name] - quiet[name]).flatten() for name in loud]) / 0.1 * 60
    assert noise.std().item() == pytest.approx(sigma * clip, rel=0.1)
    assert abs(noise.mean().item()) < 5 * sigma * clip / len(noise) ** 0.5


def test_huge_noise_gives_chance(members):
    model = perceptron()
    trained(members, DPSGD(1000.0), replace(LONG, epochs=10), model=model)
    assert (predict(model, members).argmax(axis=1) == members.y).mean() < 0.35


@pytest.mark.parametrize(
    ("sigma", "delta", "batch"), [(1.0, 1e-5, 16), (0.7, 1e-3, 20), (3.0, 1e-5, 100)]
)
def test_epsilon_is_the_accountants(members, sigma, delta, batch):
    from opacus.accountants import RDPAccountant

    steps, accountant = [], RDPAccountant()
    watched = spying(
        DPSGD(sigma, delta=delta), loss=lambda training, x, y: steps.append(training.epoch)
    )
    history = fit(
        perceptron(), members, replace(SMALL, batch_size=batch), defense=watched, device="cpu"
    )
    for epoch in history:
        for _ in range(steps.count(epoch["epoch"])):
            accountant.step(noise_multiplier=sigma, sample_rate=min(batch / 60, 1))
        assert epoch["epsilon"] == pytest.approx(accountant.get_epsilon(delta))
        assert epoch["delta"] == delta
    assert history[0]["epsilon"] < history[-1]["epsilon"]


def test_without_noise_no_epsilon_is_promised(members):
    history = fit(perceptron(), members, SMALL, defense=DPSGD(0.0), device="cpu")
    assert all(epoch.get("epsilon", math.inf) == math.inf for epoch in history)


def test_the_gate_looks_at_all_classes_of_records_that_are_sorted_by_class(others):
    """Of 2,500 members, all classes in a row, some hundred of each class are asked about."""
    many = Records(
        "sorted", np.zeros((2500, 1, 8, 8), np.float32), np.repeat(np.arange(10), 250), 10
    )
    asked = []

    def count(training):
        eval_logits = training.eval_logits
        training.eval_logits = lambda x: (asked.append(len(x)), eval_logits(x))[1]

    trained(
        many,
        spying(MixupMMD(3.0, mixup=0.0, gap=1.0), prepare=count),
        replace(SMALL, epochs=2),
        inference=others,
    )
    assert 1250 in asked


def test_batchnorm_is_refused_with_the_conversion(members):
    model = normalised()
    with pytest.raises(
        ValueError, match=r"options=\{'norm': 'group'\}.*ModuleValidator\.fix.*BatchNorm"
    ):
        trained(members, DPSGD(), model=model)
    assert_equal(state(model), state(normalised()))


def test_both_conversions_work(members, tiny, store):
    from opacus.validators import ModuleValidator

    trained(members, DPSGD(), ONE, model=ModuleValidator.fix(models.Network(*small_batchnorm())))
    run = runs.get(
        tiny.but(model="resnet20", options={"width": 2, "norm": "group"}, defense=DPSGD()),
        store=store,
    )
    assert run.history[-1]["epsilon"] > 0


@pytest.mark.parametrize("options", [{}, {"norm": "batch"}])
def test_the_courses_cnn_can_be_private(tiny, store, options):
    plain = tiny.but(model="cnn", options={"width": 2, "hidden": 8} | options)
    run = runs.get(plain.defended(DPSGD()), store=store)
    assert run.history[-1]["epsilon"] > 0


def small_batchnorm():
    torch.manual_seed(1)
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten()), nn.Linear(
        144, 10
    )


@pytest.mark.parametrize("network", NETWORKS)
def test_nothing_of_it_stays_on_the_model(members, coloured, network):
    records, model = coloured if network == "colour" else members, NETWORKS[network]()
    trained(records, DPSGD(1.0), model=model)
    middle = state(model)
    assert not any(hasattr(weight, "grad_sample") for weight in model.parameters())
    assert not any(module._forward_hooks or module._backward_hooks for module in model.modules())
    assert type(model) is models.Network
    fresh = NETWORKS[network]()
    fresh.load_state_dict(middle)
    pair = [trained(records, Plain(), model=one) for one in (model, fresh)]
    assert_close(*pair)
    trained(records, DPSGD(1.0), model=model)  # and once more


def test_nothing_of_it_stays_on_a_model_whose_training_failed(members):
    model, recipe = convolutional(), replace(SMALL, epochs=4)
    spoil = {
        "start_epoch": lambda training: setattr(
            training.model.classify.bias, "data", torch.full((10,), math.nan)
        )
    }
    with pytest.raises(FloatingPointError, match="epoch 1"):
        trained(members, spying(DPSGD(1.0), **spoil), recipe, model=model)
    assert not any(hasattr(weight, "grad_sample") for weight in model.parameters())
    assert not any(module._forward_hooks or module._backward_hooks for module in model.modules())
    trained(members, DPSGD(1.0), model=model)  # as the message advises


def test_looks_between_the_epochs_see_the_model(members):
    """They are given the model without Opacus' wrapper."""
    seen = []
    fit(
        convolutional(),
        members,
        SMALL,
        defense=DPSGD(),
        device="cpu",
        on_epoch=lambda m, e: seen.append(predict(m, members)),
    )
    model = convolutional()
    fit(model, members, SMALL, defense=DPSGD(), device="cpu")
    assert [one.shape for one in seen] == [(60, 10)] * 3
    assert_allclose(seen[-1], predict(model, members), atol=1e-6)
    assert not np.allclose(seen[0], seen[-1])
