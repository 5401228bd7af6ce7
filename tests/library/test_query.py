"""Asking a model: the copies are the right ones, the norms each record's own, the model is left."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from torch import nn
from torch.nn import functional as F

from mialib import data, models, query, runs
from mialib.data import Records
from mialib.query import (
    ask,
    boundary_distances,
    collect,
    extra_columns,
    gradient_norms,
    l1_shifts,
    logits_of,
    margins,
    members_then_nonmembers,
    noise_response,
    predict,
    rotated,
    rotation_degrees,
    shifted,
    to_device,
)


@pytest.fixture(scope="module")
def images(digits):
    return digits.take(np.arange(12))


@pytest.fixture(params=["mlp", "resnet20"])
def network(request, images):
    """In training mode, its BatchNorm statistics away from where they began."""
    options = {"mlp": {"widths": (8,)}, "resnet20": {"width": 2}}[request.param]
    model = models.build(request.param, shape=images.x.shape[1:], classes=10, seed=1, **options)
    with torch.no_grad():
        model(
            torch.randn(32, *images.x.shape[1:], generator=torch.Generator().manual_seed(0)) * 3 + 1
        )
    return model.train()


@pytest.fixture(scope="module")
def run(tiny):
    return runs.get(tiny.but(model="resnet20", options={"width": 2}))


# ---------------------------------------------------------------- the copies


@pytest.mark.parametrize("r", [0, 1, 4, 9])
def test_rotations_are_the_whole_degrees_on_both_sides(r):
    assert rotation_degrees(r).tolist() == list(range(-r, r + 1))


@pytest.mark.parametrize("d", [0, 1, 2, 5])
def test_there_are_4d_shifts_at_distance_d_and_none(d):
    found = l1_shifts(d)
    assert len(set(found)) == len(found) == 4 * d + 1
    assert found[0] == (0, 0)
    assert all(abs(down) + abs(right) == d for down, right in found[1:])


def test_the_shifts_come_row_by_row():
    assert l1_shifts(2) == [
        *[(0, 0), (-2, 0), (-1, -1), (-1, 1), (0, -2)],
        *[(0, 2), (1, -1), (1, 1), (2, 0)],
    ]


@pytest.mark.parametrize("wrong", [-1, 0.5, None, "1", True, [1], 2**31])
def test_a_distance_is_a_whole_number_from_0_on(wrong):
    for views in (rotation_degrees, l1_shifts):
        with pytest.raises(ValueError, match=r"\w+ must be \w+"):
            views(wrong)


def test_no_rotation_and_no_shift_change_nothing(images):
    for order in (0, 1, 3):
        assert_allclose(rotated(images, 0, order=order).x, images.x, atol=1e-5)
    assert_array_equal(shifted(images, 0, 0).x, images.x)


def test_no_rotation_and_no_shift_are_the_same_to_a_model(images, network):
    plain = predict(network, images)
    assert_allclose(predict(network, rotated(images, 0)), plain, atol=1e-4)
    assert_array_equal(predict(network, shifted(images, 0, 0)), plain)


def test_a_shift_moves_down_and_right():
    x = np.arange(12, dtype=np.uint8).reshape(1, 1, 3, 4)
    one = Records("one", x, np.array([0]), 2)
    assert shifted(one, 1, 0).x[0, 0].tolist() == [[0, 1, 2, 3], [0, 1, 2, 3], [4, 5, 6, 7]]
    assert shifted(one, 0, 1).x[0, 0].tolist() == [[0, 0, 1, 2], [4, 4, 5, 6], [8, 8, 9, 10]]
    assert shifted(one, -1, -2, border="constant").x[0, 0].tolist() == [
        [6, 7, 0, 0],
        [10, 11, 0, 0],
        [0, 0, 0, 0],
    ]


@pytest.mark.parametrize("by", [(2, -1), (-3, 3), (1, 1)])
def test_a_shift_there_and_back_keeps_the_middle(images, by):
    back = shifted(shifted(images, *by), *(-step for step in by))
    assert_array_equal(back.x[..., 3:-3, 3:-3], images.x[..., 3:-3, 3:-3])
    assert back.x.dtype == images.x.dtype


def test_a_quarter_turn_is_a_quarter_turn():
    x = np.arange(18, dtype=np.uint8).reshape(1, 2, 3, 3)
    turned = rotated(Records("one", x, np.array([0]), 2), 90, order=1).x
    quarter = [np.rot90(x, k, axes=(2, 3)) for k in (1, 3)]
    assert any(np.allclose(turned, other, atol=1e-4) for other in quarter)


def test_opposite_angles_are_mirror_images(images):
    mirrored = replace(images, x=images.x[..., ::-1])
    assert_allclose(rotated(mirrored, 7).x, rotated(images, -7).x[..., ::-1], atol=1e-3)
    assert np.abs(rotated(images, 7).x - images.x).max() > 0


@pytest.mark.parametrize("order", [0, 1, 3])
def test_a_turned_image_stays_in_the_range_of_the_records(images, order):
    turned = rotated(images, 20, order=order).x
    assert images.x.min() <= turned.min() <= turned.max() <= images.x.max()


def test_copies_keep_labels_scaling_and_index(images):
    for copy in (rotated(images, 5), shifted(images, 1, 1)):
        assert_array_equal(copy.y, images.y)
        assert_array_equal(copy.index, images.index)
        assert (copy.shift, copy.scale, copy.classes) == (
            images.shift,
            images.scale,
            images.classes,
        )


def test_tables_cannot_be_turned():
    table = Records("table", np.zeros((4, 3)), np.array([0, 1, 0, 1]), 2)
    for change in (lambda: rotated(table, 3), lambda: shifted(table, 1, 0)):
        with pytest.raises(ValueError, match="Only images can be turned or shifted"):
            change()


# ---------------------------------------------------------------- gradients and noise


@pytest.mark.parametrize("p", [1, 2])
def test_gradient_norms_equal_one_record_at_a_time(network, images, p):
    found = gradient_norms(network, images, p=p)
    network.eval()
    for k, (x, y) in enumerate(zip(images.scaled(), images.y, strict=True)):
        one = torch.from_numpy(x)[None].requires_grad_()
        F.cross_entropy(network(one), torch.tensor([int(y)])).backward()
        expected = np.linalg.norm(one.grad.numpy().ravel().astype(np.float64), ord=p)
        assert found[k] == pytest.approx(expected, rel=1e-4, abs=1e-7)


def test_gradient_norms_leave_no_gradient_on_the_weights(network, images):
    gradient_norms(network, images)
    assert all(parameter.grad is None for parameter in network.parameters())


def test_the_answer_to_noise_equals_a_direct_computation(network, images):
    found = noise_response(network, images, epsilon=1e-2, draws=3, seed=5)
    generator, x = torch.Generator().manual_seed(5), torch.from_numpy(images.scaled())
    network.eval()
    with torch.no_grad():
        plain = np.exp(network(x).log_softmax(dim=1).numpy())
        moved = [
            network(x + 1e-2 * torch.randn(x.shape, generator=generator)).softmax(dim=1)
            for _ in range(3)
        ]
    expected = np.mean([np.abs(one.numpy() - plain) for one in moved], axis=0) / 1e-2
    assert found.shape == (12, 10)
    assert_allclose(found, expected, atol=1e-3 * expected.max())


def test_the_answer_to_noise_of_a_linear_softmax_is_known(images):
    """For small ε, E|R(x + εN) − R(x)| / ε = ‖∇R‖·√(2 / π)."""
    model = models.build("mlp", shape=images.x.shape[1:], classes=10, seed=1, widths=(4,))
    found = noise_response(model, images, draws=2000, epsilon=1e-2)
    x = torch.from_numpy(images.scaled())
    jacobian = torch.func.vmap(torch.func.jacrev(lambda one: model(one[None]).softmax(dim=1)[0]))(x)
    assert_allclose(
        found, jacobian.flatten(2).norm(dim=2).detach() * np.sqrt(2 / np.pi), rtol=0.1, atol=1e-4
    )


def test_the_seed_decides_the_noise(network, images):
    first, again, other = (noise_response(network, images, seed=seed) for seed in (0, 0, 1))
    assert_array_equal(first, again)
    assert np.abs(first - other).max() > 0


@pytest.mark.parametrize(
    "wrong",
    [
        *[{"epsilon": 0.0}, {"epsilon": np.nan}, {"epsilon": "small"}],
        *[{"draws": 0}, {"draws": 1.5}, {"draws": 2**31}, {"seed": -1}, {"seed": 2**64}],
    ],
)
def test_noise_without_size_or_draws_is_refused(network, images, wrong):
    with pytest.raises(ValueError, match="must be"):
        noise_response(network, images, **wrong)


# ---------------------------------------------------------------- distances to the boundary


def last_linear(model):
    return [part for part in model.modules() if isinstance(part, torch.nn.Linear)][-1]


def test_margins_equal_a_loop_over_records_and_classes(network, images):
    found = margins(network, images)
    weight = last_linear(network).weight.detach().double().numpy()
    logits = predict(network, images).astype(np.float64)
    for k, label in enumerate(images.y):
        far = [
            (logits[k, label] - logits[k, j]) / np.linalg.norm(weight[label] - weight[j])
            for j in range(10)
            if j != label
        ]
        assert found[k] == pytest.approx(min(far), rel=1e-4, abs=1e-6)
    assert found.shape == (12,)


def test_margins_are_below_zero_exactly_where_the_model_is_wrong(run):
    found = margins(run.load_model(), members_then_nonmembers(run.side))
    assert_array_equal(found > 0, run.signals.correct())
    assert 0 < (found > 0).mean() < 1


def test_a_step_along_the_margin_reaches_the_boundary():
    """Three classes in a plane: the point moved by its margin, towards the nearest class, has two
    equal logits.
    """
    model = models.Network(torch.nn.Identity(), torch.nn.Linear(2, 3))
    weight, bias = np.array([[2.0, 0.0], [-1.0, 1.0], [0.0, -3.0]]), np.array([0.3, -0.2, 0.1])
    model.classify.weight.data, model.classify.bias.data = (
        torch.tensor(part).float() for part in (weight, bias)
    )
    points = np.array([[1.0, 0.4], [0.2, 2.0], [0.1, 0.0], [-2.0, 0.5]])
    labels = np.array([0, 0, 2, 1])
    found = margins(model, Records("plane", points, labels, 3))
    for point, label, margin in zip(points, labels, found, strict=True):
        ends = []
        for j in {0, 1, 2} - {label}:
            way = weight[label] - weight[j]
            logits = weight @ (point - margin * way / np.linalg.norm(way)) + bias
            ends.append(logits[label] - logits[j])
        assert np.abs(ends).min() < 1e-5
        assert min(ends) > -1e-5


def test_margins_of_a_hundred_classes_are_exact(rng):
    model = models.build("mlp", shape=(20,), classes=100, seed=1, widths=(64,))
    records = Records("table", rng.normal(size=(600, 20)), rng.integers(100, size=600), 100)
    weight, logits = (
        last_linear(model).weight.detach().double().numpy(),
        predict(model, records).astype(np.float64),
    )
    apart = np.linalg.norm(weight[records.y][:, None] - weight[None], axis=2)
    apart[np.arange(600), records.y] = np.nan
    expected = np.nanmin((logits[np.arange(600), records.y][:, None] - logits) / apart, axis=1)
    assert_allclose(margins(model, records), expected, rtol=1e-4, atol=1e-6)


def test_margins_leave_modes_and_weights_alone(network, images):
    before = {name: value.clone() for name, value in network.state_dict().items()}
    margins(network, images)
    assert network.training
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())
    assert all(parameter.grad is None for parameter in network.parameters())


# ---------------------------------------------------------------- logits


def test_logits_come_in_batches_and_leave_the_model_alone(network, images):
    sizes = []
    network.register_forward_pre_hook(lambda module, args: sizes.append(len(args[0])))
    x, _ = to_device(images, torch.device("cpu"))
    found = logits_of(network, x, batch_size=5)
    assert sizes == [5, 5, 2]
    assert network.training
    assert not found.requires_grad
    assert_allclose(predict(network, images), found.numpy(), atol=1e-6)


def test_a_batch_may_be_larger_than_the_records(network, images):
    assert_array_equal(predict(network, images, batch_size=2**62), predict(network, images))


def test_signals_are_collected_from_any_module(run):
    """No part `features` is needed, and no run."""
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10))
    found = collect(module, run.side)
    assert_array_equal(found.is_member, run.signals.is_member)
    assert_array_equal(found.members().logits, predict(module, run.side.train))
    assert_array_equal(found.record_index, run.signals.record_index)


# ---------------------------------------------------------------- asking for everything


EVERYTHING = {
    "rotations": rotation_degrees(2),
    "shifts": l1_shifts(1),
    "noise": True,
    "gradient": True,
}


def test_asking_leaves_modes_and_statistics_unchanged(run):
    model = run.load_model().train()
    parts = list(model.modules())
    parts[-1].eval()  # A part that was frozen stays so.
    modes = [part.training for part in parts]
    before = {name: value.clone() for name, value in model.state_dict().items()}
    state = torch.get_rng_state()
    ask(model, run.side, **EVERYTHING)
    assert [part.training for part in model.modules()] == modes
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert torch.equal(torch.get_rng_state(), state)


def test_asking_adds_columns_in_the_order_of_the_signals(run):
    model = run.load_model()
    seen = ask(model, run.side, **EVERYTHING)
    n = len(run.signals)
    shapes = {name: column.shape for name, column in seen.extra.items()}
    assert shapes == {
        "rotations": (n, 5),
        "shifts": (n, 5),
        "noise": (n, 10),
        "gradient_l1": (n,),
        "gradient_l2": (n,),
    }
    assert_array_equal(seen.logits, collect(model, run.side).logits)
    assert_array_equal(seen.extra["rotations"][:, 2], run.signals.correct())  # turned by 0
    assert_array_equal(seen.extra["shifts"][:, 0], run.signals.correct())  # not shifted
    assert_allclose(
        seen.members().extra["gradient_l2"],
        gradient_norms(model, run.side.train),
        rtol=1e-3,
        atol=1e-6,
    )


def test_a_run_is_asked_as_its_model_is(run):
    """Its logits are those that were stored, from a model whose weights lay in another order."""
    asked = run.ask(**EVERYTHING)
    expected = ask(run.load_model(), run.side, **EVERYTHING)
    assert_array_equal(asked.logits, run.signals.logits)
    assert_allclose(asked.logits, expected.logits, atol=1e-5)
    assert asked.extra.keys() == expected.extra.keys()
    for name, column in expected.extra.items():
        assert_array_equal(asked.extra[name], column)


def test_the_views_are_the_models_answers_to_the_copies(run):
    model = run.load_model()
    seen = ask(model, run.side, shifts=[(0, 2), (-1, 0)])
    right = predict(model, shifted(run.side.test, 0, 2)).argmax(axis=1) == run.side.test.y
    assert_array_equal(seen.non_members().extra["shifts"][:, 0], right)


def test_asking_nothing_gives_the_signals_alone(run):
    assert ask(run.load_model(), run.side).extra == {}


def test_members_come_before_non_members(run):
    both = members_then_nonmembers(run.side)
    assert_array_equal(both.index, run.signals.record_index)
    assert_array_equal(both.y, run.signals.labels)


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    "question",
    [predict, gradient_norms, margins, noise_response, boundary_distances, extra_columns],
    ids=lambda question: question.__name__,
)
@pytest.mark.parametrize(
    ("model", "complaint"),
    [
        (None, "model must be a torch module, found NoneType"),
        ("resnet20", "model must be a torch module, found str"),
        (torch.nn.Tanh(), "Tanh has no parameters"),
    ],
)
def test_what_cannot_be_asked_is_named(images, question, model, complaint):
    options = {"noise": True} if question is extra_columns else {}
    with pytest.raises((TypeError, ValueError), match=complaint):
        question(model, images, **options)


@pytest.mark.parametrize("records", [None, np.zeros((4, 64)), "digits"])
def test_what_is_no_record_is_named(network, records):
    questions = [predict, gradient_norms, margins, noise_response, boundary_distances]
    copies = [lambda model, given: rotated(given, 3), lambda model, given: shifted(given, 1, 0)]
    for question in questions + copies:
        with pytest.raises(TypeError, match=f"must be Records, found {type(records).__name__}"):
            question(network, records)


def test_what_is_no_side_is_named(network, images):
    for question in (collect, ask):
        with pytest.raises(TypeError, match="side must be a Side with train and test, found Rec"):
            question(network, images)


def test_records_of_another_shape_are_named_beside_the_models(network, rng):
    table = Records("table", rng.random((20, 5)), rng.integers(0, 10, 20), 10)
    for question in (predict, gradient_norms, margins, noise_response):
        with pytest.raises(
            ValueError,
            match=r"records of shape \(5,\)\. It was built for records of shape \(1, 8, 8\)",
        ):
            question(network, table)


def test_labels_that_the_model_does_not_know_are_named(images):
    model = models.build("mlp", shape=images.x.shape[1:], classes=3, widths=(4,))
    for question in (gradient_norms, margins):
        with pytest.raises(ValueError, match="the label 9, but the model 3 outputs"):
            question(model, images)


class Answers(torch.nn.Module):
    """Whatever it is told to answer."""

    def __init__(self, answer):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.answer = answer

    def forward(self, x):
        return self.answer(x)


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (lambda x: x.flatten(1).sum(dim=1), r"found \(12,\) for 12 records"),
        (lambda x: (x.flatten(1), x), "found tuple for 12 records"),
        (lambda x: x.flatten(1)[:1], r"found \(1, 64\) for 12 records"),
    ],
)
def test_answers_that_are_no_logits_are_named(images, answer, found):
    with pytest.raises(ValueError, match=rf"Answers must give logits \(n, classes\).*{found}"):
        predict(Answers(answer), images)


def test_a_model_without_a_last_linear_layer_has_no_margins(images):
    with pytest.raises(ValueError, match="Flatten has no parameters"):
        margins(torch.nn.Flatten(), images)
    with pytest.raises(ValueError, match="Linear has no part `classify`"):
        margins(torch.nn.Linear(64, 10), images)
    model = models.Network(torch.nn.Linear(8, 10), torch.nn.Tanh())
    with pytest.raises(ValueError, match="`classify` of Network has no linear layer"):
        margins(model, images)


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"rotations": 4}, r"rotations must be degrees, such as rotation_degrees\(4\), found 4"),
        ({"rotations": "4"}, "rotations must be degrees"),
        ({"rotations": [None]}, "degrees must be a number"),
        ({"rotations": [np.nan]}, "degrees must be a number"),
        ({"shifts": 1}, r"shifts must be pairs \(down, right\), such as l1_shifts\(1\), found 1"),
        ({"shifts": [1, 2]}, "shifts must be pairs"),
        ({"shifts": [(1, 2, 3)]}, r"shifts must be pairs .* found \(1, 2, 3\)"),
        ({"shifts": [(0.5, 0)]}, "down must be a whole number"),
        ({"shifts": [(0, 2**31)]}, "right must be a whole number in -8 … 8"),
        ({"noise": "no"}, "noise must be True or False, found 'no'"),
        ({"gradient": None}, "gradient must be True or False"),
    ],
)
def test_questions_that_cannot_be_meant_are_refused(run, wrong, complaint):
    with pytest.raises(ValueError, match=complaint):
        ask(run.load_model(), run.side, **wrong)


@pytest.mark.parametrize("batch_size", [0, -1, 1.5, None, "10"])
def test_batches_are_whole(network, images, batch_size):
    with pytest.raises(ValueError, match="batch_size must be a whole number, at least 1"):
        predict(network, images, batch_size=batch_size)


@pytest.mark.parametrize("p", [-1, np.nan, "2", None, (1, None), ()])
def test_norms_that_are_none_are_refused(network, images, p):
    with pytest.raises(ValueError, match="p must be a number"):
        gradient_norms(network, images, p=p)


def test_the_largest_entry_is_a_norm(network, images):
    every = gradient_norms(network, images, p=(1, np.inf))
    assert every.shape == (2, 12)
    assert (every[1] <= every[0]).all()
    assert_array_equal(gradient_norms(network, images, p=np.inf), every[1])


@pytest.mark.parametrize(
    "wrong",
    [
        {"degrees": None},
        {"degrees": np.inf},
        {"degrees": 3, "order": 6},
        {"degrees": 3, "order": "1"},
    ],
)
def test_turns_that_cannot_be_made_are_refused(images, wrong):
    with pytest.raises(ValueError, match=r"(degrees|order) must be a"):
        rotated(images, **wrong)


def test_borders_that_do_not_exist_are_refused(images):
    with pytest.raises(ValueError, match="no border 'edges'; did you mean 'edge'"):
        shifted(images, 1, 0, border="edges")


@pytest.mark.parametrize("name", ["gpu", "meta", "cuda:99", 0, None])
def test_devices_that_are_not_there_are_named(name):
    with pytest.raises(ValueError, match=f"There is no device '{name}' here; use 'auto'"):
        query.pick_device(name)


class Forgetful(nn.Module):
    """A network on a device whose memory holds so many records at once."""

    def __init__(self, room: int):
        super().__init__()
        self.layer = nn.Linear(64, 10)
        self.room = room

    def forward(self, x):
        if len(x) > self.room:
            raise torch.OutOfMemoryError("no memory left")
        return self.layer(x.flatten(1))


@pytest.mark.filterwarnings("ignore:The device ran out")
def test_a_device_that_runs_out_of_memory_is_asked_in_smaller_batches():
    digits = data.load("digits", size=600)
    model = Forgetful(room=130)
    with pytest.warns(UserWarning, match="batches of 500 records; going on with 250"):
        logits = query.predict(model, digits)
    expected = model.layer(query.to_device(digits, torch.device("cpu"))[0].flatten(1))
    assert np.allclose(logits, expected.detach().numpy())
    with pytest.warns(UserWarning, match="going on with 125"):
        assert len(query.gradient_norms(model, digits)) == 600


@pytest.mark.filterwarnings("ignore:The device ran out")
def test_a_device_without_room_for_one_record_is_a_sentence():
    with pytest.raises(torch.OutOfMemoryError, match="to ask the model about a single record"):
        query.predict(Forgetful(room=0), data.load("digits", size=20))
