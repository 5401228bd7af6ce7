"""A table of files that strangers hand over, and of everything in mialib that would open them.

Each file is refused by each opener with a sentence, within a second of processor time and in little
memory; nothing is executed, and nothing on the disk changes. Valid files with bytes flipped or ends
cut off must end in an answer or in a sentence: a few of them here, thousands in `make soak`.
"""

import os
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import foreign_files
from fuzz_verdict import alarm, fault_of_error, watchdog
from mialib import audits, data, foreign, runs, shipped
from mialib.bank import Bank
from mialib.configurations import parse
from mialib.data import published
from mialib.experiments import plans, rows
from mialib.results import Results
from mialib.signals import Signals
from mialib.store import MANIFEST, Store
from small_results import results as made_up_results

SECONDS = 1.0  # of processor time, so that a busy machine changes nothing
MEMORY = 100 << 20  # bytes, where a bomb would take 10 GB
MUTATIONS = int(os.environ.get("MIALIB_MUTATIONS", "6"))  # of each kind of file


def end_of(open_it: Callable[[], object]) -> Exception | None:
    """What it raises, or None for an answer; TooLong comes through."""
    try:
        with warnings.catch_warnings(), alarm(), watchdog(SECONDS):
            warnings.simplefilter("ignore")
            open_it()
    except Exception as error:
        return error
    return None


def refused(open_it: Callable[[], object]) -> str:
    """The sentence; it must be one of mialib's own, and fit on a screen."""
    error = end_of(open_it)
    assert error is not None, "nobody noticed"
    assert fault_of_error(error) is None, fault_of_error(error)
    sentence = str(error)
    assert len(sentence) < 1000
    assert sentence.isprintable()
    return sentence


@contextmanager
def little_memory() -> Iterator[None]:
    """What is done inside takes little."""
    tracemalloc.start()
    try:
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < MEMORY


def contents_of(folder: Path) -> dict[str, int]:
    return {str(path): path.lstat().st_mtime_ns for path in folder.rglob("*")}


@pytest.fixture
def alone(tmp_path, monkeypatch):
    """An empty folder to work in; a file called `executed` would betray code that ran."""
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    assert not (tmp_path / "executed").exists()


# Whatever opens an .npz, with arrays that it takes.

RNG = np.random.default_rng(0)
LOGITS = RNG.normal(size=(3, 8, 4)).astype(np.float32)
LABELS = np.arange(8) % 4
IS_MEMBER = RNG.random((3, 8)) < 0.5


def small_results() -> Results:
    return made_up_results(RNG.random((2, 2, 8)), IS_MEMBER[0], losses=RNG.random((2, 8)))


def arrays_of_results() -> dict[str, np.ndarray]:
    path = Path("results of one's own.npz")
    small_results().save(path)
    arrays = foreign.read_arrays(path)
    path.unlink()
    return arrays


NPZ_OPENERS: dict[str, tuple[Callable[[Path], object], Callable[[], dict[str, np.ndarray]]]] = {
    "foreign": (foreign.read_arrays, lambda: {"a": np.arange(16.0)}),
    "load": (data.load, lambda: {"x": LOGITS[0], "y": LABELS}),
    "signals": (Signals.read, lambda: {"logits": LOGITS[0], "labels": LABELS}),
    "bank": (
        Bank.read,
        lambda: {"logits": LOGITS, "labels": LABELS, "is_member": IS_MEMBER},
    ),
    "results": (Results.read, arrays_of_results),
    "audit": (
        audits.files.read,
        lambda: {"logits": LOGITS[0], "labels": LABELS, "is_member": IS_MEMBER[0]},
    ),
}


@pytest.mark.parametrize("opener", NPZ_OPENERS)
def test_the_arrays_themselves_are_taken(opener, alone):
    read, arrays = NPZ_OPENERS[opener]
    path = alone / "good.npz"
    path.write_bytes(foreign_files.zipped(foreign_files.entries_of(arrays())))
    assert end_of(lambda: read(path)) is None


@pytest.mark.parametrize("kind", foreign_files.ARCHIVES)
def test_an_npz_that_lies_is_refused_by_everything_that_opens_one(kind, alone):
    for read, arrays in NPZ_OPENERS.values():
        path = alone / "bad.npz"
        path.write_bytes(foreign_files.ARCHIVES[kind](arrays()))
        before = contents_of(alone)
        refused(lambda read=read, path=path: read(path))
        assert contents_of(alone) == before


