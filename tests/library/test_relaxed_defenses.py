"""RelaxLoss and CRL: oracles, the branch of each epoch, and whole trainings written again from the
papers' code.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from torch import nn
from torch.nn import functional as F

from mialib import models
from mialib.defenses import CRL, Plain, RelaxLoss
from mialib.query import predict, to_device
from mialib.training import Recipe, fit
from small_networks import normalised, perceptron

SMALL = Recipe(epochs=4, batch_size=16, lr=0.05)
STILL = Recipe(epochs=6, batch_size=60, lr=0.0)  # Nothing moves: every epoch has the same loss.
OFF = {"alpha_rce": 0.0, "alpha_rcl": 0.0, "tau_rce": 0.0, "tau_rcl": 0.0, "lam": 0.0}

pytestmark = pytest.mark.usefixtures("one_thread")


def trained(members, defense, recipe=SMALL, *, make=perceptron, **options):
    """The state after `fit`, and the history."""
    model = make()
    history = fit(model, members, recipe, defense=defense, device="cpu", **options)
    return model.state_dict(), history


def assert_equal(found, expected):
    for name, value in expected.items():
        assert torch.equal(found[name], value), name


def loss_of(defense, logits, y, *, epoch, centers=None):
    """The loss of one batch whose features are its logits; `logits` may ask for their gradient."""
    logits = torch.as_tensor(logits, dtype=torch.float32)
    labels = torch.tensor(y)
    if isinstance(defense, RelaxLoss):
        return defense.batch_loss(logits, labels, epoch=epoch)
    classes = logits.shape[1]
    around = torch.ones(classes, classes) if centers is None else torch.tensor(centers)
    return defense.batch_loss(logits, logits, labels, around, epoch=epoch)


# ---------------------------------------------------------------- oracles

LOGITS = [2.0, 0.0, -1.0]


@pytest.mark.parametrize(
    ("defense", "y", "epoch", "expected"),
    [
        (RelaxLoss(0.1), [0], 2, 0.1698460),  # above α: cross-entropy
        (RelaxLoss(0.1), [0], 1, 0.0698460),
        (RelaxLoss(3.0), [0], 1, 2.8301540),
        (RelaxLoss(3.0), [0], 2, -0.1698460),  # below: a correct record climbs …
        (RelaxLoss(3.0), [1], 2, -0.4429024),  # … a wrong one is flattened as well
        (RelaxLoss(3.0), [0, 1], 2, (-0.1698460 - 0.4429024) / 2),
        (RelaxLoss(3.0, form="crl"), [1], 1, 1.7269436),
        (RelaxLoss(3.0, form="crl"), [1], 2, 3.0 - 2.1698460),
        (CRL(**OFF), [0], 1, 0.1698460),
        (CRL(**OFF | {"tau_rce": 0.5}), [0], 1, 0.4895283),
        (CRL(**OFF | {"tau_rce": 0.5, "alpha_rce": 0.4}), [0], 1, 0.4895283),
        (CRL(**OFF | {"tau_rce": 0.5, "alpha_rce": 0.4}), [0], 2, 0.0895283),
        (CRL(**OFF | {"tau_rce": 0.5, "alpha_rce": 0.6}), [0], 2, 0.1104717),
    ],
)
def test_the_loss_is_the_one_computed_by_hand(defense, y, epoch, expected):
    assert loss_of(defense, [LOGITS] * len(y), y, epoch=epoch).item() == pytest.approx(
        expected, abs=1e-6
    )


def test_crl_scores_normalised_logits_against_the_confidence_of_the_plain_ones():
    p = math.exp(2) / sum(map(math.exp, LOGITS))
    short = [logit / (1 + 0.5 * math.hypot(*LOGITS)) for logit in LOGITS]
    log_p = [one - math.log(sum(map(math.exp, short))) for one in short]
    expected = -(p * log_p[0] + (1 - p) / 2 * (log_p[1] + log_p[2]))
    found = loss_of(CRL(**OFF | {"tau_rce": 0.5, "alpha_rce": 3.0}), [LOGITS], [0], epoch=1)
    assert found.item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("alpha", "epoch", "expected"),
    [
        (0.1, 1, 0.5 / 3.6),  # half the squared distance of (3, 4) / 6 and (0, 5) / 6
        (
            0.2,
            1,
            (0.2689414 * 1 / 3.6 + 0.7310586 * 25 / 36) / 2,
        ),  # the rest of p_y is drawn to the origin
        (0.2, 2, 0.2 - 0.5 / 3.6),
        (0.1, 2, 0.5 / 3.6 - 0.1),
    ],
)
def test_the_center_loss_is_the_one_computed_by_hand(alpha, epoch, expected):
    defense = CRL(**OFF | {"tau_rcl": 1.0, "alpha_rcl": alpha, "lam": 10.0})
    found = loss_of(defense, [[3.0, 4.0]], [0], epoch=epoch, centers=[[0.0, 5.0], [9.0, 9.0]])
    plain = loss_of(CRL(**OFF), [[3.0, 4.0]], [0], epoch=epoch)
    assert (found - plain).item() / 10 == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("tau", [0.05, 1.0, 4.0])
def test_a_normalised_logit_is_shorter_than_one_over_tau(tau):
    """Far out, the loss of a right record cannot fall below that of (1 / τ, 0, 0)."""
    found = loss_of(CRL(**OFF | {"tau_rce": tau}), [[1e6, 0.0, 0.0]], [0], epoch=1).item()
    assert found == pytest.approx(math.log(1 + 2 * math.exp(-1 / tau)), rel=1e-3, abs=1e-7)


# ---------------------------------------------------------------- the branch of each epoch


@pytest.mark.parametrize(
    ("defense", "absolute"),
    [
        (RelaxLoss(100.0), [1, 3, 5]),
        (RelaxLoss(100.0, form="crl"), [2, 4, 6]),
        (CRL(**OFF | {"alpha_rce": 100.0}), [2, 4, 6]),
        (CRL(**OFF | {"alpha_rcl": 100.0, "lam": 1.0, "tau_rcl": 1.0}), [2, 4, 6]),
    ],
)
def test_the_distance_to_alpha_counts_in_every_other_epoch(members, defense, absolute):
    _, history = trained(members, defense, STILL)
    assert [epoch["epoch"] for epoch in history if epoch["loss"] > 50] == absolute


@pytest.mark.parametrize(
    "defense", [RelaxLoss(100.0), RelaxLoss(100.0, form="crl"), CRL(100.0, 100.0)]
)
def test_the_history_tells_how_many_batches_were_below_alpha(members, defense):
    for one, expected in (
        (defense, 1.0),
        (type(defense)(**dict.fromkeys(alphas(defense), 0.0)), 0.0),
    ):
        _, history = trained(members, one)
        below = [epoch[name] for epoch in history for name in epoch if name.startswith("below")]
        assert below == [expected] * 4 * len(alphas(defense))


def alphas(defense):
    return ("alpha_rce", "alpha_rcl") if isinstance(defense, CRL) else ("alpha",)


# ------------------------------------------------------------ the gradient through the soft label


def gradients(loss, logits, y, *, through):
    """Of the soft cross-entropy written out, with the label as a part of the graph or as a
    constant.
    """
    logits = torch.tensor(logits, requires_grad=True)
    log_p = logits.log_softmax(dim=1)
    p = log_p.exp()[range(len(y)), y]
    p = (p if through else p.detach()).clamp(max=loss.get("upper", 1.0))
    wanted = torch.stack(
        [p[k] if j == y[k] else (1 - p[k]) / 2 for k in range(len(y)) for j in range(3)]
    ).view(-1, 3)
    soft, right = -(wanted * log_p).sum(dim=1), log_p.detach().argmax(dim=1) == torch.tensor(y)
    if loss.get("official"):
        soft = soft * ~right + log_p[range(len(y)), y]
    soft.mean().backward()
    return logits.grad


ROWS, LABELS = [[2.0, 0.0, -1.0], [0.5, 0.1, 0.7], [-1.0, 2.0, 0.3]], [0, 1, 2]


@pytest.mark.parametrize("upper", [1.0, 0.3])
@pytest.mark.parametrize(
    ("make", "epoch"),
    [
        (lambda upper: RelaxLoss(9.0, upper=upper), 2),
        (lambda upper: RelaxLoss(9.0, upper=upper, form="crl"), 1),
        (lambda upper: CRL(**OFF | {"alpha_rce": 9.0, "upper_rce": upper}), 1),
    ],
)
def test_the_gradient_goes_through_the_soft_label(make, epoch, upper):
    logits = torch.tensor(ROWS, requires_grad=True)
    loss_of(make(upper), logits, LABELS, epoch=epoch).backward()
    kind = {
        "official": isinstance(make(1.0), RelaxLoss) and make(1.0).form == "official",
        "upper": upper,
    }
    assert_allclose(logits.grad, gradients(kind, ROWS, LABELS, through=True), atol=1e-6)
    assert (logits.grad - gradients(kind, ROWS, LABELS, through=False)).abs().max() > 1e-2


def test_the_upper_bound_holds_the_confidence_and_stops_its_gradient():
    """p_y = 0.84 is bounded by 0.3: the label is a constant (0.3, 0.35, 0.35)."""
    logits = torch.tensor([LOGITS], requires_grad=True)
    found = loss_of(RelaxLoss(9.0, upper=0.3, form="crl"), logits, [0], epoch=1)
    found.backward()
    p, wanted = torch.tensor([LOGITS]).softmax(dim=1), torch.tensor([[0.3, 0.35, 0.35]])
    assert found.item() == pytest.approx(-(wanted * p.log()).sum().item(), abs=1e-6)
    assert_allclose(logits.grad, p - wanted, atol=1e-6)


@pytest.mark.parametrize(("upper", "reaches"), [(1.0, True), (0.01, False)])
def test_the_center_loss_reaches_the_classifier_through_the_confidence_unless_it_is_bounded(
    members, upper, reaches
):
    model = perceptron()
    x, y = to_device(members, torch.device("cpu"))
    centers = torch.randn(10, 12, generator=torch.Generator().manual_seed(0))
    heads = []
    for weight in (0.0, 1.0):
        settings = {"alpha_rcl": 99.0, "tau_rcl": 1.0, "upper_rcl": upper, "lam": weight}
        model.zero_grad()
        features = model.features(x)
        logits = model.classify(features)
        CRL(**OFF | settings).batch_loss(features, logits, y, centers, epoch=1).backward()
        heads.append(model.classify.weight.grad.clone())
    assert (not torch.allclose(*heads, atol=1e-5)) == reaches


# ---------------------------------------------------------------- whole trainings, written again


def descend(value, velocity, gradient, *, lr, momentum, decay):
    """SGD with momentum and weight decay, by hand and in place."""
    with torch.no_grad():
        velocity.mul_(momentum).add_(gradient + decay * value)
        value.sub_(lr * velocity)


def by_hand(model, members, loss, *, epochs, centers=None, center_lr=0.0, printed=False):
    """Batches in the order of `fit`; the cosine holds for the model alone. `loss(features, logits,
    centers, y, epoch)` gives the part of the model and the part that the centers step by.
    """
    x, y = to_device(members, torch.device("cpu"))
    order = torch.Generator().manual_seed(0)
    values = list(model.parameters()) + ([centers] if centers is not None else [])
    velocities = [torch.zeros_like(value) for value in values]
    for epoch in range(1, epochs + 1):
        lr = 0.1 * (1 + math.cos(math.pi * (epoch - 1) / epochs)) / 2
        for chosen in torch.randperm(len(y), generator=order).split(16):
            features = model.features(x[chosen])
            total, center = loss(
                features, model.classify(features), centers, y[chosen].tolist(), epoch
            )
            found = list(torch.autograd.grad(total, values, retain_graph=True))
            if printed:
                (found[-1],) = torch.autograd.grad(center, [centers])
            for value, velocity, gradient in zip(values, velocities, found, strict=True):
                own = {"lr": center_lr if value is centers else lr, "momentum": 0.9, "decay": 5e-4}
                bare = {"momentum": 0.0, "decay": 0.0} if value is centers and printed else {}
                descend(value, velocity, gradient, **own | bare)
    return model.state_dict()


LOOP = Recipe(epochs=6, batch_size=16, lr=0.1)


def soft_label(p, y, classes, upper):
    own = p[y].clamp(0, upper)
    return torch.stack([own if j == y else (1 - own) / (classes - 1) for j in range(classes)])


@pytest.mark.parametrize(("alpha", "upper"), [(1.8, 1.0), (1.2, 0.3)])
def test_whole_trainings_with_relaxloss_equal_the_authors_loop(members, alpha, upper):
    """Their epochs count from 0: |L − α| where the number is even."""
    seen = set()

    def loss(features, logits, centers, y, epoch):
        p = torch.softmax(logits, dim=1)
        full = torch.stack([-torch.log(p[k, y[k]]) for k in range(len(y))])
        seen.add((epoch % 2, bool(full.mean() > alpha)))
        if (epoch - 1) % 2 == 0:
            return (full.mean() - alpha).abs(), None
        if full.mean() > alpha:
            return full.mean(), None
        each = []
        for k in range(len(y)):
            soft = -(soft_label(p[k], y[k], 10, upper) * torch.log(p[k])).sum()
            each.append(soft * float(p[k].argmax() != y[k]) - full[k])
        return torch.stack(each).mean(), None

    expected = by_hand(perceptron(), members, loss, epochs=6)
    found, _ = trained(members, RelaxLoss(alpha, upper=upper), LOOP)
    assert len(seen) == 4  # both sides of α, in even and odd epochs
    for name, value in expected.items():
        assert_allclose(found[name], value, atol=1e-5, err_msg=name)


@dataclass(frozen=True)
class Watched(CRL):
    """Notes the centers before the first step and after every epoch."""

    def prepare(self, training):
        state = super().prepare(training)
        training.model.centers = [state.centers.detach().clone()]
        return state

    def end_epoch(self, training):
        training.model.centers.append(training.state.centers.detach().clone())
        return False


def short(v, tau):
    return v / (1 + tau * (v.square().sum(dim=1, keepdim=True).sqrt() + 1e-7))


def crl_by_hand(settings, seen):
    """The authors' two losses, record by record."""

    def scenario(which, value, soft, epoch):
        alpha = settings[f"alpha_{which}"]
        seen.add((which, epoch % 2, bool(value > alpha)))
        if epoch % 2 == 0:
            return (value - alpha).abs()
        return value if value > alpha else soft

    def loss(features, logits, centers, y, epoch):
        n, p = len(y), torch.softmax(logits, dim=1)
        log_p = torch.log(torch.softmax(short(logits, settings["tau_rce"]), dim=1))
        ce = -sum(log_p[k, y[k]] for k in range(n)) / n
        label = [soft_label(p[k], y[k], 10, settings.get("upper_rce", 1.0)) for k in range(n)]
        rce = scenario("rce", ce, -sum((label[k] * log_p[k]).sum() for k in range(n)) / n, epoch)
        q, c = short(features, settings["tau_rcl"]), short(centers, settings["tau_rcl"])
        ct, inward = 0, 0
        for k in range(n):
            own, far = (
                p[k, y[k]].clamp(0, settings.get("upper_rcl", 1.0)),
                (q[k] - c[y[k]]).square().sum(),
            )
            ct, inward = (
                ct + far / (2 * n),
                inward + (own * far + (1 - own) * q[k].square().sum()) / (2 * n),
            )
        rcl = scenario("rcl", ct, inward, epoch)
        return rce + settings["lam"] * rcl, rcl

    return loss


