"""What every defense has in common: settings that compare, one strength, and a state of its own."""

from dataclasses import fields, replace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from mialib import models
from mialib.defenses import (
    CRL,
    DEFENSES,
    DMP,
    DPSGD,
    IMP,
    L1,
    L2,
    AdvReg,
    BestCheckpoint,
    Butterfly,
    ConfidencePenalty,
    Distillation,
    Dropout,
    EarlyStopping,
    LabelSmoothing,
    LossGap,
    MixupMMD,
    Past,
    Plain,
    Pruning,
    RelaxLoss,
    Stop,
    named,
)
from mialib.defenses.mixup_mmd import mixup_loss
from mialib.query import to_device
from mialib.training import Recipe, Training, fit
from small_networks import perceptron

pytestmark = pytest.mark.usefixtures("one_thread")

SMALL = Recipe(epochs=3, batch_size=16, lr=0.05)
CPU = torch.device("cpu")

# The field that its paper's symbol names, and a value that is not the default.
STRENGTHS = {
    L1: ("lam", 0.01),
    L2: ("lam", 0.1),
    Dropout: ("p", 0.3),
    LabelSmoothing: ("epsilon", 0.2),
    ConfidencePenalty: ("beta", 0.3),
    LossGap: ("a", 0.2),
    Past: ("lam", 0.01),
    RelaxLoss: ("alpha", 0.5),
    CRL: ("alpha_rce", 0.5),
    AdvReg: ("alpha", 2.0),
    MixupMMD: ("lam", 1.0),
    Distillation: ("temperature", 2.0),
    DMP: ("temperature", 2.0),
    DPSGD: ("sigma", 0.5),
    Pruning: ("share", 0.4),
    IMP: ("prunings", 3),
    Butterfly: ("segments", 1),
}
TRAINED = [make for make in DEFENSES.values() if make not in (IMP, Butterfly)]


def trained_teacher(members):
    model = perceptron()
    fit(model, members, Recipe(epochs=20, batch_size=16, lr=0.1), device="cpu")
    return model


# ---------------------------------------------------------------- strength


@pytest.mark.parametrize("make", STRENGTHS)
def test_the_strength_is_the_papers_symbol(make):
    symbol, value = STRENGTHS[make]
    assert make.strength_field == symbol
    assert make().strength == getattr(make(), symbol) != value
    assert make(**{symbol: value}).strength == value
    assert make().with_strength(value) == make(**{symbol: value})


@pytest.mark.parametrize("make", [make for make in DEFENSES.values() if make not in STRENGTHS])
def test_a_defense_without_one_number_says_so(make):
    assert make().strength is None
    with pytest.raises(ValueError, match=f"{make.__name__} has no single number"):
        make().with_strength(1)


def test_no_field_is_called_strength():
    for make in DEFENSES.values():
        assert "strength" not in {setting.name for setting in fields(make)}, make


# ---------------------------------------------------------------- how they are listed


def test_all_are_listed_by_the_name_of_their_class():
    assert len(DEFENSES) == 21
    assert all(DEFENSES[name].__name__ == name for name in DEFENSES)
    assert named("Past", lam=0.1) == Past(lam=0.1)
    with pytest.raises(ValueError, match="no defense 'RelaxLos'; did you mean 'RelaxLoss'"):
        named("RelaxLos")


@pytest.mark.parametrize("make", DEFENSES.values())
def test_each_says_which_trainings_it_is_made_of(make):
    defense = make()
    follows = (Past, Distillation, DMP, Pruning)
    if make is IMP:
        assert defense.trainings() == (BestCheckpoint(), *[Pruning()] * 10)
        assert IMP(2, share=0.4, rewind=True, best=False).trainings() == (
            None,
            *[Pruning(0.4, rewind=True, best=False)] * 2,
        )
    elif make is Butterfly:
        assert defense.trainings() == (None,)
    else:
        assert defense.trainings() == ((None, defense) if make in follows else (defense,))