@pytest.mark.parametrize("kind", foreign_files.ARCHIVES)
def test_little_memory_is_taken_before_an_npz_is_refused(kind, alone):
    path = alone / "bad.npz"
    path.write_bytes(foreign_files.ARCHIVES[kind]({"a": np.arange(16.0)}))
    with little_memory():
        error = end_of(lambda: foreign.read_arrays(path))
    assert isinstance(error, ValueError)


@pytest.mark.parametrize("kind", foreign_files.ARCHIVES)
def test_a_cache_that_lies_is_made_again(kind, alone):
    path = alone / "purchase100.npz"
    arrays = {"x": LOGITS[0], "y": LABELS}
    path.write_bytes(foreign_files.ARCHIVES[kind](arrays))
    with pytest.warns(UserWarning, match="is damaged"), watchdog(SECONDS):
        published.cached(path, lambda: arrays)
    np.testing.assert_array_equal(foreign.read_arrays(path)["x"], LOGITS[0])
    assert os.listdir(alone) == ["purchase100.npz"]


@pytest.mark.parametrize("opener", NPZ_OPENERS)
def test_what_is_no_file_is_refused_and_never_waited_for(opener, alone):
    read, _ = NPZ_OPENERS[opener]
    os.mkfifo(alone / "pipe.npz")
    (alone / "device.npz").symlink_to("/dev/zero")
    (alone / "loop.npz").symlink_to(alone / "loop.npz")
    (alone / "folder.npz").mkdir()
    for name in ("pipe.npz", "device.npz", "loop.npz", "folder.npz"):
        refused(lambda name=name: read(alone / name))


# How much is too much.


def packed(path: Path, array: np.ndarray) -> Path:
    np.savez_compressed(path, a=array)
    return path


def test_zeros_may_be_packed_as_tightly_as_they_like_up_to_the_free_amount(alone):
    array = np.zeros(foreign.FREE // 2, np.uint8)
    assert foreign.read_arrays(packed(alone / "zeros.npz", array))["a"].nbytes == array.nbytes


def test_the_limit_is_the_callers(alone):
    path = packed(alone / "some.npz", np.arange(1000))
    assert len(foreign.read_arrays(path, limit=9000)["a"]) == 1000
    sentence = refused(lambda: foreign.read_arrays(path, limit=8000))
    assert "would unpack to 7.94 kB, where 7.81 kB are allowed" in sentence


def test_the_largest_of_all_can_be_raised(alone, monkeypatch):
    path = packed(alone / "some.npz", np.arange(1000))
    monkeypatch.setattr(foreign, "LARGEST", 8000)
    refused(lambda: foreign.read_arrays(path))


def test_the_ratio_lets_sparse_records_pass(alone, monkeypatch):
    """Texas100 has a one among 50 numbers; such tables must not be taken for bombs."""
    monkeypatch.setattr(foreign, "FREE", 0)
    sparse = (RNG.random((500, 6169)) < 0.02).astype(np.float64)
    path = packed(alone / "texas.npz", sparse)
    np.testing.assert_array_equal(foreign.read_arrays(path)["a"], sparse)


def test_shipped_files_are_read_as_numpy_reads_them():
    files = [path for path in shipped.FOLDER.rglob("*.npz") if path.stat().st_size < 3 << 20]
    assert len(files) >= 8
    for path in files:
        arrays = foreign.read_arrays(path)
        with np.load(path, allow_pickle=False) as expected:
            assert list(arrays) == expected.files
            for name, array in arrays.items():
                assert array.dtype == expected[name].dtype
                np.testing.assert_array_equal(array, expected[name])


@pytest.mark.parametrize(
    "array",
    [
        np.float32(1.5),
        np.array("text"),
        np.array(["", "ab"]),
        np.zeros((0, 3)),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(3, dtype=">i4"),
        np.array([True, False]),
        np.array([1 + 2j]),
        np.arange(3, dtype=np.float16),
        np.array([b"ab"]),
    ],
)
def test_every_kind_of_plain_array_comes_back(array, alone):
    np.savez(alone / "a.npz", a=array)
    found = foreign.read_arrays(alone / "a.npz")["a"]
    assert found.dtype == array.dtype
    assert found.shape == array.shape
    assert found.flags.writeable
    np.testing.assert_array_equal(found, array)


# Results with honest arrays that do not belong together.


def results_file(**changes: Any) -> Path:
    path = Path("results.npz")
    arrays = arrays_of_results() | changes
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})
    return path


