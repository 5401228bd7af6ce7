"""What the attacker sees: losses, φ, membership, probabilities, and the file."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.testing import assert_allclose, assert_array_equal
from torch.nn import functional as F

from mialib.signals import Signals, as_rows, loss_gap, phi_from_logits, pool


@pytest.fixture
def signals(rng):
    n = 30
    return Signals(
        rng.normal(0, 3, (n, 4)),
        rng.integers(4, size=n),
        rng.random(n) < 0.5,
        rng.permutation(100)[:n],
    )


# ---------------------------------------------------------------- what follows from the logits


@given(
    arrays.arrays(np.float32, (5, 3), elements=st.floats(-1e4, 1e4, width=32)), st.integers(0, 2)
)
def test_loss_equals_torch(logits, label):
    labels = np.full(5, label)
    by_torch = F.cross_entropy(
        torch.from_numpy(logits).double(), torch.from_numpy(labels), reduction="none"
    )
    assert_allclose(Signals(logits, labels).loss(), by_torch, rtol=1e-9, atol=1e-9)


def test_correct_says_where_the_label_has_the_largest_logit():
    assert Signals(2 * np.eye(3), np.array([0, 1, 0])).correct().tolist() == [True, True, False]


def test_loss_gap_is_the_non_members_mean_minus_the_members():
    logits = np.log([[0.5, 0.5], [0.25, 0.75], [0.125, 0.875]])
    found = loss_gap(Signals(logits, np.zeros(3, int), np.array([True, False, False])))
    assert found == pytest.approx((2 + 3) / 2 * np.log(2) - np.log(2))


def test_members_and_non_members_are_the_rows_they_say(signals):
    members, others = signals.members(), signals.non_members()
    assert members.is_member.all()
    assert not others.is_member.any()
    assert len(members) + len(others) == len(signals)
    assert_array_equal(members.logits, signals.logits[signals.is_member])
    assert_array_equal(others.record_index, signals.record_index[~signals.is_member])


def test_public_signals_carry_no_membership(signals):
    public = signals.public()
    assert public.is_member is None
    assert_array_equal(public.logits, signals.logits)
    assert_array_equal(public.record_index, signals.record_index)


@pytest.mark.parametrize("question", [Signals.members, Signals.non_members, loss_gap])
def test_public_signals_say_that_membership_is_missing(signals, question):
    with pytest.raises(ValueError, match="do not say who is a member"):
        question(signals.public())


def test_phi_compares_the_label_with_all_other_classes(signals):
    p = signals.probabilities()
    p_label = p[np.arange(len(p)), signals.labels]
    by_definition = np.log(p_label) - np.log(1 - p_label)
    assert_allclose(phi_from_logits(signals.logits, signals.labels), by_definition)
    assert_allclose(signals.phi(), by_definition[None])


def test_phi_takes_the_other_views_as_they_are(signals, rng):
    views = rng.normal(size=(len(signals), 2))
    phi = replace(signals, extra={"views": views}).phi()
    assert_array_equal(phi[0], signals.phi()[0])
    assert_array_equal(phi[1:], views.T)


def test_shadows_are_pooled_in_their_order_with_the_columns_they_share(signals):
    column = np.arange(len(signals))
    first = replace(signals, extra={"a": column, "b": column})
    second = replace(signals.take(slice(5)), extra={"b": column[:5] + 100})
    pooled = pool([first, second])
    assert_array_equal(pooled.logits, np.concatenate([first.logits, second.logits]))
    assert_array_equal(pooled.labels, np.concatenate([first.labels, second.labels]))
    assert_array_equal(pooled.is_member, np.concatenate([first.is_member, second.is_member]))
    assert list(pooled.extra) == ["b"]
    assert_array_equal(pooled.extra["b"], np.concatenate([column, column[:5] + 100]))
    assert pool(first) is first


# ---------------------------------------------------------------- probabilities


@pytest.mark.parametrize(
    ("rows", "dtype"),
    [(1, np.float64), (1, np.float32), (30, np.float64), (30, np.float32), (30, np.float16)],
)
@pytest.mark.parametrize("door", [Signals, phi_from_logits])
def test_probabilities_are_not_taken_for_logits(signals, rows, dtype, door):
    probabilities = signals.probabilities()[:rows].astype(dtype)
    with pytest.raises(ValueError, match=r"Signals\.from_probabilities"):
        door(probabilities, signals.labels[:rows])


def test_probabilities_in_bfloat16_are_not_taken_for_logits(signals):
    probabilities = torch.from_numpy(signals.probabilities()).bfloat16()
    with pytest.raises(ValueError, match=r"Signals\.from_probabilities"):
        Signals(probabilities, signals.labels)


@pytest.mark.parametrize(
    "logits",
    [
        [[0.5, 0.5], [0.5, -0.5]],  # a row that does not sum to 1
        [[1.5, -0.5], [0.5, 0.5]],  # a negative number
        [[0.0, 0.0], [0.0, 0.0]],
        [[1.0], [1.0]],  # one class alone
    ],
)
def test_logits_that_are_no_probabilities_are_taken(logits):
    assert len(Signals(logits, [0, 0])) == 2


def test_probabilities_have_a_door_of_their_own(signals):
    table = Signals.from_probabilities(
        signals.probabilities(), signals.labels, is_member=signals.is_member
    )
    assert_allclose(table.loss(), signals.loss())
    assert_allclose(table.phi(), signals.phi(), rtol=1e-6)
    assert_allclose(table.probabilities(), signals.probabilities())
    assert_array_equal(table.is_member, signals.is_member)


def test_a_probability_of_zero_gives_a_finite_table():
    table = Signals.from_probabilities([[1.0, 0.0], [0.25, 0.75]], [0, 1])
    assert np.isfinite(table.phi()).all()
    assert table.loss()[0] == 0
    assert table.loss()[1] == pytest.approx(-np.log(0.75))


@pytest.mark.parametrize(
    "logits", [[[0.5, 0.6]], [[-0.5, 1.5]], [[1.0]], [0.5, 0.5], [[np.nan, 1.0]], [["a", "b"]]]
)
def test_what_is_no_probability_is_refused_at_that_door(logits):
    with pytest.raises(ValueError, match=r"[Pp]robabilities must be"):
        Signals.from_probabilities(logits, [0])


# ---------------------------------------------------------------- files


@pytest.mark.parametrize("table", ["full", "public"])
def test_a_file_gives_back_the_same_table(signals, tmp_path, table):
    written = signals if table == "full" else signals.public()
    written.save(tmp_path / "signals.npz")
    read = Signals.read(tmp_path / "signals.npz")
    for name, column in vars(written).items():
        assert_array_equal(getattr(read, name), column)


def test_a_file_with_pickled_objects_is_refused(tmp_path):
    np.savez(tmp_path / "signals.npz", logits=np.array([[{}]]), labels=np.array([0]))
    with pytest.raises(ValueError, match="logits is an object array"):
        Signals.read(tmp_path / "signals.npz")


def test_a_file_keeps_its_names_of_old(signals, tmp_path):
    """Runs that were stored before the fields were renamed can still be read."""
    noise = np.arange(len(signals))
    replace(signals, extra={"noise": noise}).save(tmp_path / "signals.npz")
    with np.load(tmp_path / "signals.npz") as file:
        assert set(file) == {"logits", "labels", "is_member", "record", "more.noise"}
    read = Signals.read(tmp_path / "signals.npz")
    assert_array_equal(read.record_index, signals.record_index)
    assert_array_equal(read.column("noise"), noise)


def test_a_file_of_something_else_is_refused(tmp_path):
    np.savez(tmp_path / "other.npz", weights=np.zeros(3))
    with pytest.raises(ValueError, match=r"holds no signals.*only weights"):
        Signals.read(tmp_path / "other.npz")


# ---------------------------------------------------------------- bad input

LOGITS, LABELS = np.zeros((3, 2)), np.array([0, 1, 0])


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ((np.zeros(3), LABELS), "logits"),
        ((np.zeros((2, 2)), LABELS), r"\(2, 2\) and \(3,\)"),
        ((np.zeros((0, 2)), LABELS[:0]), "n ≥ 1"),
        ((LOGITS, np.array(0)), "labels"),
        ((LOGITS, LABELS[:, None]), r"\(3, 1\)"),
        ((LOGITS, LABELS + 0.5), "integers, found an array of float64"),
        ((LOGITS, np.array(["a", "b", "a"])), "integers"),
        ((LOGITS, LABELS + 1), "from 1 to 2"),
        ((LOGITS, LABELS - 1), "from -1 to 0"),
        (
            (np.array([[0, np.nan], [0, 0], [0, 0]]), LABELS),
            "1 of 3 records have NaN or infinite logits",
        ),
        ((np.array([[0, 0], [np.inf, 0], [0, 0]]), LABELS), "the first is row 1"),
        ((np.array([["a", "b"]] * 3), LABELS), "real numbers"),
        ((LOGITS + 1j, LABELS), "real numbers"),
        ((LOGITS, LABELS, np.array([True])), r"is_member .* \(1,\)"),
        ((LOGITS, LABELS, np.array([1, 0, 1])), "is_member must be True or False"),
        ((LOGITS, LABELS, np.array([0.3, 0.0, 1.0])), "is_member must be True or False"),
        ((LOGITS, LABELS, None, np.arange(4)), r"record_index .* \(4,\)"),
        ((LOGITS, LABELS, None, np.zeros((3, 2), int)), r"record_index must have shape \(3,\)"),
        ((LOGITS, LABELS, None, None, {"noise": np.zeros(2)}), r"noise .* \(2,\)"),
        ((LOGITS, LABELS, None, None, {"noise": "loud"}), "noise must be real numbers"),
        ((LOGITS, LABELS, None, None, [np.zeros(3)]), "extra must be columns by their names"),
        ((LOGITS, LABELS, None, None, {3: np.zeros(3)}), "must have names, found 3"),
        ((LOGITS, LABELS, None, None, {}, LOGITS), "must be Signals of the same model"),
        (
            (LOGITS, LABELS, None, None, {}, Signals(np.zeros((1, 5)), [0])),
            "same model in 2 classes, found 5",
        ),
        (([[0.0, 1.0], [2.0]], [0, 1]), "rows of different lengths"),
        ((None, LABELS), "logits must be real numbers, found None"),
        ((LOGITS, None), "labels must be integers, found None"),
        ((np.ma.masked_equal(np.arange(6).reshape(3, 2), 3), LABELS), "1 masked entries"),
        ((LOGITS, np.ma.array(LABELS, mask=[0, 1, 1])), "2 masked entries"),
    ],
)
def test_bad_tables_are_refused_with_a_reason(table, complaint):
    with pytest.raises(ValueError, match=complaint):
        Signals(*table)


def test_lists_serve_as_columns():
    assert loss_gap(Signals([[0.0, 0.0], [0.0, 0.0]], [0, 1], [True, False])) == 0


def test_masked_arrays_without_masked_entries_serve_as_columns():
    table = Signals(np.ma.array(LOGITS), np.ma.array(LABELS), np.ma.array(LABELS == 0))
    assert type(table.logits) is np.ndarray
    assert len(table.members()) == 2


def test_a_table_of_members_alone_has_no_gap(signals):
    with pytest.raises(ValueError, match=r"All of these .* records are members"):
        loss_gap(signals.members())
    with pytest.raises(ValueError, match=r"None of these .* records is a member"):
        loss_gap(signals.non_members())


@pytest.mark.parametrize(
    ("rows", "taken"),
    [
        (slice(1, 3), [1, 2]),
        ([2, 0, 2], [2, 0, 2]),
        ([-1], [3]),
        (range(2), [0, 1]),
        ([1.0, 3.0], [1, 3]),
        ([True, False, False, True], [0, 3]),
        ([], []),
    ],
)
def test_rows_are_a_slice_positions_or_a_mask(rows, taken):
    assert np.arange(4)[as_rows(rows, 4)].tolist() == taken


@pytest.mark.parametrize(
    "rows", [[4], [-5], [0.5], [True, False], 2, [[0], [1]], "ab", None, [None], slice("a", "b")]
)
def test_other_rows_are_refused(rows):
    with pytest.raises(ValueError, match=r"rows must|mask of rows must"):
        as_rows(rows, 4)


@pytest.mark.parametrize(
    ("shadows", "complaint"),
    [
        ([], "At least one shadow"),
        ("signals", "Signals, or a list of them, found str"),
        (None, "Signals, or a list of them, found NoneType"),
        ([np.zeros((3, 2))], "Every shadow must be Signals, found ndarray"),
        ([Signals(LOGITS, LABELS)], "do not say who is a member"),
        ([Signals(LOGITS, LABELS), Signals(np.zeros((1, 5)), [0])], "different numbers of classes"),
    ],
)
def test_what_is_no_list_of_shadows_is_refused(shadows, complaint):
    with pytest.raises(ValueError, match=complaint):
        pool(shadows)


def test_a_column_that_is_not_there_says_how_to_get_it(signals):
    with pytest.raises(ValueError, match=r"no 'noise', only logits. Ask the model for it"):
        signals.column("noise")