CASES = [
    {
        "alpha_rce": 1.9,
        "alpha_rcl": 0.5,
        "tau_rce": 0.05,
        "tau_rcl": 1.0,
        "lam": 0.7,
        "center_lr": 0.5,
    },
    {
        "alpha_rce": 2.1,
        "alpha_rcl": 0.18,
        "tau_rce": 0.5,
        "tau_rcl": 2.0,
        "lam": 3.0,
        "center_lr": 5.0,
    }
    | {"upper_rce": 0.12},
    {
        "alpha_rce": 1.6,
        "alpha_rcl": 9.5,
        "tau_rce": 0.0,
        "tau_rcl": 0.0,
        "lam": 0.02,
        "center_lr": 0.2,
    }
    | {"upper_rcl": 0.1},
]


@pytest.mark.parametrize("printed", [False, True])
@pytest.mark.parametrize("settings", CASES)
def test_whole_trainings_with_crl_equal_the_authors_loop(members, settings, printed):
    model, seen = perceptron(), set()
    fit(model, members, LOOP, defense=Watched(**settings, printed_step=printed), device="cpu")
    centers, expected = model.centers[0].clone().requires_grad_(), perceptron()
    steps = {"centers": centers, "center_lr": settings["center_lr"], "printed": printed}
    by_hand(expected, members, crl_by_hand(settings, seen), epochs=6, **steps)
    assert len(seen) == 8, sorted(seen)  # For either loss both sides of α, in even and odd epochs.
    for name, value in expected.state_dict().items():
        assert_allclose(model.state_dict()[name], value, atol=1e-5, err_msg=name)
    assert_allclose(model.centers[-1], centers.detach(), atol=1e-5)
    assert (model.centers[-1] - model.centers[0]).abs().max() > 1e-2