@pytest.mark.parametrize(
    "changes",
    [
        {"shape": np.array([10**6, 10**6, 10**6])},
        {"shape": np.array([-1, -1, -1])},
        {"shape": np.array([3])},
        {"shape": np.array("shape")},
        {"planes": np.array(2**60)},
        {"planes": np.array(0), "shape": np.array([10**4, 10**4, 10**4])},
        {"planes": np.array(-1)},
        {"planes": np.array("text")},
        {"references": np.array([0, 1, 2, 3, 4], np.int16)},
        {"references": np.array([-7] * 5, np.int16)},
        {"references": np.zeros(100, np.int16)},
        {"correct": np.zeros((1, 1), np.uint8)},
        {"correct": np.zeros(0)},
        {"thresholds": np.array("text")},
        {"is_member": np.zeros((2, 3))},
        {"contents": np.array("[" * 100_000)},
        {"contents": np.array("[1]")},
        {"contents": np.array("{}")},
        {"contents": np.array('{"version": "' + foreign_files.SCRIPT + '"}')},
        {"contents": np.array('{"version": 2, "rows": [1], "attacks": [], "about": {}}')},
        {"contents": np.array('{"version": 2, "rows": [{"a": 1}], "attacks": 7, "about": {}}')},
        {"contents": np.array(5)},
        {"contents": None},
    ],
)
def test_results_that_do_not_fit_together_are_refused(changes, alone):
    path = results_file(**changes)
    with little_memory():
        sentence = refused(lambda: Results.read(path))
    with suppress(ValueError):  # The rest may be as it should.
        assert isinstance(Results.read_about(path), dict)
    assert sentence.startswith("results.npz is not a whole results file")


# The store.


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    from mialib.configurations import Configuration
    from mialib.training import Recipe

    configuration = Configuration(
        data="digits",
        size=240,
        model="mlp",
        options={"widths": (16,)},
        recipe=Recipe(epochs=1, batch_size=16),
        trace=1,
    )
    return runs.get(configuration, store=Store(tmp_path_factory.mktemp("trained")))


@pytest.fixture
def run(trained, alone):
    """A run in a folder of its own, which a test may damage."""
    folder = alone / trained.folder.name
    folder.mkdir()
    for file in trained.folder.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    return replace(trained, folder=folder)


@pytest.mark.parametrize("kind", foreign_files.WEIGHTS)
def test_weights_that_lie_are_refused(kind, run):
    path = run.folder / "weights.safetensors"
    path.write_bytes(foreign_files.WEIGHTS[kind])
    with little_memory():
        refused(run.load_model)


def test_weights_of_another_network_are_refused(run):
    other = replace(run, configuration=run.configuration.but(options={"widths": (8,)}))
    assert "does not hold the weights of this network" in refused(other.load_model)


def test_the_weights_themselves_are_taken(run):
    shapes = foreign.check_weights(run.folder / "weights.safetensors")
    expected = {name: tuple(w.shape) for name, w in run.load_model().state_dict().items()}
    assert shapes == expected


@pytest.mark.parametrize("kind", foreign_files.ARCHIVES)
def test_signals_and_traces_of_a_run_that_lie_are_refused(kind, run):
    for file, read in (("signals.npz", "signals"), ("trace.npz", "losses_by_epoch")):
        arrays = foreign.read_arrays(run.folder / file)
        (run.folder / file).write_bytes(foreign_files.ARCHIVES[kind](arrays))
        refused(lambda read=read: getattr(run, read))


@pytest.mark.parametrize("kind", foreign_files.TEXTS)
def test_json_that_lies_is_refused(kind, run):
    for file in ("config.json", "metrics.json"):
        (run.folder / file).write_bytes(foreign_files.TEXTS[kind])
    refused(lambda: run.metrics)
    refused(lambda: parse(foreign.read_json(run.folder / "config.json")))
    refused(lambda: foreign.parse_json(foreign_files.TEXTS[kind]))


@pytest.mark.parametrize("kind", [*foreign_files.TEXTS, "climbs"])
def test_a_folder_whose_manifest_lies_is_moved_aside_and_made_again(kind, alone):
    store = Store(alone / "store")
    folder = store.get("key", lambda place: (place / "file").write_text("old"))
    outside = alone / "outside"
    outside.write_text("kept")
    manifests = foreign_files.TEXTS | {"climbs": b'{"../../outside": "0", "/dev/zero": "0"}'}
    (folder / MANIFEST).write_bytes(manifests[kind])
    with pytest.warns(UserWarning, match=r"manifest\.json is missing or damaged"):
        again = store.get("key", lambda place: (place / "file").write_text("new"))
    assert (again / "file").read_text() == "new"
    aside = next((alone / "store").glob(".broken-key-*"))
    assert (aside / "file").read_text() == "old", "nothing is lost"
    assert outside.read_text() == "kept"


