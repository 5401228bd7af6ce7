"""The embedded datasets and `Records`: a seed gives the same records, bad arrays are refused."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image
from scipy.stats import chisquare
from sklearn.datasets import load_digits

import glyphs
from mialib import data
from mialib.data import Records
from mialib.data import embedded as course

SHAPES = {"letters": (1, 16, 16), "shoppers": (600,), "digits": (1, 8, 8)}
CLASSES = {"letters": 10, "shoppers": 100, "digits": 10}
embedded = pytest.mark.parametrize("name", SHAPES)


@pytest.fixture
def good():
    """Three records of two classes."""
    return Records("mine", np.arange(6.0).reshape(3, 2), np.array([0, 1, 1]), 2)


# ---------------------------------------------------------------- the embedded datasets


@embedded
def test_records_have_the_stated_shape_and_labels(name):
    records = data.load(name, size=300)
    assert records.x.shape == (300, *SHAPES[name])
    assert records.x.dtype == np.uint8
    assert records.classes == CLASSES[name]
    assert 0 <= records.y.min() <= records.y.max() < records.classes
    assert records.name == name


@embedded
def test_the_same_seed_draws_the_same_records(name):
    first = data.load(name, size=300, seed=3)
    getattr(course, name).cache_clear()
    again = data.load(name, size=300, seed=3)
    assert first is not again
    assert_array_equal(first.x, again.x)
    assert_array_equal(first.y, again.y)
    assert first.fingerprint == again.fingerprint


@embedded
def test_another_seed_draws_other_records(name):
    first, second = (data.load(name, size=300, seed=seed) for seed in (0, 1))
    assert first.fingerprint != second.fingerprint
    assert (first.y != second.y).mean() > 0.5


def test_the_letters_are_those_that_the_fonts_draw():
    """Of the 22 faces, matplotlib 3.10 lacks one."""
    with Image.open(course.SHEET) as sheet:
        rows = np.asarray(sheet).reshape(len(course.FACES), course.GLYPH, -1)
    here = [face for face in course.FACES if glyphs.font_file(face).exists()]
    assert len(here) >= 21
    for face in here:
        assert_array_equal(rows[course.FACES.index(face)], glyphs.row(face))


def test_letters_need_no_font(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    course.letters.cache_clear()
    course._glyphs.cache_clear()
    assert len(data.load("letters", size=20)) == 20


@pytest.mark.parametrize(("name", "usual"), [("letters", 4200), ("digits", 1797)])
def test_the_usual_size_is_the_documented_one(name, usual):
    assert len(data.load(name)) == usual
    assert f"{usual:,}" in (getattr(course, name).__doc__ + course.__doc__)


def test_letters_are_drawn_evenly_from_all_classes():
    counts = np.bincount(data.load("letters", size=2000).y, minlength=10)
    assert chisquare(counts).pvalue > 0.001


@pytest.mark.parametrize(("name", "share"), [("letters", 0.17), ("shoppers", 0.3)])
def test_two_seeds_are_samples_of_one_distribution(name, share):
    """The mean record of each class under one seed recognises the classes of the other.

    Chance is 0.1 and 0.01.
    """
    first, second = (data.load(name, size=2000, seed=seed) for seed in (0, 1))
    means = np.stack([first.x[first.y == c].mean(axis=0).ravel() for c in range(first.classes)])
    alike = np.corrcoef(second.x.reshape(2000, -1), means)[:2000, 2000:]
    assert (alike.argmax(axis=1) == second.y).mean() > share


def test_digits_are_those_of_scikit_learn():
    ours, theirs = data.load("digits"), load_digits()
    assert_array_equal(np.bincount(ours.y), np.bincount(theirs.target))
    assert_array_equal(np.sort(ours.x.reshape(-1, 64), axis=0), np.sort(theirs.data, axis=0))


def test_digits_end():
    with pytest.raises(ValueError, match="digits has 1797 records, 1798 were asked for"):
        data.load("digits", size=1798)


@pytest.mark.parametrize("size", [0, -1, 2.5])
def test_a_size_that_is_no_count_is_refused(size):
    with pytest.raises(ValueError, match="size must be"):
        data.load("letters", size=size)


@pytest.mark.parametrize("name", ["letters", "shoppers"])
def test_more_than_fits_is_refused_at_once_with_what_fits(name):
    with pytest.raises(ValueError, match=rf"{name} would take .* GB.* a size of at most \d\d\d,"):
        data.load(name, size=2**31)


@pytest.mark.parametrize("seed", [None, -1, 0.5, "one", [1]])
def test_a_seed_that_is_no_whole_number_is_refused(seed):
    with pytest.raises(ValueError, match="seed must be a whole number"):
        data.load("digits", seed=seed)


def test_a_loader_of_ones_own_must_give_records(monkeypatch, good):
    monkeypatch.setitem(data.LOADERS, "mine", lambda **options: good)
    assert data.load("mine") is good
    monkeypatch.setitem(data.LOADERS, "mine", lambda **options: (good.x, good.y))
    with pytest.raises(ValueError, match=r"LOADERS\['mine'\] must give Records, found tuple"):
        data.load("mine")


def test_an_unknown_name_brings_the_nearest():
    with pytest.raises(ValueError, match="no dataset 'lettres'; did you mean 'letters'"):
        data.load("lettres")


@embedded
def test_loaded_records_cannot_be_changed_by_accident(name):
    records = data.load(name, size=300)
    with pytest.raises(ValueError, match="read-only"):
        records.x[0] = 0
    with pytest.raises(ValueError, match="read-only"):
        records.y[0] = 0


# ---------------------------------------------------------------- Records


def test_take_keeps_each_records_place(good):
    part = good.take(np.array([2, 0])).take(np.array([0]))
    assert_array_equal(part.x, good.x[[2]])
    assert part.y == good.y[2]
    assert part.index == 2


@pytest.mark.parametrize("channels", [1, 3])
def test_a_model_sees_each_channel_shifted_and_scaled(channels, rng):
    x = rng.integers(256, size=(4, channels, 2, 2)).astype(np.uint8)
    shift, scale = (10.0, 20.0, 30.0)[:channels], (2.0, 4.0, 8.0)[:channels]
    seen = Records("mine", x, np.zeros(4, int), 1, shift=shift, scale=scale).scaled()
    assert seen.dtype == np.float32
    for c in range(channels):
        assert_allclose(seen[:, c], (x[:, c] - shift[c]) / scale[c], rtol=1e-6)


def test_lists_serve_as_arrays():
    records = Records("mine", [[0.0, 1.0], [2.0, 3.0]], [0, 1], 2)
    assert records.take([1]).scaled().tolist() == [[2.0, 3.0]]


def test_numbers_of_any_kind_become_plain_settings(good):
    from_lists = replace(good, shift=[1, 2], scale=np.array([3.0, 4.0]), classes=np.int64(2))
    from_tuples = replace(good, shift=(1, 2), scale=(3.0, 4.0), classes=2)
    assert from_lists.shift == (1, 2)
    assert from_lists.scale == (3.0, 4.0)
    assert from_lists.fingerprint == from_tuples.fingerprint
    assert replace(good, shift=3.0).shift == (3.0,)


def test_whole_labels_stored_as_floats_pass(good):
    assert replace(good, y=np.array([0.0, 1.0, 1.0])).fingerprint == good.fingerprint


@pytest.mark.parametrize("positions", [[3], [[0]], ["a"], None, [0.5], [True, False]])
def test_positions_that_are_not_there_are_refused(good, positions):
    with pytest.raises(ValueError, match="mine: positions"):
        good.take(positions)


def test_the_callers_array_stays_writable(good):
    x = np.zeros((3, 2))
    records = replace(good, x=x)
    x[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        records.x[0] = 1


@pytest.mark.parametrize(
    "change",
    [
        {"x": np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 6.0]])},
        {"x": np.arange(6).reshape(3, 2)},
        {"y": np.array([0, 1, 0])},
        {"shift": (1.0,)},
        {"scale": (2.0,)},
        {"classes": 3},
    ],
)
def test_the_fingerprint_changes_with_the_content(good, change):
    assert replace(good, **change).fingerprint != good.fingerprint


def test_the_fingerprint_ignores_the_name_and_the_layout(good):
    same = replace(good, name="other", x=np.asfortranarray(good.x), y=good.y.astype(np.uint8))
    assert same.fingerprint == good.fingerprint


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"x": np.zeros(3)}, r"x must be .* found shape \(3,\)"),
        ({"x": np.zeros((3, 2, 2))}, "x must be"),
        ({"x": np.zeros((2, 2))}, "one label for each of the 2 records"),
        ({"y": np.zeros((3, 1), int)}, r"found shape \(3, 1\)"),
        ({"x": np.zeros((0, 2)), "y": np.zeros(0, int), "index": np.zeros(0, int)}, "no records"),
        ({"y": np.array([0.0, 0.5, 1.0])}, "labels must be integers, found an array of float64"),
        ({"y": np.array(["a", "b", "c"])}, "labels must be integers"),
        ({"y": np.array([0, 1, 2])}, r"0 … 1, found 0 … 2"),
        ({"y": np.array([-1, 0, 1])}, "found -1 … 1"),
        ({"x": np.array([[0, np.nan], [0, 0], [0, 0]])}, "NaN or infinite"),
        ({"x": np.array([[0, 0], [0, -np.inf], [0, 0]])}, "NaN or infinite"),
        ({"x": np.array([["a", "b"]] * 3)}, "x must hold real numbers"),
        ({"x": np.full((3, 2), None)}, "x must hold real numbers"),
        ({"x": np.zeros((3, 2)) + 1j}, "x must hold real numbers"),
        ({"index": np.arange(4)}, "index"),
        ({"shift": (1.0, 2.0, 3.0)}, "shift must have 1 or 2 numbers"),
        ({"scale": (1.0, 2.0, 3.0)}, "scale must have 1 or 2 numbers"),
        ({"scale": (0.0,)}, "scale must not be 0"),
        ({"scale": (np.nan,)}, "scale must be a number"),
        ({"shift": ("a",)}, "shift must be a number"),
        ({"shift": None}, "shift must be a number"),
        ({"x": np.full((3, 2), 1e300)}, "too large for float32"),
        ({"x": [[1, 2], [3], [4, 5]]}, "different lengths"),
        ({"x": None}, "x must be"),
        ({"classes": 2.5}, "classes must be a whole number"),
        ({"classes": None}, "classes must be a whole number"),
        ({"classes": 0}, "classes must be a whole number"),
        ({"name": None}, "name of a dataset must be a text"),
        ({"index": ["a", "b", "c"]}, "index must be integers"),
    ],
)
def test_bad_arrays_are_refused_with_a_reason(good, change, complaint):
    with pytest.raises(ValueError, match=complaint):
        replace(good, **change)
