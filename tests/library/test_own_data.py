"""Data of one's own, from an .npz or a folder of images: read rightly or refused.

Their path is never written down.
"""

import io
import os
import tarfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal
from PIL import Image

from mialib import data, runs
from mialib.store import Store
from mialib.training import Recipe

SHARED = Path(__file__).parents[3] / "shared" / "data"
CLASSES = "airplane automobile bird cat deer dog frog horse ship truck".split()


def saved(path: Path, **arrays) -> Path:
    np.savez(path, **arrays)
    return path


def colours(rng, *shape: int) -> np.ndarray:
    return rng.integers(0, 256, shape, np.uint8)


# An .npz


def test_train_and_test_are_put_together_with_channels_first(tmp_path, rng):
    train, test = colours(rng, 30, 8, 6, 3), colours(rng, 10, 8, 6, 3)
    y_train, y_test = np.arange(30, dtype=np.uint8) % 4, np.arange(10, dtype=np.uint8) % 4
    path = saved(
        tmp_path / "photos.npz", x_train=train, y_train=y_train, x_test=test, y_test=y_test
    )
    records = data.load(path)
    assert_array_equal(records.x, np.concatenate([train, test]).transpose(0, 3, 1, 2))
    assert_array_equal(records.y, np.concatenate([y_train, y_test]))
    assert records.x.flags.c_contiguous
    assert (records.name, records.classes, records.y.dtype) == ("photos", 4, np.int64)


def test_images_are_standardised_by_channel(tmp_path, rng):
    x = (rng.normal([100, 120, 140], [10, 20, 30], (500, 8, 8, 3))).clip(0, 255).astype(np.uint8)
    seen = data.load(saved(tmp_path / "photos.npz", x=x, y=np.arange(500) % 2)).scaled()
    np.testing.assert_allclose(seen.mean(axis=(0, 2, 3)), 0, atol=0.02)
    np.testing.assert_allclose(seen.std(axis=(0, 2, 3)), 1, atol=0.02)


def test_images_of_one_colour_do_not_divide_by_zero(tmp_path):
    path = saved(tmp_path / "black.npz", x=np.zeros((4, 8, 8, 1), np.uint8), y=np.arange(4) % 2)
    assert_array_equal(data.load(path).scaled(), np.zeros((4, 1, 8, 8)))


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((6, 5), (6, 5)),
        ((6, 8, 7), (6, 1, 8, 7)),
        ((6, 8, 7, 1), (6, 1, 8, 7)),
        ((6, 8, 7, 4), (6, 4, 8, 7)),
        ((6, 3, 8, 7), (6, 3, 8, 7)),
        ((6, 1, 8, 7), (6, 1, 8, 7)),
    ],
)
def test_layouts(tmp_path, rng, shape, expected):
    x = colours(rng, *shape)
    records = data.load(saved(tmp_path / "x.npz", x=x, y=np.arange(6) % 2))
    assert records.x.shape == expected
    moved = x.transpose(0, 3, 1, 2) if len(shape) == 4 and expected != shape else x
    assert_array_equal(records.x, moved.reshape(expected))


@pytest.mark.parametrize(
    ("x", "dtype"),
    [
        (np.array([[True], [False]]), np.uint8),
        (np.array([[0], [255]]), np.uint8),
        (np.array([[0], [256]]), np.float32),
        (np.array([[-1], [1]]), np.float32),
        (np.array([[0.25], [1.5]]), np.float32),
    ],
)
def test_numbers_keep_their_values_in_the_smallest_type(tmp_path, x, dtype):
    records = data.load(saved(tmp_path / "x.npz", x=x, y=np.array([0, 1])))
    assert records.x.dtype == dtype
    assert_array_equal(records.scaled(), x)


def test_classes_may_be_said(tmp_path):
    path = saved(tmp_path / "x.npz", x=np.eye(3), y=np.array([1, 2, 3]), classes=7)
    assert data.load(path).classes == 7
    assert_array_equal(data.load(path).y, [1, 2, 3])