def test_centers_begin_as_normal_draws_of_the_features_size(members):
    model = perceptron()
    fit(model, members, STILL, defense=Watched(), device="cpu")
    assert model.centers[0].shape == (10, 12)
    assert model.centers[0].std().item() == pytest.approx(1, abs=0.2)
    assert abs(model.centers[0].mean().item()) < 0.3


@pytest.mark.parametrize("printed", [False, True])
def test_a_class_without_members_keeps_its_center_but_for_the_decay(members, printed):
    """The authors' optimiser decays every center; as printed, only those step whose class is in
    the batch.
    """
    some, model = members.take(np.flatnonzero(members.y != 8)), perceptron()
    fit(model, some, SMALL, defense=Watched(center_lr=0.1, printed_step=printed), device="cpu")
    before, after = model.centers[0], model.centers[-1]
    assert torch.equal(after[8], before[8]) == printed
    assert_allclose(after[8], before[8], rtol=0.01)
    assert (after[[0, 1]] - before[[0, 1]]).abs().max() > 1e-3


# ---------------------------------------------------------------- limits


@pytest.mark.parametrize("make", [perceptron, normalised])
@pytest.mark.parametrize("defense", [RelaxLoss(0.0), RelaxLoss(0.0, form="crl"), CRL(**OFF)])
def test_strength_zero_is_plain_training_bit_for_bit(members, defense, make):
    plain, _ = trained(members, Plain(), make=make)
    assert_equal(trained(members, defense, make=make)[0], plain)


