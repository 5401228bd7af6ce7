"""How the papers share out their records: nobody is member and non-member at once."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from mialib import splits
from mialib.data import Records

OPTIONS = {
    "six_parts": {},
    "halves": {"shadows": 3, "inference": 0.2},
    "quarters": {},
    "in_out": {"models": 4},
    "coins": {"models": 3},
}
numbers = st.integers(24, 300)
seeds = st.integers(0, 2**32)
shares = st.sampled_from([0, 0.01, 1 / 15, 0.1, 0.25, 0.5])


def some_records(n: int) -> Records:
    """n records that carry their own number, in a dataset whose indices are not 0 … n − 1."""
    return Records("numbers", np.arange(n)[:, None], np.arange(n) % 4, 4, index=np.arange(n) + 1000)


@pytest.mark.parametrize("scheme", splits.SPLITS)
@given(n=numbers, seed=seeds, validation=shares)
def test_the_parts_of_a_side_are_disjoint_and_carry_their_records(scheme, n, seed, validation):
    records = some_records(n)
    for side in splits.split(
        scheme, records, seed=seed, validation=validation, **OPTIONS[scheme]
    ).values():
        parts = side.parts()
        for (_, a), (_, b) in combinations(parts.items(), 2):
            assert not set(a.index) & set(b.index)
        for part in parts.values():
            assert len(set(part.index)) == len(part)
            assert_array_equal(part.index, part.x[:, 0] + 1000)
            assert_array_equal(part.y, part.x[:, 0] % 4)


@pytest.mark.parametrize("scheme", ["six_parts", "halves", "quarters"])
@given(n=numbers, seed=seeds, validation=shares)
def test_target_and_shadow_share_no_record(scheme, n, seed, validation):
    sides = splits.split(
        scheme, some_records(n), seed=seed, validation=validation, **OPTIONS[scheme]
    )
    held = {
        name: {i for part in side.parts().values() for i in part.index}
        for name, side in sides.items()
    }
    target = held.pop("target")
    assert held
    assert not any(target & shadow for shadow in held.values())


@pytest.mark.parametrize("scheme", [scheme for scheme in splits.SPLITS if scheme != "coins"])
@given(n=numbers, seed=seeds, validation=shares)
def test_the_validation_share_comes_out_of_the_training_part(scheme, n, seed, validation):
    records, options = some_records(n), OPTIONS[scheme]
    plain = splits.split(scheme, records, seed=seed, **options)
    with_share = splits.split(scheme, records, seed=seed, validation=validation, **options)
    for name in plain:
        before, after = plain[name], with_share[name]
        held_out = after.validation.index if after.validation else []
        assert len(held_out) == round(validation * len(before.train))
        assert set(before.train.index) == set(after.train.index) | set(held_out)


@given(n=numbers, seed=seeds)
def test_six_parts_are_equal_and_use_all_but_the_remainder(n, seed):
    sides = splits.six_parts(some_records(n), seed=seed)
    sizes = [len(part) for side in sides.values() for part in side.parts().values()]
    assert sizes == [n // 6] * 6


@given(n=numbers, seed=seeds, validation=shares)
def test_quarters_are_evaluated_on_equal_numbers(n, seed, validation):
    for side in splits.quarters(some_records(n), seed=seed, validation=validation).values():
        assert len(side.train) == len(side.test) == n // 4 - round(validation * (n // 4))


def test_quarters_give_the_paper_its_numbers():
    sides = splits.quarters(some_records(60_000), validation=1 / 15)
    for side in sides.values():
        assert [len(side.train), len(side.test), len(side.validation)] == [14_000, 14_000, 1_000]


@given(n=numbers, seed=seeds, shadows=st.integers(1, 5), inference=shares)
def test_halves_share_the_shadow_half_among_all_shadows(n, seed, shadows, inference):
    sides = splits.halves(some_records(n), seed=seed, shadows=shadows, inference=inference)
    assert list(sides) == ["target", *(f"shadow-{k}" for k in range(shadows))]
    aside = round(inference * (n // 2))
    for side in sides.values():
        assert len(side.train) == len(side.test) == (n // 2 - aside) // 2
        assert (len(side.inference) if side.inference else 0) == aside
    used = {
        i
        for name, side in sides.items()
        if name != "target"
        for part in side.parts().values()
        for i in part.index
    }
    assert len(used) <= n // 2


def test_halves_give_crl_its_numbers_and_shadows_of_their_own():
    sides = splits.halves(some_records(60_000), shadows=3)
    trained = [set(side.train.index) for side in sides.values()]
    assert [len(members) for members in trained] == [15_000] * 4
    for first, second in combinations(trained[1:], 2):
        assert (
            0.45 < len(first & second) / 15_000 < 0.55
        )  # Two random halves of one half share about half.


def test_more_shadows_leave_the_first_ones_as_they_were():
    few, many = (splits.halves(some_records(100), shadows=k) for k in (1, 4))
    for name in few:
        assert_array_equal(few[name].train.index, many[name].train.index)


@given(n=st.integers(2, 200), pairs=st.integers(1, 8), seed=seeds)
def test_every_record_is_in_exactly_half_of_the_models(n, pairs, seed):
    mask = splits.in_out_mask(n, 2 * pairs, seed=seed)
    assert mask.shape == (2 * pairs, n)
    assert_array_equal(mask.sum(axis=0), pairs)
    assert set(mask.sum(axis=1)) <= {n // 2, n - n // 2}


def test_the_pairs_of_models_are_dealt_independently():
    mask = splits.in_out_mask(10_000, 8)
    for a, b in combinations(range(0, 8, 2), 2):
        assert abs((mask[a] == mask[b]).mean() - 0.5) < 0.03


@given(n=numbers, seed=seeds)
def test_in_out_sides_are_the_rows_of_the_mask(n, seed):
    sides, mask = (
        splits.in_out(some_records(n), seed=seed, models=6),
        splits.in_out_mask(n, 6, seed=seed),
    )
    for k, holds in enumerate(mask):
        side = sides[f"model-{k}"]
        assert set(side.train.index - 1000) == set(np.flatnonzero(holds))
        assert set(side.test.index - 1000) == set(np.flatnonzero(~holds))


@pytest.mark.parametrize("scheme", splits.SPLITS)
def test_the_seed_decides_and_nothing_else(scheme):
    def first_members(seed):
        return next(
            iter(splits.split(scheme, some_records(200), seed=seed, **OPTIONS[scheme]).values())
        ).train.index

    assert_array_equal(first_members(3), first_members(3))
    assert not np.array_equal(first_members(3), first_members(4))


def test_sides_are_made_one_at_a_time():
    taken = []

    class Watched(Records):
        def take(self, positions):
            taken.append(len(positions))
            return super().take(positions)

    records = Watched("numbers", np.arange(100)[:, None], np.arange(100) % 4, 4)
    sides = splits.in_out(records, models=64)
    assert taken == []
    assert len(sides["model-63"].train) == 50
    assert len(taken) == 2


@pytest.mark.parametrize(
    ("scheme", "options", "words"),
    [
        ("halves", {"shadows": 0}, "shadows must be a whole number"),
        ("halves", {"inference": 1.0}, "inference must be a number|no records"),
        ("halves", {"validation": -0.1}, "validation must be a number|no records"),
        ("quarters", {"validation": float("nan")}, "validation must be a number|no records"),
        ("quarters", {"validation": 0.999}, "no records"),
        ("in_out", {"models": 3}, "must be even|at least 2"),
        ("in_out", {"models": 0}, "must be even|at least 2"),
        ("in_out", {"model": 4}, "did you mean 'models'"),
        ("quarters", {"shadows": 2}, "no quarters option 'shadows'"),
        ("thirds", {}, "no split 'thirds'"),
        ("halves", {"shadows": 2**31}, r"Choose at most 10,000"),
        ("in_out", {"models": 2**31}, r"Choose at most 10,000"),
        ("six_parts", {"seed": None}, "seed must be a whole number"),
        ("six_parts", {"seed": -1}, "seed must be a whole number"),
        ("in_out", {"seed": 0.5}, "seed must be a whole number"),
        ("coins", {"models": 0}, "models must be a whole number"),
        ("coins", {"validation": 0.5, "inference": 0.5}, "leave no records to toss for"),
        ("coins", {"validation": 0.6}, "validation must be a number in 0 … 0.5"),
        (["six_parts"], {}, "no split"),
    ],
)
def test_bad_options_are_named(scheme, options, words):
    with pytest.raises(ValueError, match=words):
        dict(splits.split(scheme, some_records(60), **options))


@pytest.mark.parametrize(
    ("n", "models", "words"),
    [
        (2**31, 2, "at most 67,108,864"),
        (2**31, 2**31, "at most 67,108,864"),
        (10**6, 200, "models = 200 is more than fits with 1,000,000 records. Choose at most 134"),
        (0, 2, "n must be a whole number"),
        (10, None, "models must be a whole number"),
    ],
)
def test_a_mask_that_does_not_fit_is_refused_at_once(n, models, words):
    with pytest.raises(ValueError, match=words):
        splits.in_out_mask(n, models)


@pytest.mark.parametrize("scheme", splits.SPLITS)
@pytest.mark.parametrize("records", [None, np.zeros((60, 2)), "letters"])
def test_only_records_are_split(scheme, records):
    with pytest.raises(ValueError, match=f"{scheme} splits Records"):
        splits.split(scheme, records)


@pytest.mark.parametrize(
    ("scheme", "need"),
    [("six_parts", 24), ("halves", 16), ("quarters", 16), ("in_out", 8), ("coins", 8)],
)
def test_too_few_records_are_refused(scheme, need):
    splits.split(scheme, some_records(need))
    with pytest.raises(ValueError, match=f"at least . × 4 = {need} records"):
        splits.split(scheme, some_records(need - 1))


def test_a_configuration_reaches_the_options_of_its_split():
    from mialib.runs import Configuration

    c = Configuration(
        data="digits", split="halves", split_options={"shadows": 2}, side="shadow-1", validation=0.1
    )
    side = c.side_records()
    assert (len(side.train), len(side.validation)) == (404, 45)
    with pytest.raises(ValueError, match="no side 'shadow-2'"):
        c.but(side="shadow-2").side_records()


def test_in_out_sets_records_aside_for_every_model():
    records = some_records(100)
    sides = splits.in_out(records, models=4, inference=0.2)
    assert len(sides) == 4
    for side in sides.values():
        assert len(side.train) == len(side.test) == 40
        assert side.inference.index.tolist() == records.index[80:].tolist()
    assert splits.in_out(some_records(100), models=4)["model-0"].inference is None


def test_in_out_refuses_to_set_most_aside():
    with pytest.raises(ValueError, match="inference must be"):
        splits.in_out(some_records(100), models=4, inference=0.6)