GOOD = {"x": np.zeros((4, 2)), "y": np.array([0, 1, 0, 1])}


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"x": GOOD["x"]}, "should hold x and y, or x_train"),
        ({"x_train": GOOD["x"], "y_train": GOOD["y"]}, "it holds x_train, y_train"),
        ({}, "it holds nothing"),
        (GOOD | {"y": GOOD["y"] + 1}, "labels must start at 0, found 1 … 2"),
        (GOOD | {"y": GOOD["y"] - 1}, "labels must lie in"),
        (GOOD | {"y": GOOD["y"][:3]}, "one label for each of the 4"),
        (GOOD | {"y": GOOD["y"] / 2}, "labels must be integers"),
        (GOOD | {"x": np.full((4, 2), np.nan)}, "NaN"),
        (GOOD | {"x": np.array([["a"], ["b"], ["c"], ["d"]])}, "x must be real numbers"),
        (GOOD | {"x": np.array([{}, {}, {}, {}])}, "could not be read"),
        (GOOD | {"x": np.zeros((4, 8, 8, 8))}, "1 to 4 channels"),
        (GOOD | {"x": np.zeros((4, 16, 8, 8))}, "1 to 4 channels"),
        (GOOD | {"x": np.zeros((4, 3, 5, 3))}, "neither is clear"),
        (GOOD | {"x": np.zeros((4, 1, 1, 1, 1))}, "found shape"),
        (GOOD | {"x": np.zeros(4)}, "found shape"),
        ({"x": np.zeros((0, 2)), "y": np.zeros(0, int)}, "no records"),
        (
            {
                "x_train": np.zeros((4, 2)),
                "y_train": GOOD["y"],
                "x_test": np.zeros((4, 3)),
                "y_test": GOOD["y"],
            },
            "one shape and type",
        ),
        (
            {
                "x_train": np.zeros((4, 2), np.uint8),
                "y_train": GOOD["y"],
                "x_test": GOOD["x"],
                "y_test": GOOD["y"],
            },
            "one shape and type",
        ),
        (GOOD | {"x": np.zeros((4, 0))}, "at least one number"),
        (GOOD | {"classes": 1}, "labels must lie in 0 … 0"),
    ],
)
def test_a_bad_npz_is_refused_with_its_fault(tmp_path, arrays, words):
    with pytest.raises(ValueError, match=words):
        data.load(saved(tmp_path / "bad.npz", **arrays))


@pytest.mark.parametrize("content", [b"", b"nothing of the kind", None])
def test_a_damaged_npz_is_refused(tmp_path, content):
    path = saved(tmp_path / "bad.npz", **GOOD)
    path.write_bytes(path.read_bytes()[:-30] if content is None else content)
    with pytest.raises(ValueError, match=r"bad\.npz could not be read"):
        data.load(path)


def test_a_flipped_bit_is_noticed(tmp_path):
    path = saved(tmp_path / "bad.npz", x=np.zeros((100, 100)), y=np.arange(100) % 2)
    content = bytearray(path.read_bytes())
    content[40_000] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"bad\.npz could not be read"):
        data.load(path)


shapes = hnp.array_shapes(min_dims=1, max_dims=5, min_side=0, max_side=6)
numbers = hnp.arrays(
    st.sampled_from([np.uint8, np.int64, np.float32, np.float64, np.bool_]), shapes
)


@given(x=numbers, y=st.none() | numbers)
def test_any_arrays_are_read_rightly_or_refused(tmp_path_factory, x, y):
    y = np.arange(len(x)) % 3 if y is None else y
    path = saved(tmp_path_factory.mktemp("any") / "any.npz", x=x, y=y)
    try:
        records = data.load(path)
    except ValueError as error:
        message = str(error)
    else:
        message = f"any: {len(records)} records"
        assert len(records) == len(x) == y.size
        assert_array_equal(records.y, y.reshape(-1))
        found = (
            records.x
            if records.x.shape == x.shape
            else np.moveaxis(records.x, 1, -1).reshape(x.shape)
        )
        assert_array_equal(found, x.astype(np.float32))
    assert message.startswith("any")


# A folder of images


def painted(
    folder: Path, rng, *, part: str = "", n: int = 3, mode: str = "RGB", suffix: str = "png"
) -> np.ndarray:
    """Write n images of each of two classes and return them: (2 n, channels, 8, 6)."""
    pictures = []
    for label in ("cat", "dog"):
        (folder / part / label).mkdir(parents=True)
        for i in range(n):
            pixels = colours(rng, 8, 6, 3) if mode == "RGB" else colours(rng, 8, 6)
            Image.fromarray(pixels).save(folder / part / label / f"{i}.{suffix}")
            pictures.append(pixels.transpose(2, 0, 1) if mode == "RGB" else pixels[None])
    return np.stack(pictures)