def test_a_key_that_is_a_link_to_itself_is_no_run(alone):
    store = Store(alone / "store")
    store.root.mkdir()
    (store.root / "key").symlink_to(store.root / "key")
    assert store.find("key") is None


@pytest.mark.parametrize("kind", foreign_files.ARCHIVES)
def test_rows_that_lie_are_refused(kind, alone, tiny):
    folder = alone / "row-0"
    folder.mkdir()
    planned = plans.PlannedRow(tiny, {"experiment": "images"}, watch=False)
    made = rows.rows_of(small_results(), "")[:1]
    rows.write_rows(made, folder)
    assert len(rows.read_rows(planned, folder)) == 1
    arrays = foreign.read_arrays(folder / "rows.npz")
    (folder / "rows.npz").write_bytes(foreign_files.ARCHIVES[kind](arrays))
    refused(lambda: rows.read_rows(planned, folder))


# TOML


@pytest.mark.parametrize("kind", foreign_files.TOMLS)
def test_toml_that_lies_is_refused(kind):
    refused(lambda: foreign.parse_toml(foreign_files.TOMLS[kind]))
    refused(lambda: plans.parse("mine", "quick", foreign_files.TOMLS[kind]))


def test_a_plan_of_more_settings_than_anybody_trains_is_refused():
    lists = ", ".join(f"{letter} = {list(range(10))}" for letter in "abcdefghij")
    text = f'about = "x"\n[[quick.settings]]\ndefense = {{ name = "Past", {lists} }}\n'
    sentence = refused(lambda: plans.parse("mine", "quick", text))
    assert "stand for 10,000,000,000 settings" in sentence


# Tables and archives


@pytest.mark.parametrize("kind", foreign_files.TABLES)
def test_a_csv_that_lies_is_refused(kind, alone):
    path = alone / "table.csv"
    path.write_bytes(foreign_files.TABLES[kind])
    with little_memory():
        refused(lambda: foreign.read_table(path))


def test_a_csv_is_read_with_its_names(alone):
    path = alone / "table.csv"
    names = b'\xef\xbb\xbf"logit 0", is_member,label\r\n'
    path.write_bytes(names + b"0.5,True,3\r\n\r\n-1E3, false,4\r\n")
    table = foreign.read_table(path)
    assert table.names == ("logit 0", "is_member", "label")
    np.testing.assert_array_equal(table.values, [[0.5, 1, 3], [-1000, 0, 4]])
    assert table.texts == {}


def test_a_csv_may_have_columns_of_text(alone):
    path = alone / "table.csv"
    lines = ["group,label", '"True, or <b>",3', "Ölpreis # 5,4"]
    path.write_text("\n".join(lines), encoding="utf-8")
    table = foreign.read_table(path, texts=("group",))
    assert table.names == ("label",)
    assert table.texts == {"group": ["True, or <b>", "Ölpreis # 5"]}
    np.testing.assert_array_equal(table.values, [[3], [4]])
    path.write_text("group,label\n" + "g" * 201 + ",1\n")
    assert "201 characters" in refused(lambda: foreign.read_table(path, texts=("group",)))


def test_the_line_of_another_width_is_named(alone):
    path = alone / "table.csv"
    path.write_text("a,b\n" + "1,2\n" * 1000 + "1,2,3\n")
    assert "line 1002 has 3 entries under 2 names" in refused(lambda: foreign.read_table(path))


@pytest.mark.parametrize("kind", foreign_files.TARS)
def test_a_tgz_that_lies_is_refused(kind, alone):
    path = alone / "archive.tgz"
    path.write_bytes(foreign_files.TARS[kind]())
    before = contents_of(alone)
    for read in (lambda: list(foreign.members_of(path)), partial(read_texas, path)):
        with little_memory():
            refused(read)
    assert contents_of(alone) == before


def read_texas(path: Path) -> object:
    reader = partial(published.binary_table, features=600)
    return published.read_archive(path, {"dataset_purchase": reader, "large": reader})


# Images


def image_folder(folder: Path, content: bytes, name: str = "1.png") -> Path:
    for label in ("cat", "dog"):
        (folder / label).mkdir(parents=True)
        Image.new("RGB", (8, 8)).save(folder / label / "0.png")
    (folder / "cat" / name).write_bytes(content)
    return folder


@pytest.mark.parametrize("kind", foreign_files.IMAGES)
def test_an_image_that_lies_is_refused(kind, alone):
    folder = image_folder(alone / "pets", foreign_files.IMAGES[kind]())
    with little_memory():
        sentence = refused(lambda: data.load(folder))
    assert sentence.startswith("1.png could not be read")


