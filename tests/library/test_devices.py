"""On any device, proven without one: the same bits as on the CPU, and nothing waits in an epoch.

The device is that of tests/support/pretend_device.py. The planted faults at the end keep it honest:
each is one that a real accelerator refuses or pays for, and that a CPU does not notice.
"""

import os
import re
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from joblib.externals.loky import get_reusable_executor
from numpy.testing import assert_array_equal
from torch import Tensor, nn

import pretend_device
from mialib import data, models, query, runs, sensitivity
from mialib.configurations import Configuration
from mialib.defenses import CRL, DEFENSES, Butterfly, Plain
from mialib.experiments import banks
from mialib.foreign import read_json
from mialib.splits import Side
from mialib.store import Store
from mialib.training import Defense, Recipe, fit
from pretend_device import Log, OnDevice

pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.skipif(not pretend_device.AVAILABLE, reason="this torch cannot register a device"),
]

RECIPE = Recipe(epochs=2, batch_size=16, lr=0.02, augment="flip")

# Every defense by its name; those that are trained for longer than they need to be get less to do.
SETTINGS = {"IMP": {"prunings": 1}, "EarlyStopping": {"patience": 1}}

# Numbers that an epoch has to wait for, beside the one fetch at its end, and why.
MORE_WAITS = {
    "EarlyStopping": 1,  # the accuracy that decides whether to go on
    "BestCheckpoint": 1,  # the accuracy that decides what is kept
    "Pruning": 1,  # likewise, as are the next
    "IMP": 1,
    "MixupMMD": 1,  # the two accuracies that decide whether to match
}


@cache
def parts() -> Side:
    digits = data.load("digits", size=240)
    return Side(
        train=digits.take(np.arange(48)),
        test=digits.take(np.arange(48, 96)),
        inference=digits.take(np.arange(96, 160)),
        validation=digits.take(np.arange(160, 190)),
    )