@pytest.mark.parametrize(
    "defense",
    [
        RelaxLoss(2.0),
        RelaxLoss(2.0, form="crl"),
        CRL(**OFF | {"tau_rce": 0.5}),
        CRL(**OFF | {"alpha_rce": 2.2}),
        CRL(**OFF | {"lam": 0.1}),
    ],
)
def test_every_part_alone_changes_the_weights(members, defense):
    plain, _ = trained(members, Plain())
    found, _ = trained(members, defense)
    assert (found["classify.weight"] - plain["classify.weight"]).abs().max() > 1e-3


def test_without_a_weight_the_centers_have_no_part(members):
    first, second = (CRL(lam=0.0, tau_rcl=tau, alpha_rcl=tau, center_lr=tau) for tau in (0.1, 5.0))
    assert_equal(trained(members, first)[0], trained(members, second)[0])
    model = perceptron()
    fit(model, members, SMALL, defense=Watched(lam=0.0), device="cpu")
    assert torch.equal(model.centers[-1], model.centers[0])


@pytest.mark.parametrize("defense", [RelaxLoss(1.0), CRL()])
def test_one_object_serves_many_runs_and_the_seed_decides(members, defense):
    first, again, other = (
        trained(members, defense, make=normalised, seed=seed)[0] for seed in (0, 0, 1)
    )
    assert_equal(again, first)
    assert not torch.equal(other["classify.weight"], first["classify.weight"])