def test_many_images_that_are_small_as_files_are_refused(alone, monkeypatch):
    monkeypatch.setattr(foreign, "FREE", 4 << 20)
    folder = alone / "pets"
    for label in ("cat", "dog"):
        (folder / label).mkdir(parents=True)
        for k in range(3):
            Image.new("L", (1000, 1000)).save(folder / label / f"{k}.png")
    assert "6 images of pets are refused" in refused(lambda: data.load(folder))


@pytest.mark.parametrize("make", [foreign_files.self_linked, foreign_files.branching])
def test_folders_that_link_to_themselves_are_refused(make, alone):
    folder = make(alone / "pets")
    assert "a link leads to a folder that is there already" in refused(lambda: data.load(folder))


def test_a_pipe_among_images_is_refused(alone):
    folder = image_folder(alone / "pets", b"")
    (folder / "cat" / "1.png").unlink()
    os.mkfifo(folder / "cat" / "1.png")
    assert "1.png" in refused(lambda: data.load(folder))


def test_links_to_folders_elsewhere_are_followed(alone):
    image_folder(alone / "elsewhere", foreign_files.painted("PNG"))
    (alone / "pets").mkdir()
    for label in ("cat", "dog"):
        (alone / "pets" / label).symlink_to(alone / "elsewhere" / label)
    assert data.load(alone / "pets").y.tolist() == [0, 0, 1]


# Valid files with bytes flipped and ends cut off.


def mutated(content: bytes, rng: np.random.Generator) -> bytes:
    """A few bytes flipped, most of them where headers are; or the end cut off."""
    changed = bytearray(content)
    if rng.random() < 0.2:
        return bytes(changed[: rng.integers(len(changed))])
    for _ in range(rng.integers(1, 6)):
        near = rng.choice([rng.integers(200), len(changed) - 1 - rng.integers(200), -1])
        place = near if 0 <= near < len(changed) else rng.integers(len(changed))
        changed[place] = rng.integers(256)
    return bytes(changed)


def saved_arrays(arrays: dict[str, np.ndarray]) -> bytes:
    path = Path("saved.npz")
    np.savez_compressed(path, **arrays)
    return path.read_bytes()


def valid_files(run) -> dict[str, tuple[bytes, Callable[[Path], object], str]]:
    """Content, opener and ending of a file of each kind."""
    files: dict[str, Any] = {
        name: (saved_arrays(arrays()), read, ".npz") for name, (read, arrays) in NPZ_OPENERS.items()
    }
    weights = (run.folder / "weights.safetensors").read_bytes()
    table = b"a,b\n" + b"1.5,2\n" * 50
    entry = foreign_files.tar_entry("dataset_purchase", size=len(table))
    plan = (Path(plans.__file__).parents[1] / "profiles/plans/baskets.toml").read_bytes()
    small = shipped.FOLDER / "results" / "quick" / "crl.npz"
    return files | {
        "shipped results": (small.read_bytes(), Results.read, ".npz"),
        "weights": (weights, partial(weights_at, run), ".safetensors"),
        "json": ((run.folder / "config.json").read_bytes(), foreign.read_json, ".json"),
        "table": (table, foreign.read_table, ".csv"),
        "archive": (foreign_files.tarred(entry, content=table), read_texas, ".tgz"),
        "toml": (plan, plan_at, ".toml"),
        **{
            kind: (foreign_files.painted(kind), read_image, ".png")
            for kind in ("PNG", "JPEG", "BMP", "PPM", "TIFF", "WEBP")
        },
    }


def weights_at(run, path: Path) -> object:
    (run.folder / "weights.safetensors").write_bytes(path.read_bytes())
    return run.load_model()


def plan_at(path: Path) -> object:
    return plans.parse("baskets", "quick", path.read_bytes().decode(errors="replace"))


def read_image(path: Path) -> object:
    folder = path.parent / "pets" / "cat"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "0.png").write_bytes(path.read_bytes())
    os.utime(folder.parent, ns=(0, int.from_bytes(os.urandom(4), "little")))
    return data.load(folder.parent)


def test_a_damaged_file_ends_in_an_answer_or_in_a_sentence(run, rng):
    faults = []
    for name, (content, read, ending) in valid_files(run).items():
        for number in range(MUTATIONS):
            path = Path(f"{name}{number}{ending}")
            path.write_bytes(mutated(content, rng))
            error = end_of(lambda read=read, path=path: read(path))
            fault = None if error is None else fault_of_error(error)
            if fault is not None:
                faults.append(f"{path}: {fault}")
            else:
                path.unlink()
    assert not faults, "\n".join(faults)
