"""Compiled once for all models of a shape, and the same weights as without, to rounding.

It is for CUDA. Here a CPU plays that part, with a backend of torch that generates no code.
"""

import copy
import logging
from dataclasses import dataclass, replace

import pytest
import torch
from torch._dynamo.backends.debugging import aot_eager

from mialib import compiled, data, models
from mialib.configurations import Configuration, describe, parse
from mialib.defenses import CRL, DPSGD, Dropout, Past, Plain, RelaxLoss
from mialib.training import Defense, Recipe, fit

pytestmark = pytest.mark.usefixtures("one_thread")

DIGITS = data.load("digits", size=160)
MEMBERS = DIGITS.take(range(80))
INFERENCE = DIGITS.take(range(80, 160))
RECIPE = Recipe(epochs=2, batch_size=32, lr=0.05)  # 32 + 32 + 16 records
COMPILED = replace(RECIPE, compiled=True)


@dataclass
class Counter:
    """A backend: it keeps what it was asked to compile, and computes it as it is."""

    graphs: list
    with_backward: bool = False  # whether it takes the backward pass apart, too

    def __call__(self, graph, inputs):
        self.graphs.append(graph)
        return aot_eager(graph, inputs) if self.with_backward else graph.forward

    def __len__(self):
        return len(self.graphs)

    def __hash__(self):
        return id(self)


@pytest.fixture
def compilations(monkeypatch):
    """Where a CPU compiles, too: one entry for each time."""
    torch._dynamo.reset()
    monkeypatch.setattr(logging.getLogger("torch.__trace"), "disabled", True)  # pytest keeps it all
    counter = Counter([])
    monkeypatch.setattr(compiled, "DEVICES", ("cuda", "cpu"))
    monkeypatch.setattr(compiled, "BACKEND", counter)
    yield counter
    torch._dynamo.reset()
    compiled.compiled.cache_clear()


def network(seed=0, widths=(24, 16)):
    return models.build("mlp", shape=DIGITS.x.shape[1:], classes=10, seed=seed, widths=widths)


def trained(recipe, defense=None, *, model=None, seed=0):
    model = model or network(seed)
    history = fit(
        model,
        MEMBERS,
        recipe,
        defense=defense or Plain(),
        inference=INFERENCE,
        device="cpu",
        seed=seed,
    )
    return model, history


def gap(one, other):
    pairs = zip(one.state_dict().values(), other.state_dict().values(), strict=True)
    return max(float((a - b).abs().max()) for a, b in pairs)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.filterwarnings("ignore:This cpu has no bfloat16")
def test_many_models_of_a_shape_are_compiled_once(compilations, precision):
    compilations.with_backward = True
    recipe = replace(COMPILED, precision=precision)
    for seed in range(3):
        found, _ = trained(recipe, seed=seed)
        expected, _ = trained(replace(recipe, compiled=False), seed=seed)
        assert gap(found, expected) < 1e-5
        assert gap(found, network(seed)) > 1e-2, "it was trained"
    assert len(compilations) == 1


def test_a_model_of_another_shape_is_compiled_anew_and_the_first_is_not(compilations):
    trained(COMPILED)
    trained(COMPILED, model=network(widths=(12,)))
    assert len(compilations) == 2
    trained(COMPILED, seed=1)
    trained(COMPILED, model=network(seed=1, widths=(12,)))
    assert len(compilations) == 2


def test_images_with_a_batch_norm_are_compiled_once(compilations):
    for seed in range(2):
        settings = {"shape": (1, 8, 8), "classes": 10, "norm": "batch", "seed": seed}
        found, _ = trained(COMPILED, model=models.build("cnn", width=4, **settings))
        expected, _ = trained(RECIPE, model=models.build("cnn", width=4, **settings))
        assert gap(found, expected) < 1e-5, "weights, running statistics and batches counted"
    assert len(compilations) == 1


@pytest.mark.parametrize(
    "defense",
    [Dropout(0.2), RelaxLoss(), Past(1e-3, sample=32), CRL(lam=0.1)],
    ids=lambda defense: type(defense).__name__,
)
def test_a_defense_gives_the_same_weights_to_rounding(compilations, defense):
    found, history = trained(COMPILED, defense)
    expected, expected_history = trained(RECIPE, defense)
    assert gap(found, expected) < 1e-5
    assert history[-1]["loss"] == pytest.approx(expected_history[-1]["loss"], abs=1e-5)
    assert len(compilations) <= 1


def test_only_whole_batches_in_training_are_compiled(compilations):
    model = network()
    x = torch.randn(32, *DIGITS.x.shape[1:])
    with compiled.compiled_batches(model, 32):
        model.eval()(x)
        model.train()(x[:16])
        assert len(compilations) == 0
        compiled_answer = model(x)
        assert len(compilations) == 1
        twin = copy.deepcopy(model)
        torch.nn.init.zeros_(twin.classify.weight)
        torch.nn.init.zeros_(twin.classify.bias)
        assert not twin(x).any(), "a copy computes with its own weights"
    assert "forward" not in vars(model)
    assert torch.allclose(compiled_answer, model(x))


def test_on_a_cpu_nothing_changes():
    found, history = trained(COMPILED)
    expected, expected_history = trained(RECIPE)
    assert gap(found, expected) == 0
    assert history == expected_history
    plain = Configuration(data="digits", model="mlp", recipe=RECIPE)
    assert plain.but(recipe=COMPILED).key == plain.key
    assert "compiled" not in describe(plain)["recipe"]


def test_where_it_is_compiled_the_key_says_so():
    plain = Configuration(data="digits", model="mlp", recipe=RECIPE, device="cuda")
    faster = plain.but(recipe=COMPILED)
    assert faster.key != plain.key
    assert parse(describe(faster)) == faster
    assert faster.then(Defense(), COMPILED).key != faster.then(Defense(), RECIPE).key


def test_what_torch_cannot_compile_is_refused_with_the_way_out(compilations, monkeypatch):
    def broken(graph, inputs):
        raise RuntimeError("no compiler here")

    monkeypatch.setattr(compiled, "BACKEND", broken)
    model = network()
    with pytest.raises(RuntimeError, match=r"could not compile Network(.|\n)*compiled=False"):
        trained(COMPILED, model=model)
    assert "forward" not in vars(model)


def test_dp_sgd_is_not_compiled(compilations):
    pytest.importorskip("opacus")
    with pytest.raises(ValueError, match=r"DP-SGD(.|\n)*compiled=False"):
        trained(COMPILED, DPSGD())


def test_a_forward_that_is_no_method_is_refused(compilations):
    model = network()
    model.forward = lambda x: type(model).forward(model, x)
    with pytest.raises(ValueError, match="compiled=False"):
        trained(COMPILED, model=model)


def test_compiled_is_a_truth():
    with pytest.raises(ValueError, match="compiled must be True or False"):
        Recipe(compiled="yes")