@pytest.mark.parametrize("make", DEFENSES.values())
def test_each_says_what_it_wants_of_the_network(make):
    expected = {DPSGD: {"norm": "group"}, Butterfly: {"segments": 3, "factors": 2}}
    assert make().network_options() == expected.get(make, {})


@pytest.mark.parametrize("defense", [IMP(2), Butterfly()])
def test_what_is_no_single_training_is_not_trained(members, defense):
    with pytest.raises(ValueError, match=r"configuration\.defended\("):
        fit(perceptron(), members, SMALL, defense=defense, device="cpu")


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: IMP(2**31), "prunings may be at most 1000, found 2147483648"),
        (lambda: IMP(-1), "prunings must be a whole number, at least 0"),
        (lambda: IMP(1.5), "prunings must be a whole number, at least 0"),
        (lambda: IMP(share=1.5), "share must be a number in 0 … 1"),
        (lambda: IMP(best="False"), "best must be True or False, found 'False'"),
        (lambda: Pruning(rewind="no"), "rewind must be True or False, found 'no'"),
        (lambda: Past(proximal="False"), "proximal must be True or False"),
        (lambda: CRL(printed_step=1), "printed_step must be True or False"),
        (lambda: Butterfly(segments=4), "segments must be a whole number in 0 … 3"),
        (lambda: Butterfly(factors=2**31), "factors must be a whole number in 1 … 64"),
        (lambda: Past(kinds="linear"), "kinds must be a tuple of kinds of modules"),
        (lambda: L1([0.1]), "lam must be a number, at least 0"),
        (lambda: L1(np.array([0.1, 0.2])), "lam must be a number, at least 0"),
        (lambda: L1(True), "lam must be a number, at least 0"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(make, complaint):
    with pytest.raises(ValueError, match=complaint):
        make()


# ---------------------------------------------------------------- settings that compare


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        (L1(np.float64(0.5)), L1(0.5)),
        (L1(torch.tensor(0.5)), L1(0.5)),
        (L1(np.array(0.5)), L1(0.5)),
        (EarlyStopping(np.int64(2)), EarlyStopping(2)),
        (Past(kinds=["linear", "convolution"]), Past(kinds=("linear", "convolution"))),
        (Past(kinds=np.array(["linear"])), Past(kinds=("linear",))),
        (CRL(alpha_rce=torch.tensor(0.5), lam=np.float64(2)), CRL(alpha_rce=0.5, lam=2.0)),
        (IMP(np.int64(3), share=torch.tensor(0.5)), IMP(3, share=0.5)),
        (Pruning(rewind=np.bool_(True)), Pruning(rewind=True)),
    ],
)
def test_equal_settings_are_equal_and_hashable_whatever_they_were_made_from(given, plain):
    assert given == plain
    assert hash(given) == hash(plain)
    assert repr(given) == repr(plain)


# ---------------------------------------------------------------- state


@pytest.mark.parametrize("make", TRAINED)
def test_nothing_is_hung_onto_the_training(members, others, make, monkeypatch):
    """What a defense keeps is `training.state`, one object from the first step to the last."""
    expected = {setting.name for setting in fields(Training)}
    seen = []

    def check(training):
        assert set(vars(training)) == expected
        seen.append(training.state)

    end_epoch = make.end_epoch

    def checked(self, training):
        check(training)
        return end_epoch(self, training)

    monkeypatch.setattr(make, "end_epoch", checked)
    model = trained_teacher(members)
    fit(
        model,
        members,
        replace(SMALL, epochs=2),
        defense=make(),
        inference=others,
        validation=others,
        build_initial_model=perceptron,
        device="cpu",
    )
    assert seen
    assert all(state is seen[0] for state in seen)


# ---------------------------------------------------------------- losses without a training


def batch(members):
    x, y = to_device(members, CPU)
    return perceptron(), x, y