@pytest.mark.parametrize("mode", ["RGB", "L"])
def test_a_folder_of_images(tmp_path, rng, mode):
    x = painted(tmp_path / "pets", rng, mode=mode)
    records = data.load(tmp_path / "pets")
    assert_array_equal(records.x, x)
    assert_array_equal(records.y, [0, 0, 0, 1, 1, 1])
    assert (records.name, records.classes) == ("pets", 2)


@pytest.mark.parametrize("second", ["test", "val"])
def test_train_and_test_folders_are_put_together(tmp_path, rng, second):
    train, test = (
        painted(tmp_path / "pets", rng, part="train"),
        painted(tmp_path / "pets", rng, part=second, n=2),
    )
    records = data.load(tmp_path / "pets")
    assert_array_equal(records.x, np.concatenate([train, test]))
    assert_array_equal(records.y, [0, 0, 0, 1, 1, 1, 0, 0, 1, 1])


def test_a_share_of_a_folder_reads_only_that_share(tmp_path, rng):
    x = painted(tmp_path / "pets", rng, n=10)
    share = data.load(tmp_path / "pets", size=8, seed=3)
    assert len(set(share.index)) == 8
    assert_array_equal(share.x, x[share.index])
    assert_array_equal(share.y, np.repeat([0, 1], 10)[share.index])
    unread = next(i for i in range(20) if i not in share.index)
    (tmp_path / "pets" / ("cat", "dog")[unread // 10] / f"{unread % 10}.png").write_bytes(
        b"not an image"
    )
    assert_array_equal(data.load(tmp_path / "pets", size=8, seed=3).x, share.x)
    with pytest.raises(ValueError, match="pets has 20 records, 21 were asked for"):
        data.load(tmp_path / "pets", size=21)


def test_a_bad_folder_is_refused_with_its_fault(tmp_path, rng):
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="empty should hold one folder of images for each class"):
        data.load(tmp_path / "empty")
    painted(tmp_path / "sizes", rng)
    Image.new("RGB", (9, 9)).save(tmp_path / "sizes" / "dog" / "2.png")
    with pytest.raises(
        ValueError, match=r"of one size, but 0\.png is \(3, 8, 6\) and 2\.png is \(3, 9, 9\)"
    ):
        data.load(tmp_path / "sizes")
    painted(tmp_path / "modes", rng)
    Image.new("L", (6, 8)).save(tmp_path / "modes" / "cat" / "1.png")
    with pytest.raises(ValueError, match="all grey or all in colour"):
        data.load(tmp_path / "modes")
    painted(tmp_path / "deep", rng)
    Image.fromarray(np.zeros((8, 6), np.uint16)).save(tmp_path / "deep" / "cat" / "0.png")
    with pytest.raises(ValueError, match="more than 8 bits"):
        data.load(tmp_path / "deep")
    painted(tmp_path / "classes", rng, part="train")
    painted(tmp_path / "classes", rng, part="test")
    (tmp_path / "classes" / "test" / "cat").rename(tmp_path / "classes" / "test" / "cow")
    with pytest.raises(ValueError, match="every part must have the same classes"):
        data.load(tmp_path / "classes")


# Names and paths


def test_records_are_remembered_until_the_file_changes(tmp_path, rng):
    path = saved(tmp_path / "x.npz", **GOOD)
    first = data.load(path)
    assert data.load(str(path)) is first
    saved(path, x=GOOD["x"] + 1, y=GOOD["y"])
    os.utime(path, ns=(1, 1))
    assert_array_equal(data.load(path).x, GOOD["x"] + 1)


def test_a_share_says_where_its_records_stood(tmp_path, rng):
    path = saved(tmp_path / "x.npz", x=np.arange(100)[:, None], y=np.arange(100) % 3)
    share = data.load(path, size=20, seed=5)
    assert_array_equal(share.x[:, 0], share.index)
    assert len(share) == 20
    assert set(share.index) != set(data.load(path, size=20, seed=6).index)


