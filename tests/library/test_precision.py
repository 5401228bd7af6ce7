"""Fewer bits while a network trains, all of them when it is asked; and which, on which device."""

import copy
import warnings

import pytest
import torch
from torch import nn

from mialib import data, models, precision
from mialib.configurations import Configuration
from mialib.defenses import CRL, DPSGD, Past
from mialib.precision import computing_in, loss_scaler, resolve
from mialib.training import Defense, Recipe, fit

CPU = torch.device("cpu")
DIGITS = data.load("digits", size=96)


def network():
    return models.build("mlp", shape=DIGITS.x.shape[1:], classes=10, seed=0, widths=(32, 16))


def trained(precision, defense=None, **options):
    model = network()
    recipe = Recipe(epochs=2, batch_size=32, lr=0.05, precision=precision)
    with warnings.catch_warnings(action="ignore"):  # This processor may only imitate bfloat16.
        fit(model, DIGITS, recipe, defense=defense or Defense(), device="cpu", **options)
    return model


def gap(one, other):
    pairs = zip(one.parameters(), other.parameters(), strict=True)
    return max(float((a - b).abs().max()) for a, b in pairs)


@pytest.mark.parametrize("bits", ["bfloat16", "float16"])
def test_it_rounds_while_it_trains_and_little(bits):
    exact = trained("float32")
    rounded = trained(bits)
    assert 0 < gap(rounded, exact) < 0.05
    assert all(weight.dtype == torch.float32 for weight in rounded.parameters())


def test_an_answer_in_eval_mode_is_not_rounded():
    model = network()
    x = torch.randn(8, *DIGITS.x.shape[1:])
    exact = model.eval()(x)
    with computing_in("bfloat16", model, CPU), warnings.catch_warnings(action="ignore"):
        assert torch.equal(model(x), exact)
        rounded = model.train()(x)
        assert rounded.dtype == torch.float32
        assert not torch.equal(rounded, exact)
        assert torch.equal(rounded, rounded.bfloat16().float()), "computed with more bits than told"
    assert torch.equal(model(x), exact), "it goes on rounding after the training"


def test_a_copy_computes_with_its_own_weights():
    model = network()
    x = torch.randn(4, *DIGITS.x.shape[1:])
    with computing_in("bfloat16", model, CPU):
        twin = copy.deepcopy(model)
        nn.init.zeros_(twin.classify.weight)
        nn.init.zeros_(twin.classify.bias)
        assert not twin(x).any()
        assert model(x).any()


def test_a_training_that_fails_leaves_the_model_as_it_was():
    class Failing(Defense):
        def loss(self, training, x, y):
            raise RuntimeError("on purpose")

    model = network()
    recipe = Recipe(epochs=1, precision="bfloat16")
    with pytest.raises(RuntimeError, match="on purpose"):
        fit(model, DIGITS, recipe, defense=Failing(), device="cpu")
    assert "forward" not in vars(model)


def test_the_scale_of_float16_does_not_reach_weights_or_centers():
    """Gradients are scaled by 65,536 before they are taken: a centre that kept it would be far."""
    crl = CRL(lam=1.0, center_lr=0.5)
    assert gap(trained("float16", crl), trained("float32", crl)) < 0.05


def test_past_reads_gamma_without_rounding(monkeypatch):
    """Once an epoch γ comes from eval mode: of equal weights it is the same in any precision."""
    inference = data.load("digits", size=192).take(range(96, 192))
    seen = {}
    for bits in ("float32", "bfloat16"):
        first = []
        real = Past.importance

        def noted(self, gradient, real=real, first=first):
            first.append(gradient.clone())
            return real(self, gradient)

        monkeypatch.setattr(Past, "importance", noted)
        trained(bits, Past(1e-3, per="epoch", sample=32), inference=inference)
        monkeypatch.setattr(Past, "importance", real)
        seen[bits] = first[0]
    assert torch.equal(seen["float32"], seen["bfloat16"])


def test_dp_sgd_stays_in_float32():
    pytest.importorskip("opacus")
    with pytest.raises(ValueError, match="precision='float32'"):
        trained("bfloat16", DPSGD())


@pytest.mark.parametrize(
    ("device", "has", "expected"),
    [
        ("cpu", True, "bfloat16"),
        ("cpu", False, "float32"),
        ("cuda", True, "bfloat16"),
        ("cuda", False, "float16"),
        ("mps", False, "float32"),
    ],
)
def test_auto_is_what_the_device_is_fastest_at(monkeypatch, device, has, expected):
    monkeypatch.setattr(precision, "has_bfloat16", lambda _: has)
    assert resolve("auto", torch.device(device)) == expected
    assert resolve("float32", torch.device(device)) == "float32"


def test_a_processor_without_bfloat16_says_so_and_goes_on(monkeypatch):
    monkeypatch.setattr(precision, "has_bfloat16", lambda _: False)
    with (
        pytest.warns(UserWarning, match="precision='auto'"),
        computing_in("bfloat16", network(), CPU),
    ):
        pass


def test_a_gpu_without_bfloat16_says_so_and_what_it_has(monkeypatch):
    """A T4: torch imitates bfloat16 there."""
    gpu = torch.device("cuda")
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: False)
    with (
        pytest.warns(UserWarning, match=r"This cuda has no bfloat16 .*precision='auto'"),
        computing_in("bfloat16", network(), gpu),
    ):
        pass
    assert resolve("auto", gpu) == "float16"


@pytest.mark.parametrize("bits", ["bfloat16", "float16"])
def test_a_device_without_fewer_bits_is_refused_with_what_it_has(bits):
    nowhere = torch.device("meta")
    model = network()
    with (
        pytest.raises(ValueError, match=r"float32 alone, found precision=.*precision='auto'"),
        computing_in(bits, model, nowhere),
    ):
        pass
    assert "forward" not in vars(model)
    assert resolve("auto", nowhere) == "float32"


def test_a_torch_without_onednn_is_not_asked_for_it(monkeypatch):
    """On Apple's processors torch.ops.mkldnn has no such function."""
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    monkeypatch.setattr(torch.ops, "mkldnn", None)
    assert resolve("auto", CPU) == "float32"


def test_the_key_has_the_precision_that_is_computed_in(monkeypatch):
    plain = Configuration(data="digits", model="mlp", recipe=Recipe(epochs=1))
    automatic = plain.but(recipe=Recipe(epochs=1, precision="auto"))
    monkeypatch.setattr("mialib.precision.has_bfloat16", lambda _: False)
    assert automatic.key == plain.key
    tuned = automatic.then(Defense(), automatic.recipe)
    assert tuned.key == plain.then(Defense(), plain.recipe).key
    monkeypatch.setattr("mialib.precision.has_bfloat16", lambda _: True)
    assert automatic.key == plain.but(recipe=Recipe(epochs=1, precision="bfloat16")).key
    assert tuned.key != plain.then(Defense(), plain.recipe).key


def test_an_unknown_precision_is_refused():
    with pytest.raises(ValueError, match="did you mean 'bfloat16'"):
        Recipe(precision="bf16loat")


def test_only_float16_is_scaled():
    assert loss_scaler("float16", CPU).is_enabled()
    assert not loss_scaler("bfloat16", CPU).is_enabled()
    assert not loss_scaler("float32", CPU).is_enabled()