@pytest.mark.parametrize("defense", [RelaxLoss(1.0), CRL(1.0, tau_rce=0.0)])
def test_the_loss_settles_near_alpha(members, defense):
    """Plain training goes far below."""
    recipe, losses = Recipe(epochs=40, batch_size=60, lr=0.2), []
    for one in (Plain(), defense):
        model = perceptron()
        fit(model, members, recipe, defense=one, device="cpu")
        losses.append(
            F.cross_entropy(torch.tensor(predict(model, members)), torch.tensor(members.y)).item()
        )
    assert losses[0] < 0.2
    assert 0.6 < losses[1] < 1.6


@pytest.mark.parametrize("name", ["resnet20", "googlenet"])
def test_crl_works_on_any_network_with_features(members, name):
    """In GoogLeNet `classify` is more than a linear layer."""
    model = models.build(
        name, shape=(1, 8, 8), classes=10, **({"width": 2} if name == "resnet20" else {})
    )
    size = {"resnet20": 8, "googlenet": 1024}[name]
    fit(
        model,
        members.take(np.arange(8)),
        Recipe(1, 8, 0.01),
        defense=Watched(center_lr=0.1),
        device="cpu",
    )
    assert model.centers[0].shape == (10, size)
    assert not torch.equal(*model.centers)