def network(norm: str = "batch") -> models.Network:
    """Convolutions, a normalisation, a shortcut and dropout, in a thousand weights."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        stem = models.convolution(1, 4, norm=norm, kernel_size=3, padding=1)
        block = models.Block(4, 8, norm=norm)
        features = nn.Sequential(*stem, block, nn.Flatten(), nn.Dropout(0.1))
        return models.Network(features, nn.Linear(8 * 4 * 4, 10))


@cache
def trained_weights(norm: str) -> dict[str, Tensor]:
    """What every training below starts from, so that the network tells its classes apart."""
    model = network(norm)
    fit(model, parts().train, Recipe(epochs=15, batch_size=16, lr=0.05), device="cpu")
    return model.state_dict()


@dataclass
class Outcome:
    """A finished training: the weights, the history, and what its epochs waited for."""

    weights: dict[str, Tensor]
    history: list[dict]
    inside: list[str] = field(default_factory=list)  # waits between the first and the last batch
    by_epoch: list[int] = field(default_factory=list)  # waits of each whole epoch


def watched(defense: Defense, log: Log, outcome: Outcome) -> Defense:
    """The same defense, which writes down what its epochs wait for."""

    class Watched(type(defense)):
        def start_epoch(self, training):
            outcome.by_epoch.append(-len(log.waits))
            super().start_epoch(training)

        def batches(self, training, generator):
            before = len(log.waits)
            yield from super().batches(training, generator)
            outcome.inside += log.waits[before:]

    return Watched(**vars(defense))


def train(defense: Defense, device: str, log: Log, model: nn.Module | None = None) -> Outcome:
    """Every training that the defense is made of, from the weights that are there."""
    if model is None:
        norm = defense.network_options().get("norm", "batch")
        model = network(norm)
        model.load_state_dict(trained_weights(norm))
    outcome = Outcome({}, [])

    def count(model, epoch):
        outcome.by_epoch[-1] += len(log.waits)

    for one in defense.trainings():
        outcome.history += fit(
            model,
            parts().train,
            RECIPE,
            defense=watched(one or Plain(), log, outcome),
            inference=parts().inference,
            validation=parts().validation,
            build_initial_model=network,
            device=device,
            seed=3,
            on_epoch=count,
        )
    outcome.weights = {name: value.cpu() for name, value in model.state_dict().items()}
    return outcome


@cache
def on_device(name: str) -> Outcome:
    defense = DEFENSES[name](**SETTINGS.get(name, {}))
    trained_weights("batch"), trained_weights("group")  # They come from the CPU.
    with pretend_device.pretend_device() as log:
        return train(defense, "pretend", log)


def assert_same(found: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert torch.equal(found[name], value), name


# Every defense.


@pytest.mark.parametrize("name", DEFENSES)
def test_a_defense_gives_the_same_bits_as_on_the_cpu(name):
    defense = DEFENSES[name](**SETTINGS.get(name, {}))
    expected = train(defense, "cpu", Log())
    found = on_device(name)
    assert_same(found.weights, expected.weights)
    assert found.history == expected.history
    assert any(not torch.equal(found.weights[k], v) for k, v in trained_weights("batch").items())


@pytest.mark.parametrize("name", DEFENSES)
def test_nothing_waits_inside_an_epoch_and_one_thing_at_its_end(name):
    found = on_device(name)
    assert found.inside == []
    assert len(found.by_epoch) >= 2
    assert min(found.by_epoch) >= 1, "the loss is fetched once"
    later = found.by_epoch[1::2]  # The first epoch may look at the model before it begins.
    assert max(later) <= 1 + MORE_WAITS.get(name, 0)


# Every question.


@pytest.fixture(scope="module")
def both():
    """One trained network on the CPU, and a copy on the device."""
    here, there = network(), network()
    for model in (here, there):
        model.load_state_dict(trained_weights("batch"))
    with pretend_device.pretend_device():
        there.to("pretend")
    return here, there


QUESTIONS = {
    "predict": lambda model: query.predict(model, parts().test, batch_size=20),
    "collect": lambda model: query.collect(model, parts()).logits,
    "noise": lambda model: query.noise_response(model, parts().test, draws=2),
    "gradients": lambda model: query.gradient_norms(model, parts().test, p=(1, 2)),
    "margins": lambda model: query.margins(model, parts().test),
    "boundary": lambda model: query.boundary_distances(model, parts().test, rounds=2).distance,
    "trajectory": lambda model: query.loss_trajectory([model], parts().test),
    "logits": lambda model: query.logits_of(
        model, query.to_device(parts().test, query.device_of(model))[0]
    ).cpu(),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_has_the_same_answer_as_on_the_cpu(both, name):
    here, there = both
    question = QUESTIONS[name]
    assert query.device_of(there).type == "pretend"
    with pretend_device.pretend_device() as log:
        found = question(there)
    assert log.arrivals
    assert_array_equal(found, question(here))


def test_asking_for_all_columns_has_the_same_answers(both):
    asked = {
        "rotations": query.rotation_degrees(1),
        "shifts": query.l1_shifts(1),
        "noise": True,
        "gradient": True,
    }
    with pretend_device.pretend_device():
        here, there = (query.ask(model, parts(), **asked) for model in both)
    assert_array_equal(there.logits, here.logits)
    assert there.extra.keys() == here.extra.keys() >= {"rotations", "shifts", "gradient_l1"}
    for name, column in here.extra.items():
        assert_array_equal(there.extra[name], column)


def test_a_prediction_waits_once(both):
    _, model = both
    with pretend_device.pretend_device() as log:
        query.predict(model, parts().test, batch_size=10)
    assert len(log.waits) == 1


@pytest.mark.parametrize("name", ["predict", "noise", "gradients", "margins", "trajectory"])
def test_what_a_question_waits_for_does_not_grow_with_the_batches(both, name, monkeypatch):
    _, model = both
    waits = []
    for times in (1, 25):  # 48 records, and 1,200 in three batches
        rows = np.tile(np.arange(48), times)
        side = replace(parts(), test=parts().test.take(rows))
        with monkeypatch.context() as patch, pretend_device.pretend_device() as log:
            patch.setitem(globals(), "parts", lambda side=side: side)
            QUESTIONS[name](model)
        waits.append(len(log.waits))
    assert waits == [1, 1]


def test_a_bank_waits_twice_per_model_and_answers_as_on_the_cpu(tmp_path):
    """Once for the records with their shifted copies, and once for the population."""
    base = Configuration(
        data="digits",
        size=1200,
        model="cnn",
        options={"width": 2, "hidden": 8},
        split="in_out",
        split_options={"models": 4},
        side="model-0",
        recipe=Recipe(epochs=1, batch_size=256, lr=0.05),
    )
    models_of_bank = [base.but(side=f"model-{k}") for k in range(4)]
    here = runs.get_all(models_of_bank, store=Store(tmp_path), jobs=1)
    there = [runs.Run(run.configuration.but(device="pretend"), run.folder) for run in here]
    expected = banks.bank_of(base, here)
    with pretend_device.pretend_device() as log:
        found = banks.bank_of(base.but(device="pretend"), there)
    assert len(log.waits) == 2 * 4
    assert_array_equal(found.logits, expected.logits)
    assert_array_equal(found.views, expected.views)
    assert_array_equal(found.population.logits, expected.population.logits)


# Several models at a time.


def test_two_processes_share_a_device(tiny, tmp_path, monkeypatch):
    processes = tmp_path / "processes"
    processes.mkdir()
    folder = str(processes)

    def network(shape, classes):
        """A perceptron. In a process that has no such device yet, it is there from now on."""
        try:
            query.pick_device("pretend")
        except ValueError:
            entered = pretend_device.pretend_device()
            entered.__enter__()
            pretend_device.entered_for_good = entered
        Path(folder, str(os.getpid())).touch()
        return models.mlp(shape, classes, widths=(16,))

    monkeypatch.setitem(models.MODELS, "on the device", network)
    # Where torch has computed gradients before, it knows no further device: new processes.
    get_reusable_executor().shutdown(wait=True)
    several = [tiny.but(model="on the device", options={}, seed=seed) for seed in range(4)]
    with pretend_device.pretend_device():
        on_cpu = runs.get_all(several, store=Store(tmp_path / "cpu"), jobs=1)
        (processes / str(os.getpid())).unlink()
        several = [one.but(device="pretend") for one in several]
        shared = runs.get_all(several, store=Store(tmp_path / "pretend"), jobs=2)
    used = {file.name for file in processes.iterdir()}
    assert str(os.getpid()) not in used
    assert 1 <= len(used) <= 2
    for here, there in zip(on_cpu, shared, strict=True):
        assert read_json(there.folder / "provenance.json")["device"] == "pretend"
        assert_array_equal(there.signals.logits, here.signals.logits)


@pytest.mark.parametrize(
    ("jobs", "advice"), [(3, "3 models share the device.*--jobs 1"), (1, "smaller batch_size")]
)
def test_a_device_without_memory_for_so_many_says_what_to_do(jobs, advice):
    error = torch.OutOfMemoryError("CUDA out of memory.")
    assert re.search(f"CUDA out of memory.*{advice}", runs._reason(error, jobs))
    assert runs._reason(ValueError("else"), jobs) == "ValueError: else"


def test_a_model_that_finds_no_memory_fails_alone_and_with_advice(tiny, tmp_path, monkeypatch):
    @dataclass(frozen=True)
    class Large(Defense):
        def loss(self, training, x, y):
            raise torch.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setitem(DEFENSES, "Large", Large)
    pair = [tiny, tiny.but(defense=Large())]
    with pytest.raises(runs.RunsFailedError, match="2 models share the device: train fewer"):
        runs.get_all(pair, store=Store(tmp_path), jobs=2)
    assert not runs.missing(tiny, store=Store(tmp_path)), "the other is kept"


def test_the_sensitivity_is_the_same(both):
    with pretend_device.pretend_device():
        here, there = (
            sensitivity.gap_gradient(model, parts().train, parts().inference) for model in both
        )
    assert_same({name: value.cpu() for name, value in there.items()}, here)


# Other networks.


def mlp() -> models.Network:
    """The perceptron of PAST, small."""
    return models.build("mlp", shape=(1, 8, 8), classes=10, widths=(12,))


def butterfly() -> models.Network:
    options = Butterfly(segments=1, factors=2).network_options()
    return models.build("resnet20", shape=(1, 8, 8), classes=10, width=2, **options)


@pytest.mark.parametrize("build", [mlp, butterfly])
def test_a_network_gives_the_same_bits_as_on_the_cpu(build):
    expected = train(Plain(), "cpu", Log(), build())
    with pretend_device.pretend_device() as log:
        found = train(Plain(), "pretend", log, build())
    assert_same(found.weights, expected.weights)
    assert found.inside == []


def test_a_pruned_network_stays_pruned_and_answers_the_same():
    weights = on_device("Pruning").weights
    masked = [value for name, value in weights.items() if value.ndim > 1]
    assert sum(int((value == 0).sum()) for value in masked) > 0
    here, there = network(), network()
    here.load_state_dict(weights)
    there.load_state_dict(weights)
    with pretend_device.pretend_device():
        there.to("pretend")
        assert_array_equal(query.predict(there, parts().test), query.predict(here, parts().test))


# Planted faults.


@dataclass(frozen=True)
class CentersLeftBehind(CRL):
    def prepare(self, training):
        state = super().prepare(training)
        state.centers = nn.Parameter(state.centers.detach().cpu())
        return state


@dataclass(frozen=True)
class DrawsWithACpuGenerator(Defense):
    def loss(self, training, x, y):
        noise = torch.randn(x.shape, generator=training.generator, device=x.device)
        return super().loss(training, x + noise, y)


@dataclass(frozen=True)
class ForgetsToMove(Defense):
    def loss(self, training, x, y):
        noise = torch.randn(x.shape, generator=training.generator)
        return super().loss(training, x + noise, y)


@dataclass(frozen=True)
class CountsOnTheCpu(Defense):
    def prepare(self, training):
        return torch.zeros(())

    def loss(self, training, x, y):
        loss = super().loss(training, x, y)
        training.state += loss.detach()
        return loss


@dataclass(frozen=True)
class LooksUpOnTheCpu(Defense):
    def prepare(self, training):
        return torch.eye(10)

    def loss(self, training, x, y):
        return super().loss(training, x, y) + training.state[y].sum()


@dataclass(frozen=True)
class StacksWithTheCpu(Defense):
    def loss(self, training, x, y):
        loss = super().loss(training, x, y)
        return torch.stack([loss, torch.zeros(())]).sum()


@dataclass(frozen=True)
class CountsInDouble(Defense):
    def loss(self, training, x, y):
        return super().loss(training, x, y).double().float()


FAULTS = {
    CentersLeftBehind(): "expected all tensors on one device",
    DrawsWithACpuGenerator(): "a generator of the CPU cannot draw",
    ForgetsToMove(): "expected all tensors on one device",
    CountsOnTheCpu(): "expected all tensors on one device",
    LooksUpOnTheCpu(): "expected all tensors on one device",
    StacksWithTheCpu(): "expected all tensors on one device",
    CountsInDouble(): "no float64",
}


@pytest.mark.parametrize("defense", FAULTS, ids=lambda defense: type(defense).__name__)
def test_a_fault_is_caught_that_a_cpu_does_not_notice(defense):
    train(defense, "cpu", Log())
    with pretend_device.pretend_device() as log:  # noqa: SIM117
        with pytest.raises((RuntimeError, TypeError), match=FAULTS[defense]):
            train(defense, "pretend", log)


def test_crops_that_forget_the_device_are_caught(monkeypatch):
    from mialib import augment

    def forgetful(x, *, generator, padding, together=False):
        return augment._cut_out(x, augment.draws(len(x), generator=generator), padding)

    monkeypatch.setattr("mialib.training.crop_and_flip", forgetful)
    with pretend_device.pretend_device() as log:  # noqa: SIM117
        with pytest.raises(RuntimeError, match="expected all tensors on one device"):
            train(Plain(), "pretend", log)


WAITING = {
    "a number": lambda loss, y: float(loss.detach()),
    "a truth": lambda loss, y: bool(loss.detach() > 0),
    "a list": lambda loss, y: y.tolist(),
    "a copy": lambda loss, y: y.cpu(),
    "a mask": lambda loss, y: y[y > 3],
    "a comparison": lambda loss, y: torch.equal(y, y),
    "what differs": lambda loss, y: y.unique(),
    "places": lambda loss, y: (y > 3).nonzero(),
}


@pytest.mark.parametrize("what", WAITING)
def test_what_waits_inside_an_epoch_is_counted(what):
    @dataclass(frozen=True)
    class Waits(Defense):
        def loss(self, training, x, y):
            loss = super().loss(training, x, y)
            WAITING[what](loss, y)
            return loss

    with pretend_device.pretend_device() as log:
        found = train(Waits(), "pretend", log)
    batches = 3 * RECIPE.epochs
    assert len(found.inside) == batches


def test_the_device_is_there_only_where_it_is_asked_for():
    assert query.pick_device("auto").type != "pretend"
    with pretend_device.pretend_device():
        assert isinstance(torch.zeros(2, device="pretend"), OnDevice)
        assert query.pick_device("pretend").type == "pretend"
    with pytest.raises(ValueError, match="There is no device 'pretend' here; use 'auto'"):
        query.pick_device("pretend")
