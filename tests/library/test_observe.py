"""What a patient attacker asks: the copies are the right ones, the norms are each record's own, the model is left."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from torch.nn import functional as F

from mialib import models, observe, runs
from mialib.data import Records
from mialib.observe import (
    angles,
    gradient_norms,
    margins,
    noise_response,
    rotated,
    shell,
    shifted,
    watch,
)
from mialib.signals import predict


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
def test_angles_are_the_whole_degrees_on_both_sides(r):
    assert angles(r).tolist() == list(range(-r, r + 1))


@pytest.mark.parametrize("d", [0, 1, 2, 5])
def test_a_shell_has_the_4d_shifts_at_distance_d_and_none(d):
    found = shell(d)
    assert len(set(found)) == len(found) == 4 * d + 1
    assert found[0] == (0, 0)
    assert all(abs(down) + abs(right) == d for down, right in found[1:])


@pytest.mark.parametrize("wrong", [-1, 0.5, None])
def test_a_distance_is_a_whole_number_from_0_on(wrong):
    for views in (angles, shell):
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
    "wrong", [{"epsilon": 0.0}, {"epsilon": np.nan}, {"draws": 0}, {"draws": 1.5}]
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
    everyone = observe.everyone(run.side)
    found = margins(run.load_model(), everyone)
    assert_array_equal(found > 0, run.signals.correct())
    assert 0 < (found > 0).mean() < 1


def test_a_step_along_the_margin_reaches_the_boundary():
    """Three classes in a plane: the point moved by its margin, towards the nearest class, has two equal logits."""
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


# ---------------------------------------------------------------- watching a run


def test_watching_leaves_modes_and_statistics_unchanged(run, monkeypatch):
    model = run.load_model().train()
    parts = list(model.modules())
    parts[-1].eval()  # A part that was frozen stays so.
    modes = [part.training for part in parts]
    before = {name: value.clone() for name, value in model.state_dict().items()}
    monkeypatch.setattr(runs.Run, "load_model", lambda self: model)
    state = torch.get_rng_state()
    watch(run, rotations=angles(1), shifts=shell(1), noise=True, gradient=True)
    assert [part.training for part in model.modules()] == modes
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert torch.equal(torch.get_rng_state(), state)


def test_watching_adds_columns_in_the_order_of_the_signals(run):
    seen = watch(run, rotations=angles(2), shifts=shell(1), noise=True, gradient=True)
    n = len(run.signals)
    shapes = {name: column.shape for name, column in seen.more.items()}
    assert shapes == {
        "rotations": (n, 5),
        "shifts": (n, 5),
        "noise": (n, 10),
        "gradient_l1": (n,),
        "gradient_l2": (n,),
    }
    assert_array_equal(seen.logits, run.signals.logits)
    assert_array_equal(seen.more["rotations"][:, 2], run.signals.correct())  # turned by 0
    assert_array_equal(seen.more["shifts"][:, 0], run.signals.correct())  # not shifted
    model = run.load_model()
    assert_allclose(
        seen.members().more["gradient_l2"],
        gradient_norms(model, run.side.train),
        rtol=1e-3,
        atol=1e-6,
    )


def test_the_views_are_the_models_answers_to_the_copies(run):
    seen, model = watch(run, shifts=[(0, 2), (-1, 0)]), run.load_model()
    right = predict(model, shifted(run.side.test, 0, 2)).argmax(axis=1) == run.side.test.y
    assert_array_equal(seen.non_members().more["shifts"][:, 0], right)


def test_watching_nothing_gives_the_signals_back(run):
    assert watch(run).more == {}


def test_everyone_is_members_and_then_non_members(run):
    both = observe.everyone(run.side)
    assert_array_equal(both.index, run.signals.record)
    assert_array_equal(both.y, run.signals.labels)