@pytest.mark.parametrize("defense", [RelaxLoss(1.0), CRL()])
def test_a_class_of_one_record_and_batches_of_one_are_enough(members, defense):
    rare = np.flatnonzero(members.y != 3)
    some = members.take(np.append(rare[:20], np.flatnonzero(members.y == 3)[:1]))
    found, history = trained(some, defense, replace(SMALL, batch_size=1))
    assert all(value.isfinite().all() for value in found.values())
    assert len(history) == 4


def test_features_of_zero_length_are_no_fault(members):
    """A dead ReLU: the norm has no slope at 0."""

    def dead():
        model = perceptron()
        model.features.append(nn.ReLU())
        model.features[1].weight.data.zero_()
        model.features[1].bias.data.fill_(-1.0)
        return model

    found, _ = trained(members, CRL(), make=dead)
    assert all(value.isfinite().all() for value in found.values())


def test_two_classes_and_even_one_are_enough():
    """With one class there are no others to share with."""
    for logits in ([[1.0, -1.0]], [[1.0]]):
        for defense, epoch in ((RelaxLoss(9.0), 2), (CRL(9.0), 1)):
            assert loss_of(defense, logits, [0], epoch=epoch).isfinite()


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize("bad", [-0.1, math.nan, math.inf, "1", None])
@pytest.mark.parametrize(
    ("make", "name"),
    [(RelaxLoss, "alpha")]
    + [
        (CRL, name) for name in ("alpha_rce", "alpha_rcl", "tau_rce", "tau_rcl", "lam", "center_lr")
    ],
)
def test_a_strength_that_is_no_number_from_zero_is_refused(make, name, bad):
    with pytest.raises(ValueError, match=f"{name} must be a number, at least 0"):
        make(**{name: bad})


@pytest.mark.parametrize("bad", [-0.1, 1.1, math.nan])
@pytest.mark.parametrize(
    ("make", "name"), [(RelaxLoss, "upper"), (CRL, "upper_rce"), (CRL, "upper_rcl")]
)
def test_a_bound_outside_0_to_1_is_refused(make, name, bad):
    with pytest.raises(ValueError, match=f"{name} must be a number in 0 … 1"):
        make(**{name: bad})


def test_an_unknown_form_is_named():
    with pytest.raises(ValueError, match="did you mean 'official'"):
        RelaxLoss(1.0, form="oficial")


@pytest.mark.parametrize(("lr", "center_lr"), [(1e30, 1e-3), (0.05, 3e38)])
def test_an_absurd_rate_leaves_the_last_good_weights(members, lr, center_lr):
    """Also where only the centers run away: a later epoch finds them NaN."""
    model, seen = (
        perceptron(),
        [{name: value.clone() for name, value in perceptron().state_dict().items()}],
    )

    def look(model, epoch):
        seen.append({name: value.clone() for name, value in model.state_dict().items()})

    defense = CRL(center_lr=center_lr, lam=1.0)
    with pytest.raises(
        FloatingPointError, match=r"NaN or infinite in epoch \d.*CRL\(alpha_rce=1.0"
    ):
        fit(
            model,
            members,
            replace(SMALL, lr=lr, epochs=20),
            defense=defense,
            device="cpu",
            on_epoch=look,
        )
    assert_equal(model.state_dict(), seen[-1])
    assert all(value.isfinite().all() for value in model.state_dict().values())