def test_the_same_records_have_the_same_fingerprint_wherever_they_lie(tmp_path):
    (tmp_path / "a").mkdir()
    here, there = saved(tmp_path / "here.npz", **GOOD), saved(tmp_path / "a" / "there.npz", **GOOD)
    assert data.load(here).fingerprint == data.load(there).fingerprint


def test_a_run_never_writes_the_path_of_its_data(tmp_path, rng):
    secret = tmp_path / "secret place"
    secret.mkdir()
    path = saved(secret / "photos.npz", x=rng.random((60, 4)), y=np.arange(60) % 2)
    configuration = runs.Configuration(
        data=str(path), model="mlp", options={"widths": (4,)}, recipe=Recipe(epochs=1, batch_size=8)
    )
    assert configuration.name.startswith("photos-mlp")
    assert "secret" not in configuration.key
    run = runs.get(configuration, store=Store(tmp_path / "runs"))
    written = [file.read_bytes() for file in run.folder.iterdir()]
    assert len(written) >= 5
    assert not any(b"secret" in content for content in written)
    assert b'"name": "photos"' in (run.folder / "provenance.json").read_bytes()

    moved = tmp_path / "photos.npz"
    path.rename(moved)
    assert configuration.but(data=str(moved)).key == run.folder.name


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("cifar11", "did you mean 'cifar10"),
        ("purchase", "did you mean 'purchase100'"),
        ("no/such/photos.npz", "There is no file or folder 'no/such/photos.npz'"),
        ("~nobody/x", "There is no file or folder"),
        ("", "There is no dataset ''"),
        ("x" * 10_000, "There is no dataset"),
        ("a\0b", "There is no dataset"),
        (None, "by its name or its path"),
        (["cifar10"], "by its name or its path"),
    ],
)
def test_what_cannot_be_found_is_named(name, words):
    with pytest.raises(ValueError, match=words):
        data.load(name)


@pytest.mark.parametrize("size", [0, -1, 2.5, "many", float("nan")])
def test_a_bad_size_is_refused(tmp_path, size):
    path = saved(tmp_path / "x.npz", **GOOD)
    for name in (path, "digits", "purchase100"):
        with pytest.raises(ValueError, match="whole number, at least 1"):
            data.load(name, size=size)


def test_short_names():
    assert data.short_name("letters") == "letters"
    assert data.short_name("../a/b.npz") == "b"
    assert data.short_name("../a/v1.2/") == "v1.2"
    assert data.short_name(".") == Path.cwd().name


# CIFAR-10 as JPEG files, if it lies beside the checkout


@pytest.mark.skipif(not (SHARED / "cifar10_jpeg.tar.xz").exists(), reason="needs ../shared/data")
def test_cifar10_from_its_images_and_from_its_arrays(tmp_path):
    arrays = {"x_train": [], "y_train": [], "x_test": [], "y_test": []}
    with tarfile.open(SHARED / "cifar10_jpeg.tar.xz", "r|xz") as archive:
        # The archive starts with the 10,000 test images; every tenth serves here, by turns for
        # train and test.
        for number, entry in zip(range(10_000), (e for e in archive if e.isfile()), strict=False):
            if number % 10 == 0:
                part, (label, name) = (
                    ("train", "test")[number // 10 % 2],
                    Path(entry.name).parts[-2:],
                )
                content, place = (
                    archive.extractfile(entry).read(),
                    tmp_path / "cifar10" / part / label / name,
                )
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content)
                arrays[f"x_{part}"].append(
                    np.asarray(Image.open(io.BytesIO(content)).convert("RGB"))
                )
                arrays[f"y_{part}"].append(CLASSES.index(label))
    pictures = data.load(tmp_path / "cifar10")
    table = data.load(
        saved(tmp_path / "cifar10.npz", **{k: np.array(v, np.uint8) for k, v in arrays.items()})
    )
    assert pictures.x.shape == table.x.shape == (1000, 3, 32, 32)
    assert table.classes == pictures.classes == 10

    def in_order(records):
        rows = np.column_stack([records.y, records.x.reshape(1000, -1)])
        return rows[np.lexsort(rows.T[::-1])]

    assert_array_equal(in_order(pictures), in_order(table))
    np.testing.assert_allclose(table.shift, [125, 123, 114], atol=6)  # CIFAR-10's own mean colour.
