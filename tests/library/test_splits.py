"""Six parts: disjoint, exhaustive, equal, at random by a seed."""

import time
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from mialib import splits
from mialib.data import Records
from mialib.splits import Side, six_parts


def numbered(n, classes=2):
    """Records whose x tells which one they are."""
    return Records("numbered", np.arange(n)[:, None], np.arange(n) % classes, classes)


def all_parts(sides):
    return [part for side in sides.values() for part in side.parts().values()]


several = given(
    n=st.integers(12, 400),
    validation=st.sampled_from([0.0, 0.1, 0.25, 0.4]),
    seed=st.integers(0, 99),
)


@several
def test_parts_never_overlap(n, validation, seed):
    for first, second in combinations(
        all_parts(six_parts(numbered(n), validation=validation, seed=seed)), 2
    ):
        assert not set(first.x.ravel()) & set(second.x.ravel())


@several
def test_parts_hold_all_records_but_the_remainder(n, validation, seed):
    parts = all_parts(six_parts(numbered(n), validation=validation, seed=seed))
    assert sum(map(len, parts)) == n // 6 * 6


@several
def test_parts_are_equal_before_validation_is_set_aside(n, validation, seed):
    for side in six_parts(numbered(n), validation=validation, seed=seed).values():
        held_out = len(side.validation) if side.validation else 0
        assert len(side.train) + held_out == len(side.test) == len(side.inference) == n // 6
        assert held_out == round(validation * (n // 6))


@several
def test_every_record_keeps_its_place_and_label(n, validation, seed):
    records = numbered(n)
    for part in all_parts(six_parts(records, validation=validation, seed=seed)):
        assert_array_equal(part.x, records.x[part.index])
        assert_array_equal(part.y, records.y[part.index])


def test_the_seed_decides_the_split():
    first, again, other = (
        six_parts(numbered(120), seed=seed)["target"].train.index for seed in (0, 0, 1)
    )
    assert_array_equal(first, again)
    assert set(first) != set(other)


def test_validation_only_takes_from_the_training_part():
    plain, held_out = (six_parts(numbered(120), validation=share)["shadow"] for share in (0.0, 0.2))
    assert plain.validation is None
    assert_array_equal(plain.test.index, held_out.test.index)
    assert set(plain.train.index) == set(held_out.train.index) | set(held_out.validation.index)


@pytest.mark.parametrize(("n", "classes"), [(11, 2), (59, 10), (1, 1)])
def test_too_few_records_are_refused(n, classes):
    with pytest.raises(
        ValueError,
        match=f"six_parts needs at least 6 × {classes} = {6 * classes} records.* has {n}",
    ):
        six_parts(numbered(n, classes))


@pytest.mark.parametrize("validation", [-0.1, 1.0, 1.5, np.nan])
def test_a_validation_share_outside_its_range_is_refused(validation):
    with pytest.raises(ValueError, match=r"validation must be a number|no records"):
        six_parts(numbered(120), validation=validation)


def test_a_validation_share_that_leaves_no_members_is_refused():
    with pytest.raises(ValueError, match="no records"):
        six_parts(numbered(12), validation=0.9)["target"]


@pytest.mark.parametrize(
    ("first", "second"),
    [("train", "test"), ("train", "validation"), ("test", "inference"), ("train", "inference")],
)
def test_a_side_whose_parts_share_records_is_refused(first, second):
    records = numbered(40)
    parts = dict(
        zip(("train", "test", "inference", "validation"), np.arange(40).reshape(4, 10), strict=True)
    )
    parts[second] = np.r_[parts[second], parts[first][3:5]]
    with pytest.raises(ValueError, match=f"{first} and {second} share 2 records"):
        Side(**{name: records.take(positions) for name, positions in parts.items()})


def test_split_finds_a_scheme_by_name():
    records = numbered(60)
    by_name = splits.split("six_parts", records, seed=3, validation=0.5)["shadow"]
    direct = six_parts(records, seed=3, validation=0.5)["shadow"]
    assert_array_equal(by_name.train.index, direct.train.index)
    assert_array_equal(by_name.validation.index, direct.validation.index)
    with pytest.raises(ValueError, match="no split 'sixparts'; did you mean 'six_parts'"):
        splits.split("sixparts", records)


# ---------------------------------------------------------------- two datasets of one's own


def images(rng, n=10, **changes):
    x = rng.integers(0, 256, (n, 1, 4, 4), np.uint8)
    return Records("mine", x, np.arange(n) % 2, 2, **changes)


def test_two_disjoint_datasets_make_a_side_though_both_count_from_zero(rng):
    train = images(rng)
    test = images(rng)
    side = Side(train, test)
    assert_array_equal(side.train.index, side.test.index)


def test_the_same_images_under_other_numbers_are_refused(rng):
    train = images(rng)
    copy = Records("copy", train.x.copy(), train.y, 2, index=np.arange(10) + 100)
    with pytest.raises(ValueError, match="train and test share 10 records"):
        Side(train, copy)


def test_a_few_images_among_others_are_found_in_any_part(rng):
    train = images(rng, 40)
    other = images(rng, 20)
    x = np.concatenate([other.x, train.x[3:8]])
    mixed = Records("mixed", x, np.zeros(25, int), 2)
    with pytest.raises(ValueError, match="test and validation share 5 records"):
        Side(images(rng), train, validation=mixed)


def test_the_same_numbers_in_another_type_are_found(rng):
    train = images(rng)
    with pytest.raises(ValueError, match="share 10 records"):
        Side(train, Records("floats", train.x.astype(np.float64), train.y, 2))


def test_equal_records_at_two_places_of_one_dataset_are_two_records():
    """Purchase100 has such records; a split of it deals them like any others."""
    records = Records("twice", np.zeros((40, 3)), np.arange(40) % 2, 2)
    for side in six_parts(records).values():
        assert len(side.train) == 6


def test_records_of_few_numbers_may_be_equal_by_chance(rng):
    x = rng.integers(0, 2, (300, 5))
    train = Records("train", x[:200], x[:200, 0], 2)
    test = Records("test", x[200:], x[200:, 0], 2)
    with pytest.warns(UserWarning, match="100 records of train and test are equal.* by chance"):
        Side(train, test)


def test_parts_of_one_dataset_are_compared_by_their_places_alone(monkeypatch):
    def never(x):
        raise AssertionError("The contents need not be read.")

    monkeypatch.setattr("mialib.data.records.row_hashes", never)
    monkeypatch.setattr(splits, "row_hashes", never)
    assert len(list(splits.in_out(numbered(40), models=4).values())) == 4


def test_contents_are_hashed_once_and_quickly(rng):
    train = Records(
        "many", rng.integers(0, 256, (20_000, 3072), np.uint8), np.zeros(20_000, int), 1
    )
    test = images(rng).take(slice(5))
    wide = Records("few", np.zeros((5, 3072), np.uint8), test.y, 2)
    started = time.perf_counter()
    Side(train, wide)
    assert time.perf_counter() - started < 2
    assert train.content_hashes is train.content_hashes


@pytest.mark.parametrize("part", [None, "train", np.zeros((3, 2))])
def test_what_is_no_part_is_refused(rng, part):
    with pytest.raises(ValueError, match="test must be Records"):
        Side(images(rng), part)