def test_a_batchs_loss_is_what_training_takes_from_it(members, others):
    """The same numbers from `batch_loss` and from `loss`, which is given a whole training."""
    model, x, y = batch(members)
    features = model.features(x)
    logits = model.classify(features)
    training = Training.begin(model, members, SMALL, inference=others)
    training.epoch = 2
    for defense in (
        LabelSmoothing(0.3),
        ConfidencePenalty(0.4),
        RelaxLoss(2.0),
        RelaxLoss(3.0, form="crl"),
        Dropout(0.0),
    ):
        given = (model, x, y) if isinstance(defense, Dropout) else (logits, y)
        options = {"epoch": 2} if isinstance(defense, RelaxLoss) else {}
        alone = defense.batch_loss(*given, **options)
        assert alone.item() == defense.loss(training, x, y).item(), defense
    for defense in (CRL(), CRL(lam=0.0)):
        training.state = defense.prepare(training)
        alone = defense.batch_loss(features, logits, y, training.state.centers, epoch=2)
        assert alone.item() == defense.loss(training, x, y).item()
    adversarial = AdvReg(2.0)
    training.state = adversarial.prepare(training)
    alone = adversarial.batch_loss(logits, y, training.state.attacker)
    assert alone.item() == adversarial.loss(training, x, y).item()


def test_the_losses_by_hand(members):
    model, x, y = batch(members)
    logits = model(x)
    p = logits.softmax(dim=1)
    plain = F.cross_entropy(logits, y).item()
    entropy = -(p * p.log()).sum(dim=1).mean().item()
    penalised = ConfidencePenalty(0.4).batch_loss(logits, y).item()
    assert penalised == pytest.approx(plain - 0.4 * entropy, abs=1e-5)
    gap = LossGap(0.3).batch_loss(torch.tensor(1.0), torch.tensor(3.0)).item()
    assert gap == pytest.approx(0.7 * 1 + 0.3 * 2)
    answers = torch.full((len(y), 10), 0.1)
    divergence = (answers * (answers / (logits / 2).softmax(dim=1)).log()).sum(dim=1).mean()
    taught = Distillation(temperature=2).batch_loss(logits, answers).item()
    assert taught == pytest.approx(4 * divergence.item(), abs=1e-5)


def test_a_mixture_that_is_not_mixed_is_cross_entropy(members):
    model, x, y = batch(members)
    partner = torch.arange(len(y)).flip(0)
    plain = F.cross_entropy(model(x), y).item()
    assert mixup_loss(model, x, y, share=1.0, partner=partner).item() == pytest.approx(plain)
    swapped = mixup_loss(model, x, y, share=0.0, partner=partner).item()
    assert swapped == pytest.approx(plain)  # All records have changed places with their partners.


@pytest.mark.parametrize("defense", [Dropout(0.5), CRL()])
def test_a_network_without_the_two_parts_is_explained(members, defense):
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
    complaint = r"`features` and `classify`.*Sequential has no `features`"
    with pytest.raises(ValueError, match=complaint):
        fit(model, members, SMALL, defense=defense, device="cpu")


# ---------------------------------------------------------------- defenses and butterflies


def test_past_does_not_see_the_factors_of_a_butterfly(members, others):
    model = models.build("resnet20", shape=(1, 8, 8), classes=10, width=4, segments=1)
    training = Training.begin(model, members, SMALL, inference=others)
    state = Past().prepare(training)
    tuned = {id(weight) for weight in state.tuned}
    factors = [weight for name, weight in model.named_parameters() if ".factors." in name]
    assert factors
    assert not tuned & {id(weight) for weight in factors}
    assert len(state.modules) == len(state.tuned) == len(state.importance)


def test_stop_and_plain_have_no_state(members):
    training = Training.begin(perceptron(), members, SMALL)
    assert Stop(2).prepare(training) is None
    assert Plain().prepare(training) is None
