"""Crops and flips: each record its own draw, the same as the plain loop, in training alone."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mialib import augment, models, training
from mialib.data import Records
from mialib.query import predict


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def numbered(n: int, channels: int, height: int, width: int) -> torch.Tensor:
    """Images in which no two pixels are equal and none is 0, so that a wrong one cannot hide."""
    return torch.arange(1.0, 1 + n * channels * height * width).reshape(n, channels, height, width)


def one_by_one(x: torch.Tensor, generator: torch.Generator, padding: int) -> torch.Tensor:
    """The definition: pad one image, cut a window out, mirror it."""
    result = torch.empty_like(x)
    for i, (down, right, mirrored) in enumerate(
        zip(*augment.draws(len(x), generator=generator, padding=padding), strict=True)
    ):
        height, width = x.shape[2:]
        padded = torch.zeros(x.shape[1], height + 2 * padding, width + 2 * padding, dtype=x.dtype)
        padded[:, padding : padding + height, padding : padding + width] = x[i]
        window = padded[:, down : down + height, right : right + width]
        result[i] = window.flip(2) if mirrored else window
    return result


@given(
    shape=st.tuples(st.integers(0, 9), st.integers(1, 4), st.integers(1, 9), st.integers(1, 9)),
    padding=st.integers(0, 5),
    seed=st.integers(0, 1000),
    layout=st.sampled_from([torch.contiguous_format, torch.channels_last]),
    dtype=st.sampled_from([torch.float32, torch.float64, torch.uint8]),
)
def test_a_batch_equals_the_loop_over_its_records(shape, padding, seed, layout, dtype):
    x = numbered(*shape).to(dtype).contiguous(memory_format=layout)
    found = augment.crop_and_flip(x, generator=seeded(seed), padding=padding)
    assert torch.equal(found, one_by_one(x, seeded(seed), padding))
    assert found.shape == x.shape
    assert found.dtype == x.dtype
    assert found.is_contiguous(memory_format=layout)


def test_the_input_is_left_alone():
    x = numbered(5, 3, 8, 8)
    before = x.clone()
    augment.crop_and_flip(x, generator=seeded(0))
    assert torch.equal(x, before)


def test_every_record_has_its_own_draw():
    same = numbered(1, 3, 32, 32).expand(500, -1, -1, -1)
    different = torch.unique(augment.crop_and_flip(same, generator=seeded(0)).flatten(1), dim=0)
    # 500 draws among 9 × 9 × 2 views leave 162 × exp(−500 / 162) = 7 of them undrawn.
    assert 145 <= len(different) <= 162


@pytest.mark.parametrize("seed", range(5))
def test_together_all_records_have_the_first_records_draw(seed):
    same = numbered(1, 3, 16, 16).expand(40, -1, -1, -1)
    found = augment.crop_and_flip(same, generator=seeded(seed), together=True)
    alone = augment.crop_and_flip(same[:1], generator=seeded(seed))
    assert torch.equal(found, alone.expand(40, -1, -1, -1))


def test_a_recipe_draws_once_for_a_batch_where_it_is_told_to():
    same = numbered(1, 3, 16, 16).expand(40, -1, -1, -1)
    by_recipe = {
        way: len(torch.unique(recipe.augmented(same, seeded(0)).flatten(1), dim=0))
        for way, recipe in (
            ("record", training.Recipe(augment=True)),
            ("batch", training.Recipe(augment="batch")),
        )
    }
    assert by_recipe["batch"] == 1 < by_recipe["record"]


def test_all_shifts_are_equally_likely_and_half_are_mirrored():
    down, right, mirrored = augment.draws(81_000, generator=seeded(0), padding=4)
    counts = torch.bincount(down * 9 + right, minlength=81)
    assert len(counts) == 81
    assert ((counts - 1000).abs() < 5 * 1000**0.5).all()
    assert abs(mirrored.double().mean() - 0.5) < 5 * 0.5 / 81_000**0.5


def test_the_generator_alone_decides():
    x = numbered(64, 3, 16, 16)
    torch.manual_seed(1)
    first = augment.crop_and_flip(x, generator=seeded(7))
    torch.manual_seed(2)
    assert torch.equal(first, augment.crop_and_flip(x, generator=seeded(7)))
    generator = seeded(7)
    augment.crop_and_flip(x, generator=generator)
    assert not torch.equal(first, augment.crop_and_flip(x, generator=generator))


def test_tables_are_refused():
    with pytest.raises(ValueError, match=r"need images .* found records of shape \(4, 600\)"):
        augment.crop_and_flip(torch.zeros(4, 600), generator=seeded(0))


@pytest.mark.parametrize("padding", [-1, 0.5, None, 2**31])
def test_a_padding_is_a_whole_number_of_pixels(padding):
    with pytest.raises(ValueError, match="padding must be a whole number in 0 … 1024"):
        augment.draws(3, generator=seeded(0), padding=padding)


@pytest.fixture
def images(rng) -> Records:
    return Records(
        "noise",
        rng.integers(0, 256, (40, 1, 8, 8), np.uint8),
        rng.integers(0, 3, 40),
        3,
        (128.0,),
        (64.0,),
    )


def fitted(records: Records, **recipe) -> torch.nn.Module:
    model = models.build(
        "mlp", shape=records.x.shape[1:], classes=records.classes, widths=(8,), seed=0
    )
    training.fit(
        model,
        records,
        training.Recipe(epochs=2, batch_size=16, lr=0.05, **recipe),
        seed=3,
        device="cpu",
    )
    return model


def test_training_augments_when_told_and_repeats_itself(images):
    plain, first, second = (
        fitted(images),
        fitted(images, augment=True),
        fitted(images, augment=True),
    )
    weights = [model.state_dict() for model in (plain, first, second)]
    assert all(torch.equal(weights[1][name], weights[2][name]) for name in weights[1])
    assert any(not torch.equal(weights[0][name], weights[1][name]) for name in weights[0])


def test_training_sees_new_crops_in_every_epoch_from_its_seed(images):
    seen = []

    class Watching(training.Plain):
        def loss(self, current, x, y):
            seen.append(x.clone())
            return super().loss(current, x, y)

    model = models.build("mlp", shape=images.x.shape[1:], classes=3, widths=(8,), seed=0)
    recipe = training.Recipe(epochs=2, batch_size=16, augment=True)
    training.fit(model, images, recipe, defense=Watching(), seed=3, device="cpu")
    x, generator = torch.from_numpy(images.scaled()), seeded(3)
    expected = [
        one_by_one(x[chosen], generator, 4)
        for _ in range(2)
        for chosen in torch.randperm(40, generator=generator).split(16)
    ]
    assert len(seen) == len(expected) == 6
    assert all(torch.equal(a, b) for a, b in zip(seen, expected, strict=True))


def test_evaluation_is_never_augmented(images):
    model = fitted(images, augment=True)
    with torch.inference_mode():
        by_hand = model(torch.from_numpy(images.scaled()))
    np.testing.assert_allclose(predict(model, images), by_hand.numpy(), rtol=1e-6, atol=1e-6)


def test_training_on_a_table_says_that_it_cannot_be_cropped(rng):
    table = Records("table", rng.random((20, 5)).astype(np.float32), rng.integers(0, 2, 20), 2)
    with pytest.raises(ValueError, match="augment=False"):
        fitted(table, augment=True)
